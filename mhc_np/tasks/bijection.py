"""Bijection elimination: guess the partner of each new key, while used partners drop out.

Chapter: chapters/03_tasks.md      Tests: tests/test_tasks_bijection.py
Symbols: V -> num_symbols, bijection pi -> bijections (B, V), pairs shown -> num_pairs

A secret bijection from V keys to V values is drawn afresh for every sequence, which then reads

    k_1 v_1 k_2 v_2 ... k_V        with v_i = pi(k_i) and the keys in random order.

Keys and values have separate ids: key a is token ``a``, value b is token ``V + b``. At every *key*
the label is the value that follows, which the model has not read yet. A key is never repeated, so
its name says nothing about its value; all that counts is which values are used up. Before pair k
that leaves V - k + 1 equally likely ones: the posterior is uniform over them and its entropy is
log2(V - k + 1) bits.

With V = 20 there are 20! = 2.4e18 bijections, so nothing can be learned by heart.
"""

from dataclasses import dataclass

import numpy as np

from mhc_np.tasks.base import Batch, distinct_rows, require


@dataclass(frozen=True)
class Config:
    """Sizes of the task.

    Parameters
    ----------
    num_symbols : int
        V, the number of keys and of values; at least 2.
    num_pairs : int, optional
        Keys shown in a sequence, at most V; all V by default. (With all V, the last value is
        certain.)
    """

    num_symbols: int = 20
    num_pairs: int | None = None

    def __post_init__(self):
        """Check the sizes and resolve the default."""
        V = self.num_symbols
        if self.num_pairs is None:
            object.__setattr__(self, "num_pairs", V)
        for name in ("num_symbols", "num_pairs"):
            size = getattr(self, name)
            whole = isinstance(size, int | np.integer) and not isinstance(size, bool)
            require(whole, f"bijection: want {name} to be a whole number, got {size!r}")
        require(V >= 2, f"bijection: want num_symbols >= 2, got {V}")
        require(
            1 <= self.num_pairs <= V,
            f"bijection: want 1 <= num_pairs <= num_symbols = {V}, got {self.num_pairs}",
        )

    @property
    def num_ids(self):
        """Number of token ids: V keys, then V values."""
        return 2 * self.num_symbols

    @property
    def num_outputs(self):
        """Number of labels: the V values, numbered from 0."""
        return self.num_symbols

    @property
    def num_positions(self):
        """T = 2 num_pairs - 1: the last value is only ever a label."""
        return 2 * self.num_pairs - 1


def draw_bijections(config, rng, count):
    """Draw uniform bijections, (count, V) of int64; ``[b, a]`` is the value of key a in bijection b."""
    order = np.arange(config.num_symbols)
    return rng.permuted(np.broadcast_to(order, (count, order.size)), axis=1)


def present(config, rng, bijections):
    """Show each of the given bijections (B, V) with its keys in a fresh random order; return a Batch of B sequences.

    Showing the same bijections again is how one asks whether a model remembers the ones it was
    trained on.

    Raises
    ------
    ValueError
        If a row is no bijection.
    """
    V = config.num_symbols
    bijections = distinct_rows("bijection: want bijections", bijections, range(V), columns=V)
    keys = draw_bijections(config, rng, len(bijections))  # a random order of V keys is a permutation too
    return encode(config, keys, np.take_along_axis(bijections, keys, axis=1))


def encode(config, keys, values):
    """Write pairs as a Batch. No randomness.

    Parameters
    ----------
    config : Config
    keys, values : array_like of int, shape (B, at least num_pairs)
        In ``0 .. V - 1``, without repeats in a row; ``values[b, i]`` is the partner of ``keys[b,
        i]``.

    Returns
    -------
    Batch
        ``inputs`` (B, 2 num_pairs - 1), labels at the even positions 0, 2, 4, ...

    Raises
    ------
    ValueError
        If keys or values repeat in a row, lie outside their range, or are too few.

    Examples
    --------
    >>> batch = encode(Config(num_symbols=3), keys=[[2, 0, 1]], values=[[1, 2, 0]])
    >>> batch.inputs  # key 2, value 1 (id 3 + 1), key 0, value 2 (id 3 + 2), key 1
    array([[2, 4, 0, 5, 1]])
    >>> batch.targets[batch.mask]
    array([1, 2, 0])
    """
    keys, values = (
        distinct_rows(f"bijection: want {name}", rows, range(config.num_symbols))
        for name, rows in (("keys", keys), ("values", values))
    )
    require(
        keys.shape == values.shape and keys.shape[1] >= config.num_pairs,
        f"bijection: want keys and values of one shape (B, at least {config.num_pairs}), "
        f"got {keys.shape} and {values.shape}",
    )
    keys, values = keys[:, : config.num_pairs], values[:, : config.num_pairs]
    inputs = np.empty((len(keys), config.num_positions), dtype=np.int64)
    inputs[:, 0::2] = keys
    inputs[:, 1::2] = config.num_symbols + values[:, :-1]
    targets = np.zeros_like(inputs)
    targets[:, 0::2] = values
    mask = np.zeros(inputs.shape, dtype=bool)
    mask[:, 0::2] = True
    return Batch(inputs, targets, mask)


def sample(config, rng, batch_size):
    """Draw a Batch of sequences, each with its own bijection, from the generator ``rng``.

    Its ``inputs`` are ids (batch_size, 2 num_pairs - 1); every key has a label.
    """
    return present(config, rng, draw_bijections(config, rng, batch_size))


def posterior(config, batch):
    """Exact distribution of the label given the sequence so far: uniform over the unused values.

    Parameters
    ----------
    config : Config
    batch : Batch
        Only ``inputs`` is read: the posterior cannot peek at the labels. Keys stand at the even
        positions and values at the odd ones, none of them twice.

    Returns
    -------
    np.ndarray, shape (B, T, V), float64
        ``[b, t, v] = p(label = v | inputs[b, :t + 1])`` at keys, NaN at values (no label there).

    Raises
    ------
    ValueError
        If the inputs are no sequences of this task.

    Examples
    --------
    >>> config = Config(num_symbols=3)
    >>> posterior(config, encode(config, keys=[[2, 0, 1]], values=[[1, 2, 0]]))[0, 0::2].round(3)
    array([[0.333, 0.333, 0.333],
           [0.5  , 0.   , 0.5  ],
           [1.   , 0.   , 0.   ]])
    """
    V, num_pairs = config.num_symbols, config.num_pairs
    values = _shown_values(config, batch.inputs)
    pair = np.arange(num_pairs)
    used_in = np.full((len(values), V), num_pairs)  # the pair that uses up each value; last: none
    np.put_along_axis(used_in, values, np.broadcast_to(pair[:-1], values.shape), axis=1)
    unused = used_in[:, None, :] >= pair[:, None]  # (B, num_pairs, V), before each pair
    rows = np.full((len(values), config.num_positions, V), np.nan)
    rows[:, 0::2] = unused / (V - pair)[:, None]
    return rows


def _shown_values(config, inputs):
    """Return the values in ``inputs``, numbered from 0, once it is sure that this task could show these sequences."""
    V, inputs = config.num_symbols, np.asarray(inputs)
    require(
        inputs.ndim == 2 and inputs.shape[1] == config.num_positions,
        f"bijection: want inputs (B, {config.num_positions}), got {inputs.shape}",
    )
    distinct_rows("bijection: want the ids of keys (even positions)", inputs[:, 0::2], range(V))
    return distinct_rows("bijection: want the ids of values (odd positions)", inputs[:, 1::2], range(V, 2 * V)) - V
