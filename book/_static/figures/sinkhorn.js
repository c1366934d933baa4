// Sinkhorn iterations × depth × size of the deviation: gains, σ₂ and the matrix, for trained and for random mixings.
"use strict";

play.figure("sinkhorn", (box, data) => {
  const { add, set, panel, shade, path, axes, COLOURS, GREY, INK } = sketch;
  const LINES = [
    { name: "forward gain", colour: COLOURS[0], dash: "none" },
    { name: "backward gain", colour: COLOURS[1], dash: "7 4" },
    { name: "σ₂", colour: COLOURS[2], dash: "9 3 2 3" },
  ];
  const SIZE = 60, depth = data.depth;

  const panels = play.element("div", { class: "play-panels" });
  const tiles = panel(panels, 320, 320, "The matrix as tiles, with the sums of its rows and columns");
  const chart = panel(panels, 340, 320, "Gains and second singular value of the product against its number of mixings");
  box.append(panels);

  /** What the readers see of a number in a tile of SIZE pixels. */
  function short(value) {
    const size = Math.abs(value);
    if (size >= 1000) return value.toExponential(0).replace("e+", "e");
    return value.toFixed(size >= 100 ? 0 : size >= 10 ? 1 : 2).replace("-", "−");
  }

  function drawMatrix(H, title) {
    tiles.replaceChildren();
    add(tiles, "text", { x: 4, y: 16, fill: INK, class: "play-title" }, title);
    const [left, top] = [4, 28], sums = [mixing.rowSums(H), mixing.columnSums(H)];
    H.forEach((row, i) => row.forEach((value, j) => {
      const { fill, ink } = shade(value);
      add(tiles, "rect", { x: left + SIZE * j, y: top + SIZE * i, width: SIZE - 2, height: SIZE - 2, rx: 3, fill });
      const at = { x: left + SIZE * (j + 0.5) - 1, y: top + SIZE * (i + 0.5) + 4, "text-anchor": "middle", fill: ink };
      add(tiles, "text", at, short(value));
    }));
    sums.forEach((list, side) => list.forEach((value, k) => {
      const along = SIZE * (k + 0.5) + 4, away = 4 * SIZE;
      const place = side ? { x: left + along - 5, y: top + away + 18 } : { x: left + away + 24, y: top + along };
      const off = Math.abs(value - 1) > 0.005;
      add(tiles, "text", { ...place, "text-anchor": "middle", fill: off ? INK : GREY, class: off ? "play-off" : "" }, short(value));
    }));
    add(tiles, "text", { x: left + 4 * SIZE + 24, y: 20, "text-anchor": "middle", fill: GREY }, "row sums");
    add(tiles, "text", { x: left, y: top + 4 * SIZE + 38, fill: GREY }, "column sums, above: should all be 1");
  }

  function drawChart(curves, at) {
    chart.replaceChildren();
    const all = curves.flat().filter((value) => value > 0 && Number.isFinite(value));
    const least = Math.max(1e-6, Math.min(...all)), most = Math.min(1e12, Math.max(...all));
    const low = least > 0.45 ? 0.4 : 10 ** Math.floor(Math.log10(least)), high = most < 2.4 ? 2.5 : 10 ** Math.ceil(Math.log10(most));
    const yTicks = high / low < 100 ? [0.1, 0.2, 0.5, 1, 2, 5, 10].filter((value) => value >= low && value <= high) : null;
    const frame = { left: 46, top: 28, right: 328, bottom: 268, x: [1, depth], y: [low, high], log: true, yTicks };
    const scale = axes(chart, { ...frame, xTicks: [1, 6, 12, 18, 24].filter((k) => k <= depth), xLabel: "mixings in the product" });
    const clamp = (value) => Math.max(low, Math.min(high, value));
    add(chart, "line", { x1: scale.x(at), x2: scale.x(at), y1: 28, y2: 268, stroke: GREY, "stroke-dasharray": "2 3" });
    LINES.forEach(({ name, colour, dash }, k) => {
      const points = curves[k].map((value, l) => [scale.x(l + 1), scale.y(value < low ? NaN : clamp(value))]);
      add(chart, "path", { d: path(points), fill: "none", stroke: colour, "stroke-width": 2.2, "stroke-dasharray": dash });
      add(chart, "circle", { cx: scale.x(at), cy: scale.y(clamp(curves[k][at - 1])), r: 4.5, fill: colour });
      const row = add(chart, "g", {});
      const x = [46, 134, 232][k];
      add(row, "line", { x1: x - 40, x2: x - 16, y1: 310, y2: 310, stroke: colour, "stroke-width": 2.2, "stroke-dasharray": dash });
      add(row, "text", { x: x - 12, y: 314, fill: INK }, name.replace(" gain", ""));
    });
  }

  function say(network, token, at, found, iterations) {
    const [forward, backward, sigma] = found;
    const number = (value) => (value >= 1000 ? Math.round(value).toLocaleString("en") : value.toFixed(value < 0.01 ? 6 : 3));
    let moral = "Differences between the streams survive.";
    if (forward > 5 || backward > 5) moral = "Nothing bounds the product.";
    else if (sigma < 0.01) moral = "The streams have become copies of their mean.";
    else if (sigma < 0.5) moral = "Most of what made the streams different is gone.";
    const steps = network.projected ? ` after ${iterations} iteration${iterations === 1 ? "" : "s"}` : ", unprojected";
    return `Product of ${at} mixing${at === 1 ? "" : "s"}${steps}: forward gain <b data-value="forward">${number(forward)}</b>, ` +
      `backward gain <b data-value="backward">${number(backward)}</b>, ` +
      `σ₂ <b data-value="sigma_2">${number(sigma)}</b>. ${moral}`;
  }

  const names = Object.keys(data.networks);
  const wanted = {
    network: { label: "Mixings of", options: Object.fromEntries(names.map((name) => [name, data.networks[name].words])), start: names[0] },
    token: { label: "Token (of random ones: the draw)", options: Object.fromEntries(data.tokens.map((words, k) => [k, words])), start: "0" },
    size: { label: "Size of the deviation", values: data.sizes, start: 1, words: (value) => `× ${value}` },
    iterations: { label: "Sinkhorn iterations", values: data.iterations, start: 20 },
    depth: { label: "Mixings in the product", min: 1, max: depth, start: depth, pace: 250 },
    shown: { label: "Matrix", options: { product: "the product", single: "the last one alone" }, start: "product" },
  };
  play.knobs(box, wanted, (at, made) => {
    const network = data.networks[at.network];
    made.iterations.enable(network.projected);
    const raw = network.matrices[+at.token % network.matrices.length];
    const mixings = raw.map((matrix) => {
      const deviated = mixing.deviate(matrix, network.start, at.size);
      return network.projected ? mixing.sinkhorn(deviated, at.iterations) : deviated;
    });
    const products = mixing.products(mixings);
    const curves = [mixing.forwardGain, mixing.backwardGain, (H) => mixing.singularValues(H)[1]].map((f) => products.map(f));
    const single = at.shown === "single";
    drawMatrix((single ? mixings : products)[at.depth - 1], single ? `mixing ${at.depth}` : `product of 1 to ${at.depth}`);
    drawChart(curves, at.depth);
    return say(network, +at.token, at.depth, curves.map((curve) => curve[at.depth - 1]), at.iterations);
  });
});
