"""The Transformer: an independent forward pass as oracle, causality, gradients, looping, heads, hooks, refusals."""

from dataclasses import replace as change

import numpy as np
import pytest

from mhc_np.autodiff import flatten, grad, tree_map, unflatten
from mhc_np.models import ModelConfig, init, logits, replace, trace
from mhc_np.ops import cross_entropy

IDS = np.random.default_rng(1).integers(0, 7, (2, 5))
PLAIN = ModelConfig(num_inputs=7, num_outputs=3, num_positions=6, width=8, num_layers=2, num_heads=2, mlp_ratio=2)
VARIANTS = {
    "plain": PLAIN,
    "gelu": change(PLAIN, activation="gelu"),
    "relative": change(PLAIN, positions="relative", max_distance=3),
    "relative with header": change(PLAIN, positions="relative", max_distance=2, num_header=2),
    "rotary": change(PLAIN, positions="rotary"),
    "no positions": change(PLAIN, positions="none"),
    "tied": change(PLAIN, head="tied"),
    "looped": change(PLAIN, num_loops=2),
    "no final norm": change(PLAIN, final_norm=False),
    "features": change(PLAIN, embedder="features", num_inputs=4),
}
every_variant = pytest.mark.parametrize("name", VARIANTS)


def inputs_for(config):
    if config.embedder == "features":
        return np.random.default_rng(2).standard_normal((2, 5, config.num_inputs))
    return IDS


def params_for(config, dtype=np.float64):
    """Draw parameters and shake all of them, so that gains, biases and tables matter too."""
    rng = np.random.default_rng(3)
    return tree_map(lambda x: (x + 0.3 * rng.standard_normal(x.shape)).astype(dtype), init(config, rng, dtype))


def by_hand(params, ids, num_heads):
    """The plain model written a second time, one sequence and one head at a time."""

    def norm(x, gain):
        return x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-6) * gain

    def softmax(x):
        e = np.exp(x - x.max(-1, keepdims=True))
        return e / e.sum(-1, keepdims=True)

    x = params["embed"]["table"][ids] + params["positions"]["table"][: len(ids)]
    for block in params["blocks"].values():
        part = block["attention"]
        h = norm(x, part["gain"])
        q, k, v = h @ part["W_q"], h @ part["W_k"], h @ part["W_v"]
        found = []
        for head in np.split(np.arange(q.shape[1]), num_heads):
            scores = q[:, head] @ k[:, head].T / np.sqrt(len(head))
            scores[np.triu_indices(len(ids), 1)] = -np.inf
            found.append(softmax(scores) @ v[:, head])
        x = x + np.concatenate(found, 1) @ part["W_o"]
        part = block["mlp"]
        x = x + np.maximum(norm(x, part["gain"]) @ part["W_in"] + part["b_in"], 0) @ part["W_out"] + part["b_out"]
    return norm(x, params["final_norm"]["gain"]) @ params["head"]["W_head"]


def test_equals_the_model_written_a_second_time():
    params = params_for(PLAIN)
    wanted = np.stack([by_hand(params, ids, PLAIN.num_heads) for ids in IDS])
    np.testing.assert_allclose(logits(params, PLAIN, inputs=IDS), wanted, atol=1e-12)


@every_variant
def test_a_later_token_changes_no_earlier_logit(name):
    config = VARIANTS[name]
    params, before = params_for(config), inputs_for(config)
    after = before.copy()
    after[:, 3:] = (after[:, 3:] + 1) % 7
    a, b = (logits(params, config, inputs=x) for x in (before, after))
    np.testing.assert_array_equal(a[:, :3], b[:, :3])
    assert np.abs(a[:, 3:] - b[:, 3:]).max() > 1e-3


@every_variant
def test_every_parameter_has_the_gradient_that_differences_give(name):
    config = VARIANTS[name]
    params, rng = params_for(config), np.random.default_rng(4)
    targets, mask = rng.integers(0, 3, (2, 5)), rng.random((2, 5)) < 0.7

    def loss(p):
        return cross_entropy(logits(p, config, inputs=inputs_for(config)), targets=targets, mask=mask)

    gradient, leaves = flatten(grad(loss)(params)), flatten(params)
    for path, leaf in leaves.items():
        direction, step = rng.standard_normal(leaf.shape), 1e-6
        up, down = (loss(unflatten({**leaves, path: leaf + s * direction})) for s in (step, -step))
        np.testing.assert_allclose(np.sum(gradient[path] * direction), (up - down) / (2 * step), rtol=1e-5, atol=1e-9)
        assert np.any(gradient[path]), f"{path} has no gradient"


