"""Planted manifolds: a curve whose coordinate is an entropy, a line that is not, and noise."""

import numpy as np
import pytest

from mhc_np.measure.manifold import (
    participation_ratio,
    pca,
    pearson,
    project_out,
    r_squared,
    random_axes,
    ranks,
    share,
    spearman,
    within,
)

N, D = 2000, 24


def rng(seed=0):
    return np.random.default_rng(seed)


def on_a_curve(entropy, noise=0.02, seed=0):
    """Points on a bent, monotone curve in D dimensions, in a random orientation, away from the origin."""
    turn = np.linalg.qr(rng(seed).standard_normal((D, D)))[0]
    bent = np.zeros((len(entropy), D))
    bent[:, 0], bent[:, 1] = 3 * entropy, 0.4 * (entropy - entropy.mean()) ** 2
    return bent @ turn + 5 + noise * rng(seed + 1).standard_normal(bent.shape)


def test_a_planted_manifold_is_found():
    entropy = rng().uniform(0, 3, N)
    found = pca(on_a_curve(entropy))
    assert share(found.variances)[0] > 0.97
    assert participation_ratio(found.variances) < 1.1
    assert abs(spearman(found.coordinates[:, 0], entropy)) > 0.999
    assert r_squared(found.coordinates[:, 0], entropy) > 0.99


def test_noise_gives_the_null_answer():
    points, entropy = rng().standard_normal((N, D)), rng(1).uniform(0, 3, N)
    found = pca(points)
    assert share(found.variances)[0] < (1 + np.sqrt(D / N)) ** 2 / D * 1.05
    assert participation_ratio(found.variances) > 0.95 * D
    assert abs(spearman(found.coordinates[:, 0], entropy)) < 3.5 / np.sqrt(N)
    assert r_squared(found.coordinates[:, 0], entropy) < 12 / N
    assert r_squared(points, entropy) == pytest.approx(D / N, rel=1)  # many coordinates explain D / N of nothing


def test_a_large_first_axis_alone_proves_nothing():
    """A planted trap: points on a line that has nothing to do with the entropy."""
    entropy, other = rng().uniform(0, 3, N), rng(1).uniform(0, 3, N)
    found = pca(on_a_curve(other))
    assert share(found.variances)[0] > 0.97
    assert abs(spearman(found.coordinates[:, 0], entropy)) < 0.08


def test_a_coordinate_that_only_knows_the_position_vanishes_within_positions():
    """A planted trap: the entropy falls with the position, and so does the coordinate, but nothing else joins them."""
    position = np.tile(np.arange(20), 100)
    entropy = 3 - 0.1 * position + 0.3 * rng().standard_normal(N)
    knows, only_position = entropy + 0.05 * rng(1).standard_normal(N), -0.1 * position + 0.3 * rng(2).standard_normal(N)
    assert spearman(only_position, entropy) > 0.7
    assert abs(spearman(within(only_position, position), within(entropy, position))) < 0.08
    assert spearman(within(knows, position), within(entropy, position)) > 0.95


def test_pca_is_exact_and_does_not_depend_on_order_or_orientation():
    points = rng().standard_normal((50, 6)) * np.arange(1, 7) + 2
    found = pca(points)
    np.testing.assert_allclose(found.mean + found.coordinates @ found.axes, points, atol=1e-12)
    np.testing.assert_allclose(found.axes @ found.axes.T, np.eye(6), atol=1e-12)
    np.testing.assert_allclose(found.variances, np.linalg.eigvalsh(np.cov(points.T, bias=True))[::-1], rtol=1e-10)
    shuffled = pca(points[rng(1).permutation(50)])
    np.testing.assert_allclose(shuffled.axes, found.axes, atol=1e-10)  # signs too


def test_points_that_coincide_have_no_first_axis():
    assert np.isnan(share(pca(np.ones((5, 3))).variances)).all()


def test_ranks_and_correlations_on_ties_by_hand():
    assert ranks([7.0, 7.0, 1.0]).tolist() == [2.5, 2.5, 1.0]
    assert spearman([1, 2, 2, 3], [1, 2, 2, 3]) == pytest.approx(1)
    assert spearman([1, 2, 3], [1, 3, 2]) == pytest.approx(0.5)
    assert spearman([1, 2, 3, 4, 5], np.exp([1, 2, 3, 4, 5])) == pytest.approx(1)
    assert np.isnan(spearman([1, 1, 1], [1, 2, 3]))
    assert np.isnan(pearson(np.full(3, 0.1) * 3, [1, 2, 3]))
    assert np.isnan(r_squared([1.0, 2.0], [3.0, 3.0]))


def test_rounding_does_not_decide_between_equal_values():
    """Entropies of one belief with its hypotheses relabelled are equal, and are summed in different orders."""
    belief = np.array([[0.1, 0.7, 0.2], [0.7, 0.2, 0.1], [0.2, 0.1, 0.7], [1 / 3, 1 / 3, 1 / 3]])
    entropy = -(belief * np.log2(belief)).sum(axis=1)
    assert ranks(entropy).tolist() == [2.0, 2.0, 2.0, 4.0]
    assert ranks([0.0, 1e-9, 1.0]).tolist() == [1.0, 2.0, 3.0]  # small is not equal
    assert ranks(np.zeros(3)).tolist() == [2.0, 2.0, 2.0]


def test_projecting_out_removes_that_axis_and_nothing_else():
    entropy = rng().uniform(0, 3, N)
    points = on_a_curve(entropy)
    found = pca(points)
    without = project_out(points, 7 * found.axes[0], about=found.mean)
    np.testing.assert_allclose((without - found.mean) @ found.axes[0], 0, atol=1e-10)
    np.testing.assert_allclose((without - points) @ found.axes[1:].T, 0, atol=1e-10)
    np.testing.assert_allclose(without.mean(axis=0), points.mean(axis=0), atol=1e-10)
    assert r_squared(without @ found.axes[:3].T, entropy) < 0.2
    assert project_out(points.astype(np.float32), found.axes[0], about=found.mean).dtype == np.float32


def test_a_random_axis_leaves_the_planted_coordinate_readable():
    """The control: taking a random direction out costs about 1/D of what taking the right one out does."""
    entropy = rng().uniform(0, 3, N)
    points = on_a_curve(entropy)
    mean = points.mean(axis=0)
    kept = [r_squared(project_out(points, axis, about=mean), entropy) for axis in random_axes(20, D, rng(9))]
    assert min(kept) > 0.95
    np.testing.assert_allclose(np.linalg.norm(random_axes(20, D, rng(9)), axis=1), 1)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: pca(np.ones(3)), r"pca: want points \(N, d\) with N >= 2, got shape \(3,\)"),
        (lambda: pearson([1, 2], [1, 2, 3]), "pearson: want two sides of one length, got 2 and 3"),
        (lambda: project_out(np.ones(2), [0, 0], about=np.zeros(2)), "project_out: want an axis of some length"),
    ],
)
def test_wrong_input_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
