"""``python -m mhc_np grid NAME``: say what a grid will cost, run it, or go on with it.

Chapter: chapters/15_the_question.md      Tests: tests/test_grid.py
"""

from collections import Counter
from statistics import median

from mhc_np.lab import executors, grid, results
from mhc_np.lab.cell_runs import carry_out
from mhc_np.lab.experiment import UsageError
from mhc_np.lab.grids import GRIDS, seconds

MEMORY_MB = 230  # of a worker at its largest cell, measured


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
    folder = arguments.out or (folder_of(arguments.name) if arguments.keep else results.OWN / f"grid-{arguments.name}")
    if arguments.dry_run:
        print(forecast(arguments.name, cells, folder, arguments.workers))
        return
    make, workers, close = executors.processes(arguments.workers), arguments.workers, None
    if arguments.scheduler:
        make, workers, close = executors.cluster(arguments.scheduler)
    try:
        failed = grid.run(cells, carry_out, folder, make, at_once=2 * workers, seconds=estimator(cells, folder))
    finally:
        if close:
            close()
    print(f"{len(cells) - len(failed)} of {len(cells)} cells are in {folder}")
    if failed:
        raise UsageError(f"{len(failed)} cells failed; the same command runs them again")


def estimator(cells, folder):
    """Return ``seconds(cell)``: what finished cells of its kind took, or the cost table, scaled by what is known."""
    found, _ = grid.load(folder, cells)
    kinds, ratios = {}, []
    for cell in cells:
        if cell.name in found:
            taken = found[cell.name]["made"]["seconds"]
            kinds.setdefault(_kind(cell), []).append(taken)
            ratios.append(taken / seconds(cell))
    scale = median(ratios) if ratios else 1.0
    return lambda cell: median(kinds[_kind(cell)]) if _kind(cell) in kinds else scale * seconds(cell)


def _kind(cell):
    return cell.task, cell.arm, cell.depth, cell.num_steps, cell.batch_size


def forecast(name, cells, folder, workers):
    """Say in words which cells there are, which are done, and what the rest will take."""
    found, damaged = grid.load(folder, cells)
    estimate = estimator(cells, folder)
    waiting = [cell for cell in cells if cell.name not in found]
    lines = [f"{name}: {len(cells)} cells, {len(found)} done, {len(waiting)} to run; results in {folder}"]
    for field in ("arm", "depth", "rate", "final_norm", "seed"):
        counts = Counter(getattr(cell, field) for cell in cells)
        lines.append(f"  {field:10} " + ", ".join(f"{value} ({count})" for value, count in counts.items()))
    if name.startswith("khop"):
        counts = Counter(cell.task_settings["num_hops"] for cell in cells)
        lines.append(f"  {'num_hops':10} " + ", ".join(f"{value} ({count})" for value, count in counts.items()))
    hours = [sum(map(estimate, some)) / 3600 for some in (cells, waiting)]
    lines += damaged
    lines.append(
        f"estimated: {hours[0]:.2f} core-hours for all, {hours[1]:.2f} for what is left; "
        f"{hours[1] / workers:.2f} hours with {workers} worker(s), {workers * MEMORY_MB} MB of memory"
    )
    return "\n".join(lines)
