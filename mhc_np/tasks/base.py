"""What every wind tunnel hands over: a batch of sequences, and what their labels mean.

Chapter: chapters/03_tasks.md      Tests: tests/test_tasks_bijection.py
Symbols: sequence -> inputs (B, T) ids or (B, T, F) features, label -> targets (B, T),
         has a label -> mask (B, T)

A task is a module with a frozen ``Config`` and two functions,

    sample(config, rng, batch_size) -> Batch
    posterior(config, batch) -> (B, T, num_outputs) float64 probabilities

and a config knows the sizes a model needs: ``num_positions`` and ``num_outputs``, and ``num_ids``
(token ids) or ``num_features`` (real-valued inputs). The *posterior* is the exact distribution of
the label given everything at or before its position, so a model can be held against the truth
instead of against other models. Positions without a label hold NaN, not zero, so that no average
takes them in unnoticed.
"""

from typing import NamedTuple

import numpy as np


class Batch(NamedTuple):
    """A batch of sequences with the labels a model is asked for.

    Parameters
    ----------
    inputs : np.ndarray, shape (B, T) of int64 or (B, T, F) of float32
        Token ids, or feature vectors, in reading order.
    targets : np.ndarray, shape (B, T) of int64
        The label at each position, in ``0 .. num_outputs - 1``. It is *not* the input at that
        position: whatever shift a task needs is already made. Where the mask is off the entry is 0
        and means nothing.
    mask : np.ndarray, shape (B, T) of bool
        True at the positions that have a label.
    """

    inputs: np.ndarray
    targets: np.ndarray
    mask: np.ndarray


def require(condition, message):
    """Raise ``ValueError(message)`` unless ``condition`` holds."""
    if not condition:
        raise ValueError(message)


def distinct_rows(want, rows, ids, columns=None):
    """Return ``rows`` as int64 (B, columns), once it is sure that each row holds different ids of a range.

    Parameters
    ----------
    want : str
        How the error begins: who wants what.
    rows : array_like of int, shape (B, columns)
    ids : range
    columns : int, optional
        How many; any number by default.

    Examples
    --------
    >>> distinct_rows("task: want keys", [[0, 2], [1, 1]], range(3))
    Traceback (most recent call last):
    ValueError: task: want keys in 0 .. 2, none twice in a row, got [1, 1] in row 1
    """
    rows = np.asarray(rows)
    require(
        rows.ndim == 2 and rows.dtype.kind in "iu" and columns in (None, rows.shape[-1]),
        f"{want} as whole numbers (B, {columns or 'pairs'}), got {rows.dtype} {rows.shape}",
    )
    ordered = np.sort(rows, axis=1)
    bad = (ordered[:, 1:] == ordered[:, :-1]).any(axis=1)
    bad |= ((ordered < ids.start) | (ordered >= ids.stop)).any(axis=1)
    if bad.any():
        row = bad.argmax()
        got = f"got {rows[row].tolist()} in row {row}"
        raise ValueError(f"{want} in {ids.start} .. {ids.stop - 1}, none twice in a row, {got}")
    return rows.astype(np.int64, copy=False)
