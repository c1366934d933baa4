"""RMSNorm: divide every row by its root mean square, then scale each coordinate by a learned gain.

Chapter: chapters/01_gradients.md      Tests: tests/test_ops.py
Symbols: x -> x (..., D), γ -> gain (D,), 1 / rms(x) -> scale (..., 1)
"""

import autograd.numpy as anp
import numpy as np

from mhc_np.autodiff import define_vjp

EPS = 1e-6


def rmsnorm_ref(x, gain, eps=EPS):
    """Divide by the root mean square: the definition."""
    return x / anp.sqrt(anp.mean(x * x, axis=-1, keepdims=True) + eps) * gain


def rmsnorm(x, gain, eps=EPS):
    """Scale each row of ``x`` to root mean square one, then coordinate i by ``gain[i]``.

    Parameters
    ----------
    x : (..., D) floats
    gain : (D,) floats
    eps : float
        Added to the mean square. A zero row stays zero, and its gradient is finite (``gain * d_out / sqrt(eps)``).

    Returns
    -------
    (..., D) floats

    Raises
    ------
    ValueError
        If ``gain`` does not fit the last axis of ``x``.

    Notes
    -----
    A row whose squares overflow (entries beyond about 1e19 in float32, 1e154 in float64) gives NaN, not zeros: no
    network in order holds such a row.

    References
    ----------
    Zhang and Sennrich (2019), Root mean square layer normalization.

    Examples
    --------
    The mean square of (3, 4) is 12.5, so the row is divided by 3.5355.

    >>> rmsnorm(np.array([[3.0, 4.0]]), np.array([1.0, 10.0])).round(3)
    array([[ 0.849, 11.314]])
    """
    if gain.shape != x.shape[-1:]:
        raise ValueError(f"rmsnorm: want gain {x.shape[-1:]} for x {x.shape}, got {gain.shape}")
    return _rmsnorm(x, gain, eps=eps)


def rmsnorm_fwd(x, gain, *, eps):
    """Return (out, (x, scale, gain)); einsum sums the squares without a temporary."""
    mean_square = np.einsum("...d,...d->...", x, x)[..., None]
    mean_square /= x.shape[-1]
    mean_square += eps
    scale = 1 / np.sqrt(mean_square)
    scale[scale == 0] = np.nan  # the squares overflowed: zeros would hide it
    out = x * scale
    out *= gain
    return out, (x, scale, gain)


def rmsnorm_bwd(d_out, cache):
    """Remove from the scaled cotangent its part along the row, then undo the row's scale (eq:rmsnorm-vjp)."""
    x, scale, gain = cache
    product = d_out * x  # summed over rows it gives the gain's gradient, along each row the part to remove
    rows = product.reshape(-1, len(gain))
    d_gain = scale.reshape(-1) @ rows
    along = (rows @ gain).reshape(scale.shape) * scale**2 / len(gain)
    d_x = d_out * gain
    d_x -= np.multiply(x, along, out=product)
    d_x *= scale
    return d_x, d_gain


_rmsnorm = define_vjp(rmsnorm_fwd, rmsnorm_bwd, reference="rmsnorm_ref")
