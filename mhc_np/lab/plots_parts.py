"""Figures of chapter 5: belief on its way through the layers, what each part costs, and depth with and without skips.

Chapter: chapters/05_who_does_what.md      Tests: tests/test_plots_parts.py
Symbols: exact p -> exact (P, V), belief after sub-layer l -> beliefs (L, P, V), KL(p || belief) -> kl_bits

Each function takes saved results, as `mhc_np.lab.geometry_runs.load` returns them, and draws all seeds that are there:
thin lines or dots for each, a thick line for their median. `FIGURES` names the whole figures.
"""

import numpy as np

from mhc_np.lab import plots
from mhc_np.lab.plots_unrolling import SHADES
from mhc_np.lab.verdicts_parts import TUNNELS, number

WORDS = {"geometry-hmm": "hidden Markov model", "geometry-bijection": "bijection"}
READERS = {"probe": (plots.BLUE, "-"), "lens": (plots.VERMILION, "--")}
KINDS = {  # kind of part: name in the results, marker, colour
    "one head": ("head", "o", plots.BLUE),
    "attention": ("attention", "s", plots.VERMILION),
    "feed-forward": ("mlp", "^", plots.GREEN),
    "routing fixed": ("routing", "x", plots.PINK),
}
LEAST = 1e-4  # bits: what is cheaper is drawn as this


def place(beliefs):
    """Place distributions in a regular polygon, (..., V) -> (..., 2): certainty at a corner, ignorance in the middle.

    >>> place([[1.0, 0.0, 0.0, 0.0], [0.25, 0.25, 0.25, 0.25]]).round(6) + 0.0
    array([[0., 1.],
           [0., 0.]])
    """
    beliefs = np.asarray(beliefs, np.float64)
    angle = 2 * np.pi * np.arange(beliefs.shape[-1]) / beliefs.shape[-1]
    return beliefs @ np.stack([np.sin(angle), np.cos(angle)], axis=-1)


def draw_paths(ax, paths, *, reader="probe", chosen=None):
    """Draw beliefs moving through depth: one line a question, from its first state to the exact posterior (ring).

    Parameters
    ----------
    ax : matplotlib axes
    paths : dict
        As saved under ``depth``: ``exact`` (P, V), and for each reader (L, P, V).
    reader : str
    chosen : list of int, optional
        Which questions; all by default.
    """
    exact, beliefs = (place(paths[name]) for name in ("exact", reader))
    corners = place(np.eye(np.shape(paths["exact"])[-1]))
    ax.fill(*corners.T, facecolor="none", edgecolor=plots.GREY, linewidth=1)
    shade = np.linspace(0, 1, len(beliefs))
    for k in range(len(exact)) if chosen is None else chosen:
        ax.plot(*beliefs[:, k].T, "-", color=plots.GREY, linewidth=0.8, alpha=0.7)
        ax.scatter(*beliefs[:, k].T, c=shade, cmap=SHADES, s=13, zorder=3, linewidths=0)
        ax.plot(*exact[k], "o", markersize=9, markerfacecolor="none", color=plots.VERMILION, markeredgewidth=1.2)
    ax.set(aspect="equal", xlim=(-1.03, 1.03), ylim=(-1.03, 1.05))
    ax.axis("off")


