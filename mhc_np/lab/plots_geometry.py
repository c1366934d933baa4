"""Figures of chapter 6: the value manifold and its axes, the frame of keys, and queries that turn.

Chapter: chapters/06_geometry.md      Tests: tests/test_plots_geometry.py
Symbols: attention outputs on their first two axes -> coordinates (N, 2), H(p) -> entropy_bits (N,)

The same contract as `mhc_np.lab.plots_parts`: saved results in, all seeds drawn. `FIGURES` names the figures of both
chapters.
"""

from pathlib import Path

import numpy as np

from mhc_np.lab import plots, plots_parts, plots_unrolling
from mhc_np.lab.plots_parts import WORDS
from mhc_np.lab.value_manifold import CONTROLS
from mhc_np.lab.verdicts_parts import TUNNELS, number

SITES = {"attention": ("last attention", "o", plots.BLUE), "stream": ("last stream", "^", plots.ORANGE)}
HALF = 0.25  # width of the strip in which dots of one kind are spread


def draw_sample(ax, result):
    """Draw one network's points on their two axes, shaded by the exact entropy; return the dots."""
    kept = result["manifold"]["sample"]
    points = np.array(kept["coordinates"])
    points = points / np.abs(points).max()
    dots = ax.scatter(*points.T, c=kept["entropy_bits"], cmap=plots_unrolling.SHADES, s=9, linewidths=0)
    ax.set(xticks=[], yticks=[], xlim=(-1.1, 1.1), ylim=(-1.1, 1.1), aspect="equal")
    return dots


def draw_axes(ax, results, tunnel):
    """Draw what taking each axis away costs, in shares of the prior's bits: a dot a seed, and a dot a control."""
    kinds, handles = ("readout", "covariance", "pc1", *CONTROLS), {}
    for place, (site, (words, marker, colour)) in enumerate(SITES.items()):
        for k, kind in enumerate(kinds):
            costs = [np.ravel(result["manifold"]["axes"][site][kind]) for result in results[tunnel]]
            shares = [
                [number(cost) / run["prior_bits"] for cost in each]
                for each, run in zip(costs, results[tunnel], strict=True)
            ]
            y = np.maximum(np.concatenate(shares), plots_parts.LEAST)
            x = k + (place - 0.5) * HALF + np.linspace(-0.08, 0.08, y.size)
            handles[words] = ax.semilogy(x, y, marker, color=colour, markersize=3, alpha=0.5, linestyle="")[0]
    ax.set_xticks(range(len(kinds)), ["reads\nentropy", "moves with\nentropy", "first\naxis", "random", "shuffled"])
    ax.tick_params(axis="x", labelsize=8)
    ax.set_ylabel("share lost")
    return handles


def draw_frame(ax, results, tunnel, measure="cosine_centred", baseline="baseline_centred"):
    """Draw a measure of the hypotheses' keys by layer, a dot a head and seed, on the band of random keys."""
    for result in results[tunnel]:
        for row in result["keys"]["layers"]:
            x = row["layer"] + np.linspace(-0.12, 0.12, len(row[measure]))
            ax.plot(x, [number(each) for each in row[measure]], "o", color=plots.BLUE, markersize=3, alpha=0.5)
    band = results[tunnel][0]["keys"][baseline]
    ax.axhspan(band["low"], band["high"], color=plots.GREY, alpha=0.3, linewidth=0)
    ax.axhline(band["mean"], color=plots.GREY, linewidth=0.8)
    ax.set_xticks([row["layer"] for row in results[tunnel][0]["keys"]["layers"]])
    return band


def median_alignment(results, tunnel):
    """Return the alignment of each layer's best head by question, median over seeds: (layers, questions)."""
    rows = [[row["by_position"] for row in result["keys"]["layers"]] for result in results[tunnel]]
    return np.median(np.array(rows, dtype=float), axis=0)


def draw_alignment(ax, middle, top):
    """Draw such a median, layers as rows, on a scale from −top to top; return the image."""
    image = ax.imshow(middle, aspect="auto", origin="lower", cmap="RdBu", vmin=-top, vmax=top)
    ax.grid(False)
    ax.set_yticks(range(len(middle)))
    ax.set_xticks(range(0, middle.shape[1], 5), range(1, middle.shape[1] + 1, 5))
    ax.set_xlabel("question")
    return image


