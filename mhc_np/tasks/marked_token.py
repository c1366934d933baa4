"""Marked token: one symbol in the sequence carries a mark, and later labels are noisy copies of it.

Chapter: chapters/08_em.md      Tests: tests/test_tasks_marked_token.py
Symbols: V -> num_symbols, fidelity of the copy -> fidelity, marked place m -> where the flag is 1,
         one-hot symbol, flag, constant 1 -> inputs (B, T, V + 2)

T symbols are drawn uniformly. A place m in the first half is marked. At every place of the second half the label is
the marked symbol with probability ``fidelity``, and otherwise one of the others. The mark has always been read by then,
so the posterior is the channel's row for the marked symbol, at every labelled place.

This task cannot be solved without routing. A model that weighs all places alike sees the bag of symbols but not which
of them was marked, and `bag_posterior` is the best that it can do: close to uniform. One attention head that looks at
the flag is enough.
"""

from dataclasses import dataclass

import numpy as np

from mhc_np.tasks.base import Batch, require


@dataclass(frozen=True)
class Config:
    """Sizes of the task.

    Parameters
    ----------
    num_symbols : int
        V, at least 2.
    num_positions : int
        T, at least 2.
    fidelity : float
        Probability in [0, 1] that a label is the marked symbol; the rest is shared by the other symbols.
    """

    num_symbols: int = 8
    num_positions: int = 32
    fidelity: float = 0.9

    def __post_init__(self):
        """Check the sizes."""
        require(self.num_symbols >= 2, f"marked_token: want num_symbols >= 2, got {self.num_symbols}")
        require(self.num_positions >= 2, f"marked_token: want num_positions >= 2, got {self.num_positions}")
        require(0 <= self.fidelity <= 1, f"marked_token: want fidelity in [0, 1], got {self.fidelity}")

    @property
    def num_outputs(self):
        """Number of labels: the V symbols."""
        return self.num_symbols

    @property
    def num_features(self):
        """One feature for each symbol, the flag, and a constant 1."""
        return self.num_symbols + 2


def channel(config):
    """Return the channel (V, V): ``[a, v]`` is the probability of label v when symbol a is marked.

    >>> channel(Config(num_symbols=3, fidelity=0.8)).round(2)
    array([[0.8, 0.1, 0.1],
           [0.1, 0.8, 0.1],
           [0.1, 0.1, 0.8]])
    """
    V = config.num_symbols
    other = (1 - config.fidelity) / (V - 1)
    return np.full((V, V), other) + (config.fidelity - other) * np.eye(V)


def encode(config, symbols, marks, labels):
    """Write sequences as a Batch. No randomness.

    Parameters
    ----------
    config : Config
    symbols : array_like of int, shape (B, T)
    marks : array_like of int, shape (B,)
        The marked place, in ``0 .. T // 2 - 1``.
    labels : array_like of int, shape (B, T)
        Read in the second half only.
    """
    symbols, marks = np.asarray(symbols), np.asarray(marks)
    for name, ids, stop in (("symbols", symbols, config.num_symbols), ("marks", marks, config.num_positions // 2)):
        require(
            ids.dtype.kind in "iu" and (ids >= 0).all() and (ids < stop).all(),
            f"marked_token: want {name} as whole numbers in 0 .. {stop - 1}, got {ids.tolist()}",
        )
    place = np.arange(config.num_positions)
    flags = place == marks[:, None]
    inputs = np.concatenate(
        [np.eye(config.num_symbols)[symbols], flags[..., None], np.ones_like(flags)[..., None]], axis=-1
    )
    mask = np.broadcast_to(place >= config.num_positions // 2, symbols.shape).copy()
    return Batch(inputs.astype(np.float32), np.where(mask, labels, 0).astype(np.int64), mask)


def sample(config, rng, batch_size):
    """Draw fresh sequences, each with its own symbols, mark and labels.

    Returns
    -------
    Batch
        ``inputs`` (B, T, V + 2) features as `encode` writes them, labels in the second half; B is ``batch_size``.
    """
    V, T = config.num_symbols, config.num_positions
    symbols = rng.integers(V, size=(batch_size, T))
    marks = rng.integers(T // 2, size=batch_size)
    marked = np.take_along_axis(symbols, marks[:, None], axis=1)
    shift = rng.integers(1, V, size=(batch_size, T))  # to one of the V - 1 others
    labels = np.where(rng.random((batch_size, T)) < config.fidelity, marked, (marked + shift) % V)
    return encode(config, symbols, marks, labels)


def posterior(config, batch):
    """Exact distribution of the label: the channel's row for the marked symbol, NaN in the first half.

    Examples
    --------
    >>> config = Config(num_symbols=2, num_positions=4, fidelity=0.75)
    >>> batch = encode(config, symbols=[[0, 1, 0, 0]], marks=[1], labels=[[0, 0, 1, 1]])
    >>> posterior(config, batch)[0]
    array([[ nan,  nan],
           [ nan,  nan],
           [0.25, 0.75],
           [0.25, 0.75]])
    """
    V = config.num_symbols
    inputs = np.asarray(batch.inputs, dtype=np.float64)
    marked = (inputs[..., :V] * inputs[..., V : V + 1]).sum(axis=1)  # one-hot (B, V)
    return np.where(batch.mask[..., None], (marked @ channel(config))[:, None], np.nan)


def bag_posterior(config, batch):
    """Exact distribution of the label for a reader of the *sum* of the inputs so far: of a bag of symbols.

    The sum tells how often each symbol came and that a mark came, not to which of them. Symbols and mark are drawn
    independently, so the marked symbol is any one of the t seen so far with equal probability: the channel's rows are
    mixed by the counts. No model whose attention is uniform does better than this.

    >>> config = Config(num_symbols=2, num_positions=4, fidelity=1.0)
    >>> batch = encode(config, symbols=[[0, 1, 0, 0]], marks=[1], labels=[[0, 0, 1, 1]])
    >>> bag_posterior(config, batch)[0, 2:].round(3)  # two zeros in three, then three in four
    array([[0.667, 0.333],
           [0.75 , 0.25 ]])
    """
    one_hot = np.asarray(batch.inputs, dtype=np.float64)[..., : config.num_symbols]
    share = np.cumsum(one_hot, axis=1) / np.arange(1, config.num_positions + 1)[:, None]
    return np.where(batch.mask[..., None], share @ channel(config), np.nan)


def bayes_nats(config):
    """Entropy of the channel, in nats: the least loss that any model can reach.

    >>> round(bayes_nats(Config()), 4)
    0.5197
    """
    row = channel(config)[0]
    row = row[row > 0]
    return float(-(row * np.log(row)).sum())
