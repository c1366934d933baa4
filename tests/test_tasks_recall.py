"""Associative recall: the answer by search, by enumeration, and what a batch must hold."""

from itertools import product

import numpy as np
import pytest

from mhc_np.measure.calibration import entropy_bits
from mhc_np.tasks.recall import Config, encode, posterior, sample

SMALL = Config(num_keys=5, num_values=3, num_pairs=3, num_queries=2, num_fillers=2)


def test_posterior_agrees_with_all_bindings():
    """P(value of the key asked for): count the maps from keys to values that agree with the pairs."""
    batch = sample(SMALL, np.random.default_rng(0), 5)
    p = posterior(SMALL, batch)
    for b, row in enumerate(batch.inputs):
        shown = dict(zip(row[0:6:2], row[1:6:2] - 5, strict=True))
        for t in (8, 9):
            counts = np.zeros(3)
            for binding in product(range(3), repeat=5):
                if all(binding[key] == value for key, value in shown.items()):
                    counts[binding[row[t]]] += 1
            np.testing.assert_allclose(p[b, t], counts / counts.sum(), rtol=0, atol=1e-12)


def test_the_label_is_the_certain_answer():
    config = Config()
    batch = sample(config, np.random.default_rng(1), 50)
    p = posterior(config, batch)
    np.testing.assert_array_equal(p[batch.mask].argmax(axis=-1), batch.targets[batch.mask])
    np.testing.assert_array_equal(entropy_bits(p)[batch.mask], 0.0)
    for inputs, targets in zip(batch.inputs, batch.targets, strict=True):
        shown = dict(zip(inputs[0:32:2], inputs[1:32:2] - 32, strict=True))
        assert [shown[key] for key in inputs[40:]] == list(targets[40:])


def test_shapes_and_ids():
    batch = sample(SMALL, np.random.default_rng(2), 400)
    assert (SMALL.num_ids, SMALL.num_outputs, SMALL.num_positions) == (9, 3, 10)
    keys, values = batch.inputs[:, 0:6:2], batch.inputs[:, 1:6:2]
    fillers, queries = batch.inputs[:, 6:8], batch.inputs[:, 8:]
    assert set(np.unique(keys)) == set(np.unique(queries)) == set(range(5))
    assert set(np.unique(values)) == {5, 6, 7}
    assert set(np.unique(fillers)) == {8}
    np.testing.assert_array_equal(batch.mask[0], np.arange(10) >= 8)
    for few in (keys, queries):
        assert all(len(set(row)) == few.shape[1] for row in few)


def test_every_pair_is_asked_for_equally_often_and_values_are_free():
    batch = sample(SMALL, np.random.default_rng(3), 9000)
    keys, first = batch.inputs[:, 0:6:2], batch.inputs[:, 8]
    place = (keys == first[:, None]).argmax(axis=1)
    assert np.abs(np.bincount(place) / 9000 - 1 / 3).max() < 0.025  # five standard errors
    values = batch.inputs[:, 1:6:2] - 5
    same = (values[:, 0] == values[:, 1]).mean()
    assert abs(same - 1 / 3) < 0.025


def test_no_fillers_and_one_pair():
    config = Config(num_keys=2, num_values=2, num_pairs=1, num_queries=1, num_fillers=0)
    batch = encode(config, keys=[[1]], values=[[0]], asked=[[0]])
    np.testing.assert_array_equal(batch.inputs, [[1, 2, 1]])
    np.testing.assert_array_equal(posterior(config, batch)[0, 2], [1.0, 0.0])


def test_the_paper_s_size():
    config = Config(num_keys=256, num_values=256, num_pairs=64, num_queries=3, num_fillers=32)
    assert config.num_positions == 163
    assert sample(config, np.random.default_rng(4), 2).inputs.shape == (2, 163)


def test_same_seed_same_batch():
    one, again = (sample(SMALL, np.random.default_rng(5), 8) for _ in range(2))
    for a, b in zip(one, again, strict=True):
        np.testing.assert_array_equal(a, b)
    assert not np.array_equal(one.inputs, sample(SMALL, np.random.default_rng(6), 8).inputs)


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"num_queries": 17}, "num_queries <= num_pairs <= num_keys, got 17, 16, 32"),
        ({"num_pairs": 33}, "got 8, 33, 32"),
        ({"num_values": 0}, "want num_values >= 1 and num_fillers >= 0, got 0, 8"),
    ],
)
def test_bad_sizes(kwargs, message):
    with pytest.raises(ValueError, match=message):
        Config(**kwargs)
