"""Clip by global norm: keep the direction of the whole gradient, bound its length.

Chapter: chapters/04_training.md      Tests: tests/test_learn_clipping.py
Symbols: g -> grads (a tree), the length of all of it -> norm
"""

from math import isfinite, sqrt

import numpy as np

from mhc_np.autodiff import flatten, tree_map


def clip_by_global_norm(grads, max_norm):
    """Shorten the gradient to ``max_norm`` if it is longer.

    Parameters
    ----------
    grads : nested dict of arrays
        Left as it is; a shortened gradient is a new tree, a short one is handed back itself.
    max_norm : float or None
        Largest length, over all parameters together. None measures and clips nothing.

    Returns
    -------
    grads : nested dict of arrays
    norm : float
        The length before clipping.

    Raises
    ------
    FloatingPointError
        If an entry is infinite or not a number; it names the first such parameter.

    Examples
    --------
    >>> clipped, norm = clip_by_global_norm({"W_q": np.array([3.0]), "b_q": np.array([4.0])}, 1.0)
    >>> norm, clipped
    (5.0, {'W_q': array([0.6]), 'b_q': array([0.8])})
    """
    norm = global_norm(grads)
    if max_norm is None or norm <= max_norm:
        return grads, norm
    shrink = max_norm / norm  # a Python float, so float32 stays float32
    return tree_map(lambda g: g * shrink, grads), norm


def global_norm(grads):
    """Return the Euclidean length of a whole tree; see `clip_by_global_norm`.

    >>> round(global_norm({"a": np.full((2, 2), 2.0**99, np.float32)}) / 2.0**99)  # squares overflow float32
    2
    """
    leaves = flatten(grads)
    norm = sqrt(sum(float(np.vdot(g, g)) for g in leaves.values()))
    if isfinite(norm):
        return norm
    for path, g in leaves.items():
        bad = np.size(g) - np.count_nonzero(np.isfinite(g))
        if bad:
            raise FloatingPointError(
                f"clip_by_global_norm: want finite gradients, got {bad} of {np.size(g)} entries of "
                f"{path!r} infinite or not a number; lower the learning rate or lengthen the warm-up"
            )
    # All entries are finite and only their squares overflowed: measure in units of the largest.
    peak = max(float(np.max(np.abs(g), initial=0.0)) for g in leaves.values())
    scaled = (np.asarray(g, np.float64) / peak for g in leaves.values())
    return peak * sqrt(sum(float(np.vdot(g, g)) for g in scaled))
