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
