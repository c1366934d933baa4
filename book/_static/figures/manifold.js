// The value manifold over training: the points on their own two axes, and what the numbers say of them meanwhile.
"use strict";

play.figure("manifold", (box, data) => {
  const { add, set, panel, axes, path, COLOURS, GREY, INK } = sketch;
  const LINES = [
    { key: "pc1_share", words: "share of the first axis", colour: COLOURS[0], dash: "none" },
    { key: "spearman", words: "|ρ| of first axis and entropy", colour: COLOURS[1], dash: "7 4" },
  ];
  const names = Object.keys(data.runs);
  const most = Math.max(...names.map((name) => data.runs[name].points[0].length));

  const panels = play.element("div", { class: "play-panels" });
  const cloud = panel(panels, 320, 320, "What the last attention writes, on its first two axes");
  const chart = panel(panels, 320, 320, "Share of the first axis, and rank correlation with the entropy, against training steps");
  box.append(panels);
  const title = add(cloud, "text", { x: 4, y: 16, fill: INK, class: "play-title" }, "");
  const dots = Array.from({ length: most }, () => add(cloud, "circle", { cx: 160, cy: 160, r: 4.2 }));
  cloud.classList.add("play-moving");
  const ends = [add(cloud, "text", { x: 78, y: 314, "text-anchor": "end", fill: GREY }), add(cloud, "text", { x: 242, y: 314, fill: GREY })];
  for (let k = 0; k < 40; k++) add(cloud, "rect", { x: 84 + 3.8 * k, y: 304, width: 4, height: 10, fill: hue(k / 39) });

  /** From blue by grey to orange, as in the book's other pictures of this cloud. */
  function hue(part) {
    const stops = [[0, 114, 178], [154, 154, 138], [230, 159, 0]];
    const at = 2 * Math.max(0, Math.min(1, part)), low = Math.min(1, Math.floor(at));
    return `rgb(${stops[low].map((from, k) => Math.round(from + (at - low) * (stops[low + 1][k] - from))).join(",")})`;
  }

  function drawCloud(run, moment, shown) {
    const values = run[shown], [low, high] = [Math.min(...values), Math.max(...values)];
    set(title, {}).textContent = `step ${run.frames[moment].toLocaleString("en")}`;
    const unit = shown === "entropy" ? " bits" : "";
    ends[0].textContent = `${shown === "entropy" ? low.toFixed(1) : low + 1}${unit}`;
    ends[1].textContent = `${shown === "entropy" ? high.toFixed(1) : high + 1}${unit || ". place"}`;
    dots.forEach((dot, k) => {
      const point = run.points[moment][k];
      set(dot, { opacity: point ? 0.9 : 0 });
      if (point) set(dot, { cx: 160 + 125 * point[0], cy: 160 - 125 * point[1], fill: hue((values[k] - low) / (high - low || 1)) });
    });
  }

  function drawChart(run, step) {
    chart.replaceChildren();
    const steps = run.curves.step.map((value) => Math.max(1, value)), last = steps[steps.length - 1];
    const scale = axes(chart, { left: 32, top: 14, right: 312, bottom: 232, x: [1, last], xLog: true, y: [0, 1], xLabel: "training step" });
    add(chart, "line", { x1: scale.x(1), x2: scale.x(last), y1: scale.y(0.8), y2: scale.y(0.8), stroke: GREY, "stroke-dasharray": "2 3" });
    add(chart, "text", { x: 36, y: scale.y(0.8) - 5, fill: GREY }, "0.8: what a line would need");
    const at = run.curves.step.indexOf(step);
    add(chart, "line", { x1: scale.x(steps[at]), x2: scale.x(steps[at]), y1: 14, y2: 232, stroke: GREY, "stroke-dasharray": "2 3" });
    LINES.forEach(({ key, words, colour, dash }, k) => {
      const points = run.curves[key].map((value, l) => [scale.x(steps[l]), scale.y(value)]);
      add(chart, "path", { d: path(points), fill: "none", stroke: colour, "stroke-width": 2.2, "stroke-dasharray": dash });
      add(chart, "circle", { cx: points[at][0], cy: points[at][1], r: 4.5, fill: colour });
      const y = 284 + 20 * k;
      add(chart, "line", { x1: 32, x2: 62, y1: y, y2: y, stroke: colour, "stroke-width": 2.2, "stroke-dasharray": dash });
      add(chart, "text", { x: 70, y: y + 4, fill: INK }, words);
    });
  }

  const frames = Math.max(...names.map((name) => data.runs[name].frames.length));
  const wanted = {
    moment: { label: "Moment of training", min: 0, max: frames - 1, start: frames - 1, pace: 700, words: (k) => `${k + 1} of ${frames}` },
    run: { label: "Task", options: Object.fromEntries(names.map((name) => [name, data.runs[name].words])), start: names[0] },
    shown: { label: "Colour", options: { entropy: "entropy", position: "place in the sequence" }, start: "entropy" },
  };
  play.knobs(box, wanted, (at) => {
    const run = data.runs[at.run], moment = Math.min(at.moment, run.frames.length - 1), step = run.frames[moment];
    drawCloud(run, moment, at.shown);
    drawChart(run, step);
    const k = run.curves.step.indexOf(step);
    return `Step ${step.toLocaleString("en")}: the first axis has <b data-value="pc1_share">${(100 * run.curves.pc1_share[k]).toFixed(1)}</b> % of the variance, ` +
      `its rank correlation with the entropy is <b data-value="spearman">${run.curves.spearman[k].toFixed(2)}</b>, ` +
      `and the answers are <b data-value="kl">${run.curves.kl_bits[k].toPrecision(2)}</b> bits off.`;
  });
});
