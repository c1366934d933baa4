"""One look for every figure: vector graphics on no background, readable on white, on black, and on a phone.

Chapter: chapters/01_gradients.md      Tests: tests/test_plots.py

A figure is `WIDTH` inches wide whatever it holds, so that its letters come out at one size, 10 points in a column of
text and 8 on a phone. Text and axes are a grey that stands out equally from white and from the book's dark page; lines
differ by dash as well as by colour. Nothing here touches matplotlib's global state but its settings.
"""

import io

import matplotlib
import numpy as np
from matplotlib.figure import Figure

WIDTH = 4.8
GREY = "#7b7b7b"
FAINT = "#7b7b7b40"

# The colour-blind-safe set of Okabe and Ito (2008) without its black and its yellow, those first that stand
# out best from both backgrounds.
BLUE, VERMILION, GREEN, PINK, ORANGE, SKY = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"
COLOURS = (BLUE, VERMILION, GREEN, PINK, ORANGE, SKY)
DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 2)))

STYLE = {
    "axes.prop_cycle": matplotlib.cycler(color=COLOURS, linestyle=DASHES),
    "axes.edgecolor": GREY,
    "axes.facecolor": "none",
    "axes.grid": True,
    "axes.labelcolor": GREY,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlecolor": GREY,
    "axes.titlesize": 10,
    "figure.facecolor": "none",
    "font.size": 10,
    "grid.color": FAINT,
    "grid.linewidth": 0.6,
    "image.cmap": "cividis",
    "legend.frameon": False,
    "legend.labelcolor": GREY,
    "lines.linewidth": 1.8,
    "lines.markersize": 4,
    "svg.hashsalt": "mhc_np",  # the same figure is the same file
    "text.color": GREY,
    "xtick.color": GREY,
    "ytick.color": GREY,
}


class Drawing(Figure):
    """A figure that a notebook shows as SVG, without pyplot and so without anything to close."""

    def _repr_svg_(self):
        stream = io.StringIO()
        self.savefig(stream, format="svg", metadata={"Date": None})
        return stream.getvalue()


def figure(rows=1, columns=1, *, height=2.9, **options):
    """Make a figure in the book's style.

    Parameters
    ----------
    rows, columns : int
        Panels. On a phone two columns are the most that can be read.
    height : float
        Of the whole figure, in inches; it is 4.8 wide.
    **options
        What matplotlib's ``subplots`` takes: ``sharex``, ``height_ratios``, …

    Returns
    -------
    (Drawing, axes)
        The figure, to end a cell with or to hand to `mhc_np.lab.glue.glue`; one axes, or an array of them.

    Examples
    --------
    >>> drawing, ax = figure()
    >>> line, = ax.plot([0, 1], [0, 1])
    >>> drawing._repr_svg_().lstrip().startswith("<?xml")
    True
    """
    matplotlib.rcParams.update(STYLE)
    drawing = Drawing(figsize=(WIDTH, height), layout="compressed")
    return drawing, drawing.subplots(rows, columns, **options)


def name_line(line, text, at=-1, offset=(4, 0), **options):
    """Write the name of a line beside one of its points, in its colour: no legend to look up.

    Parameters
    ----------
    line : matplotlib line
    text : str
    at : int
        Which of its points; the last by default.
    offset : (float, float)
        From the point, in points of type.

    Returns
    -------
    matplotlib annotation
    """
    point = (line.get_xdata()[at], line.get_ydata()[at])
    place = {"xytext": offset, "textcoords": "offset points", "va": "center", "annotation_clip": False}
    return line.axes.annotate(text, point, color=line.get_color(), **{**place, **options})


def show_matrix(ax, matrix, *, digits=2, low=None, high=None, numbers=True):
    """Draw a matrix as tiles, row 0 on top, with its numbers where there is room.

    Parameters
    ----------
    ax : matplotlib axes
    matrix : (rows, columns) floats
    digits : int
        Decimals of the numbers.
    low, high : float, optional
        Ends of the colour scale.
    numbers : bool

    Returns
    -------
    matplotlib image
    """
    matrix = np.asarray(matrix)
    image = ax.imshow(matrix, vmin=low, vmax=high)
    ax.grid(False)
    ax.spines[:].set_visible(False)
    ax.set_xticks(np.arange(matrix.shape[1]))
    ax.set_yticks(np.arange(matrix.shape[0]))
    for (row, column), value in np.ndenumerate(matrix) if numbers else ():
        ink = "black" if image.norm(value) > 0.5 else "white"
        ax.text(column, row, f"{value:.{digits}f}", ha="center", va="center", color=ink, fontsize=9)
    return image
