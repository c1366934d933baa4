"""E-step and M-step: the bound lies above the loss, the step is its exact minimum, and the loss never rises."""

import numpy as np
import pytest

from mhc_np.dynamics import advantage as law
from mhc_np.dynamics.em import bound_step, cosine, readout_step, responsibility, source_costs, value_step
from mhc_np.dynamics.head import init, loss_and_gradients, masked_softmax
from mhc_np.ops import cross_entropy

RNG = np.random.default_rng(11)


def problem(N=30, D=4, K=3, V=5, scale=1.0, rng=RNG):
    attended, readout = rng.standard_normal((N, D)), rng.standard_normal((K, V))
    return attended, readout, scale * rng.standard_normal((D, K)), rng.integers(V, size=N)


def loss_of(weight, attended, readout, targets):
    mask = np.ones((1, len(targets)), bool)
    return float(cross_entropy((attended @ weight @ readout)[None], targets=targets[None], mask=mask))


def gradient_of(weight, attended, readout, targets):
    probs = masked_softmax(attended @ weight @ readout)
    return attended.T @ (probs - np.eye(readout.shape[1])[targets]) @ readout.T / len(targets)


def bound_of(change, weight, attended, readout, targets, ridge=0.0):
    """Write the bound out: loss, slope, and half of the curvature ½(I − 11ᵀ/V) at every label."""
    moved = attended @ change @ readout
    centred = moved - moved.mean(axis=1, keepdims=True)
    slope = (gradient_of(weight, attended, readout, targets) * change).sum()
    curvature = 0.5 * (centred * centred).sum() / len(targets) + ridge * (change * change).sum()
    return loss_of(weight, attended, readout, targets) + slope + 0.5 * curvature


@pytest.mark.parametrize("V", [2, 3, 10])
def test_half_the_centred_identity_is_above_every_hessian(V):
    for sharp in (0.1, 1.0, 10.0, 100.0):
        p = masked_softmax(sharp * RNG.standard_normal((50, V)))
        hessian = p[:, :, None] * np.eye(V) - p[:, :, None] * p[:, None, :]
        assert np.linalg.eigvalsh(0.5 * (np.eye(V) - 1 / V) - hessian).min() > -1e-14


@pytest.mark.parametrize("scale", [0.0, 1.0, 5.0])
def test_the_bound_lies_above_the_loss_and_touches_it(scale):
    attended, readout, weight, targets = problem(scale=scale)
    assert bound_of(0 * weight, weight, attended, readout, targets) == loss_of(weight, attended, readout, targets)
    for size in (1e-3, 0.1, 1.0, 10.0):
        change = size * RNG.standard_normal(weight.shape)
        gap = bound_of(change, weight, attended, readout, targets) - loss_of(
            weight + change, attended, readout, targets
        )
        assert gap > -1e-13


@pytest.mark.parametrize("ridge", [0.0, 1e-3, 1.0])
def test_the_step_minimises_the_bound(ridge):
    attended, readout, weight, targets = problem()
    step = bound_step(gradient_of(weight, attended, readout, targets), attended, readout, ridge)
    least = bound_of(step.change, weight, attended, readout, targets, ridge)
    before = loss_of(weight, attended, readout, targets)
    assert before - least == pytest.approx(step.promised_nats, abs=1e-13)
    for _ in range(20):
        other = step.change + 0.1 * RNG.standard_normal(weight.shape)
        assert bound_of(other, weight, attended, readout, targets, ridge) > least
    # Against a direct solution of the normal equations.
    centred = readout - readout.mean(axis=1, keepdims=True)
    curvature = np.kron(attended.T @ attended / (2 * len(targets)), centred @ centred.T) + ridge * np.eye(weight.size)
    wanted = np.linalg.lstsq(curvature, -gradient_of(weight, attended, readout, targets).ravel(), rcond=1e-12)[0]
    np.testing.assert_allclose(step.change.ravel(), wanted, atol=1e-10)


@pytest.mark.parametrize("ridge", [0.0, 1e-2])
@pytest.mark.parametrize("sizes", [{}, {"N": 3, "D": 6}, {"K": 7, "V": 3}, {"V": 2}, {"N": 1, "D": 1, "K": 1}])
def test_the_loss_falls_at_every_step_and_by_at_least_the_promise(sizes, ridge):
    attended, readout, weight, targets = problem(**sizes, scale=3.0)
    for _ in range(60):
        before = loss_of(weight, attended, readout, targets)
        step = bound_step(gradient_of(weight, attended, readout, targets), attended, readout, ridge)
        weight = weight + step.change
        assert step.promised_nats >= 0
        assert loss_of(weight, attended, readout, targets) <= before - step.promised_nats + 1e-12


def test_the_steps_converge_to_the_minimum():
    attended, readout, weight, targets = problem(N=200, scale=0.0)
    for _ in range(300):
        weight = weight + bound_step(gradient_of(weight, attended, readout, targets), attended, readout).change
    assert np.abs(gradient_of(weight, attended, readout, targets)).max() < 1e-9


