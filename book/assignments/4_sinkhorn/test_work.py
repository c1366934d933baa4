"""The checks of assignment 4."""

import autograd.numpy as anp
import numpy as np

from book.assignments.grading import want
from mhc_np.autodiff import check_op, define_vjp

RNG = np.random.default_rng(4)
NUM_ITERS = 5
SMALL, LARGE = 0.5 * RNG.standard_normal((2, 3, 3)), 3.0 * RNG.standard_normal((2, 3, 3))


def sinkhorn_ref(logits, num_iters=NUM_ITERS):
    """Return the definition: divide, and divide again."""
    plan = anp.exp(logits)
    for _ in range(num_iters):
        plan = plan / anp.sum(plan, axis=-2, keepdims=True)
        plan = plan / anp.sum(plan, axis=-1, keepdims=True)
    return plan


def test_the_plan(work):
    plan, _ = work.sinkhorn_fwd(LARGE, NUM_ITERS)
    want(np.shape(plan) == LARGE.shape, f"sinkhorn_fwd: want the shape of the logits, got {np.shape(plan)}")
    rows, columns = (np.abs(np.sum(plan, axis=axis) - 1).max() for axis in (-1, -2))
    want(columns > 1e-12 or rows < 1e-12, "the columns are exact and the rows are not: want columns first, rows last")
    want(rows < 1e-12, f"rows must sum to one, since they come last; yours are off by {rows:.2g}")
    far = np.abs(plan - sinkhorn_ref(LARGE)).max()
    want(far < 1e-12, f"off by up to {far:.2g}: {NUM_ITERS} iterations, each of columns and rows?")


def test_large_logits_survive(work):
    plan, _ = work.sinkhorn_fwd(np.array([[800.0, 0.0], [0.0, 800.0]]), NUM_ITERS)
    words = "logits of 800 must give the identity: subtract the largest before you exponentiate"
    want(np.allclose(plan, np.eye(2)), words)


def test_the_gradient_of_small_logits(work):
    op = define_vjp(lambda x: work.sinkhorn_fwd(x, NUM_ITERS), work.sinkhorn_bwd)
    verdict = check_op(op, sinkhorn_ref, SMALL, rng=RNG)
    want(verdict, str(verdict))


def test_the_gradient_of_large_logits(work):
    op = define_vjp(lambda x: work.sinkhorn_fwd(x, NUM_ITERS), work.sinkhorn_bwd)
    verdict = check_op(op, sinkhorn_ref, LARGE, rng=RNG)
    want(verdict, f"right for small logits, and not for large ones: does every iteration go back? {verdict}")


def test_a_constant_in_a_row_changes_nothing_in_the_limit(work):
    d_plan = RNG.standard_normal((2, 3, 3))
    (d_logits,) = work.sinkhorn_bwd(d_plan, work.sinkhorn_fwd(SMALL, 60)[1])
    for axis, name in ((-2, "columns"), (-1, "rows")):
        total = np.abs(np.sum(d_logits, axis=axis)).max()
        want(total < 1e-9, f"after many iterations the gradient's {name} must add up to zero; yours to {total:.2g}")
