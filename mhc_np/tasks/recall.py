"""Associative recall: bind pairs, then look up the value of any key on request.

Chapter: chapters/03_tasks.md      Tests: tests/test_tasks_recall.py
Symbols: pairs -> keys, values (B, N), N -> num_pairs, key asked for -> queries (B, Q)

A sequence shows N pairs of distinct keys and freely chosen values, then fillers, then Q of the keys:

    k_1 v_1 ... k_N v_N   filler ... filler   q_1 ... q_Q

The label at a query is the value that stood beside that key. No belief has to be gathered or moved
here, the posterior is certain at once; what is asked for is *random access*: any of the N bindings
must be kept, since one cannot know which will be wanted. Values are drawn with replacement, so that
knowing some tells nothing about the others.
"""

from dataclasses import dataclass

import numpy as np

from mhc_np.tasks.base import Batch, require


@dataclass(frozen=True)
class Config:
    """Sizes of the task.

    Parameters
    ----------
    num_keys, num_values : int
        How many different keys and values there are. Key a is token ``a``, value b is token
        ``num_keys + b``, and one last id is the filler.
    num_pairs : int
        N, pairs shown; at most ``num_keys``.
    num_queries : int
        Q, keys asked for, each once; at most ``num_pairs``.
    num_fillers : int
        Tokens between the last pair and the first query that say nothing.
    """

    num_keys: int = 32
    num_values: int = 32
    num_pairs: int = 16
    num_queries: int = 8
    num_fillers: int = 8

    def __post_init__(self):
        """Check the sizes."""
        require(
            1 <= self.num_queries <= self.num_pairs <= self.num_keys,
            "recall: want 1 <= num_queries <= num_pairs <= num_keys, "
            f"got {self.num_queries}, {self.num_pairs}, {self.num_keys}",
        )
        require(
            self.num_values >= 1 and self.num_fillers >= 0,
            f"recall: want num_values >= 1 and num_fillers >= 0, got {self.num_values}, {self.num_fillers}",
        )

    @property
    def num_ids(self):
        """Number of token ids: keys, values and the filler."""
        return self.num_keys + self.num_values + 1

    @property
    def num_outputs(self):
        """Number of labels: the values, numbered from 0."""
        return self.num_values

    @property
    def first_query(self):
        """Position of the first query."""
        return 2 * self.num_pairs + self.num_fillers

    @property
    def num_positions(self):
        """T, pairs, fillers and queries together."""
        return self.first_query + self.num_queries


def encode(config, keys, values, asked):
    """Write pairs and queries as a Batch. No randomness.

    Parameters
    ----------
    config : Config
    keys, values : array_like of int, shape (B, N)
        In ``0 .. num_keys - 1``, without repeats in a row, and in ``0 .. num_values - 1``.
    asked : array_like of int, shape (B, Q)
        Which pair each query asks for, in ``0 .. N - 1``.

    Examples
    --------
    >>> config = Config(num_keys=4, num_values=3, num_pairs=2, num_queries=2, num_fillers=1)
    >>> batch = encode(config, keys=[[3, 1]], values=[[0, 2]], asked=[[1, 0]])
    >>> batch.inputs  # key 3, value 0 (id 4), key 1, value 2 (id 6), filler (id 7), key 1, key 3
    array([[3, 4, 1, 6, 7, 1, 3]])
    >>> batch.targets[batch.mask]
    array([2, 0])
    """
    keys, values, asked = np.asarray(keys), np.asarray(values), np.asarray(asked)
    end, first = 2 * config.num_pairs, config.first_query
    inputs = np.full((len(keys), config.num_positions), config.num_ids - 1, dtype=np.int64)
    inputs[:, 0:end:2] = keys
    inputs[:, 1:end:2] = config.num_keys + values
    inputs[:, first:] = np.take_along_axis(keys, asked, axis=1)
    targets = np.zeros_like(inputs)
    targets[:, first:] = np.take_along_axis(values, asked, axis=1)
    mask = np.zeros(inputs.shape, dtype=bool)
    mask[:, first:] = True
    return Batch(inputs, targets, mask)


def sample(config, rng, batch_size):
    """Draw sequences, each with bindings and queries of its own.

    Parameters
    ----------
    config : Config
    rng : np.random.Generator
    batch_size : int
        B.

    Returns
    -------
    Batch
        ``inputs`` (B, T) ids as `encode` writes them, with a label at every query.
    """
    keys = _some(rng, batch_size, config.num_keys, config.num_pairs)
    values = rng.integers(config.num_values, size=keys.shape)
    return encode(config, keys, values, _some(rng, batch_size, config.num_pairs, config.num_queries))


def posterior(config, batch):
    """Exact distribution of the value asked for: all on one, shape (B, T, num_values) in float64.

    Reads ``inputs`` only, and is NaN away from the queries.
    """
    inputs, end, first = np.asarray(batch.inputs), 2 * config.num_pairs, config.first_query
    found = inputs[:, first:, None] == inputs[:, None, 0:end:2]  # (B, Q, N), one True a row
    values = np.take_along_axis(inputs[:, 1:end:2], found.argmax(axis=-1), axis=1)
    rows = np.full((*batch.mask.shape, config.num_values), np.nan)
    rows[:, first:] = np.eye(config.num_values)[values - config.num_keys]
    return rows


def _some(rng, batch_size, available, wanted):
    """Draw ``wanted`` of ``available`` numbers for each sequence, in random order, none twice."""
    numbers = np.broadcast_to(np.arange(available), (batch_size, available))
    return rng.permuted(numbers, axis=1)[:, :wanted]
