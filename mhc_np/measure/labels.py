"""Held against labels alone: how often right, and how many bits a label dearer than the exact posterior.

Chapter: chapters/03_tasks.md      Tests: tests/test_labels.py
Symbols: p -> exact (..., V), q -> probs (..., V), y -> labels (...)

The excess E[log2 p(y) - log2 q(y)] estimates KL(p || q) when the labels are drawn from p. Its use is where they are
*not*: on sequences that a model has learned by heart it can be negative, since such a model knows more than the
evidence tells, and the exact posterior cannot.
"""

import numpy as np

from mhc_np.measure.rows import checked_pair, has_posterior, mean_where


def accuracy(exact, probs, labels):
    """Return the share of rows in which the likeliest outcome is the label.

    Rows of ``exact`` that are NaN have no label and are left out; a row of ``probs`` with a NaN elsewhere is wrong.

    Examples
    --------
    >>> rows = [[0.9, 0.1], [0.4, 0.6], [np.nan, np.nan]]
    >>> accuracy(rows, [[0.8, 0.2], [0.7, 0.3], [0.5, 0.5]], [0, 1, 0])
    0.5
    """
    exact, probs = checked_pair("accuracy", exact, probs)
    right = (np.argmax(np.nan_to_num(probs, nan=-1.0), axis=-1) == labels) & ~np.isnan(probs[..., 0])
    return mean_where("accuracy", has_posterior(exact), right.astype(float))


def excess_bits(exact, probs, labels):
    """Return the mean of ``log2 p(label) - log2 q(label)``: bits paid a label above the exact posterior.

    Parameters
    ----------
    exact, probs : array_like, shape (..., V)
        The exact posterior, NaN rows where there is no label, and the model's answer.
    labels : array_like of int, shape (...)

    Returns
    -------
    float
        Infinite if the model has ruled out a label that came.

    Examples
    --------
    The label had one chance in two, and the model gave it one in eight: two bits too dear.

    >>> excess_bits([[0.5, 0.5]], [[0.125, 0.875]], [0])
    2.0
    """
    exact, probs = checked_pair("excess_bits", exact, probs)
    chosen = [np.take_along_axis(rows, np.asarray(labels)[..., None], axis=-1)[..., 0] for rows in (exact, probs)]
    with np.errstate(divide="ignore"):
        p, q = np.log2(chosen)
    return mean_where("excess_bits", has_posterior(exact), p - q)
