"""Reliability: bins by hand, the error's edge cases, and a forecast that is right by construction."""

import numpy as np
import pytest

from mhc_np.measure.reliability import expected_calibration_error, reliability_curve


def forecasts(seed, count, size=4):
    """Return probabilities, and labels drawn from them."""
    rng = np.random.default_rng(seed)
    probs = rng.dirichlet(np.ones(size), size=count)
    labels = (probs.cumsum(axis=1) > rng.random((count, 1))).argmax(axis=1)
    return probs, labels


def test_bins_by_hand():
    probs = [[0.9, 0.1], [0.7, 0.3], [0.2, 0.8], [0.5, 0.5]]
    curve = reliability_curve(probs, [0, 1, 1, 0], num_bins=4)
    # Confidences .9 and .8 (both right) in the last bin, .7 (wrong) in the third, .5 (right) in the second.
    np.testing.assert_array_equal(curve.count, [0, 1, 1, 2])
    np.testing.assert_allclose(curve.confidence, [np.nan, 0.5, 0.7, 0.85], atol=1e-15)
    np.testing.assert_array_equal(curve.accuracy, [np.nan, 1.0, 0.0, 1.0])
    error = (1 * 0.5 + 1 * 0.7 + 2 * 0.15) / 4
    ece = expected_calibration_error(probs, [0, 1, 1, 0], num_bins=4)
    np.testing.assert_allclose(ece, error, atol=1e-15)


def test_zero_and_one_have_bins():
    curve = reliability_curve([[1.0, 0.0]], [0], num_bins=5, events="every")
    np.testing.assert_array_equal(curve.count, [1, 0, 0, 0, 1])
    np.testing.assert_array_equal(curve.accuracy[[0, 4]], [0.0, 1.0])


@pytest.mark.parametrize("events", ["top", "every"])
def test_true_probabilities_are_reliable(events):
    probs, labels = forecasts(0, 20_000)
    assert expected_calibration_error(probs, labels, 10, events=events) < 0.012
    sharper = probs**2 / (probs**2).sum(axis=1, keepdims=True)
    assert expected_calibration_error(sharper, labels, 10, events=events) > 0.05


def test_certain_and_right_or_wrong():
    one_hot = np.eye(3)[[0, 1, 2]]
    assert expected_calibration_error(one_hot, [0, 1, 2]) == 0.0
    assert expected_calibration_error(one_hot, [1, 2, 0]) == 1.0


def test_the_base_rate_is_reliable_and_knows_nothing():
    labels = np.repeat([0, 1], [75, 25])
    assert expected_calibration_error(np.tile([0.75, 0.25], (100, 1)), labels) == 0.0


def test_rows_without_numbers_are_left_out():
    probs, labels = forecasts(1, 40)
    probs[::2] = np.nan
    kept = expected_calibration_error(probs[1::2], labels[1::2])
    assert expected_calibration_error(probs, labels) == kept
    shaped = expected_calibration_error(probs.reshape(4, 10, 4), labels.reshape(4, 10))
    assert shaped == kept


def test_bad_arguments():
    with pytest.raises(ValueError, match=r"want events in \('top', 'every'\), got 'some'"):
        reliability_curve([[1.0, 0.0]], [0], events="some")
    with pytest.raises(ValueError, match=r"want labels of shape \(1,\), got \(2,\)"):
        reliability_curve([[1.0, 0.0]], [0, 1])
    with pytest.raises(ValueError, match=r"want labels in 0 .. 1, got 2 .. 2"):
        reliability_curve([[1.0, 0.0]], [2])
    with pytest.raises(ValueError, match="want num_bins >= 1, got 0"):
        reliability_curve([[1.0, 0.0]], [0], num_bins=0)
    with pytest.raises(ValueError, match="at least one row"):
        expected_calibration_error([[np.nan, np.nan]], [0])
