"""Where one arm beats another: the word follows the ratio; what breaks has its own, what is missing none."""

import numpy as np
import pytest
from made_cells import grid, made

from mhc_np.lab import question as q
from mhc_np.lab import regimes
from mhc_np.lab.cells import Cell

STRATUM = (True, 12, 1e-2)


def compared(ones, others):
    results = [made(Cell(arm="hc", seed=seed), mae=mae) for seed, mae in enumerate(ones)]
    results += [made(Cell(arm="mhc", seed=seed), mae=mae) for seed, mae in enumerate(others)]
    return regimes.compare(q.index(results), "hc", "mhc", STRATUM)


@pytest.mark.parametrize(
    ("ones", "others", "word", "ratio"),
    [
        ([0.01], [0.1], "lower", 0.1),
        ([0.1], [0.08], "alike", 1.25),
        ([0.3], [0.1], "higher", 3.0),
        ([None], [0.1], "higher", np.inf),
        ([0.1], [None], "lower", 0.0),
        ([0.6], [0.9], "both fail", np.nan),
        ([0.6], [0.3], "higher", 2.0),
    ],
)
def test_a_word_and_a_number(ones, others, word, ratio):
    found = compared(ones, others)
    assert found.word == word
    np.testing.assert_allclose(found.ratio, ratio)


def test_only_common_seeds_count():
    assert compared([0.1, 9.0, 9.0], [0.1]) == regimes.Setting("alike", 1.0, 1)
    assert compared([], [0.1]) is None


def test_a_planted_world_is_surveyed_and_drawn_up():
    def worse_when_bare_and_fast(cell):
        return {"mae": 0.3} if cell.arm == "hc" and not cell.final_norm and cell.rate == 4e-2 else {}

    found = q.index(grid("bijection", worse_when_bare_and_fast))
    there = regimes.survey(found, "hc", "mhc")
    assert {stratum for stratum, one in there.items() if one.word == "higher"} == {
        (False, depth, 4e-2) for depth in (6, 12, 24)
    }
    assert regimes.counted(there) == "alike in 21 and higher in 3 of 24 settings"
    assert len(regimes.survey(found, "hc", "mhc", norms=[False], rates=[4e-2])) == 3
    assert regimes.where(there, "higher") == "without the norm at .04"
    assert regimes.where(there, "lower") == "nowhere"
    assert regimes.where(there, "alike").startswith("with the norm at .003 and .01 and .02 and .04, and without")
    lines = regimes.table(found, "hc", "mhc").splitlines()
    assert len(lines) == 8
    assert lines[5] == "| 6 layers, bare | alike, ×1 | alike, ×1 | alike, ×1 | higher, ×10 |"
    assert "–" in regimes.table(q.index([]), "hc", "mhc")


def test_pairs_are_of_one_setting_and_one_seed():
    def at(share):
        return {"matched": None if share is None else {"attention": {"pc1_share": share}}}

    results = [made(Cell(arm="hc", seed=seed), **at(share)) for seed, share in enumerate((0.5, 0.6, None, 0.9))]
    results += [made(Cell(arm="mhc", seed=seed), **at(share)) for seed, share in enumerate((0.8, 0.7, 0.1))]
    results += [made(Cell(arm="mhc", seed=3, rate=4e-2), **at(0.1))]
    found = regimes.pairs_at_matched(q.index(results), "hc", "mhc", "attention", "pc1_share")
    np.testing.assert_allclose(found, [-0.3, -0.1])
