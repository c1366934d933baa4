"""The named grids, as data: which cells, in which order, and what a cell costs.

Chapter: chapters/15_the_question.md      Tests: tests/test_grids.py

What each grid is for, and how it is judged, was written down before any of its cells was run: book/preregistration.md.
Cells come in whole seeds, the first seed of every depth before the second seed of any: a grid that is stopped early has
fewer seeds, not fewer arms.
"""

from itertools import product

from mhc_np.lab.cells import Cell
from mhc_np.lab.mixing_recipes import RECIPES
from mhc_np.tasks import hmm

ARMS = ("residual", "scaled", "identity", "hc", "free", "mhc", "mhc_lite")
FIVE_ARMS = ("residual", "identity", "hc", "free", "mhc")
NORMS = (True, False)
RATES = (3e-3, 1e-2, 2e-2, 4e-2)
DEPTHS = {12: 5, 6: 3, 24: 3}  # number of seeds, in the order of running
HOPS, SHALLOW, HOP_RATES = (1, 2, 3, 4), (1, 2, 3, 4), (1e-3, 3e-3, 1e-2)
TWO_RATES, THREE_SEEDS = (3e-3, 1e-2), range(3)
NOISES, DRAWS = (0.01, 0.05, 0.1, 0.2), range(5)
PARTING = ((True, 1e-2), (False, 4e-2))  # (final norm, rate)
EQUAL_WIDTH = 40  # of the plain network with as many parameters as mHC's has at width 32

KHOP = {"task": "khop", "num_steps": 2500, "batch_size": 32, "schedule": "cosine", "look_every": 125}


def khop(num_hops, **settings):
    """Return the settings of a cell of k-hop composition; a pair is one token, so positions are not needed."""
    task = {"task_settings": {"num_symbols": 8, "num_hops": num_hops}, "model_settings": {"positions": "none"}}
    return {**KHOP, **task, **settings}


def bijection():
    """Return the main grid: every arm with and without the final norm, at every depth, rate and seed."""
    return [
        Cell(arm=arm, final_norm=norm, depth=depth, rate=rate, seed=seed)
        for seed in range(max(DEPTHS.values()))
        for depth, num_seeds in DEPTHS.items()
        if seed < num_seeds
        for rate, norm, arm in product(RATES, NORMS, ARMS)
    ]


def bijection_short():
    """Return the reduced grid, minutes: the headline's arms at one depth and two rates, one seed."""
    arms = ("residual", "hc", "free", "mhc")
    return [Cell(arm=arm, final_norm=norm, depth=6, rate=rate) for rate, norm, arm in product(RATES[1::2], NORMS, arms)]


def khop_depth():
    """Return the plain networks that say which depth k hops need."""
    return [
        Cell(depth=depth, rate=rate, seed=seed, **khop(hops))
        for seed, hops, depth, rate in product(THREE_SEEDS, HOPS, SHALLOW, HOP_RATES)
    ]


def khop_mixing():
    """Return five arms, twelve layers deep, on two hops."""
    settings = khop(2, num_steps=1500, schedule="constant", look_every=25)
    return [
        Cell(arm=arm, final_norm=norm, rate=rate, seed=seed, **settings)
        for seed, rate, norm, arm in product(THREE_SEEDS, TWO_RATES, NORMS, FIVE_ARMS)
    ]


def hmm_mixing():
    """Return five arms, six layers deep, on hidden Markov models."""
    header = hmm.Config().num_header
    settings = {"task": "hmm", "task_settings": {}, "model_settings": {"positions": "relative", "num_header": header}}
    settings |= {"depth": 6, "num_steps": 1500, "look_every": 50}
    return [
        Cell(arm=arm, final_norm=norm, rate=rate, seed=seed, **settings)
        for seed, rate, norm, arm in product(THREE_SEEDS, TWO_RATES, NORMS, FIVE_ARMS)
    ]


def long():
    """Return four arms, twelve layers deep, for 2000 steps."""
    return [
        Cell(arm=arm, final_norm=norm, rate=rate, seed=seed, num_steps=2000, look_every=25)
        for seed, rate, norm, arm in product(THREE_SEEDS, TWO_RATES, NORMS, ("residual", "hc", "free", "mhc"))
    ]


def stress():
    """Return networks whose mixing is frozen at a perturbed identity, raw and projected; a seed is a draw."""
    return [
        Cell(arm=arm, depth=24, rate=3e-3, seed=draw, num_steps=200, noise=noise)
        for draw, noise, arm in product(DRAWS, NOISES, ("free", "mhc"))
    ]


def equal_size():
    """Return plain networks as large as mHC's: wider, twelve layers deep, at every rate."""
    return [
        Cell(width=EQUAL_WIDTH, final_norm=norm, rate=rate, seed=seed)
        for seed, rate, norm in product(THREE_SEEDS, RATES, NORMS)
    ]


def recipes():
    """Return gentler ways to train the mixing, six layers deep, in the two settings where the arms part."""
    return [
        Cell(arm=arm, depth=6, final_norm=norm, rate=rate, seed=seed, mixing=mixing)
        for seed, (norm, rate), mixing, arm in product(THREE_SEEDS, PARTING, RECIPES, ("hc", "free", "mhc"))
    ]


GRIDS = {
    "bijection": bijection,
    "bijection-short": bijection_short,
    "khop-depth": khop_depth,
    "khop-mixing": khop_mixing,
    "hmm-mixing": hmm_mixing,
    "stress": stress,
    "long": long,
    "equal-size": equal_size,
    "recipes": recipes,
}

# Milliseconds a step and layer at width 32 with 16 sequences of 15 tokens, on one core; what is looked at included.
COST = {
    **{"residual": 2.2, "scaled": 2.9, "identity": 4.2, "hc": 5.0, "free": 5.0, "mhc": 6.5, "mhc_lite": 5.3},
}
TOKENS = 16 * 15


def seconds(cell):
    """Guess how long a cell takes on one core: the cost of its arm and width, half of it in proportion to the tokens.

    >>> round(seconds(Cell(arm="mhc", depth=12)))
    31
    """
    tokens = cell.batch_size * cell.task_config().num_positions
    size = cell.depth * cell.width / 32
    return COST[cell.arm] * size * cell.num_steps * (0.5 + 0.5 * tokens / TOKENS) / 1000
