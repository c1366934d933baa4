"""Equal terms: each arm at its own best rate, early where its steps are dear, and the wider network beside them."""

import numpy as np
import pytest
from made_cells import STEPS, grid, made

from mhc_np.lab import bench_arms, equal_terms
from mhc_np.lab.cells import Cell
from mhc_np.lab.grids import ARMS, GRIDS

TIMES = {name: {"params": 100 + k, "over_plain": 1.0 + k} for k, name in enumerate([*ARMS, bench_arms.WIDER])}


def falling(cell):
    """The error falls linearly to the rate itself, so that the lowest rate is the best."""
    curve = [cell.rate + 0.001 * (400 - step) for step in STEPS]
    return {"looks": {"mae_bits": curve}}


def test_an_arm_of_twice_the_time_is_read_at_half_the_steps():
    rows = equal_terms.terms(grid("bijection", falling), grid("equal-size", falling), TIMES)
    assert [row["name"] for row in rows[::2]] == [*ARMS, bench_arms.WIDER]
    by_name = {row["name"]: row for row in rows if row["final_norm"]}
    assert by_name["residual"]["steps"] == by_name["residual"]["time"] == pytest.approx(0.003)
    assert by_name["scaled"]["time"] == pytest.approx(0.003 + 0.2)
    assert by_name["hc"]["time"] == pytest.approx(0.003 + 0.3)
    assert all(row["steps_rate"] == 3e-3 for row in rows)
    assert (by_name["mhc"]["seeds"], by_name[bench_arms.WIDER]["seeds"]) == (5, 3)
    assert f"| {by_name['mhc']['params']} | ×6.00 | 0.003 (rate 0.003)" in equal_terms.table(rows)


def test_what_broke_is_never_best():
    cells = [made(Cell(arm="hc", rate=3e-3), looks={"mae_bits": [1.0] * 20 + [None] * 21})]
    cells.append(made(Cell(arm="hc", rate=1e-2), looks={"mae_bits": [0.2] * 41}))
    (row,) = equal_terms.terms(cells, [], TIMES)
    assert (row["steps"], row["steps_rate"]) == (0.2, 1e-2)
    assert equal_terms.error_after(cells[0], 1.0) == np.inf


@pytest.mark.parametrize(("mhc", "word"), [(0.01, "pays"), (0.03, "equal"), (0.1, "costs")])
def test_what_mhc_gains_at_equal_size(mhc, word):
    def flat(cell):
        return {"looks": {"mae_bits": [mhc if cell.arm == "mhc" else 0.03] * 41}}

    rows = equal_terms.terms(grid("bijection", flat), grid("equal-size", flat), TIMES)
    assert equal_terms.pays(rows, True)[0] == word
    assert equal_terms.pays([row for row in rows if row["name"] != "mhc"], True) is None


def test_the_grids_name_what_is_compared():
    assert {cell.arm for cell in GRIDS["equal-size"]()} == {"residual"}
