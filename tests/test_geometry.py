"""Angles on planted keys: the orthogonal ones, the copies, the dead ones, and the null answer on noise."""

import numpy as np
import pytest

from mhc_np.measure.geometry import (
    belief_alignment,
    cosine,
    cosines,
    expected_cosine,
    mean_absolute_cosine,
    random_baseline,
    shuffled_alignment,
    simplex_gap,
)


def rng(seed=0):
    return np.random.default_rng(seed)


def orthogonal(n, d, seed=0):
    return np.linalg.qr(rng(seed).standard_normal((d, n)))[0].T


@pytest.mark.parametrize("centred", [False, True])
def test_planted_orthogonal_keys_are_below_all_random_draws_and_copies_above(centred):
    n, d = 20, 64
    baseline = random_baseline(n, d, rng(), centred=centred)
    planted = mean_absolute_cosine(orthogonal(n, d), centred=centred)
    assert planted == pytest.approx(1 / (n - 1) if centred else 0, abs=1e-12)
    assert planted < baseline[0]
    spread_on_a_line = rng(1).standard_normal((n, 1)) * rng(2).standard_normal(d)
    assert mean_absolute_cosine(spread_on_a_line, centred=centred) == pytest.approx(1)


@pytest.mark.parametrize("centred", [False, True])
def test_noise_lies_inside_its_own_baseline_and_on_one_side_of_the_other(centred):
    n, d = 20, 64
    found = mean_absolute_cosine(rng(3).standard_normal((400, n, d)), centred=centred)
    baseline = random_baseline(n, d, rng(4), centred=centred)
    low, high = np.quantile(baseline, (0.05, 0.95))
    assert 0.85 < np.mean((low < found) & (found < high)) < 0.95
    other = np.median(random_baseline(n, d, rng(4), centred=not centred))  # differing in centring alone misleads
    assert np.mean(found < other if not centred else found > other) > 0.85


def test_few_keys_need_the_gap_to_a_simplex():
    """Five hypotheses in twelve dimensions, as in the hidden Markov model: a perfect frame passes for chance."""
    n, d = 5, 12
    frame, random = orthogonal(n, d), rng().standard_normal((2000, n, d))
    low = np.quantile(random_baseline(n, d, rng(), centred=True, num_draws=4000), 0.05)
    assert mean_absolute_cosine(frame, centred=True) == pytest.approx(1 / (n - 1))
    assert mean_absolute_cosine(frame, centred=True) > low  # so this measure cannot find a frame here
    assert simplex_gap(7 * frame + 3) == pytest.approx(0, abs=1e-12)
    assert simplex_gap(random).min() > 0.05
    nearly = frame + 0.05 * rng(1).standard_normal((n, d))
    assert simplex_gap(nearly) < np.quantile(simplex_gap(random), 0.05)
    assert simplex_gap(rng(2).standard_normal((n, 1)) * rng(3).standard_normal(d)) > 0.9
    assert np.isnan(simplex_gap(np.ones((4, 8))))


def test_the_baseline_has_the_known_values():
    """For n = 20 and d = 64: .0997 by the formula, .100 by draws, .108 when centred."""
    plain, centred = (random_baseline(20, 64, rng(), centred=c).mean() for c in (False, True))
    assert expected_cosine(64) == pytest.approx(0.0997, abs=5e-5)
    assert plain == pytest.approx(expected_cosine(64), rel=0.01)
    assert centred == pytest.approx(0.108, abs=0.001)


def test_centring_takes_a_common_shift_out_and_signed_cosines_then_average_near_minus_one_over_n_minus_one():
    keys = orthogonal(10, 32) + 5.0
    assert mean_absolute_cosine(keys) > 0.9  # the shift hides that they are orthogonal
    assert mean_absolute_cosine(keys, centred=True) == pytest.approx(1 / 9)
    random = cosines(rng().standard_normal((300, 10, 32)), centred=True)
    assert random[..., ~np.eye(10, dtype=bool)].mean() == pytest.approx(-1 / 9, abs=0.003)


def test_cosines_do_not_see_length_and_do_see_direction():
    keys = rng().standard_normal((3, 5, 8))
    scaled = keys * rng(1).uniform(0.1, 10, (3, 5, 1))
    np.testing.assert_allclose(cosines(scaled), cosines(keys), atol=1e-12)
    np.testing.assert_allclose(cosine(keys, -keys).diagonal(axis1=1, axis2=2), -1)


def test_dead_keys_do_not_look_orthogonal():
    keys = orthogonal(4, 8)
    keys[2] = 0
    assert np.isnan(mean_absolute_cosine(keys))
    assert np.isnan(mean_absolute_cosine(np.ones((4, 8)), centred=True))


def test_planted_alignment_is_found_and_other_sequences_beliefs_are_not_it():
    n, d = 5, 16
    keys, belief = orthogonal(n, d), rng().dirichlet(np.full(n, 0.3), (200, 7))
    queries = belief @ keys
    found = belief_alignment(queries, keys, belief).mean()
    null = shuffled_alignment(queries, keys, belief, rng(1))
    assert found > 0.3
    assert abs(null.mean()) < 0.02
    assert np.all(np.diff(null) >= 0)
    assert belief_alignment(-queries, keys, belief).mean() == pytest.approx(-found)


def test_alignment_of_noise_is_zero_however_sharp_the_belief():
    n, d = 5, 16
    belief = np.eye(n)[rng().integers(n, size=(500, 7))]
    queries, keys = rng(1).standard_normal((500, 7, d)), rng(2).standard_normal((n, d))
    found = belief_alignment(queries, keys, belief)
    null = shuffled_alignment(queries, keys, belief, rng(3), num_draws=100)
    assert abs(found.mean()) < 3 * found.std() / np.sqrt(found.size)
    assert null[0] - 0.01 < found.mean() < null[-1] + 0.01


def test_queries_that_love_one_key_whatever_is_believed_are_told_by_the_shuffle():
    """A planted trap: queries near key 0, and a prior that favours hypothesis 0. No query looks at the evidence."""
    keys, sharp = orthogonal(3, 8), np.eye(3)[rng().choice(3, p=(0.8, 0.1, 0.1), size=(400, 1))]
    queries = np.broadcast_to(keys[0], (400, 1, 8))
    found = belief_alignment(queries, keys, sharp).mean()
    assert found > 0.3
    assert found == pytest.approx(shuffled_alignment(queries, keys, sharp, rng(1)).mean(), abs=1e-9)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: cosines(np.ones(3)), r"cosines: want vectors \(..., n, d\), got shape \(3,\)"),
        (lambda: mean_absolute_cosine(np.ones((1, 3))), "want at least two vectors"),
        (lambda: simplex_gap(np.ones((1, 3))), "simplex_gap: want at least two vectors"),
        (lambda: belief_alignment(np.ones((2, 3)), np.eye(3), np.ones((2, 2))), r"= \(..., 2, 3\), got \(2, 2\)"),
    ],
)
def test_wrong_shapes_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
