"""Mixtures of permutations: exactly doubly stochastic matrices, without an iteration.

Chapter: chapters/14_relatives.md      Tests: tests/test_birkhoff.py
Symbols: permutation matrices P_k -> permutation_basis(n) (n!, n, n), a -> weights (..., n!), H_res -> plan (..., n, n)
"""

from functools import lru_cache
from itertools import permutations
from math import factorial

import autograd.numpy as anp
import numpy as np

from mhc_np.autodiff import define_vjp
from mhc_np.ops.checks import require_floats

LARGEST = 8


@lru_cache
def permutation_basis(n):
    """Return all n! permutation matrices of size n, the identity first, in lexicographic order.

    Parameters
    ----------
    n : int
        At most 8: the basis has n! matrices.

    Returns
    -------
    (n!, n, n) float64, read-only
        ``basis[k, i, j]`` is 1 where new stream i takes old stream j.

    Raises
    ------
    ValueError
        If n is out of range.

    Examples
    --------
    >>> permutation_basis(2)
    array([[[1., 0.],
            [0., 1.]],
           [[0., 1.],
            [1., 0.]]])
    """
    if not 1 <= n <= LARGEST:
        count = f": {n}! is {factorial(n):,} permutations" if n > LARGEST else ""
        raise ValueError(f"permutation_basis: want 1 <= n <= {LARGEST}, got {n}{count}")
    basis = np.eye(n)[np.array(list(permutations(range(n))))]
    basis.flags.writeable = False
    return basis


def birkhoff_mixture_ref(logits):
    """Weight the permutations by a softmax: the definition."""
    n = size_of_basis(logits.shape[-1])
    weights = anp.exp(logits - anp.max(logits, axis=-1, keepdims=True))
    weights = weights / anp.sum(weights, axis=-1, keepdims=True)
    return anp.sum(weights[..., None, None] * permutation_basis(n), axis=-3)


def birkhoff_mixture(logits):
    """Return the mixture of all n! permutations with weights ``softmax(logits)`` (mHC-lite).

    Every doubly stochastic matrix is such a mixture (Birkhoff and von Neumann), so nothing is lost against Sinkhorn,
    and rows *and* columns sum to 1 to rounding. The price is n! logits.

    Parameters
    ----------
    logits : (..., n!) floats
        Entry k belongs to ``permutation_basis(n)[k]``; entry 0 to the identity. Any finite size is safe, and -inf
        leaves a permutation out, as long as another is left. NaN, inf and -inf alone give NaN.

    Returns
    -------
    (..., n, n) floats

    Raises
    ------
    ValueError
        If the logits are no floats, or the last axis is not n! for some n.

    References
    ----------
    mHC-lite (2026), arXiv 2601.05732.

    Examples
    --------
    >>> birkhoff_mixture(np.array([np.log(3.0), 0.0])).round(6)
    array([[0.75, 0.25],
           [0.25, 0.75]])
    """
    require_floats("birkhoff_mixture", logits=logits)
    size_of_basis(logits.shape[-1] if logits.ndim else 0)
    return _birkhoff_mixture(logits)


def size_of_basis(count):
    """Return the n whose factorial is ``count``."""
    for n in range(1, LARGEST + 1):
        if factorial(n) == count:
            return n
    raise ValueError(f"birkhoff_mixture: want n! logits (1, 2, 6, 24, ...) on the last axis, got {count}")


def birkhoff_mixture_fwd(logits):
    """Return (plan, cache): one softmax and one matrix product."""
    n = size_of_basis(logits.shape[-1])
    basis = permutation_basis(n).reshape(-1, n * n).astype(logits.dtype, copy=False)
    weights = logits - logits.max(axis=-1, keepdims=True)
    np.exp(weights, out=weights)
    weights /= weights.sum(axis=-1, keepdims=True)
    return (weights @ basis).reshape(*logits.shape[:-1], n, n), (weights, basis)


def birkhoff_mixture_bwd(d_plan, cache):
    """Score each permutation by the cotangent on it, then pull back the softmax (eq:mixture-vjp)."""
    weights, basis = cache
    G = d_plan.reshape(*weights.shape[:-1], basis.shape[1]) @ basis.T
    G *= weights
    G -= weights * G.sum(axis=-1, keepdims=True)
    return (G,)


_birkhoff_mixture = define_vjp(birkhoff_mixture_fwd, birkhoff_mixture_bwd, reference="birkhoff_mixture_ref")
