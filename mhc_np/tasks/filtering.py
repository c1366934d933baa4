"""Exact inference in a hidden Markov model: filtering, smoothing and evidence.

Chapter: chapters/03_tasks.md      Tests: tests/test_tasks_filtering.py
Symbols: pi -> initial (..., S), A -> transition (..., S, S), B -> emission (..., S, V),
         x_1 .. x_T -> observations (..., T), p(z_t | x_1 .. x_t) -> filtered (..., T, S)

``transition[i, j] = p(z' = j | z = i)`` and ``emission[i, v] = p(x = v | z = i)``: every row is a
distribution. Leading axes are a batch; they broadcast against each other, so that one model can
read many sequences.

Rules: zero probabilities are allowed anywhere. A sequence that the model cannot produce has log
evidence -inf, and from its first impossible observation on the filtered rows are NaN, since there
is nothing to condition on. Its smoothed rows are all NaN.
"""

from typing import NamedTuple

import numpy as np

from mhc_np.tasks.base import require


class Filtered(NamedTuple):
    """What a filter returns.

    Parameters
    ----------
    filtered : np.ndarray, shape (..., T, S), float64
        ``[..., t, i] = p(z_t = i | x_1 .. x_t)``.
    log_evidence : np.ndarray, shape (...), float64
        Natural logarithm of ``p(x_1 .. x_T)``, in nats.
    """

    filtered: np.ndarray
    log_evidence: np.ndarray


def filter(initial, transition, emission, observations):
    """Filter in probability space: predict, weigh by the likelihood, divide by the sum.

    Dividing at every step keeps the numbers near 1 however long the sequence; the divisors are
    ``p(x_t | x_1 .. x_t-1)`` and their logarithms add up to the log evidence. Where a single step
    multiplies probabilities that underflow together (below 1e-308), use `filter_log`.

    Parameters
    ----------
    initial : array_like, shape (..., S)
        Distribution of the first hidden state, before its observation.
    transition : array_like, shape (..., S, S)
    emission : array_like, shape (..., S, V)
    observations : array_like of int, shape (..., T)
        In ``0 .. V - 1``.

    Returns
    -------
    Filtered

    Raises
    ------
    ValueError
        If shapes disagree, rows are not distributions, or an observation is no symbol.

    Examples
    --------
    A guard underground sees an umbrella on two days. It rains with probability 1/2 at first, the
    weather stays as it is with 0.7, umbrellas come with rain at 0.9 and without at 0.2. Day one:
    0.45 against 0.10, so rain has 0.45 / 0.55 = 0.818.

    >>> rain = filter([0.5, 0.5], [[0.7, 0.3], [0.3, 0.7]], [[0.9, 0.1], [0.2, 0.8]], [0, 0])
    >>> rain.filtered.round(3)
    array([[0.818, 0.182],
           [0.883, 0.117]])
    >>> float(np.exp(rain.log_evidence).round(4))  # 0.55 * (0.9 * 0.627 + 0.2 * 0.373)
    0.3515
    """
    initial, transition, likelihood = prepare("filter", initial, transition, emission, observations)
    filtered = np.empty_like(likelihood)
    evidence = np.empty(likelihood.shape[:-1])
    predicted = initial
    with np.errstate(divide="ignore", invalid="ignore"):  # 0 / 0 is the NaN of the rule above
        for t in range(likelihood.shape[-2]):
            joint = predicted * likelihood[..., t, :]
            evidence[..., t] = joint.sum(axis=-1)
            filtered[..., t, :] = joint / evidence[..., t, None]
            predicted = _predict(filtered[..., t, :], transition)
        log_evidence = np.log(evidence).sum(axis=-1)
    return Filtered(filtered, np.where(np.isnan(log_evidence), -np.inf, log_evidence)[()])


