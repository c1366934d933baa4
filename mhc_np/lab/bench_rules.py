"""What each rule of the kernels is worth: the obvious way and ours, in turn, on arrays of a medium-sized step.

Chapter: chapters/02_transformer.md      Tests: tests/test_bench_rules.py

One rule is one entry of `RULES`: a sentence, and a function that lays out the arrays and returns both ways. Both must
give the same numbers; the test sees to that.
"""

import subprocess
import sys
import time

import numpy as np

from mhc_np.autodiff import keep_heap
from mhc_np.lab import bench
from mhc_np.lab.results import provenance

ROWS, WIDTH, LENGTH, HEADS, IDS = 2560, 128, 40, 4, 40  # size M: 64 sequences of 40 positions


def _normal(*shape):
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


def _cube():
    x = _normal(ROWS, WIDTH)
    return lambda: x**3, lambda: x * x * x


def _sum_rows():
    x, ones = _normal(ROWS, 4 * WIDTH), np.ones(ROWS, np.float32)
    return lambda: x.sum(axis=0), lambda: ones @ x


def _mean_square():
    x = _normal(ROWS, WIDTH)
    return lambda: (x * x).mean(axis=-1), lambda: np.einsum("rd,rd->r", x, x) / WIDTH


def _embedding_gradient():
    d_rows, ids = _normal(ROWS, WIDTH), np.random.default_rng(0).integers(0, IDS, ROWS)

    def scatter():
        d_table = np.zeros((IDS, WIDTH), np.float32)
        np.add.at(d_table, ids, d_rows)
        return d_table

    return scatter, lambda: (ids[:, None] == np.arange(IDS)).T.astype(np.float32) @ d_rows


def _heads():
    """Return queries and keys as views (B, H, T, K) of what the linear maps return, (B, T, D)."""
    x = _normal(2, ROWS // LENGTH, LENGTH, HEADS, WIDTH // HEADS)
    return np.swapaxes(x[0], 1, 2), np.swapaxes(x[1], 1, 2)


def _scores_by_einsum():
    q, k = (np.ascontiguousarray(x) for x in _heads())
    return lambda: np.einsum("bhik,bhjk->bhij", q, k), lambda: q @ np.swapaxes(k, 2, 3)


def _scores_of_copies():
    q, k = _heads()
    return (
        lambda: np.ascontiguousarray(q) @ np.swapaxes(np.ascontiguousarray(k), 2, 3),
        lambda: q @ np.swapaxes(k, 2, 3),
    )


def _row_sums():
    weights, ones = _normal(ROWS // LENGTH, HEADS, LENGTH, LENGTH), np.ones((LENGTH, 1), np.float32)
    return lambda: weights.sum(axis=-1, keepdims=True), lambda: weights @ ones


def _row_maxima():
    """Both return the largest score: of each row first, or at once, with the least, as the range check wants them."""
    scores = _normal(ROWS // LENGTH, HEADS, LENGTH, LENGTH)
    return lambda: scores.max(axis=-1).max(), lambda: (scores.min(), scores.max())[1]


RULES = {
    "a cube: x**3, or x*x*x": _cube,
    "add up rows: x.sum(0), or ones @ x": _sum_rows,
    "mean square of rows: (x*x).mean(-1), or einsum": _mean_square,
    "gradient of a table: np.add.at, or one-hot @": _embedding_gradient,
    "scores: einsum, or matmul": _scores_by_einsum,
    "scores: of contiguous copies, or of views": _scores_of_copies,
    "softmax, row sums: sum(-1), or @ ones": _row_sums,
    "softmax, row maxima: each row's, or only the range": _row_maxima,
}


def bench_rules(rounds=100):
    """Time both ways of every rule, in turn, and steps with freed memory handed back and kept.

    Parameters
    ----------
    rounds : int
        How often each way is taken.

    Returns
    -------
    dict
        ``machine``, ``versions``, ``commit``; in ``rules``, by rule, ``obvious_us`` and ``ours_us``, medians in CPU
        microseconds, and ``ratio``, how many times faster ours is; in ``heap`` what `time_heap` says.
    """
    rules = {rule: _compare(*lay_out(), rounds) for rule, lay_out in RULES.items()}
    return {"machine": bench.machine(), **provenance(), "rules": rules, "heap": time_heap(rounds=max(1, rounds // 3))}


def report(result):
    """Return the rules as a table in words."""
    lines = [f"{'on arrays of size M, one thread':52} {'first way':>10} {'second':>10} {'ratio':>6}"]
    for rule, row in result["rules"].items():
        lines.append(f"{rule:52} {row['obvious_us']:7.0f} us {row['ours_us']:7.0f} us {row['ratio']:6.1f}")
    for name, row in result["heap"].items():
        step = f"a step of size S, freed memory {name}"
        lines.append(f"{step:52} {row['median_ms']:7.1f} ms, {row['faults']:.0f} pages faulted in")
    return "\n".join(lines)


def time_heap(size="S", rounds=30):
    """Run training steps in fresh processes, one that hands freed memory back and one that keeps it.

    Returns
    -------
    dict
        ``handed back`` and ``kept``: ``median_ms`` of CPU time and ``faults``, the pages that a step gets anew. Empty
        where there is no choice (all but Linux).
    """
    if sys.platform != "linux":
        return {}
    found = {}
    for name in ("handed back", "kept"):
        code = f"from mhc_np.lab.bench_rules import print_steps; print_steps({size!r}, {rounds}, {name == 'kept'})"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        milliseconds, faults = map(float, done.stdout.split())
        found[name] = {"median_ms": milliseconds, "faults": faults}
    return found


def print_steps(size, rounds, kept):
    """Print the median CPU milliseconds of a step, and the median of its page faults."""
    import resource  # Unix only

    params, config, batch = bench.lay_out(size)
    step = bench.our_step(params, config)
    if kept:
        keep_heap()
    spent = []
    for _ in range(rounds + 2):
        start, before = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        step(*batch)
        spent.append((1e3 * (time.process_time() - start), resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before))
    print(*np.median(spent[2:], axis=0))


def _compare(obvious, ours, rounds):
    """Take turns; return a rule's row."""
    times = np.empty((rounds + 1, 2))
    for turn in range(rounds + 1):
        for column, way in enumerate((obvious, ours)):
            start = time.process_time_ns()
            way()
            times[turn, column] = 1e-3 * (time.process_time_ns() - start)
    obvious_us, ours_us = (float(median) for median in np.median(times[1:], axis=0))  # the first turn warms up
    return {"obvious_us": obvious_us, "ours_us": ours_us, "ratio": obvious_us / ours_us}
