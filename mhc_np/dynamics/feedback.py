"""The feedback loop: weights choose which errors a value sees, and the moved value changes the weights.

Chapter: chapters/07_advantage.md      Tests: tests/test_feedback.py
Symbols: α_ij -> weights (..., T, S), u_i -> d_out (..., T, K), v_j -> values (..., S, K), s_ij -> scores (..., T, S),
δb_ij -> alignment_change (..., T, S), Cov over j of (α_ij, −δb_ij) under α_i -> reinforcement (..., T)

After one step of the values, v_j moves by −η Σ_r α_rj u_r, and the alignment by δb = −η U Uᵀ A while u stands still.
The query's own share of that, −η|u_i|² α_ij, falls most where α_ij is largest: what a query already uses becomes more
useful to it. Other queries add (u_i·u_r) α_rj: help from those with a like error, harm from those with an opposite one.
"""

from typing import NamedTuple

import numpy as np

from mhc_np.dynamics import advantage as law
from mhc_np.dynamics.head import masked_softmax


class Loop(NamedTuple):
    """The course of the loop; the first axis is the step, and starts before the first one."""

    weights: np.ndarray  # (num_steps + 1, T, S)
    values: np.ndarray  # (num_steps + 1, S, K)
    loss: np.ndarray  # (num_steps + 1,)


def alignment_change(weights, d_out, rate):
    """First-order change of b_ij by one gradient step of the values, −η Σ_r (u_i·u_r) α_rj (eq:feedback).

    Examples
    --------
    A query that gives 0.75 and 0.25 of its weight to two sources moves both values against its error, the first more.

    >>> alignment_change(np.array([[0.75, 0.25]]), np.array([[2.0]]), rate=0.1)
    array([[-0.3, -0.1]])
    """
    return -rate * (d_out @ law.transpose(d_out)) @ weights


def weights_change(weights, score_change):
    """First-order change of the weights, α_ij(δs_ij − E_i[δs]): who gains is who is raised above the row's mean.

    >>> weights_change(np.array([[0.5, 0.5]]), np.array([[0.25, -0.25]]))
    array([[ 0.125, -0.125]])
    """
    return weights * (score_change - law.row_mean(weights, score_change))


def reinforcement(weights, alignment_change):
    """Covariance, under the weights of each row, of the weight itself and of the gain in advantage −δb.

    Parameters
    ----------
    weights : (..., T, S) floats
    alignment_change : (..., T, S) floats
        δb_ij: from `alignment_change`, or ``alignment(d_out, δvalues)`` for a real step.

    Returns
    -------
    (..., T) floats
        Positive: the step makes the sources that the row uses most more advantageous to it, and the loop feeds itself.
        Negative: it makes them less so. For a row alone it is ``η|u_i|²`` times the variance of the weights under
        themselves, and cannot be negative.

    Examples
    --------
    The mean weight is .75² + .25² = .625, and .75·.125·.3 + .25·(−.375)·.1 = .01875.

    >>> reinforcement(np.array([[0.75, 0.25]]), np.array([[-0.3, -0.1]])).round(5)
    array([0.01875])
    """
    centred = weights - law.row_mean(weights, weights)
    return -(weights * centred * alignment_change).sum(axis=-1)


def run_loop(scores, values, loss_and_d_out, *, score_rate, value_rate, num_steps):
    """Let free scores and free values descend together: attention with no weight matrices in between.

    Parameters
    ----------
    scores : (T, S) floats
        -inf where query i must not see source j.
    values : (S, K) floats
    loss_and_d_out : callable
        ``out (T, K) -> (loss, d_out (T, K))``.
    score_rate, value_rate : float
        Their two learning rates; zero freezes one side of the loop.
    num_steps : int

    Returns
    -------
    Loop

    Examples
    --------
    Scores alone, squared error to the target 1, values 0 and 2: no tug, as the average is right already.

    >>> square = lambda out: (0.5 * ((out - 1) ** 2).sum(), out - 1)
    >>> start = np.zeros((1, 2)), np.array([[0.0], [2.0]])
    >>> run_loop(*start, square, score_rate=1.0, value_rate=0.0, num_steps=3).weights[-1]
    array([[0.5, 0.5]])
    """
    course = []
    for step in range(num_steps + 1):
        weights = masked_softmax(scores)
        loss, d_out = loss_and_d_out(weights @ values)
        course.append((weights, values, loss))
        if step < num_steps:
            d_scores = law.score_gradient(weights, law.alignment(d_out, values))
            scores = scores - score_rate * d_scores
            values = values - value_rate * law.value_gradient(weights, d_out)
    return Loop(*(np.array(part) for part in zip(*course, strict=True)))
