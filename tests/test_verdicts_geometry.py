"""The rules of C3 to C8 on made-up results: each verdict can come out, and nothing missing or broken ever passes."""

import copy

import numpy as np
import pytest

from mhc_np.lab.runs import RUNS
from mhc_np.lab.runs_geometry import depth_runs
from mhc_np.lab.verdicts import VERDICTS, Verdict
from mhc_np.lab.verdicts_geometry import LSTMS, RULES, TUNNELS, c6, c7, c8
from mhc_np.lab.verdicts_parts import c3, c4, c5

PRIOR = 2.0  # bits


def both(result, seeds=5):
    return {tunnel: [copy.deepcopy(result) for _ in range(seeds)] for tunnel in TUNNELS}


def labour(kl=(2.0, 1.9, 1.0, 0.9, 0.01), attention=1.8, mlp=0.6, over_second=1.2, lens_rise=0.0, rose=0.01, rise=0.0):
    """What C3 and C4 read: two blocks; the probe's error falls at the feed-forward sub-layers."""
    probe = {"kl_bits": list(kl), "blocks": {"largest_rise": rise, "rose": rose}}
    cost = {"all attention": attention, "all mlp": mlp, "all routing": 0.1}
    return {
        "prior_bits": PRIOR,
        "ablation": {"mean": cost, "heads": {"mean": {"over_second": over_second, "carry_half": 3}}},
        "depth": {"probe": probe, "lens": {"blocks": {"largest_rise": lens_rise}}},
    }


AT_ATTENTION = (2.0, 0.3, 0.3, 0.02, 0.02)  # all is gained at attention sub-layers


@pytest.mark.parametrize(
    ("result", "wanted"),
    [
        (labour(), "holds"),
        (labour(kl=AT_ATTENTION), "holds in part"),
        (labour(mlp=0.1), "holds in part"),
        (labour(kl=AT_ATTENTION, mlp=0.01), "false"),  # feed-forward parts idle
        (labour(attention=0.01), "false"),  # attention idle
        (labour(kl=(2.0, 1.9, 1.5, 1.4, 0.9)), "not seen here"),  # not carried
        (labour(attention=0.5), "not seen here"),
        (labour(kl=(2.0, 2.1, 2.2, 2.3, 2.4)), "not seen here"),  # the probe never gains
        (labour(attention=None), "not seen here"),
        (labour(kl=(2.0, 1.9, None, 0.9, 0.01)), "holds in part"),  # the gain cannot be counted
        (labour(kl=(2.0, 1.9, 1.0, 0.9, None)), "not seen here"),
    ],
)
def test_c3(result, wanted):
    assert c3(both(result)).verdict == wanted


def test_c3_reports_the_critical_head_and_does_not_judge_by_it():
    verdict = c3(both(labour(over_second=None)))
    assert verdict.verdict == "holds"
    assert np.isnan(verdict.numbers[TUNNELS[0]]["head_over_second"])


@pytest.mark.parametrize(
    ("result", "wanted"),
    [
        (labour(), "holds"),
        (labour(lens_rise=0.5), "holds in part"),  # kept, in another basis than the head's
        (labour(rose=0.3), "holds in part"),
        (labour(kl=(2.0, 2.0, 2.0, 2.0, 0.01)), "holds"),  # one block of two refines
        (labour(kl=(2.0, 2.0, 1.99, 2.0, 1.98)), "holds in part"),  # none does, and none overwrites
        (labour(rise=0.1), "not seen here"),
        (labour(rise=0.3), "false"),
        (labour(rise=None), "not seen here"),
        (labour(lens_rise=None), "holds in part"),
    ],
)
def test_c4(result, wanted):
    assert c4(both(result)).verdict == wanted


def test_c4_in_one_tunnel_alone():
    results = {**both(labour(rise=0.3)), TUNNELS[0]: [labour()] * 5}
    assert c4(results).verdict == "holds in part"


