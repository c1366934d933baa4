"""Figures of chapter 9: how far a trained network's parts still have to go, and which arrives first.

Chapter: chapters/09_frame_precision.md      Tests: tests/test_plots_drift.py
"""

import numpy as np

from mhc_np.lab import order, plots

SHOWN = ("map_drift", "value_drift", "calibration")


def way_left(result, name):
    """Return (steps, share of the way left) of one curve; of the calibration, by the root of its KL."""
    curves = result["drift"]["curves"]
    curve = np.array(curves["kl_bits" if name == "calibration" else name])
    if name == "calibration":
        curve = np.abs(np.sqrt(curve) - np.sqrt(curve[-1]))
    return np.array(curves["step"]), curve / curve[0]


def draw_drift(ax, results, names=SHOWN):
    """Draw the way left against steps: thin lines for the seeds, a thick one for their median, dots at nine tenths.

    Returns
    -------
    list of matplotlib lines
        The medians, in the order of the names.
    """
    lines = []
    for name, colour, dash in zip(names, plots.COLOURS, plots.DASHES, strict=False):
        seeds = [way_left(result, name) for result in results]
        steps = seeds[0][0]
        for _, left in seeds:
            ax.plot(steps[1:], left[1:], "-", color=colour, linewidth=0.6, alpha=0.4)
        middle = np.median([left for _, left in seeds], axis=0)
        lines.append(ax.plot(steps[1:], middle[1:], linestyle=dash, color=colour, label=order.WORDS[name])[0])
        ax.plot(np.nanmedian(order.arrivals(results, name)), 1 - order.SHARE, "o", color=colour)
    ax.axhline(1 - order.SHARE, linestyle=":", color=plots.GREY, linewidth=0.8)
    ax.axvline(order.by_rate_alone(results[0]["config"]["training"]), linestyle=":", color=plots.GREY, linewidth=0.8)
    ax.set(xscale="log", xlabel="step", ylim=(0, 1.15))
    return lines
