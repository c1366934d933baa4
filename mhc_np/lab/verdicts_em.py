"""Verdict rules for C9, C10 and C11: attention's gradient as EM. Pure functions, written before the runs.

Chapter: chapters/08_em.md      Tests: tests/test_verdicts_em.py

A rule takes the saved results, ``{run name: [one result a seed]}`` as `mhc_np.lab.em_runs.load` returns them, and gives
a `Verdict`. It reads numbers alone. A result that is missing never helps a claim: the verdict is *not seen here*, and
the words say what is missing.
"""

import numpy as np

from mhc_np.lab.verdicts import Verdict, waiting
from mhc_np.measure.manifold import spearman

NUM_SEEDS = 5
TASKS = ("sticky", "marked")
TRACED = ("sgd", "adamw")

EXACT = 1e-10  # a closed form is right when it is this near to autograd, differences and PyTorch
SAME_DIRECTION = 0.95  # median cosine from which two updates count as one
MOST_ROWS = 2 / 3  # share of queries from which feedback counts as the rule
CLEARLY = 1.25  # ratio of steps from which one thing is faster; rates are swept in factors of 1.78
SEEDS_AGREE = 0.8  # share of seeds that must fall on the same side
EXPLODED = 4.0  # composite gain g^L from which the stream counts as exploded
TWICE = 2.0  # how much worse calibration must get, and how much the alignment with EM must lose
RANK = -0.5  # rank correlation of composite gain and alignment from which they go against each other
BITS_FLOOR = 0.02  # KL bits below which a network counts as calibrated: factors of smaller numbers mean nothing


def c9(results):
    """Scores and values feed each other; the gradient is E-step and M-step.

    *holds*: every closed form is exact; the value step reinforces most queries; and the directions of scores and values
    are those of the E-step and the M-step of the mixture, on both tasks. *holds in part*: the closed forms are exact,
    and one of the others is missing. *false*: a closed form is wrong.
    """
    gone = _missing(results, ("laws", *(f"trace-{task}" for task in TASKS)))
    if gone:
        return waiting(gone, {})
    laws = [error for run in results["laws"] for error in run["metrics"]["errors"].values() if error is not None]
    numbers = {"law_error": max(laws)}
    for task in TASKS:
        looks = [look for run in results[f"trace-{task}"] for arm in TRACED for look in run["arms"][arm]["looks"][1:]]
        for key in ("score_cosine", "value_cosine", "reinforced_share"):
            numbers[f"{key}_{task}"] = _median([look[key] for look in looks])
    feeds = all(numbers[f"reinforced_share_{task}"] >= MOST_ROWS for task in TASKS)
    cosines = [numbers[f"{key}_cosine_{task}"] for key in ("score", "value") for task in TASKS]
    is_em = min(cosines) >= SAME_DIRECTION
    words = (
        f"closed forms {'exact' if numbers['law_error'] <= EXACT else 'wrong'}; the value step "
        f"{'reinforces' if feeds else 'does not reinforce'} most queries; "
        f"the gradient's directions {'are' if is_em else 'are not'} those of EM"
    )
    if numbers["law_error"] > EXACT:
        return Verdict("false", numbers, words)
    return Verdict("holds" if feeds and is_em else "holds in part", numbers, words)


def c10(results):
    """Two time scales, routing first; EM-like steps train faster.

    Six findings: routing settles first, on two tasks with two optimisers; the papers' EM-like arm reaches the held-out
    target first, on two tasks, each arm at its own best rate. *holds*: all six. *holds in part*: one or more. *false*:
    none, and the opposite of most of each kind. Else *not seen here*.
    """
    gone = _missing(results, [f"{run}-{task}" for run in ("trace", "arms") for task in TASKS])
    if gone:
        return waiting(gone, {})
    numbers, timing, speed = {}, [], []
    for task in TASKS:
        for arm in TRACED:
            settled = [run["arms"][arm]["settled"] for run in results[f"trace-{task}"]]
            ratios = [_ratio(s["content"], s["routing"]) for s in settled]
            timing.append(_side(ratios))
            numbers[f"content_over_routing_{task}_{arm}"] = _median(ratios)
    for task in TASKS:
        runs = results[f"arms-{task}"]
        ratios = [_ratio(r["fastest"]["sgd"]["late"], r["fastest"]["value_x10"]["late"]) for r in runs]
        speed.append(_side(ratios))
        numbers[f"speed_up_{task}"] = _median(ratios)
    numbers["found"] = sum(side > 0 for side in timing + speed)
    numbers["opposite"] = sum(side < 0 for side in timing + speed)
    sides = {name: f"{sum(s > 0 for s in kind)} of {len(kind)}" for name, kind in (("t", timing), ("s", speed))}
    words = f"routing settles first in {sides['t']} cases; the EM-like arm is faster in {sides['s']}"
    if numbers["found"] == len(timing + speed):
        return Verdict("holds", numbers, words)
    if numbers["found"]:
        return Verdict("holds in part", numbers, words)
    against = all(sum(side < 0 for side in kind) > len(kind) / 2 for kind in (timing, speed))
    return Verdict("false" if against else "not seen here", numbers, words)


