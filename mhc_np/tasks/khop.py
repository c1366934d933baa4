"""k-hop composition: follow a random permutation, shown as pairs, for k steps from any symbol asked for.

Chapter: chapters/15_the_question.md      Tests: tests/test_tasks_khop.py
Symbols: V -> num_symbols, permutation pi -> permutations (B, V), k -> num_hops, pairs shown -> num_pairs

A secret permutation pi of V symbols is drawn afresh for every sequence, which shows pairs (a, pi(a)) in random order
and then asks for some symbols:

    (a_1, pi(a_1)) ... (a_N, pi(a_N))   a? b? c? ...        label at "a?": pi(pi(... pi(a))), k times

One hop is a look-up. Two are a look-up of what a look-up found, and so on: a wind tunnel in which depth is worth
something. A pair is *one* token, so that no layer is spent on joining a key to its value, and what depth the task asks
for is what the hops ask for. A token holds three one-hot blocks of V features: key, value, symbol asked for.

When all pairs are shown the answer is certain. When some are missing it is a real posterior: the walk is certain up to
the first missing pair, from where each unused value is equally likely, and so on, the values that the walk itself uses
up included.
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
        V, at least 2.
    num_hops : int
        k, how often the permutation is applied; at least 1.
    num_pairs : int, optional
        Pairs shown, at most V; all V by default.
    num_queries : int, optional
        Symbols asked for, each once, at most V; all V by default.
    """

    num_symbols: int = 8
    num_hops: int = 2
    num_pairs: int | None = None
    num_queries: int | None = None

    def __post_init__(self):
        """Check the sizes and resolve the defaults."""
        V = self.num_symbols
        for name in ("num_pairs", "num_queries"):
            if getattr(self, name) is None:
                object.__setattr__(self, name, V)
        sizes = {"num_symbols": (2, None), "num_hops": (1, None), "num_pairs": (0, V), "num_queries": (1, V)}
        for name, (least, most) in sizes.items():
            size = getattr(self, name)
            whole = isinstance(size, int | np.integer) and not isinstance(size, bool)
            fits = whole and size >= least and (most is None or size <= most)
            wanted = f"at least {least}" if most is None else f"in {least} .. {most}"
            require(fits, f"khop: want {name} to be a whole number {wanted}, got {size!r}")

    @property
    def num_features(self):
        """Size of a token: one block of V each for key, value and symbol asked for."""
        return 3 * self.num_symbols

    @property
    def num_outputs(self):
        """Number of labels: the V symbols."""
        return self.num_symbols

    @property
    def num_positions(self):
        """T = num_pairs + num_queries."""
        return self.num_pairs + self.num_queries


def encode(config, keys, values, asked, targets):
    """Write pairs and queries as a Batch. No randomness.

    Parameters
    ----------
    config : Config
    keys, values : array_like of int, shape (B, num_pairs)
        In ``0 .. V - 1``, without repeats in a row.
    asked, targets : array_like of int, shape (B, num_queries)
        Symbols asked for, without repeats in a row, and where they lead to.

    Examples
    --------
    >>> config = Config(num_symbols=2, num_hops=1, num_pairs=1, num_queries=1)
    >>> batch = encode(config, keys=[[0]], values=[[1]], asked=[[1]], targets=[[0]])
    >>> batch.inputs[0]  # key 0 with value 1; then: 1?
    array([[1., 0., 0., 1., 0., 0.],
           [0., 0., 0., 0., 0., 1.]], dtype=float32)
    >>> batch.targets[batch.mask]
    array([0])
    """
    V, N = config.num_symbols, config.num_pairs
    keys, values, asked, targets = (
        distinct_rows(f"khop: want {name}", rows, range(V), columns)
        for name, rows, columns in (
            ("keys", keys, N),
            ("values", values, N),
            ("symbols asked for", asked, config.num_queries),
            ("targets", targets, config.num_queries),
        )
    )
    one_hot = np.eye(V, dtype=np.float32)
    inputs = np.zeros((len(asked), config.num_positions, 3 * V), np.float32)
    inputs[:, :N, :V] = one_hot[keys]
    inputs[:, :N, V : 2 * V] = one_hot[values]
    inputs[:, N:, 2 * V :] = one_hot[asked]
    labels = np.zeros(inputs.shape[:2], np.int64)
    labels[:, N:] = targets
    mask = np.zeros(labels.shape, dtype=bool)
    mask[:, N:] = True
    return Batch(inputs, labels, mask)


