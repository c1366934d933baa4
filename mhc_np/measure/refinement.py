"""Refinement: how near the belief comes to the exact posterior from layer to layer, and whether it ever goes back.

Chapter: chapters/05_who_does_what.md      Tests: tests/test_refinement.py
Symbols: exact p -> exact (B, T, V), belief after layer l -> beliefs (L, B, T, V), KL -> kl (L, B, T) in bits

Bits are compared with those of the *prior*: the answer that knows the position and nothing of the sequence.
"""

from typing import NamedTuple

import numpy as np

from mhc_np.measure.calibration import kl_bits
from mhc_np.measure.rows import has_posterior, mean_where


def prior(exact):
    """Return the mean of the exact posterior over sequences at each position, (B, T, V), NaN rows where there is none.

    >>> prior([[[1.0, 0.0]], [[0.0, 1.0]]])[0, 0]
    array([0.5, 0.5])
    """
    exact = np.asarray(exact, np.float64)
    kept = has_posterior(exact)[..., None]
    count = np.maximum(kept.sum(axis=0), 1)
    mean = np.where(kept, exact, 0.0).sum(axis=0) / count
    return np.where(kept, mean, np.nan)


def prior_bits(exact):
    """Return the mean KL(exact || prior): what there is to be learned from a sequence, in bits a label."""
    exact = np.asarray(exact, np.float64)
    return mean_where("prior_bits", has_posterior(exact), kl_bits(exact, prior(exact)))


def kl_through_depth(exact, beliefs):
    """Return KL(exact || belief) in bits for every layer, sequence and position, (L, B, T).

    NaN where there is no posterior; infinite where there is one and the belief is not a number, so that a broken layer
    does not drop out of a mean unnoticed.

    >>> kl_through_depth([[[1.0, 0.0]]], [[[[0.5, 0.5]]], [[[1.0, 0.0]]]]).ravel()
    array([1., 0.])
    """
    exact = np.asarray(exact, np.float64)
    kl = np.stack([kl_bits(exact, belief) for belief in beliefs])
    return np.where(np.isnan(kl) & has_posterior(exact), np.inf, kl)


def by_layer(kl):
    """Return the mean of each layer over all rows that have a posterior, (L,)."""
    return np.nanmean(kl, axis=(1, 2))


def by_layer_and_position(kl):
    """Return (positions, means (L, positions)) for the positions that have a posterior."""
    supervised = ~np.isnan(kl[0]).all(axis=0)
    return np.flatnonzero(supervised), np.nanmean(kl[:, :, supervised], axis=1)


class Steps(NamedTuple):
    """How the steps from layer to layer go: shares of all steps, and of all rows.

    ``fell``, ``rose`` and ``stayed`` sum to one. ``never_rose`` is the share of rows (a sequence at a position) none of
    whose steps rose. ``largest_rise`` is the largest rise of the mean over rows, in bits.
    """

    fell: float
    rose: float
    stayed: float
    never_rose: float
    largest_rise: float


def count_steps(kl, tolerance):
    """Count falls and rises of the divergence from layer to layer.

    Parameters
    ----------
    kl : (L, ...) floats
        Layers first; cells that are NaN are left out.
    tolerance : float
        Bits that count as staying.

    Returns
    -------
    Steps

    Examples
    --------
    >>> count_steps(np.array([[1.0, 1.0], [0.5, 1.2], [0.1, 0.3]]), tolerance=0.05)
    Steps(fell=0.75, rose=0.25, stayed=0.0, never_rose=0.5, largest_rise=0.0)
    """
    kl = np.asarray(kl, np.float64)
    kl = kl.reshape(len(kl), -1)
    kl = kl[:, ~np.isnan(kl).any(axis=0)]
    if len(kl) < 2 or kl.shape[1] == 0:
        raise ValueError(f"count_steps: want two layers or more and a row that is a number, got {kl.shape}")
    mean = kl.mean(axis=1)
    with np.errstate(invalid="ignore"):  # from broken to broken is no number, and counts as staying
        step, rise = np.diff(kl, axis=0), np.diff(mean).max()
    rose, fell = step > tolerance, step < -tolerance
    return Steps(
        float(fell.mean()),
        float(rose.mean()),
        float((~fell & ~rose).mean()),
        float((~rose.any(axis=0)).mean()),
        max(0.0, float(rise)) if np.isfinite(mean).all() else float("inf"),
    )
