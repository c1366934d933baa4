"""The advantage law on free scores and values: against finite differences, at its edges, and with planted faults."""

import numpy as np
import pytest

from mhc_np.dynamics import advantage as law
from mhc_np.dynamics.head import causal, masked_softmax

RNG = np.random.default_rng(5)


def example(T=5, K=3, heads=2, mask=None, scale=1.0):
    scores = scale * RNG.standard_normal((heads, T, T))
    scores = np.where(causal(T) if mask is None else mask, scores, -np.inf)
    return scores, RNG.standard_normal((heads, T, K)), RNG.standard_normal((heads, T, K))


def loss(scores, values, cotangent):
    """A loss whose gradient in the output is the cotangent everywhere."""
    return (masked_softmax(scores) @ values * cotangent).sum()


def differences(function, x, step=1e-4):
    gradient = np.zeros_like(x)
    for index in np.ndindex(x.shape):
        if not np.isfinite(x[index]):
            continue
        moved = []
        for by in (step, -step, 2 * step, -2 * step):
            y = x.copy()
            y[index] += by
            moved.append(function(y))
        gradient[index] = (8 * (moved[0] - moved[1]) - (moved[2] - moved[3])) / (12 * step)
    return gradient


@pytest.mark.parametrize("T", [1, 2, 7])
def test_scores_and_values_against_differences(T):
    scores, values, d_out = example(T)
    weights = masked_softmax(scores)
    got = law.score_gradient(weights, law.alignment(d_out, values))
    np.testing.assert_allclose(got, differences(lambda s: loss(s, values, d_out), scores), rtol=0, atol=1e-10)
    got = law.value_gradient(weights, d_out)
    np.testing.assert_allclose(got, differences(lambda v: loss(scores, v, d_out), values), rtol=0, atol=1e-10)


@pytest.mark.parametrize("scale", [0.1, 1.0, 30.0, 1e4])
def test_rows_sum_to_zero_to_rounding(scale):
    scores, values, d_out = example(T=40, scale=scale)
    weights = masked_softmax(scores)
    b = law.alignment(d_out, values)
    d_scores = law.score_gradient(weights, b)
    np.testing.assert_allclose(d_scores.sum(axis=-1), 0, atol=40 * np.finfo(float).eps * np.abs(b).max())
    np.testing.assert_allclose(law.row_mean(weights, law.advantage(weights, b)), 0, atol=1e-14)
    assert np.all(d_scores[:, ~causal(40)] == 0)


def test_concentrated_rows_do_not_move():
    weights = np.eye(4)[[0, 0, 2, 1]]
    assert not np.any(law.score_gradient(weights, 100 * RNG.standard_normal((4, 4))))


def test_the_row_mean_is_the_error_times_the_output():
    scores, values, d_out = example()
    weights = masked_softmax(scores)
    mean = law.row_mean(weights, law.alignment(d_out, values))
    np.testing.assert_allclose(mean[..., 0], (d_out * (weights @ values)).sum(axis=-1), atol=1e-13)


def test_descent_raises_the_scores_of_better_than_average_sources():
    scores, values, d_out = example(mask=True)
    weights = masked_softmax(scores)
    b = law.alignment(d_out, values)
    rises = law.score_gradient(weights, b) < 0
    np.testing.assert_array_equal(rises, b < law.row_mean(weights, b))


def test_queries_and_keys_against_differences():
    T, K, scale = 5, 4, 0.5
    queries, keys, values, d_out = (RNG.standard_normal((T, K)) for _ in range(4))
    weights = masked_softmax(np.where(causal(T), scale * queries @ keys.T, -np.inf))
    d_scores = law.score_gradient(weights, law.alignment(d_out, values))

    def through(q, k):
        return loss(np.where(causal(T), scale * q @ k.T, -np.inf), values, d_out)

    d_queries, d_keys = law.query_gradient(d_scores, keys, scale), law.key_gradient(d_scores, queries, scale)
    np.testing.assert_allclose(d_queries, differences(lambda q: through(q, keys), queries), atol=1e-10)
    np.testing.assert_allclose(d_keys, differences(lambda k: through(queries, k), keys), atol=1e-10)


def test_value_step_lowers_the_loss_as_promised():
    scores, values, d_out = example()
    weights = masked_softmax(scores)
    change = -1e-3 * law.value_gradient(weights, d_out)
    np.testing.assert_allclose(
        law.output_change(weights, change), -1e-3 * weights @ np.swapaxes(weights, 1, 2) @ d_out, atol=1e-15
    )
    fall = loss(scores, values + change, d_out) - loss(scores, values, d_out)
    assert law.loss_change(weights, d_out, 1e-3).shape == (2,)
    assert fall == pytest.approx(law.loss_change(weights, d_out, 1e-3).sum(), rel=1e-9)  # this loss is linear in them


FAULTS = {
    "sign": lambda w, b: -law.score_gradient(w, b),
    "no mean": lambda w, b: w * b,
    "plain mean": lambda w, b: w * (b - b.mean(axis=-1, keepdims=True)),
    "weight squared": lambda w, b: w * law.score_gradient(w, b),
    "transposed": lambda w, b: np.swapaxes(law.score_gradient(w, b), -1, -2),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_planted_faults_are_caught(fault):
    scores, values, d_out = example()
    wrong = FAULTS[fault](masked_softmax(scores), law.alignment(d_out, values))
    truth = differences(lambda s: loss(s, values, d_out), scores)
    with pytest.raises(AssertionError):
        np.testing.assert_allclose(wrong, truth, rtol=0, atol=1e-3)
