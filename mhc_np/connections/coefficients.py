"""From streams to coefficients: normalise, map, add the bias, confine.

Chapter: chapters/13_mhc.md      Tests: tests/test_connections.py
Symbols: φ -> W_pre, W_post, W_res; b -> b_pre, b_post, b_res; α -> alpha; H -> H_pre (B, T, n), H_post, H_res
"""

from typing import NamedTuple

import autograd.numpy as anp
import numpy as np

from mhc_np.autodiff import define_vjp
from mhc_np.connections.schemes import lookup
from mhc_np.ops import normed_linear, normed_linear_ref

MAPS = ("pre", "post", "res")


class Coefficients(NamedTuple):
    """What a connection does to each token; None is the plain network's choice (see `mhc_np.connections.schemes`)."""

    H_pre: object  # (B, T, n) or None: read the mean
    H_post: object  # (B, T, n) or None: write to every stream
    H_res: object  # (B, T, n, n) or None: keep each stream


def columns_ref(x, *, start, stop):
    """Slice the last axis: the definition."""
    return x[..., start:stop]


def columns_fwd(x, *, start, stop):
    """Return (slice, where it came from)."""
    return x[..., start:stop], (start, stop, x.shape)


def columns_bwd(d_out, cache):
    """Put the cotangent back among zeros (eq:columns-vjp)."""
    start, stop, shape = cache
    d_x = np.zeros(shape, d_out.dtype)
    d_x[..., start:stop] = d_out
    return (d_x,)


columns = define_vjp(columns_fwd, columns_bwd, reference="columns_ref")


def coefficients(params, scheme, streams):
    """Return H_pre, H_post and H_res of one connection.

    Parameters
    ----------
    params : dict of arrays
        As drawn by `mhc_np.connections.init`.
    scheme : str
        A key of `mhc_np.connections.SCHEMES`.
    streams : (B, T, n, D) floats

    Returns
    -------
    Coefficients

    Raises
    ------
    ValueError
        If the scheme is unknown, or the streams do not have its shape.
    """
    return _coefficients(params, scheme, streams, normed_linear, columns, "constrain")


def coefficients_ref(params, scheme, streams):
    """Return the same from definitions alone, differentiable to any order."""
    return _coefficients(params, scheme, streams, normed_linear_ref, columns_ref, "definition")


def _coefficients(params, scheme, streams, normed, cut, kind):
    """Run through features and maps with the given operations."""
    if streams.ndim != 4:
        raise ValueError(f"connect: want streams (B, T, n, D), got {streams.shape}; use expand")
    rule = lookup("connect", scheme, streams.shape[2])
    learned = [name for name in MAPS if f"b_{name}" in params]
    if not learned:
        return Coefficients(None, None, None)
    if rule.features is None:
        token = np.ones((*streams.shape[:2], 1), _dtype(streams))
        raw = {name: token * anp.reshape(params[f"b_{name}"], (1, 1, -1)) for name in learned}
    elif rule.features == "flat":
        raw = _from_all_streams(params, streams, learned, normed, cut)
    else:
        raw = _from_each_stream(params, streams, learned, normed)
    found = {}
    for name in learned:
        shape = (*streams.shape[:2], *params[f"b_{name}"].shape)
        found[f"H_{name}"] = getattr(getattr(rule, name), kind)(anp.reshape(raw[name], shape))
    return Coefficients(*(found.get(f"H_{name}") for name in MAPS))


def _from_all_streams(params, streams, learned, normed, cut):
    """Look at all n D numbers of a token: raw = α (x' φ) + b, one product for all maps (mHC, Eq. 7)."""
    batch, length, n, width = streams.shape
    weight = anp.concatenate([params["alpha"][i] * params[f"W_{name}"] for i, name in enumerate(learned)], axis=1)
    bias = anp.concatenate([anp.ravel(params[f"b_{name}"]) for name in learned])
    raw = normed(anp.reshape(streams, (batch, length, n * width)), weight, bias)
    ends = np.cumsum([params[f"W_{name}"].shape[1] for name in learned])
    return {
        name: cut(raw, start=int(end - params[f"W_{name}"].shape[1]), stop=int(end))
        for name, end in zip(learned, ends, strict=True)
    }


def _from_each_stream(params, streams, learned, normed):
    """Look at each stream alone: raw = α tanh(θ x̃_j) + b; for H_res, θ_i and stream j make entry (i, j) (HC, Eq. 5)."""
    batch, length, n, _ = streams.shape
    raw = {}
    for i, name in enumerate(learned):
        bounded = anp.tanh(normed(streams, params[f"W_{name}"]))  # (B, T, n, 1), for H_res (B, T, n, n) by [j, i]
        flat = anp.reshape(anp.swapaxes(bounded, 2, 3), (batch, length, -1))
        raw[name] = params["alpha"][i] * flat + anp.ravel(params[f"b_{name}"])
    return raw


def _dtype(array):
    return getattr(array, "_value", array).dtype  # a traced array keeps its values in a box
