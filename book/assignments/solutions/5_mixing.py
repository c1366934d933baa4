"""Assignment 5, a solution: a gate between the identity and a softmax."""

import autograd.numpy as np


def init(n):
    """One row for the gates, one for writing, then the logits of the other matrix; all zero but the gates."""
    return np.concatenate([np.full((1, n), -2.0), np.zeros((n + 1, n))])


def maps(raw, n):
    """Mix by (1 - g) I + g softmax(logits), a gate g for each row.

    Every matrix with non-negative rows that sum to one can be had, if g = 1 counts. Columns are not kept, so one
    stream may be forgotten. The branch reads the mean: at the start that is what a plain layer reads, whatever it has
    written where. It writes unequally (1.5 to the first stream), which tells the streams apart.
    """
    gate = 1 / (1 + np.exp(-raw[0]))[:, None]
    exps = np.exp(raw[2:] - np.max(raw[2:], axis=1, keepdims=True))
    H_res = (1 - gate) * np.eye(n) + gate * exps / np.sum(exps, axis=1, keepdims=True)
    prefer = np.concatenate([np.array([0.5]), np.full(n - 1, -0.5 / (n - 1))])
    return np.full(n, 1 / n), 1 + prefer + raw[1], H_res
