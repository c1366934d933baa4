"""The mixings read off a network are those that its streams went through."""

import numpy as np
import pytest

from mhc_np import connections
from mhc_np.autodiff import tree_map
from mhc_np.measure import gains
from mhc_np.models import ModelConfig, init
from mhc_np.models.mixings import mixings
from mhc_np.models.trace import trace


def network(scheme, num_streams, **settings):
    """Return a network whose coefficients depend on the token, in float64, and some inputs."""
    config = ModelConfig(
        *(5, 4, 6), width=8, num_heads=2, num_layers=2, scheme=scheme, num_streams=num_streams, **settings
    )
    rng = np.random.default_rng(3)
    params = tree_map(lambda leaf: leaf + 0.3 * rng.standard_normal(leaf.shape), init(config, rng, dtype=np.float64))
    return params, config, rng.integers(5, size=(2, 6))


@pytest.mark.parametrize(("scheme", "n"), [("hc", 3), ("free", 2), ("mhc", 4), ("krom", 2), ("hc_static", 3)])
@pytest.mark.parametrize("num_loops", [1, 2])
def test_streams_are_mixed_by_what_is_returned(scheme, n, num_loops):
    """Each sub-layer's streams are H_res times the old ones plus something of rank one, the branch's output."""
    params, config, inputs = network(scheme, n, num_loops=num_loops)
    found = mixings(params, config, inputs=inputs)
    _, seen = trace(params, config, inputs=inputs)
    assert len(found) == 4 * num_loops
    streams = seen["embedding", 0]
    sites = [(name, layer) for layer in range(config.num_applied) for name in ("attention", "mlp")]
    for H_res, (name, layer) in zip(found, sites, strict=True):
        written = seen[f"after {name}", layer] - connections.mix(H_res, streams)
        assert np.linalg.svd(written, compute_uv=False)[..., 1].max() < 1e-12
        direction = seen[name, layer] / np.linalg.norm(seen[name, layer], axis=-1, keepdims=True)
        along = (written @ direction[..., None]) * direction[..., None, :]
        np.testing.assert_allclose(written, along, atol=1e-12)
        streams = seen[f"after {name}", layer]


def test_first_comes_first():
    """The composite of the list is what silent branches do to the streams."""
    params, config, inputs = network("free", 3)
    for block in params["blocks"].values():
        block["attention"]["W_o"] *= 0
        block["mlp"]["W_out"] *= 0
        block["mlp"]["b_out"] *= 0
    product = gains.composite(mixings(params, config, inputs=inputs))
    _, seen = trace(params, config, inputs=inputs)
    np.testing.assert_allclose(seen["after mlp", 1], product @ seen["embedding", 0], atol=1e-12)
    backwards = gains.composite(mixings(params, config, inputs=inputs)[::-1])
    assert np.abs(seen["after mlp", 1] - backwards @ seen["embedding", 0]).max() > 1e-3


@pytest.mark.parametrize(("scheme", "n"), [("residual", 1), ("residual", 2), ("identity", 3)])
def test_a_scheme_that_does_not_mix_has_the_identity(scheme, n):
    params, config, inputs = network(scheme, n)
    for H_res in mixings(params, config, inputs=inputs):
        np.testing.assert_array_equal(H_res, np.broadcast_to(np.eye(n), (2, 6, n, n)))
