"""Rows of probabilities: the checks and the averages that every calibration measure shares.

Chapter: chapters/04_training.md      Tests: tests/test_calibration.py
Symbols: one distribution over V outcomes -> a row, the last axis of p (..., V)

Rules:

* Rows are float64 inside, must not be negative, and must sum to 1 within 1e-5 (float32
  probabilities do).
* A row of the exact posterior ``p`` that is NaN throughout has no label: means leave it out.
* A row of the model's ``q`` that holds a NaN where ``p`` is a number is a broken answer: it makes
  the mean NaN. A model that has blown up must not look good on the rows that survived.
"""

import numpy as np

TOLERANCE = 1e-5


def checked(name, p):
    """Return ``p`` as float64 rows of probabilities, NaN in every entry of a row that holds one."""
    p = np.asarray(p, dtype=np.float64)
    if p.ndim == 0 or p.shape[-1] == 0:
        raise ValueError(f"{name}: want probabilities of shape (..., V) with V >= 1, got {p.shape}")
    broken = np.isnan(p).any(axis=-1, keepdims=True)
    if (p < 0).any():
        raise ValueError(f"{name}: want probabilities >= 0, got {p[p < 0].min():.3g}")
    off = np.abs(np.where(broken, 1.0, p.sum(axis=-1, keepdims=True)) - 1.0)
    if (off > TOLERANCE).any():
        raise ValueError(
            f"{name}: want rows that sum to 1, got one off by {off.max():.3g}; "
            "turn logits into probabilities first: probabilities(logits)"
        )
    return np.where(broken, np.nan, p)


def checked_pair(name, p, q):
    """Check the exact ``p`` and the model's ``q``: one shape, no row of ``p`` NaN in part."""
    missing = np.isnan(np.asarray(p, dtype=np.float64))
    p, q = checked(name, p), checked(name, q)
    if p.shape != q.shape:
        raise ValueError(f"{name}: want p and q of one shape, got {p.shape} and {q.shape}")
    if (np.isnan(p) != missing).any():
        raise ValueError(f"{name}: want each row of p all numbers or all NaN, got a mixture")
    return p, q


def has_posterior(p):
    """Return True for the rows that have a posterior, shape (..., V) -> (...)."""
    return ~np.isnan(p).all(axis=-1)


def mean_where(name, kept, values):
    """Mean of ``values`` where ``kept``, as a Python float; no row to average is an error."""
    if not kept.any():
        raise ValueError(
            f"{name}: want at least one row with a posterior, got none; is the mask all off?"
        )
    return float(values[kept].mean())


def times_log2(p, q):
    """Return ``p * log2(q)`` with 0 where p is 0, and -inf where q is 0 < p."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(p == 0, 0.0, p * np.log2(q))
