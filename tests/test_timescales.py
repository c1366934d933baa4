"""Two time scales: rates against the Jacobian and against a real descent, and the freezing bound."""

import numpy as np
import pytest

from mhc_np.dynamics import advantage as law
from mhc_np.dynamics.feedback import run_loop
from mhc_np.dynamics.head import init, loss_and_gradients, masked_softmax
from mhc_np.dynamics.timescales import (
    advantage_weight,
    block_rates,
    content_kernel,
    content_movement,
    routing_kernel,
    row_movement,
    two_source_rates,
)

RNG = np.random.default_rng(4)


def test_kernels_are_traces_of_the_jacobian():
    scores, values = RNG.standard_normal((3, 5)), RNG.standard_normal((5, 4))
    weights = masked_softmax(scores)
    out = weights @ values
    for i in range(3):
        by_scores = weights[i][:, None] * (values - out[i])  # (S, K): d out / d s_j
        assert routing_kernel(weights, values)[i] == pytest.approx((by_scores**2).sum())
        by_values = np.concatenate([w * np.eye(4) for w in weights[i]])  # (S·K, K)
        assert content_kernel(weights, 4)[i] == pytest.approx((by_values**2).sum())
    u = RNG.standard_normal((3, 4))
    d_scores = law.score_gradient(weights, law.alignment(u, values))
    share = [(weights[i] ** 2 * ((values - out[i]) @ u[i]) ** 2).sum() for i in range(3)]
    np.testing.assert_allclose((d_scores**2).sum(axis=1), share)


def test_the_freezing_bound_holds_and_is_reached():
    for concentration in (0.05, 1.0, 20.0):
        weights, b = RNG.dirichlet(concentration * np.ones(6), size=200), RNG.standard_normal((200, 6))
        heard = np.abs(law.score_gradient(weights, b)).sum(axis=1)
        assert np.all(heard <= advantage_weight(weights) * np.ptp(b, axis=1) + 1e-15)
    two = np.array([[0.9, 0.1]])
    assert np.abs(law.score_gradient(two, np.array([[0.0, 1.0]]))).sum() == pytest.approx(advantage_weight(two)[0])


@pytest.mark.parametrize("weight", [0.5, 0.8, 0.95])
def test_two_source_rates_are_those_of_a_real_descent(weight):
    """Freeze one side, start near the target, and time the fall of the error."""
    gap, start = 1.5, 1e-4
    scores = np.log([[weight, 1 - weight]])
    values = np.array([[gap], [0.0]])
    target = weight * gap + start
    square = lambda out: (0.5 * ((out - target) ** 2).sum(), out - target)  # noqa: E731
    for block, rate in zip(("routing", "content"), two_source_rates(weight, gap), strict=True):
        rates = (
            {"score_rate": 1e-2, "value_rate": 0.0} if block == "routing" else {"score_rate": 0.0, "value_rate": 1e-2}
        )
        loop = run_loop(scores, values, square, num_steps=100, **rates)
        fitted = -np.log(loop.loss[-1] / loop.loss[0]) / 2 / (100 * 1e-2)  # the loss falls twice as fast as the error
        assert fitted == pytest.approx(rate, rel=0.02)


def test_block_rates_predict_the_fall_of_the_loss():
    rng = np.random.default_rng(0)
    params = init(rng, num_inputs=4, num_outputs=3, key_width=2, value_width=2, scale=1.0)
    inputs, targets, mask = rng.standard_normal((2, 5, 4)), rng.integers(3, size=(2, 5)), np.ones((2, 5), bool)
    loss, _, gradients = loss_and_gradients(params, inputs, targets=targets, mask=mask)
    rates = block_rates(gradients.params)
    for block, names in (("routing", ("W_q", "W_k")), ("content", ("W_v", "W_o"))):
        moved = {w: p - 1e-6 * gradients.params[w] * (w in names) for w, p in params.items()}
        fall = loss - loss_and_gradients(moved, inputs, targets=targets, mask=mask)[0]
        assert fall / 1e-6 == pytest.approx(rates[block], rel=1e-3)


def test_movements():
    one, other = np.eye(3), np.roll(np.eye(3), 1, axis=0)
    assert row_movement(one, one) == 0
    assert row_movement(one, other) == 1
    content = RNG.standard_normal((5, 4))
    assert content_movement(content + RNG.standard_normal((5, 1)), content) == pytest.approx(0, abs=1e-15)
    assert content_movement(content + np.array([1.0, -1.0, 0, 0]), content) == pytest.approx(np.sqrt(0.5))
