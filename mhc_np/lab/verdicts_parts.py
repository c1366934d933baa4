"""Verdict rules for C3, C4 and C5, written before the runs: who does what, through depth, with and without skips.

Chapter: chapters/05_who_does_what.md      Tests: tests/test_verdicts_geometry.py

The rules read what `mhc_np.lab.geometry_runs.load` returns, ``{run: [one result a seed]}``, and give a `Verdict`. Bits
are compared with the *prior's*, what there is to learn in a task. What is missing, broken or not a number never helps a
claim: a number that is None counts as failing.
"""

import numpy as np

from mhc_np.lab.verdicts import Verdict, waiting

TUNNELS = ("geometry-bijection", "geometry-hmm")
NUM_SEEDS = 5
SEEDS_AGREE = 0.8  # share of seeds in which a finding must be there

CARRIED = 0.9  # share of the prior's bits that the last stream gives to a linear reader
NEEDED = 0.5  # ... that are lost without any attention
HELPS = 0.1  # ... that are lost without any feed-forward part
IDLE = 0.02  # ... below which a part does nothing
UPDATES = 0.5  # share of the probe's gain that is made at feed-forward sub-layers
CRITICAL = 2.0  # how far the most damaging head must be above the next to be called the critical one

STAYS = 0.02  # rise of the belief's error, as a share of the prior's bits, that counts as no rise
OVERWRITES = 0.1  # ... that counts as overwriting
REFINES = 0.9  # a block refines if it leaves at most this share of the error before it
FEW_ROWS = 0.1  # share of single steps that may rise

LEARNED, LOST = 0.1, 0.5  # shares of the prior's bits that are still missing
WORSE = 3.0  # times the error with skips
VANISHED, KEPT = 2.0, 1.0  # powers of ten that the gradient loses, or gains, from top to bottom


def c3(results):
    """Judge: the residual stream carries belief, attention routes evidence, feed-forward parts update numbers.

    Four findings a tunnel, in four seeds of five. *Carried*: a probe of the last stream has 90 % of the prior's bits.
    *Needed*: without attention (mean ablation) half of them are lost. *Helps*: without feed-forward parts a tenth is.
    *Updates*: at least half of the probe's gain is made at feed-forward sub-layers. *holds*: all, in both tunnels.
    *holds in part*: carried and needed in both. *false*: in both, feed-forward parts are idle (cost and share of the
    gain below .02), or attention is. Else *not seen here*. Whether one head is critical, and what fixed routing costs,
    is reported and decides nothing.
    """
    gone = missing(results, TUNNELS)
    if gone:
        return waiting(gone, {})
    numbers, found, idle = {}, {}, {}
    for tunnel in TUNNELS:
        each = [_labour(result) for result in results[tunnel]]
        numbers[tunnel] = {name: median([one[name] for one in each]) for name in each[0]}
        found[tunnel] = {
            "carried": agree(one["carried"] >= CARRIED for one in each),
            "needed": agree(one["attention_cost"] >= NEEDED for one in each),
            "helps": agree(one["mlp_cost"] >= HELPS for one in each),
            "updates": agree(one["mlp_gain"] >= UPDATES for one in each),
        }
        still = agree(one["mlp_cost"] < IDLE and one["mlp_gain"] < IDLE for one in each)
        idle[tunnel] = still or agree(one["attention_cost"] < IDLE for one in each)
        numbers[tunnel] |= {"found": sum(found[tunnel].values())}
    words = "; ".join(f"{t}: {', '.join(k for k, yes in found[t].items() if yes) or 'nothing'}" for t in TUNNELS)
    if all(all(found[t].values()) for t in TUNNELS):
        return Verdict("holds", numbers, words)
    if all(idle.values()):
        return Verdict("false", numbers, f"{words}; a part is idle in every tunnel")
    partly = all(found[t]["carried"] and found[t]["needed"] for t in TUNNELS)
    return Verdict("holds in part" if partly else "not seen here", numbers, words)


def _labour(result):
    """Read the numbers of C3 off one result; NaN for what is not there."""
    prior, cost = number(result["prior_bits"]), result["ablation"]["mean"]
    kl = np.array([number(bits) for bits in result["depth"]["probe"]["kl_bits"]])
    fall = -np.diff(kl)  # sub-layers in turn: attention, feed-forward, …
    heads = result["ablation"]["heads"]["mean"]
    return {
        "carried": 1 - kl[-1] / prior,
        "attention_cost": number(cost["all attention"]) / prior,
        "mlp_cost": number(cost["all mlp"]) / prior,
        "routing_cost": number(cost["all routing"]) / prior,
        "mlp_gain": fall[1::2].sum() / fall.sum() if fall.sum() > 0 else float("nan"),
        "head_over_second": number(heads["over_second"]),
        "heads_carry_half": number(heads["carry_half"]),
    }


