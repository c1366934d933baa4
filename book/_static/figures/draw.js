// Small vector graphics for the interactive figures: shapes, axes, tiles. Colours are those of mhc_np/lab/plots.py.
"use strict";

const sketch = (() => {
  const NAMESPACE = "http://www.w3.org/2000/svg";
  const STYLED = new Set(["fill", "stroke", "opacity"]); // may be var(--play-…), so that they follow the theme
  const COLOURS = ["blue", "vermilion", "green", "pink", "orange", "sky"].map((name) => `var(--play-${name})`);
  const GREY = "var(--play-grey)", FAINT = "var(--play-faint)", INK = "var(--play-ink)";

  // matplotlib's cividis, at eleven places
  const CIVIDIS = ["#00224e", "#083370", "#35456c", "#4f576c", "#666970", "#7d7c78", "#948e77", "#aea371", "#c8b866",
    "#e5cf52", "#fee838"];

  /** Add a shape to a parent and return it. */
  function add(parent, tag, attributes = {}, text = null) {
    const made = document.createElementNS(NAMESPACE, tag);
    if (text !== null) made.textContent = text;
    parent.append(made);
    return set(made, attributes);
  }

  /** Change attributes of a shape. */
  function set(shape, attributes) {
    for (const [name, value] of Object.entries(attributes)) {
      if (STYLED.has(name)) shape.style.setProperty(name, value);
      else shape.setAttribute(name, value);
    }
    return shape;
  }

  /** Add a panel to a figure: width and height are in pixels of a phone, on which it fills the column. */
  function panel(parent, width, height, label) {
    return add(parent, "svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label });
  }

  /** Return a colour of cividis, 0 to 1, and the ink that reads on it. */
  function shade(part) {
    const at = Math.max(0, Math.min(1, Number.isFinite(part) ? part : 0)) * (CIVIDIS.length - 1);
    const low = Math.min(Math.floor(at), CIVIDIS.length - 2);
    const channel = (colour, k) => parseInt(colour.slice(1 + 2 * k, 3 + 2 * k), 16);
    const mixed = [0, 1, 2].map((k) => {
      const [a, b] = [channel(CIVIDIS[low], k), channel(CIVIDIS[low + 1], k)];
      return Math.round(a + (at - low) * (b - a));
    });
    return { fill: `rgb(${mixed.join(",")})`, ink: part > 0.47 ? "black" : "white" };
  }

  /** Clip a polyline's points to text; what is not finite breaks the line. */
  function path(points) {
    let pen = "M";
    return points.map(([x, y]) => {
      if (!Number.isFinite(x) || !Number.isFinite(y)) return ((pen = "M"), "");
      const piece = `${pen}${x.toFixed(1)} ${y.toFixed(1)}`;
      pen = "L";
      return piece;
    }).join("");
  }

  /** Round numbers for the ticks of an axis, about `count` of them. */
  function ticks(low, high, count = 5) {
    const rough = (high - low) / count, unit = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((k) => k * unit).find((k) => k >= rough);
    const found = [];
    for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++) found.push(k * step);
    return found;
  }

  /** Powers of ten for a logarithmic axis, at most about `count`. */
  function decades(low, high, count = 5) {
    const [a, b] = [Math.ceil(Math.log10(low) - 1e-9), Math.floor(Math.log10(high) + 1e-9)];
    const step = Math.max(1, Math.ceil((b - a) / count));
    const found = [];
    for (let k = a; k <= b; k += step) found.push(k);
    return found.map((k) => 10 ** k);
  }

  const SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹";
  /** Write a power of ten, or a number near one, as people do. */
  function tickWords(value) {
    const power = Math.round(Math.log10(value));
    if (value === 0 || (Math.abs(power) < 3 && value < 1000)) return String(+value.toPrecision(3));
    return "10" + String(power).replace("-", "⁻").replace(/\d/g, (digit) => SUPERSCRIPTS[digit]);
  }

  /** Draw axes into a rectangle and return the two scales: {x, y: [low, high], log: is y logarithmic, …}. */
  function axes(parent, { left, top, right, bottom, x, y, log, xLog, xTicks, yTicks, xLabel, yLabel }) {
    const across = xLog ? Math.log10 : (value) => value, up = log ? Math.log10 : (value) => value;
    const place = (value, [low, high], map, from, to) =>
      from + ((map(value) - map(low)) / (map(high) - map(low) || 1)) * (to - from);
    const atX = (value) => place(value, x, across, left, right);
    const atY = (value) => place(log ? Math.max(value, 1e-300) : value, y, up, bottom, top);
    const group = add(parent, "g", { class: "play-axes" });
    for (const value of yTicks ?? (log ? decades(...y) : ticks(...y))) {
      add(group, "line", { x1: left, x2: right, y1: atY(value), y2: atY(value), stroke: FAINT });
      add(group, "text", { x: left - 5, y: atY(value) + 4, "text-anchor": "end", fill: GREY }, tickWords(value));
    }
    for (const value of xTicks ?? (xLog ? decades(...x) : ticks(...x))) {
      add(group, "text", { x: atX(value), y: bottom + 15, "text-anchor": "middle", fill: GREY }, tickWords(value));
    }
    add(group, "line", { x1: left, x2: right, y1: bottom, y2: bottom, stroke: GREY });
    if (xLabel) add(group, "text", { x: right, y: bottom + 30, "text-anchor": "end", fill: GREY }, xLabel);
    if (yLabel) add(group, "text", { x: left - 5, y: top - 9, "text-anchor": "start", fill: GREY }, yLabel);
    return { x: atX, y: atY, group };
  }

  return { add, set, panel, shade, path, axes, ticks, decades, tickWords, COLOURS, GREY, FAINT, INK, CIVIDIS };
})();

if (typeof module === "object") module.exports = sketch;