def sample(config, rng, batch_size):
    """Draw ``batch_size`` sequences, each with a permutation, an order of pairs and an order of queries of its own."""
    permutations, keys, asked = (_orders(config, rng, batch_size) for _ in range(3))
    keys, asked = keys[:, : config.num_pairs], asked[:, : config.num_queries]
    targets = asked
    for _ in range(config.num_hops):
        targets = np.take_along_axis(permutations, targets, axis=1)
    return encode(config, keys, np.take_along_axis(permutations, keys, axis=1), asked, targets)


def posterior(config, batch):
    """Exact distribution of the label given the pairs shown.

    Parameters
    ----------
    config : Config
    batch : Batch
        Only ``inputs`` is read: the posterior cannot peek at the labels.

    Returns
    -------
    np.ndarray, shape (B, T, V), float64
        At queries; NaN at pairs (no label there). With m pairs missing, m^k walks are averaged for some queries.

    Raises
    ------
    ValueError
        If the inputs are no sequences of this task.

    Examples
    --------
    Of three symbols, 0 leads to 1; one hop from 1 leads to 0 or 2, so two hops from 0 do too.

    >>> config = Config(num_symbols=3, num_hops=2, num_pairs=1, num_queries=1)
    >>> posterior(config, encode(config, keys=[[0]], values=[[1]], asked=[[0]], targets=[[2]]))[0, 1]
    array([0.5, 0. , 0.5])
    """
    V, N = config.num_symbols, config.num_pairs
    keys, values, asked = _shown(config, batch.inputs)
    rows = np.full((len(asked), config.num_positions, V), np.nan)
    if N == V:
        permutations = np.empty_like(keys)
        np.put_along_axis(permutations, keys, values, axis=1)
        for _ in range(config.num_hops):
            asked = np.take_along_axis(permutations, asked, axis=1)
        rows[:, N:] = np.eye(V)[asked]
        return rows
    for row, shown_keys, shown_values, symbols in zip(rows, keys, values, asked, strict=True):
        images = dict(zip(shown_keys.tolist(), shown_values.tolist(), strict=True))
        row[N:] = [_spread(images, symbol, config.num_hops, V) for symbol in symbols.tolist()]
    return rows


def _spread(images, symbol, hops, V):
    """Distribution, (V,), of where a walk stands after so many hops, given the known images of some symbols."""
    while hops and symbol in images:
        symbol, hops = images[symbol], hops - 1
    if not hops:
        return np.eye(V)[symbol]
    unused = set(range(V)).difference(images.values())  # equally likely; what is left stays a uniform permutation
    return sum(_spread({**images, symbol: value}, value, hops - 1, V) for value in unused) / len(unused)


def _orders(config, rng, count):
    """Draw uniform orders of the symbols, shape (count, V); as a map from place to symbol each is a permutation."""
    return rng.permuted(np.broadcast_to(np.arange(config.num_symbols), (count, config.num_symbols)), axis=1)


def _shown(config, inputs):
    """Return (keys, values, asked) as numbers, once it is sure that this task could show these sequences."""
    V, N, inputs = config.num_symbols, config.num_pairs, np.asarray(inputs)
    want = (config.num_positions, config.num_features)
    fits = inputs.ndim == 3 and inputs.shape[1:] == want
    require(fits, f"khop: want inputs (B, {want[0]}, {want[1]}), got {inputs.shape}")
    key, value, asked = (inputs[..., start : start + V] for start in (0, V, 2 * V))
    blocks = (("keys", key[:, :N]), ("values", value[:, :N]), ("symbols asked for", asked[:, N:]))
    empty = (key[:, N:], value[:, N:], asked[:, :N])
    one_hot = all(((block == 0) | (block == 1)).all() and (block.sum(axis=-1) == 1).all() for _, block in blocks)
    require(one_hot and not any(block.any() for block in empty), "khop: want one-hot keys and values, then queries")
    return tuple(distinct_rows(f"khop: want {name}", block.argmax(axis=-1), range(V)) for name, block in blocks)