def c4(results):
    """Judge: each layer refines the belief, none overwrites it.

    Per tunnel, from block to block, in four seeds of five. *Kept*: the probe's mean error never rises by more than 2 %
    of the prior's bits. *Kept in the head's basis*: nor does the logit lens's, and at most a tenth of the single steps
    of the probe rise. *Refined*: at least half of the blocks leave 90 % or less of the error before them. *holds*: all
    three in both tunnels. *holds in part*: kept in both, or all three in one. *false*: in both the probe's error rises
    by 10 % somewhere. Else *not seen here*.
    """
    gone = missing(results, TUNNELS)
    if gone:
        return waiting(gone, {})
    numbers, kept, whole, overwrites = {}, {}, {}, {}
    for tunnel in TUNNELS:
        each = [_refinement(result) for result in results[tunnel]]
        numbers[tunnel] = {name: median([one[name] for one in each]) for name in each[0]}
        kept[tunnel] = agree(one["probe_rise"] <= STAYS for one in each)
        basis = agree(one["lens_rise"] <= STAYS and one["rows_that_rise"] <= FEW_ROWS for one in each)
        whole[tunnel] = kept[tunnel] and basis and agree(one["refining"] >= 0.5 for one in each)
        overwrites[tunnel] = agree(one["probe_rise"] >= OVERWRITES for one in each)
    words = f"kept in {_names(kept)}; refined without exception in {_names(whole)}"
    if all(whole.values()):
        return Verdict("holds", numbers, words)
    if all(overwrites.values()):
        return Verdict("false", numbers, "a block overwrites the belief in every tunnel")
    return Verdict("holds in part" if all(kept.values()) or any(whole.values()) else "not seen here", numbers, words)


def _refinement(result):
    """Read the numbers of C4 off one result."""
    prior, depth = number(result["prior_bits"]), result["depth"]
    kl = np.array([number(bits) for bits in depth["probe"]["kl_bits"]])[::2]
    return {
        "probe_rise": number(depth["probe"]["blocks"]["largest_rise"]) / prior,
        "lens_rise": number(depth["lens"]["blocks"]["largest_rise"]) / prior,
        "rows_that_rise": number(depth["probe"]["blocks"]["rose"]),
        "refining": float((kl[1:] <= REFINES * kl[:-1]).mean()),
    }


def c5(results):
    """Judge: without the residual's identity path belief cannot evolve stably over depth.

    Every depth and path at its own best rate (least median error), errors as shares of the prior's bits. *holds*: with
    skips at most .1 is missing at every depth; without them half or more is, at the largest depth and at every depth
    beyond the first such; and at the start the gradient without skips changes by two powers of ten from top to bottom
    of the deepest network, with skips by less than one. *holds in part*: with skips learned everywhere, without skips
    three times worse at the largest depth, and more than .1 missing. *false*: without skips .1 or less is missing at
    every depth. Else *not seen here*.
    """
    gone = missing(results, ("depth",))
    if gone:
        return waiting(gone, {})
    errors = {}
    for result in results["depth"]:
        for cell in result["cells"]:
            share = number(cell["kl_bits"], broken=np.inf) / result["prior_bits"]
            errors.setdefault((cell["depth"], cell["path"]), {}).setdefault(cell["rate"], []).append(share)
    depths = sorted({depth for depth, _ in errors})
    best = {cell: min(median(shares) for shares in rates.values()) for cell, rates in errors.items()}
    skips, without = ([best[depth, path] for depth in depths] for path in ("skips", "no skips"))
    numbers = {f"{path} {depth}": share for (depth, path), share in best.items()}
    change = {}
    for path in ("skips", "no skips"):
        starts = [number(r["start"][f"{depths[-1]} {path}"]["end_to_end"]) for r in results["depth"]]
        with np.errstate(divide="ignore"):  # a gradient of zero has changed by infinitely many powers
            change[path] = median(np.abs(np.log10(starts)))
        numbers[f"log10 gradient {path}"] = change[path]
    learned, lost = all(share <= LEARNED for share in skips), [share >= LOST for share in without]
    for_good = lost[-1] and all(lost[lost.index(True) :]) if any(lost) else False
    if learned and for_good and change["no skips"] >= VANISHED and change["skips"] < KEPT:
        return Verdict("holds", numbers, f"without skips lost from depth {depths[lost.index(True)]} on")
    if learned and without[-1] > LEARNED and without[-1] >= WORSE * skips[-1]:
        return Verdict("holds in part", numbers, f"without skips {without[-1]:.2g} of the bits lost at {depths[-1]}")
    if all(share <= LEARNED for share in without):
        return Verdict("false", numbers, "learned without skips at every depth")
    return Verdict("not seen here", numbers, "no clear difference, or not learned with skips either")


def missing(results, runs):
    """Say which runs lack seeds, in words; empty if none does."""
    few = [name for name in runs if len(results.get(name, [])) < NUM_SEEDS]
    return f"missing seeds of {', '.join(few)}" if few else ""


def number(value, broken=float("nan")):
    """Return a float; what was saved as None (not a number) becomes ``broken``, and NaN passes no comparison."""
    return broken if value is None else float(value)


def median(values):
    """Median as a Python float; NaN if any value is."""
    return float(np.median(np.array(list(values), dtype=float)))


def agree(flags):
    """Say whether a finding is there in enough seeds."""
    return bool(np.mean(list(flags)) >= SEEDS_AGREE)


def _names(flags):
    return ", ".join(name for name, yes in flags.items() if yes) or "no tunnel"
