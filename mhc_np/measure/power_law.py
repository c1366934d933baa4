"""Errors against the number of samples: the straight line through a log-log plot.

Chapter: chapters/04_training.md      Tests: tests/test_power_law.py
Symbols: error = c n^(-a) -> PowerLaw(exponent=a, constant=c, spread)
"""

from typing import NamedTuple

import numpy as np


class PowerLaw(NamedTuple):
    """``error = constant * samples ** -exponent``; ``spread`` is the exponent's standard error, NaN for two points."""

    exponent: float
    constant: float
    spread: float


def fit_power_law(samples, errors):
    """Fit a power law by least squares on logarithms.

    Parameters
    ----------
    samples, errors : array_like, shape (N,)
        Positive; at least two different numbers of samples.

    Returns
    -------
    PowerLaw

    Raises
    ------
    ValueError
        If there is no line to fit.

    Examples
    --------
    Four times the samples, half the error: an exponent of one half.

    >>> law = fit_power_law([100, 400, 1600], [0.1, 0.05, 0.025])
    >>> round(law.exponent, 12), round(law.constant, 12)
    (0.5, 1.0)
    """
    samples, errors = np.asarray(samples, float), np.asarray(errors, float)
    if samples.shape != errors.shape or samples.ndim != 1 or np.unique(samples).size < 2:
        raise ValueError(
            f"fit_power_law: want as many errors as samples, two different ones at least, "
            f"got {samples.shape} and {errors.shape}"
        )
    if not (samples.min() > 0 and errors.min() > 0):
        raise ValueError("fit_power_law: want samples and errors above 0; a logarithm is taken")
    x, y = np.log(samples), np.log(errors)
    centred = x - x.mean()
    slope = centred @ y / (centred @ centred)
    left = y - y.mean() - slope * centred
    freedom = len(x) - 2
    spread = np.sqrt(left @ left / freedom / (centred @ centred)) if freedom else np.nan
    return PowerLaw(float(-slope), float(np.exp(y.mean() - slope * x.mean())), float(spread))
