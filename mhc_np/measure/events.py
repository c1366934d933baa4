"""Events in a training run: spikes of the loss, the first step at which a curve goes wrong, and what comes first.

Chapter: chapters/16_what_breaks_first.md      Tests: tests/test_events.py
Symbols: KL of each step -> losses (N,), a diagnostic at the looks of a run -> curve (M,), their steps -> steps (M,)

A curve may hold NaN where there was nothing to measure, and infinities where a network blew up. No event ever follows
from a NaN.
"""

import numpy as np

SPIKE_FROM, SPIKE_WINDOW = 25, 15  # steps
SPIKE_RATIO, SPIKE_MARGIN = 1.5, 0.03  # times the median before, and nats above it


def spikes(losses):
    """Find the spikes of a loss curve that has an entry for every step.

    A step from the 25th on is in a spike if its loss is more than 1.5 times the median of the 15 before it, and more
    than .03 nats above that median. Consecutive steps are one spike. A loss that stalls, or rises slowly, has none.

    Parameters
    ----------
    losses : (N,) floats
        KL in nats, so that zero is perfect. What is not finite is in no spike and counts in no median.

    Returns
    -------
    (starts, worst)
        Steps at which spikes begin, a list; and the largest loss over its median, 1.0 if there is no spike.

    Examples
    --------
    >>> curve = np.full(60, 0.125)
    >>> curve[[40, 41, 50]] = 0.25, 0.375, 0.15
    >>> spikes(curve)
    ([40], 3.0)
    """
    losses = np.where(np.isfinite(losses), losses, np.nan)
    starts, worst, inside = [], 1.0, False
    for step in range(SPIKE_FROM, len(losses)):
        before = losses[step - SPIKE_WINDOW : step]
        before = before[~np.isnan(before)]
        middle = np.median(before) if len(before) else np.nan
        high = losses[step] > SPIKE_RATIO * middle and losses[step] > middle + SPIKE_MARGIN
        if high:
            worst = max(worst, float(losses[step] / max(middle, 1e-12)))
            if not inside:
                starts.append(step)
        inside = bool(high)
    return starts, worst


def first_outside(steps, curve, low=-np.inf, high=np.inf):
    """Return the first step at which the curve lies outside [low, high], or None.

    >>> first_outside([0, 10, 20, 30], [1.0, np.nan, 5.0, 30.0], high=10)
    30
    """
    return _first(steps, (np.asarray(curve) < low) | (np.asarray(curve) > high))


def first_rise(steps, curve, ratio=1.0, margin=0.0):
    """Return the first step at which the curve is above ``ratio`` times its least value so far, and by ``margin``.

    >>> first_rise([0, 10, 20, 30], [1.0, 0.1, 0.12, 0.4], ratio=1.5, margin=0.05)
    30
    """
    curve = np.asarray(curve, np.float64)
    least = np.minimum.accumulate(np.where(np.isnan(curve), np.inf, curve))
    with np.errstate(invalid="ignore"):
        return _first(steps, (curve > ratio * least) & (curve > least + margin))


def first_fall(steps, curve, margin):
    """Return the first step at which the curve is below its largest value so far by more than ``margin``."""
    return first_rise(steps, -np.asarray(curve, np.float64), margin=margin)


def sign_flip_p(leads):
    """Return the share of sign patterns whose mean lead is at least the one seen: a one-sided permutation test.

    If neither event comes first as a rule, each lead could as well have had the other sign.

    Parameters
    ----------
    leads : (N,) floats
        Steps by which the one event comes before the other, a number a run; positive: before.

    Returns
    -------
    float
        In (0, 1]; exact up to 16 runs, from 65,536 fixed random patterns beyond. NaN without any run.

    Examples
    --------
    Three leads, all positive: one pattern in eight has so large a mean.

    >>> sign_flip_p([10, 20, 30]), sign_flip_p([10, -10])
    (0.125, 0.75)
    """
    leads = np.asarray(leads, np.float64)
    if not len(leads):
        return float("nan")
    if len(leads) <= 16:
        signs = 1 - 2 * ((np.arange(2 ** len(leads))[:, None] >> np.arange(len(leads))) & 1)
    else:
        signs = np.random.default_rng(0).choice((-1, 1), (2**16, len(leads)))
        signs[0] = 1  # the pattern that was seen is one of them
    return float((signs @ leads >= leads.sum() - 1e-9).mean())


def _first(steps, flags):
    found = np.flatnonzero(flags)
    return int(np.asarray(steps)[found[0]]) if len(found) else None
