"""Sizes of models: how many parameters, and the width that gives as many as another model has.

Chapter: chapters/04_training.md      Tests: tests/test_baselines.py
"""

from dataclasses import replace
from functools import lru_cache

import numpy as np

from mhc_np.autodiff import flatten

TOLERANCE = 0.05  # share by which "equal" sizes may differ


def require_sizes(who, config, *names):
    """Refuse a config whose sizes are not whole numbers above 0, or whose embedder is not known."""
    for name in ("num_inputs", "num_outputs", "num_positions", *names):
        value = getattr(config, name)
        if not isinstance(value, int) or value < 1:
            raise ValueError(f"{who}: want {name} to be a whole number above 0, got {value!r}")
    if config.embedder not in ("ids", "features"):
        raise ValueError(f"{who}: want embedder in ('ids', 'features'), got {config.embedder!r}")


def require_params(init, params, config):
    """Refuse parameters that ``init(config, rng)`` could not have drawn.

    Parameters
    ----------
    init : callable
        The model's.
    params : nested dict of arrays
    config : the model's config

    Raises
    ------
    ValueError
        Naming what is missing, what is too much, and what has another shape.
    """
    wanted = _shapes(init, config)
    got = {path: leaf.shape for path, leaf in flatten(params).items()}
    if got == wanted:
        return
    other = [
        f"{path} {got[path]} instead of {wanted[path]}"
        for path in wanted
        if got.get(path, wanted[path]) != wanted[path]
    ]
    found = {
        "missing": [path for path in wanted if path not in got],
        "too much": [path for path in got if path not in wanted],
        "of another shape": other,
    }
    told = "; ".join(f"{what}: {_first(names)}" for what, names in found.items() if names)
    raise ValueError(
        f"logits: want the parameters of this config, got others ({told}); draw them with init(config, rng)"
    )


@lru_cache(maxsize=256)
def _shapes(init, config):
    """Return the shape of each parameter by path. Drawing them takes milliseconds, so each config is drawn once."""
    return {path: leaf.shape for path, leaf in flatten(init(config, np.random.default_rng(0))).items()}


def _first(names, count=3):
    """Name the first few, and say how many more there are."""
    return ", ".join(names[:count]) + (f" and {len(names) - count} more" if len(names) > count else "")


def num_params(model, config):
    """Count the parameters of a model.

    Examples
    --------
    Two ids and two positions of width 3, one attention block, one feed-forward block, a norm and a head for two:

    >>> from mhc_np.models import MODELS, ModelConfig
    >>> config = ModelConfig(num_inputs=2, num_outputs=2, num_positions=2, width=3, num_heads=1, mlp_ratio=1)
    >>> num_params(MODELS["transformer"], config)  # 6 + 6 + (3 + 4 * 9) + (3 + 2 * 9 + 6) + 3 + 6
    87
    """
    return sum(leaf.size for leaf in flatten(model.init(config, np.random.default_rng(0))).values())


def match_width(model, config, wanted, *, multiple=1):
    """Choose the width at which a model has as many parameters as wanted.

    Parameters
    ----------
    model : mhc_np.models.Model
    config : the model's config
        Its width is where the search starts from; all else stays.
    wanted : int
        Number of parameters.
    multiple : int
        Only widths that it divides: the number of heads, say.

    Returns
    -------
    config
        With the width whose number of parameters is nearest.

    Raises
    ------
    ValueError
        If even the nearest width is more than 5 % off.

    Examples
    --------
    >>> from mhc_np.models import MODELS
    >>> model = MODELS["lstm"]
    >>> match_width(model, model.Config(num_inputs=40, num_outputs=20, num_positions=39), 10_000).width
    32
    """

    def count(steps):
        return num_params(model, replace(config, width=steps * multiple))

    low, high = 1, 2
    while count(high) < wanted:
        low, high = high, 2 * high
    while high - low > 1:  # more width is more parameters: halve the interval
        middle = (low + high) // 2
        low, high = (middle, high) if count(middle) < wanted else (low, middle)
    best = min(low, high, key=lambda steps: abs(count(steps) - wanted))
    if abs(count(best) - wanted) > TOLERANCE * wanted:
        raise ValueError(
            f"match_width: want {wanted} parameters within {TOLERANCE:.0%}, "
            f"got {count(best)} at the nearest width {best * multiple}; change another size first"
        )
    return replace(config, width=best * multiple)
