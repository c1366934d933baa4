"""Filters with a short memory: the yardstick for how far back a model really looks.

Chapter: chapters/03_tasks.md      Tests: tests/test_tasks_windows.py
Symbols: w -> window, p(z_t | x_t-w+1 .. x_t) -> windowed_filter(...) (..., T, S),
         pi A = pi -> stationary(transition) (..., S)

A hidden Markov model forgets: the older an observation, the less it changes the belief. So a small
error is no proof of long memory. Held beside the *exact* filter of the last w observations, a
model's error says how many steps of memory it would take to be that good.
"""

import numpy as np

from mhc_np.tasks.base import require
from mhc_np.tasks.filtering import prepare

PRIORS = ("uniform", "stationary")


def stationary(transition):
    """Return the distribution that a step leaves as it is, shape (..., S, S) -> (..., S).

    It solves ``pi (I - A + J) = 1`` with J all ones, which joins ``pi A = pi`` and ``sum pi = 1``
    in one square system.

    Raises
    ------
    ValueError
        If a chain falls into parts that never meet, and so has many stationary distributions.

    Examples
    --------
    State 0 is left with 0.1, state 1 with 0.3: three quarters of the time are spent in state 0.

    >>> stationary([[0.9, 0.1], [0.3, 0.7]]).round(12)
    array([0.75, 0.25])
    """
    transition = np.asarray(transition, dtype=np.float64)
    S = transition.shape[-1]
    system = (np.eye(S) - transition + 1.0).swapaxes(-1, -2)
    singular_values = np.linalg.svd(system, compute_uv=False)
    require(
        (singular_values[..., -1] > 1e-12 * singular_values[..., 0]).all(),
        "stationary: want chains with one stationary distribution, got one that falls into parts",
    )
    pi = np.linalg.solve(system, np.ones((*system.shape[:-1], 1)))[..., 0]
    pi = np.maximum(pi, 0.0)  # a state never visited can come out as -1e-17
    return pi / pi.sum(axis=-1, keepdims=True)


def windowed_filter(initial, transition, emission, observations, window, *, prior="stationary"):
    """Filter exactly, but from the last ``window`` observations alone.

    Parameters
    ----------
    initial, transition, emission, observations
        As for `mhc_np.tasks.filtering.filter`.
    window : int
        w, the number of observations used, the current one included; at least 1.
    prior : {"stationary", "uniform"}
        What is believed of the state before the oldest observation used. Uniform is what knows
        nothing; stationary is the long-run average under the transition matrix, and much better.
        While the window still reaches back to the first observation it is ``initial`` either way,
        and the result is that of the full filter.

    Returns
    -------
    np.ndarray, shape (..., T, S), float64
        NaN where the observations in the window are impossible.

    Examples
    --------
    With w = 1 and a uniform prior this is the likelihood of one observation, normalised:

    >>> A, B = [[0.7, 0.3], [0.3, 0.7]], [[0.9, 0.1], [0.2, 0.8]]
    >>> windowed_filter([1.0, 0.0], A, B, [1, 0, 1], window=1, prior="uniform").round(3)
    array([[1.   , 0.   ],
           [0.818, 0.182],
           [0.111, 0.889]])
    """
    require(window >= 1, f"windowed_filter: want window >= 1, got {window}")
    require(prior in PRIORS, f"windowed_filter: want prior in {PRIORS}, got {prior!r}")
    initial, transition, likelihood = prepare("windowed_filter", initial, transition, emission, observations)
    T, S = likelihood.shape[-2:]
    start = stationary(transition) if prior == "stationary" else np.full(S, 1.0 / S)
    belief = np.broadcast_to(start[..., None, :], likelihood.shape)  # before the oldest one
    # All positions advance together: in round `age` position t takes in observation t - age.
    with np.errstate(invalid="ignore"):
        for age in reversed(range(window)):
            source = np.arange(T) - age
            if age < window - 1:
                belief = belief @ transition
            belief = np.where((source == 0)[:, None], initial[..., None, :], belief)
            belief = belief * np.where((source >= 0)[:, None], likelihood[..., np.maximum(source, 0), :], 1.0)
            belief = belief / belief.sum(axis=-1, keepdims=True)
    return belief
