"""The looks inside trained networks on the one command line: what ``run`` and ``show`` do with them.

Chapter: chapters/06_geometry.md      Tests: tests/test_geometry_command.py

``run`` trains what is missing, looks, and saves the look. ``show`` prints a few numbers of each, and draws the figure
that the file is named after, as ``--figure belief.svg``.
"""

import json

from mhc_np.lab import results
from mhc_np.lab.experiment import UsageError
from mhc_np.lab.geometry_runs import KEPT, SEEDS, load, make

OWN = results.OWN / "geometry"
ABOUT = {"depth": "2 to 16 layers, with skips and without, three rates each"}


def run(arguments):
    """Carry out ``run NAME``: train into runs/NAME, look, save to runs/geometry or to the book's results; print it."""
    name, seed = arguments.name, arguments.seed
    if seed < 0:
        raise UsageError(f"want a seed that is not negative, got {seed}")
    if arguments.keep and seed not in SEEDS:
        raise UsageError(f"{name}: the book keeps the seeds {', '.join(map(str, SEEDS))}, got {seed}")
    if name == "depth" and arguments.set:
        raise UsageError(f"{name}: --set is for training runs; the grid stands in mhc_np/lab/runs_geometry.py")
    result = make(name, seed, arguments.out or results.OWN, fresh=arguments.fresh)
    path = (KEPT if arguments.keep else OWN) / f"{name}-seed-{seed}.json"
    results.save(path, result)
    print(report(name, [(path, result)]))
    if arguments.json:
        print(json.dumps({"run": name, "seed": seed, **results.plain(numbers(result))}))


def show(arguments):
    """Print the saved looks of a run, a column a seed, and draw a figure of the book's if asked to."""
    name = arguments.name
    paths = [path for out in (KEPT, OWN) for path in sorted(out.glob(f"{name}-seed-*.json"))]
    if not paths:
        raise UsageError(f"no saved results of {name!r}; make one: python -m mhc_np run {name} --seed 0")
    print(report(name, [(path, results.load(path)) for path in paths]))
    if arguments.figure:
        from mhc_np.lab.plots_geometry import FIGURES, draw

        if arguments.figure.stem not in FIGURES:
            raise UsageError(f"no figure {arguments.figure.stem!r}; name the file after one of {', '.join(FIGURES)}")
        draw(arguments.figure.stem, load(), arguments.figure)
        print(f"drawn: {arguments.figure}")


def report(name, found):
    """Return a table in words: a line a number, a column a result.

    Parameters
    ----------
    name : str
    found : list of (path, result)
    """
    columns = [numbers(result) for _, result in found]
    width = max(map(len, columns[0]))
    lines = [f"{name:{width}} " + "".join(f"{'seed ' + str(result['seed']):>10}" for _, result in found)]
    lines += [f"{key:{width}} " + "".join(f"{_word(each.get(key)):>10}" for each in columns) for key in columns[0]]
    return "\n".join([*lines, *(str(path) for path, _ in found)])


def numbers(result):
    """Return the numbers of a result that its chapters read, {words: number or None}."""
    if result["run"] == "depth":
        return {
            f"{cell['depth']} layers, {cell['path']}, rate {cell['rate']:g}: KL bits": cell["kl_bits"]
            for cell in result["cells"]
        }
    points = result["manifold"]["points"]
    found = {"prior bits": result["prior_bits"], "KL bits": result["kl_bits"]}
    if "ablation" in result:
        cost, best = result["ablation"]["mean"], result["keys"]["best"]
        found |= {f"cost without all {part}": cost[f"all {part}"] for part in ("attention", "mlp", "routing")}
        found |= {"alignment": best["alignment"], "alignment by chance, 95 %": best["null"]["high"]}
        found |= {"alignment grows, rho": best["grows"]}
    words = {"pc1_share": "first axis", "spearman": "rho with entropy", "r_squared": "R2 with entropy"}
    return found | {word: points[key] for key, word in words.items()}


def _word(value):
    return "–" if value is None else f"{value:.4g}"
