"""Wide streams: whether they have become copies of one another, and how much they have grown.

Chapter: chapters/15_the_question.md      Tests: tests/test_streams_measured.py
Symbols: x_l -> streams (B, T, n, D)
"""

import numpy as np


def divergence(streams):
    """Return ``sqrt(Σ|x_i − mean|² / Σ|x_i|²)``: 0 if the streams are copies, 1 if their mean is zero.

    Parameters
    ----------
    streams : (..., n, D) floats

    Returns
    -------
    float
        Over all tokens together. NaN for streams that are zero or not finite.

    Examples
    --------
    >>> divergence([[3.0, 4.0], [3.0, 4.0]]), divergence([[1.0, 0.0], [-1.0, 0.0]])
    (0.0, 1.0)
    """
    streams = _scaled(streams)
    apart = streams - streams.mean(axis=-2, keepdims=True)
    return float(np.sqrt((apart**2).sum() / (streams**2).sum()))


def growth(first, last):
    """Return ``|x_L| / |x_0|``, root mean squares over all entries; NaN if either is zero or not finite.

    >>> growth([[1.0, 1.0]], [[3.0, 3.0]])
    3.0
    """
    sizes = [np.abs(_finite(streams)).max(initial=0.0) for streams in (first, last)]
    if not all(np.isfinite(sizes)) or min(sizes) == 0:
        return float("nan")
    roots = [np.sqrt((_scaled(streams) ** 2).mean()) for streams in (first, last)]
    return float(roots[1] / roots[0] * (sizes[1] / sizes[0]))


def _finite(streams):
    return np.asarray(streams, np.float64)


def _scaled(streams):
    """Divide by the largest entry: squares of what float64 can hold may be beyond it."""
    streams = _finite(streams)
    size = np.abs(streams).max(initial=0.0)
    return streams / size if np.isfinite(size) and size > 0 else np.full_like(streams, np.nan)
