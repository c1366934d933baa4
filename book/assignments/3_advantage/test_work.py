"""The checks of assignment 3: against automatic differentiation of the head."""

import autograd.numpy as anp
import numpy as np
from autograd import grad

from book.assignments.grading import want

RNG = np.random.default_rng(3)
SCORES, (VALUES, LABELS) = RNG.standard_normal((5, 5)), RNG.standard_normal((2, 5, 3))


def head_weights(scores):
    """Return the softmax of each row."""
    exps = anp.exp(scores)
    return exps / anp.sum(exps, axis=1, keepdims=True)


def loss(scores, values):
    """Return a loss that is not linear in the output."""
    return 0.5 * anp.sum((anp.dot(head_weights(scores), values) - LABELS) ** 2)


WEIGHTS = head_weights(SCORES)
D_OUT = WEIGHTS @ VALUES - LABELS


def test_the_alignments(work):
    b = work.alignments(D_OUT, VALUES)
    want(np.shape(b) == (5, 5), f"alignments: want shape (5, 5), got {np.shape(b)}")
    want(not np.allclose(b, (D_OUT @ VALUES.T).T), "alignments: transposed; row i belongs to the query")
    want(np.allclose(b, D_OUT @ VALUES.T, atol=1e-12), "alignments: want the inner product of d_out[i] and values[j]")


def test_the_scores_hear_an_advantage(work):
    found = work.score_gradient(WEIGHTS, D_OUT @ VALUES.T)
    right = grad(loss, 0)(SCORES, VALUES)
    total = np.abs(np.sum(found, axis=1)).max()
    words = f"rows of the score gradient must add up to zero (yours: up to {total:.2g}): a constant added to all scores"
    want(total < 1e-12, f"{words} changes nothing. Did you subtract the row's average?")
    want(not np.allclose(found, -right), "the sign is turned: this is where descent goes, not the gradient")
    far = np.abs(found - right).max()
    want(far < 1e-12, f"score_gradient: off by up to {far:.2g}; is the average weighted by the attention?")


def test_the_values_hear_their_users(work):
    found = work.value_gradient(WEIGHTS, D_OUT)
    right = grad(loss, 1)(SCORES, VALUES)
    want(not np.allclose(found, WEIGHTS @ D_OUT), "value_gradient: sum over the queries i, not over the sources j")
    far = np.abs(found - right).max()
    want(far < 1e-12, f"value_gradient: off by up to {far:.2g}")


def test_the_predicted_fall_is_the_fall(work):
    d_values, rate = grad(loss, 1)(SCORES, VALUES), 1e-6
    fall = loss(SCORES, VALUES) - loss(SCORES, VALUES - rate * d_values)
    found = work.predicted_fall(d_values, rate)
    want(found > 0, "predicted_fall: the loss falls, so the fall is positive")
    want(abs(found / fall - 1) < 1e-4, f"predicted_fall: {found / fall:.3g} times the fall of a tiny step")