def test_a_sign_error_makes_the_loss_rise():
    attended, readout, weight, targets = problem()
    step = bound_step(-gradient_of(weight, attended, readout, targets), attended, readout)
    assert loss_of(weight + step.change, attended, readout, targets) > loss_of(weight, attended, readout, targets)


@pytest.mark.parametrize("num_heads", [1, 2])
def test_m_steps_of_a_head_lower_its_loss_with_the_frame_fixed(num_heads):
    rng = np.random.default_rng(1)
    params = init(rng, num_inputs=5, num_outputs=4, key_width=3, value_width=3, num_heads=num_heads, scale=1.0)
    inputs, targets = rng.standard_normal((3, 8, 5)), rng.integers(4, size=(3, 8))
    mask = rng.random((3, 8)) < 0.6
    arguments = {"targets": targets, "mask": mask, "num_heads": num_heads}
    losses = []
    for turn in range(12):
        loss, head, gradients = loss_and_gradients(params, inputs, **arguments)
        losses.append(loss)
        which = turn % (num_heads + 1)
        if which < num_heads:
            step = value_step(params, inputs, head, gradients, mask=mask, ridge=0.0, which_head=which)
            W_v = params["W_v"].copy()
            W_v[:, which * 3 : which * 3 + 3] += step.change
            params = {**params, "W_v": W_v}
        else:
            step = readout_step(head, gradients, mask=mask, ridge=0.0)
            params = {**params, "W_o": params["W_o"] + step.change}
        after, moved, _ = loss_and_gradients(params, inputs, **arguments)
        assert after <= loss - step.promised_nats + 1e-12
        np.testing.assert_array_equal(moved.weights, head.weights)
    assert losses[-1] < losses[0] - 0.1


def test_responsibility_is_bayes_rule():
    weights = masked_softmax(RNG.standard_normal((4, 6)))
    likelihood = RNG.random((4, 6))
    wanted = weights * likelihood / (weights * likelihood).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(responsibility(weights, -np.log(likelihood)), wanted, atol=1e-15)
    np.testing.assert_allclose(responsibility(weights, 5 - np.log(likelihood)), wanted, atol=1e-15)


def test_responsibility_at_its_edges():
    weights = np.array([[0.5, 0.5, 0.0], [0.5, 0.5, 0.0], [0.0, 0.0, 0.0]])
    cost = np.array([[0.0, 1e4, -1e4], [np.inf, 3.0, 0.0], [1.0, 2.0, 3.0]])
    np.testing.assert_array_equal(responsibility(weights, cost), [[1, 0, 0], [0, 1, 0], [0, 0, 0]])


def test_a_small_gradient_step_is_the_first_order_e_step():
    weights = masked_softmax(RNG.standard_normal((4, 6)))
    b = RNG.standard_normal((4, 6))
    errors = []
    for size in (1e-2, 1e-3, 1e-4):
        change = responsibility(weights, size * b) - weights
        errors.append(np.abs(change + law.score_gradient(weights, size * b)).max() / size**2)
    assert max(errors) < 1.0  # the difference is of second order
    wrong = responsibility(weights, 1e-4 * b) - weights - law.score_gradient(weights, 1e-4 * b)
    assert np.abs(wrong).max() > 1e-5  # a planted sign


def test_source_costs_by_a_loop():
    values, readout = RNG.standard_normal((2, 3, 4)), RNG.standard_normal((4, 5))
    targets = RNG.integers(5, size=(2, 3))
    costs = source_costs(values, readout, targets)
    for b in range(2):
        for i in range(3):
            for j in range(3):
                price = -np.log(masked_softmax(values[b, j] @ readout)[targets[b, i]])
                assert costs[b, i, j] == pytest.approx(price, abs=1e-13)


def test_cosine():
    a = RNG.standard_normal((3, 4))
    assert cosine(a, 2 * a) == pytest.approx(1)
    assert cosine(a, -a) == pytest.approx(-1)
    assert np.isnan(cosine(a, 0 * a))


def test_bad_arguments_are_refused_in_words():
    attended, readout, weight, _ = problem()
    with pytest.raises(ValueError, match="want ridge >= 0, got -1"):
        bound_step(weight, attended, readout, -1)
    with pytest.raises(ValueError, match=r"want d_weight \(D, K\), attended \(N, D\)"):
        bound_step(weight.T, attended, readout)


@pytest.mark.parametrize("size", [0.01, 0.3, 1.0, 5.0, 30.0])
def test_gradient_and_first_order_e_step_differ_by_at_most_a_quarter_of_the_range_squared(size):
    """The bound of chapter 8: summed over sources, |r − α + α(b − E[b])| <= R² / 4."""
    weights = RNG.dirichlet(0.7 * np.ones(6), size=200)
    b = size * RNG.standard_normal((200, 6))
    gap = np.abs(responsibility(weights, b) - weights + law.score_gradient(weights, b)).sum(axis=1)
    assert np.all(gap <= np.ptp(b, axis=1) ** 2 / 4 + 1e-15)
