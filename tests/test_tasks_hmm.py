"""The HMM wind tunnel: batches, the posterior that goes with them, and every variant of the config."""

from itertools import product

import numpy as np
import pytest

from mhc_np.measure.calibration import probabilities, summary
from mhc_np.tasks import hmm
from mhc_np.tasks.hmm import Config, draw_rows, known, posterior, sample


def posterior_by_paths(initial, transition, emission, observations):
    """p(last state | observations), from every hidden path."""
    weights = np.zeros(len(initial))
    for path in product(range(len(initial)), repeat=len(observations)):
        p = initial[path[0]]
        for before, after in zip(path[:-1], path[1:], strict=True):
            p *= transition[before, after]
        for state, symbol in zip(path, observations, strict=True):
            p *= emission[state, symbol]
        weights[path[-1]] += p
    return weights / weights.sum()


@pytest.mark.parametrize("initial", ["uniform", "stationary"])
@pytest.mark.parametrize("header", hmm.HEADERS)
def test_posterior_agrees_with_every_hidden_path(header, initial):
    config = Config(3, 3, num_observations=5, header=header, initial=initial)
    batch = sample(config, np.random.default_rng(0), 3)
    p = posterior(config, batch)[:, config.num_header :]
    for b, (start, A, E, x) in enumerate(zip(*known(config, batch), strict=True)):
        for t in range(5):
            truth = posterior_by_paths(start, A, E, x[: t + 1])
            np.testing.assert_allclose(p[b, t], truth, rtol=0, atol=1e-12)


def test_every_header_tells_the_same_story():
    """The header is a way of writing: the same draws, whatever it holds."""
    batches = {}
    for header in hmm.HEADERS:
        config = Config(header=header)
        batch = sample(config, np.random.default_rng(1), 4)
        batches[header] = known(config, batch), posterior(config, batch)[:, config.num_header :]
        assert batch.mask.sum() == 4 * 20
    for story, p in batches.values():
        for ours, theirs in zip(story, batches["mix"][0], strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-15)
        np.testing.assert_allclose(p, batches["mix"][1], rtol=0, atol=1e-12)


def test_labels_are_draws_from_the_posterior():
    """Among 40 000 labels, each state turns up as often as the posterior says, in every bin."""
    config = Config(num_states=3, num_symbols=3, num_observations=10)
    batch = sample(config, np.random.default_rng(2), 4000)
    p = posterior(config, batch)[batch.mask].ravel()
    hit = (batch.targets[batch.mask][:, None] == np.arange(3)).ravel()
    for low in np.arange(0.0, 1.0, 0.1):
        inside = (p >= low) & (p < low + 0.1)
        noise = np.sqrt(p[inside].mean() * (1 - p[inside].mean()) / inside.sum())
        assert abs(hit[inside].mean() - p[inside].mean()) < 5 * noise


def test_labels_and_observations_follow_the_model():
    """First states are uniform; counts of (state, next state) and (state, symbol) match A and E."""
    config = Config(num_states=2, num_symbols=2, num_observations=3)
    batch = sample(config, np.random.default_rng(3), 40_000)
    _, A, E, x = known(config, batch)
    states = batch.targets[:, config.num_header :]
    assert abs(states[:, 0].mean() - 0.5) < 0.0125
    sequence = np.arange(len(states))
    for t in range(2):
        moved = (states[:, t + 1] == 1) - A[sequence, states[:, t], 1]
        assert abs(moved.mean()) < 0.0125
        assert abs((moved * A[:, 0, 1]).mean()) < 0.0125
    for t in range(3):
        assert abs(((x[:, t] == 1) - E[sequence, states[:, t], 1]).mean()) < 0.0125


def test_a_stationary_start_stays_as_it_is():
    config = Config(num_states=2, num_observations=8, header="rows", initial="stationary")
    batch = sample(config, np.random.default_rng(14), 20_000)
    initial, A, _, _ = known(config, batch)
    np.testing.assert_allclose((initial[:, None] @ A)[:, 0], initial, rtol=0, atol=1e-12)
    assert np.abs(initial[:, 0] - 0.5).mean() > 0.1  # and so it is not the uniform one
    states = batch.targets[:, config.num_header :]
    for t in (0, 7):
        assert abs(((states[:, t] == 0) - initial[:, 0]).mean()) < 0.018  # five standard errors
        apart = np.where(initial[:, 0] > 0.5, 1, -1)
        assert abs((apart * ((states[:, t] == 0) - initial[:, 0])).mean()) < 0.018


@pytest.mark.parametrize("number", [0.0, 0.25, np.nextafter(1.0, 0.0)])
def test_what_has_no_probability_is_never_drawn(number):
    class Fixed:
        def random(self, shape):
            return np.full(shape, number)

    rows = np.array([[0.0, 0.25, 0.0, 0.75, 0.0], [0.0, 0.0, 0.1, 0.1, 0.0]])
    drawn = hmm._draw(Fixed(), rows)  # the second row is not normalised: only ratios count
    assert (np.take_along_axis(rows, drawn[:, None], axis=1) > 0).all()