def filter_log(initial, transition, emission, observations):
    """Filter in log space: a second derivation of the same numbers.

    Here the recursion runs on ``log p(z_t = j, x_1 .. x_t)``, which only falls as t grows and is
    never rescaled. Arguments and result as for `filter`; slower, and safe from underflow.
    """
    initial, transition, likelihood = prepare("filter_log", initial, transition, emission, observations)
    with np.errstate(divide="ignore", invalid="ignore"):
        log_transition, log_likelihood = np.log(transition), np.log(likelihood)
        joint = np.empty_like(likelihood)
        before = np.log(initial)
        for t in range(likelihood.shape[-2]):
            joint[..., t, :] = before + log_likelihood[..., t, :]
            before = np.logaddexp.reduce(joint[..., t, :, None] + log_transition, axis=-2)
        evidence = np.logaddexp.reduce(joint, axis=-1)  # log p(x_1 .. x_t) for every t
        filtered = np.exp(joint - evidence[..., None])
    nothing_seen = np.zeros((*evidence.shape[:-1], 1))
    return Filtered(filtered, np.concatenate([nothing_seen, evidence], axis=-1)[..., -1])


def smooth(initial, transition, emission, observations):
    """Return ``p(z_t = i | x_1 .. x_T)``, shape (..., T, S): every state in the light of all evidence.

    Walks back from the last filtered row. Given z_t+1 = j the later observations say no more about
    z_t, so the filtered weight of i is split over j by ``p(z_t = i | z_t+1 = j, x_1 .. x_t)`` and
    summed with the smoothed weights of j. Arguments as for `filter`.

    >>> smooth([0.5, 0.5], [[0.7, 0.3], [0.3, 0.7]], [[0.9, 0.1], [0.2, 0.8]], [0, 0]).round(3)
    array([[0.883, 0.117],
           [0.883, 0.117]])
    """
    filtered = filter(initial, transition, emission, observations).filtered
    transition = np.asarray(transition, dtype=np.float64)
    smoothed = filtered.copy()
    for t in reversed(range(filtered.shape[-2] - 1)):
        predicted = _predict(filtered[..., t, :], transition)
        # Where predicted is 0 the smoothed weight is 0 as well, and so is their ratio here.
        ratio = smoothed[..., t + 1, :] / np.where(predicted == 0, 1.0, predicted)
        smoothed[..., t, :] *= (transition @ ratio[..., None])[..., 0]
    return smoothed


def _predict(belief, transition):
    """Move a belief (..., S) one step on: sum over i of belief[i] transition[i, j]."""
    return (belief[..., None, :] @ transition)[..., 0, :]


def prepare(name, initial, transition, emission, observations):
    """Check the arguments; return initial, transition and the likelihoods (..., T, S) of the data."""
    initial, transition, emission = (np.asarray(rows, dtype=np.float64) for rows in (initial, transition, emission))
    observations = np.asarray(observations)
    S, shapes = initial.shape[-1:], (initial.shape, transition.shape, emission.shape)
    require(
        S and transition.shape[-2:] == S + S and emission.ndim >= 2 and emission.shape[-2:-1] == S,
        f"{name}: want initial (..., S), transition (..., S, S), emission (..., S, V), "
        f"got {', '.join(map(str, shapes))}",
    )
    for what, rows in (("initial", initial), ("transition", transition), ("emission", emission)):
        require(
            (rows >= 0).all() and (np.abs(rows.sum(axis=-1) - 1) < 1e-6).all(),
            f"{name}: want rows of {what} that are >= 0 and sum to 1; divide them by their sum",
        )
    V = emission.shape[-1]
    require(
        observations.ndim >= 1 and np.issubdtype(observations.dtype, np.integer),
        f"{name}: want observations (..., T) of integers, got {observations.dtype} of shape {observations.shape}",
    )
    require(
        observations.size == 0 or (observations.min() >= 0 and observations.max() < V),
        f"{name}: want observations in 0 .. {V - 1}, as emission has {V} columns",
    )
    batch = np.broadcast_shapes(
        *(shape[:-k] for shape, k in zip(shapes, (1, 2, 2), strict=True)), observations.shape[:-1]
    )
    emission = np.broadcast_to(emission, batch + emission.shape[-2:]).swapaxes(-1, -2)
    observations = np.broadcast_to(observations, batch + observations.shape[-1:])
    return initial, transition, np.take_along_axis(emission, observations[..., None], axis=-2)
