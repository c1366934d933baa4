"""The Transformer with its skips taken away: each sub-layer overwrites the stream with what it writes.

Chapter: chapters/05_who_does_what.md      Tests: tests/test_no_skip.py
Symbols: x_l -> streams (B, T, n, D), F(x_l) -> written (B, T, D); x_{l+1} = F(x_l) in place of x_l + F(x_l)

Parameters, sizes and all else are the Transformer's, so that nothing but the path differs.
"""

from mhc_np.connections import expand
from mhc_np.models import transformer


def without_skips(where=None, *, then=None):
    """Make a hook that lets sub-layers overwrite the streams. Good for any number of forward passes, one at a time.

    Parameters
    ----------
    where : set of (site, layer), optional
        Which: ("after attention", 0), ("after mlp", 2), …; all by default.
    then : callable, optional
        Another hook, called on the value that goes on.

    Returns
    -------
    callable
        For ``logits(..., hook=...)``.

    Examples
    --------
    >>> import numpy as np
    >>> hook = without_skips()
    >>> _ = hook("mlp", 0, np.full((1, 1, 2), 3.0))
    >>> hook("after mlp", 0, np.full((1, 1, 1, 2), 10.0))
    array([[[[3., 3.]]]])
    """
    written = {}

    def hook(site, layer, value):
        if site.startswith("after") and (where is None or (site, layer) in where):
            value = expand(written[site.removeprefix("after ")], value.shape[2])
        if then is not None:
            value = then(site, layer, value)
        if site in ("attention", "mlp"):
            written[site] = value
        return value

    return hook


def logits(params, config, *, inputs, hook=None):
    """Predict as the Transformer does, without any skip; arguments as there."""
    return transformer.logits(params, config, inputs=inputs, hook=without_skips(then=hook))
