"""Running kept cells again: the same is told as the same, one changed digit is found, kept cells stay untouched."""

import json
from dataclasses import replace

import pytest

from mhc_np.lab import grid, grid_command, results, verify
from mhc_np.lab.cell_runs import carry_out
from mhc_np.lab.cells import Cell
from mhc_np.lab.cli import main

TINY = Cell(width=8, depth=1, num_steps=3, batch_size=2, look_every=1, task_settings={"num_symbols": 3})
CELLS = [replace(TINY, arm=arm, seed=seed) for seed in range(2) for arm in ("residual", "hc")]


@pytest.fixture
def folder(tmp_path):
    for cell in CELLS:
        results.save(grid.path_of(tmp_path, cell), carry_out(cell))
    return tmp_path


def test_the_same_cells_are_the_same_to_the_bit(folder):
    before, told = {path: path.read_text() for path in folder.iterdir()}, []
    rows = verify.verify(CELLS, folder, 2, say=told.append)
    assert [row["differ"] for row in rows] == [[], []]
    assert all("the same to the bit" in line for line in told)
    assert {path: path.read_text() for path in folder.iterdir()} == before


def test_one_digit_is_found(folder):
    path = grid.path_of(folder, CELLS[0])
    saved = json.loads(path.read_text())
    saved["looks"]["kl_bits"][-1] *= 1 + 1e-5
    path.write_text(json.dumps(saved))
    rows = verify.verify(CELLS, folder, 4, say=lambda line: None)
    assert {row["name"]: row["differ"] for row in rows if row["differ"]} == {CELLS[0].name: ["looks"]}


def test_seeds_and_arms_differ_as_far_as_that_goes():
    found = {cell.name: {} for cell in CELLS}
    first = verify.choose(CELLS, found, 2)
    assert [(cell.arm, cell.seed) for cell in first] == [("residual", 0), ("hc", 1)]
    assert len(verify.choose(CELLS, found, 99)) == 4
    assert verify.choose(CELLS, {}, 2) == []


def test_the_command_fails_where_something_differs(folder, monkeypatch, capsys):
    monkeypatch.setitem(grid_command.GRIDS, "tiny", lambda: CELLS)
    monkeypatch.setattr(grid_command, "VERIFIED", folder / "verified.json")
    assert main(["grid", "tiny", "--verify", "1", "--out", str(folder)]) == 0
    assert "1 of 1 cells run again: the same to the bit" in capsys.readouterr().out
    assert not (folder / "verified.json").exists()
    path = grid.path_of(folder, CELLS[0])
    path.write_text(path.read_text().replace('"params": ', '"params": 1'))
    assert main(["grid", "tiny", "--verify", "1", "--out", str(folder)]) == 2
    assert "1 of 1 cells differ" in capsys.readouterr().err


@pytest.mark.parametrize("count", ["0", "-1", "1"])
def test_nothing_to_verify_runs_nothing(tmp_path, monkeypatch, capsys, count):
    monkeypatch.setitem(grid_command.GRIDS, "tiny", lambda: CELLS)
    assert main(["grid", "tiny", "--verify", count, "--out", str(tmp_path)]) == 2
    assert "no cells to run again" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_what_is_kept_says_that_cells_of_two_seeds_were_the_same():
    rows = results.load(grid_command.VERIFIED, ("rows",))["rows"]
    assert len(rows) >= 2
    assert all(row["differ"] == [] for row in rows)
    assert len({row["name"].split("seed-")[1] for row in rows}) >= 2
