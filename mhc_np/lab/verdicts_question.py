"""Verdict rules for C12, C13, C15, C16 and C17, written before the grids were run: book/preregistration.md in code.

Chapter: chapters/15_the_question.md      Tests: tests/test_verdicts_question.py

A rule takes the saved cells, ``{grid: [results]}`` as `load` returns them, and gives a `Verdict`. While a cell that it
needs is missing, the verdict is *not seen here*; the numbers, and what the cells that are there would give, are told
all the same.
"""

import numpy as np

from mhc_np.lab import grid_command
from mhc_np.lab import question as q
from mhc_np.lab.verdicts import Verdict, waiting

GRIDS = ("bijection", "khop-depth", "khop-mixing", "stress")
WIDE = ("hc", "free")  # unconstrained
MOST, MAJORITY = 0.8, 0.5  # share of cells, and of strata
ONE_STEP = 1.25  # ratio of errors that counts as a gain or a loss at best rates
EM_LOSS = 0.05  # by which the cosine with the E-step must fall
KEEPS = 0.5  # σ₂/σ₁ of a composite that is near the identity
SMALL_RATES = (3e-3, 1e-2)


def load():
    """Return the saved cells of every grid that the rules read."""
    return {name: grid_command.load(name) for name in GRIDS}


def c12(results):
    """Judge: HC's mixing is no identity, small deviations multiply over depth, signals explode, losses spike.

    On the bijection grid. *Explodes with the norm*, *without it* (V1): at 12 and 24 layers, the final composite forward
    gain is above 10 in 80 % of hc's cells and of free's, and both gains are within .4 to 2.5 in 80 % of mhc's. *Grows*:
    for hc and free, the median log gain rises from 6 to 12 to 24 layers, at three of the four rates, with the norm.
    *Spikes*: the share of cells that spike or break is .1 higher in hc than in mhc, and twice it. *holds*: all four.
    *holds in part*: it explodes, with or without the norm. *false*: neither, and 80 % of hc's and free's final gains
    are at most 10. Else *not seen here*. Edges (V2) and the stress test (V7) are told and decide nothing here.
    """
    found = q.index(results["bijection"])
    cells = {arm: [r for r in results["bijection"] if r["cell"]["arm"] == arm] for arm in (*WIDE, "mhc")}
    numbers, seen, small = {}, {}, []
    for norm, words in ((True, "with the norm"), (False, "without the norm")):
        deep = {
            arm: [r for r in cells[arm] if r["cell"]["final_norm"] == norm and r["cell"]["depth"] >= 12]
            for arm in cells
        }
        exploded = {arm: q.share(deep[arm], q.is_exploded) for arm in WIDE}
        calm = q.share(deep["mhc"], q.is_calm)
        numbers[words] = {**{f"{arm} exploded": value for arm, value in exploded.items()}, "mhc calm": calm}
        seen[f"explodes {words}"] = all(share >= MOST for share in (*exploded.values(), calm))
        small.append(all(share <= 1 - MOST for share in exploded.values()))
    numbers["rates that grow"] = {arm: _growing(found, arm) for arm in WIDE}
    seen["grows with depth"] = min(numbers["rates that grow"].values()) >= 3
    numbers["spikes"] = {arm: q.share(cells[arm], q.has_spikes) for arm in cells}
    spikes = numbers["spikes"]
    seen["spikes"] = spikes["hc"] >= spikes["mhc"] + 0.1 and spikes["hc"] >= 2 * spikes["mhc"]
    numbers["edge of mhc against"] = {arm: q.edges(found, "mhc", arm) for arm in WIDE}
    numbers["stress"] = stress_spread(results["stress"])
    words = _told(seen)
    if all(seen.values()):
        verdict = "holds"
    elif seen["explodes with the norm"] or seen["explodes without the norm"]:
        verdict = "holds in part"
    else:
        verdict = "false" if all(small) else "not seen here"
    return _final(verdict, numbers, words, q.missing("bijection", results["bijection"], (*WIDE, "mhc")))


def _growing(found, arm):
    """Count the rates at which the median final gain rises with depth, with the final norm."""
    count = 0
    for rate in sorted({key[3] for key in found if key[0] == arm}):
        cells = [found.get((arm, True, depth, rate), []) for depth in (6, 12, 24)]
        gains = [q.median([q.final_gain(result, "forward") for result in some]) for some in cells]
        count += bool(gains[0] < gains[1] < gains[2])
    return count


