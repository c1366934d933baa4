"""Verdict rules for C6, C7 and C8, written before the runs: the value manifold, the frame of keys, what settles first.

Chapter: chapters/06_geometry.md      Tests: tests/test_verdicts_geometry.py

The same contract as `mhc_np.lab.verdicts_parts`, whose rules for C3, C4 and C5 are collected here too.
"""

from mhc_np.lab.value_manifold import CONTROLS
from mhc_np.lab.verdicts import Verdict, waiting
from mhc_np.lab.verdicts_parts import TUNNELS, agree, c3, c4, c5, median, missing, number

LSTMS = tuple(f"{tunnel}-lstm" for tunnel in TUNNELS)

ONE_LINE = 0.8  # share of the first axis, as the authors ask in their reproduction notes
COORDINATE = 0.9  # rank correlation, and R², of the first coordinate and the entropy
INSIDE = 0.5  # rank correlation within positions, where the entropy varies there
USED = 0.05  # share of the prior's bits that the answers lose without the entropy's axis
OVER_CONTROL = 3.0  # ... and how many times the worst control
SCATTERED, UNRELATED = 0.5, 0.5  # below both, there is neither a line nor a coordinate

MOST_LAYERS = 0.5  # share of layers, as in the authors' third paper
GROWS = 0.5  # rank correlation of the alignment with the evidence, over positions

CLEARLY = 1.25  # ratio of steps from which one thing is later than another: about the ratio of two snapshots


def c6(results):
    """Judge: values gather on a low-dimensional manifold whose coordinate is the posterior's entropy.

    Three findings a tunnel, in four seeds of five, on what the last layer's attention writes. *Line*: the first axis
    has 80 % of the variance. *Coordinate*: its rank correlation with the entropy and its R² are .9 or more, and where
    the entropy varies within positions the rank correlation there is .5 or more. *Used*: without the entropy's axis
    (the costlier of two candidates, at that site or in the last stream) the answers lose 5 % of the prior's bits, and
    three times what the worst control axis costs there. *holds*: all in both tunnels, with the LSTMs' numbers beside
    them. *holds in part*: one at least. *false*: in both, neither half of the variance on a line nor half of the rank
    correlation. Else *not seen here*.
    """
    gone = missing(results, (*TUNNELS, *LSTMS))
    if gone:
        return waiting(gone, {})
    numbers, found, nothing = {}, {}, []
    for tunnel in TUNNELS:
        each = [_manifold(result) for result in results[tunnel]]
        numbers[tunnel] = {name: median([one[name] for one in each]) for name in each[0]}
        found |= {
            f"line in {tunnel}": agree(one["pc1_share"] >= ONE_LINE for one in each),
            f"coordinate in {tunnel}": agree(_is_coordinate(one) for one in each),
            f"used in {tunnel}": agree(
                one["cost"] >= USED and one["cost"] >= OVER_CONTROL * one["control_cost"] for one in each
            ),
        }
        nothing.append(agree(one["pc1_share"] < SCATTERED and one["spearman"] < UNRELATED for one in each))
    for name in LSTMS:
        points = [result["manifold"]["points"] for result in results[name]]
        beside = ("pc1_share", "spearman", "r_squared")
        numbers[name] = {key: median([number(one[key]) for one in points]) for key in beside}
    seen = [name for name, yes in found.items() if yes]
    if len(seen) == len(found):
        return Verdict("holds", numbers, "a line, a coordinate, and used, in both tunnels")
    if seen:
        return Verdict("holds in part", numbers, f"found: {', '.join(seen)}")
    return Verdict("false" if all(nothing) else "not seen here", numbers, "none of the findings in any tunnel")


def _manifold(result):
    """Read the numbers of C6 off one result: of the two sites, the one where the entropy's axis costs more."""
    points, prior = result["manifold"]["points"], number(result["prior_bits"])
    sites = [
        (number(costs["entropy"]), max(number(c, broken=float("inf")) for kind in CONTROLS for c in costs[kind]))
        for costs in result["manifold"]["axes"].values()
    ]
    cost, control_cost = (float("nan"), float("nan")) if any(site[0] != site[0] for site in sites) else max(sites)
    # an entropy that the position tells altogether does not vary within positions: nothing to ask there
    fixed = number(points["by_position"]) > 1 - 1e-6
    return {
        **{name: number(points[name]) for name in ("pc1_share", "spearman", "r_squared", "by_position")},
        "inside": 1.0 if fixed else number(points["spearman_within"]),
        "cost": cost / prior,
        "control_cost": control_cost / prior,
    }


def _is_coordinate(one):
    return one["spearman"] >= COORDINATE and one["r_squared"] >= COORDINATE and one["inside"] >= INSIDE