def c11(results):
    """EM needs bounded activations; explosion breaks it.

    Plain gradient descent, each cell of depth and gain at its own best rate. *EM suffers*: over the cells with g >= 1
    the composite gain and the cosine of update and E-step are rank-correlated at −0.5 or below, and the median cosine
    of the exploded cells is at most half that at g = 1. *Calibration suffers*: at most of the depths that explode, the
    KL to the posterior at the largest gain is at least twice that at g = 1. *holds*: both; *holds in part*: one;
    *false*: neither, with the cosine rising and calibration no worse; else *not seen here*.
    """
    gone = _missing(results, ("gain",))
    if gone:
        return waiting(gone, {})
    cells = {}
    for run in results["gain"]:
        for cell in run["cells"]:
            if cell["optimizer"] == "sgd" and cell["gain"] >= 1:
                cells.setdefault((cell["depth"], cell["gain"]), []).append(cell)
    gains = sorted({gain for _, gain in cells})
    composite = {key: key[1] ** key[0] for key in cells}
    cosine = {key: _median([c["update_cosine"] for c in found]) for key, found in cells.items()}
    kl = {key: _median([_worst_if_lost(c["kl_bits"]) for c in found]) for key, found in cells.items()}
    rank = _rank_correlation([composite[key] for key in cells], [cosine[key] for key in cells])
    calm = _median([cosine[key] for key in cells if key[1] == 1])
    exploded = _median([cosine[key] for key in cells if composite[key] >= EXPLODED])
    depths = sorted({depth for depth, _ in cells if gains[-1] ** depth >= EXPLODED})
    worse = [_ratio(max(kl[depth, gains[-1]], BITS_FLOOR), max(kl[depth, 1.0], BITS_FLOOR)) for depth in depths]
    numbers = {"rank_correlation": rank, "cosine_calm": calm, "cosine_exploded": exploded, "kl_ratio": _median(worse)}
    numbers |= {f"kl_bits_depth_{depth}_gain_{gain:g}": kl[depth, gain] for depth, gain in cells}
    em_suffers = rank <= RANK and calm > 0 and exploded <= calm / TWICE
    calibration_suffers = np.mean([ratio >= TWICE for ratio in worse]) > 0.5
    words = (
        f"with the composite gain the update {'leaves' if em_suffers else 'does not leave'} the E-step, "
        f"calibration {'falls' if calibration_suffers else 'does not fall'}"
    )
    if em_suffers and calibration_suffers:
        return Verdict("holds", numbers, words)
    if em_suffers or calibration_suffers:
        return Verdict("holds in part", numbers, words)
    against = rank >= -RANK and np.mean([ratio <= 1 for ratio in worse]) > 0.5
    return Verdict("false" if against else "not seen here", numbers, words)


RULES = {"C9": c9, "C10": c10, "C11": c11}


def _missing(results, names):
    """Say which runs lack seeds; empty if none does."""
    short = [name for name in names if len(results.get(name, [])) < NUM_SEEDS]
    return f"missing seeds of {', '.join(short)}" if short else ""


def _median(values):
    """Median of what is there, as a Python float; an infinite ratio counts as a large number, a missing one not."""
    kept = [value for value in values if value is not None and not np.isnan(value)]
    return float(np.median(kept)) if kept else float("nan")


def _ratio(over, under):
    """Divide two counts of steps; None is a target never reached, so infinitely many."""
    if over == under:
        return 1.0
    if under is None:
        return 0.0
    return float("inf") if over is None or under == 0 else over / under


def _side(ratios):
    """Return +1 if the ratio is clearly above one, −1 if clearly below, else 0; most seeds must agree."""
    middle, above = _median(ratios), np.mean([ratio > 1 for ratio in ratios])
    below = np.mean([ratio < 1 for ratio in ratios])
    if middle >= CLEARLY and above >= SEEDS_AGREE:
        return 1
    return -1 if middle <= 1 / CLEARLY and below >= SEEDS_AGREE else 0


def _worst_if_lost(kl):
    """Infinite KL for a run that diverged, saved as None."""
    return float("inf") if kl is None else kl


def _rank_correlation(x, y):
    """Spearman's correlation over the pairs that are numbers; 0 where one side is constant."""
    x, y = (np.array(side, dtype=float) for side in (x, y))
    there = np.isfinite(x) & np.isfinite(y)
    rank = spearman(x[there], y[there]) if there.any() else np.nan
    return 0.0 if np.isnan(rank) else rank
