"""Causal multi-head attention: every position averages the values of the positions up to its own.

Chapter: chapters/02_transformer.md      Tests: tests/test_attention.py
Symbols: q, k, v -> queries, keys, values (B, T, D), D = H·K; s_ij -> scores (B, H, T, T); α_ij -> weights;
u_i -> d_out, by head (B, H, T, K); b_ij = u_i·v_j -> alignment (B, H, T, T); β -> bias (H, T, T)
"""

from math import sqrt

import autograd.numpy as anp
import numpy as np
from autograd.tracer import getval

from mhc_np.autodiff import define_vjp

SAFE_SCORE = 60.0  # exp(±60) is far inside float32's range, and stays so when summed over a row


def split_heads(x, num_heads):
    """Turn (B, T, D) into (B, H, T, K): head h owns the columns h·K to (h + 1)·K."""
    batch, length, width = x.shape
    return anp.swapaxes(anp.reshape(x, (batch, length, num_heads, width // num_heads)), 1, 2)


def merge_heads(x):
    """Turn (B, H, T, K) back into (B, T, D): the inverse of `split_heads`."""
    batch, num_heads, length, head_width = x.shape
    return anp.reshape(anp.swapaxes(x, 1, 2), (batch, length, num_heads * head_width))


def attention_weights(queries, keys, bias=None, *, num_heads):
    """Return the weights α_ij alone.

    Parameters
    ----------
    queries, keys : (B, T, D) floats
    bias : (H, T, T) floats, optional
    num_heads : int
        All as `attention` takes them.

    Returns
    -------
    (B, H, T, T) floats
        Rows sum to one, and ``weights[..., i, j]`` is zero for j > i.

    Raises
    ------
    ValueError
        As `attention`.

    Examples
    --------
    Equal scores give equal weights to all positions so far.

    >>> attention_weights(np.zeros((1, 2, 1)), np.zeros((1, 2, 1)), num_heads=1)[0, 0]
    array([[1. , 0. ],
           [0.5, 0.5]])
    """
    _require_fit("attention_weights", num_heads, bias, queries=queries, keys=keys)
    q, k = split_heads(queries, num_heads), split_heads(keys, num_heads)
    scores = anp.matmul(q, anp.swapaxes(k, 2, 3)) / anp.sqrt(q.shape[-1])
    if bias is not None:
        scores = scores + bias
    length = scores.shape[-1]
    scores = scores + np.triu(np.full((length, length), -np.inf), 1)
    exps = anp.exp(scores - anp.max(scores, axis=-1, keepdims=True))
    return exps / anp.sum(exps, axis=-1, keepdims=True)


def attention_ref(queries, keys, values, bias=None, *, num_heads):
    """Average the values with the softmax of the scores: the definition."""
    weights = attention_weights(queries, keys, bias, num_heads=num_heads)
    return merge_heads(anp.matmul(weights, split_heads(values, num_heads)))


def attention(queries, keys, values, bias=None, *, num_heads):
    """Attend from every position i to the positions j <= i.

    Parameters
    ----------
    queries, keys, values : (B, T, D) floats
        Head h owns the columns h·K to (h + 1)·K, where K = D / H.
    bias : (H, T, T) floats, optional
        Added to the scores q·k / sqrt(K); ``bias[h, i, j]`` is for position i attending to j. What stands above the
        diagonal has no effect. -inf hides j from i; on the diagonal it is refused.
    num_heads : int
        H, a divisor of D.

    Returns
    -------
    (B, T, D) floats
        For the weights themselves see `attention_weights`.

    Raises
    ------
    ValueError
        If the shapes do not fit, ``num_heads`` is below 1, or the bias hides a position from itself.

    Notes
    -----
    No row is ever fully masked: position i always sees itself, whatever the bias hides. Scores of ±1e4 are safe, since
    each row's maximum is subtracted before the exponential.

    References
    ----------
    Vaswani et al. (2017), Attention is all you need.

    Examples
    --------
    With equal scores position i returns the mean of the values up to i.

    >>> zeros, values = np.zeros((1, 3, 1)), np.array([[[3.0], [5.0], [10.0]]])
    >>> attention(zeros, zeros, values, num_heads=1)[0, :, 0]
    array([3., 4., 6.])
    """
    _require_fit("attention", num_heads, bias, queries=queries, keys=keys, values=values)
    if bias is None:
        return _attention(queries, keys, values, num_heads=num_heads)
    return _attention(queries, keys, values, bias, num_heads=num_heads)


def _require_fit(who, num_heads, bias, **arrays):
    """Refuse arrays (B, T, D) and a bias (H, T, T) that do not belong together."""
    shapes = [np.shape(getval(array)) for array in arrays.values()]
    if len(shapes[0]) != 3 or len(set(shapes)) > 1:
        got = ", ".join(map(str, shapes))
        raise ValueError(f"{who}: want {', '.join(arrays)} of one shape (B, T, D), got {got}")
    _, length, width = shapes[0]
    if num_heads < 1:
        raise ValueError(f"{who}: want num_heads above 0, got {num_heads}")
    if width % num_heads:
        raise ValueError(f"{who}: want a width that {num_heads} heads divide, got {width}")
    if bias is None:
        return
    if bias.shape != (num_heads, length, length):
        raise ValueError(f"{who}: want bias (H, T, T) = {(num_heads, length, length)}, got {bias.shape}")
    own = np.diagonal(getval(bias), axis1=1, axis2=2)
    if (own == -np.inf).any():
        head, position = np.argwhere(own == -np.inf)[0]
        raise ValueError(
            f"{who}: want a bias that lets each position see itself, "
            f"got -inf on the diagonal at head {head}, position {position}; give it a finite bias there"
        )


def attention_fwd(queries, keys, values, bias=None, *, num_heads):
    """Return (out, cache). Heads are views: the products read and write them where they stand."""
    scaled = queries * (1 / sqrt(queries.shape[-1] // num_heads))
    q, k, v = (split_heads(x, num_heads) for x in (scaled, keys, values))
    weights = q @ np.swapaxes(k, 2, 3)
    if bias is not None:
        weights += bias
    causal_softmax(weights)
    out = np.empty_like(queries)
    heads = np.matmul(weights, v, out=split_heads(out, num_heads))
    return out, (q, k, v, weights, heads, bias is not None)


def causal_softmax(scores):
    """Turn scores (..., T, T) into weights, in place.

    Row maxima cost as much as all the rest. The shift leaves a softmax as it is, so only scores that the exponential
    cannot take (far beyond any that training makes) get it.
    """
    length = scores.shape[-1]
    safe = -SAFE_SCORE < scores.min(initial=0) and scores.max(initial=0) < SAFE_SCORE
    scores += np.triu(np.full((length, length), -np.inf, scores.dtype), 1)
    if not safe:
        scores -= scores.max(axis=-1, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores @ np.ones((length, 1), scores.dtype)  # row sums by a product: faster than .sum(-1)


def attention_bwd(d_out, cache):
    """Each score moves by its weight times its alignment's excess over the row's mean (eq:attention-vjp)."""
    q, k, v, weights, heads, has_bias = cache
    u = split_heads(d_out, q.shape[1])
    d_scores = u @ np.swapaxes(v, 2, 3)  # the alignment b_ij = u_i·v_j
    d_scores -= np.einsum("bhtk,bhtk->bht", u, heads)[..., None]  # its mean, sum_j α_ij b_ij = u_i·out_i
    d_scores *= weights
    gradients = tuple(np.empty_like(d_out) for _ in range(3))
    d_q, d_k, d_v = (split_heads(x, q.shape[1]) for x in gradients)
    np.matmul(d_scores, k, out=d_q)
    d_q *= 1 / sqrt(q.shape[-1])
    np.matmul(np.swapaxes(d_scores, 2, 3), q, out=d_k)  # the cached queries carry the scale already
    np.matmul(np.swapaxes(weights, 2, 3), u, out=d_v)
    return (*gradients, d_scores.sum(axis=0)) if has_bias else gradients


_attention = define_vjp(attention_fwd, attention_bwd, reference="attention_ref")
