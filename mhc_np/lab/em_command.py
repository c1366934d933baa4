"""The runs of EM on the one command line: what ``run`` and ``show`` do with them, and a few numbers of each.

Chapter: chapters/08_em.md      Tests: tests/test_em_command.py

A saved result of EM has no single error to print, as a training run has. `numbers` picks what its chapter reads.
"""

import json

import numpy as np

from mhc_np.lab import em_arms, em_gain
from mhc_np.lab.em_runs import EM_RUNS, KEPT, OWN, path_of, run_em
from mhc_np.lab.experiment import UsageError
from mhc_np.lab.results import load


def run(arguments):
    """Carry out ``run NAME`` for a run of EM, into runs/em, or with ``--keep`` into the book's results; print it."""
    name, seed = arguments.name, arguments.seed
    if seed < 0:
        raise UsageError(f"want a seed that is not negative, got {seed}")
    if arguments.set:
        raise UsageError(f"{name}: --set is for training runs; what can be changed here stands in mhc_np/lab/em_*.py")
    if arguments.keep and arguments.out:
        raise UsageError(f"{name}: --keep names the folder already; leave out --out")
    if arguments.keep and seed not in EM_RUNS[name].seeds:
        raise UsageError(f"{name}: the book keeps the seeds {', '.join(map(str, EM_RUNS[name].seeds))}, got {seed}")
    out = KEPT if arguments.keep else arguments.out or OWN
    result = run_em(name, seed, out, fresh=arguments.fresh or arguments.keep)
    print(report(name, [(path_of(name, seed, out), result)]))
    if arguments.json:
        print(json.dumps({key: result[key] for key in ("run", "seed", "seconds")}))


def show(arguments):
    """Print the saved results of a run of EM, a column a seed, and draw those of the book if asked to."""
    name = arguments.name
    print(report(name, saved(name)))
    if arguments.figure:
        from mhc_np.lab.plots_em import FIGURES, draw_run

        if name not in FIGURES:
            raise UsageError(f"no figure of {name!r}; there is one of {', '.join(FIGURES)}")
        draw_run(name, [load(path) for path in sorted(KEPT.glob(f"{name}-seed-*.json"))], arguments.figure)
        print(f"drawn: {arguments.figure}")


def saved(name):
    """Return the saved results of a run, the book's first: a list of (path, result)."""
    paths = [path for out in (KEPT, OWN) for path in sorted(out.glob(f"{name}-seed-*.json"))]
    if not paths:
        first = EM_RUNS[name].seeds[0]
        raise UsageError(f"no saved results of {name!r}; make one: python -m mhc_np run {name} --seed {first}")
    return [(path, load(path)) for path in paths]


def report(name, found):
    """Return a table in words: a line a number, a column a result.

    Parameters
    ----------
    name : str
    found : list of (path, result)
    """
    columns = [numbers(name, result) for _, result in found]
    width = max(map(len, columns[0]))
    lines = [f"{name}: {EM_RUNS[name].about}"]
    lines += [f"{'seed':{width}} " + "".join(f"{result['seed']:>10}" for _, result in found)]
    lines += [f"{key:{width}} " + "".join(f"{_word(each.get(key)):>10}" for each in columns) for key in columns[0]]
    lines += [f"{'seconds':{width}} " + "".join(f"{result['seconds']:>10}" for _, result in found)]
    return "\n".join([*lines, *(str(path) for path, _ in found)])


def numbers(name, result):
    """Return the numbers of a result that its chapter reads, {words: number or None}."""
    if name == "gain":
        return {_cell(cell): cell["kl_bits"] for cell in result["cells"]}
    if name == "sweep-gain":
        return {f"{o} L={d} g={g}: rate": rate for (o, d, g), rate in em_gain.pick_rates([result]).items()}
    if name == "loop":
        return {f"{course}: loss at the end": found["loss"][-1] for course, found in result["courses"].items()}
    if "metrics" in result:
        return result["metrics"].get("errors") or result["metrics"]
    kind = name.partition("-")[0]
    if name == "beyond-gain":
        return {f"{_cell(cell)} at rate {cell['rate']:g}": cell["kl_bits"] for cell in result["beyond"]}
    if kind == "beyond":
        runs = [(arm, run) for arm, runs in result["beyond"].items() for run in runs]
        steps = {f"{arm} at rate {run['rate']:g}: steps to target": run["late"] for arm, run in runs}
        return steps | {f"{arm} at rate {run['rate']:g}: nats at the end": run["final_nats"] for arm, run in runs}
    if kind == "sweep":
        picked = em_arms.pick([result])
        return {f"{arm}: {which} rate": rate for arm, rates in picked.items() for which, rate in rates.items()}
    if kind == "arms":
        steps = {f"{arm}: steps to target": run["late"] for arm, run in result["fastest"].items()}
        return steps | {f"{arm}: nats at the end": run["final_nats"] for arm, run in result["lowest"].items()}
    found = {}
    for arm, run in result["arms"].items():
        for word in ("settled", "done"):
            found |= {f"{arm}: {half} {word} at": step for half, step in run.get(word, {}).items()}
        for key in ("score_cosine", "value_cosine", "weights_cosine", "reinforced_share"):
            values = [look[key] for look in run["looks"][1:] if look.get(key) is not None]
            found |= {f"{arm}: {key}, median": float(np.median(values))} if values else {}
    return found


def _cell(cell):
    return f"{cell['optimizer']} L={cell['depth']} g={cell['gain']}: KL bits"


def _word(value):
    return "–" if value is None else f"{value:.4g}"
