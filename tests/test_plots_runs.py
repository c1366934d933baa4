"""Figures of saved runs draw what the results hold, and refuse what cannot be joined."""

import numpy as np
import pytest

from mhc_np.lab import plots, plots_runs


def result(seed, run="bijection-v3-soft"):
    rng = np.random.default_rng(seed)
    error = [0.5, 0.1, 0.01 * (1 + rng.random())]
    exact = [1.5, 1.0, 0.0]
    return {
        "run": run,
        "seed": seed,
        "by_position": {
            "position": [0, 2, 4],
            "exact_entropy_bits": exact,
            "model_entropy_bits": [p + 0.01 * seed for p in exact],
            "entropy_mae_bits": [0.01, 0.02, 0.03],
            "kl_bits": [0.001, 0.002, 0.003 + 0.001 * seed],
        },
        "curves": {"evaluations": {"step": [0, 1, 10], "entropy_mae_bits": error, "kl_bits": error[::-1]}},
    }


@pytest.fixture
def results():
    return [result(seed) for seed in range(3)]


def test_entropy_is_a_line_of_theory_and_dots_for_each_seed(results):
    _, ax = plots.figure()
    line = plots_runs.draw_entropy(ax, results, label="V = 3")
    assert line.get_xdata().tolist() == [1, 2, 3]
    assert line.get_ydata().tolist() == [1.5, 1.0, 0.0]
    dots = [drawn.get_ydata().tolist() for drawn in ax.lines if drawn is not line]
    assert dots == [each["by_position"]["model_entropy_bits"] for each in results]


def test_the_thick_line_is_the_median_over_seeds(results):
    _, ax = plots.figure()
    line = plots_runs.draw_positions(ax, results, "kl_bits")
    np.testing.assert_allclose(line.get_ydata(), [0.001, 0.002, 0.004])
    assert line.get_linewidth() > ax.lines[0].get_linewidth()
    assert len(ax.lines) == len(results) + 1


def test_a_curve_leaves_out_step_0_which_has_no_logarithm(results):
    _, ax = plots.figure()
    line = plots_runs.draw_curve(ax, results, "entropy_mae_bits", label="soft")
    assert line.get_xdata().tolist() == [1, 10]
    assert ax.get_xscale() == ax.get_yscale() == "log"


@pytest.mark.parametrize("dash", plots.DASHES)
def test_every_dash_of_the_book_can_be_drawn(results, dash):
    _, (above, below) = plots.figure(2, 1)
    assert plots_runs.draw_curve(above, results, "kl_bits", dash=dash).get_color() == plots.BLUE
    assert plots_runs.draw_positions(below, results, "kl_bits", dash=dash).get_color() == plots.BLUE


def test_draw_results_writes_the_file_that_was_asked_for(results, tmp_path):
    plots_runs.draw_results(results, tmp_path / "new" / "run.svg")
    first = (tmp_path / "new" / "run.svg").read_text()
    plots_runs.draw_results(results, tmp_path / "new" / "run.svg")
    assert (tmp_path / "new" / "run.svg").read_text() == first
    plots_runs.draw_results(results, tmp_path / "run.png")
    assert (tmp_path / "run.png").read_bytes()[1:4] == b"PNG"


def test_draw_results_refuses_a_mixture_and_nothing(results, tmp_path):
    with pytest.raises(ValueError, match="draw_results: want results of one run, got none"):
        plots_runs.draw_results([], tmp_path / "run.svg")
    with pytest.raises(ValueError, match="want results of one run"):
        plots_runs.draw_results([*results, result(3, "other")], tmp_path / "run.svg")
