"""The Birkhoff polytope: its vertices, its mixtures, taking a point apart, and the distance to it."""

from math import factorial

import autograd.numpy as anp
import numpy as np
import pytest

from mhc_np import ops
from mhc_np.autodiff import check_op, define_vjp, grad
from mhc_np.ops.birkhoff import birkhoff_mixture_bwd, birkhoff_mixture_fwd


def rng():
    return np.random.default_rng(9)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_the_basis_holds_every_permutation_once_identity_first(n):
    basis = ops.permutation_basis(n)
    assert basis.shape == (factorial(n), n, n)
    np.testing.assert_array_equal(basis[0], np.eye(n))
    np.testing.assert_array_equal(basis.sum(axis=1), 1)
    np.testing.assert_array_equal(basis.sum(axis=2), 1)
    assert len({matrix.tobytes() for matrix in basis}) == factorial(n)
    np.testing.assert_allclose(basis.mean(axis=0), 1 / n)  # the centre of the polytope is J/n; I is a vertex


def test_the_basis_is_shared_and_cannot_be_written_to():
    with pytest.raises(ValueError, match="read-only"):
        ops.permutation_basis(3)[0, 0, 0] = 5
    with pytest.raises(ValueError, match=r"want 1 <= n <= 8, got 9: 9! is 362,880 permutations"):
        ops.permutation_basis(9)


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_mixture_value_and_gradient(n):
    logits = rng().standard_normal((2, 3, factorial(n)))
    verdict = check_op(ops.birkhoff_mixture, ops.birkhoff_mixture_ref, logits, rng=rng())
    assert verdict, str(verdict)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_mixtures_are_doubly_stochastic_to_rounding_whatever_the_logits(dtype):
    for scale in (1, 30, 1e4):
        plan = ops.birkhoff_mixture((scale * rng().standard_normal((50, 24))).astype(dtype))
        assert max(error.max() for error in ops.doubly_stochastic_error(plan)) < 8 * np.finfo(dtype).eps
        assert plan.dtype == dtype
        assert plan.min() >= 0


def test_a_permutation_as_mixture_moves_stream_j_to_stream_i():
    logits = np.full(6, -1e4)
    k = next(k for k, matrix in enumerate(ops.permutation_basis(3)) if matrix[0, 2] and matrix[1, 0])
    logits[k] = 0
    np.testing.assert_array_equal(ops.birkhoff_mixture(logits) @ [10.0, 20.0, 30.0], [30, 10, 20])


def test_broken_mixture_backwards_are_caught():
    logits = rng().standard_normal((2, 24))
    faults = {
        "transposed": lambda d, cache: birkhoff_mixture_bwd(np.swapaxes(d, -1, -2), cache),
        "no mean": lambda d, cache: (d.reshape(2, -1) @ cache[1].T * cache[0],),
    }
    for broken in faults.values():
        wrong = define_vjp(birkhoff_mixture_fwd, broken)
        assert not check_op(wrong, ops.birkhoff_mixture_ref, logits, rng=rng())


@pytest.mark.parametrize(
    ("logits", "message"),
    [
        (np.zeros((2, 4)), r"want n! logits .* got 4"),
        (np.array(1.0), r"want n! logits .* got 0"),
        (np.zeros((2, 6), int), "birkhoff_mixture: want logits to be an array of floats, got int64"),
        ([0.0, 1.0], "array of floats, got a list"),
    ],
)
def test_what_are_no_logits_is_refused(logits, message):
    with pytest.raises(ValueError, match=message):
        ops.birkhoff_mixture(logits)


def test_minus_infinity_leaves_a_permutation_out():
    logits = np.array([-np.inf, 0.3, 0.0, -np.inf, 1.0, 0.0])
    allowed, cotangent = np.isfinite(logits), rng().standard_normal((3, 3))
    plan = ops.birkhoff_mixture(logits)
    weights = np.exp(logits[allowed]) / np.exp(logits[allowed]).sum()
    np.testing.assert_allclose(plan, np.tensordot(weights, ops.permutation_basis(3)[allowed], 1), atol=1e-15)
    slope = grad(lambda x: anp.sum(ops.birkhoff_mixture(x) * cotangent))(logits)
    assert np.all(slope[~allowed] == 0)
    assert np.all(slope[allowed] != 0)
    with np.errstate(invalid="ignore"):  # nothing is left
        assert np.isnan(ops.birkhoff_mixture(np.full(2, -np.inf))).all()


