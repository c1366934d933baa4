"""Look inside a forward pass: record every intermediate, or replace one and see what changes.

Chapter: chapters/02_transformer.md      Tests: tests/test_transformer.py

`mhc_np.models.transformer.logits` hands each intermediate to a ``hook(site, layer, value)`` and goes on with what the
hook returns. The sites, in the order in which a block reaches them (n streams of width D; H heads share the D columns):

    "embedding"                     (B, T, n, D)   before the first block
    "queries", "keys", "values"     (B, T, D)      after the rotation, if any
    "weights"                       (B, H, T, T)   to look at only: a replacement is ignored
    "heads"                         (B, T, D)      what the heads found, before W_o
    "attention"                     (B, T, D)      what the sub-layer writes
    "after attention"               (B, T, n, D)   the streams
    "mlp"                           (B, T, D)      what the sub-layer writes
    "after mlp"                     (B, T, n, D)   the streams
"""

import numpy as np

from mhc_np.models import transformer


def trace(params, config, *, inputs):
    """Run the model and keep what it thought on the way.

    Returns
    -------
    (logits, dict)
        The dict maps (site, layer) to an array.

    Examples
    --------
    >>> from mhc_np.models import ModelConfig, init
    >>> config = ModelConfig(num_inputs=3, num_outputs=2, num_positions=4, width=8, num_heads=2)
    >>> logits, seen = trace(init(config, np.random.default_rng(0)), config, inputs=np.array([[0, 2, 1]]))
    >>> seen["weights", 0].shape, seen["after mlp", 0].shape
    ((1, 2, 3, 3), (1, 3, 1, 8))
    """
    seen = {}

    def record(site, layer, value):
        seen[site, layer] = value
        return value

    return transformer.logits(params, config, inputs=inputs, hook=record), seen


def replace(changes):
    """Make a hook that replaces chosen intermediates.

    Parameters
    ----------
    changes : dict
        (site, layer) -> function of the value, or an array to put in its place.

    Returns
    -------
    callable
        For ``logits(..., hook=replace(changes))``.

    Examples
    --------
    >>> hook = replace({("mlp", 1): 0 * np.ones(2), ("heads", 0): lambda heads: -heads})
    >>> hook("mlp", 1, np.ones(2)), hook("heads", 0, np.ones(2)), hook("mlp", 0, np.ones(2))
    (array([0., 0.]), array([-1., -1.]), array([1., 1.]))
    """

    def hook(site, layer, value):
        change = changes.get((site, layer))
        if change is None:
            return value
        return change(value) if callable(change) else np.broadcast_to(change, value.shape).astype(value.dtype)

    return hook
