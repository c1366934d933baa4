"""How far back a model looks: exchange what lies further back, and see how much its answer moves.

Chapter: chapters/04_training.md      Tests: tests/test_memory.py
Symbols: x_1 .. x_T -> observations (B, T), w -> window, answer before and after -> before, after (B, V)

A small error is no proof of a long memory, since a hidden Markov model forgets by itself. This is a direct test: keep
the last w observations, replace all older ones by those of another sequence of the same model, and compare the answers
at the last position. The exact filter moves too, less and less as w grows; a model that filters moves *as it does*.
"""

from typing import NamedTuple

import numpy as np

from mhc_np.measure.rows import checked_pair


def splice(observations, others, window):
    """Keep the last ``window`` observations, and take all older ones from ``others``.

    >>> splice([[1, 2, 3]], [[7, 8, 9]], window=1)
    array([[7, 8, 3]])
    """
    observations, others = np.asarray(observations), np.asarray(others)
    length = observations.shape[-1]
    if others.shape != observations.shape or not 0 <= window <= length:
        raise ValueError(
            f"splice: want two arrays of one shape and a window in 0 .. {length}, "
            f"got {observations.shape}, {others.shape} and {window}"
        )
    return np.where(np.arange(length) < length - window, others, observations)


class Movement(NamedTuple):
    """Mean distances, in total variation: 0 stays where it is, 1 moves to the opposite.

    ``exact`` and ``model`` are how far each of the two answers moves; ``mismatch`` is half the summed absolute
    difference between the two moves, so 0 means that the model moves exactly as the posterior does.
    """

    exact: float
    model: float
    mismatch: float


def movement(exact_before, exact_after, model_before, model_after):
    """Compare how two answers move when something they were told changes.

    Parameters
    ----------
    exact_before, exact_after, model_before, model_after : array_like, shape (..., V)
        Probabilities.

    Returns
    -------
    Movement
        Means over all rows.

    Examples
    --------
    The posterior moves by 0.3, the model not at all:

    >>> movement([[0.5, 0.5]], [[0.2, 0.8]], [[0.4, 0.6]], [[0.4, 0.6]])
    Movement(exact=0.3, model=0.0, mismatch=0.3)
    """
    exact_before, exact_after = checked_pair("movement", exact_before, exact_after)
    model_before, model_after = checked_pair("movement", model_before, model_after)
    truth, answer = exact_after - exact_before, model_after - model_before
    distances = (0.5 * np.abs(move).sum(axis=-1).mean() for move in (truth, answer, answer - truth))
    return Movement(*(round(float(distance), 12) for distance in distances))
