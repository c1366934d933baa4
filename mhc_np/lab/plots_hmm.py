"""Figures of hidden Markov runs: single beliefs as they rise and fall, and how far back a model looks.

Chapter: chapters/04_training.md      Tests: tests/test_plots_hmm.py
Symbols: w -> window, H(p) -> exact_entropy_bits, H(q) -> model_entropy_bits

Each function takes saved results of one run, one a seed, with what `mhc_np.lab.extras` adds to them.
"""

import numpy as np

from mhc_np.lab import plots


def columns(results, part, name):
    """Return (windows or lengths, values), shapes (K,) and (seeds, K), of a part of the results.

    >>> columns([{"windows": {"window": [1, 2], "kl_bits": [0.5, 0.25]}}], "windows", "kl_bits")
    (array([1, 2]), array([[0.5 , 0.25]]))
    """
    at = "num_observations" if part == "lengths" else "window"
    return np.array(results[0][part][at]), np.array([result[part][name] for result in results])


def draw_sequences(panels, result, *, colour=plots.BLUE):
    """Draw the entropy of one sequence a panel: the exact one as a line, the model's as dots.

    Parameters
    ----------
    panels : array of matplotlib axes
        The first sequences of the result, as many as there are panels.
    result : dict
    colour : str
    """
    shown = result["sequences"]
    pairs = zip(shown["exact_entropy_bits"], shown["model_entropy_bits"], strict=True)
    for ax, (exact, model) in zip(np.ravel(panels), pairs, strict=False):
        k = np.arange(1, len(exact) + 1)
        ax.plot(k, exact, "-", color=plots.GREY, linewidth=1.2)
        ax.plot(k, model, "o", color=colour, markersize=3.5, markeredgewidth=0)


def draw_windows(ax, results):
    """Draw the entropy error of exact filters that look at the last w observations, median over the results.

    Returns
    -------
    matplotlib line
    """
    windows, errors = columns(results, "windows", "entropy_mae_bits")
    (line,) = ax.semilogy(windows, np.median(errors, axis=0), "o-", color=plots.GREY, linewidth=1.2)
    ax.set_xlabel("observations used, w")
    ax.set_ylabel("entropy error (bits)")
    ax.set_xticks(windows)
    return line


def draw_level(ax, results, label, *, colour, at, offset=(0, 5)):
    """Draw a model's entropy error across the windows: a line for the median, a band from least to most.

    ``at`` is the place of its name on the horizontal axis.
    """
    errors = [result["metrics"]["entropy_mae_bits"] for result in results]
    ax.axhspan(min(errors), max(errors), color=colour, alpha=0.25, linewidth=0)
    ax.axhline(np.median(errors), color=colour, linewidth=1.4)
    place = {"xytext": offset, "textcoords": "offset points", "ha": "right", "fontsize": 9}
    ax.annotate(label, (at, np.median(errors)), color=colour, **place)


def draw_moves(ax, results, name, *, colour, dash="-"):
    """Draw how far an answer moves when all but the last w observations are exchanged, a thin line a seed.

    Parameters
    ----------
    ax : matplotlib axes
    results : list of dicts
    name : {"model", "exact", "mismatch"}
        Whose move, or how far the two moves differ.
    colour, dash : matplotlib style

    Returns
    -------
    matplotlib line
        The median over seeds.
    """
    windows, moves = columns(results, "memory", name)
    for each in moves:
        ax.semilogy(windows, each, "-", color=colour, linewidth=0.7, alpha=0.5)
    (line,) = ax.semilogy(windows, np.median(moves, axis=0), linestyle=dash, color=colour)
    ax.set_xlabel("observations kept, w")
    ax.set_xticks(windows)
    return line
