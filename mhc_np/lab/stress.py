"""Stress: freeze every H_res at a perturbed identity, raw or projected, and train the rest.

Chapter: chapters/16_what_breaks_first.md      Tests: tests/test_cells.py
Symbols: ε -> noise, H_res = I + ε N with N standard normal; projected: Sinkhorn of max(H_res, e^-8)

The article's argument is about deviations from the identity that multiply over depth. Here they do not come from
training: they are given, of a known size and independent from layer to layer, so that gain is a cause and not a
consequence.
"""

import numpy as np

from mhc_np.autodiff import flatten, unflatten

ARMS = ("free", "mhc")  # I + ε N as it is, and projected by the arm's own Sinkhorn
FLOOR = np.exp(-8.0)


def freeze(params, arm, noise, rng):
    """Take H_res out of what is trained.

    Parameters
    ----------
    params : nested dict of arrays
        Of a Transformer, at its start.
    arm : str
    noise : float or None
        ε; None leaves all as it is.
    rng : np.random.Generator
        Draws the perturbations, the same for both arms.

    Returns
    -------
    (params, complete)
        What is to be trained, and the function that puts the frozen part back.

    Raises
    ------
    ValueError
        If the arm has no H_res of this kind.
    """
    if noise is None:
        return params, lambda trained: trained
    if arm not in ARMS:
        raise ValueError(f"freeze: noise is for the arms {', '.join(ARMS)}, got {arm!r}")
    leaves = flatten(params)
    frozen = {}
    for path, leaf in leaves.items():
        if path.endswith("connection/b_res"):
            H = np.eye(len(leaf)) + noise * rng.standard_normal(leaf.shape)
            frozen[path] = (np.log(np.maximum(H, FLOOR)) if arm == "mhc" else H).astype(leaf.dtype)
        elif path.endswith("connection/W_res"):
            frozen[path] = np.zeros_like(leaf)
    trained = unflatten({path: leaf for path, leaf in leaves.items() if path not in frozen})
    return trained, lambda trained: _merged(trained, unflatten(frozen))


def _merged(tree, other):
    """Join two nested dicts that share no leaf; leaves may be boxes of a tape."""
    joined = dict(tree)
    for name, part in other.items():
        joined[name] = _merged(tree[name], part) if name in tree else part
    return joined
