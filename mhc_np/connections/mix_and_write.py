"""Mix the streams and write the branch's output to them, in one pass.

Chapter: chapters/11_hyper_connections.md      Tests: tests/test_mixing.py
Symbols: x_l -> streams (B, T, n, D), H_res -> (B, T, n, n), H_post -> (B, T, n), F(h) -> update (B, T, D)

The update is one stream more, and H_post its column of weights: [H_res, H_post] times [streams; update].
"""

import numpy as np

from mhc_np.autodiff import define_vjp
from mhc_np.connections.mixing import mix_ref, write_ref

BLOCK = 128  # tokens whose streams and update, 128 x 5 x 128 numbers, are joined in the cache


def mix_and_write_ref(H_res, streams, H_post, update):
    """Mix, then write: the definition."""
    return write_ref(mix_ref(H_res, streams), H_post, update)


def mix_and_write(H_res, streams, H_post, update):
    """Return ``new[i] = sum_j H_res[i, j] * old[j] + H_post[i] * update``: `write` of `mix`, at the price of one.

    Parameters
    ----------
    H_res : (..., n, n) floats
    streams : (..., n, D) floats
    H_post : (..., n) floats
    update : (..., D) floats

    Returns
    -------
    (..., n, D) floats

    Raises
    ------
    ValueError
        If the shapes do not fit.

    Examples
    --------
    >>> swap = np.array([[0.0, 1.0], [1.0, 0.0]])
    >>> mix_and_write(swap, np.array([[1.0], [2.0]]), np.array([1.0, 0.0]), np.array([10.0]))
    array([[12.],
           [ 1.]])
    """
    lead, (n, width) = streams.shape[:-2], streams.shape[-2:]
    if (H_res.shape, H_post.shape, update.shape) != ((*lead, n, n), (*lead, n), (*lead, width)):
        raise ValueError(
            f"mix_and_write: want H_res (..., n, n), H_post (..., n) and update (..., D) for streams {streams.shape}, "
            f"got {H_res.shape}, {H_post.shape} and {update.shape}"
        )
    return _mix_and_write(H_res, streams, H_post, update)


def mix_and_write_fwd(H_res, streams, H_post, update):
    """Return (new streams, cache), block by block: the joined copy would cost as much as the product."""
    n, width = streams.shape[-2:]
    weights = np.concatenate([H_res, H_post[..., None]], axis=-1).reshape(-1, n, n + 1)
    tokens, updates = streams.reshape(-1, n, width), update.reshape(-1, 1, width)
    out = np.empty(tokens.shape, np.result_type(weights, tokens, updates))
    for start in range(0, len(tokens), BLOCK):
        block = slice(start, start + BLOCK)
        np.matmul(weights[block], np.concatenate([tokens[block], updates[block]], axis=1), out=out[block])
    return out.reshape(streams.shape), (H_res, streams, H_post, update)


def mix_and_write_bwd(d_out, cache):
    """Mix the cotangent by the transpose; each weight gets cotangent times stream (eq:mix-vjp, eq:write-vjp)."""
    H_res, streams, H_post, update = cache
    d_H_res = d_out @ np.swapaxes(streams, -1, -2)
    d_streams = np.swapaxes(H_res, -1, -2) @ d_out
    d_H_post = (d_out @ update[..., None])[..., 0]
    d_update = (H_post[..., None, :] @ d_out)[..., 0, :]
    return d_H_res, d_streams, d_H_post, d_update


_mix_and_write = define_vjp(mix_and_write_fwd, mix_and_write_bwd, reference="mix_and_write_ref")
