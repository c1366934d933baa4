"""The figures of the grids draw the cells that are there, broken ones as crosses, and no others."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from made_cells import STEPS, grid, made

from mhc_np.lab import grid_command, plots, plots_question
from mhc_np.lab import question as q
from mhc_np.lab.cells import Cell
from mhc_np.lab.cli import main


def test_a_dot_a_seed_a_line_through_medians_a_cross_for_what_broke():
    results = [
        made(Cell(arm="hc", rate=rate, seed=seed), mae=0.01 * (seed + 1)) for rate in (3e-3, 1e-2) for seed in (0, 1, 2)
    ]
    results.append(made(Cell(arm="hc", rate=4e-2), diverged_at=50))
    drawing, axes = plots.figure(1, 2)
    plots_question.draw_by_rate(axes, results, q.error, depth=12, arms=("residual", "hc"), top=1.2)
    dots = [line for line in axes[0].lines if line.get_marker() == "o"]
    crosses = [line for line in axes[0].lines if line.get_marker() == "x"]
    assert len(dots) == 6
    assert [line.get_ydata()[0] for line in crosses] == [1.2]
    line = next(line for line in axes[0].lines if line.get_label() == "hc")
    np.testing.assert_allclose(line.get_ydata(), [0.02, 0.02, 1.2])
    assert not [line for line in axes[1].lines if line.get_marker() in "ox"]
    assert "<svg" in drawing._repr_svg_()


def test_the_headline_draws_the_reduced_grid_in_the_colours_of_the_whole(tmp_path, monkeypatch, capsys):
    results = grid("bijection-short", lambda cell: {"mae": 0.01 if cell.arm == "hc" else 0.1})
    drawing = plots_question.headline(results, depth=6)
    panels = drawing.axes
    assert len(panels) == 4
    errors = {line.get_label(): line for line in panels[2].lines if not line.get_label().startswith("_")}
    assert set(errors) == {"residual", "hc", "free", "mhc"}
    np.testing.assert_allclose(errors["hc"].get_ydata(), [0.01, 0.01])
    assert errors["hc"].get_color() == plots.COLOURS[plots_question.SHOWN.index("hc")]


def test_the_command_draws_when_the_grid_is_done(tmp_path, monkeypatch, capsys):
    tiny = {
        "width": 8,
        "depth": 1,
        "num_steps": 3,
        "batch_size": 2,
        "look_every": 1,
        "task_settings": {"num_symbols": 3},
    }
    monkeypatch.setitem(grid_command.GRIDS, "tiny", lambda: [Cell(rate=rate, **tiny) for rate in (3e-3, 1e-2)])
    monkeypatch.setattr(grid_command.executors, "processes", lambda workers: lambda: ThreadPoolExecutor(1))
    path = tmp_path / "figures" / "headline.svg"
    assert main(["grid", "tiny", "--out", str(tmp_path / "cells"), "--figure", str(path)]) == 0
    assert f"drawn: {path}" in capsys.readouterr().out
    assert "<svg" in path.read_text()


@pytest.mark.parametrize(
    ("name", "file", "told"),
    [
        ("khop-depth", "x.svg", "--figure draws grids of bijection elimination; leave it out"),
        ("bijection", "x.doc", "--figure: want a file that ends in .svg, .pdf, .png, got"),
        ("bijection", "x", "--figure: want a file that ends in"),
    ],
)
def test_what_cannot_be_drawn_is_refused_before_cells_are_run(name, file, told, tmp_path, capsys):
    assert main(["grid", name, "--out", str(tmp_path), "--figure", str(tmp_path / file)]) == 2
    assert told in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_shapes_are_those_at_matched_kl():
    results = [made(Cell(arm="hc")), made(Cell(arm="mhc", final_norm=False)), made(Cell(arm="mhc"), matched=None)]
    _, axes = plots.figure(1, 2)
    plots_question.draw_shapes(axes, results, depth=12, arms=("hc", "mhc"))
    assert [line.get_xdata()[0] for line in axes[0].lines] == [0.8, 0.8]
    assert [line.get_xdata()[0] for line in axes[1].lines] == [0.9, 0.9]
    assert [line.get_markerfacecolor() for line in axes[0].lines] == [plots.COLOURS[0], "none"]


@pytest.mark.parametrize("count", [0, 3])
def test_events_of_the_runs_that_go_wrong(count):
    def wrong(cell):
        if cell.seed >= count or cell.arm != "hc" or cell.depth != 12 or cell.rate != 1e-2 or not cell.final_norm:
            return {}
        bad = 200 + 50 * cell.seed
        return {"looks": {"kl_bits": [0.1 if s < bad else 0.9 for s in STEPS], "forward": [1.0 + s for s in STEPS]}}

    _, ax = plots.figure()
    assert plots_question.draw_events(ax, grid("bijection", wrong)) == count
    losses = [line.get_xdata()[0] for line in ax.lines if line.get_marker() == "x" and len(line.get_xdata())]
    assert losses == [200, 250, 300][:count]
    assert {text.get_text() for text in ax.get_yticklabels()} == ({"hc 12 norm 0.01"} if count else set())


def test_paths_end_beside_the_exact_entropy():
    path = {"entropy_bits": [[2.0, 2.0], [1.5, 0.5], [1.0, None]]}
    result = {"exact_entropy_bits": [1.0, 0.0], "residual": path, "hc": path, "mhc": path}
    _, axes = plots.figure(1, 3)
    plots_question.draw_paths(axes, result)
    lines = axes[1].lines
    np.testing.assert_array_equal(lines[0].get_ydata(), [2.0, 1.5, 1.0])
    np.testing.assert_array_equal(lines[1].get_ydata(), [1.0, 1.0])
    assert np.isnan(lines[2].get_ydata()[-1])
    assert [ax.get_title() for ax in axes] == ["residual", "hc", "mhc"]
