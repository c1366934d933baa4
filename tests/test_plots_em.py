"""The figures of EM draw what the results hold, and nothing else."""

import matplotlib.colors
import numpy as np
import pytest

from mhc_np.dynamics.arms import ARMS
from mhc_np.lab import plots, plots_em
from mhc_np.lab.em_laws import loop
from mhc_np.lab.results import plain


def test_the_loop_shows_the_kept_weights_and_values():
    result = plain(loop(0))
    drawing, axes = plots.figure(2, 2)
    plots_em.draw_loop(axes, result, moments=[0, 4])
    kept = result["courses"]["both"]
    for row, moment in enumerate((0, 4)):
        np.testing.assert_array_equal(axes[row, 0].images[0].get_array(), kept["weights"][moment])
        np.testing.assert_allclose(axes[row, 1].collections[0].get_offsets(), kept["values"][moment])
        assert f"step {result['keep'][moment]}" in axes[row, 0].get_ylabel()
    assert "<svg" in drawing._repr_svg_()


def test_triangles_are_the_push_of_descent_on_the_scores():
    """Up where a score will rise: the sign of weight times advantage, the strongest of the panel the largest."""
    result = plain(loop(0))
    kept = {name: np.array(parts) for name, parts in result["courses"]["both"].items()}
    _, axes = plots.figure(2, 2)
    plots_em.draw_loop(axes, result, moments=[1, 3])
    for row, moment in enumerate((1, 3)):
        push = kept["weights"][moment] * kept["advantage"][moment]
        marks = [line for line in axes[row, 0].lines if line.get_marker() in "^v"]
        assert len(marks) == (np.abs(push) > 0.1 * np.abs(push).max()).sum()
        for mark in marks:
            source, query = (int(np.squeeze(side)) for side in mark.get_data())
            assert (mark.get_marker() == "^") == (push[query, source] > 0)
        largest = max(marks, key=lambda mark: mark.get_markersize())
        source, query = (int(np.squeeze(side)) for side in largest.get_data())
        assert abs(push[query, source]) == np.abs(push).max()


def test_a_value_has_a_colour_once_a_query_gives_it_half_of_its_weight():
    result = plain(loop(0))
    _, axes = plots.figure(2, 2)
    plots_em.draw_loop(axes, result, moments=[0, 4])
    grey = matplotlib.colors.to_rgba(plots.GREY)
    for row, moment in enumerate((0, 4)):
        dots = next(each for each in axes[row, 1].collections if each.get_zorder() == 3)
        claimed = np.array(result["courses"]["both"]["weights"][moment]).max(axis=0) > 0.5
        shown = [tuple(colour) != grey for colour in np.resize(dots.get_facecolors(), (5, 4))]
        assert shown == claimed.tolist()


def test_the_race_is_the_median_above_bayes():
    runs = [
        {"fastest": {"sgd": {"bayes_nats": 1.0, "curve": curve}}} for curve in ([2.0, 1.5], [3.0, 1.25], [4.0, 1.0])
    ]
    _, ax = plots.figure()
    (line,) = plots_em.draw_race(ax, runs, ["sgd"])
    np.testing.assert_allclose(line.get_ydata(), [2.0, 0.25])
    np.testing.assert_allclose(line.get_xdata(), [0, 20])
    assert set(plots_em.ARM_WORDS) == set(ARMS)


def test_a_watched_head():
    looks = [{"step": step, "advantage_weight": 1 / (1 + step)} for step in (0, 1, 9)]
    runs = [{"arms": {"sgd": {"looks": looks}}}] * 2
    _, ax = plots.figure()
    (line,) = plots_em.draw_watch(ax, runs, "sgd", ["advantage_weight"], ["advantage weight"])
    np.testing.assert_allclose(line.get_ydata(), [0.5, 0.1])
    assert line.get_label() == "advantage weight"


def test_gain_is_drawn_against_the_composite_gain():
    cells = [
        {"optimizer": name, "depth": depth, "gain": gain, "kl_bits": kl}
        for name, shift in (("sgd", 0.0), ("adamw", 9.0))
        for depth, gain, kl in ((1, 2.0, 0.5), (2, 1.0, 0.25 + shift), (2, 2.0, None))
    ]
    _, ax = plots.figure()
    lines = plots_em.draw_gain(ax, [{"cells": cells}] * 3, "kl_bits")
    assert [line.get_label() for line in lines] == ["1 layer", "2 layers"]
    np.testing.assert_allclose(lines[1].get_xdata(), [1, 4])
    np.testing.assert_allclose(lines[1].get_ydata(), [0.25, np.nan])
    with pytest.raises(KeyError):
        plots_em.draw_gain(ax, [{"cells": cells}], "height")
