"""The named grids: whole seeds in order, no cell twice, every cell can be built."""

import pytest

from mhc_np.lab import results
from mhc_np.lab.cells import Cell
from mhc_np.lab.grids import ARMS, DEPTHS, GRIDS, NORMS, RATES, seconds
from mhc_np.models import num_params, transformer


@pytest.mark.parametrize("name", GRIDS)
def test_cells_have_their_own_names_and_can_be_built(name):
    cells = GRIDS[name]()
    assert len({cell.name for cell in cells}) == len(cells)
    for cell in cells:
        cell.model_config()
        assert cell.num_steps % cell.look_every == 0
        assert 0 < seconds(cell) < 600


@pytest.mark.parametrize("name", GRIDS)
def test_seeds_come_whole(name):
    seeds = [cell.seed for cell in GRIDS[name]()]
    assert seeds == sorted(seeds)


def test_the_main_grid_is_full():
    cells = GRIDS["bijection"]()
    assert len(cells) == len(ARMS) * len(NORMS) * len(RATES) * sum(DEPTHS.values()) == 616
    first = cells[: len(ARMS) * len(NORMS) * len(RATES)]
    assert {(cell.depth, cell.seed) for cell in first} == {(12, 0)}
    assert {(cell.final_norm, cell.arm, cell.rate) for cell in first} == {
        (norm, arm, rate) for norm in NORMS for arm in ARMS for rate in RATES
    }


def test_the_whole_main_grid_is_planned_at_six_hours_on_two_cores():
    assert sum(map(seconds, GRIDS["bijection"]())) < 6 * 3600
    assert sum(map(seconds, GRIDS["bijection-short"]())) < 600


def test_names_tell_tasks_apart():
    grids = ("bijection", "khop-mixing", "hmm-mixing", "stress", "equal-size", "recipes")
    names = {cell.name for name in grids for cell in GRIDS[name]()}
    assert len(names) == 616 + 60 + 60 + 40 + 24 + 54


def test_the_wider_plain_network_is_as_large_as_mhc_s():
    sizes = {num_params(transformer, cell.model_config()) for cell in GRIDS["equal-size"]()}
    mhc = num_params(transformer, Cell(arm="mhc").model_config())
    assert all(1 <= size / mhc < 1.05 for size in sizes)


def test_what_is_kept_stays_small():
    """All results of the book, and the main grid as large as it will be, are below 20 megabytes."""
    kept = {path: path.stat().st_size for path in results.KEPT.rglob("*") if path.is_file()}
    cells = [size for path, size in kept.items() if path.parent.name.startswith("grid-")]
    planned = sum(len(grid()) for grid in GRIDS.values()) * max(cells)
    assert sum(kept.values()) - sum(cells) + planned < 20e6
