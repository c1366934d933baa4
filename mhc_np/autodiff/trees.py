"""Nested dicts of arrays: the one container that parameters, gradients and optimiser states share.

Chapter: chapters/01_gradients.md      Tests: tests/test_autodiff.py

A *tree* is an array, or a dict whose values are trees. A leaf is named by its path, ``"blocks/0/attention/W_q"``.
"""


def tree_map(function, tree, *others):
    """Apply ``function`` to the matching leaves of one or more trees.

    Parameters
    ----------
    function : callable
        Takes one leaf of each tree.
    tree, *others : trees of one structure
        The result has the structure, and the key order, of the first.

    Raises
    ------
    ValueError
        If two trees do not have the same keys.

    Examples
    --------
    >>> tree_map(lambda a, b: a + b, {"x": 1, "y": {"z": 2}}, {"x": 10, "y": {"z": 20}})
    {'x': 11, 'y': {'z': 22}}
    """
    if not isinstance(tree, dict):
        return function(tree, *others)
    for other in others:
        if not isinstance(other, dict) or other.keys() != tree.keys():
            got = sorted(other) if isinstance(other, dict) else type(other).__name__
            raise ValueError(f"tree_map: want a tree with keys {sorted(tree)}, got {got}")
    return {key: tree_map(function, tree[key], *(other[key] for other in others)) for key in tree}


def flatten(tree):
    """List the leaves of a nested dict by path.

    Returns
    -------
    dict
        ``{"a/b": leaf}`` in the order in which the tree holds them. An empty dict has no leaves and so leaves no trace.

    Examples
    --------
    >>> flatten({"x": 1, "y": {"z": 2, "w": {}}})
    {'x': 1, 'y/z': 2}
    """
    leaves = {}
    for key, value in tree.items():
        if "/" in key:
            raise ValueError(f"flatten: want keys without '/', got {key!r}: it separates the parts of a path")
        if isinstance(value, dict):
            leaves.update({f"{key}/{path}": leaf for path, leaf in flatten(value).items()})
        else:
            leaves[key] = value
    return leaves


def unflatten(leaves):
    """Rebuild the nested dict from its paths: the inverse of `flatten`, up to empty dicts.

    Examples
    --------
    >>> unflatten({"x": 1, "y/z": 2})
    {'x': 1, 'y': {'z': 2}}
    """
    tree = {}
    for path, leaf in leaves.items():
        *parents, key = path.split("/")
        node = tree
        for parent in parents:
            node = node.setdefault(parent, {})
        node[key] = leaf
    return tree
