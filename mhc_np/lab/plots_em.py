"""Figures of chapters 7 to 9: the feedback loop, the race of the arms, one head watched, and the gain.

Chapter: chapters/07_advantage.md      Tests: tests/test_plots_em.py
Symbols: α_ij -> weights (queries, sources), v_j -> values (sources, 2), −Σ_i α_ij u_i -> pull (sources, 2),
α_ij(E_i[b] − b_ij) -> push (queries, sources)

Every function takes saved results, as `mhc_np.lab.em_runs.load` returns them, and draws into axes of `plots.figure`.
`FIGURES` says how each run is drawn as a whole, for ``python -m mhc_np show NAME --figure FILE``.
"""

from pathlib import Path

import numpy as np

from mhc_np.lab import plots

ARM_WORDS = {
    "sgd": "plain",
    "value_x10": "values ×10",
    "all_x10": "all ×10",
    "frame_frozen": "frame frozen",
    "readout_x10": "read-out ×10",
    "m_step": "M-step",
    "m_step_online": "online M-step",
    "in_turns": "in turns",
    "adamw": "AdamW",
}


def draw_loop(axes, result, course="both", moments=None):
    """Draw the feedback loop as small multiples: weights and what the law does to them, values and their pull.

    Parameters
    ----------
    axes : (M, 2) array of matplotlib axes
        One row a moment.
    result : dict
        Of the run ``loop``.
    course : str
        ``both``, ``frame_frozen`` or ``values_frozen``.
    moments : list of int, optional
        Which of the kept steps; by default the first M.
    """
    kept = {name: np.array(parts) for name, parts in result["courses"][course].items()}
    labels, reach = np.array(result["labels"]), 1.15 * np.abs(kept["values"]).max()
    for (left, right), moment in zip(axes, moments or range(len(axes)), strict=True):
        weights, values, pull = (kept[name][moment] for name in ("weights", "values", "pull"))
        _draw_weights(left, weights, weights * kept["advantage"][moment])
        left.set_ylabel(f"step {result['keep'][moment]}\nquery")
        left.set_yticks(range(len(labels)), [f"{i}: {'abc'[label]}" for i, label in enumerate(labels)])
        for corner, name in zip(np.array(result["corners"]), "abc", strict=True):
            right.plot(*np.stack([0 * corner, 1.25 * reach * corner], axis=1), ":", color=plots.GREY, linewidth=0.8)
            right.text(*(1.4 * reach * corner), name, ha="center", va="center")
        arrow = 0.45 * reach * pull / np.sqrt((pull * pull).sum(axis=1)).max()  # the longest is drawn at one length
        right.quiver(*values.T, *arrow.T, angles="xy", scale_units="xy", scale=1, width=0.009, color=plots.GREY)
        owner = [plots.COLOURS[k] for k in labels[weights.argmax(axis=0)]]
        colours = [c if most > 0.5 else plots.GREY for c, most in zip(owner, weights.max(axis=0), strict=True)]
        right.scatter(*values.T, s=70, c=colours, zorder=3)
        for j, value in enumerate(values):
            right.text(*value, str(j), color="white", fontsize=7, ha="center", va="center_baseline", zorder=4)
        right.set(xlim=(-1.5 * reach, 1.5 * reach), ylim=(-1.0 * reach, 1.6 * reach), aspect="equal")
        right.spines[:].set_visible(False)
        right.set_xticks([])
        right.set_yticks([])
    axes[0, 0].set_title("weights")
    axes[0, 1].set_title("values")
    axes[-1, 0].set_xlabel("source")


def _draw_weights(ax, weights, push):
    """Draw weights as tiles, and on each a triangle: the push of descent on its score, up or down, larger if stronger.

    Sizes are relative to the strongest push of the panel; one of less than a tenth of it is left out.
    """
    image = plots.show_matrix(ax, weights, low=0, high=1, numbers=False)
    strongest = np.abs(push).max()
    for (query, source), value in np.ndenumerate(push):
        if abs(value) > 0.1 * strongest:
            ink = "black" if image.norm(weights[query, source]) > 0.5 else "white"
            size = 6 * np.sqrt(abs(value) / strongest)
            ax.plot(source, query, "^" if value > 0 else "v", color=ink, markersize=size, markeredgewidth=0)


