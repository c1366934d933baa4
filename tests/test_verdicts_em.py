"""The rules of C9, C10 and C11 on made-up results: each verdict can be reached, and by the right numbers."""

import pytest

from mhc_np.lab.verdicts import VERDICTS
from mhc_np.lab.verdicts_em import RULES, TASKS, TRACED, c9, c10, c11


def em_results(error=1e-13, cosine=0.99, reinforced=0.9, settled=(100, 300), late=(200, 100)):
    """Results of five seeds that all say the same."""
    look = {"score_cosine": cosine, "value_cosine": cosine, "reinforced_share": reinforced}
    start = dict.fromkeys(look, -1.0)  # the first look, before any step, must not count
    trace = {
        arm: {"looks": [start, look], "settled": dict(zip(("routing", "content"), settled, strict=True))}
        for arm in TRACED
    }
    fastest = {"sgd": {"late": late[0]}, "value_x10": {"late": late[1]}}
    results = {"laws": [{"metrics": {"errors": {"autograd": error, "torch": None}}}] * 5}
    for task in TASKS:
        results[f"trace-{task}"] = [{"arms": trace}] * 5
        results[f"arms-{task}"] = [{"fastest": fastest}] * 5
    return results


@pytest.mark.parametrize(
    ("change", "verdict"),
    [
        ({}, "holds"),
        ({"cosine": 0.9}, "holds in part"),
        ({"reinforced": 0.5}, "holds in part"),
        ({"error": 1e-9}, "false"),
        ({"error": 1e-9, "cosine": 0.1}, "false"),
    ],
)
def test_c9(change, verdict):
    assert c9(em_results(**change))[0] == verdict


@pytest.mark.parametrize(
    ("change", "verdict", "found"),
    [
        ({}, "holds", 6),
        ({"late": (100, 100)}, "holds in part", 4),
        ({"settled": (300, 100)}, "holds in part", 2),
        ({"settled": (300, 100), "late": (100, 200)}, "false", 0),
        ({"settled": (100, 110), "late": (100, 100)}, "not seen here", 0),
        ({"settled": (100, 110), "late": (100, None)}, "not seen here", 0),
        ({"late": (None, 100)}, "holds", 6),
        ({"late": (None, None)}, "holds in part", 4),
    ],
)
def test_c10(change, verdict, found):
    got, numbers, _, _ = c10(em_results(**change))
    assert (got, numbers["found"]) == (verdict, found)


def test_c10_needs_most_seeds_on_its_side():
    results = em_results()
    slow = em_results(late=(100, 200))["arms-sticky"][0]
    assert c10({**results, "arms-sticky": [*results["arms-sticky"][:4], slow]})[0] == "holds"
    assert c10({**results, "arms-sticky": [*results["arms-sticky"][:3], slow, slow]})[0] == "holds in part"


def gain_results(cosines, kls):
    """Depths 1, 2, 4 and gains 1, 1.5, 2; cosine and KL by composite gain."""
    cells = []
    for depth in (1, 2, 4):
        for gain in (0.7, 1.0, 1.5, 2.0):
            level = sum(gain**depth >= edge for edge in (0, 1.2, 4))
            cell = {"depth": depth, "gain": gain, "update_cosine": cosines[level - 1], "kl_bits": kls[level - 1]}
            cells += [
                {**cell, "optimizer": "sgd"},
                {**cell, "optimizer": "adamw", "kl_bits": 0.0, "update_cosine": 1.0},
            ]
    return {"gain": [{"cells": cells}] * 5}


@pytest.mark.parametrize(
    ("cosines", "kls", "verdict"),
    [
        ((0.8, 0.6, 0.1), (0.05, 0.06, 0.5), "holds"),
        ((0.8, 0.6, 0.1), (0.05, 0.05, 0.05), "holds in part"),
        ((0.8, 0.8, 0.7), (0.05, 0.06, 0.5), "holds in part"),
        ((0.8, 0.8, 0.8), (0.05, 0.05, 0.06), "not seen here"),
        ((0.1, 0.5, 0.8), (0.05, 0.05, 0.05), "false"),
        ((0.8, 0.6, 0.1), (0.05, 0.06, None), "holds"),
        ((0.8, 0.6, None), (0.05, 0.06, None), "holds in part"),
        ((0.8, 0.8, 0.8), (0.001, 0.002, 0.01), "not seen here"),
    ],
)
def test_c11(cosines, kls, verdict):
    assert c11(gain_results(cosines, kls))[0] == verdict


def test_every_rule_gives_a_verdict_and_finite_names():
    results = {**em_results(), **gain_results((0.8, 0.6, 0.1), (0.05, 0.06, 0.5))}
    for rule in RULES.values():
        verdict, numbers, words, _ = rule(results)
        assert verdict in VERDICTS
        assert words
        assert all(isinstance(name, str) and isinstance(value, int | float) for name, value in numbers.items())


@pytest.mark.parametrize("claim", RULES)
def test_missing_seeds_never_help(claim):
    results = {**em_results(), **gain_results((0.8, 0.6, 0.1), (0.05, 0.06, 0.5))}
    assert RULES[claim](results).verdict == "holds"
    short = {name: runs[:4] for name, runs in results.items()}
    verdict, numbers, words, waits = RULES[claim](short)
    assert (verdict, numbers, waits) == ("not seen here", {}, True)
    assert words.startswith("missing seeds of")
    assert RULES[claim]({}).verdict == "not seen here"


def test_a_cosine_that_is_missing_takes_no_part_in_the_rank():
    """Ranked lowest, it would count as one more update that left the E-step."""
    full = gain_results((0.5, 0.6, 0.7), (0.05, 0.05, 0.05))
    some = gain_results((0.5, 0.6, 0.7), (0.05, 0.05, 0.05))
    for cell in some["gain"][0]["cells"]:  # the five seeds share their cells
        if cell["depth"] == 4 and cell["gain"] == 2.0:
            cell["update_cosine"] = None
    assert c11(full)[1]["rank_correlation"] > 0.9
    assert c11(some)[1]["rank_correlation"] > 0.9
