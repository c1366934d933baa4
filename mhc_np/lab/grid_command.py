"""``python -m mhc_np grid NAME``: say what a grid will cost, run it, or go on with it.

Chapter: chapters/15_the_question.md      Tests: tests/test_grid.py
"""

from collections import Counter

from mhc_np.lab import executors, grid, results, verify
from mhc_np.lab.cell_runs import carry_out
from mhc_np.lab.experiment import UsageError
from mhc_np.lab.forecast import estimator, forecast, spent_on
from mhc_np.lab.grids import GRIDS

FIGURES = (".svg", ".pdf", ".png")
VERIFIED = results.KEPT / "grid-verified.json"


def find(name):
    """Return the cells of a named grid."""
    if name not in GRIDS:
        raise UsageError(f"no grid {name!r}; there are {', '.join(GRIDS)}")
    return GRIDS[name]()


def folder_of(name):
    """Return where the book keeps a grid's results."""
    return results.KEPT / f"grid-{name}"


def load(name, folder=None):
    """Return a grid's saved results in the order of its cells: what is there, and none that is damaged."""
    cells = find(name)
    found, _ = grid.load(folder or folder_of(name), cells)
    return [found[cell.name] for cell in cells if cell.name in found]


def run_grid(arguments):
    """Carry out the command."""
    cells = find(arguments.name)
    if arguments.figure:  # before the cells are run, not hours later
        check_figure(cells, arguments.figure)
    folder = arguments.out or (folder_of(arguments.name) if arguments.keep else results.OWN / f"grid-{arguments.name}")
    if arguments.dry_run:
        print(forecast(arguments.name, cells, folder, arguments.workers))
        return
    if arguments.verify is not None:
        folder = arguments.out or folder_of(arguments.name)
        verify_grid(arguments.name, cells, folder, arguments.verify, keep=arguments.keep)
        return
    make, workers, close = executors.processes(arguments.workers), arguments.workers, None
    if arguments.scheduler:
        make, workers, close = executors.cluster(arguments.scheduler)
    estimate = estimator(spent_on(grid.load(folder, cells)[0].values()))
    try:
        failed = grid.run(cells, carry_out, folder, make, at_once=2 * workers, seconds=estimate)
    finally:
        if close:
            close()
    print(f"{len(cells) - len(failed)} of {len(cells)} cells are in {folder}")
    if failed:
        raise UsageError(f"{len(failed)} cells failed; the same command runs them again")
    if arguments.figure:
        draw(load(arguments.name, folder), arguments.figure)


def check_figure(cells, path):
    """Refuse what cannot be drawn: other tasks than bijection elimination, unknown kinds of file."""
    if any(cell.task != "bijection" for cell in cells):
        raise UsageError("--figure draws grids of bijection elimination; leave it out")
    if path.suffix not in FIGURES:
        raise UsageError(f"--figure: want a file that ends in {', '.join(FIGURES)}, got {path}")


def draw(cells, path):
    """Draw the headline of a bijection grid into a file: gain and error against the rate, at its commonest depth."""
    from mhc_np.lab import plots_question

    depth = Counter(result["cell"]["depth"] for result in cells).most_common(1)[0][0]
    path.parent.mkdir(parents=True, exist_ok=True)
    plots_question.headline(cells, depth=depth).savefig(path)
    print(f"drawn: {path}")


def verify_grid(name, cells, folder, count, *, keep=False):
    """Run some kept cells again and say whether they are the same to the bit."""
    rows = verify.verify(cells, folder, count)
    differ = sum(bool(row["differ"]) for row in rows)
    if not rows:
        raise UsageError(f"no cells to run again in {folder}")
    if keep:
        results.save(VERIFIED, {"grid": name, "rows": rows})
    if differ:
        raise UsageError(f"{differ} of {len(rows)} cells differ; other processors and BLAS builds round otherwise")
    print(f"{len(rows)} of {len(rows)} cells run again: the same to the bit")