def grid(with_skips, without, gradients=(0.9, 1e-4), seeds=5, broken=None):
    """The depth grid: errors by depth 2, 4, 8, 16 as shares of the prior's bits; the middle rate is the best."""
    cells = []
    for path, errors in (("skips", with_skips), ("no skips", without)):
        for depth, share in zip((2, 4, 8, 16), errors, strict=True):
            for rate, factor in ((1e-3, 3.0), (3e-3, 1.0), (1e-2, None)):
                kl = None if factor is None or share is None else share * factor * PRIOR
                cells.append({"depth": depth, "path": path, "rate": rate, "kl_bits": kl})
    start = {f"16 {path}": {"end_to_end": g} for path, g in zip(("skips", "no skips"), gradients, strict=True)}
    return {"depth": [{"prior_bits": PRIOR, "cells": cells, "start": start}] * seeds}


FINE = (0.01, 0.01, 0.01, 0.01)


@pytest.mark.parametrize(
    ("results", "wanted"),
    [
        (grid(FINE, (0.02, 0.1, 0.6, 0.9)), "holds"),
        (grid(FINE, (0.02, 0.1, 0.6, None)), "holds"),  # diverged at every rate
        (grid(FINE, (0.6, 0.6, 0.6, 0.9), gradients=(0.9, 0.0)), "holds"),
        (grid(FINE, (0.02, 0.6, 0.2, 0.9)), "holds in part"),  # lost, found, lost again
        (grid(FINE, (0.02, 0.1, 0.6, 0.9), gradients=(0.9, 0.5)), "holds in part"),
        (grid(FINE, (0.02, 0.1, 0.6, 0.9), gradients=(1e-3, 1e-5)), "holds in part"),
        (grid(FINE, (0.02, 0.1, 0.6, 0.9), gradients=(0.9, None)), "holds in part"),
        (grid(FINE, (0.01, 0.02, 0.1, 0.2)), "holds in part"),
        (grid(FINE, (0.01, 0.02, 0.05, 0.09)), "false"),
        (grid((0.01, 0.2, 0.3, 0.6), (0.6, 0.6, 0.6, 0.9)), "not seen here"),
        (grid((0.08, 0.08, 0.08, 0.08), (0.1, 0.1, 0.1, 0.2)), "not seen here"),
        (grid(FINE, (0.02, 0.1, 0.6, 0.9), seeds=4), "not seen here"),
    ],
)
def test_c5(results, wanted):
    assert c5(results).verdict == wanted


def manifold(pc1=0.9, spearman=0.95, r_squared=0.95, inside=0.8, by_position=0.5, cost=0.5, random=0.01):
    points = {"pc1_share": pc1, "spearman": spearman, "r_squared": r_squared}
    points |= {"spearman_within": inside, "by_position": by_position}
    idle = {"random": [0.0, 0.0], "shuffled": [0.0, 0.0]}
    axes = {"attention": {**idle, "entropy": 0.0}, "stream": {**idle, "entropy": cost, "shuffled": [0.0, random]}}
    return {"prior_bits": PRIOR, "manifold": {"points": points, "axes": axes}}


def with_lstm(result):
    return {**both(result), **{name: [manifold(spearman=0.1)] * 5 for name in LSTMS}}


@pytest.mark.parametrize(
    ("result", "wanted"),
    [
        (manifold(), "holds"),
        (manifold(inside=None, by_position=1.0), "holds"),  # the position tells the entropy: nothing to ask within
        (manifold(inside=None), "holds in part"),
        (manifold(inside=0.2), "holds in part"),  # knows the position alone
        (manifold(cost=0.02), "holds in part"),  # inert
        (manifold(random=0.3), "holds in part"),  # no more than a control
        (manifold(cost=None), "holds in part"),
        (manifold(random=None), "holds in part"),
        (manifold(pc1=0.4, spearman=0.95, cost=0.0), "holds in part"),
        (manifold(pc1=0.7, spearman=0.7, cost=0.0), "not seen here"),
        (manifold(pc1=0.4, spearman=0.2, cost=0.0), "false"),
        (manifold(pc1=None, spearman=None, r_squared=None, cost=None), "not seen here"),
    ],
)
def test_c6(result, wanted):
    assert c6(with_lstm(result)).verdict == wanted


