"""The rules of C12, C13, C15, C16 and C17: each verdict is reached, and nothing passes while a cell is missing."""

import numpy as np
import pytest
from made_cells import STEPS, grid

from mhc_np.lab import verdicts_question
from mhc_np.lab.verdicts import VERDICTS
from mhc_np.lab.verdicts_safety import RULES

WIDE = ("hc", "free")


def results(change=lambda cell: {}, hops=lambda cell: {}, drop=lambda cell: False):
    found = {
        **{"bijection": grid("bijection", change), "khop-mixing": grid("khop-mixing", hops)},
        **{
            "khop-depth": [],
            "stress": grid("stress", lambda cell: {"mae": 0.1 * (1 + cell.seed * (cell.arm == "free"))}),
        },
    }
    return {name: [r for r in some if not drop(r["cell"])] for name, some in found.items()}


def test_every_rule_survives_no_results_and_passes_nothing():
    for claim, rule in RULES.items():
        verdict = rule({"bijection": [], "khop-mixing": [], "khop-depth": [], "stress": []})
        assert verdict.verdict == "not seen here", claim
        assert "missing" in verdict.words


@pytest.mark.parametrize("claim", RULES)
def test_one_missing_cell_is_enough(claim):
    def drop(cell):
        return (cell["arm"], cell["depth"], cell["rate"], cell["seed"], cell["final_norm"]) == (
            "mhc",
            24,
            0.04,
            2,
            True,
        )

    verdict = RULES[claim](results(explosive, drop=drop))
    assert verdict.verdict == "not seen here"
    assert "missing: 1 of" in verdict.words
    assert "would give" in verdict.words


def explosive(cell):
    """What the article says: gain grows with depth, the loss spikes and ends worse, the manifold is left."""
    if cell.arm not in WIDE:
        return {}
    wild = {"forward": 10.0**cell.depth, "backward": 10.0**cell.depth, "spikes": [100], "mae": 0.3, "kl": 0.3}
    shape = {"attention": {"pc1_share": 0.2, "spearman": 0.2}, "em_cosine": 0.5, "kl_bits": 0.02}
    looks = {
        "forward": [1.0 if step < 200 else 1e6 for step in STEPS],
        "kl_bits": [0.1 if step < 300 else 0.9 for step in STEPS],
        "mae_bits": [0.1 if step < 300 else 0.9 for step in STEPS],
        "stream_spearman": [0.9 if step < 250 else 0.1 for step in STEPS],
    }
    looks["forward"][-1] = 10.0**cell.depth
    return {**wild, "matched": shape, "looks": looks, "settled": {"value_drift": 100.0, "map_drift": 300.0}}


def test_the_article_s_world_gives_the_article_s_verdicts():
    found = results(explosive, lambda cell: {"kl": 0.5} if cell.arm in WIDE else {})
    verdicts = {claim: RULES[claim](found) for claim in RULES}
    assert {claim: verdict.verdict for claim, verdict in verdicts.items()} == {
        **{"C12": "holds", "C13": "holds", "C15": "holds", "C17": "holds"},
        "C16": "holds in part",  # as good as the plain network is not better than it
    }
    assert verdicts["C12"].numbers["stress"]["0.1"] > 2
    assert verdicts["C17"].numbers["leads"]["gain"]["median_lead"] == 100


def test_a_calm_world_refutes_explosion_and_leading():
    def calm(cell):
        return {"mae": 0.01} if cell.arm in WIDE else {}

    found = results(calm)
    assert RULES["C12"](found).verdict == "false"
    assert RULES["C13"](found).verdict == "false"
    assert RULES["C17"](found).verdict == "not seen here"  # nothing goes wrong, so nothing can lead


def test_explosion_with_the_norm_alone_is_half_of_c12():
    def change(cell):
        return {"forward": 10.0 ** (cell.depth / 3)} if cell.arm in WIDE and cell.final_norm else {}

    verdict = RULES["C12"](results(change))
    assert verdict.verdict == "holds in part"
    assert "explodes with the norm" in verdict.words
    assert "explodes without" not in verdict.words


def test_hops_alone_can_show_worse_calibration():
    verdict = RULES["C13"](results(hops=lambda cell: {"kl": 0.5} if cell.arm == "hc" else {}))
    assert verdict.verdict == "holds in part"
    assert verdict.words == "found: calibration of hc"
    assert verdict.numbers["hc"]["error on hops"] == {"0.003": 50.0, "0.01": 50.0}


@pytest.mark.parametrize(
    ("change", "verdict"),
    [
        ({}, "holds"),
        ({"sigma_ratio": 0.01}, "holds in part"),
        ({"backward": 3.0}, "false"),
    ],
)
def test_c15(change, verdict):
    assert RULES["C15"](results(lambda cell: change if cell.arm == "mhc" else {})).verdict == verdict


