"""Bayesian linear regression in context: predict y from x after seeing a few examples.

Chapter: chapters/03_tasks.md      Tests: tests/test_tasks_regression.py
Symbols: d -> num_weights, w -> the secret weights (B, d), x_k -> x (B, N, d), y_k -> y (B, N),
         sigma -> noise, posterior predictive N(m, s^2) -> Predictive(mean, variance) (B, N)

Every sequence has secret weights w ~ N(0, I / d) and reads x_1 y_1 x_2 y_2 ... x_N, where
x_k ~ N(0, I) and y_k = w . x_k + sigma e_k. At every x the label is the y that follows.

How is an answer compared? The line of y is cut into bins, the label is the bin, and a model answers
with a probability for each. This approximates nothing: given the past, a bin's exact probability is
a difference of two normal distribution functions, and it is what cross-entropy on bin labels is
minimised by. It checks the whole predictive, spread as well as mean, where a squared error would
check the mean alone, and it shares every measure, in bits, with the other tasks.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mhc_np.tasks.base import Batch, require


@dataclass(frozen=True)
class Config:
    """Sizes and scales of the task.

    Parameters
    ----------
    num_weights : int
        d, the dimension of x and w.
    num_points : int
        N, how many x are shown.
    noise : float
        sigma > 0, in units of y. Without noise y has a standard deviation of 1.
    num_bins : int
        Bins of y, at least 2: equal widths between -limit and limit, and an open bin on each side.
    limit : float
        Where the open bins begin, in units of y.
    """

    num_weights: int = 2
    num_points: int = 16
    noise: float = 0.5
    num_bins: int = 16
    limit: float = 2.5

    def __post_init__(self):
        """Check every field."""
        require(
            min(self.num_weights, self.num_points) >= 1 and self.num_bins >= 2,
            "regression: want num_weights, num_points >= 1 and num_bins >= 2, "
            f"got {self.num_weights}, {self.num_points}, {self.num_bins}",
        )
        require(
            self.noise > 0 and self.limit > 0,
            f"regression: want noise > 0 and limit > 0, got {self.noise}, {self.limit}",
        )

    @property
    def num_features(self):
        """F = d + 3: x and a constant for tokens of x, y and a constant for tokens of y."""
        return self.num_weights + 3

    @property
    def num_outputs(self):
        """Number of labels: the bins of y, from low to high."""
        return self.num_bins

    @property
    def num_positions(self):
        """T = 2 N - 1: the last y is only ever a label."""
        return 2 * self.num_points - 1

    @property
    def edges(self):
        """The num_bins - 1 inner edges; bin i holds ``edges[i - 1] <= y < edges[i]``."""
        return np.linspace(-self.limit, self.limit, self.num_bins - 1)


class Predictive(NamedTuple):
    """Mean and variance of y_k given x_k and all earlier pairs, (B, N) each; the noise is included."""

    mean: np.ndarray
    variance: np.ndarray


def encode(config, x, y):
    """Write points x (B, N, d) and answers y (B, N) as a Batch. No randomness.

    A token of x is ``[x, 1, 0, 0]`` and a token of y is ``[0 .. 0, 0, y, 1]``: blocks of their own,
    so that one linear map of the features is one map, and one bias, for each kind of token.
    """
    d = config.num_weights
    inputs = np.zeros((len(x), config.num_positions, config.num_features), dtype=np.float32)
    inputs[:, 0::2, :d], inputs[:, 0::2, d] = x, 1.0
    inputs[:, 1::2, d + 1], inputs[:, 1::2, d + 2] = y[:, :-1], 1.0
    targets = np.zeros(inputs.shape[:2], dtype=np.int64)
    targets[:, 0::2] = np.searchsorted(config.edges, y, side="right")
    mask = np.zeros(inputs.shape[:2], dtype=bool)
    mask[:, 0::2] = True
    return Batch(inputs, targets, mask)


def sample(config, rng, batch_size):
    """Draw sequences, each with weights of its own.

    Parameters
    ----------
    config : Config
    rng : np.random.Generator
    batch_size : int
        B.

    Returns
    -------
    Batch
        ``inputs`` (B, 2 num_points - 1, F) features; the label at each x is the bin of its y.
    """
    shape = batch_size, config.num_points, config.num_weights
    w = rng.standard_normal((batch_size, config.num_weights)) / math.sqrt(config.num_weights)
    x = rng.standard_normal(shape, dtype=np.float32)  # as the inputs hold it
    y = (x @ w[..., None])[..., 0] + config.noise * rng.standard_normal(shape[:2])
    return encode(config, x, y)


def predictive(config, x, y):
    """Posterior predictive of every y_k before it is seen, in closed form, one point at a time.

    Weights are N(m, C) given the points so far, at first N(0, I / d). At a new x the predictive is
    ``N(m . x, x . C x + sigma^2)``. Once y is seen, with g = C x / variance, the weights move by g
    times the surprise, ``m += g (y - m . x)``, and their covariance shrinks, ``C -= g (C x)^T``.

    Parameters
    ----------
    config : Config
    x : array_like, shape (B, N, d)
    y : array_like, shape (B, N - 1) or (B, N)
        The last y, if given, is not used.

    Returns
    -------
    Predictive

    Examples
    --------
    One weight, sigma = 1. Before any point the variance at x = 1 is 1 + 1. Seeing y = 2 there moves
    the mean half-way and halves the variance of w: 1/2 + 1.

    >>> config = Config(num_weights=1, num_points=2, noise=1.0)
    >>> predictive(config, x=[[[1.0], [1.0]]], y=[[2.0]])
    Predictive(mean=array([[0., 1.]]), variance=array([[2. , 1.5]]))
    """
    x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    B, N, d = x.shape
    m, C = np.zeros((B, d)), np.tile(np.eye(d) / d, (B, 1, 1))
    mean, variance = np.empty((B, N)), np.empty((B, N))
    for k in range(N):
        Cx = (C @ x[:, k, :, None])[..., 0]
        mean[:, k] = (m * x[:, k]).sum(axis=-1)
        variance[:, k] = (Cx * x[:, k]).sum(axis=-1) + config.noise**2
        if k + 1 < N:
            gain = Cx / variance[:, k, None]
            m = m + gain * (y[:, k] - mean[:, k])[:, None]
            C = C - gain[:, :, None] * Cx[:, None, :]
    return Predictive(mean, variance)


def posterior(config, batch):
    """Exact probability of each bin of y, (B, T, num_bins) in float64; NaN at tokens of y.

    Reads ``inputs`` only: the x and y that a model is shown, in float32.
    """
    d, inputs = config.num_weights, np.asarray(batch.inputs)
    mean, variance = predictive(config, inputs[:, 0::2, :d], inputs[:, 1::2, d + 1])
    z = (config.edges - mean[..., None]) / np.sqrt(variance)[..., None]
    rows = np.full((*batch.mask.shape, config.num_bins), np.nan)
    rows[:, 0::2] = _between(z)
    return rows


def _between(z):
    """Return the standard normal's mass below, between and above the edges z, (..., M) -> (..., M + 1).

    Only the tail beyond ``|z|`` is computed, which keeps its digits far out, where 1 - tail has none.
    """
    tail = (_erfc(np.abs(z) / math.sqrt(2.0)) / 2).astype(np.float64)
    lower = np.where(z < 0, tail, 1.0 - tail)
    upper = np.where(z < 0, 1.0 - tail, tail)
    middle = np.where(z[..., :-1] > 0, -np.diff(upper, axis=-1), np.diff(lower, axis=-1))
    return np.concatenate([lower[..., :1], middle, upper[..., -1:]], axis=-1)


_erfc = np.frompyfunc(math.erfc, 1, 1)  # NumPy has no error function
