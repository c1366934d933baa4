"""Sinkhorn with a small constant in every denominator: the order of DeepSeek's published kernels.

Chapter: chapters/12_sinkhorn.md      Tests: tests/test_sinkhorn_eps.py
Symbols: raw H_res -> logits (..., n, n), H_res -> plan (..., n, n), ε -> eps
"""

import autograd.numpy as anp
import numpy as np

from mhc_np.autodiff import define_vjp
from mhc_np.ops.sinkhorn import COLUMNS, ROWS, batch_first, batch_last, check_logits, logsumexp, sinkhorn

EPS = 1e-6


def sinkhorn_eps_ref(logits, num_iters=20, eps=EPS):
    """Softmax of the columns plus eps, then divide by sums plus eps, rows last: the definition."""
    plan = anp.exp(logits - logsumexp(logits, axis=-2)) + eps
    plan = plan / (anp.sum(plan, axis=-1, keepdims=True) + eps)
    for _ in range(num_iters - 1):
        plan = plan / (anp.sum(plan, axis=-2, keepdims=True) + eps)
        plan = plan / (anp.sum(plan, axis=-1, keepdims=True) + eps)
    return plan


def sinkhorn_eps(logits, num_iters=20, eps=EPS):
    """Scale by columns, then by rows, with ``eps`` added to the first plan and to every sum.

    The kernels keep ``comb[old, new]``, the transpose of H_res, take the softmax over ``new`` and end by dividing by
    sums over ``old``. In this package's orientation, ``H_res[new, old]``, that is columns first and rows last. So
    ``comb = swap(sinkhorn_eps(swap(raw_comb)))``, where ``swap`` exchanges the last two axes.

    Parameters
    ----------
    logits : (..., n, n) floats
    num_iters : int
        At least 1; the published value is 20.
    eps : float
        The published value is 1e-6. It is not free: rows sum to s / (s + eps) < 1, and zeros start as eps. With eps = 0
        this is `mhc_np.ops.sinkhorn`; any other must be at least 1e-30, so that no sum underflows.

    Returns
    -------
    (..., n, n) floats

    Raises
    ------
    ValueError
        As `mhc_np.ops.sinkhorn`, and for any other eps.

    References
    ----------
    DeepSeek's TileKernels repository (2026), mHC operations; checked formula for formula in the tests.

    Examples
    --------
    A permutation stays about eps off its vertex, and the sums stay below 1:

    >>> sinkhorn_eps(np.array([[99.0, 0.0], [0.0, 99.0]]), eps=0.01).round(4)
    array([[0.9803, 0.0097],
           [0.0097, 0.9803]])
    """
    check_logits("sinkhorn_eps", logits, num_iters)
    if eps == 0:
        return sinkhorn(logits, num_iters)
    if not 1e-30 <= eps < np.inf:
        raise ValueError(f"sinkhorn_eps: want eps zero, or at least 1e-30 and finite, got {eps}")
    return _sinkhorn_eps(logits, num_iters=num_iters, eps=eps)


def sinkhorn_eps_fwd(logits, *, num_iters, eps):
    """Return (plan, cache) as `sinkhorn_fwd` does; eps keeps all sums away from zero, so one exponential is enough."""
    softmax = batch_last(logits, np.float64)
    softmax -= softmax.max(axis=COLUMNS)
    np.exp(softmax, out=softmax)
    softmax /= softmax.sum(axis=COLUMNS)
    softmax = softmax.astype(np.float32 if logits.dtype == np.float32 else np.float64, copy=False)
    plan, sums = softmax + eps, []
    for axis in (ROWS, *(COLUMNS, ROWS) * (num_iters - 1)):
        total = plan.sum(axis=axis, keepdims=True)
        total += eps
        plan /= total
        sums.append((total, axis))
    return batch_first(plan, logits), (plan, sums, softmax)


def sinkhorn_eps_bwd(d_plan, cache):
    """Eps changes sum and quotient alike, so the plain half pass holds: G -= Y * sum G (eq:sinkhorn-vjp)."""
    plan, sums, softmax = cache
    Y, G = plan.copy(), batch_last(d_plan, plan.dtype)
    G *= Y
    for total, axis in reversed(sums):
        G -= Y * G.sum(axis=axis, keepdims=True)
        Y *= total
    G *= softmax / Y  # from d log (softmax + eps) to d log softmax
    G -= softmax * G.sum(axis=COLUMNS, keepdims=True)
    return (batch_first(G, d_plan),)


_sinkhorn_eps = define_vjp(sinkhorn_eps_fwd, sinkhorn_eps_bwd, reference="sinkhorn_eps_ref")