@every_variant
def test_float32_stays_float32_in_logits_and_gradients(name):
    config = VARIANTS[name]
    params = params_for(config, np.float32)
    out = logits(params, config, inputs=inputs_for(config))
    assert out.dtype == np.float32
    wide = logits(tree_map(np.float64, params), config, inputs=inputs_for(config))
    np.testing.assert_allclose(out, wide, atol=1e-5 * np.abs(wide).max())
    mask = np.ones((2, 5), bool)
    zeros = np.zeros((2, 5), int)
    gradient = grad(lambda p: cross_entropy(logits(p, config, inputs=inputs_for(config)), targets=zeros, mask=mask))
    assert {leaf.dtype for leaf in flatten(gradient(params)).values()} == {np.dtype(np.float32)}


def test_a_loop_is_the_same_blocks_again():
    looped = change(PLAIN, num_loops=3)
    params = params_for(looped)
    unrolled = change(PLAIN, num_layers=6)
    blocks = {str(layer): params["blocks"][str(layer % 2)] for layer in range(6)}
    np.testing.assert_array_equal(
        logits(params, looped, inputs=IDS), logits({**params, "blocks": blocks}, unrolled, inputs=IDS)
    )


def test_relative_and_rotary_read_on_past_the_trained_length_and_absolute_says_it_cannot():
    long = np.zeros((1, 20), int)
    for name in ("relative", "rotary"):
        assert logits(params_for(VARIANTS[name]), VARIANTS[name], inputs=long).shape == (1, 20, 3)
    with pytest.raises(ValueError, match="at most 6 positions, got 20; use relative or rotary"):
        logits(params_for(PLAIN), PLAIN, inputs=long)


def test_relative_bias_ignores_where_a_window_starts():
    """With no header and one layer, what a position sees depends on distances alone."""
    config = change(PLAIN, positions="relative", num_layers=1)
    params = params_for(config)
    padded = np.concatenate([np.full((2, 2), 6), IDS], axis=1)
    seen = trace(params, config, inputs=padded)[1]["weights", 0][..., 2:, 2:]
    wanted = trace(params, config, inputs=IDS)[1]["weights", 0]
    np.testing.assert_allclose(seen / seen.sum(-1, keepdims=True), wanted, atol=1e-12)


def test_same_seed_same_bytes_and_first_prediction_near_uniform():
    a, b = (flatten(init(PLAIN, np.random.default_rng(0))) for _ in range(2))
    assert all(a[path].tobytes() == b[path].tobytes() for path in a)
    assert np.abs(logits(init(PLAIN, np.random.default_rng(0)), PLAIN, inputs=IDS)).max() < 0.3


def test_trace_holds_every_site_and_hooks_replace():
    params = params_for(PLAIN)
    out, seen = trace(params, PLAIN, inputs=IDS)
    np.testing.assert_array_equal(out, logits(params, PLAIN, inputs=IDS))
    assert len(seen) == 1 + 2 * 9
    written = seen["attention", 1] + seen["after mlp", 0][:, :, 0]
    np.testing.assert_allclose(seen["after attention", 1][:, :, 0], written, atol=1e-12)
    np.testing.assert_allclose(seen["weights", 0].sum(-1), 1)
    np.testing.assert_array_equal(logits(params, PLAIN, inputs=IDS, hook=replace({("mlp", 0): seen["mlp", 0]})), out)
    silenced = logits(params, PLAIN, inputs=IDS, hook=replace({("mlp", 0): np.zeros(1)}))
    off = tree_map(np.copy, params)
    off["blocks"]["0"]["mlp"]["W_out"][:] = 0
    off["blocks"]["0"]["mlp"]["b_out"][:] = 0
    np.testing.assert_array_equal(silenced, logits(off, PLAIN, inputs=IDS))
    assert np.abs(silenced - out).max() > 1e-3


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"positions": "sinus"}, "want positions in .* got 'sinus'"),
        ({"num_heads": 3}, "3 heads divide, got 8"),
        ({"width": 6, "positions": "rotary"}, "even head width, got 3"),
        ({"num_layers": 0}, "num_layers to be a whole number above 0"),
        ({"head": "tied", "num_outputs": 9}, "tied head"),
        ({"scheme": "hyper"}, "scheme"),
    ],
)
def test_what_cannot_be_built_is_refused(fields, message):
    with pytest.raises(ValueError, match=message):
        init(change(PLAIN, **fields), np.random.default_rng(0))


def test_inputs_of_the_wrong_kind_are_refused():
    with pytest.raises(ValueError, match=r"want inputs \(B, T\) ids, got shape \(5,\)"):
        logits(params_for(PLAIN), PLAIN, inputs=IDS[0])
    features = VARIANTS["features"]
    with pytest.raises(ValueError, match=r"want inputs \(B, T, 4\) features, got shape \(2, 5\)"):
        logits(params_for(features), features, inputs=IDS)
