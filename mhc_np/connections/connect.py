"""One connection around one branch: read the streams, compute, mix the streams, write back.

Chapter: chapters/10_identity_path.md      Tests: tests/test_connections.py
Symbols: x_l -> streams (B, T, n, D), F -> branch (B, T, D) -> (B, T, D), H_pre, H_post, H_res -> Coefficients

    hidden  = H_pre streams                     read
    streams = H_res streams + H_post F(hidden)  mix, write
"""

import autograd.numpy as anp

from mhc_np.connections.coefficients import coefficients_ref, observe
from mhc_np.connections.mix_and_write import mix_and_write
from mhc_np.connections.mixing import mix_ref, read_ref, write, write_ref
from mhc_np.connections.streams import reduce_ref


def connect(params, scheme, streams, branch):
    """Send the streams through one sub-layer.

    Parameters
    ----------
    params : dict of arrays
        As from `init`.
    scheme : str
        A key of `SCHEMES`.
    streams : (B, T, n, D) floats
    branch : callable
        (B, T, D) -> (B, T, D), its own normalisation included.

    Returns
    -------
    (B, T, n, D) floats

    Raises
    ------
    ValueError
        If the scheme is unknown, or streams, parameters or what the branch returns do not have its shapes.

    Examples
    --------
    >>> import numpy as np
    >>> streams = np.array([[[[1.0, 2.0]]]])
    >>> connect({}, "residual", streams, lambda hidden: 10 * hidden)
    array([[[[11., 22.]]]])
    """
    hidden, streams, H_post, H_res = observe(params, scheme, streams)
    update = branch(hidden)
    batch, length, _, width = streams.shape
    if update.shape != (batch, length, width):
        raise ValueError(f"connect: want the branch to return {(batch, length, width)}, got {update.shape}")
    if H_post is None:  # the plain network: add to every stream
        return streams + anp.reshape(update, (batch, length, 1, width))
    if H_res is None:
        return write(streams, H_post, update)
    return mix_and_write(H_res, streams, H_post, update)


def connect_ref(params, scheme, streams, branch):
    """Do the same from definitions alone: read this first, or differentiate it twice."""
    H_pre, H_post, H_res = coefficients_ref(params, scheme, streams)
    hidden = reduce_ref(streams) if H_pre is None else read_ref(H_pre, streams)
    update = branch(hidden)
    mixed = streams if H_res is None else mix_ref(H_res, streams)
    return mixed + update[:, :, None, :] if H_post is None else write_ref(mixed, H_post, update)
