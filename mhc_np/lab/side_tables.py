"""The side tables of the question: gentler recipes for the mixing, and streams kept in fewer bits.

Chapter: chapters/16_what_breaks_first.md      Tests: tests/test_side_tables.py

What counts as tamed, replaced, costly or broken was written down before: book/preregistration.md, "three side tables".
"""

import numpy as np

from mhc_np.lab import lead_lag
from mhc_np.lab import question as q
from mhc_np.lab.grids import PARTING
from mhc_np.lab.low_precision import FORMATS
from mhc_np.lab.mixing_recipes import RECIPES

ARMS = ("hc", "free", "mhc")
DEPTH = 6
GOOD_ENOUGH, DEARER = 1.25, 1.5  # ratios of errors
BREAKS = 0.05  # bits of KL


def recipes(some, cells):
    """Judge each recipe beside the same arm without one, on the seeds that both have.

    Parameters
    ----------
    some : list of dict
        Cells of the grid ``recipes``.
    cells : list of dict
        Of the main grid.

    Returns
    -------
    list of dict
        A row for each setting, arm and recipe that is there: ``final_norm``, ``rate``, ``arm``, ``mixing``, ``seeds``;
        medians ``gain`` and ``error``, and ``gain_before`` and ``error_before`` without the recipe; ``found``, of
        *tames* (the gain is within .1 to 10 and was not), *replaces the projection* (without the norm: the error is
        below 1.25 times mhc's without a recipe, and was not) and *costs the advantage* (with the norm: 1.5 times more).
    """
    without, rows = _by_seed(cells, lambda cell: cell["depth"] == DEPTH), []
    within = _by_seed(some)
    for (norm, rate), arm, mixing in ((s, arm, mixing) for s in PARTING for arm in ARMS for mixing in RECIPES):
        with_it, base, mhc = (
            within.get((arm, norm, rate, mixing), {}),
            *(without.get((name, norm, rate, ""), {}) for name in (arm, "mhc")),
        )
        seeds = sorted(with_it.keys() & base.keys() & mhc.keys())
        if not seeds:
            continue
        gain, gain_before = (q.median([q.final_gain(side[s], "forward") for s in seeds]) for side in (with_it, base))
        error, before, mhc_s = (q.median([q.error(side[s]) for s in seeds]) for side in (with_it, base, mhc))
        found = {
            "tames": _inside(gain) and not _inside(gain_before),
            "replaces the projection": not norm and arm != "mhc" and error < GOOD_ENOUGH * mhc_s <= before,
            "costs the advantage": norm and error >= DEARER * before,
        }
        rows.append(
            {
                **{"final_norm": norm, "rate": rate, "arm": arm, "mixing": mixing, "seeds": len(seeds)},
                **{"gain": gain, "gain_before": gain_before, "error": error, "error_before": before},
                "found": [name for name, yes in found.items() if yes],
            }
        )
    return rows


def _by_seed(results, condition=lambda cell: True):
    """Sort results by (arm, final norm, rate, recipe): {seed: result} each."""
    found = {}
    for result in results:
        cell = result["cell"]
        if condition(cell):
            key = cell["arm"], cell["final_norm"], cell["rate"], cell.get("mixing", "")
            found.setdefault(key, {})[cell["seed"]] = result
    return found


def _inside(gain):
    low, high = lead_lag.GAIN
    return low <= gain <= high


def precision(result):
    """Judge each format: median KL over seeds, by arm.

    Parameters
    ----------
    result : dict
        As from `mhc_np.lab.low_precision.low_precision`.

    Returns
    -------
    dict
        By arm: ``growth``, the median; and for every format ``(KL, breaks)``: whether the median KL is .05 bits above
        float32's or not finite.
    """
    found = {}
    for arm in dict.fromkeys(row["arm"] for row in result["rows"]):
        rows = [row for row in result["rows"] if row["arm"] == arm]
        kl = {name: q.median([_number(row["kl_bits"][name]) for row in rows]) for name in FORMATS}
        broken = {name: not np.isfinite(value) or value - kl["float32"] >= BREAKS for name, value in kl.items()}
        growth = q.median([_number(row["growth"]) for row in rows])
        found[arm] = {"growth": growth, **{name: (kl[name], broken[name]) for name in FORMATS}}
    return found


def _number(value):
    return float("inf") if value is None else float(value)
