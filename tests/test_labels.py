"""Accuracy and excess bits: by hand, on the exact posterior itself, and what must be refused."""

import numpy as np
import pytest

from mhc_np.measure.calibration import kl_bits
from mhc_np.measure.labels import accuracy, excess_bits

RNG = np.random.default_rng(5)


def test_excess_of_the_exact_posterior_is_zero_whatever_the_labels():
    exact = RNG.dirichlet(np.ones(4), (3, 7))
    assert excess_bits(exact, exact, RNG.integers(0, 4, (3, 7))) == 0


def test_excess_estimates_the_divergence_when_labels_are_drawn_from_the_posterior():
    exact, model = (np.tile(rows, (200_000, 1)) for rows in ([0.7, 0.2, 0.1], [0.5, 0.2, 0.3]))
    drawn = RNG.choice(3, size=len(exact), p=exact[0])
    assert abs(excess_bits(exact, model, drawn) - kl_bits(exact[0], model[0])) < 0.01


def test_excess_is_negative_for_one_who_knows_the_label_and_infinite_for_one_who_ruled_it_out():
    exact, sure = [[0.5, 0.5]], [[1.0, 0.0]]
    assert excess_bits(exact, sure, [0]) == -1
    assert excess_bits(exact, sure, [1]) == np.inf


def test_rows_without_a_label_are_left_out_and_broken_answers_are_not():
    exact = np.array([[0.9, 0.1], [0.9, 0.1], [np.nan, np.nan]])
    answer = np.array([[0.8, 0.2], [np.nan, np.nan], [0.5, 0.5]])
    assert accuracy(exact, answer, [0, 0, 1]) == 0.5
    assert np.isnan(excess_bits(exact, answer, [0, 0, 1]))
    with pytest.raises(ValueError, match="accuracy: want at least one row"):
        accuracy(exact[2:], answer[2:], [1])
