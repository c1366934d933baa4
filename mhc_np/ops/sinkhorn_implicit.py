"""Sinkhorn's gradient at the fixed point: solve one small linear system instead of walking back the iterations.

Chapter: chapters/12_sinkhorn.md      Tests: tests/test_sinkhorn_implicit.py
Symbols: P -> plan (..., n, n), dL/dP -> d_plan (..., n, n), multipliers of rows and columns -> alpha, beta (..., n)
"""

import numpy as np

from mhc_np.autodiff import define_vjp
from mhc_np.ops.sinkhorn import check_logits, in_range


def multipliers(d_plan, plan):
    """Return (alpha, beta), each (..., n): what to take off the rows and columns of ``d_plan``.

    They make all row sums and column sums of ``plan * (d_plan - alpha[i] - beta[j])`` zero, and beta's mean is zero
    (a constant could move from one to the other).
    """
    rows, columns = plan.sum(axis=-1), plan.sum(axis=-2)
    G = plan * d_plan
    row_part, column_part = G.sum(axis=-1), G.sum(axis=-2)
    scaled = np.swapaxes(plan / rows[..., None], -1, -2)  # plan transposed, each column divided by its row sum
    n = plan.shape[-1]
    # Alpha is eliminated. What is left is singular along constant beta, hence the 1 / n. The ridge is for plans at a
    # vertex: there any beta does, because the gradient vanishes.
    system = (columns[..., None] + 1e-14) * np.eye(n) - scaled @ plan + 1 / n
    right = column_part - (scaled @ row_part[..., None])[..., 0]
    beta = np.linalg.solve(system, right[..., None])[..., 0]
    return (row_part - (plan @ beta[..., None])[..., 0]) / rows, beta


def implicit_gradient(d_plan, plan):
    """Pull a cotangent of the limit plan back to the logits.

    At the fixed point the plan is ``exp(logits + row multiplier + column multiplier)`` and its marginals do not move.
    Both facts together say that the gradient is ``plan * (d_plan - alpha[i] - beta[j])`` with zero row and column sums.

    Parameters
    ----------
    d_plan, plan : (..., n, n) floats

    Returns
    -------
    (..., n, n) float64
        Exact in the limit alone. After t iterations the column sums c_j still depend on the logits; the unrolled
        gradient is this one plus ``sum_j beta[j] * (gradient of c_j)``, no more and no less.

    Raises
    ------
    ValueError
        If the shapes differ, or are not those of square matrices.

    Examples
    --------
    For n = 2 the limit's first entry is s = sigmoid((a + d - b - c) / 2), with slope s (1 - s) / 2 = 1/8 at zero.

    >>> implicit_gradient(np.array([[1.0, 0.0], [0.0, 0.0]]), np.full((2, 2), 0.5)).round(6)
    array([[ 0.125, -0.125],
           [-0.125,  0.125]])
    """
    d_plan, plan = np.asarray(d_plan), np.asarray(plan, np.float64)
    if d_plan.shape != plan.shape or plan.ndim < 2 or plan.shape[-1] != plan.shape[-2]:
        raise ValueError(
            f"implicit_gradient: want d_plan and plan of one shape (..., n, n), got {d_plan.shape} and {plan.shape}"
        )
    alpha, beta = multipliers(d_plan, plan)
    return plan * (d_plan - alpha[..., :, None] - beta[..., None, :])


def sinkhorn_implicit(logits, num_iters=20):
    """`sinkhorn` with the gradient of the limit: memory for one plan, whatever the number of iterations.

    Parameters and errors are those of `mhc_np.ops.sinkhorn`. Use it where the plan has converged; elsewhere
    its gradient is not the gradient of the value that it returns (`implicit_gradient` says by how much).

    Examples
    --------
    >>> sinkhorn_implicit(np.zeros((2, 2)))
    array([[0.5, 0.5],
           [0.5, 0.5]])
    """
    check_logits("sinkhorn_implicit", logits, num_iters)
    return _sinkhorn_implicit(logits, num_iters=num_iters)


def sinkhorn_implicit_fwd(logits, *, num_iters):
    """Return (plan, plan): the limit's gradient needs nothing else."""
    plan = in_range(logits, num_iters)
    return plan, plan


def sinkhorn_implicit_bwd(d_plan, plan):
    """Plan times what is left of the cotangent after a row and a column multiplier (eq:sinkhorn-implicit)."""
    return (implicit_gradient(d_plan, plan).astype(plan.dtype, copy=False),)


_sinkhorn_implicit = define_vjp(sinkhorn_implicit_fwd, sinkhorn_implicit_bwd, reference="sinkhorn_ref")
