"""Marked token: the posterior is the channel, and the bag of symbols is no substitute for routing."""

from itertools import product

import numpy as np
import pytest

from mhc_np.measure.calibration import entropy_bits, kl_bits
from mhc_np.tasks.marked_token import Config, bag_posterior, bayes_nats, channel, encode, posterior, sample


def test_posterior_is_the_channel_of_the_marked_symbol():
    config = Config(num_symbols=5, num_positions=10, fidelity=0.7)
    batch = sample(config, np.random.default_rng(0), 20)
    p = posterior(config, batch)
    where = batch.inputs[..., 5].argmax(axis=1)
    marked = batch.inputs[np.arange(20), where, :5].argmax(axis=1)
    np.testing.assert_allclose(p[:, 5:], np.repeat(channel(config)[marked][:, None], 5, axis=1), atol=1e-15)
    assert np.isnan(p[:, :5]).all()
    assert where.max() < 5
    assert (batch.inputs[..., 5].sum(axis=1) == 1).all()
    assert (batch.inputs[..., 6] == 1).all()


def test_labels_follow_the_channel():
    config = Config(num_symbols=4, num_positions=200, fidelity=0.6)
    batch = sample(config, np.random.default_rng(1), 200)
    p = posterior(config, batch)[batch.mask]
    marked, labels = p.argmax(axis=-1), batch.targets[batch.mask]
    for a in range(4):
        got = np.bincount(labels[marked == a], minlength=4) / (marked == a).sum()
        np.testing.assert_allclose(got, channel(config)[a], atol=0.02)
    assert (batch.targets[~batch.mask] == 0).all()


def test_entropy_is_the_bayes_value():
    config = Config()
    p = posterior(config, sample(config, np.random.default_rng(2), 3))
    np.testing.assert_allclose(entropy_bits(p[:, 16:]) * np.log(2), bayes_nats(config), atol=1e-12)


def test_bag_posterior_agrees_with_a_count_over_orders():
    """Bayes by brute force: every symbol sequence with that bag, every mark, equally likely."""
    config = Config(num_symbols=2, num_positions=4, fidelity=0.8)
    symbols = [0, 0, 1, 1]
    batch = encode(config, [symbols], [0], [[0] * 4])
    bag = bag_posterior(config, batch)[0]
    for t in (2, 3):
        total = np.zeros(2)
        for order in product(range(2), repeat=t + 1):
            if sorted(order) == sorted(symbols[: t + 1]):
                for mark in range(2):
                    total += channel(config)[order[mark]]
        np.testing.assert_allclose(bag[t], total / total.sum(), atol=1e-15)


def test_averaging_alike_cannot_reach_the_optimum():
    config = Config()
    batch = sample(config, np.random.default_rng(3), 200)
    p, bag = posterior(config, batch)[:, 16:], bag_posterior(config, batch)[:, 16:]
    price = kl_bits(p, bag).mean() * np.log(2)
    assert price > 1.2  # nats above the optimum, of at most ln 8 - 0.52 = 1.56
    assert bayes_nats(config) + price < np.log(8)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"num_symbols": 1}, "want num_symbols >= 2, got 1"),
        ({"num_positions": 1}, "want num_positions >= 2, got 1"),
        ({"fidelity": 1.5}, r"want fidelity in \[0, 1\], got 1.5"),
    ],
)
def test_bad_configs_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        Config(**change)


@pytest.mark.parametrize(
    ("symbols", "marks", "message"),
    [
        ([[0, 1, 0, 1]], [2], r"want marks as whole numbers in 0 .. 1, got \[2\]"),
        ([[0, 1, 0, 1]], [-1], "want marks"),
        ([[0, -1, 0, 1]], [0], "want symbols as whole numbers in 0 .. 1, got"),
        ([[0, 2, 0, 1]], [0], "want symbols"),
        ([[0.0, 1.0, 0.0, 1.0]], [0], "want symbols as whole numbers"),
    ],
)
def test_a_mark_or_symbol_that_is_not_there_is_refused(symbols, marks, message):
    """A mark in the second half would give a sequence without an answer, a negative symbol another one's."""
    with pytest.raises(ValueError, match=message):
        encode(Config(num_symbols=2, num_positions=4), symbols, marks, [[0] * 4])
