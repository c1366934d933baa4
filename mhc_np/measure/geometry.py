"""Angles: how orthogonal keys are, and how far queries turn to the hypotheses that are believed.

Chapter: chapters/06_geometry.md      Tests: tests/test_geometry.py
Symbols: one key a hypothesis -> vectors (..., n, d), q_t -> queries (..., T, d), p(z | x_1..t) -> belief (..., T, n)

In many dimensions *random* vectors are nearly orthogonal too: their mean absolute cosine is about sqrt(2 / (π d)). So
a small cosine says nothing before it stands beside that of random vectors of the same number and width, centred in the
same way. Centring matters: n centred vectors sum to zero, so their signed cosines average near −1 / (n − 1) whatever
they are, and their absolute cosines rise (n = 20, d = 64: from .100 to .108).

Rule: a vector of length zero has no direction, its cosines are NaN, and so is every mean that they enter. Keys that
have died must not look orthogonal.
"""

import numpy as np


def cosines(vectors, *, centred=False):
    """Return the cosine of every pair.

    Parameters
    ----------
    vectors : (..., n, d) floats
    centred : bool
        Subtract the mean of the n vectors first.

    Returns
    -------
    (..., n, n) float64

    Examples
    --------
    >>> cosines([[3.0, 4.0], [4.0, 3.0]]).round(2)
    array([[1.  , 0.96],
           [0.96, 1.  ]])
    >>> cosines([[3.0, 4.0], [4.0, 3.0]], centred=True).round(2)  # two centred vectors are opposites, always
    array([[ 1., -1.],
           [-1.,  1.]])
    """
    vectors = _checked("cosines", vectors)
    if centred:
        vectors = vectors - vectors.mean(axis=-2, keepdims=True)
    return cosine(vectors, vectors)


def mean_absolute_cosine(vectors, *, centred=False):
    """Return the mean over pairs of ``|cosine|``, (..., n, d) -> (...): 0 for orthogonal vectors, 1 for copies.

    >>> [round(float(mean_absolute_cosine(np.eye(3), centred=centred)), 12) for centred in (False, True)]
    [0.0, 0.5]
    """
    found = np.abs(cosines(vectors, centred=centred))
    n = found.shape[-1]
    if n < 2:
        raise ValueError("mean_absolute_cosine: want at least two vectors, got one")
    return found[..., ~np.eye(n, dtype=bool)].mean(axis=-1)


def simplex_gap(vectors):
    """Return how far n vectors are from an orthogonal frame of equal lengths, (..., n, d) -> (...): 0 if they are one.

    Centred, such a frame is a regular simplex: all its signed cosines are −1 / (n − 1). The gap is their root mean
    square distance from that. For few vectors it sees what `mean_absolute_cosine` cannot: a simplex has 1 / (n − 1)
    there, and that is about what five random vectors have.

    >>> float(simplex_gap(3 * np.eye(4) + 1).round(12)), round(float(simplex_gap([[0.0], [1.0], [2.0]])), 3)
    (0.0, nan)
    >>> round(float(simplex_gap([[0.0], [1.0], [5.0]])), 3)
    0.957
    """
    found = cosines(vectors, centred=True)
    n = found.shape[-1]
    if n < 2:
        raise ValueError("simplex_gap: want at least two vectors, got one")
    off = found[..., ~np.eye(n, dtype=bool)] + 1 / (n - 1)
    return np.sqrt((off * off).mean(axis=-1))


def random_baseline(n, d, rng, *, centred=False, num_draws=1000):
    """Return what `mean_absolute_cosine` gives for random vectors: draws in rising order, (num_draws,).

    Parameters
    ----------
    n, d : int
        As many vectors, as wide, as those to be judged.
    rng : np.random.Generator
    centred : bool
        As for those to be judged.
    num_draws : int

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> [round(float(random_baseline(20, 64, rng, centred=c).mean()), 2) for c in (False, True)]
    [0.1, 0.11]
    """
    return np.sort(mean_absolute_cosine(rng.standard_normal((num_draws, n, d)), centred=centred))


def expected_cosine(d):
    """Return sqrt(2 / (π d)), the mean ``|cosine|`` of random vectors of width d, for large d and not centred.

    >>> round(expected_cosine(64), 4)
    0.0997
    """
    return float(np.sqrt(2 / (np.pi * d)))


def cosine(a, b):
    """Return the cosine of every row of a with every row of b, (..., T, d) and (..., n, d) -> (..., T, n)."""
    a, b = _checked("cosine", a), _checked("cosine", b)
    return _unit(a) @ np.swapaxes(_unit(b), -1, -2)


def belief_alignment(queries, keys, belief):
    """Return how far queries turn to the keys of what is believed, against those of all hypotheses alike.

    The mean cosine under the belief minus the plain mean,

        Σ_z p(z) cos(q, k_z) − (1/n) Σ_z cos(q, k_z).

    Keys that say nothing give zero on average, for any belief. A common shift of the cosines is taken out. The belief's
    own sharpness is *not*: hold it against the same belief moved to other sequences (`shuffled_alignment`).

    Parameters
    ----------
    queries : (..., T, d) floats
    keys : (..., n, d) floats
        One for each hypothesis.
    belief : (..., T, n) floats
        Rows that sum to one.

    Returns
    -------
    (..., T) float64
        In [−2, 2]: 1 − 1/n for orthogonal keys and a query along the key of the one hypothesis believed.

    Examples
    --------
    >>> keys = np.eye(2)
    >>> belief_alignment([[1.0, 0.0]], keys, [[1.0, 0.0]]), belief_alignment([[1.0, 0.0]], keys, [[0.5, 0.5]])
    (array([0.5]), array([0.]))
    """
    found, belief = cosine(queries, keys), np.asarray(belief, np.float64)
    if belief.shape[-2:] != found.shape[-2:]:
        wanted = f"(..., {found.shape[-2]}, {found.shape[-1]})"
        raise ValueError(f"belief_alignment: want belief (..., T, n) = {wanted}, got {belief.shape}")
    return (belief * found).sum(axis=-1) - found.mean(axis=-1)


def shuffled_alignment(queries, keys, belief, rng, *, num_draws=20):
    """Return mean alignments with the beliefs of *other* sequences, (num_draws,): what sharpness alone gives.

    Parameters
    ----------
    queries, keys, belief : as for `belief_alignment`, with the sequences on the first axis
    rng : np.random.Generator
    num_draws : int

    Returns
    -------
    (num_draws,) float64
        In rising order. Positions are kept, so beliefs stay as sharp as they were.
    """
    order = (rng.permutation(len(belief)) for _ in range(num_draws))
    belief = np.asarray(belief)
    return np.sort([belief_alignment(queries, keys, belief[each]).mean() for each in order])


def _unit(vectors):
    """Divide each vector by its length; NaN for one of length zero."""
    length = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return vectors / np.where(length > 0, length, np.nan)


def _checked(who, vectors):
    """Return the vectors in float64, or say what is wrong with their shape."""
    vectors = np.asarray(vectors, np.float64)
    if vectors.ndim < 2 or 0 in vectors.shape[-2:]:
        raise ValueError(f"{who}: want vectors (..., n, d), got shape {vectors.shape}")
    return vectors
