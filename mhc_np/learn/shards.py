"""Split the batch, not the arithmetic: each worker takes some of the sequences, on one core.

Chapter: chapters/04_training.md      Tests: tests/test_learn_shards.py
Symbols: B -> batch axis 0, number of workers -> num_shards, supervised positions of a shard -> weight

Two threads inside one matrix product wait for each other many times a step, and stall when anything else runs on
the machine. Two threads that each take half of the batch wait once. Even one worker gains: the intermediates of a part
fit into the cache where those of the whole do not. Set ``OPENBLAS_NUM_THREADS=1`` (for MKL builds
``MKL_NUM_THREADS=1``) before Python starts, else each worker brings its own team of threads.
"""

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from mhc_np.autodiff import tree_map


def sharded(compute, num_shards, num_workers=None, weight=None):
    """Compute a loss and its gradient part by part, several parts at once.

    Parameters
    ----------
    compute : callable
        ``compute(params, batch) -> (value, gradient)``, where the value is a *mean* over supervised
        positions; as from ``value_and_grad(loss)``. It runs in several threads at once.
    num_shards : int
        How many parts. Parts differ by one sequence at most; no more parts are made than there are sequences.
    num_workers : int, optional
        How many parts are worked on at once, by default all. It decides the speed alone, not one bit of the result.
    weight : callable, optional
        ``weight(batch) -> float``: over how many positions the value is a mean. By default the number of
        positions in ``batch.mask``, or the number of sequences where there is no mask.

    Returns
    -------
    callable
        Of the shape of ``compute``. A mean of means, weighted by their sizes, is the mean: the result is that of
        ``compute`` up to rounding, and the same from run to run, since the parts are always added in order.

    Examples
    --------
    >>> mean = lambda params, batch: (float(batch.mean()), {"gain": 2 * batch.mean(keepdims=True)})
    >>> sharded(mean, 2)({}, np.array([1.0, 2.0, 6.0]))
    (3.0, {'gain': array([6.])})
    """
    num_workers = num_shards if num_workers is None else num_workers
    if num_shards < 1 or num_workers < 1:
        raise ValueError(f"sharded: want num_shards and num_workers >= 1, got {num_shards} and {num_workers}")
    weight = weight or num_supervised
    run = map if num_workers == 1 else ThreadPoolExecutor(num_workers, thread_name_prefix="shard").map

    def combine(params, batch):
        parts = split(batch, num_shards)
        weights = [float(weight(part)) for part in parts]
        total = sum(weights)
        if not total > 0:
            raise ValueError(f"sharded: want a batch with supervised positions, got weights {weights}")
        settings = np.geterr()  # a thread starts with the defaults, so hand the caller's over

        def work(part):
            with np.errstate(**settings):
                return compute(params, part)

        shares = [w / total for w in weights if w > 0]
        results = list(run(work, [part for part, w in zip(parts, weights, strict=True) if w > 0]))
        value = sum(share * result for share, (result, _) in zip(shares, results, strict=True))
        # New arrays first: the tape may have handed out one array for two parameters.
        gradient = tree_map(lambda g: shares[0] * g, results[0][1])
        for share, (_, part) in zip(shares[1:], results[1:], strict=True):
            gradient = tree_map(lambda total, g, share=share: total + share * g, gradient, part)
        return value, gradient

    return combine


def split(batch, num_shards):
    """Cut a batch (an array, or a tuple, named tuple or dict of batches) along axis 0.

    >>> split({"inputs": np.arange(3), "note": None}, 2)
    [{'inputs': array([0]), 'note': None}, {'inputs': array([1, 2]), 'note': None}]
    """
    size = num_sequences(batch)
    count = min(num_shards, size)
    return [_cut(batch, slice(size * k // count, size * (k + 1) // count)) for k in range(count)]


def num_sequences(batch):
    """Return the common length of axis 0.

    >>> num_sequences((np.zeros((4, 2)), np.zeros(4)))
    4
    """
    sizes = {leaf.shape[0] for leaf in _arrays(batch)}
    if len(sizes) != 1:
        raise ValueError(f"split: want one length of axis 0 in the whole batch, got {sorted(sizes)}")
    return sizes.pop()


def num_supervised(batch):
    """Count the positions that have a label, or the sequences where the batch has no mask.

    >>> num_supervised(np.zeros((4, 2)))
    4
    """
    mask = _find_mask(batch)
    return num_sequences(batch) if mask is None else int(np.count_nonzero(mask))


def _items(batch):
    """List the fields of a dict, a named tuple or a tuple; an array has none."""
    if hasattr(batch, "_asdict"):
        batch = batch._asdict()
    if isinstance(batch, dict):
        return list(batch.items())
    return list(enumerate(batch)) if isinstance(batch, tuple) else []


def _find_mask(batch):
    """Return the first field called mask, at any depth, else None."""
    for name, child in _items(batch):
        found = child if name == "mask" else _find_mask(child)
        if found is not None:
            return found
    return None


def _arrays(batch):
    """List the arrays of a batch."""
    if isinstance(batch, dict | tuple):
        return [leaf for _, child in _items(batch) for leaf in _arrays(child)]
    return [] if batch is None else [np.asarray(batch)]


def _cut(batch, rows):
    """Take the same rows of every array."""
    parts = {key: _cut(child, rows) for key, child in _items(batch)}
    if isinstance(batch, dict):
        return parts
    if isinstance(batch, tuple):
        return type(batch)(**parts) if hasattr(batch, "_fields") else tuple(parts.values())
    return None if batch is None else batch[rows]
