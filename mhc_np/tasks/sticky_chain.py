"""Sticky chain: foretell the next symbol of a Markov chain that is only seen through noise.

Chapter: chapters/08_em.md      Tests: tests/test_tasks_sticky_chain.py
Symbols: V -> num_symbols, P -> transition_matrix(config) (V, V), μ_k -> means(config) (V, F),
         s_t -> symbols (B, T + 1), x_t = μ_{s_t} + σ·noise -> inputs (B, T, F), label s_{t+1} -> targets (B, T)

V symbols sit on a ring. The chain stays where it is with probability ``self_transition`` and otherwise jumps to symbol
j with a probability proportional to 1 / (distance on the ring). Every sequence is drawn afresh and starts from the
chain's stationary distribution, which is uniform because each row of P is the one above it, turned by one place.

Two numbers bound what a model can reach. The *entropy rate* is the price of the next symbol for someone who sees the
chain itself. The inputs show it through noise, so the attainable value is the *Bayes value*, the mean entropy of the
forward filter's forecast; it has no closed form and is measured on long fresh sequences (`bayes_nats`).
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mhc_np.tasks.base import Batch, require


@dataclass(frozen=True)
class Config:
    """Sizes of the task.

    Parameters
    ----------
    num_symbols : int
        V, at least 2.
    self_transition : float
        The diagonal of the transition matrix, exactly; in [0, 1).
    as_released : bool
        The matrix of the code released with arXiv 2512.22473. There 1 / distance is ``self_transition`` on the
        diagonal *before* the rows are divided by their sum, so that a nominal .3 comes out as .3498.
    noise : float
        σ, the standard deviation of the noise on each feature; above 1e-100, so that 1/σ² is finite.
    num_features : int
        F.
    num_positions : int
        T, the number of symbols shown.
    means_seed : int
        Fixes μ. The means are part of the task and the same in every sequence.
    """

    num_symbols: int = 8
    self_transition: float = 0.3
    as_released: bool = False
    noise: float = 1.0
    num_features: int = 20
    num_positions: int = 64
    means_seed: int = 0

    def __post_init__(self):
        """Check the sizes."""
        require(self.num_symbols >= 2, f"sticky_chain: want num_symbols >= 2, got {self.num_symbols}")
        stays = self.self_transition
        require(0 <= stays < 1, f"sticky_chain: want self_transition in [0, 1), got {stays}")
        require(
            1e-100 < self.noise < np.inf,
            f"sticky_chain: want noise > 1e-100, and finite, got {self.noise}; a noise of 1e-3 shows the chain plainly",
        )
        require(
            self.num_features >= 1 and self.num_positions >= 1,
            f"sticky_chain: want num_features and num_positions >= 1, got {self.num_features}, {self.num_positions}",
        )

    @property
    def num_outputs(self):
        """Number of labels: the V symbols."""
        return self.num_symbols


class Estimate(NamedTuple):
    """A Monte Carlo mean and its standard error."""

    mean: float
    standard_error: float


def transition_matrix(config):
    """Return P (V, V), ``P[i, j] = p(next is j given now is i)``.

    Examples
    --------
    Eight on a ring: a neighbour is four times as likely as the symbol opposite.

    >>> transition_matrix(Config())[0, :5].round(4)
    array([0.3   , 0.1787, 0.0894, 0.0596, 0.0447])
    >>> transition_matrix(Config(as_released=True))[0, :5].round(4)
    array([0.3498, 0.166 , 0.083 , 0.0553, 0.0415])
    """
    step = np.arange(config.num_symbols)
    distance = np.minimum(step, config.num_symbols - step)
    closeness = 1.0 / np.maximum(distance, 1)
    closeness[0] = config.self_transition if config.as_released else 0.0
    row = (1 - config.self_transition) * closeness / closeness.sum()
    row[0] += config.self_transition
    return row[(step[None, :] - step[:, None]) % config.num_symbols]


def means(config):
    """Return μ (V, F): standard normal vectors, fixed by the config."""
    return np.random.default_rng(config.means_seed).standard_normal((config.num_symbols, config.num_features))


def entropy_rate_nats(config):
    """Entropy of the next symbol when the present one is known: the floor under every loss, in nats.

    >>> round(entropy_rate_nats(Config(as_released=True)), 4)
    1.8292
    """
    row = transition_matrix(config)[0]  # every row holds the same numbers
    row = row[row > 0]
    return float(-(row * np.log(row)).sum())


def draw_symbols(config, rng, count):
    """Draw chains, (count, T + 1) of int64, from the stationary distribution on."""
    steps = rng.choice(config.num_symbols, size=(count, config.num_positions), p=transition_matrix(config)[0])
    start = rng.integers(config.num_symbols, size=(count, 1))
    return np.cumsum(np.concatenate([start, steps], axis=1), axis=1) % config.num_symbols


def sample(config, rng, batch_size):
    """Draw a Batch of fresh sequences: inputs (batch_size, T, F), noisy views of s_1 … s_T; labels s_2 … s_{T+1}."""
    symbols = draw_symbols(config, rng, batch_size)
    shown = means(config)[symbols[:, :-1]]
    inputs = shown + config.noise * rng.standard_normal(shown.shape)
    return Batch(inputs.astype(np.float32), symbols[:, 1:].astype(np.int64), np.ones(symbols[:, 1:].shape, bool))


def filtered(config, inputs):
    """Return p(s_t | x_1 … x_t), shape (B, T, V), by the forward filter."""
    inputs = np.asarray(inputs, dtype=np.float64)
    mu, transition = means(config), transition_matrix(config)
    # The part of |x - μ|² that is the same for all symbols falls out of the posterior.
    log_likelihood = (inputs @ mu.T - 0.5 * (mu * mu).sum(axis=1)) / config.noise**2
    log_likelihood -= log_likelihood.max(axis=-1, keepdims=True)
    likelihood = np.exp(log_likelihood)
    rows = np.empty_like(likelihood)
    belief = np.full((len(inputs), config.num_symbols), 1 / config.num_symbols)
    for t in range(inputs.shape[1]):
        joint = belief * likelihood[:, t]
        rows[:, t] = joint / joint.sum(axis=-1, keepdims=True)
        belief = rows[:, t] @ transition
    return rows


def posterior(config, batch):
    """Exact forecast: the filtered belief moved one step on.

    Parameters
    ----------
    config : Config
    batch : Batch
        Only ``inputs`` is read.

    Returns
    -------
    np.ndarray, shape (B, T, V), float64
        ``[b, t, v] = p(s_{t+1} = v | x_1 … x_t)``.

    Examples
    --------
    With hardly any noise the symbol is plain, and the forecast is its row of P.

    >>> config = Config(num_symbols=2, self_transition=0.9, noise=1e-3)
    >>> shown = means(config)[[[0, 0, 1]]]
    >>> posterior(config, Batch(shown, None, None))[0].round(3)
    array([[0.9, 0.1],
           [0.9, 0.1],
           [0.1, 0.9]])
    """
    return filtered(config, batch.inputs) @ transition_matrix(config)


def bayes_nats(config, rng, batch_size):
    """Mean entropy of the exact forecast, in nats: the least loss that any model can reach on average.

    Parameters
    ----------
    config : Config
        Take ``num_positions`` long for the limit, or the training length for a fair comparison.
    rng : np.random.Generator
    batch_size : int
        Number of independent sequences, at least 2; the standard error is taken over their means.

    Returns
    -------
    Estimate
        In nats. The entropy of the forecast is used rather than minus its logarithm at the label: the two have the
        same mean, and this one varies less.
    """
    require(batch_size >= 2, f"bayes_nats: want batch_size >= 2, got {batch_size}")
    p = posterior(config, sample(config, rng, batch_size))
    entropy = -np.where(p > 0, p * np.log(np.where(p > 0, p, 1.0)), 0.0).sum(axis=-1).mean(axis=1)
    return Estimate(float(entropy.mean()), float(entropy.std(ddof=1) / np.sqrt(batch_size)))
