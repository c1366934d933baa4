"""Assignment 3, the advantage law (chapter 7). Check: python -m pytest book/assignments/3_advantage.

One attention head: weights[i, j] = softmax over j of scores[i, j], out[i] = sum_j weights[i, j] values[j]. The loss
sends back d_out[i] = dL/d out[i]. Write, in plain NumPy, what the scores and the values hear.
"""

import numpy as np  # noqa: F401


def alignments(d_out, values):
    """Return b[i, j] = d_out[i] . values[j], shape (T, T), from d_out and values of shape (T, K)."""
    raise NotImplementedError("alignments: how does value j lie to what the loss does not want at i?")


def score_gradient(weights, b):
    """Return dL/d scores, shape (T, T)."""
    raise NotImplementedError("score_gradient: a source against the average source of its row")


def value_gradient(weights, d_out):
    """Return dL/d values, shape (T, K)."""
    raise NotImplementedError("value_gradient: value j hears every query i that uses it")


def predicted_fall(d_values, rate):
    """Return by how much the loss falls, to first order, when the values take one step of gradient descent."""
    raise NotImplementedError("predicted_fall: the step is -rate * d_values; what is its product with the gradient?")
