"""Figures of saved runs: a model's entropy on top of the exact one, and how its error fell.

Chapter: chapters/04_training.md      Tests: tests/test_plots_runs.py
Symbols: k-th question of a sequence -> 1 … K on the horizontal axis, H(p) -> exact_entropy_bits, H(q) ->
         model_entropy_bits, KL(p‖q) -> kl_bits

Each function takes the saved results of one run, one a seed, as `mhc_np.lab.results.load_kept` returns them. Every seed
is drawn: thin lines for each, a thick one for their median.
"""

from pathlib import Path

import numpy as np

from mhc_np.lab import plots

WORDS = {"entropy_mae_bits": "entropy error (bits)", "kl_bits": "KL divergence (bits)"}


def by_position(results, name):
    """Return one of the results' columns over positions, shape (seeds, K).

    >>> by_position([{"by_position": {"kl_bits": [0.5, 0.25]}}], "kl_bits")
    array([[0.5 , 0.25]])
    """
    return np.array([result["by_position"][name] for result in results])


def curve(results, name):
    """Return (steps, values) of one measure during training: shapes (looks,) and (seeds, looks)."""
    looks = [result["curves"]["evaluations"] for result in results]
    return np.array(looks[0]["step"]), np.array([look[name] for look in looks])


def draw_entropy(ax, results, *, label=None, colour=plots.BLUE):
    """Draw the exact entropy at each question as a line, and each seed's model as dots on it.

    Parameters
    ----------
    ax : matplotlib axes
    results : list of dicts
    label : str, optional
        Written at the start of the line.
    colour : str

    Returns
    -------
    matplotlib line
        The exact one.
    """
    exact = by_position(results, "exact_entropy_bits").mean(axis=0)
    k = np.arange(1, exact.size + 1)
    (line,) = ax.plot(k, exact, "-", color=plots.GREY, linewidth=1.2)
    for model in by_position(results, "model_entropy_bits"):
        ax.plot(k, model, "o", color=colour, markersize=4, alpha=0.6, markeredgewidth=0)
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.set_xlabel("question k")
    ax.set_ylabel("entropy (bits)")
    if label:
        plots.name_line(line, label, at=0, offset=(-2, 9)).set_color(colour)
    return line


def draw_curve(ax, results, name, *, label=None, colour=plots.BLUE, dash="-"):
    """Draw how a measure fell in training, both axes logarithmic. The look before the first step is left out.

    Returns
    -------
    matplotlib line
        The median over seeds.
    """
    steps, values = curve(results, name)
    seen = steps > 0
    for each in values:
        ax.loglog(steps[seen], each[seen], "-", color=colour, linewidth=0.7, alpha=0.5)
    (line,) = ax.loglog(steps[seen], np.median(values, axis=0)[seen], linestyle=dash, color=colour)
    ax.set_xlabel("step")
    ax.set_ylabel(WORDS.get(name, name))
    if label:
        plots.name_line(line, label)
    return line


def draw_positions(ax, results, name, *, label=None, colour=plots.BLUE, dash="-"):
    """Draw a measure at each question, on a logarithmic axis, as `draw_curve` draws it over steps."""
    values = by_position(results, name)
    k = np.arange(1, values.shape[1] + 1)
    for each in values:
        ax.semilogy(k, each, "-", color=colour, linewidth=0.7, alpha=0.5)
    (line,) = ax.semilogy(k, np.median(values, axis=0), linestyle=dash, color=colour)
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.set_xlabel("question k")
    ax.set_ylabel(WORDS.get(name, name))
    if label:
        plots.name_line(line, label)
    return line


def draw_results(results, path):
    """Draw one run, all its seeds, into a file: entropy against theory above, both errors against steps below.

    Parameters
    ----------
    results : list of dicts
        Saved results of one run.
    path : str or Path
        Its ending decides the format: ``.svg``, ``.pdf``, ``.png``, …

    Raises
    ------
    ValueError
        If there are no results, or they are of different runs.
    """
    names = sorted({result["run"] for result in results})
    if len(names) != 1:
        raise ValueError(f"draw_results: want results of one run, got {names or 'none'}")
    drawing, (above, below) = plots.figure(2, 1, height=5.6)
    draw_entropy(above, results)
    above.set_title(f"{names[0]}: model (dots), exact (line)")
    for name, colour, dash in (("entropy_mae_bits", plots.BLUE, "-"), ("kl_bits", plots.VERMILION, "--")):
        draw_curve(below, results, name, colour=colour, dash=dash).set_label(WORDS[name])
    below.set_ylabel("bits")
    below.legend()
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    drawing.savefig(path, metadata={"Date": None} if str(path).endswith(".svg") else None)
