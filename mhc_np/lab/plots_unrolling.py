"""The value manifold over training: a still for print, and a page element that can be played or pulled along.

Chapter: chapters/06_geometry.md      Tests: tests/test_plots_unrolling.py
Symbols: one frame a snapshot -> frames, points on the snapshot's own two axes -> coordinates (N, 2), H(p) -> shade

The element is one piece of HTML: an SVG, a slider and a few lines of script. It loads nothing, it moves only when it is
asked to, in jumps where the reader's system asks for less motion, and without scripts it shows the last frame.
"""

import json
from string import Template

import matplotlib
import numpy as np

from mhc_np.lab import plots

SIZE = 300  # of the picture, in its own units
SHADES = matplotlib.colors.LinearSegmentedColormap.from_list("shades", [plots.BLUE, "#9a9a8a", plots.ORANGE])
ELEMENT = Template("""\
<figure class="unrolling" id="$name" style="max-width: 26rem; margin: 1rem auto">
<svg viewBox="0 0 $size $size" role="img" aria-label="$label" style="width: 100%; background: none">
$circles
<text x="8" y="18" fill="$grey" font-size="13">$last</text>
</svg>
<div style="display: flex; gap: .6rem; align-items: center">
<button type="button" aria-label="Play the training">Play</button>
<input type="range" min="0" max="$end" step="0.01" value="$end" aria-label="Moment of training" style="flex: 1">
</div>
<figcaption>$caption</figcaption>
<script>
(() => {
  const data = $data, box = document.getElementById("$name");
  const dots = box.querySelectorAll("circle"), text = box.querySelector("text");
  const slider = box.querySelector("input"), button = box.querySelector("button");
  const calm = matchMedia("(prefers-reduced-motion: reduce)");
  let timer = null;
  const show = () => {
    const at = +slider.value, k = Math.min(Math.floor(at), data.length - 2), part = at - k;
    const [a, b] = [data[k].points, data[k + 1].points];
    dots.forEach((dot, i) => {
      dot.setAttribute("cx", a[i][0] + part * (b[i][0] - a[i][0]));
      dot.setAttribute("cy", a[i][1] + part * (b[i][1] - a[i][1]));
    });
    text.textContent = data[Math.round(at)].words;
  };
  const stop = () => { clearInterval(timer); timer = null; button.textContent = "Play"; };
  button.onclick = () => {
    if (timer) return stop();
    if (+slider.value >= data.length - 1) slider.value = 0;
    button.textContent = "Stop";
    const pace = calm.matches ? [1, 900] : [0.05, 40];
    timer = setInterval(() => {
      slider.value = Math.min(data.length - 1, +slider.value + pace[0]);
      show();
      if (+slider.value >= data.length - 1) stop();
    }, pace[1]);
  };
  slider.oninput = () => { stop(); show(); };
})();
</script>
<style>
@media print { #$name > div { display: none !important } }
div:has(> #$name) { background: none !important; color: inherit !important; padding: 0 !important }
</style>
</figure>""")


class Element(str):
    """HTML that a notebook shows as it is."""

    def _repr_html_(self):
        return str(self)

    def __repr__(self):
        """Return a few words: in a console a page of HTML helps nobody."""
        return f"<Element of {len(self)} characters>"


def element(result, name, *, label, caption):
    """Build the page element of one run.

    Parameters
    ----------
    result : dict
        Of a seed that keeps frames: ``drift`` has ``unrolling``.
    name : str
        The element's id, unique on its page.
    label : str
        What is to be seen, for those who cannot see it.
    caption : str

    Returns
    -------
    Element
    """
    kept = result["drift"]["unrolling"]
    frames = kept["frames"]
    data = [{"words": words(frame), "points": _pixels(frame)} for frame in frames]
    circles = "\n".join(
        f'<circle cx="{x}" cy="{y}" r="4" fill="{colour}"/>'
        for (x, y), colour in zip(data[-1]["points"], shades(kept["entropy_bits"]), strict=True)
    )
    parts = {"name": name, "size": SIZE, "label": label, "caption": caption, "circles": circles, "grey": plots.GREY}
    parts |= {"last": data[-1]["words"], "end": len(frames) - 1, "data": json.dumps(data, separators=(",", ":"))}
    return Element(ELEMENT.substitute(parts))


def words(frame):
    """Say where in training a frame is, and how much of the spread lies on the first axis."""
    return f"step {frame['step']:,}: first axis {100 * frame['pc1_share']:.0f} %, ρ = {frame['spearman']:.2f}"


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
        ax.scatter(*_scaled(frames[k]).T, c=shades(kept["entropy_bits"]), s=9, linewidths=0)
        ax.set(xlim=(-1.05, 1.05), ylim=(-1.05, 1.05), aspect="equal", xticks=[], yticks=[])
        ax.set_title(f"step {frames[k]['step']:,}", fontsize=9)
    return drawing


def _scaled(frame):
    """Return the points of a frame with their largest coordinate at one: each frame fills its picture."""
    points = np.array(frame["coordinates"])
    return points / np.abs(points).max()


def _pixels(frame):
    """Return the points of a frame in units of the picture, y downwards."""
    return (SIZE / 2 + 0.9 * SIZE / 2 * _scaled(frame) * [1, -1]).round(1).tolist()
