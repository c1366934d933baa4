"""Look and read in one pass over the streams: raw coefficients, the gate of the read, and what it reads.

Chapter: chapters/13_mhc.md      Tests: tests/test_ops.py
Symbols: x_l -> streams (B, T, n, D); φ -> weight (n·D, M), b -> bias (M,), the first n columns for H_pre

The streams are the largest array of the network and every pass over them costs. Three separate operations would go
over them four times forward and seven times backward; this one three and four times.
"""

import autograd.numpy as anp
import numpy as np

from mhc_np.autodiff import define_vjp
from mhc_np.connections.mixing import read_ref
from mhc_np.ops import normed_linear_ref, sigmoid_ref
from mhc_np.ops.norm import EPS
from mhc_np.ops.normed_linear import normed_linear_fwd
from mhc_np.ops.sigmoid import sigmoid_bwd, sigmoid_fwd


def gated_read_ref(streams, weight, bias, eps=EPS):
    """Make the raw coefficients, read with the sigmoid of the first n, put the rest beside: the definition."""
    n = streams.shape[-2]
    flat = anp.reshape(streams, (*streams.shape[:-2], -1))
    raw = normed_linear_ref(flat, weight, bias, eps)
    hidden = read_ref(sigmoid_ref(raw[..., :n]), streams)
    return anp.concatenate([hidden, raw[..., n:]], axis=-1)


def gated_read(streams, weight, bias, eps=EPS):
    """Return what a gated read sees and the raw coefficients that remain, side by side.

    Parameters
    ----------
    streams : (..., n, D) floats
    weight : (n·D, M) floats
    bias : (M,) floats
        M at least n: the first n raw coefficients are the logits of H_pre.
    eps : float
        Added to the mean square of all n·D numbers.

    Returns
    -------
    (..., D + M - n) floats
        The first D columns are ``sum_j H_pre[j] * streams[j]``, the others the raw coefficients from n on.

    Raises
    ------
    ValueError
        If the shapes do not fit.

    Examples
    --------
    With no weight the gate is the sigmoid of its bias, here 1/2 and 3/4:

    >>> bias = np.array([0.0, np.log(3.0), 7.0])
    >>> gated_read(np.array([[2.0], [4.0]]), np.zeros((2, 3)), bias)
    array([4., 7.])
    """
    n, width = streams.shape[-2:]
    if weight.ndim != 2 or weight.shape[0] != n * width or bias.shape != weight.shape[1:] or len(bias) < n:
        raise ValueError(
            f"gated_read: want weight ({n * width}, M) and bias (M,) with M >= {n} for streams {streams.shape}, "
            f"got {weight.shape} and {bias.shape}"
        )
    return _gated_read(streams, weight, bias, eps=eps)


def gated_read_fwd(streams, weight, bias, *, eps):
    """Return (hidden and raw, cache)."""
    n, width = streams.shape[-2:]
    flat = streams.reshape(-1, n * width)
    raw, (_, _, scale, product, _) = normed_linear_fwd(flat, weight, bias, eps=eps)
    gate, _ = sigmoid_fwd(raw[:, :n])
    out = np.empty((len(flat), width + len(bias) - n), streams.dtype)
    np.matmul(gate[:, None], flat.reshape(-1, n, width), out=out[:, None, :width])
    out[:, width:] = raw[:, n:]
    return out.reshape(*streams.shape[:-2], -1), (streams, weight, scale, product, gate)


def gated_read_bwd(d_out, cache):
    """Add up what a stream gets as read, as looked at, and as part of the norm (eq:gated-read-vjp)."""
    streams, weight, scale, product, gate = cache
    n, width = streams.shape[-2:]
    d_out, tokens = d_out.reshape(len(gate), -1), streams.reshape(-1, n, width)
    # What the read sends back and the norm takes off is one small product a token: [-along·I, gate] times the streams
    # with the cotangent of what was read as an (n + 1)-th. `along` needs d_raw first, and that needs the cotangent.
    extended = np.empty((len(gate), n + 1, width), streams.dtype)
    extended[:, :n], extended[:, n] = tokens, d_out[:, :width]
    d_raw = np.empty((len(gate), weight.shape[1]), d_out.dtype)
    (d_raw[:, :n],) = sigmoid_bwd((tokens @ extended[:, n, :, None])[..., 0], gate)
    d_raw[:, n:] = d_out[:, width:]
    d_bias = np.ones(len(d_raw), d_raw.dtype) @ d_raw
    d_raw *= scale
    along = np.einsum("tm,tm->t", d_raw, product)
    along *= scale[:, 0]
    along /= n * width
    back = np.zeros((len(gate), n, n + 1), streams.dtype)
    back[:, np.arange(n), np.arange(n)] = -along[:, None]
    back[:, :, n] = gate
    d_streams = back @ extended
    d_flat = d_streams.reshape(len(gate), -1)
    d_flat += d_raw @ weight.T
    return d_streams.reshape(streams.shape), tokens.reshape(len(gate), -1).T @ d_raw, d_bias


_gated_read = define_vjp(gated_read_fwd, gated_read_bwd, reference="gated_read_ref")
