"""Sinkhorn: turn any square matrix into an (almost) doubly stochastic one.

Chapter: chapters/12_sinkhorn.md      Tests: tests/test_sinkhorn.py
Symbols: raw H_res -> logits (..., n, n), H_res -> plan (..., n, n), t_max -> num_iters
"""

import warnings

import autograd.numpy as anp
import numpy as np
from autograd.tracer import getval

from mhc_np.autodiff import define_vjp
from mhc_np.ops.checks import require_floats

COLUMNS, ROWS = 0, 1  # which axis of (n, n, batch) a pass sums over: a column's entries lie along axis 0


def logsumexp(x, axis):
    """Return log sum exp along ``axis``, kept as an axis of length one."""
    top = anp.max(x, axis=axis, keepdims=True)
    return top + anp.log(anp.sum(anp.exp(x - top), axis=axis, keepdims=True))


def sinkhorn_ref(logits, num_iters=20):
    """Normalise columns, then rows, ``num_iters`` times in log space: the definition, slow and differentiable."""
    for _ in range(num_iters):
        logits = logits - logsumexp(logits, axis=-2)  # columns sum to 1
        logits = logits - logsumexp(logits, axis=-1)  # rows sum to 1
    return anp.exp(logits)


def sinkhorn(logits, num_iters=20, tolerance=None):
    """Scale ``exp(logits)`` by columns, then by rows, ``num_iters`` times.

    Parameters
    ----------
    logits : (..., n, n) floats
        ``logits[..., i, j]`` is the raw weight of old stream j in new stream i; n at least 1.
    num_iters : int
        t_max, at least 1. One iteration is columns *then* rows, so the rows of the plan sum to 1 to rounding and the
        whole truncation error sits in its columns.
    tolerance : float, optional
        Warn when some column sum is further than this from 1. Twenty iterations are not enough for every matrix: for
        ``[[0, 0], [-20, 0]]`` the error falls as 1 / (2 num_iters + 1).

    Returns
    -------
    (..., n, n) floats
        The plan. See `doubly_stochastic_error` for what is left to do.

    Raises
    ------
    ValueError
        If the matrices are no square arrays of floats, or hold NaN or infinities. A mask of -inf can leave no doubly
        stochastic matrix at all; use a large negative number, or `birkhoff_mixture` over the allowed permutations.

    Warns
    -----
    RuntimeWarning
        If ``tolerance`` is given and not met.

    Notes
    -----
    Log space is needed in the first iteration alone. After it every row and column sums to at least 1 / n for ever, so
    plain division is safe; no half pass can then raise an entry by more than a factor n. The first iteration therefore
    runs max-subtracted and in float64. The others run in the dtype of ``logits``, except that float32 gives way to
    float64 where 2 num_iters log10(n) > 29: there an entry that float32 rounds to zero might still have grown large.
    Where that could happen to float64, after hundreds of iterations on logits that span hundreds, the definition is
    run instead. Logits of ±1e4 give finite values and finite gradients in all.

    References
    ----------
    Sinkhorn and Knopp (1967), Concerning nonnegative matrices and doubly stochastic matrices. Xie et al. (2025), mHC:
    Manifold-constrained hyper-connections, Eq. 9.

    Examples
    --------
    For n = 2 the limit is known: its diagonal is sigmoid((a + d - b - c) / 2), here sigmoid(log 3) = 3/4.

    >>> sinkhorn(np.array([[2 * np.log(3.0), 0.0], [0.0, 0.0]]), num_iters=50).round(6)
    array([[0.75, 0.25],
           [0.25, 0.75]])
    """
    check_logits("sinkhorn", logits, num_iters)
    plan = in_range(logits, num_iters)
    if tolerance is not None:
        error = np.max(doubly_stochastic_error(getval(plan))[1], initial=0.0)
        if error > tolerance:
            warnings.warn(
                f"sinkhorn: column sums are off by up to {error:.2g} > {tolerance:g} after {num_iters} iterations; "
                "raise num_iters or shrink the logits",
                RuntimeWarning,
                stacklevel=2,
            )
    return plan