def test_the_model_changes_from_sequence_to_sequence():
    _, A, E, _ = known(Config(), sample(Config(), np.random.default_rng(4), 100))
    assert len(np.unique(A[:, 0, 0])) == len(np.unique(E[:, 0, 0])) == 100


def test_rows_are_uniform_on_the_simplex():
    """Dirichlet(1): each entry has mean 1/S, and exceeds x with probability (1 - x)^(S - 1)."""
    rows = draw_rows(Config(), np.random.default_rng(5), (20_000, 5))
    np.testing.assert_allclose(rows.mean(axis=0), 0.2, atol=0.006)
    for x in (0.05, 0.5):
        np.testing.assert_allclose((rows > x).mean(axis=0), (1 - x) ** 4, atol=0.018)


def test_rows_are_floored_and_rounded_only_when_asked():
    rng = np.random.default_rng(6)
    assert draw_rows(Config(), rng, (500, 5)).min() < 0.005
    floored = draw_rows(Config(min_prob=0.05), rng, (500, 5))
    assert floored.min() > 0.05 / 1.25  # at most five entries are raised, by 0.05 each
    rounded = draw_rows(Config(decimals=2), rng, (500, 5))
    np.testing.assert_allclose(rounded * 100, np.rint(rounded * 100), rtol=0, atol=1e-12)
    np.testing.assert_allclose(rounded.sum(axis=-1), 1.0, rtol=0, atol=1e-12)


def test_rounding_moves_no_entry_by_a_whole_unit():
    exact = draw_rows(Config(), np.random.default_rng(7), (300, 5))
    rounded = draw_rows(Config(decimals=1), np.random.default_rng(7), (300, 5))
    assert np.abs(rounded - exact).max() < 0.1
    batch = sample(Config(decimals=1), np.random.default_rng(7), 64)  # with zero probabilities
    assert (known(Config(decimals=1), batch).transition == 0).any()
    assert np.isfinite(posterior(Config(decimals=1), batch)[batch.mask]).all()


def test_shapes_by_config():
    config = Config(num_states=3, num_symbols=4, num_observations=6, header="log_columns")
    # 3 rows of A, 4 columns of E; features: 3 + 3 + 3, then 3 + 3 + 4, then 4.
    assert (config.num_header, config.num_positions) == (7, 13)
    assert (config.num_features, config.num_outputs) == (23, 3)
    batch = sample(config, np.random.default_rng(8), 2)
    assert batch.inputs.shape == (2, 13, 23)
    np.testing.assert_array_equal(batch.mask[0], np.arange(13) >= 7)
    assert Config().num_positions == 25


def test_a_longer_horizon_keeps_the_header():
    short, long = Config(num_observations=20), Config(num_observations=50)
    assert short.num_header == long.num_header
    assert sample(long, np.random.default_rng(9), 2).inputs.shape == (2, 55, short.num_features)


def test_oracle_logits_have_no_error():
    config = Config()
    p = posterior(config, sample(config, np.random.default_rng(10), 16))
    q = probabilities(np.log(np.where(np.isnan(p), 1.0, p)))
    np.testing.assert_allclose(summary(p, q), 0.0, rtol=0, atol=1e-12)
    late = q.copy()
    late[:, config.num_header + 1 :] = q[:, config.num_header : -1]  # one position late
    assert summary(p, late).kl_bits > 0.1


def test_posterior_reads_inputs_alone_and_nothing_from_the_future():
    config = Config()
    batch = sample(config, np.random.default_rng(11), 4)
    p = posterior(config, batch)
    np.testing.assert_array_equal(p, posterior(config, batch._replace(targets=0 * batch.targets)))
    for t in range(config.num_header, config.num_positions - 1):
        later = batch.inputs.copy()
        later[:, t + 1 :] = batch.inputs[::-1, t + 1 :]  # another sequence from t + 1 on
        changed = posterior(config, batch._replace(inputs=later))
        np.testing.assert_array_equal(changed[:, : t + 1], p[:, : t + 1])


def test_generator_discipline():
    before = np.random.get_state()[1].copy()  # noqa: NPY002 - it must stay untouched
    config = Config()
    one = sample(config, np.random.default_rng(12), 4)
    again = sample(config, np.random.default_rng(12), 4)
    other = sample(config, np.random.default_rng(13), 4)
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002
    for a, b, c in zip(one[:2], again[:2], other[:2], strict=True):
        np.testing.assert_array_equal(a, b)
        assert not np.array_equal(a, c)


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"num_states": 0}, r"want sizes S, V, K >= 1, got \(0, 5, 20\)"),
        ({"header": "mixed"}, r"want header in \['rows', .*\], got 'mixed'"),
        ({"initial": "first"}, r"want initial in \('uniform', 'stationary'\), got 'first'"),
        ({"min_prob": 2.0}, "want min_prob in 0 .. 1, got 2.0"),
        ({"decimals": 0}, "want decimals >= 1 or None, got 0"),
    ],
)
def test_bad_config(kwargs, message):
    with pytest.raises(ValueError, match=message):
        Config(**kwargs)
