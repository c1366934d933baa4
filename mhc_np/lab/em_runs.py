"""The named runs of EM, their saved results, and one command for each.

    python -m mhc_np.lab.em_runs            list them
    python -m mhc_np.lab.em_runs NAME [--seed S] [--out FOLDER]
    python -m mhc_np.lab.em_runs verdicts

Chapter: chapters/08_em.md      Tests: tests/test_em_runs.py

Each run is one file, ``NAME-seed-S.json``. Runs that use tuned rates read the sweeps from the same folder, and say so
when they are missing.
"""

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from mhc_np.lab import em_arms, em_control, em_gain, em_laws, em_trace, results, verdicts_em
from mhc_np.lab.em_setting import SETTINGS

KEPT = results.KEPT / "em"
SEEDS = tuple(range(5))
DIGITS = 5  # of every saved number: all results together stay below a megabyte


@dataclass(frozen=True)
class EMRun:
    """A named run.

    Parameters
    ----------
    about : str
    seeds : tuple of int
        Those of the saved results.
    compute : callable
        ``compute(seed, out) -> dict``; ``out`` is the folder where the sweeps are.
    config : dict
        What to write down beside the result.
    """

    about: str
    seeds: tuple
    compute: Callable
    config: dict


def _sweeps(name, out):
    """Load the sweeps of a run, all seeds."""
    paths = [Path(out) / f"{name}-seed-{seed}.json" for seed in em_arms.SWEEP_SEEDS]
    for path, seed in zip(paths, em_arms.SWEEP_SEEDS, strict=True):
        if not path.exists():
            raise FileNotFoundError(f"{path}: not there; make it: python -m mhc_np.lab.em_runs {name} --seed {seed}")
    return [results.load(path) for path in paths]


def _of_task(task):
    setting = SETTINGS[task]
    budget = {"batch_size": setting.batch_size, "num_steps": setting.num_steps}
    config = {"task": task, **asdict(setting.config), **budget, "half": setting.half, "late": setting.late}

    def rates(out):
        return em_arms.pick(_sweeps(f"sweep-{task}", out))

    return {
        f"sweep-{task}": EMRun(
            f"every arm at every rate, {task}",
            em_arms.SWEEP_SEEDS,
            lambda seed, out: em_arms.sweep(setting, seed),
            config,
        ),
        f"arms-{task}": EMRun(
            f"every arm at its best rates, {task}",
            SEEDS,
            lambda seed, out: em_arms.arms(setting, seed, rates(out)),
            config,
        ),
        f"trace-{task}": EMRun(
            f"one head watched closely, {task}",
            SEEDS,
            lambda seed, out: em_trace.trace(setting, seed, rates(out)),
            config,
        ),
        f"control-{task}": EMRun(
            f"swap and tied steps, after the trace, {task}",
            SEEDS,
            lambda seed, out: em_control.control(setting, seed, rates(out)),
            config,
        ),
    }


def _gain(seed, out):
    return em_gain.gain_cells(seed, em_gain.pick_rates(_sweeps("sweep-gain", out)))


GAIN = {"task": "marked", **asdict(em_gain.CONFIG), "depths": em_gain.DEPTHS, "gains": em_gain.GAINS}
EM_RUNS = {
    "laws": EMRun("closed forms against autograd and differences", SEEDS, lambda seed, out: em_laws.laws(seed), {}),
    "bayes": EMRun("entropy rates and Bayes values", (0,), lambda seed, out: em_laws.bayes(seed), {}),
    "loop": EMRun("the feedback loop of Figure 3", (0,), lambda seed, out: em_laws.loop(seed), {}),
    **_of_task("sticky"),
    **_of_task("marked"),
    "sweep-gain": EMRun(
        "depth and gain at every rate", em_arms.SWEEP_SEEDS, lambda seed, out: em_gain.sweep_gain(seed), GAIN
    ),
    "gain": EMRun("depth and gain, against the E-step", SEEDS, _gain, GAIN),
}


def run_em(name, seed, out=KEPT):
    """Carry out a run and save it; a run that is saved already is loaded.

    Parameters
    ----------
    name : str
        A key of `EM_RUNS`.
    seed : int
    out : path
        Folder of ``NAME-seed-S.json``.

    Returns
    -------
    dict
        What the run computes, with ``run``, ``seed``, ``config``, ``seconds``, ``versions`` and ``commit``.

    Raises
    ------
    ValueError
        If there is no such run.
    FileNotFoundError
        If it needs a sweep that is not there, with the command that makes it.
    """
    if name not in EM_RUNS:
        raise ValueError(f"run_em: want one of {', '.join(EM_RUNS)}, got {name!r}")
    path = Path(out) / f"{name}-seed-{seed}.json"
    if path.exists():
        return results.load(path)
    start, run = time.process_time(), EM_RUNS[name]
    computed = run.compute(seed, out)
    seconds = round(time.process_time() - start, 1)
    provenance = {"run": name, "seed": seed, "config": run.config, "seconds": seconds, **results.provenance()}
    results.save(path, {**provenance, **results.plain(computed, DIGITS)})
    return results.load(path)


def load(out=KEPT):
    """Return all saved results, {run: [one a seed]}, as the verdict rules want them."""
    return {
        name: [results.load(path) for seed in run.seeds if (path := Path(out) / f"{name}-seed-{seed}.json").exists()]
        for name, run in EM_RUNS.items()
    }


def main(argv=None):
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m mhc_np.lab.em_runs", description="Attention as EM: the runs.")
    parser.add_argument("name", nargs="?", help="a run, or 'verdicts'")
    parser.add_argument("--seed", type=int, help="default: all seeds of the run")
    parser.add_argument("--out", type=Path, default=KEPT)
    arguments = parser.parse_args(argv)
    if arguments.name is None:
        for name, run in EM_RUNS.items():
            print(f"{name:14} seeds {', '.join(map(str, run.seeds)):14} {run.about}")
    elif arguments.name == "verdicts":
        found = load(arguments.out)
        for claim, rule in verdicts_em.RULES.items():
            verdict, numbers, words = rule(found)
            print(f"{claim}: {verdict} ({words})", json.dumps(results.plain(numbers, 4), indent=1))
    else:
        for seed in EM_RUNS[arguments.name].seeds if arguments.seed is None else (arguments.seed,):
            print(arguments.name, seed, run_em(arguments.name, seed, arguments.out)["seconds"], "s", flush=True)


if __name__ == "__main__":
    main()
