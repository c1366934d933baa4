"""Learning rates of every architecture on one grid, in short runs: ``python -m mhc_np.lab.sweeps NAME``.

Chapter: chapters/04_training.md      Tests: tests/test_sweeps.py

A comparison at one learning rate compares how well that rate suits. Each architecture therefore runs at every rate of
the same grid, in an eighth of the steps or less (recall: two fifths), and the full run takes the best. One small file
keeps the table.
"""

import argparse
import sys
from dataclasses import replace
from pathlib import Path

from mhc_np.lab import results, runs_baselines
from mhc_np.lab.experiment import carry_out
from mhc_np.lab.runs import RUNS

RATES = (3e-3, 1e-2, 3e-2, 1e-1)
STEPS = {"bijection-v20-soft": 1000, "bijection-v20-hard": 1000, "hmm-soft": 600, "hmm-soft-adamw": 600, "recall": 600}
MEASURES = ("entropy_mae_bits", "kl_bits", "accuracy")


def variants(name):
    """Return the short runs of a sweep, ``{(model, rate): Run}``, the Transformer's first."""
    found = {}
    for model in ("transformer", *runs_baselines.WIDTHS.get(name, ())):
        for rate in RATES:
            training = {"num_steps": STEPS[name], "learning_rate": rate, "num_evaluations": 6}
            run = replace(RUNS[name], training=replace(RUNS[name].training, **training))
            if model != "transformer":
                run = runs_baselines.baseline(run, name, model)
            found[model, rate] = replace(run, about=f"{STEPS[name]} steps of {name} at the rate {rate:g}")
    return found


def sweep(name, folder, seed=0, progress=True):
    """Carry out what is missing of a sweep in the folder; return its table as a result.

    Returns
    -------
    dict
        ``rows``: one a variant with ``model``, ``learning_rate``, ``params``, ``steps`` and the measures at the end;
        ``best``: the rate of the least KL, by model.
    """
    rows = []
    for (model, rate), run in variants(name).items():
        title = f"sweep-{name}-{model}-{rate:g}"
        done = carry_out(title, run, seed, Path(folder) / title / f"seed-{seed}", progress=progress)
        measured = {key: done["metrics"][key] for key in MEASURES if key in done["metrics"]}
        rows.append({"model": model, "learning_rate": rate, **{k: done[k] for k in ("params", "steps")}, **measured})
    best = {}
    for model in {row["model"]: None for row in rows}:
        best[model] = min((r for r in rows if r["model"] == model), key=lambda r: r["kl_bits"])["learning_rate"]
    config = {"name": name, "seed": seed, "rates": RATES}
    return {"run": f"sweep-{name}", "config": config, "rows": rows, "best": best, **results.provenance()}


def kept(name):
    """Say where the book keeps a sweep's table."""
    return results.KEPT / "sweeps" / f"{name}.json"


def main(argv=None):
    """Carry out a sweep and keep its table."""
    about = __doc__.splitlines()[0].replace("``", "")
    parser = argparse.ArgumentParser(prog="python -m mhc_np.lab.sweeps", description=about)
    parser.add_argument("name", choices=STEPS)
    parser.add_argument("--folder", type=Path, default=results.OWN, help="where the short runs go")
    arguments = parser.parse_args(argv)
    table = sweep(arguments.name, arguments.folder)
    results.save(kept(arguments.name), table)
    for row in table["rows"]:
        print(f"{row['model']:12} {row['learning_rate']:6g} {row['params']:8,} {row['kl_bits']:9.2g} bits KL")
    print(f"best: {table['best']}; kept: {kept(arguments.name)}")


if __name__ == "__main__":
    sys.exit(main())