@pytest.mark.parametrize(
    ("errors", "verdict"),
    [
        ({"mhc": 0.01, "hc": 0.01}, "holds"),
        ({"mhc": 0.01, "hc": 0.001}, "holds in part"),  # safe and flexible, but not as good as HC
        ({}, "holds in part"),
        ({"mhc": 0.2}, "false"),
    ],
)
def test_c16(errors, verdict):
    found = RULES["C16"](results(lambda cell: {"mae": errors.get(cell.arm, 0.03)}))
    assert found.verdict == verdict
    assert found.verdict in VERDICTS


def test_scale_s_share_of_hc_s_gain():
    errors = {"residual": 0.4, "scaled": 0.1, "hc": 0.025}
    found = RULES["C16"](results(lambda cell: {"mae": errors.get(cell.arm, 0.03)}))
    assert found.numbers["scale's share of hc's gain (V5)"]["median"] == pytest.approx(0.5)


def test_equal_compute_reads_the_look_at_equal_time():
    verdict = RULES["C16"](results(lambda cell: {"looks": {"mae_bits": [0.03 * (400 - s) / 100 for s in STEPS]}}))
    # residual costs 2.2 of mhc's 6.5 a step, so mhc has made 135 steps: look 14
    assert verdict.numbers["equal compute"]["median_ratio"] == pytest.approx(2.6)


@pytest.mark.parametrize(("unlucky", "verdict"), [(8, "not seen here"), (12, "false")])
def test_gain_that_does_no_harm_refutes_c17(unlucky, verdict):
    """Of 128 runs all explode and few go wrong: eight say nothing, with twelve gain leads and warns of none."""

    def change(cell):
        if cell.arm not in WIDE:
            return {}
        looks = {"forward": [1.0 if s < 100 else 1e3 for s in STEPS]}
        if cell.rate == 4e-2 and (cell.seed == 0 or (unlucky > 8 and (cell.seed, cell.depth) == (1, 12))):
            looks["kl_bits"] = [0.1 if s < 300 else 0.9 for s in STEPS]
        return {"looks": looks}

    found = RULES["C17"](results(change))
    assert found.verdict == verdict
    assert found.numbers["leads"]["gain"]["runs"] == unlucky
    assert found.numbers["leads"]["gain"]["leads"] == (unlucky > 8)


def test_the_rules_load_what_is_there():
    assert set(verdicts_question.load()) == set(verdicts_question.GRIDS)


def noisy(worse=1.0, shape=0.0, seed=0):
    """A world of chance: every number varies from run to run, and only what is planted depends on the arm."""
    rng = np.random.default_rng(seed)

    def change(cell):
        wide = cell.arm in WIDE
        mae = 0.03 * np.exp(0.3 * rng.standard_normal()) * (worse if wide else 1.0)
        pc1, spearman = 0.7 + 0.1 * rng.standard_normal(2) - (shape if wide else 0.0)
        matched = {"attention": {"pc1_share": pc1, "spearman": spearman}, "kl_bits": 0.02}
        matched["em_cosine"] = 0.9 + 0.01 * rng.standard_normal()
        settled = {"value_drift": 300 * np.exp(0.1 * rng.standard_normal()), "map_drift": 300.0}
        spikes = [100] if rng.random() < 0.2 else []
        return {"mae": mae, "matched": matched, "settled": settled, "spikes": spikes}

    return change


@pytest.mark.parametrize("seed", range(3))
def test_where_nothing_differs_nothing_is_found(seed):
    found = results(noisy(seed=seed), noisy(seed=seed + 100))
    verdicts = {claim: RULES[claim](found) for claim in RULES}
    assert verdicts["C13"].verdict in ("not seen here", "false")
    assert verdicts["C13"].words == "found: nothing"
    assert verdicts["C12"].verdict == "false"  # neither arm's gain explodes in this world
    assert verdicts["C17"].verdict == "not seen here"
    assert verdicts["C16"].words == "found: as good as HC, safe"
    assert verdicts["C16"].verdict == "holds in part"


def test_where_hc_is_truly_worse_it_is_found_through_the_noise():
    found = RULES["C13"](results(noisy(worse=3.0), noisy()))
    assert found.verdict == "holds in part"
    assert found.words == "found: calibration of hc, calibration of free"
    assert found.numbers["hc"]["error"]["worse"] > 0.9


def test_where_its_geometry_is_truly_flatter_that_is_found():
    found = RULES["C13"](results(noisy(shape=0.4), noisy()))
    assert found.words == "found: geometry of hc, geometry of free"
    assert found.numbers["free"]["pc1"]["median_difference"] == pytest.approx(-0.4, abs=0.05)


def test_a_world_in_which_hc_is_better_refutes_c13():
    assert RULES["C13"](results(noisy(worse=1 / 3), noisy())).verdict == "false"


@pytest.mark.parametrize("claim", RULES)
def test_whole_seeds_that_are_missing_keep_a_claim_open(claim):
    """However bad HC looks in the first two seeds, no verdict is given before the last."""
    found = RULES[claim](results(explosive, drop=lambda cell: cell["seed"] >= 2))
    assert found.waits
    assert found.verdict == "not seen here"
    assert RULES[claim](results(explosive)).waits is False
