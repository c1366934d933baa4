"""Assignment 2, an exact filter (chapters 3 and 4). Check: python -m pytest book/assignments/2_filter.

A hidden Markov model has S states. initial[i] = p(z_1 = i), transition[i, j] = p(z_{t+1} = j given z_t = i),
emission[i, x] = p(x given state i). Observations are numbers 0 .. V-1. Write the filter and what it predicts, in plain
NumPy: no import from mhc_np.
"""

import numpy as np  # noqa: F401


def filter_states(initial, transition, emission, observations):
    """Return (filtered, log_evidence): p(z_t given x_1 .. x_t) of shape (T, S), and ln p(x_1 .. x_T) in nats."""
    raise NotImplementedError("filter_states: start from `initial`, look, normalise; then move, look, normalise")


def predict_next(transition, emission, filtered):
    """Return p(x_{t+1} given x_1 .. x_t) of shape (T, V) from the filtered states (T, S)."""
    raise NotImplementedError("predict_next: one move of the state, then what it would emit")
