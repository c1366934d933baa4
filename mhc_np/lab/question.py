"""Sums over the cells of a grid: medians over seeds, edges of stability, comparisons of two arms stratum by stratum.

Chapter: chapters/15_the_question.md      Tests: tests/test_question.py

A *stratum* is what two arms are compared in: one final norm, one depth, one rate, all seeds. Whatever a cell does not
have (None: it broke) counts as infinitely bad where it is an error, and as absent where it is a shape.
"""

import numpy as np

from mhc_np.lab.grids import GRIDS

FAILED = 0.5  # bits of entropy error above which a run has failed
LEARNED = 0.1  # ... below which, in the median over seeds, a rate is below the edge
CALM = (0.4, 2.5)  # gains between which a composite counts as kept
EXPLODED = 10.0  # gain above which it counts as exploded
TIMES = 1.5  # ratio of errors from which one arm is worse
SPREADS = 2.0  # pooled standard deviations over seeds from which a shape differs
FEWEST = 3  # seeds that both arms must have in a stratum


def index(results):
    """Sort results by (arm, final norm, depth, rate): a list each, one a seed."""
    found = {}
    for result in results:
        cell = result["cell"]
        found.setdefault((cell["arm"], cell["final_norm"], cell["depth"], cell["rate"]), []).append(result)
    return found


def strata(found, arms):
    """Return the (norm, depth, rate) in which all these arms have results, in order."""
    of_arm = [{key[1:] for key in found if key[0] == arm} for arm in arms]
    return sorted(set.intersection(*of_arm), key=lambda s: (not s[0], s[1], s[2]))


def missing(name, results, arms=None):
    """Say in words which cells of a grid are missing; empty if none is.

    The words begin with "all" or "most" where so many are missing that the rest says little.
    """
    there = {_key(result["cell"]) for result in results}
    wanted = [cell for cell in GRIDS[name]() if arms is None or cell.arm in arms]
    gone = [cell for cell in wanted if _key(cell.described()) not in there]
    if not gone:
        return ""
    if len(gone) == len(wanted):
        return f"all {len(wanted)} cells of {name} are missing"
    seeds = sorted({cell.seed for cell in gone})
    most = "most cells are " if len(gone) > len(wanted) / 2 else ""
    return f"{most}missing: {len(gone)} of {len(wanted)} of {name} (seeds {', '.join(map(str, seeds))})"


def _key(described):
    return tuple((name, str(value)) for name, value in sorted(described.items()))


def error(result, measure="mae_bits"):
    """Return a cell's last error in bits; infinite if it broke."""
    value = None if result["train"]["diverged_at"] is not None else result["final"][measure]
    return float("inf") if value is None else float(value)


def failed(result):
    """Say whether a cell has failed: an entropy error above half a bit, or none at all."""
    return error(result) > FAILED


def median(values):
    """Median as a Python float; NaN of nothing, and infinities count."""
    values = [value for value in values if value is not None]
    return float(np.median(values)) if values else float("nan")


def median_error(found, arm, stratum, measure="mae_bits"):
    """Return the median of the last error over seeds."""
    return median([error(result, measure) for result in found.get((arm, *stratum), [])])


def edge(found, arm, norm, depth):
    """Return the largest rate below the edge: its median error is below .1 bits, and so is every lower rate's.

    0 if there is none.
    """
    last = 0.0
    for rate in sorted({key[3] for key in found if key[:3] == (arm, norm, depth)}):
        if not median_error(found, arm, (norm, depth, rate)) < LEARNED:
            break
        last = rate
    return last


def edges(found, one, other):
    """Compare two arms' edges in every (norm, depth): how often the one's is higher, equal and lower."""
    settings = sorted({stratum[:2] for stratum in strata(found, (one, other))})
    pairs = [(edge(found, one, *setting), edge(found, other, *setting)) for setting in settings]
    counts = {"higher": sum(a > b for a, b in pairs), "equal": sum(a == b for a, b in pairs)}
    return {**counts, "lower": len(pairs) - sum(counts.values())}


def best_error(found, arm, norm, depth):
    """Return the least median error over rates: each arm at its own best."""
    rates = {key[3] for key in found if key[:3] == (arm, norm, depth)}
    return min([median_error(found, arm, (norm, depth, rate)) for rate in rates], default=float("nan"))


def final_gain(result, name):
    """Return a gain at the last look; infinite if it is none any more."""
    value = result["looks"][name][-1]
    return float("inf") if value is None else float(value)


def share(results, condition):
    """Return the share of results of which a condition is true; NaN of nothing."""
    return float(np.mean([condition(result) for result in results])) if results else float("nan")


def is_calm(result):
    """Say whether both composite gains are between .4 and 2.5 at the end."""
    return all(CALM[0] <= final_gain(result, name) <= CALM[1] for name in ("forward", "backward"))


def is_exploded(result):
    """Say whether the composite forward gain is above 10 at the end."""
    return final_gain(result, "forward") > EXPLODED


def has_spikes(result):
    """Say whether the loss has spiked at least once, or the run has broken."""
    return bool(result["train"]["spikes"]) or result["train"]["diverged_at"] is not None


def worse(found, one, other, measure="mae_bits"):
    """In which share of strata is the one's median error more than 1.5 times the other's; and the reverse.

    Strata in which both have failed say nothing and are left out.
    """
    ratios = []
    for stratum in strata(found, (one, other)):
        a, b = (median_error(found, arm, stratum, measure) for arm in (one, other))
        if min(a, b) <= FAILED:
            ratios.append(a / b)
    if not ratios:
        return {"strata": 0, "worse": float("nan"), "better": float("nan"), "median_ratio": float("nan")}
    ratios = np.array(ratios)
    counts = {"worse": float((ratios > TIMES).mean()), "better": float((ratios < 1 / TIMES).mean())}
    return {"strata": len(ratios), **counts, "median_ratio": float(np.median(ratios))}


def at_matched(result, *path):
    """Return a number of the checkpoint at the matched KL, or None."""
    value = result["matched"]
    for name in path:
        value = None if value is None else value[name]
    return value


def lower_at_matched(found, one, other, *path, by=None):
    """Compare a shape of two arms at matched KL.

    Parameters
    ----------
    found : as from `index`
    one, other : str
    *path : str
        Which number of ``matched``.
    by : float, optional
        The difference of medians that counts; by default two pooled standard deviations over seeds.

    Returns
    -------
    dict
        ``strata`` with at least three seeds in both arms; the ``share`` of them in which the one's median is lower by
        that much; ``median_difference``, the one's less the other's.
    """
    differences, lower = [], []
    for stratum in strata(found, (one, other)):
        sides = [[at_matched(result, *path) for result in found[(arm, *stratum)]] for arm in (one, other)]
        sides = [np.array([value for value in side if value is not None], float) for side in sides]
        if min(map(len, sides)) < FEWEST:
            continue
        differences.append(float(np.median(sides[0]) - np.median(sides[1])))
        pooled = np.sqrt(np.mean([side.var(ddof=1) for side in sides]))
        lower.append(differences[-1] < -(SPREADS * pooled if by is None else by))
    if not lower:
        return {"strata": 0, "share": float("nan"), "median_difference": float("nan")}
    return {"strata": len(lower), "share": float(np.mean(lower)), "median_difference": float(np.median(differences))}


def used_thirds(result, moment="final", least=0.02):
    """Count the thirds of a network without which its KL is at least .02 bits higher; None if there is no moment."""
    look = result[moment]
    if look is None or look["kl_bits"] is None:
        return None
    return sum((kl is None or kl - look["kl_bits"] >= least) for kl in look["kl_without"])
