"""The value manifold: on how few axes points lie, and whether the posterior's entropy is a coordinate.

Chapter: chapters/06_geometry.md      Tests: tests/test_manifold.py
Symbols: attention outputs -> points (N, d), λ_k -> variances (r,), PC_k -> axes (r, d), coordinates (N, r)

A large share of the first axis proves nothing: points may lie on a line that has nothing to do with belief. A high
correlation with entropy proves little more: where the entropy follows from the position alone, whatever knows the
position knows it. So correlations are also taken *within* positions, and an axis is only used if the answers suffer
when it is taken away (`project_out`), more than from a random one.
"""

from typing import NamedTuple

import numpy as np


class PCA(NamedTuple):
    """Principal axes: ``points = mean + coordinates @ axes``, the axis of the largest variance first."""

    mean: np.ndarray
    axes: np.ndarray
    variances: np.ndarray
    coordinates: np.ndarray


def pca(points):
    """Find the principal axes by a singular value decomposition.

    Parameters
    ----------
    points : (N, d) floats
        Not standardised: dividing each column by its own spread would blow dead ones up.

    Returns
    -------
    PCA
        ``variances`` sum to the total variance (with 1/N). The largest entry of each axis is positive.

    Examples
    --------
    >>> found = pca([[1.0, 1.0], [3.0, 5.0], [2.0, 3.0]])
    >>> share(found.variances).round(6), found.axes[0].round(3)
    (array([1., 0.]), array([0.447, 0.894]))
    """
    points = _checked("pca", points)
    mean = points.mean(axis=0)
    _, values, axes = np.linalg.svd(points - mean, full_matrices=False)
    largest = np.abs(axes).argmax(axis=1)
    axes = axes * np.where(axes[np.arange(len(axes)), largest] < 0, -1.0, 1.0)[:, None]
    return PCA(mean, axes, values**2 / len(points), (points - mean) @ axes.T)


def share(variances):
    """Return each axis's share of the total variance; NaN where all points coincide."""
    variances = np.asarray(variances, np.float64)
    total = variances.sum()
    return variances / (total if total > 0 else np.nan)


def participation_ratio(variances):
    """Return (Σλ)² / Σλ²: in how many directions the points spread, from 1 to the number of axes.

    >>> participation_ratio([1.0, 1.0, 1.0, 0.0]), participation_ratio([5.0, 0.0])
    (3.0, 1.0)
    """
    parts = share(variances)
    return float(1 / (parts * parts).sum())


def ranks(values):
    """Return the rank of each value from 1 on, ties by their mean.

    What differs by less than 1e-12 of the largest value is a tie: equal entropies are summed in different orders.

    >>> ranks([30, 10, 20, 10])
    array([4. , 1.5, 3. , 1.5])
    """
    values = np.asarray(values, np.float64)
    largest = np.abs(values).max(initial=0.0)
    scaled = (values / largest).round(12) if largest > 0 else values
    _, place, count = np.unique(scaled, return_inverse=True, return_counts=True)
    return (count.cumsum() - (count - 1) / 2)[place.reshape(-1)]


def spearman(x, y):
    """Return the rank correlation; NaN if one side is constant.

    >>> round(spearman([1, 2, 3, 4], [1, 8, 27, 64]), 12), round(spearman([1, 2, 3], [3, 2, 2]), 3)
    (1.0, -0.866)
    """
    return pearson(ranks(x), ranks(y))


def pearson(x, y):
    """Return the linear correlation; NaN if one side is constant."""
    x, y = (np.asarray(side, np.float64).ravel() for side in (x, y))
    if x.shape != y.shape:
        raise ValueError(f"pearson: want two sides of one length, got {x.size} and {y.size}")
    x, y = x - x.mean(), y - y.mean()
    # what rounding leaves of a constant is not a signal
    if min(np.abs(x).max(initial=0), np.abs(y).max(initial=0)) < 1e-12:
        return float("nan")
    return float(x @ y / np.sqrt((x @ x) * (y @ y)))


def r_squared(coordinates, target):
    """Return the share of the target's variance that a straight line (or plane) through the coordinates explains.

    In-sample: k coordinates of pure noise reach k / N. For many coordinates use a probe on points it has not seen.

    Parameters
    ----------
    coordinates : (N,) or (N, k) floats
    target : (N,) floats
    """
    target = np.asarray(target, np.float64)
    columns = np.column_stack([np.ones(len(target)), np.asarray(coordinates, np.float64)])
    rest = target - columns @ np.linalg.lstsq(columns, target, rcond=None)[0]
    spread = target - target.mean()
    return float(1 - rest @ rest / (spread @ spread)) if np.abs(spread).max() > 1e-12 else float("nan")


def within(values, groups):
    """Subtract from each value the mean of its group: what the group alone does not tell.

    >>> within([1.0, 3.0, 10.0], [0, 0, 1])
    array([-1.,  1.,  0.])
    """
    _, place = np.unique(groups, return_inverse=True)
    place, values = place.reshape(-1), np.asarray(values, np.float64)
    return values - (np.bincount(place, values) / np.bincount(place))[place]


def project_out(points, axis, *, about):
    """Take one direction out of points, setting it to where ``about`` lies: (..., d) -> (..., d).

    Parameters
    ----------
    points : (..., d) floats
    axis : (d,) floats
        Of any length but zero.
    about : (d,) floats
        Usually the mean, so that the mean stays.

    Examples
    --------
    >>> project_out(np.array([5.0, 7.0]), [2.0, 0.0], about=np.array([1.0, 1.0]))
    array([1., 7.])
    """
    axis = np.asarray(axis, np.float64)
    length = np.linalg.norm(axis)
    if not length > 0:
        raise ValueError("project_out: want an axis of some length, got zero")
    unit = (axis / length).astype(points.dtype)
    about = np.asarray(about).astype(points.dtype)
    return points - ((points - about) @ unit)[..., None] * unit


def random_axes(count, d, rng):
    """Draw directions that are uniform on the sphere, (count, d)."""
    axes = rng.standard_normal((count, d))
    return axes / np.linalg.norm(axes, axis=1, keepdims=True)


def _checked(who, points):
    """Return the points in float64, or say what is wrong with their shape."""
    points = np.asarray(points, np.float64)
    if points.ndim != 2 or len(points) < 2:
        raise ValueError(f"{who}: want points (N, d) with N >= 2, got shape {points.shape}")
    return points