def draw_depth(ax, results, tunnel):
    """Draw the error of probe and lens after every sub-layer, and the prior's bits; return the two medians' lines."""
    lines = {}
    for reader, (colour, dash) in READERS.items():
        kl = np.array([result["depth"][reader]["kl_bits"] for result in results[tunnel]], float)
        for each in kl:
            ax.semilogy(each, "-", color=colour, linewidth=0.7, alpha=0.4)
        (lines[reader],) = ax.semilogy(np.median(kl, axis=0), dash, color=colour, label=reader)
    ax.axhline(results[tunnel][0]["prior_bits"], color=plots.GREY, linewidth=0.8)
    ax.set_xticks(range(0, kl.shape[1], 2), range(0, kl.shape[1] // 2 + 1))
    ax.set_xlabel("blocks done")
    return lines


def draw_positions(ax, results, tunnel, reader="probe"):
    """Draw the median error by sub-layer (rows, the last on top) and question (columns); return the image."""
    kl = np.median([result["depth"][reader]["by_position"] for result in results[tunnel]], axis=0)
    image = ax.imshow(np.log10(np.maximum(kl, LEAST)), aspect="auto", origin="lower", vmin=-4, vmax=0.5)
    ax.grid(False)
    ax.set_yticks(range(0, len(kl), 2), range(0, len(kl) // 2 + 1))
    ax.set(xlabel="question", ylabel="blocks done")
    ax.set_xticks(range(0, kl.shape[1], 5), range(1, kl.shape[1] + 1, 5))
    return image


def by_layer(costs, kind):
    """Return the costs of one kind of part, a list a layer, from a dict of names such as "head 2.1" or "mlp 0".

    >>> by_layer({"head 0.0": 1.0, "head 0.1": 2.0, "head 1.0": 3.0, "all mlp": 9.0}, "head")
    [[1.0, 2.0], [3.0]]
    """
    found = {}
    for name, bits in costs.items():
        if name.startswith(f"{kind} "):
            found.setdefault(int(name.removeprefix(f"{kind} ").split(".")[0]), []).append(number(bits))
    return [found[layer] for layer in sorted(found)]


def draw_costs(ax, results, tunnel, ablation="mean"):
    """Draw what each part costs, a dot a seed (and head), by layer; return one handle a kind."""
    handles = {}
    for shift, (words, (kind, marker, colour)) in zip((-0.27, -0.09, 0.09, 0.27), KINDS.items(), strict=True):
        each = [by_layer(result["ablation"][ablation], kind) for result in results[tunnel]]
        for layer in range(len(each[0])):
            bits = np.maximum(np.concatenate([one[layer] for one in each]), LEAST)
            x = np.full(bits.size, layer + shift)
            handles[words] = ax.semilogy(x, bits, marker, color=colour, markersize=3.5, alpha=0.6, linestyle="")[0]
    ax.axhline(results[tunnel][0]["prior_bits"], color=plots.GREY, linewidth=0.8)
    ax.set_xticks(range(len(each[0])))
    ax.set_ylabel("cost (bits)")
    return handles


def draw_gradients(ax, starts, label, colour, dash):
    """Draw the gradient after each sub-layer over that at the top, and the product bound; seeds as thin lines."""
    relative = np.array([np.array(start["gradients_few"]) / start["gradients_few"][-1] for start in starts])
    bound = np.array([np.append(np.cumprod(start["jacobians"][::-1])[::-1], 1.0) for start in starts])
    for each in relative:
        ax.semilogy(each, "-", color=colour, linewidth=0.7, alpha=0.4)
    (line,) = ax.semilogy(np.median(relative, axis=0), dash, color=colour, label=label)
    ax.semilogy(np.median(bound, axis=0), ":", color=colour, linewidth=1.2)
    return line


def belief(results):
    """Draw Figure 1, the residual's panel: a few beliefs on their way, and the error by sub-layer, both tunnels."""
    drawing, axes = plots.figure(2, 2, height=5.2, height_ratios=(1.15, 1))
    for (above, below), tunnel in zip(axes.T, reversed(TUNNELS), strict=True):
        paths = results[tunnel][0]["depth"]["paths"]
        draw_paths(above, paths, chosen=range(1, len(paths["exact"]), 2))
        above.set_title(WORDS[tunnel])
        draw_depth(below, results, tunnel)
    axes[1, 0].set_ylabel("KL to exact (bits)")
    axes[1, 0].legend(fontsize=8)
    return drawing


def positions(results):
    """Draw the error by sub-layer and question."""
    drawing, axes = plots.figure(1, 2, height=2.7)
    for ax, tunnel in zip(axes, reversed(TUNNELS), strict=True):
        image = draw_positions(ax, results, tunnel)
        ax.set_title(WORDS[tunnel])
    axes[1].set_ylabel("")
    drawing.colorbar(image, ax=axes, label="log₁₀ KL (bits)", location="bottom", shrink=0.6)
    return drawing


def parts(results):
    """Draw what every part costs."""
    drawing, axes = plots.figure(2, 1, height=5.4)
    for ax, tunnel in zip(axes, reversed(TUNNELS), strict=True):
        handles = draw_costs(ax, results, tunnel)
        ax.set_title(WORDS[tunnel])
    axes[1].set_xlabel("layer")
    drawing.legend(handles.values(), handles.keys(), ncols=4, fontsize=8, loc="outside lower center")
    return drawing


def skips(results):
    """Draw the depth grid: the error at each depth, and the gradients of the deepest networks at the start."""
    drawing, (above, below) = plots.figure(2, 1, height=5.4)
    runs = results["depth"]
    depths = sorted({cell["depth"] for cell in runs[0]["cells"]})
    for path, colour, dash in (("skips", plots.BLUE, "-"), ("no skips", plots.VERMILION, "--")):
        best = best_rates(runs, path)
        share = np.array([[errors(run, depth, path)[best[depth]] for depth in depths] for run in runs])
        for each in share:
            above.plot(depths, each, "o", color=colour, markersize=3, alpha=0.5)
        label = "with skips" if path == "skips" else "without"
        above.plot(depths, np.median(share, axis=0), dash, color=colour, label=label)
        draw_gradients(below, [run["start"][f"{depths[-1]} {path}"] for run in runs], path, colour, dash)
    above.set(xscale="log", yscale="log", xlabel="layers", ylabel="share of the prior's bits missing")
    above.set_xticks(depths, depths)
    above.minorticks_off()
    above.legend(fontsize=8)
    below.set(xlabel="sub-layer", ylabel="gradient over that at the top")
    return drawing


def errors(run, depth, path):
    """Return {rate: share of the prior's bits that is missing} of one seed; infinite where training diverged."""
    cells = (cell for cell in run["cells"] if (cell["depth"], cell["path"]) == (depth, path))
    return {cell["rate"]: number(cell["kl_bits"], broken=np.inf) / run["prior_bits"] for cell in cells}


def best_rates(runs, path):
    """Return {depth: the rate of the least median error}, as the rule of C5 picks it."""
    found = {}
    for depth in sorted({cell["depth"] for cell in runs[0]["cells"]}):
        each = [errors(run, depth, path) for run in runs]
        found[depth] = min(each[0], key=lambda rate, each=each: np.median([one[rate] for one in each]))
    return found


FIGURES = {"belief": belief, "positions": positions, "parts": parts, "skips": skips}
