"""The baselines: what each can see, gradients against differences, equal sizes, dtype, learning, refusals."""

from dataclasses import replace

import numpy as np
import pytest

from mhc_np import ops
from mhc_np.autodiff import flatten, grad, tree_map, unflatten, value_and_grad
from mhc_np.learn import AdamW
from mhc_np.models import MODELS, match_width, num_params
from mhc_np.models.mlp import running_sum

SIZES = {"num_inputs": 7, "num_outputs": 3, "num_positions": 6, "width": 5}
SMALL = {
    "lstm": MODELS["lstm"].Config(**SIZES, num_layers=2),
    "mlp": MODELS["mlp"].Config(**SIZES, mlp_ratio=2),
    "context_mlp": MODELS["context_mlp"].Config(**SIZES, mlp_ratio=2, token_width=4),
}
IDS = np.random.default_rng(1).integers(0, 7, (3, 6))
every_baseline = pytest.mark.parametrize("name", SMALL)
every_embedder = pytest.mark.parametrize("embedder", ["ids", "features"])


def shaken(name, config, dtype=np.float64):
    rng = np.random.default_rng(3)
    params = MODELS[name].init(config, rng, dtype)
    return tree_map(lambda x: (x + 0.3 * rng.standard_normal(x.shape)).astype(dtype), params)


def inputs_for(config):
    return IDS if config.embedder == "ids" else np.random.default_rng(2).standard_normal((3, 6, 7))


@every_baseline
@every_embedder
def test_gradients_agree_with_finite_differences(name, embedder):
    config = replace(SMALL[name], embedder=embedder)
    inputs, params = inputs_for(config), flatten(shaken(name, config))
    cotangent = np.random.default_rng(5).standard_normal((3, 6, 3))

    def loss(tree):
        return (MODELS[name].logits(tree, config, inputs=inputs) * cotangent).sum()

    slopes = flatten(grad(loss)(unflatten(params)))
    rng, step = np.random.default_rng(6), 1e-4
    for path, leaf in params.items():
        direction = rng.standard_normal(leaf.shape)
        ends = [loss(unflatten({**params, path: leaf + sign * step * direction})) for sign in (1, -1, 2, -2)]
        wanted = (8 * (ends[0] - ends[1]) - (ends[2] - ends[3])) / (12 * step)
        assert abs((slopes[path] * direction).sum() - wanted) < 1e-7 * max(1, abs(wanted)), path


@every_baseline
def test_what_each_position_sees(name):
    config = SMALL[name]
    params = shaken(name, config)
    moved = IDS.copy()
    moved[:, 2] = (moved[:, 2] + 1) % 7
    before, after = (MODELS[name].logits(params, config, inputs=ids) for ids in (IDS, moved))
    changed = np.abs(before - after).max(axis=(0, 2)) > 1e-9
    wanted = [False, False, True, *(3 * [name != "mlp"])]
    np.testing.assert_array_equal(changed, wanted)


def test_the_context_mlp_is_an_mlp_of_the_padded_prefix():
    rng = np.random.default_rng(0)
    tokens, W = rng.standard_normal((2, 5, 3)), rng.standard_normal((5, 3, 4))
    wanted = np.zeros((2, 5, 4))
    for t in range(5):
        prefix = np.zeros((2, 5, 3))
        prefix[:, : t + 1] = tokens[:, : t + 1]
        wanted[:, t] = prefix.reshape(2, 15) @ W.reshape(15, 4)
    np.testing.assert_allclose(running_sum(tokens, W), wanted, atol=1e-12)


@every_baseline
def test_float32_stays_float32_and_the_first_answer_is_nearly_uniform(name):
    config = SMALL[name]
    params = MODELS[name].init(config, np.random.default_rng(0))
    out = MODELS[name].logits(params, config, inputs=IDS)
    assert out.dtype == np.float32
    assert np.abs(out).max() < 0.3
    slopes = grad(lambda tree: (MODELS[name].logits(tree, config, inputs=IDS) ** 2).sum())(params)
    assert {leaf.dtype for leaf in flatten(slopes).values()} == {np.dtype(np.float32)}


