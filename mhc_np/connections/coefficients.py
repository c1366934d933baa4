"""From streams to coefficients: normalise, map, add the bias, confine.

Chapter: chapters/13_mhc.md      Tests: tests/test_connections.py
Symbols: φ -> W_pre, W_post, W_res; b -> b_pre, b_post, b_res; α -> alpha; H -> H_pre (B, T, n), H_post, H_res

Three functions of the same formulas: `coefficients` to look at a network, `coefficients_ref` from definitions alone,
and `observe`, which `connect` trains with: it reads while it looks.
"""

from typing import NamedTuple

import autograd.numpy as anp
import numpy as np

from mhc_np.connections.columns import columns, columns_ref
from mhc_np.connections.gated_read import gated_read
from mhc_np.connections.mixing import read
from mhc_np.connections.parameters import MAPS, rule_for
from mhc_np.connections.streams import reduce
from mhc_np.ops import normed_linear, normed_linear_ref


class Coefficients(NamedTuple):
    """What a connection does to each token; None is the plain network's choice (see `mhc_np.connections.schemes`)."""

    H_pre: object  # (B, T, n) or None: read the mean
    H_post: object  # (B, T, n) or None: write to every stream
    H_res: object  # (B, T, n, n) or None: keep each stream


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
        If the scheme is unknown, or streams or parameters do not have its shapes.
    """
    rule = rule_for(params, scheme, streams)
    return Coefficients(**_confined(params, rule, _raw(params, rule, streams, normed_linear), columns, "constrain"))


def coefficients_ref(params, scheme, streams):
    """Return the same from definitions alone, differentiable to any order."""
    rule = rule_for(params, scheme, streams)
    raw = _raw(params, rule, streams, normed_linear_ref)
    return Coefficients(**_confined(params, rule, raw, columns_ref, "definition"))


def observe(params, scheme, streams):
    """Return (hidden, streams, H_post, H_res): what the branch is to see, and what to do after it, to which streams."""
    rule = rule_for(params, scheme, streams)
    if rule.features == "flat" and "b_pre" in params:
        hidden, raw, streams = gated_read(streams, *_weight_and_bias(params))
        found = _confined(params, rule, raw, columns, "constrain", maps=MAPS[1:])
        return hidden, streams, found["H_post"], found["H_res"]
    found = coefficients(params, scheme, streams)
    hidden = reduce(streams) if found.H_pre is None else read(found.H_pre, streams)
    return hidden, streams, found.H_post, found.H_res


def _learned(params, maps=MAPS):
    return [name for name in maps if f"b_{name}" in params]


def _weight_and_bias(params):
    """Stack the learned maps of a scheme that looks at all streams, α multiplied in: one product serves them all."""
    return _weight(params) * _alpha(params), _bias(params)


def _weight(params):
    return anp.concatenate([params[f"W_{name}"] for name in _learned(params)], axis=1)


def _alpha(params):
    """Return the α of each raw coefficient, (M,)."""
    sizes = [params[f"b_{name}"].size for name in _learned(params)]
    return params["alpha"][np.repeat(np.arange(len(sizes)), sizes)]


def _bias(params):
    return anp.concatenate([anp.ravel(params[f"b_{name}"]) for name in _learned(params)])


def _raw(params, rule, streams, normed):
    """Return the raw coefficients of all learned maps side by side, (B, T, M), or None if nothing is learned."""
    batch, length, n, width = streams.shape
    if not _learned(params):
        return None
    if rule.features is None:
        return np.ones((batch, length, 1), _dtype(streams)) * _bias(params)
    if rule.features == "flat":  # α (x' φ) + b, x' the normalised vector of all streams (mHC, Eq. 7)
        return normed(anp.reshape(streams, (batch, length, n * width)), *_weight_and_bias(params))
    # α tanh(θ x̃_j) + b for each stream j; for H_res, θ_i and stream j make entry (i, j) (HC, Eq. 5)
    bounded = anp.swapaxes(anp.tanh(normed(streams, _weight(params))), 2, 3)
    bias = _bias(params)
    return anp.reshape(bounded, (batch, length, bias.size)) * _alpha(params) + bias


def _confined(params, rule, raw, cut, kind, maps=MAPS):
    """Cut the raw coefficients into their maps and confine each; a map without parameters is None."""
    found, start = dict.fromkeys((f"H_{name}" for name in maps), None), 0
    for name in _learned(params, maps):
        shape = params[f"b_{name}"].shape
        size = int(np.prod(shape))
        piece = anp.reshape(cut(raw, start=start, stop=start + size), (*raw.shape[:2], *shape))
        found[f"H_{name}"] = getattr(getattr(rule, name), kind)(piece)
        start += size
    return found


def _dtype(array):
    return getattr(array, "_value", array).dtype  # a traced array keeps its values in a box
