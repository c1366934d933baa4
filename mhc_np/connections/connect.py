"""One connection around one branch: read the streams, compute, write back.

Chapter: chapters/10_identity_path.md      Tests: tests/test_connections.py
Symbols: x_l -> streams (B, T, n, D), F -> branch (B, T, D) -> (B, T, D)
"""

import autograd.numpy as anp

from mhc_np.connections.streams import reduce

SCHEMES = {"residual": "add the branch to every stream"}


def init(scheme, n, D, rng, *, sublayer=0):
    """Return the starting parameters of one connection, a dict; the residual connection has none."""
    _lookup("init", scheme)
    return {}


def connect(params, scheme, streams, branch):
    """Return the streams after one sub-layer (B, T, n, D)."""
    _lookup("connect", scheme)
    batch, length, n, width = streams.shape
    update = branch(reduce(streams))
    return streams + anp.reshape(update, (batch, length, 1, width))


def _lookup(who, scheme):
    if scheme not in SCHEMES:
        raise ValueError(f"{who}: want a scheme among {sorted(SCHEMES)}, got {scheme!r}")
    return SCHEMES[scheme]
