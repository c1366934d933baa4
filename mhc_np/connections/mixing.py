"""The three ways in which a connection touches the streams: read one state, mix them, write to all.

Chapter: chapters/11_hyper_connections.md      Tests: tests/test_mixing.py
Symbols: x_l -> streams (B, T, n, D), H_pre, H_post -> (B, T, n), H_res -> (B, T, n, n), F(h) -> update (B, T, D)

``H_res[..., i, j]`` is the weight of old stream j in new stream i. Everything that moves streams is one line of
matrix algebra a token, so each definition is that line and each kernel a batched product.
"""

import autograd.numpy as anp
import numpy as np

from mhc_np.autodiff import define_vjp


def read_ref(H_pre, streams):
    """Weigh the streams: the definition."""
    return anp.sum(H_pre[..., None] * streams, axis=-2)


def mix_ref(H_res, streams):
    """Give new stream i the weight H_res[i, j] of old stream j: the definition."""
    return anp.sum(H_res[..., None] * streams[..., None, :, :], axis=-2)


def write_ref(streams, H_post, update):
    """Add the update to stream i with weight H_post[i]: the definition."""
    return streams + H_post[..., None] * update[..., None, :]


def read(H_pre, streams):
    """Return what the branch sees, ``sum_j H_pre[j] * streams[j]``.

    Parameters
    ----------
    H_pre : (..., n) floats
    streams : (..., n, D) floats

    Returns
    -------
    (..., D) floats

    Examples
    --------
    >>> read(np.array([0.25, 0.75]), np.array([[4.0, 0.0], [0.0, 4.0]]))
    array([1., 3.])
    """
    if H_pre.shape != streams.shape[:-1]:
        raise ValueError(f"read: want H_pre {streams.shape[:-1]} for streams {streams.shape}, got {H_pre.shape}")
    return _read(H_pre, streams)


def mix(H_res, streams):
    """Return the streams mixed, ``new[i] = sum_j H_res[i, j] * old[j]``: rows are new streams, columns old ones.

    Parameters
    ----------
    H_res : (..., n, n) floats
    streams : (..., n, D) floats

    Returns
    -------
    (..., n, D) floats

    Examples
    --------
    Stream 0 becomes the average, stream 1 a copy of old stream 0. (The transpose would do something else.)

    >>> mix(np.array([[0.5, 0.5], [1.0, 0.0]]), np.array([[2.0], [4.0]]))
    array([[3.],
           [2.]])
    """
    want = (*streams.shape[:-1], streams.shape[-2])
    if H_res.shape != want:
        raise ValueError(f"mix: want H_res {want} for streams {streams.shape}, got {H_res.shape}")
    return _mix(H_res, streams)


def write(streams, H_post, update):
    """Return the streams with the branch's output added, ``new[i] = old[i] + H_post[i] * update``.

    Parameters
    ----------
    streams : (..., n, D) floats
    H_post : (..., n) floats
    update : (..., D) floats

    Returns
    -------
    (..., n, D) floats

    Examples
    --------
    >>> write(np.array([[1.0], [1.0]]), np.array([0.0, 2.0]), np.array([5.0]))
    array([[ 1.],
           [11.]])
    """
    want = streams.shape[:-1], (*streams.shape[:-2], streams.shape[-1])
    if (H_post.shape, update.shape) != want:
        raise ValueError(
            f"write: want H_post {want[0]} and update {want[1]} for streams {streams.shape}, "
            f"got {H_post.shape} and {update.shape}"
        )
    return _write(streams, H_post, update)


def read_fwd(H_pre, streams):
    """Return (hidden, cache)."""
    return (H_pre[..., None, :] @ streams)[..., 0, :], (H_pre, streams)


def read_bwd(d_hidden, cache):
    """Each stream gets its weight of the cotangent; each weight, cotangent times stream (eq:read-vjp)."""
    H_pre, streams = cache
    return (streams @ d_hidden[..., None])[..., 0], H_pre[..., None] * d_hidden[..., None, :]


def mix_fwd(H_res, streams):
    """Return (mixed, cache): one small product a token, the fast form in NumPy."""
    return H_res @ streams, (H_res, streams)


def mix_bwd(d_mixed, cache):
    """Mix the cotangent by the transpose; each weight gets cotangent i times stream j (eq:mix-vjp)."""
    H_res, streams = cache
    return d_mixed @ np.swapaxes(streams, -1, -2), np.swapaxes(H_res, -1, -2) @ d_mixed


def write_fwd(streams, H_post, update):
    """Return (streams, cache)."""
    out = H_post[..., None] * update[..., None, :]
    out += streams
    return out, (H_post, update)


def write_bwd(d_out, cache):
    """Streams pass the cotangent on; weights and update share it, each times the other (eq:write-vjp)."""
    H_post, update = cache
    return d_out, (d_out @ update[..., None])[..., 0], (H_post[..., None, :] @ d_out)[..., 0, :]


_read = define_vjp(read_fwd, read_bwd, reference="read_ref")
_mix = define_vjp(mix_fwd, mix_bwd, reference="mix_ref")
_write = define_vjp(write_fwd, write_bwd, reference="write_ref")
