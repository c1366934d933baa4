"""Kronecker products of 2 x 2 mixings: n streams mixed exactly with log2(n) numbers (KromHC).

Chapter: chapters/14_relatives.md      Tests: tests/test_kronecker.py
Symbols: factor [[a, 1 - a], [1 - a, a]] -> a = sigmoid(logits) (..., F), n = 2^F, H_res -> plan (..., n, n)
"""

from functools import lru_cache

import autograd.numpy as anp
import numpy as np

from mhc_np.autodiff import define_vjp
from mhc_np.ops.checks import require_floats


def kronecker_mixture_ref(logits):
    """Multiply out the factors, the first one outermost: the definition."""
    stay = (1 + anp.tanh(logits / 2)) / 2
    plan = anp.ones((*logits.shape[:-1], 1, 1))
    for f in range(logits.shape[-1]):
        a = stay[..., f][..., None, None]
        factor = a * np.eye(2) + (1 - a) * (1 - np.eye(2))
        n = 2 * plan.shape[-1]
        plan = plan[..., :, None, :, None] * factor[..., None, :, None, :]
        plan = anp.reshape(plan, (*logits.shape[:-1], n, n))
    return plan


def kronecker_mixture(logits):
    """Return the Kronecker product of F doubly stochastic 2 x 2 matrices.

    ``plan[i, j]`` depends on ``i xor j`` alone, so the plan mixes n permutations out of n!: cheap and exactly doubly
    stochastic, but symmetric, and a small part of the polytope.

    Parameters
    ----------
    logits : (..., F) floats
        ``sigmoid(logits[..., f])`` is the weight that factor f leaves in place; F at least 1. Any size is safe, even
        infinite.

    Returns
    -------
    (..., 2^F, 2^F) floats

    Raises
    ------
    ValueError
        If the logits are no floats, or there is no factor.

    References
    ----------
    KromHC (2026), arXiv 2601.21579, there with two logits a factor; only their difference matters.

    Examples
    --------
    Keep half of everything within pairs, and 3/4 between them:

    >>> kronecker_mixture(np.array([np.log(3.0), 0.0])).round(6)
    array([[0.375, 0.375, 0.125, 0.125],
           [0.375, 0.375, 0.125, 0.125],
           [0.125, 0.125, 0.375, 0.375],
           [0.125, 0.125, 0.375, 0.375]])
    """
    require_floats("kronecker_mixture", logits=logits)
    if logits.ndim < 1 or logits.shape[-1] < 1:
        raise ValueError(f"kronecker_mixture: want at least one factor on the last axis, got {logits.shape}")
    return _kronecker_mixture(logits)


@lru_cache
def _tables(num_factors):
    """Return (bits (n, F), the first factor the highest; i xor j (n, n))."""
    index = np.arange(2**num_factors)
    return (index[:, None] >> np.arange(num_factors)[::-1]) & 1, index[:, None] ^ index


def kronecker_mixture_fwd(logits):
    """Return (plan, cache). Weight m is the product of what each factor gives to bit f of m; the plan looks it up."""
    bits, xor = _tables(logits.shape[-1])
    stay = np.tanh(logits / 2)
    stay += 1
    stay /= 2
    chosen = np.where(bits, 1 - stay[..., None, :], stay[..., None, :])  # (..., n, F)
    weights = chosen.prod(axis=-1)
    return weights[..., xor], (stay, weights)


def kronecker_mixture_bwd(d_plan, cache):
    """Weight m times its cotangent, times (1 - a) where factor f stays and -a where it swaps (eq:kronecker-vjp)."""
    stay, weights = cache
    bits, xor = _tables(stay.shape[-1])
    n = len(xor)
    # Gather, for each m, the entries with i xor j = m: row i of `by_m` holds d_plan[i, i xor m].
    by_m = np.take_along_axis(d_plan, np.broadcast_to(xor, d_plan.shape), axis=-1)
    G = by_m.sum(axis=-2)
    G *= weights
    d_logits = G @ (1 - bits).astype(G.dtype)
    d_logits -= stay * (G @ np.ones((n, 1), G.dtype))
    return (d_logits,)


_kronecker_mixture = define_vjp(kronecker_mixture_fwd, kronecker_mixture_bwd, reference="kronecker_mixture_ref")
