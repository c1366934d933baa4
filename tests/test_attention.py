"""Attention: a loop over positions as oracle, causality, saturation, and the faults that most tests miss."""

import numpy as np
import pytest

from mhc_np.autodiff import check_op, define_vjp, grad
from mhc_np.ops import attention, attention_ref, attention_weights
from mhc_np.ops.attention import attention_bwd, attention_fwd, causal_softmax, merge_heads, split_heads

RNG = np.random.default_rng(3)
Q, K, V = (RNG.standard_normal((2, 5, 6)) for _ in range(3))


def by_loops(queries, keys, values, bias, num_heads):
    out = np.zeros_like(values)
    width = queries.shape[-1] // num_heads
    for b in range(len(queries)):
        for h in range(num_heads):
            own = slice(h * width, (h + 1) * width)
            for i in range(queries.shape[1]):
                scores = np.array(
                    [queries[b, i, own] @ keys[b, j, own] / np.sqrt(width) + bias[h, i, j] for j in range(i + 1)]
                )
                weights = np.exp(scores) / np.exp(scores).sum()
                out[b, i, own] = weights @ values[b, : i + 1, own]
    return out


def test_equals_a_loop_over_positions_and_heads():
    bias = RNG.standard_normal((2, 5, 5))
    np.testing.assert_allclose(attention(Q, K, V, bias, num_heads=2), by_loops(Q, K, V, bias, 2), atol=1e-14)


def test_nothing_looks_ahead():
    changed = [x.copy() for x in (Q, K, V)]
    for x in changed:
        x[:, 3:] += 1.0
    before, after = attention(Q, K, V, num_heads=3), attention(*changed, num_heads=3)
    np.testing.assert_array_equal(before[:, :3], after[:, :3])
    assert np.abs(before[:, 3:] - after[:, 3:]).max() > 0.1


def test_weights_are_rows_of_a_distribution():
    weights = attention_weights(Q, K, num_heads=2)
    np.testing.assert_allclose(weights.sum(-1), 1, atol=1e-15)
    assert np.all(weights[..., np.triu_indices(5, 1)[0], np.triu_indices(5, 1)[1]] == 0)
    np.testing.assert_allclose(merge_heads(weights @ split_heads(V, 2)), attention(Q, K, V, num_heads=2), atol=1e-15)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_saturated_scores_stay_finite_and_pick_one_position(dtype):
    q, k = np.full((1, 3, 1), 100, dtype), np.array([[[100.0], [-100.0], [99.0]]], dtype)
    v = np.array([[[1.0], [2.0], [3.0]]], dtype)
    np.testing.assert_allclose(attention(q, k, v, num_heads=1)[0, :, 0], 1)
    d_v = grad(lambda x: (attention(q, k, x, num_heads=1) * np.array([[[1.0], [2.0], [4.0]]], dtype)).sum())(v)
    np.testing.assert_allclose(d_v[0, :, 0], [7, 0, 0], atol=1e-40)


@pytest.mark.parametrize("size", [1.0, 59.0, 61.0, 1e4])
def test_softmax_is_the_same_on_both_sides_of_the_range_that_needs_no_maxima(size):
    rng = np.random.default_rng(0)
    scores = rng.uniform(-1, 1, (2, 4, 4))
    scores *= size / np.abs(scores).max()
    shifted = np.where(np.tril(np.ones((4, 4))) > 0, scores, -np.inf)
    exps = np.exp(shifted - shifted.max(-1, keepdims=True))
    for dtype, tolerance in ((np.float64, 1e-14), (np.float32, 1e-5 if size < 1e3 else 1e-3)):
        weights = scores.astype(dtype)
        causal_softmax(weights)
        np.testing.assert_allclose(weights, exps / exps.sum(-1, keepdims=True), rtol=0, atol=tolerance)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("future", [50.0, 1e4, -1e4])
def test_a_future_score_changes_no_weight_however_large(dtype, future):
    scores = np.array([[-40.0, future], [3.0, 3.0]], dtype)
    causal_softmax(scores)
    np.testing.assert_allclose(scores, [[1, 0], [0.5, 0.5]], rtol=1e-6)


