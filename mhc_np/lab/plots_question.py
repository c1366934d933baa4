"""Figures of the grids: a number of each cell against the rate, shapes at matched KL, and events in time.

Chapter: chapters/15_the_question.md      Tests: tests/test_plots_question.py

Every seed is a dot; the line goes through the medians. What broke is drawn as a cross at the top edge. A figure draws
what is there: cells that are missing leave gaps.
"""

import numpy as np

from mhc_np.lab import lead_lag, plots
from mhc_np.lab import question as q

SHOWN = ("residual", "scaled", "identity", "hc", "free", "mhc")  # as many as there are colours
NORMS = {True: "with the final norm", False: "without"}


def draw_by_rate(axes, results, value, *, depth, arms=SHOWN, top):
    """Draw a number of each cell against the learning rate, a panel for each final norm.

    Parameters
    ----------
    axes : two matplotlib axes
    results : list of dicts
        Cells of the bijection grid.
    value : callable
        ``value(result)``; infinite, or above ``top``, where a run broke.
    depth : int
    arms : names
    top : float
        Upper edge; crosses mark what lies beyond it.
    """
    found = q.index(results)
    for ax, (norm, title) in zip(axes, NORMS.items(), strict=True):
        for k, arm in enumerate(arms):
            colour, dash = plots.COLOURS[k % 6], plots.DASHES[k % 6]
            rates = sorted(key[3] for key in found if key[:3] == (arm, norm, depth))
            if not rates:
                continue
            columns = [[value(result) for result in found[arm, norm, depth, rate]] for rate in rates]
            shift = 1.02 ** (k - len(arms) / 2)  # so that seeds of different arms do not hide each other
            for rate, column in zip(rates, columns, strict=True):
                for number in column:
                    mark = dict(marker="x", markersize=5) if not number <= top else dict(marker="o", markersize=3)
                    ax.plot(rate * shift, min(number, top), color=colour, alpha=0.6, linestyle="none", **mark)
            medians = [min(q.median(column), top) for column in columns]
            ax.plot(np.array(rates) * shift, medians, color=colour, linestyle=dash, label=arm.replace("_", "-"))
        ax.set(xlabel="learning rate", title=title)
        if not any(key[1:3] == (norm, depth) for key in found):
            continue  # a logarithmic axis wants something to show
        ax.set(xscale="log", yscale="log")
        ax.set_xticks([3e-3, 1e-2, 4e-2], [".003", ".01", ".04"])
        ax.minorticks_off()


def headline(results, *, depth):
    """Draw gain (above) and error (below) against the rate, with and without the final norm; return the figure."""
    drawing, axes = plots.figure(2, 2, height=5.6, sharey="row")
    draw_by_rate(axes[0], results, lambda r: q.final_gain(r, "forward"), depth=depth, top=1e9)
    draw_by_rate(axes[1], results, q.error, depth=depth, top=1.5)
    for ax, words in zip(axes[:, 0], ("composite gain, forward", "entropy error (bits)"), strict=True):
        ax.set_ylabel(words)
    drawing.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=3, fontsize=8)
    return drawing


def draw_shapes(axes, results, names=("pc1_share", "spearman"), *, depth, arms=SHOWN):
    """Draw shapes at matched KL, a dot a run: a panel a number, a row an arm, filled with the norm, hollow without."""
    words = {"pc1_share": "share of the first axis", "spearman": "rank correlation"}
    for ax, name in zip(axes, names, strict=True):
        for k, arm in enumerate(arms):
            for result in results:
                cell, at = result["cell"], q.at_matched(result, "attention", name)
                if (cell["arm"], cell["depth"]) == (arm, depth) and at is not None:
                    place = -k + (0.15 if cell["final_norm"] else -0.15)
                    face = plots.COLOURS[k % 6] if cell["final_norm"] else "none"
                    ax.plot(at, place, "o", color=plots.COLOURS[k % 6], markerfacecolor=face, markersize=4, alpha=0.8)
        ax.set(xlabel=words.get(name, name), xlim=(0, 1.02), ylim=(0.6 - len(arms), 0.6))
        ax.set_yticks(range(0, -len(arms), -1), [arm.replace("_", "-") for arm in arms])


def draw_events(ax, results, *, most=24):
    """Draw runs whose loss goes wrong, a line a run: when each event comes; the earliest losses on top."""
    timed = [(lead_lag.event_steps(result), result["cell"]) for result in results]
    timed = sorted((one for one in timed if one[0]["loss"] is not None), key=lambda one: one[0]["loss"])[:most]
    marks = {"gain": "^", "geometry": "s", "calibration": "o", "loss": "x"}
    for row, (steps, _) in enumerate(timed):
        there = [step for step in steps.values() if step is not None]
        ax.plot([min(there), max(there)], [-row, -row], "-", color=plots.FAINT)
        for k, name in enumerate(lead_lag.NAMES):
            if steps[name] is not None:
                ax.plot(steps[name], -row, marks[name], color=plots.COLOURS[k], markersize=5, alpha=0.9)
    for k, name in enumerate(lead_lag.NAMES):
        ax.plot([], [], marks[name], color=plots.COLOURS[k], label=name)
    words = [f"{c['arm']} {c['depth']} {'norm' if c['final_norm'] else 'bare'} {c['rate']:g}" for _, c in timed]
    ax.set_yticks([-row for row in range(len(timed))], words, fontsize=7)
    ax.set_xlabel("step")
    return len(timed)


def draw_paths(axes, result, arms=("residual", "hc", "mhc")):
    """Draw the entropy of the belief after each block, a panel an arm, a line a question; the exact one as a dash.

    Parameters
    ----------
    axes : matplotlib axes, one an arm
    result : dict
        As from `mhc_np.lab.belief_paths.belief_paths`.
    """
    exact = np.array(result["exact_entropy_bits"])
    for ax, arm in zip(axes, arms, strict=True):
        lines = np.array([[np.nan if v is None else v for v in row] for row in result[arm]["entropy_bits"]], float)
        blocks = np.arange(len(lines))
        for k, path in enumerate(lines.T):
            colour = plots.COLOURS[k % 6]
            ax.plot(blocks, path, "-", color=colour, linewidth=1.2)
            ax.plot([blocks[-1] + 0.3, blocks[-1] + 1.3], [exact[k]] * 2, "-", color=colour, linewidth=3)
        ax.set(title=arm.replace("_", "-"), xlabel="block")
    axes[0].set_ylabel("entropy of the belief (bits)")
