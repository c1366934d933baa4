"""Whole models on n streams: they start as the plain network, and their parts learn."""

from dataclasses import replace

import numpy as np
import pytest

from mhc_np import ops
from mhc_np.autodiff import flatten, grad, tree_map
from mhc_np.connections import SCHEMES, coefficients
from mhc_np.measure import gains
from mhc_np.models import ModelConfig, transformer
from mhc_np.models.trace import trace

PLAIN = ModelConfig(num_inputs=7, num_outputs=5, num_positions=6, width=8, num_layers=3, num_heads=2)
PAIRS = [(scheme, n) for scheme in SCHEMES for n in (1, 2, 3, 4, 8) if SCHEMES[scheme].fits(n) is None]
RNG = np.random.default_rng(0)
IDS, TARGETS, MASK = RNG.integers(0, 7, (4, 6)), RNG.integers(0, 5, (4, 6)), np.ones((4, 6), bool)


def start(config, dtype=np.float64):
    return transformer.init(config, np.random.default_rng(1), dtype)


def loss_of(config):
    return lambda params: ops.cross_entropy(transformer.logits(params, config, inputs=IDS), targets=TARGETS, mask=MASK)


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-12), (np.float32, 1e-5)])
@pytest.mark.parametrize(("scheme", "n"), PAIRS)
def test_every_scheme_starts_as_the_plain_model(scheme, n, dtype, tolerance):
    config = replace(PLAIN, scheme=scheme, num_streams=n)
    params, plain = start(config, dtype), start(PLAIN, dtype)
    for path, leaf in flatten(plain).items():  # one seed, one draw: the connections take nothing from the generator
        np.testing.assert_array_equal(flatten(params)[path], leaf)
    got, want = (transformer.logits(p, c, inputs=IDS) for p, c in ((params, config), (plain, PLAIN)))
    np.testing.assert_allclose(got, want, atol=tolerance * np.abs(want).max())


@pytest.mark.parametrize("scheme", [scheme for scheme in SCHEMES if scheme not in ("residual", "scaled")])
def test_after_a_few_steps_every_parameter_has_a_gradient_but_at_the_ends(scheme):
    """The first sub-layer mixes copies: rows that sum to one do nothing to them. The last one is followed by the mean:
    columns that sum to one do nothing to that. (Sinkhorn's columns do so only nearly, which leaves mhc a gradient.)
    """
    config = replace(PLAIN, scheme=scheme, num_streams=4)
    params, loss = start(config), loss_of(config)
    for _ in range(3):
        params = tree_map(lambda p, g: p - 0.3 * g, params, grad(loss)(params))
    ends = {"blocks/0/attention": ("mhc", "mhc_lite", "krom"), "blocks/2/mlp": ("mhc_lite", "krom")}
    for path, leaf in flatten(grad(loss)(params)).items():
        sublayer = "/".join(path.split("/")[:3])
        idle = path.endswith("_res") and scheme in ends.get(sublayer, ())
        assert (np.abs(leaf).max() < 1e-16) == idle, path


def test_the_composite_gain_of_a_model_comes_from_its_trace():
    """Streams before each sub-layer are in the trace; coefficients turn them into H_res, token by token."""
    config = replace(PLAIN, scheme="hc", num_streams=4)
    params, loss = start(config), loss_of(config)
    for _ in range(20):
        params = tree_map(lambda p, g: p - 0.3 * g, params, grad(loss)(params))
    _, seen = trace(params, config, inputs=IDS)
    streams, mixings = seen["embedding", 0], []
    for layer in range(3):
        for name in ("attention", "mlp"):
            part = params["blocks"][str(layer)][name]["connection"]
            mixings.append(coefficients(part, "hc", streams).H_res)
            streams = seen[f"after {name}", layer]
    product = gains.summary(gains.composite(mixings))
    single = max(gains.summary(H).forward for H in mixings)
    assert mixings[0].shape == (4, 6, 4, 4)
    assert product.forward > single > 1


def test_near_identity_logits_have_a_gradient_and_sharper_ones_have_none():
    """8I - 8 is .999 of the identity and still moves; divided by a temperature of .05 it would be frozen for ever."""
    cotangent = np.random.default_rng(0).standard_normal((4, 4))
    slope = lambda logits: np.abs(grad(lambda x: (ops.sinkhorn(x) * cotangent).sum())(logits)).max()  # noqa: E731
    assert 1e-4 < slope(8 * np.eye(4) - 8) < 1e-2
    assert slope((8 * np.eye(4) - 8) / 0.05) < 1e-60