def stress_spread(results):
    """V7: at each ε, the spread over draws of log error, unconstrained over projected; NaN where cells are missing."""
    spread = {}
    for noise in sorted({r["cell"]["noise"] for r in results}):
        sides = []
        for arm in ("free", "mhc"):
            errors = [q.error(r) for r in results if (r["cell"]["noise"], r["cell"]["arm"]) == (noise, arm)]
            sides.append(np.std(np.log(np.minimum(errors, 10.0)), ddof=1) if len(errors) >= q.FEWEST else np.nan)
        with np.errstate(divide="ignore", invalid="ignore"):  # draws that all end alike have no spread
            spread[f"{noise:g}"] = float(np.divide(*sides))
    return spread


def c13(results):
    """Judge: unconstrained mixing leaves the posterior manifold, calibration falls, attention and values and EM drift.

    hc against mhc, and free against mhc, on the bijection grid. *Geometry* (V4): at matched KL the first axis's share,
    or its rank correlation with the entropy, of the last attention's outputs is lower by two pooled standard
    deviations, in most strata with three seeds. *Calibration*: the final entropy error is more than 1.5 times mhc's in
    most strata, or, on the k-hop grid with the norm, the KL is so at both rates (V6). *Drift*: the arrival of values
    over that of maps is less than mhc's by a factor of 1.25 in most strata. *EM*: at matched KL the cosine of score
    gradient and E-step is lower by .05 in most strata. *holds*: geometry, calibration and one of the others, for hc
    and for free. *holds in part*: any finding, for either. *false*: none, and hc is worse than mhc in fewer strata
    than it is better. Else *not seen here*.
    """
    found, numbers, seen = q.index(results["bijection"]), {}, {}
    for arm in WIDE:
        shape = {
            "pc1": q.lower_at_matched(found, arm, "mhc", "attention", "pc1_share"),
            "spearman": q.lower_at_matched(found, arm, "mhc", "attention", "spearman"),
            "em": q.lower_at_matched(found, arm, "mhc", "em_cosine", by=EM_LOSS),
        }
        worse, hops, drift = q.worse(found, arm, "mhc"), _hops(results["khop-mixing"], arm), _drift(found, arm)
        numbers[arm] = {**shape, "error": worse, "error on hops": hops, "drift": drift}
        on_hops = len(hops) == len(SMALL_RATES) and all(ratio > q.TIMES for ratio in hops.values())
        seen[f"geometry of {arm}"] = any(shape[name]["share"] > MAJORITY for name in ("pc1", "spearman"))
        seen[f"calibration of {arm}"] = worse["worse"] > MAJORITY or on_hops
        seen[f"drift of {arm}"] = drift["share"] > MAJORITY
        seen[f"EM of {arm}"] = shape["em"]["share"] > MAJORITY
    whole = all(
        seen[f"geometry of {arm}"]
        and seen[f"calibration of {arm}"]
        and (seen[f"drift of {arm}"] or seen[f"EM of {arm}"])
        for arm in WIDE
    )
    if whole:
        verdict = "holds"
    elif any(seen.values()):
        verdict = "holds in part"
    else:
        error = numbers["hc"]["error"]
        verdict = "false" if error["worse"] < error["better"] else "not seen here"
    gone = [q.missing(name, results[name], (*WIDE, "mhc")) for name in ("bijection", "khop-mixing")]
    return _final(verdict, numbers, _told(seen), "; ".join(filter(None, gone)))


def _hops(results, arm):
    """V6: the arm's median KL over mhc's on the task that needs depth, at each small rate, with the final norm."""
    found, ratios = q.index(results), {}
    for stratum in q.strata(found, (arm, "mhc")):
        if stratum[0] and stratum[2] in SMALL_RATES:
            one, other = (q.median_error(found, side, stratum, "kl_bits") for side in (arm, "mhc"))
            ratios[f"{stratum[2]:g}"] = one / other
    return ratios


def _drift(found, arm):
    """Compare the arrival of values over that of maps: share of strata in which it is clearly less than mhc's."""
    flags = []
    for stratum in q.strata(found, (arm, "mhc")):
        sides = []
        for side in (arm, "mhc"):
            settled = [r["settled"] for r in found[(side, *stratum)] if r["settled"] is not None]
            pairs = [(s["value_drift"], s["map_drift"]) for s in settled]
            sides.append([value / maps for value, maps in pairs if value is not None and maps])
        if min(map(len, sides)) >= q.FEWEST:
            flags.append(q.median(sides[0]) < q.median(sides[1]) / ONE_STEP)
    return {"strata": len(flags), "share": float(np.mean(flags)) if flags else float("nan")}


def _told(seen):
    return f"found: {', '.join(name for name, yes in seen.items() if yes) or 'nothing'}"


def _final(verdict, numbers, words, gone):
    """While cells are missing, nothing passes; what is there is told, once it is half of them."""
    if gone:
        so_far = f"; the cells that are there would give: {verdict}; {words}"
        so_far = "" if gone.startswith(("all", "most")) else so_far
        return waiting(f"{gone}{so_far}", numbers)
    return Verdict(verdict, numbers, words)