def draw_race(ax, results, names, kind="fastest", every=20):
    """Draw the held-out loss of some arms against steps: median over seeds, with the Bayes value as a floor."""
    floor = np.mean([run[kind]["sgd"]["bayes_nats"] for run in results])
    lines = []
    for name in names:
        length = min(len(run[kind][name]["curve"]) for run in results)
        curves = np.array([run[kind][name]["curve"][:length] for run in results], dtype=float)
        above = np.maximum(np.nanmedian(curves, axis=0) - floor, 1e-6)
        lines.append(ax.semilogy(every * np.arange(length), above, label=ARM_WORDS[name])[0])
    ax.set_xlabel("step")
    ax.set_ylabel("nats above Bayes")
    return lines


def draw_watch(ax, results, arm, keys, labels):
    """Draw measures of one arm of a trace against steps: thin lines for the seeds, a thick one for their median."""
    lines = []
    for key, label, colour, dash in zip(keys, labels, plots.COLOURS, plots.DASHES, strict=False):
        steps = np.array([look["step"] for look in results[0]["arms"][arm]["looks"]])
        values = np.array([[look[key] for look in run["arms"][arm]["looks"]] for run in results], dtype=float)
        for each in values:
            ax.plot(steps[1:], each[1:], "-", color=colour, linewidth=0.6, alpha=0.4)
        middle = np.nanmedian(values, axis=0)
        lines.append(ax.plot(steps[1:], middle[1:], linestyle=dash, color=colour, label=label)[0])
    ax.set_xscale("log")
    ax.set_xlabel("step")
    return lines


def draw_gain(ax, results, key, optimizer="sgd"):
    """Draw a measure of the gain cells against the composite gain g^L, a line a depth, the median over seeds."""
    cells = {}
    for run in results:
        for cell in run["cells"]:
            if cell["optimizer"] == optimizer:
                value = np.nan if cell[key] is None else cell[key]
                cells.setdefault(cell["depth"], {}).setdefault(cell["gain"], []).append(value)
    lines = []
    for depth, by_gain in sorted(cells.items()):
        gains = sorted(by_gain)
        middle = [np.nanmedian(by_gain[gain]) if np.isfinite(by_gain[gain]).any() else np.nan for gain in gains]
        many = "layers" if depth > 1 else "layer"
        lines.append(ax.plot([gain**depth for gain in gains], middle, marker="o", label=f"{depth} {many}")[0])
    ax.set_xscale("log")
    ax.set_xlabel("composite gain $g^L$")
    return lines


def draw_swap(ax, results, arm="sgd"):
    """Draw the held-out loss of mixed heads, one half of each step and the other of the end: median over seeds."""
    swaps = [run["arms"][arm]["swap"] for run in results]
    lines = [
        ax.plot(swaps[0]["step"], np.median([swap[half] for swap in swaps], axis=0), label=f"early {half}")[0]
        for half in ("routing", "content")
    ]
    ax.set(xlabel="step $t$ of the early half", ylabel="held-out nats")
    return lines


def _whole_gain(ax, results):
    for line, key in zip(ax, ("score_cosine", "kl_bits"), strict=True):
        draw_gain(line, results, key)
        line.set_ylabel(key)


FIGURES = {  # run: panels, height, how to draw into the axes
    "loop": ((4, 2), 7.6, lambda axes, runs: draw_loop(axes, runs[0], moments=[0, 1, 2, 4])),
    "gain": ((2, 1), 5.6, _whole_gain),
}
for _task in ("sticky", "marked"):
    FIGURES |= {
        f"arms-{_task}": ((1, 1), 2.9, lambda ax, runs: draw_race(ax, runs, ARM_WORDS)),
        f"trace-{_task}": (
            (1, 1),
            2.9,
            lambda ax, runs: draw_watch(ax, runs, "sgd", ("score_cosine", "value_cosine"), ("scores", "values")),
        ),
        f"control-{_task}": ((1, 1), 2.9, draw_swap),
    }


def draw_run(name, results, path):
    """Draw a run of `FIGURES`, all its seeds, into a file."""
    panels, height, draw = FIGURES[name]
    drawing, axes = plots.figure(*panels, height=height)
    draw(axes, results)
    for ax in np.ravel(axes):
        if ax.get_legend_handles_labels()[1]:
            ax.legend(fontsize=8)
    drawing.suptitle(name)
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    drawing.savefig(path, metadata={"Date": None} if str(path).endswith(".svg") else None)
