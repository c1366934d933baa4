"""Memory: what is kept and what exchanged, and that a short filter is told from a long one."""

import numpy as np
import pytest

from mhc_np.measure.memory import movement, splice
from mhc_np.tasks import hmm

RNG = np.random.default_rng(6)


def test_splice_keeps_the_newest_and_exchanges_the_rest():
    mine, theirs = RNG.integers(0, 5, (2, 4, 6))
    for window in range(7):
        out = splice(mine, theirs, window)
        np.testing.assert_array_equal(out[:, 6 - window :], mine[:, 6 - window :])
        np.testing.assert_array_equal(out[:, : 6 - window], theirs[:, : 6 - window])


@pytest.mark.parametrize("window", [-1, 7])
def test_a_window_outside_the_sequence_is_refused(window):
    with pytest.raises(ValueError, match=r"splice: want .* a window in 0 .. 6"):
        splice(np.zeros((2, 6)), np.zeros((2, 6)), window)


def test_a_filter_with_a_window_does_not_move_and_the_exact_one_does():
    config = hmm.Config(num_observations=8)
    batch = hmm.sample(config, RNG, 200)
    known = hmm.known(config, batch)
    others = hmm.draw_paths(RNG, *known[:3], 8)[1]

    def answers(observations, window):
        exact = hmm.filter(*known[:3], observations).filtered[:, -1]
        return exact, hmm.windowed_filter(*known[:3], observations, window)[:, -1]

    exact_before, short_before = answers(known.observations, 2)
    exact_after, short_after = answers(splice(known.observations, others, 2), 2)
    moved = movement(exact_before, exact_after, short_before, short_after)
    assert moved.model == 0
    assert moved.exact > 0.005
    assert moved.mismatch == moved.exact
    same = movement(exact_before, exact_after, exact_before, exact_after)
    assert same.mismatch == 0
    assert same.model == same.exact
