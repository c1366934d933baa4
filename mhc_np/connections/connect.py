"""One connection around one branch: read the streams, compute, mix the streams, write back.

Chapter: chapters/10_identity_path.md      Tests: tests/test_connections.py
Symbols: x_l -> streams (B, T, n, D), F -> branch (B, T, D) -> (B, T, D), H_pre, H_post, H_res -> Coefficients

    hidden  = H_pre streams                     read
    streams = H_res streams + H_post F(hidden)  mix, write
"""

import autograd.numpy as anp
import numpy as np

from mhc_np.connections.coefficients import MAPS, coefficients_ref, observe
from mhc_np.connections.mix_and_write import mix_and_write
from mhc_np.connections.mixing import mix_ref, read_ref, write, write_ref
from mhc_np.connections.schemes import lookup
from mhc_np.connections.streams import reduce_ref

ALPHA = 0.01


def init(scheme, n, D, rng, *, sublayer=0):
    """Return the starting parameters of one connection.

    Parameters
    ----------
    scheme : str
        A key of `SCHEMES`.
    n, D : int
        Number of streams and their width.
    rng : np.random.Generator
        Not drawn from: every scheme starts at fixed values, so all arms of a comparison share the branches' draws.
    sublayer : int
        Place in the stack, attention and feed-forward counted apart; stream ``sublayer mod n`` is the one it reads.

    Returns
    -------
    dict of float64 arrays
        For each learned map ``b_pre``, ``b_post``, ``b_res``; with features also ``W_…``, zero at the start, and
        ``alpha``, one .01 a map. Empty for the residual connection.

    Raises
    ------
    ValueError
        If the scheme is unknown, or has no place for n streams.

    Notes
    -----
    The mHC paper does not print its initial b and φ. These are ours: φ = 0, logits 8I - 8 (almost the identity, with a
    gradient), and reads that differ between sub-layers, without which the streams would stay copies for ever.

    Examples
    --------
    >>> params = init("mhc", 2, 3, np.random.default_rng(0))
    >>> {name: leaf.shape for name, leaf in params.items()}
    {'W_pre': (6, 2), 'b_pre': (2,), 'W_post': (6, 2), 'b_post': (2,), 'W_res': (6, 4), 'b_res': (2, 2), 'alpha': (3,)}
    """
    rule = lookup("init", scheme, n)
    params = {}
    for name in MAPS:
        chosen = getattr(rule, name)
        start = None if chosen is None else chosen.start(n, sublayer)
        if start is None:
            continue
        if rule.features == "flat":
            params[f"W_{name}"] = np.zeros((n * D, start.size))
        elif rule.features == "streams":
            params[f"W_{name}"] = np.zeros((D, start.size // n))
        params[f"b_{name}"] = np.array(start, np.float64)
    if params and rule.features:
        params["alpha"] = np.full(sum(name.startswith("b_") for name in params), ALPHA)
    return params


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
        If the scheme is unknown, or the streams do not have its shape.

    Examples
    --------
    >>> streams = np.array([[[[1.0, 2.0]]]])
    >>> connect({}, "residual", streams, lambda hidden: 10 * hidden)
    array([[[[11., 22.]]]])
    """
    hidden, streams, H_post, H_res = observe(params, scheme, streams)
    update = branch(hidden)
    if H_post is None:  # the plain network: add to every stream
        batch, length, _, width = streams.shape
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
