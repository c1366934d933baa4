"""The order of arrivals: planted courses, the learning rate's own, and the words."""

import numpy as np
import pytest

from mhc_np.lab import order
from mhc_np.lab.drifting import DISTANCES
from mhc_np.lab.verdicts_geometry import CLEARLY, c8
from mhc_np.measure import drift

TRAINING = {"num_steps": 2000, "warmup": 0.05}


def result(**curves):
    """A made-up result with some curves over log-spaced steps."""
    return {"drift": {"curves": {"step": [0, 1, 3, 7, 15], **curves}, "settled": {}}}


def test_a_straight_walk_at_the_pace_of_the_rate_arrives_when_it_says():
    """Walk from 1 to 0 with the recipe's own rates, and time the arrival as the saved runs are timed."""
    num_steps, warmup = 2000, 100
    rates = np.array([order.warmup_cosine(step, num_steps, warmup) for step in range(num_steps)])
    left = 1 - np.concatenate([[0.0], np.cumsum(rates)]) / rates.sum()
    timed = drift.arrival(np.arange(num_steps + 1), np.maximum(left, 0.0))
    assert order.by_rate_alone(TRAINING) == pytest.approx(timed, abs=1.5)


def test_without_a_schedule_in_the_middle_nothing_would_arrive_there():
    assert 0.6 * 2000 < order.by_rate_alone(TRAINING) < 0.75 * 2000
    later = order.by_rate_alone({**TRAINING, "warmup": 0.5})
    assert later > order.by_rate_alone(TRAINING)


def test_what_is_left_is_a_share_of_the_way():
    run = result(map_drift=[0.8, 0.8, 0.4, 0.2, 0.0])
    assert order.left_at(run, "map_drift", 0) == 1
    assert order.left_at(run, "map_drift", 3) == pytest.approx(0.5)
    assert order.left_at(run, "map_drift", 15) == 0
    between = np.expm1((np.log(4) + np.log(8)) / 2)
    assert order.left_at(run, "map_drift", between) == pytest.approx(0.375)


def test_bits_between_snapshots():
    run = result(kl_bits=[1.0, 1.0, 0.1, 0.001, 0.001])
    assert order.bits_at(run, 3) == pytest.approx(0.1)
    assert order.bits_at(run, np.expm1((np.log(4) + np.log(8)) / 2)) == pytest.approx(0.01)


def test_ratios_are_those_of_the_rule():
    settled = {"map_drift": 100.0, "value_drift": 150.0, "calibration": 50.0}
    settled |= {"routing_distance": 100.0, "content_distance": 100.0}
    runs = [{"drift": {"settled": {**settled, "value_drift": 150.0 + k}}} for k in range(5)]
    tunnels = {"geometry-bijection": runs, "geometry-hmm": runs}
    numbers = c8(tunnels).numbers["geometry-hmm"]
    assert np.median(order.ratios(runs, "value_drift", "map_drift")) == pytest.approx(numbers["value_over_map"])
    assert np.median(order.ratios(runs, "calibration", "map_drift")) == pytest.approx(numbers["calibration_over_map"])
    early = [{"drift": {"settled": {"map_drift": 0.0, "value_drift": None}}}]
    assert np.isnan(order.ratios(early, "value_drift", "map_drift")[0])


def test_words_change_at_the_edge_of_the_rule():
    assert order.when(CLEARLY) == "clearly after"
    assert order.when(CLEARLY - 1e-9) == "about together with"
    assert order.when(1 / CLEARLY) == "clearly before"


def test_everything_that_is_measured_has_words():
    assert set(DISTANCES) | {"calibration", "map_divergence"} == set(order.WORDS)