@every_baseline
@pytest.mark.parametrize("wanted", [9_000, 60_000])
def test_equal_sizes_are_within_five_percent(name, wanted):
    config = MODELS[name].Config(num_inputs=40, num_outputs=20, num_positions=39)
    matched = match_width(MODELS[name], config, wanted)
    assert abs(num_params(MODELS[name], matched) - wanted) <= 0.05 * wanted
    nearer = [replace(matched, width=matched.width + by) for by in (-1, 1)]
    gap = abs(num_params(MODELS[name], matched) - wanted)
    assert all(abs(num_params(MODELS[name], other) - wanted) >= gap for other in nearer)


@pytest.mark.parametrize("name", MODELS)
def test_parameters_of_another_config_are_refused_by_name(name):
    model = MODELS[name]
    sizes = {**SIZES, "width": 8, "num_layers": 1}
    config = model.Config(**sizes)
    params = model.init(config, np.random.default_rng(0))
    deeper = replace(config, num_layers=2)
    with pytest.raises(ValueError, match=r"logits: want the parameters of this config.*\(missing: blocks/1/.*\); draw"):
        model.logits(params, deeper, inputs=IDS)
    with pytest.raises(ValueError, match=r"\(too much: blocks/1/"):  # fewer layers would be run without a word
        model.logits(model.init(deeper, np.random.default_rng(0)), config, inputs=IDS)
    with pytest.raises(ValueError, match=r"\(of another shape: head/W_head \(8, 3\) instead of \(8, 2\)\)"):
        model.logits(params, replace(config, num_outputs=2), inputs=IDS)
    with pytest.raises(ValueError, match=r"\(missing: embed/table"):
        model.logits({}, config, inputs=IDS)


def test_a_transformers_width_stays_a_multiple_of_its_heads():
    config = MODELS["transformer"].Config(num_inputs=40, num_outputs=20, num_positions=39)
    assert match_width(MODELS["transformer"], config, 60_000, multiple=4).width % 4 == 0
    with pytest.raises(ValueError, match="match_width: want 1000 parameters within 5%, got .* at the nearest width"):
        match_width(MODELS["transformer"], config, 1_000, multiple=4)


@pytest.mark.parametrize("name", ["lstm", "context_mlp"])
def test_each_learns_what_only_the_context_tells(name):
    """The label is the first token of the sequence; a position-wise model could not know it."""
    config = replace(SMALL[name], width=16, num_layers=1)
    rng, model = np.random.default_rng(0), MODELS[name]
    params, optimizer = model.init(config, rng), AdamW(learning_rate=1e-2)
    state = optimizer.init(params)

    def loss(tree, ids):
        targets = np.broadcast_to(ids[:, :1] % 3, ids.shape)
        out = model.logits(tree, config, inputs=ids)
        return ops.cross_entropy(out, targets=targets, mask=np.ones(ids.shape, bool))

    for _ in range(150):
        value, slopes = value_and_grad(loss)(params, rng.integers(0, 7, (32, 6)))
        params, state = optimizer.update(params, slopes, state)
    assert value < 0.2  # from ln 3 = 1.1


def test_only_a_recurrent_model_reads_on():
    longer = np.zeros((1, 8), int)
    assert MODELS["lstm"].logits(shaken("lstm", SMALL["lstm"]), SMALL["lstm"], inputs=longer).shape == (1, 8, 3)
    assert MODELS["lstm"].Config(**SIZES).reads_on
    for name in ("mlp", "context_mlp"):
        assert not SMALL[name].reads_on
        with pytest.raises(ValueError, match="want at most 6 positions, got 8"):
            MODELS[name].logits(shaken(name, SMALL[name]), SMALL[name], inputs=longer)


@every_baseline
def test_bad_configs_and_inputs_are_refused(name):
    config = SMALL[name]
    with pytest.raises(ValueError, match=r"Config: want width to be a whole number above 0, got 0"):
        replace(config, width=0)
    with pytest.raises(ValueError, match=r"Config: want embedder in"):
        replace(config, embedder="words")
    with pytest.raises(ValueError, match=r"logits: want inputs \(B, T\) ids"):
        MODELS[name].logits(shaken(name, config), config, inputs=np.zeros((1, 2, 3)))
    features = replace(config, embedder="features")
    with pytest.raises(ValueError, match=r"logits: want inputs \(B, T, 7\) features"):
        MODELS[name].logits(shaken(name, features), features, inputs=np.zeros((1, 2, 3)))
