"""Sticky chain: the diagonal the config says, and the filter against a sum over all hidden paths."""

from itertools import product

import numpy as np
import pytest

from mhc_np.tasks.sticky_chain import (
    Config,
    bayes_nats,
    draw_symbols,
    entropy_rate_nats,
    filtered,
    means,
    posterior,
    sample,
    transition_matrix,
)


@pytest.mark.parametrize("self_transition", [0.0, 0.3, 0.9])
@pytest.mark.parametrize("num_symbols", [2, 3, 8])
def test_the_diagonal_is_what_the_config_says(num_symbols, self_transition):
    P = transition_matrix(Config(num_symbols=num_symbols, self_transition=self_transition))
    np.testing.assert_allclose(np.diag(P), self_transition, rtol=0, atol=1e-15)
    np.testing.assert_allclose(P.sum(axis=1), 1, rtol=0, atol=1e-15)
    np.testing.assert_allclose(P.sum(axis=0), 1, rtol=0, atol=1e-15)  # so uniform is stationary


def test_the_released_variant_is_stickier_than_it_says():
    row = transition_matrix(Config(as_released=True))[0]
    np.testing.assert_allclose(row, [0.3498, 0.166, 0.083, 0.0553, 0.0415, 0.0553, 0.083, 0.166], atol=6e-5)


def by_enumeration(config, x):
    """P(next symbol | x) and P(last symbol | x): add up the joint probability of every path."""
    P, mu = transition_matrix(config), means(config)
    now, after = np.zeros(config.num_symbols), np.zeros(config.num_symbols)
    for path in product(range(config.num_symbols), repeat=len(x)):
        joint = 1 / config.num_symbols
        for a, b in zip(path[:-1], path[1:], strict=True):
            joint *= P[a, b]
        joint *= np.exp(-((x - mu[list(path)]) ** 2).sum() / (2 * config.noise**2))
        now[path[-1]] += joint
        after += joint * P[path[-1]]
    return now / now.sum(), after / after.sum()


def test_the_filter_agrees_with_all_paths():
    config = Config(num_symbols=3, self_transition=0.6, noise=1.5, num_features=2, num_positions=5)
    batch = sample(config, np.random.default_rng(0), batch_size=4)
    now, after = filtered(config, batch.inputs), posterior(config, batch)
    for b in range(4):
        for t in range(5):
            truth = by_enumeration(config, batch.inputs[b, : t + 1].astype(float))
            np.testing.assert_allclose(now[b, t], truth[0], rtol=0, atol=1e-12)
            np.testing.assert_allclose(after[b, t], truth[1], rtol=0, atol=1e-12)


def test_the_posterior_does_not_peek():
    config = Config(num_positions=6)
    batch = sample(config, np.random.default_rng(1), batch_size=3)
    changed = batch.inputs.copy()
    changed[:, 4:] = 0
    before, after = posterior(config, batch), posterior(config, batch._replace(inputs=changed, targets=None))
    np.testing.assert_array_equal(before[:, :4], after[:, :4])


def test_labels_are_the_next_symbol_and_follow_the_chain():
    config = Config(noise=1e-3, num_positions=400)
    batch = sample(config, np.random.default_rng(2), batch_size=50)
    seen = filtered(config, batch.inputs).argmax(axis=-1)
    np.testing.assert_array_equal(seen[:, 1:], batch.targets[:, :-1])
    counts = np.zeros((8, 8))
    np.add.at(counts, (seen, batch.targets), 1)
    np.testing.assert_allclose(counts / counts.sum(axis=1, keepdims=True), transition_matrix(config), atol=0.025)
    assert batch.inputs.dtype == np.float32
    assert batch.mask.all()


def test_sequences_are_fresh_and_repeatable():
    draw = lambda seed: draw_symbols(Config(), np.random.default_rng(seed), 3)  # noqa: E731
    np.testing.assert_array_equal(draw(0), draw(0))
    assert len({row.tobytes() for row in draw(0)} | {row.tobytes() for row in draw(1)}) == 6
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    sample(Config(), np.random.default_rng(0), 2)
    np.testing.assert_array_equal(np.random.get_state()[1], state)  # noqa: NPY002


def test_bayes_value_lies_between_entropy_rate_and_uniform():
    rng = np.random.default_rng(3)
    plain = bayes_nats(Config(noise=1e-3, num_positions=20), rng, 50)
    assert plain.mean == pytest.approx(entropy_rate_nats(Config()), abs=1e-9)
    noisy = bayes_nats(Config(noise=3.0, num_positions=100), rng, 50)
    assert entropy_rate_nats(Config()) + 0.02 < noisy.mean < np.log(8) - 0.02
    assert 0 < noisy.standard_error < 0.01


def test_bayes_value_is_the_mean_loss_of_the_posterior():
    config = Config(noise=2.0, num_positions=200)
    batch = sample(config, np.random.default_rng(4), 200)
    p = posterior(config, batch)
    loss = -np.log(np.take_along_axis(p, batch.targets[..., None], axis=-1)[..., 0]).mean(axis=1)
    estimate = bayes_nats(config, np.random.default_rng(4), 200)
    assert abs(loss.mean() - estimate.mean) < 4 * loss.std() / np.sqrt(200)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"num_symbols": 1}, "want num_symbols >= 2, got 1"),
        ({"self_transition": 1.0}, r"want self_transition in \[0, 1\), got 1.0"),
        ({"noise": 0.0}, "want noise > 1e-100, and finite, got 0.0"),
        ({"noise": 1e-200}, "got 1e-200; a noise of 1e-3"),
        ({"noise": np.inf}, "got inf"),
        ({"num_positions": 0}, "num_positions >= 1"),
    ],
)
def test_bad_configs_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        Config(**change)
    with pytest.raises(ValueError, match="batch_size >= 2"):
        bayes_nats(Config(), np.random.default_rng(0), 1)
