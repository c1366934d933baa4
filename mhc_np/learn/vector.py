"""A tree of parameters as one long vector: few long NumPy calls instead of many short ones.

Chapter: chapters/04_training.md      Tests: tests/test_learn_adamw.py
Symbols: theta -> vector (N,), N = the number of parameters

A small model has some sixty leaves of a few hundred numbers each. Ten NumPy calls a leaf cost more
in calls than in arithmetic; ten calls on the joined vector cost arithmetic alone.
"""

import numpy as np

from mhc_np.autodiff import flatten, tree_map


def pack(leaves, paths, like=None):
    """Join the leaves named by ``paths`` into one new vector.

    Parameters
    ----------
    leaves : dict of arrays
        ``{path: array}``, all of one dtype.
    paths : sequence of str
        Which leaves, and in which order.
    like : dict of arrays, optional
        Leaves whose shapes must be matched, so that a gradient cannot land on the wrong parameter.

    Returns
    -------
    np.ndarray, shape (N,)
        A copy. With no paths at all, an empty float64 vector.

    Raises
    ------
    ValueError
        If a leaf is missing, has the wrong shape, or the dtypes are mixed.

    Examples
    --------
    >>> pack({"a": np.array([[1.0, 2.0]]), "b": np.array(3.0)}, ["b", "a"])
    array([3., 1., 2.])
    """
    for path in paths:
        if path not in leaves:
            raise ValueError(f"pack: want a leaf {path!r}, got {sorted(leaves)}")
        if like is not None and np.shape(leaves[path]) != np.shape(like[path]):
            raise ValueError(f"pack: want {path!r} of shape {np.shape(like[path])}, got {np.shape(leaves[path])}")
    kinds = {leaves[path].dtype for path in paths}
    if len(kinds) > 1:
        raise ValueError(f"pack: want leaves of one dtype, got {sorted(map(str, kinds))}; cast the tree to one first")
    return np.concatenate([leaves[path].reshape(-1) for path in paths]) if paths else np.zeros(0)


def unpack(vector, leaves, paths):
    """Cut a vector back into leaves: the inverse of `pack`. The leaves are views of the vector.

    Examples
    --------
    >>> unpack(np.array([3.0, 1.0, 2.0]), {"a": np.zeros((1, 2)), "b": np.zeros(())}, ["b", "a"])
    {'b': array(3.), 'a': array([[1., 2.]])}
    """
    cut, start = {}, 0
    for path in paths:
        stop = start + leaves[path].size
        cut[path] = vector[start:stop].reshape(leaves[path].shape)
        start = stop
    return cut


def rebuild(leaves, like):
    """Put leaves, given by path, into the structure of ``like``, its empty dicts included.

    Examples
    --------
    >>> rebuild({"b/c": 2.0, "a": 1.0}, {"a": 0.0, "b": {"c": 0.0, "none": {}}})
    {'a': 1.0, 'b': {'c': 2.0, 'none': {}}}
    """
    paths = iter(flatten(like))
    return tree_map(lambda _: leaves[next(paths)], like)
