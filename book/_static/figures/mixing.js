// The arithmetic of mixings: Sinkhorn, products, gains, singular values. Tested against mhc_np.ops and mhc_np.measure.
// A matrix is a list of rows; H[i][j] is the weight of old stream j in new stream i.
"use strict";

const mixing = (() => {
  const sum = (list) => list.reduce((a, b) => a + b, 0);
  const transpose = (H) => H[0].map((_, j) => H.map((row) => row[j]));

  /** Subtract from each row the logarithm of the sum of its exponentials, in one go so that nothing overflows. */
  function normalizeRows(logits) {
    return logits.map((row) => {
      const most = Math.max(...row);
      const total = most + Math.log(sum(row.map((x) => Math.exp(x - most))));
      return row.map((x) => x - total);
    });
  }

  /** Sinkhorn: columns, then rows, numIters times (mHC's equation 9). With 0 it is the exponential alone. */
  function sinkhorn(logits, numIters) {
    let L = logits;
    for (let t = 0; t < numIters; t++) L = normalizeRows(transpose(normalizeRows(transpose(L))));
    return L.map((row) => row.map(Math.exp));
  }

  const multiply = (A, B) => {
    const columns = transpose(B);
    return A.map((row) => columns.map((column) => sum(row.map((x, k) => x * column[k]))));
  };

  /** The products H_1, H_2 H_1, …: the first layer is first in the list and last in the product. */
  function products(mixings) {
    const found = [];
    for (const H of mixings) found.push(found.length ? multiply(H, found[found.length - 1]) : H);
    return found;
  }

  const rowSums = (H) => H.map(sum);
  const columnSums = (H) => rowSums(transpose(H));
  const absolute = (H) => H.map((row) => row.map(Math.abs));
  const forwardGain = (H) => Math.max(...rowSums(absolute(H)));
  const backwardGain = (H) => Math.max(...columnSums(absolute(H)));

  /** Singular values, largest first, by one-sided Jacobi rotations: columns are turned until all are at right angles. */
  function singularValues(H) {
    const columns = transpose(H).map((column) => [...column]);
    const dot = (a, b) => sum(a.map((x, k) => x * b[k]));
    for (let sweep = 0; sweep < 60; sweep++) {
      let turned = false;
      for (let p = 0; p < columns.length; p++) {
        for (let q = p + 1; q < columns.length; q++) {
          const [a, b, c] = [dot(columns[p], columns[p]), dot(columns[q], columns[q]), dot(columns[p], columns[q])];
          if (Math.abs(c) <= 1e-15 * Math.sqrt(a * b) || a * b === 0) continue;
          turned = true;
          const zeta = (b - a) / (2 * c);
          const t = (zeta < 0 ? -1 : 1) / (Math.abs(zeta) + Math.hypot(1, zeta));
          const cosine = 1 / Math.hypot(1, t), sine = cosine * t;
          columns[p].forEach((x, k) => {
            const y = columns[q][k];
            columns[p][k] = cosine * x - sine * y;
            columns[q][k] = sine * x + cosine * y;
          });
        }
      }
      if (!turned) break;
    }
    return columns.map((column) => Math.hypot(...column)).sort((x, y) => y - x);
  }

  /** start + size·(raw − start), entry by entry: 0 is the start, 1 is what was learned. */
  const deviate = (raw, start, size) => raw.map((row, i) => row.map((x, j) => start[i][j] + size * (x - start[i][j])));

  return { sinkhorn, products, multiply, rowSums, columnSums, forwardGain, backwardGain, singularValues, deviate };
})();

if (typeof module === "object") module.exports = mixing;
