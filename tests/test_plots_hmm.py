"""Figures of hidden Markov runs: what they draw is what the results hold."""

import numpy as np
import pytest

from mhc_np.lab import plots, plots_hmm


@pytest.fixture
def runs():
    rng = np.random.default_rng(0)
    windows = {"window": [1, 2, 3]}
    return [
        {
            "metrics": {"entropy_mae_bits": error},
            "sequences": {f"{who}_entropy_bits": rng.random((4, 6)).tolist() for who in ("exact", "model")},
            "windows": {**windows, "entropy_mae_bits": [0.1 * error, 0.01, 0.001]},
            "memory": {**windows, **{who: rng.random(3).tolist() for who in ("exact", "model", "mismatch")}},
        }
        for error in (1.0, 2.0, 6.0)
    ]


def test_sequences_are_drawn_one_a_panel_model_on_exact(runs):
    _, panels = plots.figure(1, 2)
    plots_hmm.draw_sequences(panels, runs[1])
    for b, ax in enumerate(panels):
        exact, model = (line.get_ydata() for line in ax.lines)
        np.testing.assert_array_equal(exact, runs[1]["sequences"]["exact_entropy_bits"][b])
        np.testing.assert_array_equal(model, runs[1]["sequences"]["model_entropy_bits"][b])
        assert ax.lines[1].get_linestyle() == "None"


def test_windows_are_the_median_over_seeds(runs):
    _, ax = plots.figure()
    line = plots_hmm.draw_windows(ax, runs)
    np.testing.assert_allclose(line.get_ydata(), [0.2, 0.01, 0.001])
    assert ax.get_yscale() == "log"


def test_a_level_is_the_median_with_a_band_over_all_seeds(runs):
    _, ax = plots.figure()
    plots_hmm.draw_windows(ax, runs)
    plots_hmm.draw_level(ax, runs, "ours", colour=plots.BLUE, at=3)
    assert ax.lines[-1].get_ydata()[0] == 2.0
    band = ax.patches[-1].get_bbox()
    assert (band.y0, band.y1) == (1.0, 6.0)
    assert [text.get_text() for text in ax.texts] == ["ours"]


@pytest.mark.parametrize("name", ["model", "exact", "mismatch"])
def test_moves_show_every_seed_and_their_median(runs, name):
    _, ax = plots.figure()
    line = plots_hmm.draw_moves(ax, runs, name, colour=plots.BLUE, dash=plots.DASHES[-1])
    moves = np.array([run["memory"][name] for run in runs])
    np.testing.assert_allclose(line.get_ydata(), np.median(moves, axis=0))
    for drawn, move in zip(ax.lines[:3], moves, strict=True):
        np.testing.assert_array_equal(drawn.get_ydata(), move)
