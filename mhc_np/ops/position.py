"""Where a token stands, told to attention: a rotation of queries and keys, or a learned bias on the scores.

Chapter: chapters/02_transformer.md      Tests: tests/test_ops.py
Symbols: q or k -> x (B, T, D), turned at position t in pair m by the angle t·base^(-2m/K);
β -> bias (H, T, T), from table (num_offsets, H)
"""

from functools import lru_cache

import autograd.numpy as anp
import numpy as np

from mhc_np.autodiff import define_vjp
from mhc_np.ops.embed import embed

BASE = 10_000.0


@lru_cache(maxsize=32)
def _turn(length, head_width, dtype):
    """Cosines and sines (T, 1, K / 2) of every position's angles."""
    frequency = BASE ** (-np.arange(0, head_width, 2) / head_width)
    angles = np.arange(length)[:, None, None] * frequency
    return np.cos(angles).astype(dtype), np.sin(angles).astype(dtype)


def rotary_ref(x, *, num_heads):
    """Rotate each head's coordinates (m, m + K/2) as a complex number: the definition."""
    batch, length, width = x.shape
    half = width // num_heads // 2
    cos, sin = _turn(length, 2 * half, float)
    heads = anp.reshape(x, (batch, length, num_heads, 2 * half))
    a, b = heads[..., :half], heads[..., half:]
    return anp.reshape(anp.concatenate([a * cos - b * sin, a * sin + b * cos], axis=-1), x.shape)


def rotary(x, *, num_heads):
    """Rotate queries or keys by their position, so that q_i·k_j depends on i - j alone.

    Parameters
    ----------
    x : (B, T, D) floats
        D = H·K with K even. Position 0 is left as it is.
    num_heads : int

    Returns
    -------
    (B, T, D) floats

    Raises
    ------
    ValueError
        If a head's width is odd.

    References
    ----------
    Su et al. (2021), RoFormer.

    Examples
    --------
    With one pair of coordinates, position 1 turns by one radian.

    >>> rotary(np.array([[[1.0, 0.0], [1.0, 0.0]]]), num_heads=1).round(3)
    array([[[1.   , 0.   ],
            [0.54 , 0.841]]])
    """
    if x.ndim != 3 or x.shape[-1] % (2 * num_heads):
        raise ValueError(f"rotary: want x (B, T, D) with an even width for each of {num_heads} heads, got {x.shape}")
    return _rotary(x, num_heads=num_heads)


def rotary_fwd(x, *, num_heads):
    """Return (rotated, number of heads)."""
    return _rotate(x, num_heads, direction=1), num_heads


def rotary_bwd(d_out, num_heads):
    """Turn the cotangent back: a rotation's transpose is its inverse (eq:rotary-vjp)."""
    return (_rotate(d_out, num_heads, direction=-1),)


def _rotate(x, num_heads, direction):
    batch, length, width = x.shape
    half = width // num_heads // 2
    cos, sin = _turn(length, 2 * half, x.dtype)
    heads = x.reshape(batch, length, num_heads, 2 * half)
    out = np.empty_like(heads)
    a, b = heads[..., :half], heads[..., half:]
    np.subtract(a * cos, direction * (b * sin), out=out[..., :half])
    np.add(direction * (a * sin), b * cos, out=out[..., half:])
    return out.reshape(x.shape)


def relative_bias(table, *, offsets):
    """Spread a learned table over the pairs of positions.

    Parameters
    ----------
    table : (num_offsets, H) floats
    offsets : (T, T) ints
        ``offsets[i, j]`` is the row that serves position i attending to j: i - j, cut off where pairs should share.

    Returns
    -------
    (H, T, T) floats
        The ``bias`` of `mhc_np.ops.attention`.

    Examples
    --------
    >>> relative_bias(np.array([[0.0], [7.0]]), offsets=np.array([[0, 0], [1, 0]]))
    array([[[0., 0.],
            [7., 0.]]])
    """
    return anp.transpose(embed(table, ids=offsets), (2, 0, 1))


_rotary = define_vjp(rotary_fwd, rotary_bwd, reference="rotary_ref")
