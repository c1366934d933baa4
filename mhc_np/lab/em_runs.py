"""The named runs of EM, their saved results, and the verdicts on them.

    python -m mhc_np list | run NAME | show NAME    as for every run of the book
    python -m mhc_np.lab.em_runs verdicts           judge what is saved

Chapter: chapters/08_em.md      Tests: tests/test_em_runs.py

Each run is one file, ``NAME-seed-S.json``: those of the book in `KEPT`, a reader's own in `OWN`. Runs that use tuned
rates read the sweeps beside them or, where there are none, the book's.
"""

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from mhc_np.lab import em_arms, em_control, em_edges, em_gain, em_laws, em_trace, results, verdicts_em
from mhc_np.lab.em_setting import SETTINGS

KEPT, OWN = results.KEPT / "em", results.OWN / "em"
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
    """Load the sweeps of a run, all seeds: those in the folder if they are all there, else the book's."""
    paths = [[path_of(name, seed, folder) for seed in em_arms.SWEEP_SEEDS] for folder in (out, KEPT)]
    found = next((each for each in paths if all(path.exists() for path in each)), None)
    if found is None:
        wanted = next(seed for seed, path in zip(em_arms.SWEEP_SEEDS, paths[0], strict=True) if not path.exists())
        raise FileNotFoundError(f"{out}: no sweep to take rates from; python -m mhc_np run {name} --seed {wanted}")
    return [results.load(path) for path in found]


def path_of(name, seed, out):
    """Return the file of a run and seed in a folder."""
    return Path(out) / f"{name}-seed-{seed}.json"


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
        f"beyond-{task}": EMRun(
            f"the rates beyond the sweep's, where it ends too early, {task}",
            em_arms.SWEEP_SEEDS,
            lambda seed, out: em_edges.arms_beyond(setting, seed, _sweeps(f"sweep-{task}", out)),
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


def _gain_beyond(seed, out):
    return em_edges.gain_beyond(seed, _sweeps("sweep-gain", out))


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
    "beyond-gain": EMRun("the rates beyond the gain's sweep", em_arms.SWEEP_SEEDS, _gain_beyond, GAIN),
    "gain": EMRun("depth and gain, against the E-step", SEEDS, _gain, GAIN),
}


def run_em(name, seed, out=OWN, *, fresh=False):
    """Carry out a run and save it; a run that is saved there already is loaded.

    Parameters
    ----------
    name : str
        A key of `EM_RUNS`.
    seed : int
    out : path
        Folder of ``NAME-seed-S.json``.
    fresh : bool
        Carry it out whatever is saved.

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
    path = path_of(name, seed, out)
    if path.exists() and not fresh:
        return results.load(path)
    start, run = time.process_time(), EM_RUNS[name]
    computed = run.compute(seed, out)
    seconds = round(time.process_time() - start, 1)
    provenance = {"run": name, "seed": seed, "config": run.config, "seconds": seconds, **results.provenance()}
    results.save(path, {**provenance, **results.plain(computed, DIGITS)})
    return results.load(path)


def load(out=KEPT):
    """Return all saved results, {run: [one a seed]}, as the verdict rules want them."""
    paths = {name: [path_of(name, seed, out) for seed in run.seeds] for name, run in EM_RUNS.items()}
    return {name: [results.load(path) for path in found if path.exists()] for name, found in paths.items()}


def main(argv=None):
    """Print the verdicts."""
    parser = argparse.ArgumentParser(prog="python -m mhc_np.lab.em_runs", description="Attention as EM: the verdicts.")
    parser.add_argument("what", choices=["verdicts"])
    parser.add_argument("--out", type=Path, default=KEPT, help="folder of the results (default: the book's)")
    found = load(parser.parse_args(argv).out)
    for claim, rule in verdicts_em.RULES.items():
        verdict, numbers, words, _ = rule(found)
        print(f"{claim}: {verdict} ({words})", json.dumps(results.plain(numbers, 4), indent=1))


if __name__ == "__main__":
    main()
