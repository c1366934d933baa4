"""k-hop composition: the walk by hand, the posterior against all V! permutations, and what a batch must hold."""

from itertools import permutations

import numpy as np
import pytest

from mhc_np.measure.calibration import entropy_bits
from mhc_np.tasks import TASKS, Batch
from mhc_np.tasks.khop import Config, encode, posterior, sample


def by_enumeration(config, tokens):
    """P(where the walk from the last token's symbol ends): count the permutations that agree with the pairs."""
    V, N = config.num_symbols, config.num_pairs
    pairs = [(token[:V].argmax(), token[V : 2 * V].argmax()) for token in tokens[:N]]
    counts = np.zeros(V)
    for pi in permutations(range(V)):
        if all(pi[key] == value for key, value in pairs):
            symbol = tokens[-1][2 * V :].argmax()
            for _ in range(config.num_hops):
                symbol = pi[symbol]
            counts[symbol] += 1
    return counts / counts.sum()


@pytest.mark.parametrize(
    ("num_symbols", "num_hops", "num_pairs"),
    [(2, 1, 0), (3, 2, 1), (4, 3, 2), (5, 1, 3), (5, 2, 2), (5, 4, 1), (5, 7, 3), (4, 4, 0), (5, 3, 5), (6, 4, 2)],
)
def test_posterior_agrees_with_all_permutations(num_symbols, num_hops, num_pairs):
    config = Config(num_symbols, num_hops, num_pairs)
    batch = sample(config, np.random.default_rng(0), batch_size=4)
    p = posterior(config, batch)
    for b in range(4):
        for t in range(num_pairs, config.num_positions):
            truth = by_enumeration(config, batch.inputs[b, : t + 1])
            np.testing.assert_allclose(p[b, t], truth, rtol=0, atol=1e-12)


@pytest.mark.parametrize("num_pairs", [1, 4])
def test_labels_are_drawn_from_the_posterior(num_pairs):
    """Over many sequences each label is as frequent as the posterior says: within five standard errors."""
    config = Config(4, 3, num_pairs)
    batch = sample(config, np.random.default_rng(1), 4000)
    p = posterior(config, batch)[batch.mask]
    happened = np.eye(4)[batch.targets[batch.mask]]
    spread = np.sqrt((p * (1 - p)).sum(axis=0)) + 1e-9
    assert (np.abs((happened - p).sum(axis=0)) < 5 * spread + 1e-6).all()
    assert ((happened * p).sum(axis=-1) > 0).all()


def test_the_label_is_where_the_walk_ends():
    config = Config(7, 3)
    batch = sample(config, np.random.default_rng(2), 30)
    p = posterior(config, batch)
    np.testing.assert_array_equal(entropy_bits(p)[batch.mask], 0.0)
    np.testing.assert_array_equal(p[batch.mask].argmax(axis=-1), batch.targets[batch.mask])
    for tokens, targets in zip(batch.inputs, batch.targets, strict=True):
        image = {token[:7].argmax(): token[7:14].argmax() for token in tokens[:7]}
        for token, target in zip(tokens[7:], targets[7:], strict=True):
            assert image[image[image[token[14:].argmax()]]] == target


def test_posterior_reads_neither_labels_nor_what_comes_later():
    config = Config(5, 2, num_pairs=3)
    batch = sample(config, np.random.default_rng(3), 6)
    p = posterior(config, batch)
    np.testing.assert_array_equal(p, posterior(config, batch._replace(targets=0 * batch.targets)))
    turned = batch.inputs.copy()
    turned[:, 3:] = turned[:, :2:-1]  # the queries in another order: each keeps its own answer
    np.testing.assert_array_equal(posterior(config, batch._replace(inputs=turned))[:, 3:], p[:, :2:-1])


def test_shapes_types_and_ids():
    config = Config(6, 2, num_pairs=4, num_queries=3)
    batch = sample(config, np.random.default_rng(4), 5)
    assert isinstance(batch, Batch)
    assert TASKS["khop"].Config is Config
    assert (config.num_features, config.num_outputs, config.num_positions) == (18, 6, 7)
    assert (batch.inputs.shape, batch.inputs.dtype) == ((5, 7, 18), np.float32)
    assert (batch.targets.dtype, batch.mask.dtype) == (int, bool)
    np.testing.assert_array_equal(batch.mask, [[False] * 4 + [True] * 3] * 5)
    np.testing.assert_array_equal(batch.inputs.sum(axis=-1), [[2] * 4 + [1] * 3] * 5)
    p = posterior(config, batch)
    assert (p.shape, p.dtype) == ((5, 7, 6), np.float64)
    np.testing.assert_array_equal(np.isnan(p[..., 0]), ~batch.mask)
    np.testing.assert_allclose(p[batch.mask].sum(axis=-1), 1, rtol=0, atol=1e-12)


def test_same_seed_same_batch():
    config = Config(5, 2)
    one, again = (sample(config, np.random.default_rng(5), 8) for _ in range(2))
    for a, b in zip(one, again, strict=True):
        np.testing.assert_array_equal(a, b)
    assert not np.array_equal(one.inputs, sample(config, np.random.default_rng(6), 8).inputs)


def test_pairs_are_uniform_and_in_random_order():
    batch = sample(Config(4, 1), np.random.default_rng(7), 9000)
    for block in (slice(0, 4), slice(4, 8)):
        first = np.bincount(batch.inputs[:, 0, block].argmax(axis=-1)) / 9000
        assert np.abs(first - 1 / 4).max() < 0.025  # five standard errors
    assert np.abs((batch.inputs[:, 0, :4] * batch.inputs[:, 0, 4:8]).sum(axis=-1).mean() - 1 / 4) < 0.025


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"num_symbols": 1}, "want num_symbols to be a whole number at least 2, got 1"),
        ({"num_hops": 0}, "want num_hops to be a whole number at least 1, got 0"),
        ({"num_pairs": 9}, "want num_pairs to be a whole number in 0 .. 8, got 9"),
        ({"num_queries": 0}, "want num_queries to be a whole number in 1 .. 8, got 0"),
        ({"num_hops": 1.5}, "want num_hops to be a whole number at least 1, got 1.5"),
    ],
)
def test_bad_sizes(kwargs, message):
    with pytest.raises(ValueError, match=message):
        Config(**kwargs)


def test_inputs_of_another_task_are_refused():
    config = Config(4, 2)
    batch = sample(config, np.random.default_rng(8), 3)
    with pytest.raises(ValueError, match=r"khop: want inputs \(B, 8, 12\), got \(3, 7, 12\)"):
        posterior(config, batch._replace(inputs=batch.inputs[:, 1:]))
    with pytest.raises(ValueError, match="want one-hot keys and values, then queries"):
        posterior(config, batch._replace(inputs=batch.inputs[:, ::-1]))
    twice = batch.inputs.copy()
    twice[:, 1, :4] = twice[:, 0, :4]
    with pytest.raises(ValueError, match="want keys in 0 .. 3, none twice in a row"):
        posterior(config, batch._replace(inputs=twice))
    with pytest.raises(ValueError, match="want targets in 0 .. 3"):
        encode(config, *([range(4)],) * 3, [[0, 1, 2, 4]])
