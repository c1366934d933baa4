"""The Birkhoff polytope as a body: take a point of it apart into vertices, and measure the distance to it.

Chapter: chapters/12_sinkhorn.md      Tests: tests/test_birkhoff.py
Symbols: doubly stochastic H -> plan (n, n), weights (m,), permutations (m, n)

These are tools for looking, not operations to train through.
"""

import numpy as np


def birkhoff_decomposition(plan, tolerance=1e-9):
    """Write a doubly stochastic matrix as a mixture of few permutations.

    Take the permutation whose *smallest* entry in the plan is largest, subtract it with that weight, repeat. Each
    step makes an entry zero, and one always exists by Hall's theorem.

    Parameters
    ----------
    plan : (n, n) floats
    tolerance : float
        How far sums may be from 1 and entries below 0; entries below it count as zero.

    Returns
    -------
    weights : (m,) float64
        Positive, falling, of sum 1 to within the tolerance. m is at most n² - n + 1.
    permutations : (m, n) ints
        ``permutations[k, i]`` is the old stream that new stream i takes.

    Raises
    ------
    ValueError
        If the plan is not doubly stochastic; for one from Sinkhorn, take more iterations or project it first.

    Examples
    --------
    >>> weights, permutations = birkhoff_decomposition(np.array([[0.75, 0.25], [0.25, 0.75]]))
    >>> weights, permutations.tolist()
    (array([0.75, 0.25]), [[0, 1], [1, 0]])
    """
    rest = np.array(plan, np.float64)
    if rest.ndim != 2 or rest.shape[0] != rest.shape[1] or not rest.size:
        raise ValueError(f"birkhoff_decomposition: want one matrix (n, n), got {rest.shape}")
    n = len(rest)
    off = max(np.abs(rest.sum(axis=0) - 1).max(), np.abs(rest.sum(axis=1) - 1).max(), -rest.min())
    if not off <= tolerance:
        raise ValueError(
            f"birkhoff_decomposition: want a doubly stochastic matrix, got one off by {off:.2g}; "
            "take more Sinkhorn iterations, or birkhoff_projection first"
        )
    weights, found = [], []
    while rest.sum() > n * n * tolerance and (permutation := _widest_permutation(rest, tolerance)) is not None:
        weight = rest[np.arange(n), permutation].min()
        rest[np.arange(n), permutation] -= weight
        weights.append(weight)
        found.append(permutation)
    order = np.argsort(weights)[::-1]
    return np.array(weights)[order], np.array(found)[order]


def birkhoff_projection(matrix, tolerance=1e-12):
    """Return the nearest doubly stochastic matrix in the Frobenius norm (Dykstra's alternating projections).

    Parameters
    ----------
    matrix : (..., n, n) floats
    tolerance : float
        Stop when no entry is below minus this.

    Returns
    -------
    (..., n, n) float64
        Rows and columns sum to 1 to rounding.

    Raises
    ------
    ValueError
        If the matrices are not square, or not finite.

    Notes
    -----
    Sinkhorn's plan is *not* the nearest point in this sense; it is nearest in relative entropy.

    Examples
    --------
    >>> birkhoff_projection(np.array([[1.5, 0.0], [0.0, 1.5]])).round(9) + 0.0
    array([[1., 0.],
           [0., 1.]])
    """
    matrix = np.asarray(matrix, np.float64)
    if matrix.ndim < 2 or matrix.shape[-1] != matrix.shape[-2]:
        raise ValueError(f"birkhoff_projection: want matrices (..., n, n), got {matrix.shape}")
    if not np.isfinite(matrix).all():
        raise ValueError("birkhoff_projection: want finite entries, got NaN or inf")
    plan, correction = _to_sums_of_one(matrix), np.zeros_like(matrix)
    for _ in range(100_000):
        if np.min(plan, initial=0.0) >= -tolerance:
            return plan
        positive = np.maximum(plan - correction, 0)
        correction += positive - plan
        plan = _to_sums_of_one(positive)
    raise ValueError("birkhoff_projection: want convergence, got none in 100,000 steps; scale the matrix down")


def birkhoff_distance(matrix):
    """Return the Frobenius distance (...) of each matrix to the nearest doubly stochastic one.

    >>> float(birkhoff_distance(np.array([[0.0, 0.0], [0.0, 0.0]])))
    1.0
    """
    difference = np.asarray(matrix, np.float64) - birkhoff_projection(matrix)
    return np.sqrt((difference * difference).sum(axis=(-1, -2)))


def _to_sums_of_one(matrix):
    """Project on the matrices whose rows and columns sum to 1, whatever the signs."""
    n = matrix.shape[-1]
    rows, columns = matrix.sum(axis=-1, keepdims=True), matrix.sum(axis=-2, keepdims=True)
    total = rows.sum(axis=-2, keepdims=True)
    return matrix + (1 - rows) / n + (1 - columns) / n - (n - total) / (n * n)


def _widest_permutation(matrix, tolerance):
    """Return the permutation whose smallest entry is largest, or None if all have an entry below the tolerance."""
    thresholds = np.unique(matrix[matrix > tolerance])
    low, high, best = 0, len(thresholds), None
    while low < high:
        middle = (low + high) // 2
        permutation = _matching(matrix >= thresholds[middle])
        if permutation is None:
            high = middle
        else:
            low, best = middle + 1, permutation
    return best


def _matching(allowed):
    """Return a column for each row, all different and all allowed, or None (augmenting paths)."""
    row_of = {}

    def place(row, seen):
        for column in np.flatnonzero(allowed[row]):
            if column not in seen:
                seen.add(column)
                if column not in row_of or place(row_of[column], seen):
                    row_of[column] = row
                    return True
        return False

    if not all(place(row, set()) for row in range(len(allowed))):
        return None
    return np.array(sorted(row_of, key=row_of.get))
