"""Figures: one look, seen on white and on black, and the same bytes each time."""

import matplotlib
import numpy as np
import pytest

from mhc_np.lab import plots


def luminance(colour):
    """Relative luminance as in the web's rules for contrast."""
    channels = np.array(matplotlib.colors.to_rgb(colour))
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return linear @ [0.2126, 0.7152, 0.0722]


def contrast(a, b):
    dark, light = sorted((luminance(a), luminance(b)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("page", ["#ffffff", "#14181e"])
def test_text_and_the_first_four_colours_stand_out_from_both_pages(page):
    assert contrast(plots.GREY, page) > 4
    for colour in plots.COLOURS[:4]:
        assert contrast(colour, page) > 3


def test_lines_differ_by_more_than_colour():
    assert len(set(plots.COLOURS)) == len(set(plots.DASHES)) == len(plots.COLOURS)


def draw():
    drawing, axes = plots.figure(2, 1, height=4)
    (line,) = axes[0].plot([0, 1], [0, 1])
    plots.name_line(line, "rises")
    plots.show_matrix(axes[1], [[0.0, 1.0], [0.5, 0.25]])
    return drawing


def test_a_figure_is_clear_vector_graphics_and_the_same_each_time():
    svg = draw()._repr_svg_()
    assert svg == draw()._repr_svg_()
    assert "<image" not in svg.split("axes_2")[0]  # lines stay lines
    assert draw().get_facecolor()[3] == draw().axes[0].get_facecolor()[3] == 0


def test_no_figure_is_left_open():
    import matplotlib.pyplot as plt

    draw()
    assert plt.get_fignums() == []
