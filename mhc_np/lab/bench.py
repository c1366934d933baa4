"""How long one training step takes, beside the same step in eager PyTorch.

Chapter: chapters/02_transformer.md      Tests: tests/test_bench.py

A step is forward, backward and AdamW on one batch, in float32. What counts is the CPU time of one thread. Both
contestants run in one process and take turns, so that a busy machine hurts them alike: quote the ratios, not the
milliseconds. PyTorch runs `mhc_np.torch_twin`, with its fused attention and norm and its own AdamW, on the same
parameters and the same batch.
"""

import os
import platform
import textwrap
import time
from importlib.metadata import version

import numpy as np

from mhc_np.autodiff import flatten, keep_heap, value_and_grad
from mhc_np.lab.results import provenance
from mhc_np.learn import AdamW
from mhc_np.models import ModelConfig, init, logits
from mhc_np.ops import cross_entropy

SIZES = {
    "S": {"width": 64, "num_layers": 3, "num_heads": 4, "num_positions": 32},
    "M": {"width": 128, "num_layers": 4, "num_heads": 4, "num_positions": 40},
    "L": {"width": 192, "num_layers": 6, "num_heads": 6, "num_positions": 40},
}
ROUNDS = {"S": 100, "M": 30, "L": 12}  # about ten seconds each
BATCH_SIZE, NUM_IDS, NUM_OUTPUTS = 64, 40, 20


def bench_step(sizes=tuple(SIZES), rounds=None, seed=0):
    """Time training steps of ours and of PyTorch's, in turn.

    Parameters
    ----------
    sizes : sequence of {"S", "M", "L"}
        0.15, 0.8 and 2.7 million parameters.
    rounds : int, optional
        Steps a contestant at every size; by default `ROUNDS`. Two more come first and do not count.
    seed : int
        For parameters and batch.

    Returns
    -------
    dict
        ``machine``, ``versions``, ``commit``, and in ``sizes`` a row for each: ``params`` (their number), ``rounds``;
        for either contestant ``median_ms`` and ``least_ms``; and where PyTorch is installed ``ratio`` (ours to
        PyTorch's, median over the rounds), ``ratio_of_least``, and ``loss_difference``, the larger relative one of the
        first two steps.

    Raises
    ------
    ValueError
        If a size is unknown.

    Examples
    --------
    >>> row = bench_step(sizes=["S"], rounds=1)["sizes"]["S"]
    >>> row["params"], row["ours"]["least_ms"] > 0
    (154752, True)
    """
    for size in sizes:
        if size not in SIZES:
            raise ValueError(f"bench_step: want sizes among {', '.join(SIZES)}, got {size!r}")
    keep_heap()
    rows = {size: _take_turns(*lay_out(size, seed), rounds or ROUNDS[size]) for size in sizes}
    return {"machine": machine(), **provenance(), "sizes": rows}


def report(result):
    """Return a benchmark's rows as a table in words."""
    lines = [f"{'one training step, one thread':30} {'mhc_np':>18} {'PyTorch eager':>18} {'ratio':>7} {'of least':>9}"]
    for size, row in result["sizes"].items():
        setting = SIZES[size]
        name = f"{size}: d {setting['width']}, {setting['num_layers']} layers, {row['params']:,}"
        times = [
            f"{row[who]['median_ms']:7.1f} ({row[who]['least_ms']:.1f}) ms" if who in row else "not installed"
            for who in ("ours", "torch")
        ]
        ratios = f"{row['ratio']:7.2f} {row['ratio_of_least']:9.2f}" if "ratio" in row else ""
        lines.append(f"{name:30} {times[0]:>18} {times[1]:>18} {ratios}".rstrip())
    found = result["machine"]
    told = "CPU time, median (least). " + ", ".join(f"{name} {value}" for name, value in found.items())
    lines += textwrap.wrap(told, width=len(lines[0]))
    if found["blas threads"] != "1":
        lines.append("NumPy was not held to one thread, so these times mean little: set OPENBLAS_NUM_THREADS=1 first.")
    return "\n".join(lines)


def lay_out(size, seed=0):
    """Return what a step at this size works on: params, config, (inputs, targets, mask)."""
    config = ModelConfig(num_inputs=NUM_IDS, num_outputs=NUM_OUTPUTS, **SIZES[size])
    rng = np.random.default_rng(seed)
    params = init(config, rng)
    shape = BATCH_SIZE, config.num_positions
    return params, config, (rng.integers(0, NUM_IDS, shape), rng.integers(0, NUM_OUTPUTS, shape), np.ones(shape, bool))


def _take_turns(params, config, batch, rounds):
    """Run both contestants at one size; return its row."""
    steps = {"ours": our_step(params, config), **_theirs(params, config)}
    times, losses = ({who: [] for who in steps} for _ in range(2))
    for turn in range(rounds + 2):
        for who in sorted(steps, reverse=turn % 2):  # neither always finds the other's data in the cache
            start = time.process_time()
            losses[who].append(steps[who](*batch))
            times[who].append(1e3 * (time.process_time() - start))
    times = {who: np.array(spent[2:]) for who, spent in times.items()}  # the first two warm up
    row = {"params": sum(leaf.size for leaf in flatten(params).values()), "rounds": rounds}
    for who, spent in times.items():
        row[who] = {"median_ms": float(np.median(spent)), "least_ms": float(spent.min())}
    if "torch" in times:
        row["ratio"] = float(np.median(times["ours"] / times["torch"]))
        row["ratio_of_least"] = row["ours"]["least_ms"] / row["torch"]["least_ms"]
        row["loss_difference"] = max(
            abs(a / b - 1) for a, b in zip(losses["ours"][:2], losses["torch"][:2], strict=True)
        )
    return row


def our_step(params, config):
    """Return ``step(inputs, targets, mask) -> loss``."""
    optimizer = AdamW()
    state = optimizer.init(params)
    compute = value_and_grad(
        lambda params, inputs, targets, mask: cross_entropy(
            logits(params, config, inputs=inputs), targets=targets, mask=mask
        )
    )

    def step(*batch):
        nonlocal params, state
        loss, gradient = compute(params, *batch)
        params, state = optimizer.update(params, gradient, state)
        return float(loss)

    return step


def _theirs(params, config):
    """Return PyTorch's step, or nothing where PyTorch is missing."""
    try:
        from mhc_np import torch_twin as twin
    except ImportError:
        return {}
    twin.one_thread()
    return {"torch": twin.training_step(twin.to_torch(params), config, AdamW())}


def machine():
    """Say what the times were taken on."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as handle:
            cpu = next(line.split(":")[1].strip() for line in handle if line.startswith("model name"))
    except (OSError, StopIteration):
        cpu = platform.processor() or platform.machine()
    blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
    found = {"cpu": cpu, "cores": os.cpu_count(), "blas": f"{blas['name']} {blas['version']}"}
    found["blas threads"] = os.environ.get("OPENBLAS_NUM_THREADS", "not set")
    try:
        found["torch"] = version("torch")
    except ModuleNotFoundError:
        pass
    return found