def test_a_score_that_is_not_a_number_stays_visible():
    scores = np.array([[np.nan, 0.0], [0.0, 0.0]])
    causal_softmax(scores)
    assert np.isnan(scores[0]).all()
    np.testing.assert_allclose(scores[1], 0.5)


def test_a_bias_of_minus_infinity_hides_a_pair_and_leaves_finite_gradients():
    bias = np.zeros((2, 5, 5))
    bias[:, 3, :3] = -np.inf  # position 3 sees itself alone
    np.testing.assert_array_equal(attention(Q, K, V, bias, num_heads=2)[:, 3], V[:, 3])
    slopes = grad(lambda x: (attention(x["q"], x["k"], V, bias, num_heads=2) * Q).sum())({"q": Q, "k": K})
    assert np.isfinite(slopes["q"]).all()
    np.testing.assert_allclose(slopes["q"][:, 3], 0, atol=1e-12)
    assert np.isfinite(slopes["k"]).all()


def test_a_bias_that_hides_a_position_from_itself_is_refused():
    bias = np.zeros((2, 5, 5))
    bias[1, 3, 3] = -np.inf
    message = "see itself, got -inf on the diagonal at head 1, position 3; give it"
    with pytest.raises(ValueError, match=message):
        attention(Q, K, V, bias, num_heads=2)
    with pytest.raises(ValueError, match=message):
        grad(lambda b: attention(Q, K, V, b, num_heads=2).sum())(bias)
    with pytest.raises(ValueError, match="attention_weights: want a bias that lets each position " + message):
        attention_weights(Q, K, bias, num_heads=2)


def planted(change):
    def wrong(d_out, cache):
        return change(*attention_bwd(d_out, cache), cache, d_out)

    return define_vjp(attention_fwd, wrong)


def without_the_mean(d_q, d_k, d_v, cache, d_out):
    """The classic slip: the softmax backward lacks its sum term."""
    q, k, v, weights, _, _ = cache
    d_scores = weights * (split_heads(d_out, q.shape[1]) @ np.swapaxes(v, 2, 3))
    return merge_heads(d_scores @ k / np.sqrt(q.shape[-1])), d_k, d_v


FAULTS = {
    "no mean in the advantage": without_the_mean,
    "sign of the query gradient": lambda d_q, d_k, d_v, cache, d_out: (-d_q, d_k, d_v),
    "query and key swapped": lambda d_q, d_k, d_v, cache, d_out: (d_k, d_q, d_v),
    "value gradient cut": lambda d_q, d_k, d_v, cache, d_out: (d_q, d_k, 0 * d_v),
    "scale applied twice": lambda d_q, d_k, d_v, cache, d_out: (d_q, d_k / np.sqrt(3), d_v),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_planted_faults_are_caught(fault):
    broken = planted(FAULTS[fault])
    assert not check_op(broken, attention_ref, Q, K, V, rng=np.random.default_rng(0), num_heads=2)


@pytest.mark.parametrize(
    ("arrays", "heads", "message"),
    [
        ((Q, K[:, :4], V), 2, "one shape"),
        ((Q, K, V), 0, "want num_heads above 0, got 0"),
        ((Q, K, V), -2, "want num_heads above 0, got -2"),
        ((Q, K, V), 4, "4 heads divide, got 6"),
        ((Q, K, V, np.zeros((2, 4, 5))), 2, r"want bias \(H, T, T\) = \(2, 5, 5\)"),
    ],
)
def test_bad_shapes_are_refused_in_words(arrays, heads, message):
    with pytest.raises(ValueError, match="attention: .*" + message):
        attention(*arrays, num_heads=heads)
    queries, keys, _, *bias = arrays
    with pytest.raises(ValueError, match="attention_weights: .*" + message):
        attention_weights(queries, keys, *bias, num_heads=heads)


def test_arrays_without_a_width_have_no_weights():
    with pytest.raises(ValueError, match=r"want queries, keys of one shape \(B, T, D\), got \(2, 5\), \(2, 5\)"):
        attention_weights(Q[..., 0], K[..., 0], num_heads=2)
