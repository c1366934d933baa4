"""One attention layer with a linear read-out and cross-entropy: every gradient in closed form.

Chapter: chapters/07_advantage.md      Tests: tests/test_head.py
Symbols: W_Q, W_K -> W_q, W_k (D, H·K), W_V -> W_v (D, H·K_v), W_O -> W_o (H·K_v, V), x -> inputs (B, T, D),
s_ij -> scores (B, H, T, T), α_ij -> weights (B, H, T, T), g_i -> out (B, H, T, K_v), z_i -> logits (B, T, V),
u_i = dL/dg_i -> d_out, b_ij -> alignment, dL/ds_ij -> d_scores

The model of chapters 7 and 8, on purpose without anything else: no residual stream, no norm, no position. Then every
gradient is a product of a few matrices. No tape is used; autograd checks the formulas in the tests.
"""

from typing import NamedTuple

import autograd.numpy as anp
import numpy as np

from mhc_np.dynamics import advantage as law
from mhc_np.ops.attention import merge_heads, split_heads
from mhc_np.ops.loss import cross_entropy_bwd, cross_entropy_fwd

PARAMETERS = ("W_q", "W_k", "W_v", "W_o")


class Head(NamedTuple):
    """What the forward pass computes, from inputs to logits; a forbidden score is -inf and has weight 0."""

    queries: np.ndarray  # (B, H, T, K)
    keys: np.ndarray  # (B, H, T, K)
    values: np.ndarray  # (B, H, T, K_v)
    scores: np.ndarray  # (B, H, T, T)
    weights: np.ndarray  # (B, H, T, T)
    out: np.ndarray  # (B, H, T, K_v)
    logits: np.ndarray  # (B, T, V)


class Gradients(NamedTuple):
    """The gradient of the loss in everything that `Head` holds, in the inputs and in the parameters."""

    d_out: np.ndarray  # (B, H, T, K_v)
    alignment: np.ndarray  # (B, H, T, T)
    d_scores: np.ndarray  # (B, H, T, T)
    d_values: np.ndarray  # (B, H, T, K_v)
    d_queries: np.ndarray  # (B, H, T, K)
    d_keys: np.ndarray  # (B, H, T, K)
    d_inputs: np.ndarray  # (B, T, D)
    params: dict


def init(rng, *, num_inputs, num_outputs, key_width, value_width, num_heads=1, scale=0.1):
    """Draw parameters from a normal distribution of standard deviation ``scale``; widths are those of one head."""
    shapes = {
        "W_q": (num_inputs, num_heads * key_width),
        "W_k": (num_inputs, num_heads * key_width),
        "W_v": (num_inputs, num_heads * value_width),
        "W_o": (num_heads * value_width, num_outputs),
    }
    return {name: scale * rng.standard_normal(shape) for name, shape in shapes.items()}


def head_ref(params, inputs, *, num_heads=1, allowed=None):
    """Average values by softmax, read them out: the definition, for autograd; returns the logits."""
    queries, keys, values = (split_heads(anp.matmul(inputs, params[w]), num_heads) for w in PARAMETERS[:3])
    scores = anp.matmul(queries, anp.swapaxes(keys, 2, 3)) / np.sqrt(queries.shape[-1])
    allowed = causal(inputs.shape[1]) if allowed is None else allowed
    top = anp.max(anp.where(allowed, scores, -np.inf), axis=-1, keepdims=True)
    shifted = scores - anp.where(allowed.any(axis=-1, keepdims=True), top, 0.0)
    exps = anp.where(allowed, anp.exp(anp.where(allowed, shifted, 0.0)), 0.0)
    total = anp.sum(exps, axis=-1, keepdims=True)
    weights = exps / anp.where(total == 0.0, 1.0, total)
    return anp.matmul(merge_heads(anp.matmul(weights, values)), params["W_o"])


def causal(length):
    """Return the mask (T, T) that lets position i see the positions j <= i."""
    return np.tri(length, dtype=bool)


def masked_softmax(scores):
    """Softmax over the last axis; a row that allows nothing (-inf throughout) has weights 0, not NaN."""
    top = scores.max(axis=-1, keepdims=True)
    exps = np.exp(scores - np.where(np.isfinite(top), top, 0))
    total = exps.sum(axis=-1, keepdims=True)
    return exps / np.where(total == 0, 1, total)


