"""What wide streams cost: a training step of each connection scheme beside the plain network's, and beside PyTorch's.

Chapter: chapters/13_mhc.md      Tests: tests/test_bench_connections.py

As `mhc_np.lab.bench`: CPU time of one thread, all contestants taking turns in one process, ratios to be quoted. PyTorch
runs our twin, which holds all schemes (`mhc_np.torch_twin.connections`), and for mHC also the equations as they read
(`mhc_np.torch_twin.plain`). Everything else in it is PyTorch's own and fused.
"""

import time
from dataclasses import replace

import numpy as np

from mhc_np.autodiff import keep_heap
from mhc_np.lab.bench import lay_out, our_step
from mhc_np.lab.results import provenance
from mhc_np.learn import AdamW
from mhc_np.models import init

NAMES = {"ours": "mhc_np", "torch": "PyTorch, our twin", "torch_plain": "PyTorch, as it reads"}


def bench_connections(schemes=("hc", "mhc"), size="M", num_streams=4, rounds=12, seed=0, with_torch=True):
    """Time training steps of wide-stream networks and of the plain one, in turn.

    Parameters
    ----------
    schemes : sequence of str
        Keys of `mhc_np.connections.SCHEMES`.
    size : {"S", "M", "L"}
    num_streams : int
        n; the plain network has one.
    rounds : int
        Steps a contestant. Two more come first and do not count.
    seed : int
        For parameters and batch.
    with_torch : bool
        Whether PyTorch takes part, if it is installed.

    Returns
    -------
    dict
        Provenance, ``setting``, and in ``rows`` for "residual" and each scheme ``median_ms`` and ``least_ms`` by
        ``ours``, ``torch`` and, for mHC, ``torch_plain``; ``over_plain`` (ours to our plain network's), ``over_torch``
        and ``over_torch_plain`` (ours to PyTorch's), all as medians over the rounds.

    Examples
    --------
    >>> result = bench_connections(schemes=["hc_static"], size="S", rounds=1, with_torch=False)
    >>> list(result["rows"]), result["rows"]["residual"]["over_plain"]
    (['residual', 'hc_static'], 1.0)
    """
    keep_heap()
    _, plain, batch = lay_out(size, seed)
    steps = {}
    for scheme in ("residual", *schemes):
        config = plain if scheme == "residual" else replace(plain, scheme=scheme, num_streams=num_streams)
        params = init(config, np.random.default_rng(seed))
        steps["ours", scheme] = our_step(params, config)
        if with_torch:
            steps |= {(who, scheme): step for who, step in _their_steps(params, config).items()}
    times = {who: [] for who in steps}
    for turn in range(rounds + 2):
        for who in sorted(steps, reverse=turn % 2):
            start = time.process_time()
            steps[who](*batch)
            times[who].append(1e3 * (time.process_time() - start))
    times = {who: np.array(spent[2:]) for who, spent in times.items()}
    setting = {"size": size, "num_streams": num_streams, "rounds": rounds, "seed": seed}
    rows = {scheme: _row(times, scheme) for scheme in ("residual", *schemes)}
    return {**provenance(), "setting": setting, "rows": rows}


def report(result):
    """Return the rows as a table in words."""
    lines = [f"{'one training step':34} {'median':>9} {'least':>9} {'to plain':>9} {'ours / it':>10}"]
    for scheme, row in result["rows"].items():
        for who, name in NAMES.items():
            if who in row:
                share = row["over_plain"] if who == "ours" else row[f"over_{who}"]
                place = f"{share:9.2f}" if who == "ours" else f"{'':9} {share:10.2f}"
                spent = row[who]
                title = f"{scheme}, {name}"
                lines.append(f"{title:34} {spent['median_ms']:6.1f} ms {spent['least_ms']:6.1f} ms {place}".rstrip())
    setting = ", ".join(f"{name} {value}" for name, value in result["setting"].items())
    return "\n".join([*lines, f"CPU time of one thread, median (least); {setting}."])


def _their_steps(params, config):
    """Return PyTorch's steps by name, or nothing where PyTorch is missing."""
    try:
        from mhc_np import torch_twin as twin
        from mhc_np.torch_twin import plain
    except ImportError:
        return {}
    twin.one_thread()
    settings = AdamW()
    steps = {"torch": twin.training_step(twin.to_torch(params), config, settings)}
    if config.scheme == "mhc":
        steps["torch_plain"] = twin.training_step(twin.to_torch(params), config, settings, connect=plain.connect)
    return steps


def _row(times, scheme):
    row = {"over_plain": float(np.median(times["ours", scheme] / times["ours", "residual"]))}
    for who in NAMES:
        if (who, scheme) in times:
            spent = times[who, scheme]
            row[who] = {"median_ms": float(np.median(spent)), "least_ms": float(spent.min())}
            if who != "ours":
                row[f"over_{who}"] = float(np.median(times["ours", scheme] / spent))
    return row
