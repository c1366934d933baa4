"""Divergence and growth of streams: by hand, and where float64's squares would overflow."""

import numpy as np
import pytest

from mhc_np.measure.streams import divergence, growth


def test_divergence_by_definition():
    streams = np.random.default_rng(0).standard_normal((3, 5, 4, 6)) + 0.7
    apart = sum(np.sum((streams[:, :, i] - streams.mean(axis=2)) ** 2) for i in range(4))
    assert divergence(streams) == pytest.approx(np.sqrt(apart / np.sum(streams**2)), rel=1e-12)
    assert divergence(1e200 * streams) == pytest.approx(divergence(streams), rel=1e-12)


def test_one_stream_does_not_diverge():
    assert divergence(np.random.default_rng(1).standard_normal((2, 3, 1, 4))) == 0


def test_growth_by_definition():
    rng = np.random.default_rng(2)
    first, last = rng.standard_normal((2, 3, 1, 4)), 5 * rng.standard_normal((2, 3, 4, 4))
    want = np.sqrt((last**2).mean() / (first**2).mean())
    assert growth(first, last) == pytest.approx(want, rel=1e-12)
    assert growth(first, 1e200 * last) == pytest.approx(1e200 * want, rel=1e-12)


@pytest.mark.parametrize("broken", [np.nan, np.inf])
def test_broken_streams_are_nan(broken):
    streams = np.ones((2, 2, 3))
    streams[0, 0, 0] = broken
    assert np.isnan(divergence(streams))
    assert np.isnan(growth(np.ones((2, 3)), streams))
    assert np.isnan(growth(np.zeros((2, 3)), np.ones((2, 3))))
