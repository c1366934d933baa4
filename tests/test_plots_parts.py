"""The figures of chapter 5 draw what the results hold, all seeds of it."""

import numpy as np
import pytest
from tiny_looks import looks

from mhc_np.lab import plots, plots_parts
from mhc_np.lab.verdicts_geometry import c5


def test_beliefs_lie_in_a_polygon_with_the_uniform_one_in_the_middle():
    rng = np.random.default_rng(0)
    assert np.linalg.norm(plots_parts.place(np.eye(5)), axis=1) == pytest.approx(1)
    assert plots_parts.place(np.full(5, 0.2)) == pytest.approx(0)
    a, b = rng.dirichlet(np.ones(5), 2)
    np.testing.assert_allclose(
        plots_parts.place(0.3 * a + 0.7 * b), 0.3 * plots_parts.place(a) + 0.7 * plots_parts.place(b)
    )


def test_paths_go_from_the_first_state_to_the_last_and_rings_are_exact():
    paths = looks()["geometry-hmm"][0]["depth"]["paths"]
    _, ax = plots.figure()
    plots_parts.draw_paths(ax, paths, reader="lens", chosen=[1, 3])
    lines = [line for line in ax.lines if len(line.get_xdata()) > 1]
    assert len(lines) == 2
    np.testing.assert_allclose(lines[0].get_xydata(), plots_parts.place(np.array(paths["lens"])[:, 1]))
    rings = [line.get_xydata()[0] for line in ax.lines if len(line.get_xdata()) == 1]
    np.testing.assert_allclose(rings, plots_parts.place(np.array(paths["exact"])[[1, 3]]))


def test_the_thick_line_of_depth_is_the_median_of_the_seeds():
    results = looks()
    _, ax = plots.figure()
    lines = plots_parts.draw_depth(ax, results, "geometry-hmm")
    each = [run["depth"]["probe"]["kl_bits"] for run in results["geometry-hmm"]]
    np.testing.assert_allclose(lines["probe"].get_ydata(), np.median(each, axis=0))
    assert len(ax.lines) == 2 * (len(each) + 1) + 1


def test_every_part_of_every_seed_is_a_dot():
    results = looks()
    _, ax = plots.figure()
    plots_parts.draw_costs(ax, results, "geometry-bijection")
    drawn = np.concatenate([line.get_ydata() for line in ax.lines[:-1]])
    names = [
        name
        for name in results["geometry-bijection"][0]["ablation"]["mean"]
        if name.split()[0] in ("head", "attention", "mlp", "routing")
    ]
    assert drawn.size == 2 * len(names)
    assert drawn.min() >= plots_parts.LEAST
    assert set(plots_parts.KINDS) == {"one head", "attention", "feed-forward", "routing fixed"}


def test_the_grid_is_drawn_at_the_rates_that_the_rule_picks():
    runs = looks()["depth"]
    numbers = c5({"depth": runs * 3}).numbers
    for path in ("skips", "no skips"):
        for depth, rate in plots_parts.best_rates(runs, path).items():
            shares = [plots_parts.errors(run, depth, path)[rate] for run in runs]
            assert np.median(shares) == pytest.approx(numbers[f"{path} {depth}"])


def test_a_run_that_diverged_is_infinitely_wrong_and_not_picked():
    cells = [{"depth": 2, "path": "skips", "rate": rate, "kl_bits": kl} for rate, kl in ((0.1, None), (0.2, 1.0))]
    runs = [{"prior_bits": 2.0, "cells": cells}]
    assert plots_parts.errors(runs[0], 2, "skips") == {0.1: np.inf, 0.2: 0.5}
    assert plots_parts.best_rates(runs, "skips") == {2: 0.2}


def test_gradients_end_at_one_and_lie_below_their_bound():
    starts = [run["start"]["2 no skips"] for run in looks()["depth"]]
    _, ax = plots.figure()
    line = plots_parts.draw_gradients(ax, starts, "no skips", plots.BLUE, "-")
    assert line.get_ydata()[-1] == 1
    bound = ax.lines[-1].get_ydata()
    assert np.all(line.get_ydata() <= bound * 1.02)


@pytest.mark.parametrize("name", plots_parts.FIGURES)
def test_each_figure_is_drawn(name):
    assert "<svg" in plots_parts.FIGURES[name](looks())._repr_svg_()