def test_an_empty_batch_has_an_empty_gradient():
    slope = grad(lambda x: anp.sum(ops.birkhoff_mixture(x) ** 2))
    assert slope(np.zeros((0, 24))).shape == (0, 24)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 8])
def test_decomposition_gives_the_plan_back_from_few_permutations(n):
    plan = ops.sinkhorn(2 * rng().standard_normal((n, n)), 3000)
    weights, permutations = ops.birkhoff_decomposition(plan)
    assert np.all(weights > 0)
    assert np.all(np.diff(weights) <= 0)
    assert len(weights) <= n * n - n + 1
    assert weights.sum() == pytest.approx(1, abs=1e-7)
    rebuilt = sum(w * np.eye(n)[p] for w, p in zip(weights, permutations, strict=True))
    np.testing.assert_allclose(rebuilt, plan, atol=1e-7)


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_the_largest_weight_is_that_of_the_widest_permutation(n):
    """By trying all: the one whose smallest entry is largest."""
    for plan in ops.sinkhorn(2 * rng().standard_normal((20, n, n)), 500):
        smallest = np.where(ops.permutation_basis(n) > 0, plan, 1).min(axis=(1, 2))
        weights, _ = ops.birkhoff_decomposition(plan, tolerance=1e-6)
        assert weights[0] == smallest.max()


def test_a_vertex_decomposes_into_itself():
    weights, permutations = ops.birkhoff_decomposition(np.eye(4)[[2, 0, 3, 1]])
    assert weights.tolist() == [1]
    assert permutations.tolist() == [[2, 0, 3, 1]]


def test_decomposition_refuses_what_is_not_doubly_stochastic():
    with pytest.raises(ValueError, match=r"got one off by 0\.024; take more Sinkhorn iterations"):
        ops.birkhoff_decomposition(ops.sinkhorn(np.array([[0.0, 0], [-20, 0]])))
    with pytest.raises(ValueError, match="off by nan"):
        ops.birkhoff_decomposition(np.full((2, 2), np.nan))
    with pytest.raises(ValueError, match=r"want one matrix \(n, n\), got \(3, 2, 2\)"):
        ops.birkhoff_decomposition(np.zeros((3, 2, 2)))
    with pytest.raises(ValueError, match=r"got \(0, 0\)"):
        ops.birkhoff_decomposition(np.zeros((0, 0)))


def test_projection_refuses_what_it_has_no_answer_for():
    with pytest.raises(ValueError, match=r"birkhoff_projection: want matrices \(\.\.\., n, n\), got \(2, 3\)"):
        ops.birkhoff_projection(np.zeros((2, 3)))
    with pytest.raises(ValueError, match="want finite entries, got NaN or inf"):
        ops.birkhoff_distance(np.array([[0.0, np.nan], [0.0, 0.0]]))


def test_projection_is_the_nearest_point():
    """Optimal iff the way back to the matrix makes no acute angle with any way to a vertex."""
    matrices = 2 * rng().standard_normal((20, 4, 4))
    plans = ops.birkhoff_projection(matrices)
    assert plans.min() > -1e-9
    assert max(error.max() for error in ops.doubly_stochastic_error(plans)) < 1e-12
    for matrix, plan in zip(matrices, plans, strict=True):
        towards = np.sum((matrix - plan) * (ops.permutation_basis(4) - plan), axis=(1, 2))
        assert towards.max() < 1e-8


def test_distance_is_zero_inside_and_known_outside():
    inside = ops.birkhoff_mixture(rng().standard_normal((10, 24)))
    np.testing.assert_allclose(ops.birkhoff_distance(inside), 0, atol=1e-12)
    assert ops.birkhoff_distance(np.zeros((3, 3))) == pytest.approx(1)  # to J/3
    assert ops.birkhoff_distance(2 * np.eye(3)) == pytest.approx(np.sqrt(3))  # to the identity
