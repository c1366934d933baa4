"""The interactive figures of the book: which numbers each is given, and its still.

Chapter: chapters/13_mhc.md      Tests: tests/test_interactive.py
Symbols: p -> exact, q -> probs, α_ij -> weights, raw H_res -> matrices, H(p) -> entropy_bits

What they draw, and how, is in `book/_static/figures`; what they are told is here. See `mhc_np.lab.interactive`.
"""

import numpy as np

from mhc_np import ops
from mhc_np.lab import plots, plots_em, plots_unrolling
from mhc_np.lab.interactive import interactive
from mhc_np.measure import gains

ITERATIONS = (0, 1, 2, 3, 5, 10, 20, 50, 100)
SIZES = (0, 0.25, 0.5, 0.75, 1, 1.5, 2, 3, 4, 6, 8)


def mixings(name, networks, *, questions, label):
    """Build the figure of Sinkhorn: iterations × depth × size of the deviation.

    Parameters
    ----------
    name : str
        The element's id.
    networks : dict
        key -> ``words``; ``projected``: whether Sinkhorn makes the mixings of the matrices; ``start`` (n, n), the point
        that deviations are counted from; ``matrices`` (tokens, L, n, n), raw where they are projected.
    questions : list of ints
        Which tokens those are.
    label : str

    Returns
    -------
    mhc_np.lab.interactive.Interactive
    """
    depth = min(np.shape(network["matrices"])[1] for network in networks.values())
    drawing, (left, right) = plots.figure(1, 2, height=2.6)
    for network in networks.values():
        if network["projected"]:
            plans = ops.sinkhorn(np.array(network["matrices"])[-1], 20)
            products = [gains.composite(plans[:k]) for k in range(1, depth + 1)]
            count = np.arange(1, depth + 1)
            left.plot(count, gains.backward_gain(products), label=network["words"])
            right.semilogy(count, np.maximum(gains.singular_values(products)[:, 1], 1e-16))
    left.set(xlabel="mixings in the product", ylabel="backward gain", ylim=(0.9, None))
    right.set(xlabel="mixings in the product", ylabel=r"$\sigma_2$", ylim=(1e-6, 2))
    drawing.legend(*left.get_legend_handles_labels(), loc="outside upper center", ncols=1, fontsize=8)
    tokens = [f"question {question}" for question in questions]
    data = {"networks": networks, "depth": depth, "tokens": tokens, "sizes": SIZES, "iterations": ITERATIONS}
    return interactive("sinkhorn", name, data, still=drawing, label=label, digits=5)


def posterior(name, questions, answers, exact, *, label):
    """Build the figure of the bijection's posterior beside a network's answers, as pairs are revealed.

    Parameters
    ----------
    name : str
        The element's id.
    questions : (keys, values)
        Two (sequences, V) arrays of ints.
    answers : dict
        step of training -> (sequences, V, V), the network's probabilities at each question.
    exact : (sequences, V, V) floats
    label : str

    Returns
    -------
    mhc_np.lab.interactive.Interactive
    """
    steps = list(answers)
    num_symbols = np.shape(exact)[-1]
    drawing, axes = plots.figure(3, 1, height=4.2, sharex=True)
    for ax, k in zip(axes, (0, num_symbols // 2, num_symbols - 2), strict=True):
        at = np.arange(num_symbols)
        ax.bar(at - 0.2, exact[0][k], 0.4, color=plots.GREY, label="exact")
        ax.bar(at + 0.2, answers[steps[-1]][0][k], 0.4, color=plots.BLUE, label=f"network, step {steps[-1]}")
        ax.set_title(f"question {k + 1}, {num_symbols - k} values left", fontsize=9)
        ax.grid(axis="x")
    drawing.legend(*axes[0].get_legend_handles_labels(), fontsize=8, ncols=2, loc="outside upper center")
    axes[-1].set(xlabel="value", xticks=range(num_symbols))
    data = {"keys": questions[0], "values": questions[1], "steps": steps, "exact": exact}
    data["probs"] = [answers[step] for step in steps]
    return interactive("posterior", name, data, still=drawing, label=label)


def loop(name, result, *, label):
    """Build the figure of the feedback loop, step by step, from a result of `mhc_np.lab.em_laws.loop`."""
    drawing, axes = plots.figure(1, 2, height=2.4)
    plots_em.draw_loop(axes[None], result, moments=[len(result["keep"]) // 2])
    courses = {course: {key: kept[key] for key in ("weights", "values")} for course, kept in result["courses"].items()}
    data = {key: result[key] for key in ("labels", "corners", "keep")} | {"courses": courses}
    return interactive("loop", name, data, still=drawing, label=label, digits=5)


def unrolling(name, results, *, words, label):
    """Build the figure of the value manifold over training.

    Parameters
    ----------
    name : str
        The element's id.
    results : dict
        run -> its result with frames (see `mhc_np.lab.drifting.unrolling`).
    words : dict
        run -> what to call it.
    label : str

    Returns
    -------
    mhc_np.lab.interactive.Interactive
    """
    runs, first = {}, next(iter(results))
    for run, result in results.items():
        kept, curves = result["drift"]["unrolling"], result["drift"]["curves"]
        points = [plots_unrolling.scaled(frame) for frame in kept["frames"]]
        runs[run] = {
            "words": words[run],
            "entropy": np.round(kept["entropy_bits"], 3),
            "position": kept["position"],
            "frames": [frame["step"] for frame in kept["frames"]],
            "points": [np.round(each, 3) for each in points],
            "curves": {key: curves[key] for key in ("step", "pc1_share", "spearman", "kl_bits")},
        }
    still = plots_unrolling.still({first: [results[first]]}, first)
    return interactive("manifold", name, {"runs": runs}, still=still, label=label, digits=4)
