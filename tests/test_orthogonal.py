"""Cayley's map and the squares of what it gives."""

import autograd.numpy as anp
import numpy as np
import pytest

from mhc_np import ops
from mhc_np.autodiff import check_op, define_vjp, grad
from mhc_np.ops.orthogonal import cayley_bwd, cayley_fwd, cayley_ref


def rng():
    return np.random.default_rng(12)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 8])
def test_is_orthogonal_with_determinant_one(n):
    for scale in (0.1, 1, 1e4):
        Q = ops.cayley(scale * rng().standard_normal((20, n, n)))
        np.testing.assert_allclose(Q @ np.swapaxes(Q, -1, -2), np.broadcast_to(np.eye(n), Q.shape), atol=1e-10)
        np.testing.assert_allclose(np.linalg.det(Q), 1, atol=1e-10)
    np.testing.assert_array_equal(ops.cayley(np.ones((n, n))), np.eye(n))  # nothing skew in it


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_value_and_gradient(n):
    raw = rng().standard_normal((2, n, n))
    verdict = check_op(ops.cayley, ops.cayley_ref, raw, rng=rng())
    assert verdict, str(verdict)


def test_small_arguments_rotate_by_their_skew_part():
    raw = 1e-4 * rng().standard_normal((4, 4))
    np.testing.assert_allclose(ops.cayley(raw), np.eye(4) + raw - raw.T, atol=1e-6)


def test_broken_backwards_are_caught():
    raw = rng().standard_normal((3, 3))
    bwd = cayley_bwd
    faults = [
        lambda d, cache: (np.swapaxes(bwd(d, cache)[0], -1, -2),),
        lambda d, cache: (bwd(d, cache)[0] / 2,),
        lambda d, cache: bwd(d, np.swapaxes(cache, -1, -2)),
        lambda d, cache: (d - np.swapaxes(d, -1, -2),),  # right at zero only
    ]
    for broken in faults:
        assert not check_op(define_vjp(cayley_fwd, broken), cayley_ref, raw, rng=rng())


@pytest.mark.parametrize("block", [1, 2])
def test_squares_are_doubly_stochastic(block):
    raw = rng().standard_normal((10, 4 * block, 4 * block))
    plan = ops.orthostochastic(raw, block)
    assert plan.shape == (10, 4, 4)
    assert plan.min() >= 0
    assert max(error.max() for error in ops.doubly_stochastic_error(plan)) < 1e-14
    verdict = check_op(
        lambda x: ops.orthostochastic(x, block),
        lambda x: ops.orthostochastic(x, block, orthogonal=cayley_ref),
        raw[0],
        rng=rng(),
    )
    assert verdict, str(verdict)


def test_blocks_of_two_reach_what_blocks_of_one_cannot():
    """Descend towards (J - I) / 2 from ten starts."""
    target = (1 - np.eye(3)) / 2
    left = {}
    for block in (1, 2):
        raw = rng().standard_normal((10, 3 * block, 3 * block))
        descend = grad(lambda x, s=block: anp.sum((ops.orthostochastic(x, s) - target) ** 2))
        for _ in range(400):
            raw = raw - descend(raw)
        left[block] = np.sum((ops.orthostochastic(raw, block) - target) ** 2, axis=(1, 2)).min()
    assert left[1] > 0.05
    assert left[2] < 1e-4


def test_bad_shapes_are_refused_in_words():
    with pytest.raises(ValueError, match=r"cayley: want shape \(\.\.\., n, n\), got \(2, 3\)"):
        ops.cayley(np.zeros((2, 3)))
    with pytest.raises(ValueError, match=r"block 2 divides, got \(3, 3\)"):
        ops.orthostochastic(np.zeros((3, 3)), 2)
    with pytest.raises(ValueError, match="block 0 divides"):
        ops.orthostochastic(np.zeros((3, 3)), 0)
    for op in (ops.cayley, ops.orthostochastic):
        with pytest.raises(ValueError, match=f"{op.__name__}: want shape .* got \\(\\)"):
            op(np.array(1.0))
        with pytest.raises(ValueError, match=f"{op.__name__}: want raw to be an array of floats, got int64"):
            op(np.zeros((2, 2), int))
