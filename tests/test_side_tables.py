"""The side tables: planted recipes that tame, replace and cost are told as such, and formats that break."""

import pytest
from made_cells import grid

from mhc_np.lab import side_tables
from mhc_np.lab.side_tables import precision, recipes


def main_grid(cell):
    """As in the main grid: free arms explode with the norm and are ahead, and fail without it."""
    if cell.arm not in ("hc", "free"):
        return {"mae": 0.1}
    return {"forward": 1e3, "mae": 0.02} if cell.final_norm else {"forward": 50.0, "mae": 0.9}


def judged(change):
    rows = recipes(grid("recipes", change), grid("bijection", main_grid))
    assert len(rows) == 18
    return {(row["arm"], row["final_norm"], row["mixing"]): row["found"] for row in rows}


def test_a_recipe_that_does_all():
    def gentle(cell):
        good = {"forward": 2.0, "mae": 0.1}
        return good if cell.arm == "hc" and cell.mixing == "held" else main_grid(cell)

    found = judged(gentle)
    assert found["hc", True, "held"] == ["tames", "costs the advantage"]
    assert found["hc", False, "held"] == ["tames", "replaces the projection"]
    assert {key for key, some in found.items() if some} == {("hc", True, "held"), ("hc", False, "held")}


def test_a_recipe_that_does_nothing():
    assert not any(judged(main_grid).values())


def test_only_common_seeds_count():
    some = [r for r in grid("recipes", main_grid) if r["cell"]["seed"] == 1]
    assert {row["seeds"] for row in recipes(some, grid("bijection", main_grid))} == {1}
    first = [r for r in grid("bijection", main_grid) if r["cell"]["seed"] == 0]
    assert recipes(some, first) == []
    assert recipes([], []) == []


def test_formats_that_break():
    rows = [
        {"arm": "residual", "growth": 3.0, "kl_bits": {"float32": 0.01, "bfloat16": 0.02, "float16": 0.01}},
        {"arm": "hc", "growth": 1e5, "kl_bits": {"float32": 0.01, "bfloat16": 0.07, "float16": None}},
    ]
    found = precision({"rows": rows * 3})
    assert {name: found["residual"][name][1] for name in side_tables.FORMATS} == {
        "float32": False,
        "bfloat16": False,
        "float16": False,
    }
    assert found["hc"]["bfloat16"] == (pytest.approx(0.07), True)
    assert found["hc"]["float16"][1]
    assert found["hc"]["growth"] == 1e5
