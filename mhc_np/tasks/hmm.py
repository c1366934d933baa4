"""Tracking a hidden state: every sequence has a hidden Markov model of its own.

Chapter: chapters/03_tasks.md      Tests: tests/test_tasks_hmm.py
Symbols: S -> num_states, V -> num_symbols, K -> num_observations, A -> transition (B, S, S),
         E -> emission (B, S, V), z_t -> targets (B, T)

For every sequence the rows of A and E are drawn uniformly from the simplex, Dirichlet(1, .., 1).
They are given in a header (`mhc_np.tasks.hmm_header`), then come K observations. At observation t
the label is the hidden state z_t, so the posterior is the filtered distribution p(z_t | x_1 ..
x_t). The parameters are real numbers and never seen twice: what can be learned is the filter, not
a table.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mhc_np.tasks import hmm_header
from mhc_np.tasks.base import Batch, require
from mhc_np.tasks.filtering import Filtered, filter, filter_log, smooth
from mhc_np.tasks.hmm_header import HEADERS
from mhc_np.tasks.windows import PRIORS, stationary, windowed_filter

__all__ = [
    "HEADERS",
    "Config",
    "Filtered",
    "Known",
    "draw_paths",
    "draw_rows",
    "encode",
    "filter",
    "filter_log",
    "known",
    "posterior",
    "sample",
    "smooth",
    "stationary",
    "windowed_filter",
]


@dataclass(frozen=True)
class Config:
    """Sizes and variants of the task.

    Parameters
    ----------
    num_states, num_symbols : int
        S and V.
    num_observations : int
        K, the horizon. Raise it to ask for longer sequences than a model was trained on.
    header : str
        A key of `HEADERS`: what the header tokens hold.
    initial : {"uniform", "stationary"}
        Distribution of z_1, known to the observer; it is not written in the header.
    min_prob : float
        Raise every probability to at least this before dividing rows by their sum. 0: leave them.
    decimals : int, optional
        Round rows to this many decimals, keeping their sums at 1. Default: leave them.
    """

    num_states: int = 5
    num_symbols: int = 5
    num_observations: int = 20
    header: str = "mix"
    initial: str = "uniform"
    min_prob: float = 0.0
    decimals: int | None = None

    def __post_init__(self):
        """Check every field."""
        sizes = self.num_states, self.num_symbols, self.num_observations
        require(min(sizes) >= 1, f"hmm: want sizes S, V, K >= 1, got {sizes}")
        require(self.header in HEADERS, f"hmm: want header in {[*HEADERS]}, got {self.header!r}")
        require(self.initial in PRIORS, f"hmm: want initial in {PRIORS}, got {self.initial!r}")
        require(0 <= self.min_prob <= 1, f"hmm: want min_prob in 0 .. 1, got {self.min_prob}")
        require(
            self.decimals is None or self.decimals >= 1,
            f"hmm: want decimals >= 1 or None, got {self.decimals}",
        )

    @property
    def num_header(self):
        """Number of header tokens; observations start at this position."""
        return hmm_header.blocks(*self._layout).num_header

    @property
    def num_positions(self):
        """T, header and observations together."""
        return self.num_header + self.num_observations

    @property
    def num_features(self):
        """F, the numbers in a token."""
        return hmm_header.blocks(*self._layout).observation.stop

    @property
    def num_outputs(self):
        """Number of labels: the S hidden states."""
        return self.num_states

    @property
    def _layout(self):
        return HEADERS[self.header], self.num_states, self.num_symbols


class Known(NamedTuple):
    """What the observer of each sequence knows: the arguments of `filter`, in their order."""

    initial: np.ndarray
    transition: np.ndarray
    emission: np.ndarray
    observations: np.ndarray


def draw_rows(config, rng, shape):
    """Draw an array of ``shape`` of distributions over its last axis: Dirichlet(1), floored and rounded if asked.

    Independent exponential numbers, divided by their sum, are uniform on the simplex.
    """
    rows = rng.standard_exponential(shape)
    rows /= rows.sum(axis=-1, keepdims=True)
    if config.min_prob > 0:
        rows = np.maximum(rows, config.min_prob)
        rows /= rows.sum(axis=-1, keepdims=True)
    if config.decimals is not None:
        units = rows * 10**config.decimals
        whole = np.floor(units)
        # Hand out the units still missing from a row to its largest remainders.
        missing = np.rint(units.sum(axis=-1, keepdims=True) - whole.sum(axis=-1, keepdims=True))
        rank = (whole - units).argsort(axis=-1).argsort(axis=-1)
        rows = (whole + (rank < missing)) / 10**config.decimals
    return rows


def encode(config, transition, emission, observations, states=None):
    """Write parameters, observations (B, K) and labels (B, K) as a Batch. No randomness."""
    inputs = hmm_header.write(HEADERS[config.header], transition, emission, observations)
    mask = np.zeros(inputs.shape[:2], dtype=bool)
    mask[:, config.num_header :] = True
    targets = np.zeros(inputs.shape[:2], dtype=np.int64)
    targets[:, config.num_header :] = 0 if states is None else states
    return Batch(inputs, targets, mask)


def known(config, batch):
    """Read from each sequence what it tells: the parameters in its header, and the observations.

    Returns initial (B, S), transition (B, S, S), emission (B, S, V), all float64, and observations (B, K).
    """
    layout = config._layout
    transition, emission, observations = hmm_header.read(*layout, batch.inputs)
    if config.initial == "stationary":
        initial = stationary(transition)
    else:
        initial = np.full((len(transition), config.num_states), 1.0 / config.num_states)
    return Known(initial, transition, emission, observations)


def sample(config, rng, batch_size):
    """Draw a Batch: ``batch_size`` models, and from each a path of hidden states and its observations.

    Its ``inputs`` are features (batch_size, num_header + K, F), header first; observations have their state as label.
    """
    B, S, V, K = batch_size, config.num_states, config.num_symbols, config.num_observations
    transition, emission = draw_rows(config, rng, (B, S, S)), draw_rows(config, rng, (B, S, V))
    nothing = np.zeros((B, 0), dtype=np.int64)
    # What the header says, rounded to float32, is the model that the sequence is drawn from.
    initial, transition, emission, _ = known(config, encode(config, transition, emission, nothing))
    states, observations = draw_paths(rng, initial, transition, emission, K)
    return encode(config, transition, emission, observations, states)


def draw_paths(rng, initial, transition, emission, num_observations):
    """Walk once through each of B models, given as (B, S), (B, S, S) and (B, S, V).

    Returns the states and the observations, int64 arrays (B, num_observations).
    """
    states, sequence = np.empty((len(transition), num_observations), dtype=np.int64), np.arange(len(transition))
    rows = initial
    for t in range(num_observations):
        states[:, t] = _draw(rng, rows)
        rows = transition[sequence, states[:, t]]
    return states, _draw(rng, emission[sequence[:, None], states])


def posterior(config, batch):
    """Return the filtered distribution p(z_t | x_1 .. x_t), (B, T, S) float64; NaN in the header."""
    rows = np.full((*batch.mask.shape, config.num_states), np.nan)
    rows[:, config.num_header :] = filter(*known(config, batch)).filtered
    return rows


def _draw(rng, rows):
    """Draw one outcome from each distribution in ``rows``; never one of probability 0."""
    steps = rows.cumsum(axis=-1)
    steps /= steps[..., -1:]  # so that the last step is 1 exactly, above every random number
    return (steps <= rng.random(rows.shape[:-1])[..., None]).sum(axis=-1)
