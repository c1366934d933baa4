"""The value manifold over training: a still of a few moments, and the colours that entropy has in every picture of it.

Chapter: chapters/06_geometry.md      Tests: tests/test_plots_unrolling.py
Symbols: one frame a snapshot -> frames, points on the snapshot's own two axes -> coordinates (N, 2), H(p) -> shade

Its interactive figure is built in `mhc_np.lab.plots_interactive`.
"""

import matplotlib
import numpy as np

from mhc_np.lab import plots

SHADES = matplotlib.colors.LinearSegmentedColormap.from_list("shades", [plots.BLUE, "#9a9a8a", plots.ORANGE])


def shades(entropy):
    """Return a colour for each entropy, blue for none, as text that HTML and matplotlib both take."""
    entropy = np.asarray(entropy, np.float64)
    part = (entropy - entropy.min()) / max(np.ptp(entropy), 1e-12)
    return [matplotlib.colors.to_hex(colour) for colour in SHADES(part)]


def still(results, run, moments=4):
    """Draw a few frames of one run side by side and return the drawing."""
    kept = next(result["drift"]["unrolling"] for result in results[run] if "unrolling" in result["drift"])
    frames = kept["frames"]
    chosen = np.linspace(0, len(frames) - 1, moments + 1).round().astype(int)[1:]  # the first moves are small
    drawing, axes = plots.figure(2, moments // 2, height=4.6)
    for ax, k in zip(axes.flat, [0, *chosen[1:]], strict=True):
        ax.scatter(*scaled(frames[k]).T, c=shades(kept["entropy_bits"]), s=9, linewidths=0, clip_on=False)
        ax.set(xlim=(-1.05, 1.05), ylim=(-1.05, 1.05), aspect="equal", xticks=[], yticks=[])
        ax.set_title(f"step {frames[k]['step']:,}", fontsize=9)
    return drawing


def scaled(frame):
    """Return the points of a frame with their largest coordinate at one: each frame fills its picture."""
    points = np.array(frame["coordinates"])
    return points / np.abs(points).max()
