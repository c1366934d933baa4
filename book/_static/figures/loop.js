// The loop of attention and values, step by step: weights choose whose errors a value hears, values choose the weights.
"use strict";

play.figure("loop", (box, data) => {
  const { add, set, panel, shade, path, axes, COLOURS, GREY, FAINT, INK } = sketch;
  const { labels, corners, keep, courses } = data;
  const [queries, sources] = [labels.length, courses.both.values[0].length];
  const letter = (query) => "abc"[labels[query]];
  const NEUTRAL = "var(--play-neutral)", inkOn = (owner) => (owner > 0 ? "black" : "white"); // that reads on its colour
  const dot = (a, b) => a.reduce((total, x, k) => total + x * b[k], 0);
  const total = (list) => list.reduce((a, b) => a + b, 0);

  /** Everything that the laws say at one moment, from weights and values. */
  function laws(weights, values) {
    const out = weights.map((row) => corners[0].map((_, k) => total(row.map((w, j) => w * values[j][k]))));
    const probs = out.map((g) => {
      const scores = corners.map((corner) => Math.exp(dot(corner, g)));
      return scores.map((x) => x / total(scores));
    });
    const errors = probs.map((p, i) => corners[0].map((_, k) => total(p.map((x, c) => (x - (c === labels[i])) * corners[c][k]))));
    const alignment = errors.map((u) => values.map((v) => dot(u, v)));
    const advantage = alignment.map((row, i) => row.map((b) => dot(weights[i], row) - b));
    const push = advantage.map((row, i) => row.map((a, j) => weights[i][j] * a));
    const pull = values.map((_, j) => corners[0].map((_, k) => -total(weights.map((row, i) => row[j] * errors[i][k]))));
    const loss = -total(probs.map((p, i) => Math.log(p[labels[i]])));
    return { out, probs, errors, advantage, push, pull, loss };
  }

  const panels = play.element("div", { class: "play-panels" });
  const tiles = panel(panels, 320, 300, "Weights of six queries on five sources, and the push on each score");
  const plane = panel(panels, 320, 300, "The values of the sources in the plane, and their pulls");
  box.append(panels);
  let reach = 1; // what the plane shows; it zooms out as the values move apart
  const x = (value) => 160 + (105 * value) / reach, y = (value) => 166 - (105 * value) / reach;

  /** A label's letter on its colour. */
  function label(parent, cx, cy, c) {
    add(parent, "rect", { x: cx - 9, y: cy - 9, width: 18, height: 18, rx: 4, fill: COLOURS[c] });
    add(parent, "text", { x: cx, y: cy + 4, "text-anchor": "middle", fill: inkOn(c), class: "play-title" }, "abc"[c]);
  }

  function drawWeights(weights, push, follow) {
    tiles.replaceChildren();
    add(tiles, "text", { x: 4, y: 16, fill: INK, class: "play-title" }, "weights, and the push on each score");
    const strongest = Math.max(1e-9, ...push.flat().map(Math.abs));
    const [left, top, wide, high] = [58, 46, 52, 40];
    for (let j = 0; j < sources; j++) add(tiles, "text", { x: left + wide * (j + 0.5), y: 38, "text-anchor": "middle", fill: GREY }, String(j));
    weights.forEach((row, i) => {
      label(tiles, 14, top + high * (i + 0.5), labels[i]);
      add(tiles, "text", { x: 29, y: top + high * (i + 0.5) + 4, fill: GREY }, `q${i}`);
      row.forEach((weight, j) => {
        const { fill, ink } = shade(weight);
        const [cx, cy] = [left + wide * (j + 0.5) - 1, top + high * (i + 0.5) - 1];
        add(tiles, "rect", { x: left + wide * j, y: top + high * i, width: wide - 2, height: high - 2, rx: 3, fill });
        const part = push[i][j] / strongest, half = 8 * Math.sqrt(Math.abs(part)), sign = Math.sign(part);
        if (Math.abs(part) > 0.03) {
          const d = `M${cx - half} ${cy + sign * half * 0.8}L${cx + half} ${cy + sign * half * 0.8}L${cx} ${cy - sign * half}Z`;
          add(tiles, "path", { d, fill: ink });
        }
      });
    });
    const frame = { fill: "none", stroke: COLOURS[1], "stroke-width": 3, rx: 4 };
    if (follow[0] === "q") add(tiles, "rect", { ...frame, x: left - 2, y: top + high * +follow[1] - 2, width: wide * sources + 2, height: high + 2 });
    if (follow[0] === "s") add(tiles, "rect", { ...frame, x: left + wide * +follow[1] - 2, y: top - 2, width: wide + 2, height: high * queries + 2 });
  }

  function arrow(from, by, colour, width) {
    const length = Math.hypot(...by);
    if (length < 1.5) return;
    const [tip, side] = [from.map((p, k) => p + by[k]), [-by[1] / length, by[0] / length]];
    const back = tip.map((p, k) => p - (7 * by[k]) / length);
    add(plane, "line", { x1: from[0], y1: from[1], x2: back[0], y2: back[1], stroke: colour, "stroke-width": width });
    const wings = [1, -1].map((s) => back.map((p, k) => p + s * 4 * side[k]).join(" "));
    add(plane, "path", { d: `M${tip.join(" ")}L${wings[0]}L${wings[1]}Z`, fill: colour });
  }

  function drawPlane(weights, values, found, follow) {
    plane.replaceChildren();
    add(plane, "text", { x: 4, y: 16, fill: INK, class: "play-title" }, "values, and their pulls");
    for (const radius of [0.25, 0.5, 1, 2, 3, 4].filter((r) => r < 1.15 * reach && r > 0.3 * reach)) {
      add(plane, "circle", { cx: 160, cy: 166, r: (105 * radius) / reach, fill: "none", stroke: FAINT });
      add(plane, "text", { x: 160 + (105 * radius) / reach + 3, y: 170, fill: GREY }, String(radius));
    }
    corners.forEach((corner, c) => {
      add(plane, "line", { x1: x(0), y1: y(0), x2: x(corner[0] * reach * 1.12), y2: y(corner[1] * reach * 1.12), stroke: FAINT, "stroke-width": 2 });
      label(plane, x(corner[0] * reach * 1.25), y(corner[1] * reach * 1.25), c);
    });
    const at = values.map((v) => [x(v[0]), y(v[1])]);
    const longest = Math.max(1e-9, ...found.pull.map((p) => Math.hypot(...p)));
    const draw = (p) => [(46 * p[0]) / longest, (-46 * p[1]) / longest];
    if (follow[0] === "q") {
      const i = +follow[1], g = [x(found.out[i][0]), y(found.out[i][1])];
      at.forEach((point, j) => add(plane, "line", { x1: g[0], y1: g[1], x2: point[0], y2: point[1], stroke: COLOURS[5], "stroke-width": 0.5 + 5 * weights[i][j] }));
      const u = found.errors[i], size = Math.hypot(...u) || 1;
      arrow(g, [(-40 * u[0]) / size, (40 * u[1]) / size], COLOURS[1], 2.5);
      add(plane, "rect", { x: g[0] - 6, y: g[1] - 6, width: 12, height: 12, fill: COLOURS[1] });
    } else {
      found.pull.forEach((p, j) => (follow === "all" || +follow[1] === j) && arrow(at[j], draw(p), follow === "all" ? GREY : COLOURS[1], 2.5));
      if (follow[0] === "s") {
        const j = +follow[1];
        weights.forEach((row, i) => arrow(at[j], draw(found.errors[i].map((u) => -u * row[j])), COLOURS[labels[i]], 1.5));
      }
    }
    at.forEach((point, j) => {
      const owner = weights.reduce((best, row, i) => (row[j] > weights[best][j] ? i : best), 0);
      const claimed = weights[owner][j] > 0.5;
      add(plane, "circle", { cx: point[0], cy: point[1], r: 9, fill: claimed ? COLOURS[labels[owner]] : NEUTRAL });
      const ink = inkOn(claimed ? labels[owner] : 0);
      add(plane, "text", { x: point[0], y: point[1] + 4, "text-anchor": "middle", fill: ink, class: "play-title" }, String(j));
    });
  }

  function say(follow, weights, found) {
    const loss = `Loss <b data-value="loss">${found.loss.toFixed(3)}</b> nats. `;
    if (follow === "all") return loss + "Triangles: where descent pushes a score. Arrows: where the errors of its readers pull a value.";
    const k = +follow[1];
    if (follow[0] === "q") {
      const j = found.push[k].indexOf(Math.max(...found.push[k]));
      return loss + `Query ${k} (label ${letter(k)}) gives its label the probability ${found.probs[k][labels[k]].toFixed(3)}. ` +
        `It would best read more of source ${j}: weight ${weights[k][j].toFixed(3)}, advantage ` +
        `<b data-value="advantage">${found.advantage[k][j].toFixed(3)}</b>, push ${found.push[k][j].toFixed(3)}. ` +
        "Square: what it reads now. Arrow: where its error would have it.";
    }
    const heard = total(weights.map((row) => row[k]));
    const most = weights.reduce((best, row, i) => (row[k] > weights[best][k] ? i : best), 0);
    return loss + `Source ${k} is read with a total weight of <b data-value="heard">${heard.toFixed(3)}</b>, most by query ${most} (label ${letter(most)}), ` +
      `and pulled by <b data-value="pull">${Math.hypot(...found.pull[k]).toFixed(3)}</b>. Thin arrows: the share of each query, in the colour of its label.`;
  }

  const follow = { all: "everything" };
  for (let i = 0; i < queries; i++) follow[`q${i}`] = `query ${i}, label ${letter(i)}`;
  for (let j = 0; j < sources; j++) follow[`s${j}`] = `source ${j}`;
  const wanted = {
    step: { label: "Step of descent", values: keep, start: 0, pace: 350 },
    course: { label: "What may move", options: { both: "both", frame_frozen: "values only", values_frozen: "weights only" }, start: "both" },
    follow: { label: "Follow", options: follow, start: "all" },
  };
  play.knobs(box, wanted, (at) => {
    const moment = keep.indexOf(at.step), course = courses[at.course];
    const [weights, values] = [course.weights[moment], course.values[moment]];
    const found = laws(weights, values);
    reach = 1.1 * Math.max(...values.map((v) => Math.hypot(...v)));
    drawWeights(weights, found.push, at.follow);
    drawPlane(weights, values, found, at.follow);
    return say(at.follow, weights, found);
  });
});