def frame(cosine=0.05, alignment=0.3, null=0.02, grows=0.9, other_layer=0.2):
    layers = [{"cosine_centred": [c, c, 0.9]} for c in (cosine, other_layer)]  # a third head that is all alike
    best = {"alignment": alignment, "null": {"high": null}, "grows": grows}
    return {"keys": {"layers": layers, "baseline_centred": {"low": 0.1, "mean": 0.11, "high": 0.12}, "best": best}}


@pytest.mark.parametrize(
    ("result", "wanted"),
    [
        (frame(), "holds"),
        (frame(cosine=0.11), "holds in part"),  # as random vectors
        (frame(alignment=0.01), "holds in part"),
        (frame(grows=0.2), "holds in part"),
        (frame(grows=None), "holds in part"),
        (frame(cosine=0.11, other_layer=0.11, alignment=0.01), "not seen here"),
        (frame(cosine=0.3, alignment=0.01), "false"),
        (frame(cosine=None, other_layer=None, alignment=None), "not seen here"),
    ],
)
def test_c7(result, wanted):
    assert c7(both(result)).verdict == wanted


def order(maps=100, values=400, calibration=1000, routing=200, content=250):
    settled = {"map_drift": maps, "value_drift": values, "calibration": calibration}
    return {"drift": {"settled": {**settled, "routing_distance": routing, "content_distance": content}}}


@pytest.mark.parametrize(
    ("result", "wanted"),
    [
        (order(), "holds"),
        (order(content=800), "holds in part"),  # the parameters do the same: no more than that
        (order(values=110), "holds in part"),  # calibration alone is later
        (order(values=110, calibration=110), "not seen here"),
        (order(values=50, calibration=100), "false"),
        (order(values=50, calibration=300), "holds in part"),
        (order(maps=None), "not seen here"),
        (order(values=None), "holds in part"),
        (order(maps=0, values=1), "holds in part"),  # the first snapshot and the next are no two times
    ],
)
def test_c8(result, wanted):
    assert c8(both(result)).verdict == wanted


FULL = {
    "C3": both(labour()),
    "C4": both(labour()),
    "C5": grid(FINE, (0.02, 0.1, 0.6, 0.9)),
    "C6": with_lstm(manifold()),
    "C7": both(frame()),
    "C8": both(order()),
}
WORSE = {
    "C3": labour(attention=0.01),
    "C4": labour(rise=0.3),
    "C6": manifold(pc1=0.1),
    "C7": frame(alignment=0.01),
    "C8": order(maps=5000),
}


@pytest.mark.parametrize("claim", RULES)
def test_without_any_one_run_or_seed_nothing_holds(claim):
    rule, full = RULES[claim], FULL[claim]
    assert rule(full).verdict == "holds"
    for name in full:
        for fewer in ({}, {name: full[name][:4]}):
            verdict = rule({**{other: found for other, found in full.items() if other != name}, **fewer})
            assert verdict.verdict == "not seen here"
            assert name in verdict.words


@pytest.mark.parametrize("claim", WORSE)
def test_one_seed_against_may_be_chance_and_two_are_not(claim):
    rule, full = RULES[claim], FULL[claim]
    for count, wanted in ((1, True), (2, False)):
        mixed = dict(full)
        for tunnel in TUNNELS:
            mixed[tunnel] = [WORSE[claim]] * count + full[tunnel][count:]
        assert (rule(mixed).verdict == "holds") == wanted


def test_the_rules_read_runs_that_exist_and_speak_the_four_words():
    assert {*TUNNELS, *LSTMS} <= set(RUNS)
    cells = {(depth, path) for depth, path, _ in depth_runs()}
    assert cells == {(depth, path) for depth in (2, 4, 8, 16) for path in ("skips", "no skips")}
    for rule in RULES.values():
        assert isinstance(rule({}), Verdict)
        assert rule({}).verdict == "not seen here" in VERDICTS
