"""The looks inside trained networks by name, their saved results, and one command for each.

    python -m mhc_np.lab.geometry_runs                    list
    python -m mhc_np.lab.geometry_runs NAME [--seed S]    train if need be, look, write NAME-seed-S.json
    python -m mhc_np.lab.geometry_runs verdicts           judge what is there

Chapter: chapters/06_geometry.md      Tests: tests/test_runs_geometry.py
"""

import argparse
import json
import sys
from pathlib import Path

import numpy as np

from mhc_np.autodiff import tree_map
from mhc_np.lab import depth, results, verdicts_geometry
from mhc_np.lab.experiment import carry_out
from mhc_np.lab.geometry import DIGITS, geometry_of, without_nan
from mhc_np.lab.runs import RUNS
from mhc_np.lab.runs_geometry import DEPTHS, PATHS, RATES, depth_runs
from mhc_np.learn import load as load_checkpoint
from mhc_np.measure.refinement import prior_bits
from mhc_np.models import MODELS
from mhc_np.tasks import TASKS

KEPT = results.KEPT / "geometry"
SEEDS = tuple(range(5))
NAMES = (*(name for name in RUNS if name.startswith("geometry-")), "depth")
NUM_GRADIENT = 64  # sequences on which gradients are taken


def make(name, seed, folder, *, fresh=False):
    """Train what is missing of a run in the folder, or all of it, and look."""
    if name == "depth":
        return depth_grid(seed, folder, fresh=fresh)
    out = Path(folder) / name / f"seed-{seed}"
    carry_out(name, RUNS[name], seed, out, fresh=fresh)
    return geometry_of(RUNS[name], seed, out)


def depth_grid(seed, folder, grid=None, *, num_bound=2, progress=True, fresh=False):
    """Carry out the runs of the depth grid that are missing; return errors and gradients, a cell a run.

    A cell holds ``depth``, ``path``, ``rate``, ``kl_bits``, and ``gradients`` at the end, both None for a run that
    diverged; ``start`` maps "depth path" to `mhc_np.lab.depth.through_depth` of the first network, the same for every
    rate.
    """
    cells, start = [], {}
    for (layers, path, rate), run in (depth_runs() if grid is None else grid).items():
        name = f"depth-{layers}-{path.replace(' ', '-')}-{rate:g}"
        out = Path(folder) / name / f"seed-{seed}"
        init_seed, *_, look_seed = np.random.SeedSequence(seed).spawn(4)
        task, config, model = TASKS[run.task], run.model_config(), MODELS[run.model]
        batch = task.sample(run.task_config(), np.random.default_rng(look_seed), NUM_GRADIENT)
        exact = task.posterior(run.task_config(), batch)
        if f"{layers} {path}" not in start:
            first = model.init(config, np.random.default_rng(init_seed), np.float64)
            rng = np.random.default_rng(0)
            start[f"{layers} {path}"] = depth.through_depth(model, first, config, batch, exact, rng, num_bound)
        cell = {"depth": layers, "path": path, "rate": rate, "kl_bits": None, "gradients": None}
        try:
            trained = carry_out(name, run, seed, out, progress=progress, fresh=fresh)
            cell["kl_bits"] = trained["metrics"]["kl_bits"]
            params = tree_map(np.float64, load_checkpoint(out / "checkpoint.npz")[0]["params"])
            cell["gradients"] = depth.stream_gradients(model, params, config, batch)
        except FloatingPointError as error:
            print(f"{name}: {error}", file=sys.stderr)
        cells.append(cell)
    config = {"depths": DEPTHS, "paths": list(PATHS), "rates": RATES}
    found = {"run": "depth", "seed": seed, "config": config, "prior_bits": prior_bits(exact)}
    return without_nan(results.plain({**found, "start": start, "cells": cells, **results.provenance()}, DIGITS))


def load(out=KEPT):
    """Return all saved results, {run: [one a seed]}, as the verdict rules want them."""
    found = {name: [Path(out) / f"{name}-seed-{seed}.json" for seed in SEEDS] for name in NAMES}
    return {name: [results.load(path) for path in paths if path.exists()] for name, paths in found.items()}


def main(argv=None):
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m mhc_np.lab.geometry_runs", description="Inside trained networks.")
    parser.add_argument("name", nargs="?", choices=[*NAMES, "verdicts"], metavar="NAME")
    parser.add_argument("--seed", type=int, help="default: all five")
    parser.add_argument("--runs", type=Path, default=results.OWN, help="folder of the trained networks")
    parser.add_argument("--out", type=Path, default=KEPT, help="folder of the results")
    arguments = parser.parse_args(argv)
    if arguments.name is None:
        print(*NAMES, sep="\n")
    elif arguments.name == "verdicts":
        for claim, rule in verdicts_geometry.RULES.items():
            verdict, numbers, words, _ = rule(load(arguments.out))
            print(f"{claim}: {verdict}. {words}.\n{json.dumps(results.plain(numbers, 4), indent=1)}")
    else:
        for seed in SEEDS if arguments.seed is None else (arguments.seed,):
            path = arguments.out / f"{arguments.name}-seed-{seed}.json"
            results.save(path, make(arguments.name, seed, arguments.runs))
            print(path, file=sys.stderr)


if __name__ == "__main__":
    main()
