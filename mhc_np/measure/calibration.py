"""Calibration: how far a model's probabilities are from the exact ones, in bits.

Chapter: chapters/04_training.md      Tests: tests/test_calibration.py
Symbols: exact p -> p (..., V), model q -> q (..., V), H(p) -> entropy_bits(p) (...),
         KL(p || q) -> kl_bits(p, q) (...)

Look at the KL divergence beside every entropy error: entropy does not see *which* outcome is
likely. p = [.7, .2, .1] and q = [.1, .2, .7] have equal entropies and lie 1.68 bits apart.

Rules: 0 log 0 is 0. A ``q`` of 0 where ``p`` is positive makes the KL divergence infinite: the
model has ruled out what can happen, and no small constant is added to hide that. NaN rows of ``p``
(positions without a label) come out as NaN and means leave them out; a NaN in ``q`` elsewhere
makes the mean NaN. Full contract: `mhc_np.measure.rows`.
"""

from typing import NamedTuple

import numpy as np

from mhc_np.measure.reliability import expected_calibration_error, reliability_curve
from mhc_np.measure.rows import checked, checked_pair, has_posterior, mean_where, times_log2

__all__ = [
    "Calibration",
    "entropy_bits",
    "entropy_mae_bits",
    "entropy_mae_of_means_bits",
    "expected_calibration_error",
    "kl_bits",
    "probabilities",
    "reliability_curve",
    "summary",
    "total_variation",
]


class Calibration(NamedTuple):
    """Means over all rows that have a posterior; each is defined by the function of its name."""

    entropy_mae_bits: float
    entropy_mae_of_means_bits: float
    kl_bits: float
    total_variation: float


def probabilities(logits):
    """Softmax over the last axis in float64, whatever the type of ``logits``.

    A row with NaN or +inf, or with -inf throughout, has no softmax and comes out as NaN. A logit
    that lies 746 or more below the largest gets probability exactly 0, as float64 has nothing
    between 0 and 5e-324.

    >>> probabilities([0.0, np.log(3.0), -np.inf]).round(12)
    array([0.25, 0.75, 0.  ])
    """
    logits = np.asarray(logits, dtype=np.float64)
    top = logits.max(axis=-1, keepdims=True)
    weights = np.exp(logits - np.where(np.isfinite(top), top, np.nan))
    return weights / weights.sum(axis=-1, keepdims=True)


def entropy_bits(p):
    """Shannon entropy of each row, shape (..., V) -> (...), in bits.

    >>> float(entropy_bits([0.5, 0.25, 0.25, 0.0]))
    1.5
    """
    p = checked("entropy_bits", p)
    return 0.0 - times_log2(p, p).sum(axis=-1)  # 0 - x, so that certainty is 0 and not -0


def kl_bits(p, q):
    """KL(p || q) of each row in bits: what it costs to code for q when p is true.

    >>> float(kl_bits([1.0, 0.0], [0.25, 0.75])), float(kl_bits([0.5, 0.5], [1.0, 0.0]))
    (2.0, inf)
    """
    p, q = checked_pair("kl_bits", p, q)
    return (times_log2(p, p) - times_log2(p, q)).sum(axis=-1)


def total_variation(p, q):
    """Half the summed absolute difference of each row: the largest gap over all events.

    >>> float(total_variation([0.5, 0.5, 0.0], [0.25, 0.5, 0.25]))
    0.25
    """
    p, q = checked_pair("total_variation", p, q)
    return 0.5 * np.abs(p - q).sum(axis=-1)


def entropy_mae_bits(p, q):
    """Mean over rows of ``|H(q) - H(p)|``, in bits: the entropy error of each single answer.

    >>> entropy_mae_bits([[0.5, 0.5], [1.0, 0.0]], [[1.0, 0.0], [0.5, 0.5]])
    1.0
    """
    p, q = checked_pair("entropy_mae_bits", p, q)
    return mean_where(
        "entropy_mae_bits", has_posterior(p), np.abs(entropy_bits(q) - entropy_bits(p))
    )


def entropy_mae_of_means_bits(p, q):
    """Mean over positions of ``|mean H(q) - mean H(p)|``, in bits.

    The inner means run over the samples, axis 0: this is the variant in the code of
    the wind-tunnel papers. Errors of opposite sign cancel inside it, so that it can be 0 for a
    model that is wrong on every sample. It is here to be compared with `entropy_mae_bits`, which
    it never exceeds when all samples have the same positions.

    >>> entropy_mae_of_means_bits([[0.5, 0.5], [1.0, 0.0]], [[1.0, 0.0], [0.5, 0.5]])
    0.0
    """
    p, q = (np.atleast_2d(rows) for rows in checked_pair("entropy_mae_of_means_bits", p, q))
    kept = has_posterior(p)
    samples = kept.sum(axis=0)
    gap = np.where(kept, entropy_bits(q) - entropy_bits(p), 0.0).sum(axis=0) / np.maximum(
        samples, 1
    )
    return mean_where("entropy_mae_of_means_bits", np.asarray(samples > 0), np.abs(gap))


def summary(p, q):
    """All four means at once, for ``p`` and ``q`` of shape (B, T, V).

    >>> round(summary([[[0.7, 0.2, 0.1]]], [[[0.1, 0.2, 0.7]]]).kl_bits, 4)
    1.6844
    """
    kept = has_posterior(np.asarray(p, dtype=np.float64))
    return Calibration(
        entropy_mae_bits(p, q),
        entropy_mae_of_means_bits(p, q),
        mean_where("kl_bits", kept, kl_bits(p, q)),
        mean_where("total_variation", kept, total_variation(p, q)),
    )
