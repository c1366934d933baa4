"""Schedules: by how much the peak learning rate is multiplied at each step, and when to look.

Chapter: chapters/04_training.md      Tests: tests/test_learn_schedules.py
Symbols: t -> step (0 … num_steps - 1), eta_t / eta -> the returned factor

A schedule is a pure function ``step -> factor``; fix its other arguments with `functools.partial`.
"""

from math import cos, pi

import numpy as np


def constant(step, warmup=0):
    """Rise in a line to 1 within ``warmup`` steps, then stay.

    >>> [constant(step, warmup=4) for step in range(5)]
    [0.25, 0.5, 0.75, 1.0, 1.0]
    """
    return min(1.0, (step + 1) / warmup) if warmup else 1.0


def warmup_cosine(step, num_steps, warmup, floor=0.0):
    """Rise in a line to 1 within ``warmup`` steps, then fall along half a cosine to ``floor``.

    The zero before the rise and the floor after the fall lie one step *outside* the run (at steps -1 and
    ``num_steps``), so that no step is spent at rate 0.

    Parameters
    ----------
    step : int
        0 … num_steps - 1.
    num_steps : int
        Length of the run.
    warmup : int
        Steps of the rise; the last of them is at 1. 0 starts with the fall.
    floor : float
        Where the fall ends, in [0, 1].

    Returns
    -------
    float

    Raises
    ------
    ValueError
        If the warm-up is longer than the run, or the step lies outside it.

    Examples
    --------
    One step up, then cosines of 0, 60, 120 (and, after the run, 180) degrees: (1 + cos) / 2.

    >>> [round(warmup_cosine(step, num_steps=3, warmup=1), 12) for step in range(3)]
    [1.0, 0.75, 0.25]
    """
    if not 0 <= warmup <= num_steps:
        raise ValueError(f"warmup_cosine: want 0 <= warmup <= {num_steps} steps, got {warmup}")
    if not 0 <= step < num_steps:
        raise ValueError(f"warmup_cosine: want a step in 0 … {num_steps - 1}, got {step}")
    if step < warmup:
        return (step + 1) / warmup
    fallen = (step + 1 - warmup) / (num_steps + 1 - warmup)
    return floor + (1 - floor) * (1 + cos(pi * fallen)) / 2


def log_spaced_steps(num_steps, count):
    """Choose about ``count`` moments of a run: the start, the end, and equal ratios in between.

    Most of what happens in training happens early; equal ratios give every factor of ten the same number of
    snapshots.

    Parameters
    ----------
    num_steps : int
        Length of the run.
    count : int
        At most so many moments, at least 3. Fewer come back where they coincide after rounding.

    Returns
    -------
    tuple of int
        Numbers of steps done, from 0 (the start) to ``num_steps``.

    Examples
    --------
    >>> log_spaced_steps(1000, 5)
    (0, 1, 10, 100, 1000)
    >>> log_spaced_steps(3, 20)
    (0, 1, 2, 3)
    """
    if num_steps < 1 or count < 3:
        raise ValueError(f"log_spaced_steps: want num_steps >= 1 and count >= 3, got {num_steps} and {count}")
    spaced = np.rint(np.geomspace(1, num_steps, count - 1)).astype(int).tolist()
    return tuple(sorted({0, *spaced}))
