"""What a grid will cost, and how well that was foretold.

Chapter: chapters/15_the_question.md      Tests: tests/test_forecast.py
"""

from collections import Counter
from statistics import median

from mhc_np.lab import grid
from mhc_np.lab.cells import Cell
from mhc_np.lab.grids import seconds

MEMORY_MB = 230  # of a worker at its largest cell, measured


def estimator(taken):
    """Return ``seconds(cell)``: what finished cells of its kind took, or the cost table, scaled by what is known.

    Parameters
    ----------
    taken : list of (Cell, float)
        Finished cells with their seconds.

    Examples
    --------
    >>> estimate = estimator([(Cell(depth=6), 4.0)])
    >>> estimate(Cell(depth=6)), estimate(Cell(depth=12))
    (4.0, 8.0)
    """
    kinds, ratios = {}, []
    for cell, spent in taken:
        kinds.setdefault(_kind(cell), []).append(spent)
        ratios.append(spent / seconds(cell))
    scale = median(ratios) if ratios else 1.0
    return lambda cell: median(kinds[_kind(cell)]) if _kind(cell) in kinds else scale * seconds(cell)


def spent_on(found):
    """Return (Cell, seconds) of saved results."""
    return [(Cell(**result["cell"]), result["made"]["seconds"]) for result in found]


def _kind(cell):
    return cell.task, cell.arm, cell.depth, cell.width, cell.num_steps, cell.batch_size


def forecast(name, cells, folder, workers):
    """Say in words which cells there are, which are done and what was foretold of them, and what the rest will take."""
    found, damaged = grid.load(folder, cells)
    taken = spent_on(found.values())
    estimate = estimator(taken)
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
    if taken:
        past = against_plan(taken)
        lines.append(
            f"what is done took {past['measured']:.2f} core-hours; the cost table said {past['planned']:.2f} "
            f"before any cell was run ({past['ratio']:.2f} times)"
        )
    lines.append(
        f"estimated: {hours[0]:.2f} core-hours for all, {hours[1]:.2f} for what is left; "
        f"{hours[1] / workers:.2f} hours with {workers} worker(s), {workers * MEMORY_MB} MB of memory"
    )
    return "\n".join(lines)


def against_plan(taken):
    """Compare what finished cells took with what was foretold.

    Parameters
    ----------
    taken : list of (Cell, float)
        In the order of running.

    Returns
    -------
    dict
        ``cells``; core-hours ``planned``, by the cost table, and ``measured``; their ``ratio``; ``forecast_ratio``: of
        the last three quarters, what was foretold when the first quarter was done, over what they took.
    """
    planned, measured = sum(seconds(cell) for cell, _ in taken), sum(spent for _, spent in taken)
    quarter = len(taken) // 4
    estimate = estimator(taken[:quarter])
    told, rest = (sum(some) for some in zip(*((estimate(cell), spent) for cell, spent in taken[quarter:]), strict=True))
    return {
        **{"cells": len(taken), "planned": planned / 3600, "measured": measured / 3600},
        **{"ratio": planned / measured, "forecast_ratio": told / rest},
    }
