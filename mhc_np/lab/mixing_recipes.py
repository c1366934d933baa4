"""Recipes for what mixes streams: a learning rate of its own, or a decay, while the branches are trained as ever.

Chapter: chapters/16_what_breaks_first.md      Tests: tests/test_mixing_recipes.py
Symbols: theta_mix -> leaves under "connection", their start -> start, rate·decay -> share

How fast a mixing drifts from the identity is also a fact of the optimiser: Adam moves every entry by about the rate a
step, however small its gradient. A recipe asks whether a gentler optimiser would do what the projection does.
"""

from dataclasses import dataclass

from mhc_np.autodiff import flatten, unflatten
from mhc_np.learn import AdamW
from mhc_np.learn.vector import rebuild


@dataclass(frozen=True)
class Recipe:
    """How the mixing is trained: ``rate`` times the branches' rate; ``decay`` as AdamW's, to zero or ``to_start``."""

    rate: float = 1.0
    decay: float = 0.0
    to_start: bool = False


RECIPES = {"slow": Recipe(rate=0.1), "decayed": Recipe(decay=0.1), "held": Recipe(decay=1.0, to_start=True)}


@dataclass(frozen=True)
class Apart:
    """Move what mixes streams by a recipe, and all the rest by AdamW as it is.

    Parameters
    ----------
    rest : AdamW
    recipe : Recipe

    Examples
    --------
    A tenth of the rate moves the mixing a tenth as far:

    >>> import numpy as np
    >>> params = {"W_in": np.ones(1), "connection": {"b_res": np.ones(1)}}
    >>> optimizer = Apart(AdamW(0.5, weight_decay=0.0), RECIPES["slow"])
    >>> moved, _ = optimizer.update(params, params, optimizer.init(params))
    >>> moved["W_in"].round(4), moved["connection"]["b_res"].round(4)
    (array([0.5]), array([0.95]))
    """

    rest: AdamW
    recipe: Recipe

    @property
    def mixing(self):
        """The AdamW of the mixing, without its decay: that of `AdamW` never acts there."""
        return AdamW(self.rest.learning_rate * self.recipe.rate, self.rest.betas, self.rest.eps, 0.0)

    def init(self, params):
        """Return the state before the first step: ``{"rest", "mixing"}`` as `AdamW.init`, ``"start"`` of the mixing."""
        rest, mixing = _split(params)
        state = {"rest": self.rest.init(unflatten(rest)), "mixing": self.mixing.init(unflatten(mixing))}
        return {**state, "start": unflatten({path: leaf.copy() for path, leaf in mixing.items()})}

    def update(self, params, grads, state, factor=1.0):
        """Make one step; the contract is `AdamW.update`'s."""
        (rest, mixing), slopes = _split(params), _split(grads)
        rest, rest_state = self.rest.update(unflatten(rest), unflatten(slopes[0]), state["rest"], factor)
        moved, mixing_state = self.mixing.update(unflatten(mixing), unflatten(slopes[1]), state["mixing"], factor)
        share, start = self.mixing.learning_rate * factor * self.recipe.decay, flatten(state["start"])
        for path, leaf in flatten(moved).items():
            home = start[path] if self.recipe.to_start else 0.0
            mixing[path] = leaf - share * (mixing[path] - home)
        state = {"rest": rest_state, "mixing": mixing_state, "start": state["start"]}
        return rebuild({**flatten(rest), **mixing}, params), state


def _split(tree):
    """Return the leaves of the rest and those that mix streams, {path: leaf} each."""
    leaves = flatten(tree)
    mixing = {path: leaf for path, leaf in leaves.items() if "connection" in path.split("/")}
    return {path: leaf for path, leaf in leaves.items() if path not in mixing}, mixing
