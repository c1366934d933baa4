"""A map of regimes: two arms compared in every setting, a tile a setting.

Chapter: chapters/15_the_question.md      Tests: tests/test_plots_regimes.py
"""

import numpy as np

from mhc_np.lab import plots, regimes
from mhc_np.lab.grids import RATES

TOP = 1.5  # decades at which a tile has its full colour


def draw_map(ax, found, one, other):
    """Draw one comparison: rows norm and depth, columns rates; blue where the one's error is lower, red where higher.

    Parameters
    ----------
    ax : matplotlib axes
    found : dict
        As from `mhc_np.lab.question.index`.
    one, other : str

    Returns
    -------
    dict
        What each tile says, {(norm, depth, rate): text}; where both fail, or nothing is there, the tile has no colour.
    """
    there = regimes.survey(found, one, other)
    shades, texts = np.full((len(regimes.SETTINGS), len(RATES)), np.nan), {}
    for stratum, setting in there.items():
        place = regimes.SETTINGS.index(stratum[:2]), RATES.index(stratum[2])
        texts[stratum] = _short(setting)
        if setting.word != "both fail":
            shades[place] = 0.0 if setting.word == "alike" else np.clip(_decades(setting.ratio), -TOP, TOP)
        strong = abs(shades[place]) > 0.6 * TOP  # not so where it is NaN
        ink = "white" if strong else plots.GREY if np.isnan(shades[place]) else "black"
        ax.text(place[1], place[0], texts[stratum], ha="center", va="center", color=ink, fontsize=7)
    ax.imshow(shades, aspect="auto", cmap="RdBu_r", vmin=-TOP, vmax=TOP)
    ax.axhline(2.5, color=plots.GREY, linewidth=1.2)
    ax.grid(False)
    ax.spines[:].set_visible(False)
    ax.set_xticks(range(len(RATES)), [f"{rate:g}".lstrip("0") for rate in RATES])
    words = [f"{depth} {'norm' if norm else 'bare'}" for norm, depth in regimes.SETTINGS]
    ax.set_yticks(range(len(words)), words)
    ax.tick_params(length=0, labelsize=8)
    ax.set_title(f"{one} against {other}")
    return texts


def _decades(ratio):
    return np.log10(ratio) if ratio > 0 else -np.inf


def _short(setting):
    if setting.word == "both fail":
        return "both\nfail"
    if not 0 < setting.ratio < np.inf:
        return "broke" if setting.ratio else "other\nbroke"
    return f"×{setting.ratio:.2g}"