def draw_sharpness(ax, results, tunnel):
    """Draw the best head's alignment and the same per unit of the beliefs' sharpness, each over its largest value."""
    lines = []
    for key, label, colour, dash in (
        ("by_position", "alignment", plots.VERMILION, "--"),
        ("per_sharpness", "per sharpness", plots.BLUE, "-"),
    ):
        each = np.array([[number(x) for x in result["keys"]["best"][key]] for result in results[tunnel]])
        each = each / np.nanmax(np.abs(each), axis=1, keepdims=True)
        k = np.arange(1, each.shape[1] + 1)
        for one in each:
            ax.plot(k, one, "-", color=colour, linewidth=0.7, alpha=0.4)
        lines += ax.plot(k, np.median(each, axis=0), dash, color=colour, label=label)
    ax.set_xlabel("question")
    return lines


def manifold(results):
    """Draw Transformers above and LSTMs below, both tunnels, first seed each."""
    drawing, axes = plots.figure(2, 2, height=5.2)
    for column, tunnel in zip(axes.T, reversed(TUNNELS), strict=True):
        for ax, name in zip(column, (tunnel, f"{tunnel}-lstm"), strict=True):
            dots = draw_sample(ax, results[name][0])
        column[0].set_title(WORDS[tunnel])
        drawing.colorbar(dots, ax=column, label="exact entropy (bits)", location="bottom", shrink=0.8)
    axes[0, 0].set_ylabel("Transformer")
    axes[1, 0].set_ylabel("LSTM")
    return drawing


def axes_taken(results):
    """Draw the causal test."""
    drawing, axes = plots.figure(2, 1, height=5.2, sharex=True)
    for ax, tunnel in zip(axes, reversed(TUNNELS), strict=True):
        handles = draw_axes(ax, results, tunnel)
        ax.set_title(WORDS[tunnel])
    drawing.legend(handles.values(), handles.keys(), ncols=2, fontsize=8, loc="outside lower center")
    return drawing


def keys(results):
    """Draw the frame of keys: mean absolute cosines, and the gap to a simplex."""
    drawing, axes = plots.figure(2, 2, height=4.8)
    for column, tunnel in zip(axes.T, reversed(TUNNELS), strict=True):
        band = draw_frame(column[0], results, tunnel)
        column[0].axhline(1 / (band["n"] - 1), color=plots.VERMILION, linestyle="--", linewidth=1.2)
        draw_frame(column[1], results, tunnel, "simplex_gap", "baseline_gap")
        column[0].set(title=WORDS[tunnel], ylim=(0, 1))
        column[1].set(xlabel="layer", ylim=(0, 1.2))
    axes[0, 0].set_ylabel("mean |cosine|, centred")
    axes[1, 0].set_ylabel("gap to a simplex")
    return drawing


def alignment(results):
    """Draw when queries turn to what is believed."""
    drawing, axes = plots.figure(2, 2, height=5.0)
    middles = {tunnel: median_alignment(results, tunnel) for tunnel in reversed(TUNNELS)}
    top = max(np.nanmax(np.abs(middle)) for middle in middles.values())
    for column, (tunnel, middle) in zip(axes.T, middles.items(), strict=True):
        image = draw_alignment(column[0], middle, top)
        draw_sharpness(column[1], results, tunnel)
        column[0].set_title(WORDS[tunnel])
    drawing.colorbar(image, ax=axes[0], location="bottom", shrink=0.6, label="alignment")
    axes[0, 0].set_ylabel("layer")
    axes[1, 0].set_ylabel("share of the largest")
    axes[1, 0].legend(fontsize=8)
    return drawing


def unrolling(results):
    """Draw the still of the bijection's manifold over training."""
    return plots_unrolling.still(results, "geometry-bijection")


FIGURES = plots_parts.FIGURES | {
    "manifold": manifold,
    "axes": axes_taken,
    "unrolling": unrolling,
    "keys": keys,
    "alignment": alignment,
}


def draw(name, results, path):
    """Draw one of `FIGURES` into a file, whose ending decides the format."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    FIGURES[name](results).savefig(path, metadata={"Date": None} if str(path).endswith(".svg") else None)
