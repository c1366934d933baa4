"""The figures of chapter 6 draw what the results hold."""

import numpy as np
import pytest
from tiny_looks import looks

from mhc_np.lab import plots, plots_geometry, plots_parts


def test_points_are_drawn_and_coloured_by_entropy():
    result = looks()["geometry-hmm"][0]
    _, ax = plots.figure()
    dots = plots_geometry.draw_sample(ax, result)
    kept = result["manifold"]["sample"]
    np.testing.assert_allclose(dots.get_array(), kept["entropy_bits"])
    points = np.array(kept["coordinates"])
    np.testing.assert_allclose(dots.get_offsets(), points / np.abs(points).max())


def test_every_axis_and_every_control_is_a_dot():
    results = looks()
    _, ax = plots.figure()
    assert set(plots_geometry.draw_axes(ax, results, "geometry-hmm")) == {"last attention", "last stream"}
    counts = sorted(len(line.get_ydata()) for line in ax.lines)
    assert counts == [2] * 6 + [32] * 4  # three axes and two kinds of control, at two sites, two seeds
    shuffled = [
        max(run["manifold"]["axes"]["stream"]["shuffled"]) / run["prior_bits"] for run in results["geometry-hmm"]
    ]
    top = max(line.get_ydata().max() for line in ax.lines if len(line.get_ydata()) == 32)
    assert top >= max(shuffled)


def test_keys_stand_on_their_own_baseline():
    results = looks()
    _, ax = plots.figure()
    band = plots_geometry.draw_frame(ax, results, "geometry-bijection", "simplex_gap", "baseline_gap")
    assert band == results["geometry-bijection"][0]["keys"]["baseline_gap"]
    drawn = [line.get_ydata() for line in ax.lines if len(line.get_ydata()) == 2 and line.get_marker() == "o"]
    np.testing.assert_allclose(drawn[0], results["geometry-bijection"][0]["keys"]["layers"][0]["simplex_gap"])


def test_the_alignment_is_the_median_and_its_course_is_relative():
    results = looks()
    middle = plots_geometry.median_alignment(results, "geometry-hmm")
    assert middle.shape == (2, 5)
    _, ax = plots.figure()
    alignment, per_sharpness = plots_geometry.draw_sharpness(ax, results, "geometry-hmm")
    assert np.abs(alignment.get_ydata()).max() <= 1
    assert np.nanmax(np.abs(per_sharpness.get_ydata())) <= 1


@pytest.mark.parametrize("name", plots_geometry.FIGURES)
def test_each_figure_is_drawn_into_a_file(name, tmp_path):
    plots_geometry.draw(name, looks(), tmp_path / "there" / f"{name}.svg")
    assert "<svg" in (tmp_path / "there" / f"{name}.svg").read_text()
    assert set(plots_parts.FIGURES) < set(plots_geometry.FIGURES)