def forward(params, inputs, *, num_heads=1, allowed=None):
    """Run the head.

    Parameters
    ----------
    params : dict
        ``W_q, W_k`` (D, H·K), ``W_v`` (D, H·K_v), ``W_o`` (H·K_v, V); head h owns the h-th block of columns.
    inputs : (B, T, D) floats
    num_heads : int
        H.
    allowed : (T, T) bools, optional
        ``allowed[i, j]``: may i attend to j? Default: j <= i. A row of False gets weights, output and gradients 0.

    Returns
    -------
    Head

    Raises
    ------
    ValueError
        If the shapes do not fit.

    Examples
    --------
    With W_q = 0 all scores are equal, and the output is the mean of the inputs so far.

    >>> one = np.ones((1, 1))
    >>> forward({"W_q": 0 * one, "W_k": one, "W_v": one, "W_o": one}, np.array([[[2.0], [4.0]]])).logits[0, :, 0]
    array([2., 3.])
    """
    _check(params, inputs, num_heads)
    queries, keys, values = (split_heads(inputs @ params[w], num_heads) for w in PARAMETERS[:3])
    scores = (queries * key_scale(queries)) @ law.transpose(keys)
    scores = np.where(causal(inputs.shape[1]) if allowed is None else allowed, scores, -np.inf)
    weights = masked_softmax(scores)
    out = weights @ values
    return Head(queries, keys, values, scores, weights, out, merge_heads(out) @ params["W_o"])


def _check(params, inputs, num_heads):
    """Say which shapes do not fit together."""
    (rows_q, q), (rows_k, k), (rows_v, v), (rows_o, _) = shapes = [params[w].shape for w in PARAMETERS]
    got = ", ".join(f"{w} {shape}" for w, shape in zip(PARAMETERS, shapes, strict=True))
    if inputs.ndim != 3 or {rows_q, rows_k, rows_v} != {inputs.shape[-1]}:
        raise ValueError(f"head: want inputs (B, T, D) and W_q, W_k, W_v with D rows, got inputs {inputs.shape}, {got}")
    if q != k or v != rows_o:
        raise ValueError(f"head: want W_q and W_k of one width, and a row of W_o a column of W_v, got {got}")
    if num_heads < 1 or q % num_heads or v % num_heads:
        raise ValueError(f"head: want widths that {num_heads} heads divide, got {got}")


def key_scale(queries):
    """Return 1 / sqrt(K) as a Python float, so that float32 stays float32."""
    return float(1 / np.sqrt(queries.shape[-1]))


def backward(params, inputs, head, d_logits):
    """Push a cotangent of the logits back to everything, by the laws of `mhc_np.dynamics.advantage`.

    Parameters
    ----------
    params, inputs : as for `forward`
    head : Head
    d_logits : (B, T, V) floats
        For cross-entropy: prediction minus target over the number of labels, and 0 where there is no label.

    Returns
    -------
    Gradients
    """
    num_heads, scale = head.queries.shape[1], key_scale(head.queries)
    d_out = split_heads(d_logits @ params["W_o"].T, num_heads)
    alignment = law.alignment(d_out, head.values)
    d_scores = law.score_gradient(head.weights, alignment)
    d_values = law.value_gradient(head.weights, d_out)
    d_queries = law.query_gradient(d_scores, head.keys, scale)
    d_keys = law.key_gradient(d_scores, head.queries, scale)
    merged = {"W_q": merge_heads(d_queries), "W_k": merge_heads(d_keys), "W_v": merge_heads(d_values)}
    d_inputs = sum(d @ params[w].T for w, d in merged.items())
    d_params = {w: _outer(inputs, d) for w, d in merged.items()}
    d_params["W_o"] = _outer(merge_heads(head.out), d_logits)
    return Gradients(d_out, alignment, d_scores, d_values, d_queries, d_keys, d_inputs, d_params)


def loss_and_gradients(params, inputs, *, targets, mask, num_heads=1, allowed=None):
    """Return (loss in nats, Head, Gradients) for cross-entropy averaged over the labelled positions."""
    head = forward(params, inputs, num_heads=num_heads, allowed=allowed)
    loss, cache = cross_entropy_fwd(head.logits, targets=targets, mask=mask)
    (d_logits,) = cross_entropy_bwd(1.0, cache)
    return loss, head, backward(params, inputs, head, d_logits)


def _outer(x, d):
    """Sum over batch and positions of x_iᵀ d_i, as one product of tall matrices (eq:weight-law)."""
    return x.reshape(-1, x.shape[-1]).T @ d.reshape(-1, d.shape[-1])
