"""What an arm of the main grid costs: parameters, and a training step's time beside the plain network's.

Chapter: chapters/15_the_question.md      Tests: tests/test_bench_arms.py

As `mhc_np.lab.bench_connections`, at the grid's own size: width 32, twelve layers, sixteen sequences of bijection
elimination. CPU time of one thread, all contestants taking turns in one process; the ratios are to be quoted.
"""

import time

import numpy as np

from mhc_np.autodiff import flatten, keep_heap
from mhc_np.lab.bench import our_step
from mhc_np.lab.cells import Cell
from mhc_np.lab.grids import ARMS, EQUAL_WIDTH
from mhc_np.lab.results import provenance
from mhc_np.models import init
from mhc_np.tasks import TASKS

PLAIN, WIDER = "residual", f"residual, width {EQUAL_WIDTH}"
CONTESTANTS = {arm: Cell(arm=arm) for arm in ARMS} | {WIDER: Cell(width=EQUAL_WIDTH)}


def bench_arms(contestants=CONTESTANTS, rounds=25, seed=0):
    """Time training steps of cells, in turn.

    Parameters
    ----------
    contestants : dict
        {name: Cell}; one is called "residual", and the others' times are told relative to it.
    rounds : int
        Steps a contestant. Two more come first and do not count.
    seed : int
        For parameters and sequences.

    Returns
    -------
    dict
        Provenance, ``setting``, and in ``rows`` for each name ``params`` (their number), ``median_ms``, ``least_ms``
        and ``over_plain``, the median over rounds of its time over the plain network's.
    """
    keep_heap()
    steps = {name: _step(cell, seed) for name, cell in contestants.items()}
    times = {name: [] for name in steps}
    for turn in range(rounds + 2):
        for name in sorted(steps, reverse=turn % 2):  # nobody always finds the same neighbour's data in the cache
            start = time.process_time()
            steps[name][1]()
            times[name].append(1e3 * (time.process_time() - start))
    times = {name: np.array(spent[2:]) for name, spent in times.items()}
    rows = {
        name: {
            "params": steps[name][0],
            "median_ms": float(np.median(spent)),
            "least_ms": float(spent.min()),
            "over_plain": float(np.median(spent / times[PLAIN])),
        }
        for name, spent in times.items()
    }
    return {**provenance(), "setting": {"depth": 12, "batch_size": 16, "rounds": rounds, "seed": seed}, "rows": rows}


def report(result):
    """Return the rows as a table in words."""
    lines = [f"{'one training step':22} {'params':>9} {'median':>9} {'least':>9} {'to plain':>9}"]
    for name, row in result["rows"].items():
        spent = f"{row['median_ms']:6.1f} ms {row['least_ms']:6.1f} ms {row['over_plain']:9.2f}"
        lines.append(f"{name:22} {row['params']:9,} {spent}")
    return "\n".join([*lines, "CPU time of one thread, median (least)."])


def _step(cell, seed):
    """Return the number of parameters, and a function that makes one training step on one batch."""
    task, config = TASKS[cell.task], cell.model_config()
    params = init(config, np.random.default_rng(seed))
    batch = task.sample(cell.task_config(), np.random.default_rng(seed), cell.batch_size)
    targets = task.posterior(cell.task_config(), batch)
    step = our_step(params, config)
    return sum(leaf.size for leaf in flatten(params).values()), lambda: step(batch.inputs, targets, batch.mask)
