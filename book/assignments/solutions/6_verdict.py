"""Assignment 6, a solution."""

import numpy as np

SEEDS, LESS = 5, 2 / 3


def rule(errors):
    """Compare the medians over seeds, each arm at the rate whose median is least.

    Missing seeds or rates: wait. *holds* if the new arm has at most two thirds of the plain arm's error, *false* if it
    is the other way round, *holds in part* if every seed of the new arm is below the plain arm's median.
    """
    new, plain = errors["new"], errors["plain"]
    if set(new) != set(plain) or any(len(found) < SEEDS for arm in (new, plain) for found in arm.values()):
        return "not seen here"
    (own, seeds), (other, _) = best(new), best(plain)
    if not np.isfinite([own, other]).any():
        return "not seen here"
    if own <= LESS * other:
        return "holds"
    if other <= LESS * own:
        return "false"
    return "holds in part" if max(seeds) < other else "not seen here"


def best(rates):
    """Return the least median, and the seeds behind it; a broken run is infinitely bad."""
    found = [np.where(np.isnan(seeds), np.inf, seeds) for seeds in rates.values()]
    return min((float(np.median(seeds)), list(seeds)) for seeds in found)
