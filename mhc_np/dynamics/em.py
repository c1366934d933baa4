"""E-step and M-step for an attention head: responsibilities, and values that minimise a bound exactly.

Chapter: chapters/08_em.md      Tests: tests/test_em.py
Symbols: α_ij -> weights (..., T, S), price of label y_i under source j -> cost (..., T, S) in nats,
r_ij = α_ij e^(−c_ij) / Σ_k α_ik e^(−c_ik) -> responsibility (..., T, S), C = A x -> attended (N, D),
W in logits = C W R -> d_weight (D, K), R -> readout (K, V), ridge λ -> ridge

The *E-step* asks which source explains the label, with the frame (the scores) held fixed. The *M-step* then chooses the
values, with the responsibilities held fixed. For the cross-entropy of a softmax the best values have no closed form.
Those of Böhning's quadratic bound have: `bound_step` minimises it exactly, and the loss cannot rise.
"""

from typing import NamedTuple

import numpy as np

from mhc_np.dynamics import advantage as law
from mhc_np.ops.attention import merge_heads


class Step(NamedTuple):
    """A change of a weight, and how far it lowers the loss at the least."""

    change: np.ndarray
    promised_nats: float  # loss(after) <= loss(before) − promised_nats, and promised_nats >= 0


def responsibility(weights, cost):
    """Return the posterior over sources: prior weight times likelihood e^(−cost), divided by the row's sum.

    Parameters
    ----------
    weights : (..., T, S) floats
        Rows sum to one: the prior over sources that the frame gives.
    cost : (..., T, S) floats
        In nats. `source_costs` for each source's own price of the label; the alignment b_ij of a *per-query* loss for
        its first-order version.

    Returns
    -------
    (..., T, S) floats
        Rows sum to one, or to zero where no source could have given the label. For small costs r − α is −α(b − E[b]),
        the advantage law: a gradient step on the scores is the first-order E-step.

    Examples
    --------
    Two sources, equally likely before the label, that had given it probability 0.9 and 0.3.

    >>> responsibility(np.array([[0.5, 0.5]]), -np.log([[0.9, 0.3]])).round(3)
    array([[0.75, 0.25]])
    """
    cost = np.where(weights > 0, cost, np.inf)
    least = cost.min(axis=-1, keepdims=True)
    joint = weights * np.exp(np.where(np.isfinite(least), least, 0) - cost)
    total = joint.sum(axis=-1, keepdims=True)
    return joint / np.where(total == 0, 1, total)


def source_costs(values, readout, targets):
    """Price, in nats, of each query's label if source j alone were read out.

    Parameters
    ----------
    values : (B, T, K) floats
        Of one head.
    readout : (K, V) floats
    targets : (B, T) ints

    Returns
    -------
    (B, T, T) floats
        ``[b, i, j] = −log softmax(v_j W_o)[y_i]``.
    """
    logits = values @ readout
    logits = logits - logits.max(axis=-1, keepdims=True)
    log_probs = logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))
    rows = np.broadcast_to(targets[:, :, None], (*targets.shape, 1))
    return -np.take_along_axis(law.transpose(log_probs), rows, axis=1)


def bound_step(d_weight, attended, readout, ridge=0.0):
    """Minimise the quadratic bound of the mean cross-entropy over one weight W in ``logits = attended @ W @ readout``.

    Parameters
    ----------
    d_weight : (D, K) floats
        The gradient of the mean loss in W, at the point from which the step is taken.
    attended : (N, D) floats
        What W multiplies, at the labelled positions only.
    readout : (K, V) floats
        What follows W; the identity if W is the last.
    ridge : float
        λ >= 0 adds ½λ|ΔW|² to the bound: it shortens the step and leaves the fixed points where they are. With 0, the
        directions that the bound does not feel are left alone.

    Returns
    -------
    Step

    Notes
    -----
    *Why the loss cannot rise.* The Hessian of log Σ exp z is diag(p) − ppᵀ, and for every p it is at most
    ½(I − 11ᵀ/V) (Böhning 1992). Put this constant matrix in place of the Hessian in Taylor's formula: the result lies
    above the loss everywhere and touches it at ΔW = 0. So loss(after) <= bound(after) <= bound(before) = loss(before).

    *Why it is exact.* With M = R(I − 11ᵀ/V)Rᵀ and G = CᵀC / 2N the bound's minimiser solves G ΔW M + λΔW = −dL/dW, a
    system that the eigenvectors of G and M make diagonal (eq:bound-step). The promise is half of ⟨−dL/dW, ΔW⟩.

    References
    ----------
    Böhning (1992), Multinomial logistic regression algorithm.

    Examples
    --------
    One label 0 of two, W = 0: the gradient is (−½, ½), the bound's curvature ½ along it, so the step is its double.

    >>> bound_step(np.array([[-0.5, 0.5]]), np.array([[1.0]]), np.eye(2)).change
    array([[ 1., -1.]])
    """
    if ridge < 0:
        raise ValueError(f"bound_step: want ridge >= 0, got {ridge}")
    if attended.ndim != 2 or d_weight.shape != (attended.shape[1], readout.shape[0]):
        raise ValueError(
            "bound_step: want d_weight (D, K), attended (N, D) and readout (K, V), "
            f"got {d_weight.shape}, {attended.shape} and {readout.shape}"
        )
    centred = readout - readout.mean(axis=1, keepdims=True)
    rows, row_vectors = np.linalg.eigh(attended.T @ attended / (2 * len(attended)))
    columns, column_vectors = np.linalg.eigh(centred @ centred.T)
    curvature = np.maximum(rows, 0)[:, None] * np.maximum(columns, 0) + ridge
    felt = curvature > np.finfo(float).eps * max(d_weight.shape) * curvature.max(initial=0)
    slope = row_vectors.T @ d_weight @ column_vectors
    step = np.where(felt, -slope / np.where(felt, curvature, 1), 0)
    change = row_vectors @ step @ column_vectors.T
    return Step(change, float(-0.5 * (slope * step).sum()))


def value_step(params, inputs, head, gradients, *, mask, ridge, which_head=0):
    """Return the exact M-step of the bound for the columns of W_v that belong to one head, with the frame held fixed.

    With several heads take one at a time, and the gradients afresh in between: the bound is per head.
    """
    width = head.values.shape[-1]
    block = slice(which_head * width, (which_head + 1) * width)
    attended = (head.weights[:, which_head] @ inputs)[mask]
    return bound_step(gradients.params["W_v"][:, block], attended, params["W_o"][block], ridge)


def readout_step(head, gradients, *, mask, ridge):
    """Return the exact M-step of the bound for W_o, with weights and values held fixed."""
    num_outputs = head.logits.shape[-1]
    return bound_step(gradients.params["W_o"], merge_heads(head.out)[mask], np.eye(num_outputs), ridge)


def cosine(a, b):
    """Cosine of the angle between two arrays, taken as long vectors; NaN when one of them is zero.

    >>> float(cosine(np.array([1.0, 0.0]), np.array([1.0, 1.0])).round(3))
    0.707
    """
    size = np.sqrt((a * a).sum() * (b * b).sum())
    return (a * b).sum() / size if size > 0 else np.nan
