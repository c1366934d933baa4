"""Reliability: whether events that a model calls 80 % likely happen 80 % of the time.

Chapter: chapters/04_training.md      Tests: tests/test_reliability.py
Symbols: mean predicted probability in a bin -> confidence (num_bins,), share that happened ->
         accuracy (num_bins,), forecasts in it -> count (num_bins,)

This needs sampled labels only, no exact posterior, so it is the measure that works outside a wind
tunnel. It is also blind to much: a model that always answers with the base rate is perfectly
reliable and knows nothing.
"""

from typing import NamedTuple

import numpy as np

from mhc_np.measure.rows import checked

EVENTS = ("top", "every")


class Reliability(NamedTuple):
    """One entry per bin of predicted probability; empty bins hold NaN, and 0 in ``count``."""

    confidence: np.ndarray
    accuracy: np.ndarray
    count: np.ndarray


def reliability_curve(probs, labels, num_bins=15, *, events="top"):
    """Average predicted probability and observed frequency in equal bins of predicted probability.

    Parameters
    ----------
    probs : array_like, shape (..., V)
        Predicted probabilities; rows with a NaN are left out. Pass ``probs[mask], labels[mask]``
        for a `mhc_np.tasks.Batch`.
    labels : array_like of int, shape (...)
        What happened, in ``0 .. V - 1``.
    num_bins : int
        Bin b holds the probabilities p with ``b / num_bins < p <= (b + 1) / num_bins`` (and p = 0
        in the first).
    events : {"top", "every"}
        Count each row once, by its likeliest outcome (the usual choice), or V times, once for
        every outcome. "top" flatters no one: picking the largest of noisy probabilities makes it
        look over-confident.

    Returns
    -------
    Reliability

    Examples
    --------
    Four forecasts of "outcome 0 at 75 %", of which three come true:

    >>> curve = reliability_curve([[0.75, 0.25]] * 4, [0, 0, 1, 0], num_bins=2)
    >>> curve.confidence, curve.accuracy, curve.count
    (array([ nan, 0.75]), array([ nan, 0.75]), array([0, 4]))
    """
    chance, happened = _forecasts(probs, labels, events)
    if num_bins < 1:
        raise ValueError(f"reliability_curve: want num_bins >= 1, got {num_bins}")
    bins = np.clip(np.ceil(chance * num_bins).astype(int) - 1, 0, num_bins - 1)
    count = np.bincount(bins, minlength=num_bins)
    filled = np.where(count > 0, count, np.nan)
    return Reliability(
        np.bincount(bins, weights=chance, minlength=num_bins) / filled,
        np.bincount(bins, weights=happened, minlength=num_bins) / filled,
        count,
    )


def expected_calibration_error(probs, labels, num_bins=15, *, events="top"):
    """Mean gap between confidence and accuracy over the bins, weighted by count; in 0 .. 1.

    Arguments as for `reliability_curve`. For a perfect model it is not 0 but of the order of
    ``sqrt(num_bins / rows)``, since the labels are random: compare with the exact posterior's own
    value.

    >>> expected_calibration_error([[0.9, 0.1]] * 2, [0, 1])  # 90 % called, 50 % happen
    0.4
    """
    curve = reliability_curve(probs, labels, num_bins, events=events)
    gap = np.abs(curve.accuracy - curve.confidence)
    return float(np.nansum(gap * curve.count) / curve.count.sum())


def _forecasts(probs, labels, events):
    """Flatten to one predicted probability and one 0/1 outcome per event."""
    probs, labels = checked("reliability_curve", probs), np.asarray(labels)
    V = probs.shape[-1]
    if events not in EVENTS:
        raise ValueError(f"reliability_curve: want events in {EVENTS}, got {events!r}")
    if labels.shape != probs.shape[:-1]:
        raise ValueError(
            f"reliability_curve: want labels of shape {probs.shape[:-1]}, got {labels.shape}"
        )
    kept = ~np.isnan(probs[..., 0])
    probs, labels = probs[kept], labels[kept]
    if not len(labels):
        raise ValueError("reliability_curve: want at least one row of probabilities, got none")
    if labels.min() < 0 or labels.max() >= V:
        raise ValueError(
            f"reliability_curve: want labels in 0 .. {V - 1}, got {labels.min()} .. {labels.max()}"
        )
    if events == "top":
        return probs.max(axis=-1), (probs.argmax(axis=-1) == labels).astype(float)
    return probs.ravel(), (np.arange(V) == labels[:, None]).astype(float).ravel()
