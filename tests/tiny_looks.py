"""Looks inside tiny networks, made once a test run: all that the figures and the command of chapters 5 and 6 read."""

import functools
import tempfile
from dataclasses import replace
from pathlib import Path

from mhc_np.lab.experiment import carry_out
from mhc_np.lab.geometry import geometry_of
from mhc_np.lab.geometry_runs import depth_grid
from mhc_np.lab.recipe import Run, Training
from mhc_np.lab.runs_geometry import PATHS

BIJECTION = Run(
    "tiny",
    task="bijection",
    task_settings={"num_symbols": 4},
    model_settings={"width": 8, "num_heads": 2, "num_layers": 2},
    training=Training(num_steps=30, batch_size=8, num_evaluations=3, num_sequences=16, num_snapshots=6),
)
HMM = replace(
    BIJECTION,
    task="hmm",
    task_settings={"num_states": 3, "num_symbols": 3, "num_observations": 5},
    model_settings={"width": 8, "num_heads": 2, "num_loops": 2, "positions": "relative", "num_header": 3},
)


def _lstm(run):
    return replace(run, model="lstm", model_settings={"width": 8}, training=replace(run.training, num_snapshots=0))


RUNS = {
    "geometry-bijection": BIJECTION,
    "geometry-hmm": HMM,
    "geometry-bijection-lstm": _lstm(BIJECTION),
    "geometry-hmm-lstm": _lstm(HMM),
}


def _grid():
    return {
        (depth, path, rate): replace(
            BIJECTION,
            model=model,
            model_settings={"width": 8, "num_heads": 2, "num_layers": depth},
            training=replace(BIJECTION.training, num_steps=6, num_snapshots=0, learning_rate=rate),
        )
        for depth in (1, 2)
        for path, model in PATHS.items()
        for rate in (1e-2, 3e-2)
    }


@functools.cache
def looks(seeds=2):
    """Return {run: [one result a seed]}, as `mhc_np.lab.geometry_runs.load` does."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, run in RUNS.items():
            found[name] = []
            for seed in range(seeds):
                out = Path(folder) / name / str(seed)
                carry_out(name, run, seed, out, progress=False)
                found[name].append(geometry_of(run, seed, out, num_sequences=40))
        found["depth"] = [depth_grid(seed, folder, _grid(), progress=False) for seed in range(seeds)]
    return found
