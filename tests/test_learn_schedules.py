"""Schedules: first and last values by hand, monotone pieces, moments of a run."""

import numpy as np
import pytest

from mhc_np.learn import constant, log_spaced_steps, warmup_cosine


def test_constant():
    assert [constant(step) for step in (0, 10**6)] == [1.0, 1.0]
    assert [constant(step, warmup=2) for step in range(3)] == [0.5, 1.0, 1.0]


def test_cosine_by_hand():
    # 2 steps up; then the cosine of 0, 45, 90, 135 degrees, and 180 one step after the end.
    got = [warmup_cosine(step, num_steps=5, warmup=2) for step in range(5)]
    half = np.sqrt(0.5) / 2
    np.testing.assert_allclose(got, [0.5, 1.0, 0.5 + half, 0.5, 0.5 - half], rtol=0, atol=1e-15)


def test_cosine_first_and_last_values():
    factor = [warmup_cosine(step, num_steps=1000, warmup=50, floor=0.1) for step in range(1000)]
    assert factor[0] == 1 / 50
    assert factor[49] == 1.0
    assert np.all(np.diff(factor[:50]) > 0)
    assert np.all(np.diff(factor[49:]) < 0)
    # sin(x/2)^2 is near (x/2)^2: the last step is a hair above the floor
    assert factor[-1] == pytest.approx(0.1 + 0.9 * (np.pi / 951 / 2) ** 2, abs=1e-9)


def test_cosine_without_warmup_and_all_warmup():
    np.testing.assert_allclose([warmup_cosine(s, 2, 0) for s in range(2)], [0.75, 0.25], atol=1e-15)
    assert [warmup_cosine(s, 2, 2) for s in range(2)] == [0.5, 1.0]


def test_cosine_refuses_what_it_cannot_mean():
    with pytest.raises(ValueError, match="want 0 <= warmup <= 10 steps, got 11"):
        warmup_cosine(0, 10, 11)
    with pytest.raises(ValueError, match="want a step in 0 … 9, got 10"):
        warmup_cosine(10, 10, 1)


@pytest.mark.parametrize("num_steps", [1, 2, 17, 4000])
@pytest.mark.parametrize("count", [3, 10, 50])
def test_log_spaced_steps(num_steps, count):
    steps = log_spaced_steps(num_steps, count)
    assert steps[0] == 0
    assert steps[-1] == num_steps
    assert list(steps) == sorted(set(steps))
    assert len(steps) <= count
    assert all(type(step) is int for step in steps)


def test_log_spaced_steps_keep_the_ratio():
    steps = np.array(log_spaced_steps(10**6, 14))
    np.testing.assert_allclose(steps[5:-1] / steps[4:-2], 10**0.5, rtol=0.02)
    with pytest.raises(ValueError, match="want num_steps >= 1 and count >= 3, got 0 and 5"):
        log_spaced_steps(0, 5)
