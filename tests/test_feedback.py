"""The feedback loop: its second-order terms against differences, its sign where it is a theorem, and its course."""

import numpy as np
import pytest

from mhc_np.dynamics import advantage as law
from mhc_np.dynamics.feedback import alignment_change, reinforcement, run_loop, weights_change
from mhc_np.dynamics.head import causal, masked_softmax

RNG = np.random.default_rng(8)


def example(T=6, K=3):
    scores = np.where(causal(T), RNG.standard_normal((T, T)), -np.inf)
    return scores, RNG.standard_normal((T, K)), RNG.standard_normal((T, K))


def test_alignment_change_is_what_a_value_step_does():
    scores, values, d_out = example()
    weights = masked_softmax(scores)
    moved = values - 0.3 * law.value_gradient(weights, d_out)
    change = law.alignment(d_out, moved) - law.alignment(d_out, values)
    np.testing.assert_allclose(alignment_change(weights, d_out, 0.3), change, atol=1e-13)


def test_weights_change_to_first_order():
    scores, _, _ = example()
    step = RNG.standard_normal(scores.shape)
    moved = (masked_softmax(scores + 1e-5 * step) - masked_softmax(scores - 1e-5 * step)) / 2e-5
    np.testing.assert_allclose(weights_change(masked_softmax(scores), step), moved, atol=1e-9)
    np.testing.assert_allclose(weights_change(masked_softmax(scores), step).sum(axis=-1), 0, atol=1e-15)


def test_score_step_moves_weight_to_better_than_average_sources():
    scores, values, d_out = example()
    weights = masked_softmax(scores)
    b = law.alignment(d_out, values)
    gain = weights_change(weights, -law.score_gradient(weights, b))
    assert np.all((gain * b).sum(axis=-1) <= 1e-15)  # the mean cost of every row falls


def test_a_row_alone_always_reinforces_its_favourites():
    for _ in range(20):
        weights, d_out = RNG.dirichlet(np.ones(5), size=1), RNG.standard_normal((1, 3))
        got = reinforcement(weights, alignment_change(weights, d_out, 0.1))
        own = (weights**3).sum() - (weights**2).sum() ** 2  # variance of the weights under themselves
        np.testing.assert_allclose(got, 0.1 * (d_out**2).sum() * own, atol=1e-14)
        assert got >= 0


def test_queries_with_opposite_errors_can_break_the_loop():
    weights = np.array([[0.6, 0.4], [0.9, 0.1]])
    together, against = np.array([[1.0], [3.0]]), np.array([[1.0], [-3.0]])
    assert reinforcement(weights, alignment_change(weights, together, 0.1))[0] > 0
    assert reinforcement(weights, alignment_change(weights, against, 0.1))[0] < 0


def test_uniform_and_one_hot_rows_have_no_favourites():
    change = RNG.standard_normal((2, 4))
    np.testing.assert_allclose(reinforcement(np.array([[0.25] * 4, [0, 1, 0, 0]]), change), 0, atol=1e-15)


def square(target):
    return lambda out: (0.5 * ((out - target) ** 2).sum(), out - target)


def test_the_loop_descends_and_each_side_can_be_frozen():
    scores, values, target = example()
    both = run_loop(scores, values, square(target), score_rate=0.2, value_rate=0.2, num_steps=200)
    assert both.weights.shape == (201, 6, 6)
    assert np.all(np.diff(both.loss) < 1e-15)
    assert both.loss[-1] < 0.01 * both.loss[0]
    frame = run_loop(scores, values, square(target), score_rate=0.0, value_rate=0.2, num_steps=5)
    np.testing.assert_array_equal(frame.weights[-1], frame.weights[0])
    content = run_loop(scores, values, square(target), score_rate=0.2, value_rate=0.0, num_steps=5)
    np.testing.assert_array_equal(content.values[-1], content.values[0])
    assert content.loss[-1] < content.loss[0]


def test_the_first_step_agrees_with_the_laws():
    scores, values, target = example()
    loop = run_loop(scores, values, square(target), score_rate=1e-6, value_rate=1e-6, num_steps=1)
    weights = masked_softmax(scores)
    d_out = weights @ values - target
    d_scores = law.score_gradient(weights, law.alignment(d_out, values))
    np.testing.assert_allclose((loop.weights[1] - weights) / 1e-6, weights_change(weights, -d_scores), atol=1e-5)
    fall = law.loss_change(weights, d_out, 1e-6) - 1e-6 * (d_scores**2).sum()
    assert loop.loss[1] - loop.loss[0] == pytest.approx(fall, rel=1e-4)
