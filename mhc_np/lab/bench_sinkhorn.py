"""How fast Sinkhorn is, forward and backward, beside eager PyTorch in its best and in its obvious layout.

Chapter: chapters/12_sinkhorn.md      Tests: tests/test_bench_sinkhorn.py

CPU time of one thread, all contestants in turn within one process, so that a busy machine hurts them alike. Quote the
ratios. PyTorch is optional: without it the NumPy rows stand alone.
"""

import time

import numpy as np

from mhc_np.lab.results import provenance
from mhc_np.ops.sinkhorn import sinkhorn_bwd, sinkhorn_fwd
from mhc_np.ops.sinkhorn_implicit import sinkhorn_implicit_bwd, sinkhorn_implicit_fwd


def bench(batch=8192, n=4, num_iters=20, repeats=15, dtypes=("float32", "float64"), seed=0):
    """Time forward plus backward of ``batch`` matrices.

    Run it with one BLAS thread (``OPENBLAS_NUM_THREADS=1``), as all figures in the book.

    Returns
    -------
    dict
        Provenance, ``setting``, and in ``rows`` for each contestant and dtype ``name``, ``dtype``, ``median_ms`` and
        ``least_ms`` of CPU time, and ``ours_over_it``, the median of our unrolled kernel over its own.

    Examples
    --------
    >>> rows = bench(batch=8, repeats=1, dtypes=("float32",))["rows"]
    >>> rows[0]["name"], rows[0]["ours_over_it"]
    ('mhc_np, unrolled', 1.0)
    """
    rows = []
    for dtype in dtypes:
        logits, cotangent = np.random.default_rng(seed).standard_normal((2, batch, n, n)).astype(dtype)
        contestants = {**_ours(logits, cotangent, num_iters), **_theirs(logits, cotangent, num_iters)}
        times = {name: [] for name in contestants}
        for _ in range(repeats):
            for name, run in contestants.items():
                start = time.process_time()
                run()
                times[name].append(1e3 * (time.process_time() - start))
        ours = np.median(times["mhc_np, unrolled"])
        for name, spent in times.items():
            median = np.median(spent)
            row = {"name": name, "dtype": dtype, "median_ms": float(median), "least_ms": min(spent)}
            rows.append({**row, "ours_over_it": float(ours / median) if median else 1.0})
    setting = {"batch": batch, "n": n, "num_iters": num_iters, "repeats": repeats, "seed": seed}
    return {**provenance(), "setting": setting, "rows": rows}


def report(result):
    """Return the rows as a table in words."""
    lines = [f"{'Sinkhorn, forward + backward':34} {'dtype':8} {'median':>9} {'least':>9} {'ours / it':>10}"]
    for row in result["rows"]:
        times = f"{row['median_ms']:6.2f} ms {row['least_ms']:6.2f} ms"
        lines.append(f"{row['name']:34} {row['dtype']:8} {times} {row['ours_over_it']:10.2f}")
    setting = ", ".join(f"{name} {value:,}" for name, value in result["setting"].items())
    return "\n".join([*lines, f"CPU time of one thread; {setting}."])


def _ours(logits, cotangent, num_iters):
    """Return our two gradients as functions of nothing."""

    def unrolled():
        _, cache = sinkhorn_fwd(logits, num_iters=num_iters)
        sinkhorn_bwd(cotangent, cache)

    def implicit():
        _, cache = sinkhorn_implicit_fwd(logits, num_iters=num_iters)
        sinkhorn_implicit_bwd(cotangent, cache)

    return {"mhc_np, unrolled": unrolled, "mhc_np, implicit": implicit}


def _theirs(logits, cotangent, num_iters):
    """Return PyTorch's layouts, data already in place for each, or nothing where PyTorch is missing."""
    try:
        from mhc_np.torch_twin import connections as twin
    except ImportError:
        return {}

    def contestant(function, transform):
        x, d = (np.ascontiguousarray(transform(array)) for array in (logits, cotangent))
        return twin.forward_backward(function, x, d, num_iters)

    axes_first = lambda array: np.moveaxis(array, 0, -1)  # noqa: E731
    return {
        "PyTorch eager, axes first": contestant(twin.sinkhorn_axes_first, axes_first),
        "PyTorch eager, batch first": contestant(twin.sinkhorn, lambda array: array),
    }
