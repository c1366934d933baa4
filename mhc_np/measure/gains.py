"""Gains: what a mixing matrix, or a product of many, can do to the size and the variety of the streams.

Chapter: chapters/10_identity_path.md      Tests: tests/test_gains.py
Symbols: H_res -> H (..., n, n), H[i, j] = weight of old stream j in new stream i; product over layers -> composite

Rules: all in float64. Leading axes are tokens or layers: a measure of (..., n, n) has shape (...), and
`summary` averages over them, measure first and mean last. A matrix that holds NaN or inf has NaN for
every singular value.
"""

from typing import NamedTuple

import numpy as np


class Gains(NamedTuple):
    """Means over tokens; each field is the function, or the part of the function, of its name."""

    forward: float
    backward: float
    signed_forward: float
    signed_backward: float
    sigma_1: float
    sigma_2: float
    sigma_min: float
    row_error: float
    column_error: float


def forward_gain(H):
    """Return the largest absolute row sum, ``max_i sum_j |H_ij|``: how much a signal can grow on its way up.

    It is the norm of H for streams measured by their largest entry.

    Parameters
    ----------
    H : (..., n, n) floats

    Returns
    -------
    (...) float64

    Examples
    --------
    The rows of this matrix sum to 1.2 and 0.6, its columns to 1.0 and 0.8.

    >>> float(forward_gain([[0.9, 0.3], [0.1, 0.5]])), float(backward_gain([[0.9, 0.3], [0.1, 0.5]]))
    (1.2, 1.0)
    """
    return np.abs(_checked("forward_gain", H)).sum(axis=-1).max(axis=-1)


def backward_gain(H):
    """Return the largest absolute column sum, ``max_j sum_i |H_ij|``: the same for gradients on their way down."""
    return np.abs(_checked("backward_gain", H)).sum(axis=-2).max(axis=-1)


def signed_forward_gain(H):
    """Return ``max_i |sum_j H_ij|``: what happens to streams that are copies of one another.

    It is `forward_gain` when no entry is negative, and can be far smaller otherwise.

    >>> float(signed_forward_gain([[2.0, -1.0], [0.0, 1.0]])), float(forward_gain([[2.0, -1.0], [0.0, 1.0]]))
    (1.0, 3.0)
    """
    return np.abs(_checked("signed_forward_gain", H).sum(axis=-1)).max(axis=-1)


def signed_backward_gain(H):
    """Return ``max_j |sum_i H_ij|``: the same for columns."""
    return np.abs(_checked("signed_backward_gain", H).sum(axis=-2)).max(axis=-1)


def composite(mixings):
    """Multiply the mixings of a stack: the *first* layer comes first in the list and last in the product.

    Parameters
    ----------
    mixings : sequence of (..., n, n) floats
        H_1 to H_L, at least one, with leading axes that broadcast.

    Returns
    -------
    (..., n, n) float64
        H_L … H_2 H_1.

    Raises
    ------
    ValueError
        If the list is empty or the sizes differ.

    Examples
    --------
    First copy stream 0 into stream 1, then exchange the two:

    >>> copy, swap = [[1.0, 0.0], [1.0, 0.0]], [[0.0, 1.0], [1.0, 0.0]]
    >>> composite([[[0.0, 1.0], [0.0, 0.0]], swap])
    array([[0., 0.],
           [0., 1.]])
    >>> composite([copy, swap])
    array([[1., 0.],
           [1., 0.]])
    """
    if not len(mixings):
        raise ValueError("composite: want at least one mixing, got none")
    product = _checked("composite", mixings[0])
    for H in mixings[1:]:
        H = _checked("composite", H)
        if H.shape[-1] != product.shape[-1]:
            raise ValueError(f"composite: want mixings of one size, got {product.shape} and {H.shape}")
        product = H @ product
    return product


def singular_values(H):
    """Return the singular values, largest first, (..., n); NaN for a matrix that is not finite.

    For doubly stochastic H the first is 1. The second says how much of the *differences* between streams
    survives, in the best direction, the last in the worst.

    >>> singular_values([[0.5, 0.5], [0.5, 0.5]]).round(12) + 0.0
    array([1., 0.])
    """
    H = _checked("singular_values", H)
    finite = np.isfinite(H).all(axis=(-1, -2), keepdims=True)
    values = np.linalg.svd(np.where(finite, H, 0.0), compute_uv=False)
    return np.where(finite[..., 0], values, np.nan)


def normalized_entropy(plan):
    """Return the mean entropy of the rows divided by log n: 1 for the uniform matrix, 0 for a permutation.

    Raises
    ------
    ValueError
        If an entry is negative, or a row does not sum to 1 within .05: such rows are no distributions.

    Examples
    --------
    >>> float(normalized_entropy(np.full((4, 4), 0.25))), float(normalized_entropy(np.eye(4)))
    (1.0, 0.0)
    """
    plan = _checked("normalized_entropy", plan)
    if (plan < 0).any():
        raise ValueError(f"normalized_entropy: want entries >= 0, got {plan.min():.3g}; is this mixing signed?")
    if (off := np.abs(plan.sum(axis=-1) - 1).max(initial=0.0)) > 0.05:
        raise ValueError(f"normalized_entropy: want rows that sum to 1, got one off by {off:.3g}")
    n = plan.shape[-1]
    if n == 1:
        return np.zeros(plan.shape[:-2])  # one stream: nothing is mixed
    terms = plan * np.log(np.where(plan > 0, plan, 1.0))
    return -terms.sum(axis=(-1, -2)) / (n * np.log(n)) + 0.0


def doubly_stochastic_error(plan):
    """Return (row_error, column_error), the largest distances of row sums and column sums from 1, each (...).

    >>> rows, columns = doubly_stochastic_error([[0.5, 0.5], [0.25, 0.75]])
    >>> float(rows), float(columns)
    (0.0, 0.25)
    """
    plan = _checked("doubly_stochastic_error", plan)
    off = [np.abs(plan.sum(axis=axis) - 1).max(axis=-1) for axis in (-1, -2)]
    return off[0], off[1]


def summary(H):
    """Return the mean of every gain over the leading axes, as a `Gains`.

    Parameters
    ----------
    H : (..., n, n) floats
        One static matrix, or one for every token, single or `composite`; at least one.

    Examples
    --------
    >>> gains = summary([[[1.0, 0.0], [0.0, 1.0]], [[3.0, 0.0], [0.0, 1.0]]])
    >>> gains.forward, gains.sigma_1, gains.sigma_2, gains.row_error
    (2.0, 2.0, 1.0, 1.0)
    """
    H = _checked("summary", H)
    if not H.size:
        raise ValueError(f"summary: want at least one matrix, got shape {H.shape}")
    values = singular_values(H)
    measures = (
        *(forward_gain(H), backward_gain(H), signed_forward_gain(H), signed_backward_gain(H)),
        *(values[..., 0], values[..., min(1, H.shape[-1] - 1)], values[..., -1]),
        *doubly_stochastic_error(H),
    )
    return Gains(*(float(np.mean(measure)) for measure in measures))


def _checked(who, H):
    """Return H in float64, or say what is wrong with its shape."""
    H = np.asarray(H, np.float64)
    if H.ndim < 2 or H.shape[-1] != H.shape[-2] or H.shape[-1] == 0:
        raise ValueError(f"{who}: want matrices (..., n, n), got shape {H.shape}")
    return H
