"""Orthogonal mixings by Cayley's map, and the doubly stochastic matrices of their squares.

Chapter: chapters/14_relatives.md      Tests: tests/test_orthogonal.py
Symbols: raw H_res -> raw (..., n, n), S = raw - raw^T (skew), Q -> (..., n, n) orthogonal, (I - S/2)^-1 -> inverse
"""

import autograd.numpy as anp
import numpy as np

from mhc_np.autodiff import define_vjp
from mhc_np.ops.checks import require_floats


def cayley_ref(raw):
    """Divide (I + S/2) by (I - S/2): the definition."""
    half = (raw - anp.swapaxes(raw, -1, -2)) / 2
    eye = np.eye(raw.shape[-1])
    return anp.matmul(anp.linalg.inv(eye - half), eye + half)


def cayley(raw):
    """Turn any square matrix into a rotation: Q = (I - S/2)^-1 (I + S/2) with S = raw - raw^T.

    Parameters
    ----------
    raw : (..., n, n) floats
        Only the skew part counts. Zero gives the identity; small S gives I + S.

    Returns
    -------
    (..., n, n) floats
        Orthogonal, of determinant 1. Every such Q without an eigenvalue -1 is reached; no division by zero can occur,
        since I - S/2 has no eigenvalue of modulus below 1.

    Raises
    ------
    ValueError
        If the matrices are no square arrays of floats.

    References
    ----------
    JPmHC (2026), arXiv 2602.18308, which iterates where this inverts.

    Examples
    --------
    A quarter turn has tan(45°) = 1 as half of S:

    >>> cayley(np.array([[0.0, -2.0], [0.0, 0.0]])).round(6) + 0.0
    array([[ 0., -1.],
           [ 1.,  0.]])
    """
    require_square("cayley", raw)
    return _cayley(raw)


def require_square(who, raw):
    """Refuse what is no array of square matrices of floats."""
    require_floats(who, raw=raw)
    if raw.ndim < 2 or raw.shape[-1] != raw.shape[-2]:
        raise ValueError(f"{who}: want shape (..., n, n), got {raw.shape}")


def cayley_fwd(raw):
    """Return (Q, inverse). I + Q = 2 (I - S/2)^-1, so Q is read off the inverse."""
    eye = np.eye(raw.shape[-1], dtype=raw.dtype)
    inverse = np.linalg.inv(eye - (raw - np.swapaxes(raw, -1, -2)) / 2)
    return 2 * inverse - eye, inverse


def cayley_bwd(d_Q, inverse):
    """Sandwich the cotangent between transposed inverses, keep its skew part twice (eq:cayley-vjp)."""
    transposed = np.swapaxes(inverse, -1, -2)
    d_S = transposed @ d_Q @ transposed
    return (d_S - np.swapaxes(d_S, -1, -2),)


def orthostochastic(raw, block=1, orthogonal=cayley):
    """Return the squares of a rotation, summed over blocks: an exactly doubly stochastic matrix.

    Parameters
    ----------
    raw : (..., n·block, n·block) floats
    block : int
        Side s of the blocks: entry (i, j) is the squared norm of block (i, j) of Q, divided by s. With s = 1 not
        every doubly stochastic matrix is reached: (J - I) / 2 for n = 3 is not, since two rows of such a Q would
        overlap in one place only and could not be orthogonal. Larger s reaches more.
    orthogonal : callable
        The map to a rotation; `cayley_ref` for second derivatives.

    Returns
    -------
    (..., n, n) floats

    Raises
    ------
    ValueError
        If the matrices are no square arrays of floats, or the block does not divide their size.

    References
    ----------
    go-mHC (2026), arXiv 2604.02309 (generalised orthostochastic matrices, s = 2).

    Examples
    --------
    >>> orthostochastic(np.array([[0.0, -2.0], [0.0, 0.0]])).round(6)
    array([[0., 1.],
           [1., 0.]])
    """
    require_square("orthostochastic", raw)
    if block < 1 or raw.shape[-1] % block:
        raise ValueError(f"orthostochastic: want a size that the block {block} divides, got {raw.shape}")
    Q = orthogonal(raw)
    n = raw.shape[-1] // block
    blocks = anp.reshape(Q * Q, (*raw.shape[:-2], n, block, n, block))
    return anp.sum(blocks, axis=(-3, -1)) / block


_cayley = define_vjp(cayley_fwd, cayley_bwd, reference="cayley_ref")
