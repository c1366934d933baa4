"""The n streams: spread a hidden state over them once at the bottom, reduce them once at the top.

Chapter: chapters/11_hyper_connections.md      Tests: tests/test_connections.py
Symbols: x_l -> streams (B, T, n, D), hidden (B, T, D)
"""

import autograd.numpy as anp
import numpy as np

from mhc_np.autodiff import define_vjp


def expand_ref(hidden, n):
    """Repeat: the definition."""
    return anp.stack([hidden] * n, axis=-2)


def expand(hidden, n):
    """Give each of n streams a copy of the hidden state.

    Parameters
    ----------
    hidden : (B, T, D) floats
    n : int
        Number of streams, at least 1.

    Returns
    -------
    (B, T, n, D) floats

    Raises
    ------
    ValueError
        If there is no stream to write to.

    Examples
    --------
    >>> expand(np.array([[[1.0, 2.0]]]), 2)
    array([[[[1., 2.],
             [1., 2.]]]])
    """
    if n < 1:
        raise ValueError(f"expand: want at least one stream, got n = {n}")
    if n == 1:
        return anp.reshape(hidden, (*hidden.shape[:-1], 1, hidden.shape[-1]))
    return _expand(hidden, n=n)


def expand_fwd(hidden, *, n):
    """Return (streams, nothing to keep)."""
    return np.repeat(hidden[..., None, :], n, axis=-2), None


def expand_bwd(d_streams, cache):
    """Add up the streams' cotangents: each is a copy of one state (eq:expand-vjp)."""
    return (d_streams.sum(axis=-2),)


def reduce_ref(streams):
    """Average: the definition."""
    return anp.sum(streams, axis=-2) / streams.shape[-2]


def reduce(streams):
    """Return the mean of the streams, so that copies reduce to what they are copies of.

    Parameters
    ----------
    streams : (B, T, n, D) floats

    Returns
    -------
    (B, T, D) floats

    Raises
    ------
    ValueError
        If there is no stream to read.

    Examples
    --------
    >>> reduce(np.array([[[[1.0, 2.0], [3.0, 6.0]]]]))
    array([[[2., 4.]]])
    """
    if streams.shape[-2] < 1:
        raise ValueError(f"reduce: want at least one stream, got {streams.shape}")
    if streams.shape[-2] == 1:
        return anp.reshape(streams, (*streams.shape[:-2], streams.shape[-1]))
    return _reduce(streams)


def reduce_fwd(streams):
    """Return (hidden, number of streams)."""
    n = streams.shape[-2]
    hidden = streams.sum(axis=-2)
    hidden /= n
    return hidden, n


def reduce_bwd(d_hidden, n):
    """Give each stream an n-th of the cotangent (eq:reduce-vjp)."""
    return (np.repeat(d_hidden[..., None, :] / n, n, axis=-2),)


_expand = define_vjp(expand_fwd, expand_bwd, reference="expand_ref")
_reduce = define_vjp(reduce_fwd, reduce_bwd, reference="reduce_ref")
