"""Drift: how far attention maps, values and parameters are from where training ends.

Chapter: chapters/09_frame_precision.md      Tests: tests/test_drift.py
Symbols: α_ij -> weights (..., T, T), what heads find -> points (N, d), θ -> params

All distances are of *first order*: halve the way to the end, and each of them halves. That is why the Jensen–Shannon
divergence, which is of second order, comes with its square root: the divergence of a map that is a third of the way off
is a ninth of its start and would be called "90 % done", beside a value at the same third that is not. Comparing the two
would find attention first whatever the network does.

`arrival` says when such a curve is nine tenths done; between two snapshots it interpolates, so that two arrivals may
differ by less than the snapshots do.
"""

import numpy as np

from mhc_np.measure.rows import checked_pair, times_log2


def jensen_shannon_bits(p, q):
    """Return the Jensen–Shannon divergence of each row, (..., V) -> (...), in bits: 0 for equal rows, 1 for disjoint.

    >>> jensen_shannon_bits([[1.0, 0.0], [0.5, 0.5]], [[0.0, 1.0], [0.5, 0.5]])
    array([1., 0.])
    """
    p, q = checked_pair("jensen_shannon_bits", p, q)
    middle = (p + q) / 2
    half = [(times_log2(rows, rows) - times_log2(rows, middle)).sum(axis=-1) / 2 for rows in (p, q)]
    return np.maximum(half[0] + half[1], 0.0)


def map_drift(weights, final):
    """Return the mean Jensen–Shannon *distance* (square root of the divergence) of attention rows, in [0, 1].

    Rows with a single source cannot differ and are left out.

    Parameters
    ----------
    weights, final : (..., T, T) floats
        Causal maps: ``weights[..., i, j]`` is zero for j > i.

    Examples
    --------
    >>> first, last = np.array([[1.0, 0.0], [0.5, 0.5]]), np.array([[1.0, 0.0], [1.0, 0.0]])
    >>> map_drift(first, first), round(map_drift(first, last), 4)
    (0.0, 0.5579)
    """
    divergence = jensen_shannon_bits(weights, final)
    if divergence.ndim < 1 or divergence.shape[-1] < 2:
        raise ValueError(f"map_drift: want maps (..., T, T) with T >= 2, got {np.shape(weights)}")
    return float(np.sqrt(divergence[..., 1:]).mean())


def procrustes_distance(points, final):
    """Return how far points are from the final ones after the best shift and rotation, relative to the final spread.

    A turned or mirrored copy has distance 0: another basis is no drift. A shrunken copy is at the share that it lacks,
    since growing is drift.

    Parameters
    ----------
    points, final : (N, d) floats
        The same N tokens at two moments.

    Returns
    -------
    float
        ‖A R − B‖ / ‖B‖ for centred A, B and the best orthogonal R. A single point in place of A gives 1.

    Examples
    --------
    >>> final = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]])
    >>> turned = final @ np.array([[0.0, 1.0], [-1.0, 0.0]]) + 7
    >>> round(procrustes_distance(turned, final), 12), round(procrustes_distance(final / 4, final), 12)
    (0.0, 0.75)
    """
    A, B = _centred_pair("procrustes_distance", points, final)
    size = np.linalg.norm(B)
    if size == 0:
        raise ValueError("procrustes_distance: want final points that differ, got one point N times")
    left, _, right = np.linalg.svd(A.T @ B)
    return float(np.linalg.norm(A @ (left @ right) - B) / size)


def subspace_distance(points, final, k):
    """Return the sine of the angle between the spans of the first k principal axes, mean over the k angles (rms).

    0 when the two spans are one, 1 when they are orthogonal; for unrelated spans in d dimensions sqrt(1 − k/d).

    Examples
    --------
    >>> flat = np.array([[1.0, 0.0], [-1.0, 0.0]])
    >>> subspace_distance(flat, 3 * flat, 1), subspace_distance(flat, flat[:, ::-1], 1)
    (0.0, 1.0)
    """
    A, B = _centred_pair("subspace_distance", points, final)
    if not 1 <= k <= min(A.shape):
        raise ValueError(f"subspace_distance: want 1 <= k <= {min(A.shape)}, got {k}")
    spans = [np.linalg.svd(X, full_matrices=False)[2][:k] for X in (A, B)]
    cosines = np.linalg.svd(spans[0] @ spans[1].T, compute_uv=False)
    return float(np.sqrt(np.clip(1 - cosines**2, 0, 1).mean()))


def relative_distance(now, start, end):
    """Return ``|now − end| / |start − end|`` over all arrays together: 1 at the start, 0 at the end.

    Parameters
    ----------
    now, start, end : sequence of arrays
        The same parameters at three moments.

    Examples
    --------
    >>> relative_distance([np.array([1.0])], [np.array([0.0])], [np.array([4.0])])
    0.75
    """
    left, whole = (
        np.sqrt(sum(float(((np.asarray(a, np.float64) - b) ** 2).sum()) for a, b in zip(moment, end, strict=True)))
        for moment in (now, start)
    )
    if whole == 0:
        raise ValueError("relative_distance: want parameters that moved, got the same at start and end")
    return float(left / whole)


def arrival(steps, distance, share=0.9):
    """Return when a distance falls below ``1 − share`` of its first value for good, between snapshots if need be.

    Between the last snapshot that is still too far and the next one the distance is taken to be a straight line over
    log(1 + step).

    Parameters
    ----------
    steps : (M,) ints
        In rising order.
    distance : (M,) floats
        To where the last snapshot is: the last one is 0.
    share : float
        In (0, 1).

    Returns
    -------
    float
        NaN if the first distance is zero, or one is not a number.

    Examples
    --------
    >>> round(arrival([0, 1, 3, 7], [1.0, 0.5, 0.2, 0.0]), 3)  # half way from log 4 to log 8
    4.657
    """
    steps, distance = np.asarray(steps, np.float64), np.asarray(distance, np.float64)
    if distance.shape != steps.shape or distance.ndim != 1 or len(steps) < 2 or (np.diff(steps) <= 0).any():
        raise ValueError(f"arrival: want rising steps and as many distances, got {steps.shape} and {distance.shape}")
    if not (np.isfinite(distance).all() and distance[0] > 0):
        return float("nan")
    edge = (1 - share) * distance[0]
    last = np.flatnonzero(distance > edge)[-1]
    if last == len(steps) - 1:
        return float("nan")
    part = (distance[last] - edge) / (distance[last] - distance[last + 1])
    start, end = np.log1p(steps[last : last + 2])
    return float(np.expm1(start + part * (end - start)))


def _centred_pair(who, points, final):
    """Return both sets of points in float64 about their means, or say what is wrong."""
    points, final = np.asarray(points, np.float64), np.asarray(final, np.float64)
    if points.ndim != 2 or points.shape != final.shape:
        raise ValueError(f"{who}: want points and final of one shape (N, d), got {points.shape} and {final.shape}")
    return points - points.mean(axis=0), final - final.mean(axis=0)
