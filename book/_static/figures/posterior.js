// The bijection's posterior as pairs are revealed, beside a network's answers at some moments of its training.
"use strict";

play.figure("posterior", (box, data) => {
  const { add, set, panel, axes, path, COLOURS, GREY, FAINT, INK } = sketch;
  const size = data.exact[0].length; // symbols, and questions
  const bits = (p) => -p.reduce((total, x) => total + (x > 0 ? x * Math.log2(x) : 0), 0);
  const divergence = (p, q) => p.reduce((total, x, v) => total + (x > 0 ? x * Math.log2(x / q[v]) : 0), 0);

  const cards = play.element("div", { class: "play-cards" });
  const panels = play.element("div", { class: "play-panels" });
  const bars = panel(panels, 334, 250, "Probability of each value: exact, and the network's");
  const curve = panel(panels, 334, 250, "Entropy at each question: exact, and the network's");
  box.append(cards, panels);

  // bars stay where they are and change their height
  const scale = axes(bars, { left: 34, top: 26, right: 334, bottom: 196, x: [0, size], y: [0, 1], xTicks: [], yLabel: "probability" });
  const step = (334 - 34) / size, each = [];
  for (let v = 0; v < size; v++) {
    const x = 34 + step * v;
    const exact = add(bars, "rect", { x: x + 0.12 * step, width: 0.34 * step, fill: GREY });
    const model = add(bars, "rect", { x: x + 0.52 * step, width: 0.34 * step, fill: COLOURS[0] });
    const name = add(bars, "text", { x: x + step / 2, y: 213, "text-anchor": "middle", fill: INK }, String(v));
    const strike = add(bars, "line", { x1: x + 0.25 * step, x2: x + 0.75 * step, y1: 209, y2: 209, stroke: INK, "stroke-width": 1.5 });
    each.push({ exact, model, name, strike });
  }
  bars.classList.add("play-moving");
  [["exact", GREY, 34], ["network", COLOURS[0], 92], ["leak (used values)", COLOURS[1], 168]].forEach(([words, fill, x]) => {
    add(bars, "rect", { x, y: 232, width: 11, height: 11, fill });
    add(bars, "text", { x: x + 15, y: 242, fill: INK }, words);
  });

  const highest = Math.log2(size);
  const places = Array.from({ length: size }, (_, k) => k + 1);
  const plot = axes(curve, { left: 30, top: 26, right: 326, bottom: 196, x: [0.6, size + 0.4], y: [0, highest * 1.08],
    xTicks: places, xLabel: "question", yLabel: "entropy (bits)" });
  const line = add(curve, "path", { fill: "none", stroke: GREY, "stroke-width": 2 });
  const ring = add(curve, "circle", { r: 9, fill: "none", stroke: INK, "stroke-width": 1.5 });
  const dots = places.map((k) => add(curve, "circle", { cx: plot.x(k), r: 4.5, fill: COLOURS[0] }));
  curve.classList.add("play-moving");

  function drawCards(sequence, known) {
    const pairs = data.keys[sequence].map((key, k) => {
      const state = k < known ? "is-known" : k === known ? "is-asked" : "is-hidden";
      const words = k < known ? `${key}→${data.values[sequence][k]}` : k === known ? `${key}→?` : "·";
      return play.element("span", { class: state }, words);
    });
    cards.replaceChildren(...pairs);
  }

  const sequences = data.keys.length;
  const wanted = {
    known: { label: "Pairs revealed", min: 0, max: size - 1, start: 3, pace: 1100 },
    step: { label: "Steps of training", values: data.steps, start: data.steps[data.steps.length - 1], pace: 900 },
    sequence: { label: "Sequence", min: 1, max: sequences, start: 1, words: (k) => `${k} of ${sequences}` },
  };
  play.knobs(box, wanted, ({ known, step, sequence }) => {
    const s = sequence - 1, moment = data.steps.indexOf(step);
    const exact = data.exact[s], probs = data.probs[moment][s];
    const [p, q] = [exact[known], probs[known]];
    drawCards(s, known);
    let leak = 0;
    each.forEach(({ exact: left, model: right, name, strike }, v) => {
      const used = p[v] === 0;
      if (used) leak += q[v];
      set(left, { y: scale.y(p[v]), height: 196 - scale.y(p[v]) });
      set(right, { y: scale.y(q[v]), height: 196 - scale.y(q[v]), fill: COLOURS[used ? 1 : 0] });
      set(name, { fill: used ? GREY : INK });
      set(strike, { opacity: used ? 1 : 0 });
    });
    set(line, { d: path(places.map((k) => [plot.x(k), plot.y(bits(exact[k - 1]))])) });
    dots.forEach((dot, k) => set(dot, { cy: plot.y(bits(probs[k])), opacity: k <= known ? 1 : 0.3 }));
    set(ring, { cx: plot.x(known + 1), cy: plot.y(bits(probs[known])) });
    const left = size - known;
    return `Key ${data.keys[s][known]} is asked, ${left} value${left === 1 ? " is" : "s are"} left. ` +
      `Exact: ${left === 1 ? "certain" : `1/${left} each`}, <b>${(bits(p) + 0).toFixed(3)}</b> bits. ` +
      `Network after ${step} steps: <b data-value="entropy">${bits(q).toFixed(3)}</b> bits, ` +
      `<b data-value="leak">${(100 * leak).toFixed(2)}</b> % of it on used values; ` +
      `KL <b data-value="kl">${divergence(p, q).toFixed(4)}</b> bits.`;
  });
});
