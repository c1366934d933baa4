"""Verdict rules for C15, C16 and C17, written before the grids were run: what the projection keeps, and what leads.

Chapter: chapters/16_what_breaks_first.md      Tests: tests/test_verdicts_question.py

The same contract as `mhc_np.lab.verdicts_question`, whose rules for C12 and C13 are collected here too.
"""

import numpy as np

from mhc_np.lab import lead_lag
from mhc_np.lab import question as q
from mhc_np.lab.grids import COST
from mhc_np.lab.verdicts_question import KEEPS, MAJORITY, MOST, ONE_STEP, SMALL_RATES, WIDE, _final, _told, c12, c13


def c15(results):
    """Judge: the projection keeps norms, and stays near the identity when stacked.

    mhc on the bijection grid. *Norms*: both composite gains are within .4 to 2.5 at the end in 80 % of the cells of
    every depth. *Near the identity*: σ₂/σ₁ of the composite is .5 or more in 80 % of the cells of every depth. *holds*:
    both. *holds in part*: norms. *false*: not norms. The composite's other properties are theorems (chapters 12, 13).
    """
    cells = [r for r in results["bijection"] if r["cell"]["arm"] == "mhc"]
    depths = sorted({r["cell"]["depth"] for r in cells})
    numbers, seen = {}, {}
    for depth in depths:
        some = [r for r in cells if r["cell"]["depth"] == depth]
        numbers[f"{depth} layers"] = {
            "calm": q.share(some, q.is_calm),
            "near": q.share(some, lambda r: q.final_gain(r, "sigma_ratio") >= KEEPS),
            "backward": q.median([q.final_gain(r, "backward") for r in some]),
            "sigma_ratio": q.median([q.final_gain(r, "sigma_ratio") for r in some]),
        }
    seen["norms"] = bool(depths) and all(row["calm"] >= MOST for row in numbers.values())
    seen["near the identity"] = bool(depths) and all(row["near"] >= MOST for row in numbers.values())
    verdict = (
        "holds" if all(seen.values()) else "holds in part" if seen["norms"] else "false" if cells else "not seen here"
    )
    return _final(verdict, numbers, _told(seen), q.missing("bijection", results["bijection"], ("mhc",)))


def c16(results):
    """Judge: mHC keeps the wide stream's flexibility and gives back the plain residual's safety.

    On the bijection grid, in its six settings (norm, depth), each arm at its own best rate. *Flexible*: mhc's error is
    at least 1.25 times lower than residual's in most settings. *As good as HC*: mhc's error is at most 1.25 times hc's
    in most settings. *Safe*: mhc's edge is below residual's in none, and the share of its cells that spike or break is
    at most .1 above residual's. *Mixing helps*: mhc's error is at least 1.25 times lower than identity's in most
    settings; told, and not decisive. *holds*: flexible, as good as HC, and safe. *holds in part*: safe, or flexible.
    *false*: its edge is lower than residual's in most settings, or its error 1.25 times higher. Else *not seen here*.
    """
    found = q.index(results["bijection"])
    settings = sorted({stratum[:2] for stratum in q.strata(found, ("mhc", "residual", "hc", "identity"))})
    ratio = {
        arm: [q.best_error(found, "mhc", *s) / q.best_error(found, arm, *s) for s in settings]
        for arm in ("residual", "hc", "identity")
    }
    spikes = {
        arm: q.share([r for r in results["bijection"] if r["cell"]["arm"] == arm], q.has_spikes)
        for arm in ("mhc", "residual")
    }
    against = q.edges(found, "mhc", "residual")
    numbers = {
        "median ratio of best errors": {arm: q.median(ratios) for arm, ratios in ratio.items()},
        "edge against residual": against,
        "edge against free (V3)": q.edges(found, "mhc", "free"),
        "spikes": spikes,
        "scale's share of hc's gain (V5)": scale_share(found),
        "equal compute": equal_compute(found),
    }
    seen = {
        "flexible": _most(r <= 1 / ONE_STEP for r in ratio["residual"]),
        "as good as HC": _most(r <= ONE_STEP for r in ratio["hc"]),
        "safe": bool(settings) and against["lower"] == 0 and spikes["mhc"] <= spikes["residual"] + 0.1,
        "mixing helps": _most(r <= 1 / ONE_STEP for r in ratio["identity"]),
    }
    lost = against["lower"] > len(settings) / 2 or _most(r >= ONE_STEP for r in ratio["residual"])
    if seen["flexible"] and seen["as good as HC"] and seen["safe"]:
        verdict = "holds"
    elif lost:
        verdict = "false"
    else:
        verdict = "holds in part" if seen["safe"] or seen["flexible"] else "not seen here"
    arms = ("mhc", "residual", "hc", "identity")
    return _final(verdict, numbers, _told(seen), q.missing("bijection", results["bijection"], arms))


