"""Look and read in one pass over the streams: raw coefficients, the gate of the read, and what it reads.

Chapter: chapters/13_mhc.md      Tests: tests/test_gated_read.py
Symbols: x_l -> streams (B, T, n, D); φ -> weight (n·D, M), b -> bias (M,), the first n columns for H_pre

The streams are the largest array of the network and every pass over them costs. This operation hands them on besides
what it read from them, so that its backward gets all they are used for and writes their cotangent once.
"""

import autograd.numpy as anp
import numpy as np

from mhc_np.autodiff import define_vjp
from mhc_np.autodiff.parts import Parts, unpack
from mhc_np.connections.mixing import read_ref
from mhc_np.ops import normed_linear_ref, sigmoid_ref
from mhc_np.ops.norm import EPS
from mhc_np.ops.normed_linear import normed_linear_fwd
from mhc_np.ops.sigmoid import sigmoid_bwd, sigmoid_fwd

BLOCK = 64  # tokens whose streams, 64 x 4 x 128 numbers, stay in the cache while their cotangent is put together


def gated_read_ref(streams, weight, bias, eps=EPS):
    """Make the raw coefficients, read with the sigmoid of the first n, return the rest: the definition."""
    n = streams.shape[-2]
    flat = anp.reshape(streams, (*streams.shape[:-2], -1))
    raw = normed_linear_ref(flat, weight, bias, eps)
    return read_ref(sigmoid_ref(raw[..., :n]), streams), raw[..., n:], streams


def gated_read(streams, weight, bias, eps=EPS):
    """Return what a gated read sees, the raw coefficients that remain, and the streams.

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
    hidden : (..., D) floats
        ``sum_j H_pre[j] * streams[j]``.
    raw : (..., M - n) floats
        The raw coefficients from n on.
    streams : (..., n, D) floats
        As they came. Go on with these rather than with the argument: their cotangent then costs one addition less.

    Raises
    ------
    ValueError
        If the shapes do not fit.

    Examples
    --------
    With no weight the gate is the sigmoid of its bias, here 1/2 and 3/4:

    >>> bias = np.array([0.0, np.log(3.0), 7.0])
    >>> hidden, raw, _ = gated_read(np.array([[2.0], [4.0]]), np.zeros((2, 3)), bias)
    >>> hidden, raw
    (array([4.]), array([7.]))
    """
    n, width = streams.shape[-2:]
    if weight.ndim != 2 or weight.shape[0] != n * width or bias.shape != weight.shape[1:] or len(bias) < n:
        raise ValueError(
            f"gated_read: want weight ({n * width}, M) and bias (M,) with M >= {n} for streams {streams.shape}, "
            f"got {weight.shape} and {bias.shape}"
        )
    return unpack(_gated_read(streams, weight, bias, eps=eps))


def gated_read_fwd(streams, weight, bias, *, eps):
    """Return (Parts of hidden, raw and streams; cache)."""
    *lead, n, width = streams.shape
    flat = streams.reshape(-1, n * width)
    raw, (_, _, scale, product, _) = normed_linear_fwd(flat, weight, bias, eps=eps)
    gate, _ = sigmoid_fwd(raw[:, :n])
    hidden = (gate[:, None] @ flat.reshape(-1, n, width)).reshape(*lead, width)
    rest = np.ascontiguousarray(raw[:, n:]).reshape(*lead, raw.shape[1] - n)
    return Parts((hidden, rest, streams)), (streams, weight, scale, product, gate)


def gated_read_bwd(d_parts, cache):
    """Add up what a stream gets as read, as looked at, from the norm and from later uses (eq:gated-read-vjp)."""
    streams, weight, scale, product, gate = cache
    num_tokens, (n, width), dtype = len(gate), streams.shape[-2:], product.dtype
    tokens = streams.reshape(num_tokens, n, width)
    shapes = (num_tokens, 1, width), (num_tokens, weight.shape[1] - n), (num_tokens, n, width)
    d_hidden, d_rest, d_later = (
        None if d_part is None else d_part.reshape(shape) for d_part, shape in zip(d_parts, shapes, strict=True)
    )
    if d_hidden is None:
        d_hidden = np.zeros(shapes[0], dtype)
    d_raw = np.zeros((num_tokens, weight.shape[1]), dtype)
    (d_raw[:, :n],) = sigmoid_bwd((tokens @ np.swapaxes(d_hidden, 1, 2))[..., 0], gate)
    if d_rest is not None:
        d_raw[:, n:] = d_rest
    d_bias = np.ones(num_tokens, dtype) @ d_raw
    d_raw *= scale
    along = np.einsum("tm,tm->t", d_raw, product)[:, None]
    along *= scale
    along /= n * width
    # What the norm takes off and the read sends back are one product a token: [-along I, gate] [streams; d_hidden].
    back = np.zeros((num_tokens, n, n + 1), dtype)
    back[:, np.arange(n), np.arange(n)] = -along
    back[:, :, n] = gate
    d_streams = np.empty(tokens.shape, streams.dtype)
    for start in range(0, num_tokens, BLOCK):
        block = slice(start, start + BLOCK)
        d_block = np.matmul(d_raw[block], weight.T, out=d_streams[block].reshape(-1, n * width)).reshape(-1, n, width)
        d_block += back[block] @ np.concatenate([tokens[block], d_hidden[block]], axis=1)
        if d_later is not None:
            d_block += d_later[block]
    return d_streams.reshape(streams.shape), tokens.reshape(num_tokens, n * width).T @ d_raw, d_bias


_gated_read = define_vjp(gated_read_fwd, gated_read_bwd, reference="gated_read_ref")
