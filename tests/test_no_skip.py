"""The Transformer without skips: by hand, differentiable, and the same network once its skips are given back."""

import numpy as np
import pytest

from mhc_np.autodiff import flatten, grad
from mhc_np.models import ModelConfig, init, trace
from mhc_np.models import logits as with_skips
from mhc_np.models.no_skip import logits, without_skips

IDS = np.array([[0, 2, 1, 2]])
CONFIG = ModelConfig(num_inputs=3, num_outputs=3, num_positions=4, width=8, num_layers=2, num_heads=2)


def params_for(config=CONFIG):
    return init(config, np.random.default_rng(0), np.float64)


def seen(config=CONFIG, **options):
    """Every value that goes on, without skips."""
    found = {}

    def record(site, layer, value):
        found[site, layer] = value
        return value

    return logits(params_for(config), config, inputs=IDS, hook=record), found


@pytest.mark.parametrize("n", [1, 3])
def test_the_stream_is_what_the_sub_layer_wrote(n):
    config = ModelConfig(**{**CONFIG.__dict__, "num_streams": n})
    _, found = seen(config)
    for layer in range(2):
        for site in ("attention", "mlp"):
            for stream in range(n):
                np.testing.assert_array_equal(found[f"after {site}", layer][:, :, stream], found[site, layer])


def test_a_branch_that_adds_its_own_input_is_the_skip_again():
    """Hand the skip back by hand: the network with skips comes out."""
    before = {}

    def give_back(site, layer, value):
        if site in ("attention", "mlp"):
            value = value + before["stream"][:, :, 0]
        if site == "embedding" or site.startswith("after"):
            before["stream"] = value
        return value

    out = logits(params_for(), CONFIG, inputs=IDS, hook=give_back)
    np.testing.assert_allclose(out, with_skips(params_for(), CONFIG, inputs=IDS), rtol=1e-12)


def test_only_the_chosen_skips_are_taken():
    params, kept = params_for(), {}

    def record(site, layer, value):
        kept[site, layer] = value
        return value

    with_skips(params, CONFIG, inputs=IDS, hook=without_skips({("after mlp", 0)}, then=record))
    np.testing.assert_array_equal(kept["after mlp", 0][:, :, 0], kept["mlp", 0])
    np.testing.assert_allclose(kept["after mlp", 1], kept["after attention", 1] + kept["mlp", 1][:, :, None])
    plain = trace(params, CONFIG, inputs=IDS)[1]
    np.testing.assert_array_equal(kept["after attention", 0], plain["after attention", 0])


def test_its_gradient_is_that_of_differences():
    params, cotangent = params_for(), np.random.default_rng(1).standard_normal((1, 4, 3))

    def scalar(tree):
        return (logits(tree, CONFIG, inputs=IDS) * cotangent).sum()

    slopes = grad(scalar)(params)
    W, slope = params["blocks"]["0"]["attention"]["W_v"], slopes["blocks"]["0"]["attention"]["W_v"]
    step = np.random.default_rng(2).standard_normal(W.shape)
    values = []
    for sign in (1, -1):
        params["blocks"]["0"]["attention"]["W_v"] = W + sign * 1e-5 * step
        values.append(scalar(params))
    assert (values[0] - values[1]) / 2e-5 == pytest.approx((slope * step).sum(), rel=1e-7)
    # What the embedding says reaches the answer through values alone, so W_v has a gradient in every layer.
    assert all(np.abs(leaf).max() > 0 for path, leaf in flatten(slopes).items() if path.endswith("W_v"))
