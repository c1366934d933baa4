"""Kronecker mixtures: NumPy's kron as oracle, gradients, exact sums, and how little of the polytope they reach."""

from functools import reduce

import numpy as np
import pytest

from mhc_np import ops
from mhc_np.autodiff import check_op, define_vjp
from mhc_np.ops.kronecker import kronecker_mixture_bwd, kronecker_mixture_fwd


def rng():
    return np.random.default_rng(10)


@pytest.mark.parametrize("num_factors", [1, 2, 3])
def test_is_the_product_of_its_factors(num_factors):
    logits = rng().standard_normal(num_factors)
    stay = 1 / (1 + np.exp(-logits))
    want = reduce(np.kron, [[[a, 1 - a], [1 - a, a]] for a in stay])
    np.testing.assert_allclose(ops.kronecker_mixture(logits), want, atol=1e-15)
    verdict = check_op(
        ops.kronecker_mixture, ops.kronecker_mixture_ref, rng().standard_normal((2, 3, num_factors)), rng=rng()
    )
    assert verdict, str(verdict)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sums_are_exact_for_any_logits(dtype):
    for scale in (1, 30, 1e4):
        plan = ops.kronecker_mixture((scale * rng().standard_normal((50, 3))).astype(dtype))
        assert max(error.max() for error in ops.doubly_stochastic_error(plan)) < 8 * np.finfo(dtype).eps
        assert plan.dtype == dtype


def test_reaches_symmetric_plans_only():
    plan = ops.kronecker_mixture(rng().standard_normal((20, 3)))
    np.testing.assert_array_equal(plan, np.swapaxes(plan, -1, -2))
    np.testing.assert_allclose(plan[3] @ plan[4], plan[4] @ plan[3], atol=1e-15)  # and they commute


def test_broken_backwards_are_caught():
    logits = rng().standard_normal((2, 2))
    bwd = kronecker_mixture_bwd
    faults = [
        lambda d, cache: (bwd(d, cache)[0][..., ::-1],),  # factors in the wrong order
        lambda d, cache: bwd(d, (0 * cache[0], cache[1])),  # the share of a forgotten
        lambda d, cache: bwd(d, (cache[0], np.ones_like(cache[1]))),
    ]
    for broken in faults:
        wrong = define_vjp(kronecker_mixture_fwd, broken)
        assert not check_op(wrong, ops.kronecker_mixture_ref, logits, rng=rng())


def test_no_factor_is_refused():
    with pytest.raises(ValueError, match=r"want at least one factor on the last axis, got \(2, 0\)"):
        ops.kronecker_mixture(np.zeros((2, 0)))
    with pytest.raises(ValueError, match="kronecker_mixture: want logits to be an array of floats, got int64"):
        ops.kronecker_mixture(np.array([1, 0]))


def test_infinite_logits_are_permutations():
    np.testing.assert_array_equal(ops.kronecker_mixture(np.array([np.inf, -np.inf])), np.eye(4)[[1, 0, 3, 2]])
