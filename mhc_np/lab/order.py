"""In what order things arrive in a trained network: when, what is left at another's arrival, and what the rate allows.

Chapter: chapters/09_frame_precision.md      Tests: tests/test_order.py
Symbols: a saved result's curves -> ``result["drift"]["curves"]``, steps at nine tenths -> ``["drift"]["settled"]``

The learning rate falls to zero at the end of a run: everything comes to rest there, done or not. `by_rate_alone`
says when a thing arrives that goes straight to its end at a speed in proportion to the rate: to arrive no earlier than
that is to have moved for as long as one could.
"""

import numpy as np

from mhc_np.lab.verdicts_geometry import CLEARLY
from mhc_np.learn import warmup_cosine

SHARE = 0.9
WORDS = {
    "map_drift": "attention maps",
    "value_drift": "values",
    "output_drift": "last attention's output",
    "subspace_drift": "its first two axes",
    "calibration": "calibration",
    "routing_distance": "routing parameters",
    "content_distance": "content parameters",
    "mlp_distance": "feed-forward parameters",
    "map_divergence": "maps, second order",
}


def by_rate_alone(training):
    """Return the step at which nine tenths of all learning rate is spent, by the recipe of a saved config.

    >>> by_rate_alone({"num_steps": 1000, "warmup": 0.0})
    597
    """
    num_steps = training["num_steps"]
    warmup = round(training["warmup"] * num_steps)
    spent = np.cumsum([warmup_cosine(step, num_steps, warmup) for step in range(num_steps)])
    return int(np.argmax(spent >= SHARE * spent[-1])) + 1


def arrivals(results, name):
    """Return the steps at which a thing is nine tenths done, one a seed; NaN where it is not."""
    return np.array([result["drift"]["settled"][name] for result in results], dtype=float)


def ratios(results, one, other):
    """Return how many times later one thing arrives than the other, one ratio a seed."""
    return np.maximum(arrivals(results, one), 1) / np.maximum(arrivals(results, other), 1)


def left_at(result, name, step):
    """Return which share of its way a curve still has to go at a step, on a straight line over log(1 + step).

    >>> curves = {"step": [0, 1, 3], "map_drift": [2.0, 1.0, 0.0]}
    >>> left_at({"drift": {"curves": curves}}, "map_drift", 1)
    0.5
    """
    curves = result["drift"]["curves"]
    return float(np.interp(np.log1p(step), np.log1p(curves["step"]), curves[name]) / curves[name][0])


def bits_at(result, step):
    """Return the KL in bits at a step, on a straight line over both logarithms."""
    curves = result["drift"]["curves"]
    return float(np.exp(np.interp(np.log1p(step), np.log1p(curves["step"]), np.log(curves["kl_bits"]))))


def when(ratio):
    """Say in words how a ratio of arrivals reads, by the rule's own edge.

    >>> when(1.3), when(1.0), when(0.5)
    ('clearly after', 'about together with', 'clearly before')
    """
    if ratio >= CLEARLY:
        return "clearly after"
    return "clearly before" if ratio <= 1 / CLEARLY else "about together with"
