"""RMSNorm, then a linear map, in one: multiply first, divide the few outputs by the row's root mean square after.

Chapter: chapters/13_mhc.md      Tests: tests/test_ops.py
Symbols: x -> x (..., I), φ -> weight (I, O), b -> bias (O,), 1 / rms(x) -> scale (..., 1)
"""

import autograd.numpy as anp
import numpy as np

from mhc_np.autodiff import define_vjp
from mhc_np.ops.norm import EPS


def normed_linear_ref(x, weight, bias=None, eps=EPS):
    """Divide by the root mean square, multiply, add: the definition."""
    out = anp.matmul(x / anp.sqrt(anp.mean(x * x, axis=-1, keepdims=True) + eps), weight)
    return out if bias is None else out + bias


def normed_linear(x, weight, bias=None, eps=EPS):
    """Map the root-mean-square normalised rows of ``x`` by ``weight``.

    The norm is a number a row, so it can be applied to the O outputs instead of the I inputs. For n streams of width D
    that is n D = 512 numbers against 24, and saves writing a normalised copy of the streams.

    Parameters
    ----------
    x : (..., I) floats
    weight : (I, O) floats
    bias : (O,) floats, optional
    eps : float
        Added to the mean square: a zero row gives the bias, and a finite gradient.

    Returns
    -------
    (..., O) floats

    Raises
    ------
    ValueError
        If the shapes do not fit.

    Notes
    -----
    A row whose squares overflow (entries beyond about 1e19 in float32, 1e154 in float64) gives NaN, not zeros: no
    network in order holds such a row.

    References
    ----------
    Xie et al. (2025), mHC: Manifold-constrained hyper-connections, Eq. 14 to 16.

    Examples
    --------
    The root mean square of (3, 4) is 3.5355, so the row is (0.8485, 1.1314).

    >>> normed_linear(np.array([[3.0, 4.0]]), np.array([[1.0], [10.0]]), np.array([0.5])).round(3)
    array([[12.662]])
    """
    if weight.ndim != 2 or x.shape[-1] != weight.shape[0]:
        raise ValueError(f"normed_linear: want x (..., I) and weight (I, O), got {x.shape} and {weight.shape}")
    if bias is None:
        return _normed_linear(x, weight, eps=eps)
    if bias.shape != weight.shape[1:]:
        raise ValueError(f"normed_linear: want bias {weight.shape[1:]}, got {bias.shape}")
    return _normed_linear(x, weight, bias, eps=eps)


def normed_linear_fwd(x, weight, bias=None, *, eps):
    """Return (out, cache); the normalised rows are never written down."""
    rows = x.reshape(-1, x.shape[-1])
    scale = np.einsum("ri,ri->r", rows, rows)[:, None]
    scale /= rows.shape[1]
    scale += eps
    np.sqrt(scale, out=scale)
    np.divide(1, scale, out=scale)
    scale[scale == 0] = np.nan  # the squares overflowed: zeros would hide it
    product = rows @ weight
    product *= scale
    out = product if bias is None else product + bias
    return out.reshape(*x.shape[:-1], weight.shape[1]), (x, weight, scale, product, bias is not None)


def normed_linear_bwd(d_out, cache):
    """Send the scaled cotangent through the transpose, and take off its part along the row (eq:normed-linear-vjp)."""
    x, weight, scale, product, has_bias = cache
    rows = x.reshape(-1, x.shape[-1])
    d_rows = d_out.reshape(-1, d_out.shape[-1])
    d_product = d_rows * scale
    along = np.einsum("ro,ro->r", d_product, product)[:, None]
    along *= scale
    along /= rows.shape[1]
    d_x = d_product @ weight.T
    d_x -= rows * along
    d_weight = rows.T @ d_product
    if not has_bias:
        return d_x.reshape(x.shape), d_weight
    return d_x.reshape(x.shape), d_weight, np.ones(len(d_rows), d_rows.dtype) @ d_rows


_normed_linear = define_vjp(normed_linear_fwd, normed_linear_bwd, reference="normed_linear_ref")
