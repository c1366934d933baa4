"""The parameters of a connection: where they start, and whether those given are those of the scheme.

Chapter: chapters/13_mhc.md      Tests: tests/test_connections.py
Symbols: φ -> W_pre, W_post, W_res; b -> b_pre, b_post, b_res; α -> alpha (one a learned map)
"""

from functools import lru_cache

import numpy as np

from mhc_np.connections.schemes import lookup
from mhc_np.ops.checks import require_floats

ALPHA = 0.01
MAPS = ("pre", "post", "res")
NAMES = ("alpha", *(f"{kind}_{name}" for kind in "Wb" for name in MAPS))


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


def rule_for(params, scheme, streams):
    """Return the scheme, once it is sure that streams and parameters are its own.

    Without this, parameters that are lost on the way would pass for a network that learns no maps: the plain one.

    Raises
    ------
    ValueError
        If the scheme is unknown, or has no place for so many streams, or the shapes do not fit.

    Examples
    --------
    >>> rule_for({"b_post": np.ones(1)}, "scaled", np.zeros((1, 1, 1, 5)))
    Traceback (most recent call last):
    ValueError: connect: 'scaled' wants b_res (1, 1), got None; see init
    """
    require_floats("connect", streams=streams)
    if streams.ndim != 4:
        raise ValueError(f"connect: want streams (B, T, n, D), got {streams.shape}; use expand")
    rule, want = lookup("connect", scheme, streams.shape[2]), _shapes(scheme, *streams.shape[2:])
    got = {name: params[name].shape for name in NAMES if name in params}
    if got != want:
        wrong = [name for name in NAMES if got.get(name) != want.get(name)]
        said = "; ".join(f"{name} {want.get(name)}, got {got.get(name)}" for name in wrong)
        raise ValueError(f"connect: {scheme!r} wants {said}; see init")
    return rule


@lru_cache
def _shapes(scheme, n, D):
    return {name: leaf.shape for name, leaf in init(scheme, n, D, rng=None).items()}
