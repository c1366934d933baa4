"""Events: spikes by their definition, first passages, and the sign-flip test against enumeration."""

from itertools import product

import numpy as np
import pytest

from mhc_np.measure.events import first_fall, first_outside, first_rise, sign_flip_p, spikes


def by_definition(losses):
    """Say for every step whether it is in a spike, in plain words."""
    flags = []
    for t, loss in enumerate(losses):
        middle = np.median(losses[t - 15 : t]) if t >= 25 else np.inf
        flags.append(loss > 1.5 * middle and loss > middle + 0.03)
    return [t for t in range(1, len(flags)) if flags[t] and not flags[t - 1]]


def test_spikes_are_those_of_the_definition():
    rng = np.random.default_rng(0)
    losses = 0.2 * np.exp(0.4 * rng.standard_normal(400))
    starts, worst = spikes(losses)
    assert starts == by_definition(losses)
    assert len(starts) > 10
    assert worst > 1.5


def test_early_steps_stalls_and_slow_rises_are_no_spikes():
    early = np.full(60, 0.1)
    early[20] = 5.0
    assert spikes(early) == ([], 1.0)
    assert spikes(np.linspace(0.1, 1.0, 400)) == ([], 1.0)
    assert spikes(np.full(100, 1.0)) == ([], 1.0)
    tiny = np.full(60, 1e-3)
    tiny[40] = 0.02  # twenty times the median, and less than .03 nats
    assert spikes(tiny) == ([], 1.0)


def test_what_is_not_finite_is_in_no_spike():
    losses = np.full(60, 0.1)
    losses[30:33] = np.nan, np.inf, 0.4
    assert spikes(losses) == ([32], 4.0)
    assert spikes(np.full(50, np.nan)) == ([], 1.0)


def test_first_passages():
    steps = [0, 10, 20, 30]
    assert first_outside(steps, [1, 2, 11, 12], high=10) == 20
    assert first_outside(steps, [1, 0.05, 11, 12], low=0.1, high=10) == 10
    assert first_outside(steps, [1, np.nan, 2, 3], high=10) is None
    assert first_outside(steps, [1, np.inf, 2, 3], high=10) == 10
    assert first_rise(steps, [0.2, 0.1, 0.14, 0.2], ratio=1.5, margin=0.05) == 30
    assert first_rise(steps, [0.2, 0.1, 0.14, 0.2], ratio=1.5, margin=0.2) is None
    assert first_rise(steps, [np.nan, 0.1, np.nan, 0.2], ratio=1.5) == 30
    assert first_rise(steps, [np.nan] * 4) is None
    assert first_fall(steps, [0.5, 0.9, 0.75, 0.6], margin=0.2) == 30
    assert first_fall(steps, [0.5, 0.9, 0.75, 0.8], margin=0.2) is None


@pytest.mark.parametrize("size", [1, 4, 7])
def test_sign_flips_against_enumeration(size):
    leads = np.random.default_rng(size).normal(0.5, 1, size)
    means = [np.dot(signs, leads) for signs in product((-1, 1), repeat=size)]
    assert sign_flip_p(leads) == pytest.approx(np.mean(np.array(means) >= leads.sum() - 1e-9), abs=1e-12)


def test_sign_flips_of_many_runs():
    leads = np.random.default_rng(1).normal(0, 1, 40)
    from_normal = 0.5 * (1 - np.tanh(leads.sum() / np.sqrt((leads**2).sum()) * 0.8))
    assert sign_flip_p(leads) == pytest.approx(from_normal, abs=0.05)
    assert sign_flip_p(np.ones(40)) == pytest.approx(2**-16)
    assert np.isnan(sign_flip_p([]))
