"""Planted drift: known shares of the way, turned and grown copies, and the trap of a second-order distance."""

import numpy as np
import pytest

from mhc_np.measure.drift import (
    arrival,
    jensen_shannon_bits,
    map_drift,
    procrustes_distance,
    relative_distance,
    subspace_distance,
)


def rng(seed=0):
    return np.random.default_rng(seed)


def turn(d, seed=0):
    return np.linalg.qr(rng(seed).standard_normal((d, d)))[0]


def causal(scores):
    scores = np.where(np.tril(np.ones(scores.shape[-2:], bool)), scores, -np.inf)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


def test_jensen_shannon_is_symmetric_bounded_and_right_by_hand():
    p, q = rng().dirichlet(np.ones(5), (2, 30))
    found = jensen_shannon_bits(p, q)
    np.testing.assert_allclose(found, jensen_shannon_bits(q, p), atol=1e-15)
    assert ((found > 0) & (found < 1)).all()
    # p = (1, 0), q = (1/2, 1/2): H(3/4, 1/4) - 1/2
    assert jensen_shannon_bits([1.0, 0.0], [0.5, 0.5]) == pytest.approx(0.811278 - 0.5, abs=1e-6)
    assert jensen_shannon_bits(p, p).max() == 0


def test_map_drift_leaves_the_only_row_without_a_choice_out():
    one, other = causal(rng().standard_normal((4, 2, 6, 6))), causal(rng(1).standard_normal((4, 2, 6, 6)))
    rows = np.sqrt(jensen_shannon_bits(one, other))
    assert map_drift(one, other) == pytest.approx(rows[..., 1:].mean())
    assert map_drift(one, one) == 0
    with pytest.raises(ValueError, match="want maps"):
        map_drift(np.ones((3, 1, 1)), np.ones((3, 1, 1)))


def test_distances_are_of_first_order_and_the_divergence_is_not():
    """Half of the way to go is half of the distance; of the divergence it is a quarter."""
    start, end = 0.02 * rng().standard_normal((2, 5, 8, 8))
    maps = [causal(end + left * (start - end)) for left in (1.0, 0.5)]
    drift = [map_drift(weights, causal(end)) for weights in maps]
    assert drift[1] / drift[0] == pytest.approx(0.5, abs=0.01)
    bits = [jensen_shannon_bits(weights, causal(end))[..., 1:].mean() for weights in maps]
    assert bits[1] / bits[0] == pytest.approx(0.25, abs=0.01)
    final = rng(2).standard_normal((40, 6))
    grown = [procrustes_distance((1 - left) * final, final) for left in (1.0, 0.5)]
    assert grown == pytest.approx([1, 0.5])


def test_planted_drift_in_step_is_not_called_attention_first():
    """A planted trap: maps and values go the same way at the same pace. First-order distances say so."""
    steps = np.unique(np.geomspace(1, 1000, 60).astype(int))
    left = np.exp(-steps / 100)
    left[-1] = 0
    start, end, values = 0.02 * rng().standard_normal((5, 8, 8)), np.zeros((5, 8, 8)), rng(1).standard_normal((40, 6))
    maps = [causal(end + share * (start - end)) for share in left]
    attention = arrival(steps, [map_drift(weights, maps[-1]) for weights in maps])
    content = arrival(steps, [procrustes_distance((1 - share) * values, values) for share in left])
    squared = arrival(steps, [jensen_shannon_bits(weights, maps[-1])[..., 1:].mean() for weights in maps])
    assert attention == pytest.approx(content, rel=0.03)
    assert squared < 0.6 * content  # the divergence would have said: attention first


def test_planted_drift_in_turn_is_found_in_its_order():
    steps = np.unique(np.geomspace(1, 1000, 60).astype(int))
    scores, values = rng().standard_normal((5, 8, 8)), rng(1).standard_normal((40, 6))
    maps = [causal(scores * (1 - np.exp(-step / 10))) for step in steps]
    moved = [values * (1 - np.exp(-step / 200)) @ turn(6, seed=step) for step in steps]
    attention = arrival(steps, [map_drift(weights, maps[-1]) for weights in maps])
    content = arrival(steps, [procrustes_distance(points, moved[-1]) for points in moved])
    assert 15 < attention < 40
    assert content == pytest.approx(200 * np.log(10), rel=0.05)


