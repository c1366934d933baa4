"""Sinkhorn with eps: DeepSeek's published order, formula for formula, in its own orientation."""

import numpy as np
import pytest

from mhc_np.autodiff import check_op, grad
from mhc_np.ops import sinkhorn, sinkhorn_eps, sinkhorn_eps_ref


def rng():
    return np.random.default_rng(6)


def published_order(raw_comb, num_iters, eps):
    """``comb[old, new]``: softmax over new plus eps, one pass over old, then num_iters - 1 times new, old."""
    weights = np.exp(raw_comb - raw_comb.max(axis=-1, keepdims=True))
    comb = weights / weights.sum(axis=-1, keepdims=True) + eps
    comb = comb / (comb.sum(axis=-2, keepdims=True) + eps)
    for _ in range(num_iters - 1):
        comb = comb / (comb.sum(axis=-1, keepdims=True) + eps)
        comb = comb / (comb.sum(axis=-2, keepdims=True) + eps)
    return comb


@pytest.mark.parametrize("num_iters", [1, 2, 20])
@pytest.mark.parametrize("eps", [1e-6, 0.1])
def test_is_the_transpose_of_the_published_kernel(num_iters, eps):
    raw_comb = 4 * rng().standard_normal((10, 4, 4))
    ours = sinkhorn_eps(np.swapaxes(raw_comb, -1, -2), num_iters, eps)
    np.testing.assert_allclose(np.swapaxes(ours, -1, -2), published_order(raw_comb, num_iters, eps), atol=1e-15)


@pytest.mark.parametrize("eps", [0.0, 1e-6, 0.1])
@pytest.mark.parametrize("num_iters", [1, 3, 20])
def test_value_and_gradient_agree_with_the_definition_and_differences(num_iters, eps):
    logits = 2 * rng().standard_normal((2, 4, 4))
    verdict = check_op(sinkhorn_eps, sinkhorn_eps_ref, logits, rng=rng(), num_iters=num_iters, eps=eps)
    assert verdict, str(verdict)


def test_without_eps_it_is_plain_sinkhorn():
    logits = 2 * rng().standard_normal((5, 4, 4))
    np.testing.assert_allclose(sinkhorn_eps(logits, eps=0.0), sinkhorn(logits), atol=1e-14)


def test_the_price_of_eps():
    """Rows fall short of one by eps to first order; adding eps outside the division instead is another function."""
    logits = rng().standard_normal((20, 4, 4))
    for eps in (1e-6, 1e-2):
        short = 1 - sinkhorn_eps(logits, eps=eps).sum(axis=-1)
        np.testing.assert_allclose(short, eps, rtol=3 * eps, atol=1e-12)
    plan = np.exp(logits[0])
    wrong = plan / plan.sum(axis=-1, keepdims=True) + 1e-2
    assert np.abs(wrong.sum(axis=-1) - 1).max() > 0.03  # n times eps too much, instead of eps too little


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("eps", [0.0, 1e-30, 1e-6])
def test_rows_far_below_the_others_are_no_trouble(dtype, eps):
    logits = np.array([[1e4, 1e4], [-1e4, -1e4]], dtype)
    plan = sinkhorn_eps(logits, eps=eps)
    np.testing.assert_allclose(plan, 0.5, atol=1e-5)
    assert np.all(np.isfinite(grad(lambda x: (sinkhorn_eps(x, eps=eps) ** 2)[0, 0])(logits)))


def test_half_precision_is_computed_wide():
    logits = 3 * rng().standard_normal((20, 4, 4)).astype(np.float16)
    plan = sinkhorn_eps(logits)
    assert plan.dtype == np.float16
    np.testing.assert_array_equal(plan, sinkhorn_eps(logits.astype(float)).astype(np.float16))


@pytest.mark.parametrize(
    ("logits", "eps", "message"),
    [
        (np.zeros((2, 3)), 1e-6, "sinkhorn_eps: want shape"),
        (np.zeros((2, 2), int), 1e-6, "sinkhorn_eps: want logits to be an array of floats, got int64"),
        (np.zeros((2, 2)), -1e-6, "want eps zero, or at least 1e-30 and finite, got -1e-06"),
        (np.zeros((2, 2)), 1e-50, "got 1e-50"),
        (np.zeros((2, 2)), np.nan, "got nan"),
    ],
)
def test_input_is_checked(logits, eps, message):
    with pytest.raises(ValueError, match=message):
        sinkhorn_eps(logits, eps=eps)