def c7(results):
    """Judge: keys lie along nearly orthogonal hypothesis axes; queries align with them as evidence grows.

    Two findings a tunnel, in four seeds of five. *Frame*: in at least half of the layers the median head's mean
    absolute cosine of the hypotheses' keys, centred, is below the 5 % quantile of as many random vectors, centred too.
    *Align*: the alignment of queries and belief, in the head that a first half of the sequences chose, lies on the
    other half above the 95 % quantile of the same with other sequences' beliefs, and per unit of the beliefs' own
    sharpness it rises with the evidence (rank correlation .5 over positions). *holds*: all. *holds in part*: one at
    least. *false*: none, and in both tunnels the cosines are above the 95 % quantile in half of the layers. Else *not
    seen here*.
    """
    gone = missing(results, TUNNELS)
    if gone:
        return waiting(gone, {})
    numbers, found, against = {}, {}, []
    for tunnel in TUNNELS:
        each = [_frame(result) for result in results[tunnel]]
        numbers[tunnel] = {name: median([one[name] for one in each]) for name in each[0]}
        found[f"frame in {tunnel}"] = agree(one["layers_below"] >= MOST_LAYERS for one in each)
        found[f"align in {tunnel}"] = agree(one["alignment"] > one["null"] and one["grows"] >= GROWS for one in each)
        against.append(agree(one["layers_above"] >= MOST_LAYERS for one in each))
    seen = [name for name, yes in found.items() if yes]
    if len(seen) == len(found):
        return Verdict("holds", numbers, "a frame more orthogonal than chance, and queries that align, in both tunnels")
    if seen:
        return Verdict("holds in part", numbers, f"found: {', '.join(seen)}")
    words = "keys less orthogonal than chance" if all(against) else "neither a frame nor alignment"
    return Verdict("false" if all(against) else "not seen here", numbers, words)


def _frame(result):
    """Read the numbers of C7 off one result."""
    keys, best = result["keys"], result["keys"]["best"]
    heads = [median([number(cosine) for cosine in row["cosine_centred"]]) for row in keys["layers"]]
    low, high = (number(keys["baseline_centred"][name]) for name in ("low", "high"))
    return {
        "cosine": median(heads),
        "random": number(keys["baseline_centred"]["mean"]),
        "layers_below": sum(cosine < low for cosine in heads) / len(heads),
        "layers_above": sum(cosine > high for cosine in heads) / len(heads),
        "alignment": number(best["alignment"]),
        "null": number(best["null"]["high"]),
        "grows": number(best["grows"]),
    }


def c8(results):
    """Judge: attention freezes early while values and calibration go on.

    Steps at which nine tenths of the way are done, by distances of first order. Three findings a tunnel. *Values
    later* and *calibration later*: the step is 1.25 times that of the attention maps (median over seeds), and later in
    four seeds of five. *Not the parameters alone*: values over maps is 1.25 times as large as content over routing
    parameters. *holds*: all, in both tunnels. *holds in part*: one at least of the first two. *false*: in both, values
    are done clearly before maps. Else *not seen here*.
    """
    gone = missing(results, TUNNELS)
    if gone:
        return waiting(gone, {})
    numbers, later, clean, before = {}, {}, [], []
    for tunnel in TUNNELS:
        each = [_order(result) for result in results[tunnel]]
        numbers[tunnel] = {name: median([one[name] for one in each]) for name in each[0]}
        later[f"values in {tunnel}"] = _clearly_later([one["value_over_map"] for one in each])
        later[f"calibration in {tunnel}"] = _clearly_later([one["calibration_over_map"] for one in each])
        clean.append(median([one["value_over_map"] / one["content_over_routing"] for one in each]) >= CLEARLY)
        before.append(_clearly_later([1 / one["value_over_map"] for one in each]))
    seen = [name for name, yes in later.items() if yes]
    words = f"later than attention: {', '.join(seen) or 'nothing'}; beyond the parameters' own order: {sum(clean)} of 2"
    if len(seen) == len(later) and all(clean):
        return Verdict("holds", numbers, words)
    if seen:
        return Verdict("holds in part", numbers, words)
    return Verdict("false" if all(before) else "not seen here", numbers, words)


def _order(result):
    """Read the ratios of C8 off one result; a step of zero counts as the first."""
    done = {name: max(1.0, number(step)) for name, step in result["drift"]["settled"].items() if step is not None}

    def ratio(one, other):
        return done[one] / done[other] if one in done and other in done else float("nan")

    return {
        "value_over_map": ratio("value_drift", "map_drift"),
        "calibration_over_map": ratio("calibration", "map_drift"),
        "content_over_routing": ratio("content_distance", "routing_distance"),
    }


def _clearly_later(ratios):
    return median(ratios) >= CLEARLY and agree(ratio > 1 for ratio in ratios)


RULES = {"C3": c3, "C4": c4, "C5": c5, "C6": c6, "C7": c7, "C8": c8}