def check_logits(who, logits, num_iters):
    """Refuse what Sinkhorn has no answer for."""
    require_floats(who, logits=logits)
    if logits.ndim < 2 or logits.shape[-1] != logits.shape[-2] or logits.shape[-1] == 0:
        raise ValueError(f"{who}: want shape (..., n, n), got {logits.shape}")
    if not isinstance(num_iters, int | np.integer) or num_iters < 1:
        raise ValueError(f"{who}: want num_iters >= 1 and whole, got {num_iters}")
    if not np.all(np.abs(np.asarray(getval(logits), np.float64)) < 1e300):
        raise ValueError(
            f"{who}: want finite logits, below 1e300, got NaN, inf or more; for a mask use a large negative number"
        )


def in_range(logits, num_iters):
    """Run the kernel, or the definition where the kernel would lose entries for good.

    With logits that span R, no entry of any plan is below exp(-2 R) / n: row by row, some entry is at least 1 / n, and
    the columns' factors span no more than R. So up to R = 350 nothing underflows in float64. Beyond, it takes a growth
    of n², the most that there is in an iteration, for so long that 1e-308 becomes visible.
    """
    values = getval(logits)
    span = np.max(values.max(axis=(-1, -2)) - values.min(axis=(-1, -2)), initial=0.0)
    if span <= 350 or 2 * num_iters * np.log10(logits.shape[-1]) <= 290:
        return sinkhorn_unchecked(logits, num_iters=num_iters)
    return sinkhorn_ref(logits.astype(np.float64), num_iters).astype(values.dtype)


def doubly_stochastic_error(plan):
    """Return (row_error, column_error): how far, at most, the sums of rows and of columns are from 1.

    Parameters
    ----------
    plan : (..., n, n) floats

    Returns
    -------
    row_error, column_error : (...) floats

    Examples
    --------
    >>> rows, columns = doubly_stochastic_error(np.array([[0.5, 0.5], [0.25, 0.75]]))
    >>> float(rows), float(columns)
    (0.0, 0.25)
    """
    plan = np.asarray(plan, np.float64)
    off = [np.abs(plan.sum(axis=axis) - 1).max(axis=-1, initial=0.0) for axis in (-1, -2)]
    return off[0], off[1]


def batch_last(x, dtype):
    """Copy (..., n, n) to a contiguous (n, n, batch): sums over small axes then run along the batch."""
    return np.moveaxis(x.reshape(-1, *x.shape[-2:]), 0, -1).astype(dtype, order="C")


def batch_first(x, like):
    """Undo `batch_last`: back to the shape and dtype of ``like``."""
    return np.moveaxis(x, -1, 0).astype(like.dtype, order="C").reshape(like.shape)


def first_iteration(logs):
    """Return the plan after the first columns and after the first rows, working in log space (overwrites ``logs``)."""
    logs -= logs.max(axis=COLUMNS)
    columns = np.exp(logs)
    total = columns.sum(axis=COLUMNS)
    columns /= total
    logs -= np.log(total)
    logs -= logs.max(axis=ROWS, keepdims=True)
    rows = np.exp(logs)
    rows /= rows.sum(axis=ROWS, keepdims=True)
    return columns, rows


def sinkhorn_fwd(logits, *, num_iters):
    """Return (plan, cache). Half passes divide in place and keep only their sums: the backward multiplies them back."""
    narrow = logits.dtype == np.float32 and 2 * num_iters * np.log10(logits.shape[-1]) <= 29
    dtype = np.float32 if narrow else np.float64
    columns, plan = (x.astype(dtype, copy=False) for x in first_iteration(batch_last(logits, np.float64)))
    sums = []
    for axis in (COLUMNS, ROWS) * (num_iters - 1):
        total = plan.sum(axis=axis, keepdims=True)
        plan *= 1 / total  # one division a sum, not one an entry
        sums.append((total, axis))
    return batch_first(plan, logits), (plan, sums, columns)


def sinkhorn_bwd(d_plan, cache):
    """Undo log Y = log X - log sum X, pass by pass: with G = d log Y, G -= Y * sum G (eq:sinkhorn-vjp)."""
    plan, sums, columns = cache
    Y, G = plan.copy(), batch_last(d_plan, plan.dtype)
    G *= Y
    for total, axis in reversed(sums):
        G -= Y * G.sum(axis=axis, keepdims=True)
        Y *= total
    G -= Y * G.sum(axis=ROWS, keepdims=True)
    G -= columns * G.sum(axis=COLUMNS, keepdims=True)
    return (batch_first(G, d_plan),)


sinkhorn_unchecked = define_vjp(sinkhorn_fwd, sinkhorn_bwd, reference="sinkhorn_ref")
