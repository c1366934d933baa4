"""Linear map: every row times a matrix, plus a bias.

Chapter: chapters/01_gradients.md      Tests: tests/test_ops.py
Symbols: x -> x (..., I), W -> weight (I, O), b -> bias (O,)
"""

import autograd.numpy as anp
import numpy as np

from mhc_np.autodiff import define_vjp
from mhc_np.ops.checks import require_floats


def linear_ref(x, weight, bias=None):
    """Multiply and add: the definition."""
    out = anp.matmul(x, weight)
    return out if bias is None else out + bias


def linear(x, weight, bias=None):
    """Map the last axis of ``x`` by ``weight``.

    Parameters
    ----------
    x : (..., I) floats
    weight : (I, O) floats
        ``weight[i, o]`` is what input i adds to output o.
    bias : (O,) floats, optional

    Returns
    -------
    (..., O) floats

    Raises
    ------
    ValueError
        If the shapes do not fit, I is 0, or something is no array of floats.

    Examples
    --------
    >>> linear(np.array([[1.0, 2.0]]), np.array([[1.0, 0.0], [10.0, 1.0]]), np.array([0.5, 0.0]))
    array([[21.5,  2. ]])
    """
    require_floats("linear", x=x, weight=weight)
    if weight.ndim != 2 or x.shape[-1:] != weight.shape[:1] or not len(weight):
        raise ValueError(f"linear: want x (..., I) and weight (I, O) with I > 0, got {x.shape} and {weight.shape}")
    if bias is None:
        return _linear(x, weight)
    require_floats("linear", bias=bias)
    if bias.shape != weight.shape[1:]:
        raise ValueError(f"linear: want bias {weight.shape[1:]}, got {bias.shape}")
    return _linear(x, weight, bias)


def linear_fwd(x, weight, bias=None):
    """Return (out, cache). All leading axes become one: a single large matrix product."""
    rows = x.reshape(-1, x.shape[-1])
    out = rows @ weight
    if bias is not None:
        out += bias
    return out.reshape(*x.shape[:-1], weight.shape[1]), (x, weight, bias is not None)


def linear_bwd(d_out, cache):
    """Send the cotangent back through the transpose; inputs times cotangents make d_weight (eq:linear-vjp)."""
    x, weight, has_bias = cache
    d_rows = d_out.reshape(-1, d_out.shape[-1])
    d_x = (d_rows @ weight.T).reshape(x.shape)
    d_weight = x.reshape(-1, x.shape[-1]).T @ d_rows
    if not has_bias:
        return d_x, d_weight
    ones = np.ones(len(d_rows), d_rows.dtype)
    return d_x, d_weight, ones @ d_rows  # a matrix product sums rows faster than .sum(0)


_linear = define_vjp(linear_fwd, linear_bwd, reference="linear_ref")
