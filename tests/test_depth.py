"""Gradients through depth: by hand where branches are silent, against explicit Jacobians, and under their bound."""

import numpy as np
import pytest

from mhc_np.autodiff import grad
from mhc_np.lab.depth import jacobian_norms, stream_gradients, through_depth
from mhc_np.models import MODELS, ModelConfig, init
from mhc_np.ops import cross_entropy
from mhc_np.tasks import bijection

TASK = bijection.Config(num_symbols=2)


def network(num_layers=2, width=4, seed=0):
    config = ModelConfig(4, 2, 3, width=width, num_layers=num_layers, num_heads=2)
    params = init(config, np.random.default_rng(seed), np.float64)
    params["head"]["W_head"] *= 50
    return config, params


def batch(count=1):
    return bijection.sample(TASK, np.random.default_rng(5), count)


def silence(params):
    for block in params["blocks"].values():
        block["attention"]["W_o"] *= 0
        block["mlp"]["W_out"] *= 0


def test_silent_branches_pass_the_gradient_on_unchanged_with_skips_and_lose_it_without():
    config, params = network()
    silence(params)
    with_skips = stream_gradients(MODELS["transformer"], params, config, batch())
    assert with_skips == pytest.approx([with_skips[0]] * 5)
    without = stream_gradients(MODELS["no_skip"], params, config, batch())
    assert without[:-1] == [0, 0, 0, 0]


def test_the_first_gradient_is_that_of_the_position_table():
    config, params = network()
    data = batch()

    def loss(tree):
        out = MODELS["no_skip"].logits(tree, config, inputs=data.inputs)
        return cross_entropy(out, targets=data.targets, mask=data.mask)

    slopes = grad(loss)(params)["positions"]["table"]  # of one sequence: added to its embedding, row by row
    found = stream_gradients(MODELS["no_skip"], params, config, data)
    assert found[0] == pytest.approx(np.linalg.norm(slopes))


@pytest.mark.parametrize("model", ["transformer", "no_skip"])
def test_jacobian_norms_are_those_of_the_explicit_jacobian(model):
    config, params = network(num_layers=1)
    inputs = batch().inputs
    found = jacobian_norms(MODELS[model], params, config, inputs, np.random.default_rng(1), num_iterations=200)
    kept = {}

    def keep(site, layer, value):
        kept[site] = value
        return value

    MODELS[model].logits(params, config, inputs=inputs, hook=keep)
    for place, (before, after) in enumerate((("embedding", "after attention"), ("after attention", "after mlp"))):
        start, columns = kept[before].copy(), []

        def run(value, before=before, after=after):
            seen = {}

            def hook(site, layer, current):
                seen[site] = current
                return value if site == before else current

            MODELS[model].logits(params, config, inputs=inputs, hook=hook)
            return seen[after].ravel()

        for index in np.ndindex(start.shape):
            shift = np.zeros_like(start)
            shift[index] = 1e-6
            columns.append((run(start + shift) - run(start - shift)) / 2e-6)
        largest = np.linalg.svd(np.array(columns), compute_uv=False)[0]
        assert found[place] == pytest.approx(largest, rel=1e-3)


@pytest.mark.parametrize("model", ["transformer", "no_skip"])
def test_the_bound_holds_and_without_skips_the_gradient_falls_faster(model):
    config, params = network(num_layers=3, width=16)
    data = batch(6)
    found = through_depth(
        MODELS[model], params, config, data, bijection.posterior(TASK, data), np.random.default_rng(0)
    )
    assert found["log10_few"] <= found["log10_bound"]
    assert len(found["jacobians"]) == 6
    assert len(found["gradients"]) == len(found["gradients_few"]) == 7
    reached, bound = np.array(found["gradients_few"][::-1]), np.cumprod(found["jacobians"][::-1])
    assert np.all(reached[1:] <= bound * reached[0] * 1.02)  # at every depth; the norms are found from below
    assert found["prior_bits"] > 0
    assert found["end_to_end"] == pytest.approx(found["gradients"][0] / found["gradients"][-1])
