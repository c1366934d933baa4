"""Short-memory filters: against the full filter on the window, and the forgetting they measure."""

import numpy as np
import pytest

from mhc_np.measure.calibration import summary
from mhc_np.tasks import hmm
from mhc_np.tasks.filtering import filter
from mhc_np.tasks.windows import stationary, windowed_filter


@pytest.mark.parametrize("prior", ["uniform", "stationary"])
@pytest.mark.parametrize("window", [1, 2, 3, 7, 12])
def test_each_row_is_a_filter_run_on_its_window(window, prior):
    config = hmm.Config(num_states=3, num_symbols=4, num_observations=9, header="rows")
    known = hmm.known(config, hmm.sample(config, np.random.default_rng(0), 4))
    rows = windowed_filter(*known, window, prior=prior)
    assert rows.shape == (4, 9, 3)
    other = stationary(known.transition) if prior == "stationary" else np.full(3, 1 / 3)
    for t in range(9):
        start = max(0, t + 1 - window)
        initial = known.initial if start == 0 else other
        seen = known.observations[:, start : t + 1]
        truth = filter(initial, known.transition, known.emission, seen).filtered[:, -1]
        np.testing.assert_allclose(rows[:, t], truth, rtol=0, atol=1e-12)


def test_a_window_over_everything_is_the_full_filter():
    config = hmm.Config()
    known = hmm.known(config, hmm.sample(config, np.random.default_rng(1), 8))
    full = filter(*known).filtered
    np.testing.assert_allclose(windowed_filter(*known, 20), full, rtol=0, atol=1e-12)
    assert np.abs(windowed_filter(*known, 3) - full).max() > 0.01


def test_old_observations_matter_less_and_less():
    """The yardstick itself: S = V = 5, K = 20, entropy error in bits of the last w observations."""
    config = hmm.Config()
    known = hmm.known(config, hmm.sample(config, np.random.default_rng(2), 2000))
    full = filter(*known).filtered
    errors = {
        prior: [summary(full, windowed_filter(*known, w, prior=prior)).entropy_mae_bits for w in (1, 2, 3, 4)]
        for prior in ("uniform", "stationary")
    }
    np.testing.assert_allclose(errors["uniform"], [0.185, 0.061, 0.021, 0.0075], rtol=0.1)
    np.testing.assert_allclose(errors["stationary"], [0.097, 0.032, 0.0114, 0.0043], rtol=0.1)


def test_stationary_is_left_alone_by_a_step():
    transition = np.random.default_rng(3).dirichlet(np.ones(6), size=(50, 6))
    pi = stationary(transition)
    np.testing.assert_allclose((pi[:, None] @ transition)[:, 0], pi, rtol=0, atol=1e-12)
    np.testing.assert_allclose(pi.sum(axis=-1), 1.0, rtol=0, atol=1e-15)


def test_stationary_of_a_cycle_and_of_a_trap():
    np.testing.assert_allclose(stationary([[0, 1.0], [1.0, 0]]), [0.5, 0.5], atol=1e-15)
    np.testing.assert_allclose(stationary([[0.5, 0.5], [0.0, 1.0]]), [0.0, 1.0], atol=1e-15)


@pytest.mark.parametrize("size", [2, 5])
def test_stationary_must_be_unique(size):
    blocks = np.kron(np.eye(2), np.random.default_rng(4).dirichlet(np.ones(size), size=size))
    with pytest.raises(ValueError, match="got one that falls into parts"):
        stationary(blocks)


def test_impossible_window():
    model = ([1.0, 0.0], np.eye(2), [[0.5, 0.5, 0.0], [0.0, 0.5, 0.5]])
    rows = windowed_filter(*model, [0, 2, 1, 1], window=2, prior="uniform")
    np.testing.assert_array_equal(rows[:, 0], [1.0, np.nan, 0.0, 0.5])


def test_bad_arguments():
    model = ([0.5, 0.5], [[0.7, 0.3], [0.3, 0.7]], [[0.9, 0.1], [0.2, 0.8]], [0, 1])
    with pytest.raises(ValueError, match="want window >= 1, got 0"):
        windowed_filter(*model, 0)
    with pytest.raises(ValueError, match=r"want prior in \('uniform', 'stationary'\), got 'flat'"):
        windowed_filter(*model, 2, prior="flat")
