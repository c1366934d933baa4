"""The gradient at the fixed point: right in the limit, and off by exactly what theory says before it."""

import autograd.numpy as anp
import numpy as np
import pytest

from mhc_np.autodiff import check_op, grad
from mhc_np.ops import doubly_stochastic_error, sinkhorn, sinkhorn_implicit, sinkhorn_ref
from mhc_np.ops.sinkhorn import sinkhorn_bwd, sinkhorn_fwd
from mhc_np.ops.sinkhorn_implicit import implicit_gradient, multipliers


def rng():
    return np.random.default_rng(4)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 8])
def test_at_convergence_three_gradients_agree(n):
    logits = rng().standard_normal((1, n, n)) / 2
    verdict = check_op(sinkhorn_implicit, sinkhorn_ref, logits, rng=rng(), num_iters=150)
    assert verdict, str(verdict)
    cotangent = rng().standard_normal(logits.shape)
    unrolled = grad(lambda x: anp.sum(sinkhorn(x, 150) * cotangent))(logits)
    implicit = grad(lambda x: anp.sum(sinkhorn_implicit(x, 150) * cotangent))(logits)
    np.testing.assert_allclose(implicit, unrolled, atol=1e-13)


@pytest.mark.parametrize("num_iters", [1, 3, 20])
@pytest.mark.parametrize("scale", [1, 4])
def test_truncated_the_gap_is_the_gradient_of_the_column_sums(num_iters, scale):
    """Unrolled minus implicit = sum_j beta_j d c_j, so it is bounded by |beta| times the sums' own sensitivity."""
    logits, cotangent = scale * rng().standard_normal((40, 4, 4)), rng().standard_normal((40, 4, 4))
    plan, cache = sinkhorn_fwd(logits, num_iters=num_iters)
    gap = sinkhorn_bwd(cotangent, cache)[0] - implicit_gradient(cotangent, plan)
    _, beta = multipliers(cotangent, plan)
    derived = sinkhorn_bwd(np.broadcast_to(beta[:, None, :], logits.shape), cache)[0]
    largest = np.abs(gap).max()
    assert largest > 1e-7  # there is a gap to explain
    np.testing.assert_allclose(gap, derived, rtol=1e-6, atol=1e-12)
    sensitivity = np.zeros(40)
    for j in range(4):
        one_sum = np.zeros((4, 4))
        one_sum[:, j] = 1
        (d_sum,) = sinkhorn_bwd(np.broadcast_to(one_sum, logits.shape), cache)
        sensitivity = np.maximum(sensitivity, np.abs(d_sum).max(axis=(1, 2)))
    bound = np.abs(beta).sum(axis=1) * sensitivity
    assert np.all(np.abs(gap).max(axis=(1, 2)) <= bound + 1e-12)


def test_gap_and_residual_fall_at_the_same_rate():
    """Both shrink by sigma_2(plan)^2 an iteration, the gap with at most a factor t beside it."""
    logits, cotangent = 2 * rng().standard_normal((4, 4)), rng().standard_normal((4, 4))
    rate = np.linalg.svd(sinkhorn(logits, 500), compute_uv=False)[1] ** 2
    assert 0.3 < rate < 0.9
    counts = np.arange(4, 40)
    gaps, residuals = [], []
    for num_iters in counts:
        plan, cache = sinkhorn_fwd(logits, num_iters=int(num_iters))
        gaps.append(np.abs(sinkhorn_bwd(cotangent, cache)[0] - implicit_gradient(cotangent, plan)).max())
        residuals.append(doubly_stochastic_error(plan)[1])
    seen = np.array(residuals) > 1e-12
    ratio = np.array(gaps)[seen] / np.array(residuals)[seen] / counts[seen]
    assert np.ptp(np.log(ratio[5:])) < 1.5
    seen = np.flatnonzero(seen)
    late = np.log(residuals[seen[-1]] / residuals[seen[-6]]) / 5
    assert late == pytest.approx(np.log(rate), rel=0.05)


def test_a_small_residual_alone_promises_nothing():
    """By symmetry one iteration ends this matrix exactly; its neighbours need more, and the gradient knows."""
    logits, cotangent = np.eye(2), np.array([[1.0, 0.0], [0.0, 0.0]])
    plan, cache = sinkhorn_fwd(logits, num_iters=1)
    assert doubly_stochastic_error(plan)[1] < 1e-15
    assert np.abs(sinkhorn_bwd(cotangent, cache)[0] - implicit_gradient(cotangent, plan)).max() > 0.01


def test_rows_and_columns_of_the_gradient_sum_to_zero():
    plan = sinkhorn(3 * rng().standard_normal((20, 5, 5)), 7)
    gradient = implicit_gradient(rng().standard_normal(plan.shape), plan)
    assert np.abs(gradient.sum(axis=-1)).max() < 1e-13
    assert np.abs(gradient.sum(axis=-2)).max() < 1e-13


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_at_a_vertex_the_gradient_is_finite_and_vanishes(dtype):
    cotangent = rng().standard_normal((4, 4)).astype(dtype)
    gradient = grad(lambda x: anp.sum(sinkhorn_implicit(x) * cotangent))((1e4 * np.eye(4)[[1, 0, 3, 2]]).astype(dtype))
    assert gradient.dtype == dtype
    np.testing.assert_allclose(gradient, 0, atol=1e-6)


def test_input_is_checked():
    with pytest.raises(ValueError, match=r"sinkhorn_implicit: want shape \(\.\.\., n, n\), got \(2, 3\)"):
        sinkhorn_implicit(np.zeros((2, 3)))
    with pytest.raises(ValueError, match=r"one shape \(\.\.\., n, n\), got \(3, 2, 2\) and \(2, 2\)"):
        implicit_gradient(np.zeros((3, 2, 2)), np.full((2, 2), 0.5))
