"""What a grid will cost: from the table, from finished cells, and how both did in hindsight."""

import pytest

from mhc_np.lab import forecast, grid_command
from mhc_np.lab.cell_runs import carry_out
from mhc_np.lab.cells import Cell
from mhc_np.lab.cli import main
from mhc_np.lab.grids import seconds

TINY = {"width": 8, "depth": 1, "num_steps": 3, "batch_size": 2, "look_every": 1, "task_settings": {"num_symbols": 3}}


def test_the_forecast_names_cells_and_hours(tmp_path, monkeypatch, capsys):
    cells = [Cell(arm=arm, **TINY) for arm in ("residual", "mhc")]
    monkeypatch.setitem(grid_command.GRIDS, "tiny", lambda: cells)
    assert main(["grid", "tiny", "--dry-run", "--out", str(tmp_path)]) == 0
    told = capsys.readouterr().out
    assert "tiny: 2 cells, 0 done, 2 to run" in told
    assert "arm        residual (1), mhc (1)" in told
    assert "core-hours" in told
    assert "MB of memory" in told
    assert "what is done took" not in told
    assert not list(tmp_path.glob("*.json"))  # it runs nothing
    made = {**carry_out(cells[0]), "made": {"seconds": 36.0}}
    grid_command.results.save(grid_command.grid.path_of(tmp_path, cells[0]), made)
    assert main(["grid", "tiny", "--dry-run", "--out", str(tmp_path)]) == 0
    told = capsys.readouterr().out
    assert "1 done, 1 to run" in told
    assert "what is done took 0.01 core-hours" in told


def test_kinds_that_have_run_tell_of_themselves_and_scale_the_others():
    plain, mhc = Cell(), Cell(arm="mhc")
    estimate = forecast.estimator([(plain, 20.0), (Cell(seed=1), 24.0), (Cell(seed=2), 90.0)])
    assert estimate(Cell(rate=0.04)) == 24.0
    assert estimate(mhc) == pytest.approx(24.0 * seconds(mhc) / seconds(plain))  # in proportion to the arms' costs
    assert forecast.estimator([])(mhc) == seconds(mhc)


def test_hindsight():
    """The table was 2 times too high; the first quarter says so, and the rest is slower by a quarter."""
    cells = [Cell(seed=seed) for seed in range(8)]
    taken = [(cell, seconds(cell) / 2) for cell in cells[:2]] + [(cell, seconds(cell) / 1.6) for cell in cells[2:]]
    past = forecast.against_plan(taken)
    assert past["cells"] == 8
    assert past["measured"] == pytest.approx(sum(spent for _, spent in taken) / 3600)
    assert past["ratio"] == pytest.approx(8 / (2 / 2 + 6 / 1.6))
    assert past["forecast_ratio"] == pytest.approx(1.6 / 2)