def scale_share(found):
    """V5: what share of hc's gain over residual, in logs of the error, one learned scale recovers; median over seeds.

    Over the seeds and strata with the final norm in which hc's error is less than half of residual's.
    """
    shares = []
    for stratum in q.strata(found, ("residual", "scaled", "hc")):
        if not stratum[0]:
            continue
        sides = [
            {r["cell"]["seed"]: q.error(r) for r in found[(arm, *stratum)]} for arm in ("residual", "scaled", "hc")
        ]
        for seed in set.intersection(*map(set, sides)):
            plain, scaled, hc = (np.log(min(side[seed], 10.0)) for side in sides)
            if plain - hc > np.log(2):
                shares.append((plain - scaled) / (plain - hc))
    return {"runs": len(shares), "median": q.median(shares)}


def equal_compute(found, measure="mae_bits"):
    """Median over strata of mhc's error over residual's when both have had residual's time, at small rates."""
    ratios = []
    for stratum in q.strata(found, ("mhc", "residual")):
        if stratum[2] in SMALL_RATES:
            early = [_error_after(r, COST["residual"] / COST["mhc"], measure) for r in found[("mhc", *stratum)]]
            ratios.append(q.median(early) / q.median_error(found, "residual", stratum, measure))
    return {"strata": len(ratios), "median_ratio": q.median(ratios)}


def _error_after(result, share, measure):
    """Return the error at the look after that share of the steps; infinite if the run had broken by then."""
    look = round(share * result["cell"]["num_steps"] / result["cell"]["look_every"])
    curve = result["looks"][measure]
    value = curve[look] if look < len(curve) else None
    return float("inf") if value is None else value


def c17(results):
    """Judge: as models grow distortions add up, and a broken identity erodes inference before the metrics show it.

    hc's and free's cells of the bijection grid at 12 and 24 layers; events and leads as in `mhc_np.lab.lead_lag`. *Gain
    leads*, *geometry leads*: its event comes before the loss's. *Gain warns*: at least half of the runs with a gain
    event go wrong later. *More often*: the share of runs that go wrong is at least twice that of mhc's. *holds*: all
    four. *holds in part*: gain or geometry leads. *false*: ten runs or more go wrong, and neither leads, or gain leads
    and fewer than a tenth of the runs with a gain event go wrong. Else *not seen here*.
    """
    deep = [r for r in results["bijection"] if r["cell"]["depth"] >= 12]
    wide = [r for r in deep if r["cell"]["arm"] in WIDE]
    leads = {name: lead_lag.leading(wide, name) for name in ("gain", "geometry", "calibration")}
    wrong = {
        arm: lead_lag.goes_wrong([r for r in deep if r["cell"]["arm"] == arm]) for arm in (*WIDE, "mhc", "residual")
    }
    warns = lead_lag.followed(wide)
    numbers = {"leads": leads, "gain events that are followed": warns, "goes wrong": wrong}
    seen = {
        "gain leads": leads["gain"]["leads"],
        "geometry leads": leads["geometry"]["leads"],
        "gain warns": warns >= MAJORITY,
        "more often": all(wrong[arm] > 0 and wrong[arm] >= 2 * wrong["mhc"] for arm in WIDE),
    }
    enough = leads["gain"]["runs"] >= lead_lag.FEWEST_RUNS
    either = seen["gain leads"] or seen["geometry leads"]
    if all(seen.values()):
        verdict = "holds"
    elif enough and (not either or (seen["gain leads"] and not seen["geometry leads"] and warns < 0.1)):
        verdict = "false"
    else:
        verdict = "holds in part" if either else "not seen here"
    return _final(
        verdict, numbers, _told(seen), q.missing("bijection", results["bijection"], (*WIDE, "mhc", "residual"))
    )


def _most(flags):
    flags = list(flags)
    return bool(flags) and sum(flags) > len(flags) / 2


RULES = {"C12": c12, "C13": c13, "C15": c15, "C16": c16, "C17": c17}
