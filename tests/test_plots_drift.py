"""The figure of drift: shares of the way, the medians, and the dots where the saved arrivals are."""

import numpy as np

from mhc_np.lab import plots, plots_drift


def run(scale):
    curves = {"step": [0, 1, 10, 100], "map_drift": [0.6 * scale, 0.3, 0.1, 0.0], "value_drift": [1.0, 1.2, 0.2, 0.0]}
    settled = {"map_drift": 50.0 * scale, "value_drift": 60.0, "calibration": 10.0}
    config = {"training": {"num_steps": 100, "warmup": 0.1}}
    return {"config": config, "drift": {"curves": {**curves, "kl_bits": [1.0, 0.25, 0.04, 0.01]}, "settled": settled}}


def test_the_way_left_starts_at_one_and_ends_at_nothing():
    for name in plots_drift.SHOWN:
        steps, left = plots_drift.way_left(run(1.0), name)
        assert (left[0], left[-1]) == (1, 0)
        assert len(steps) == len(left)
    np.testing.assert_allclose(plots_drift.way_left(run(1.0), "calibration")[1], [1, 4 / 9, 1 / 9, 0])


def test_the_figure_shows_medians_and_arrivals():
    _, ax = plots.figure()
    lines = plots_drift.draw_drift(ax, [run(1.0), run(1.0), run(2.0)])
    assert [line.get_label() for line in lines] == ["attention maps", "values", "calibration"]
    np.testing.assert_allclose(lines[0].get_ydata(), [0.5, 1 / 6, 0])
    dots = [line for line in ax.lines if line.get_marker() == "o"]
    assert [float(np.squeeze(dot.get_xdata())) for dot in dots] == [50, 60, 10]