def test_arrival_of_a_planted_decay_lies_between_snapshots():
    steps = np.unique([0, *np.geomspace(1, 10_000, 40).astype(int)])
    for time in (7.0, 60.0, 700.0):
        distance = np.exp(-steps / time)
        distance[-1] = 0
        assert arrival(steps, distance) == pytest.approx(time * np.log(10), rel=0.06)
        assert arrival(steps, distance, share=0.5) < arrival(steps, distance, share=0.9)


def test_arrival_is_for_good_and_refuses_what_has_no_answer():
    assert 3 < arrival([0, 1, 2, 3, 7], [1.0, 0.05, 0.04, 0.3, 0.0]) < 7  # it was there, and left again
    assert np.isnan(arrival([0, 1], [0.0, 0.0]))
    assert np.isnan(arrival([0, 1], [1.0, 0.5]))
    assert np.isnan(arrival([0, 1], [np.inf, 0.0]))
    with pytest.raises(ValueError, match="arrival: want rising steps"):
        arrival([0, 0], [1.0, 0.0])


def test_procrustes_sees_growth_and_noise_and_no_rotation_reflection_or_shift():
    final = rng().standard_normal((60, 5))
    assert procrustes_distance(final @ turn(5) + 3, final) == pytest.approx(0, abs=1e-12)
    assert procrustes_distance(final @ np.diag([-1, 1, 1, 1, 1]), final) == pytest.approx(0, abs=1e-12)
    assert procrustes_distance(3 * final, final) == pytest.approx(2)
    assert procrustes_distance(np.ones_like(final), final) == pytest.approx(1)
    noisy = final + 0.1 * rng(1).standard_normal(final.shape)
    assert 0.05 < procrustes_distance(noisy @ turn(5), final) < 0.12


def test_subspaces_planted_turned_and_unrelated():
    flat = rng().standard_normal((100, 2)) @ rng(1).standard_normal((2, 20))
    assert subspace_distance(2 * flat + 1, flat, 2) == pytest.approx(0, abs=1e-7)
    planes = rng(2).standard_normal((2, 4000, 20))
    unrelated = [subspace_distance(planes[0] @ turn(20, s), planes[1], 3) for s in range(20)]
    assert np.mean(unrelated) == pytest.approx(np.sqrt(1 - 3 / 20), abs=0.03)
    angle, base = np.pi / 6, np.zeros((50, 3))
    base[:, 0] = rng(3).standard_normal(50)
    turned = base @ np.array([[np.cos(angle), np.sin(angle), 0], [-np.sin(angle), np.cos(angle), 0], [0, 0, 1]])
    assert subspace_distance(turned, base, 1) == pytest.approx(0.5)  # sin 30°


def test_relative_distance_is_over_all_arrays_together():
    start, end = [np.zeros(2), np.zeros((1, 2))], [np.array([3.0, 0.0]), np.array([[0.0, 4.0]])]
    assert relative_distance(start, start, end) == 1
    assert relative_distance(end, start, end) == 0
    assert relative_distance([end[0], start[1]], start, end) == pytest.approx(4 / 5)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: procrustes_distance(np.ones((3, 2)), np.ones((3, 3))), r"got \(3, 2\) and \(3, 3\)"),
        (lambda: procrustes_distance(np.eye(3), np.ones((3, 3))), "want final points that differ"),
        (lambda: subspace_distance(np.eye(3), np.eye(3), 4), "want 1 <= k <= 3, got 4"),
        (lambda: relative_distance([np.ones(1)], [np.ones(1)], [np.ones(1)]), "want parameters that moved"),
    ],
)
def test_wrong_input_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
