"""Run a grid: any executor, every finished cell saved at once, nothing run twice and nothing lost.

Chapter: chapters/15_the_question.md      Tests: tests/test_grid.py

A grid is a list of cells and a function from a cell to a result. Each result is one small JSON file. Only this process
writes them, so that the workers of a cluster need not share its disk; it writes a file whole or not at all. Whatever
is stopped, and however, the next start finds the finished cells and goes on with the rest.
"""

import contextlib
import sys
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, wait
from pathlib import Path

from tqdm import tqdm

from mhc_np.lab import results
from mhc_np.lab.experiment import UsageError

NEEDED = ("cell", "made")
MOST_BROKEN = 3  # how often a pool whose worker died is set up again before the grid gives up


def path_of(folder, cell):
    """Return where a cell's result lies."""
    return Path(folder) / f"{cell.name}.json"


def load(folder, cells):
    """Return the results that are there, {name: result}, and what is wrong with the files that cannot be used.

    A damaged file counts as missing; one of a cell with the same name and other settings is an error.

    Raises
    ------
    UsageError
        If a file holds another cell.
    """
    found, damaged = {}, []
    for cell in cells:
        path = path_of(folder, cell)
        if not path.exists():
            continue
        try:
            result = results.load(path, NEEDED)
        except results.ResultError as error:
            damaged.append(str(error))
            continue
        if result["cell"] != cell.described():
            raise UsageError(f"{path}: holds a cell with other settings; move it away, or give --out another folder")
        found[cell.name] = result
    return found, damaged


@contextlib.contextmanager
def alone(folder):
    """Hold the folder, so that two grids in it do not run the same cells; the lock ends with the process."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / ".lock", "w") as file:
        try:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except ImportError:  # not on this system: the user must see to it
            pass
        except OSError as error:
            raise UsageError(f"{folder}: another grid is running here; wait for it, or stop it") from error
        yield


def run(cells, compute, folder, make_executor, *, at_once, seconds=lambda cell: 1.0, progress=True, say=None):
    """Run the cells that are missing.

    Parameters
    ----------
    cells : list
        Each with a ``name`` that no other has, and ``described()``.
    compute : callable
        ``compute(cell) -> dict`` with the entries "cell" and "made". Must be importable by a worker.
    folder : path
        Of the results.
    make_executor : callable
        ``make_executor()`` returns an executor as of ``concurrent.futures``: processes, threads, or a cluster's. Called
        once more when a worker's death has broken it.
    at_once : int
        Cells handed out at a time; twice the number of workers keeps them busy.
    seconds : callable
        ``seconds(cell)``, an estimate: the bar's time left goes by it.
    progress : bool
    say : callable, optional
        Is told of damaged files and failed cells, a line each; by default printed to stderr.

    Returns
    -------
    list of str
        The cells that failed, a line each, with their errors. They can be run again.
    """
    say = say or (lambda line: tqdm.write(line, file=sys.stderr))
    with alone(folder):
        found, damaged = load(folder, cells)
        for line in damaged:
            say(f"{line}; the cell is run again")
        waiting = [cell for cell in cells if cell.name not in found]
        bar = tqdm(total=round(sum(map(seconds, waiting)), 1), disable=not progress, bar_format=BAR)
        failed, broken = [], 0
        with bar:
            while waiting:
                executor = make_executor()
                try:
                    waiting = _work_off(waiting, compute, folder, executor, at_once, seconds, bar, failed)
                finally:
                    _close(executor)
                broken += bool(waiting)
                if broken > MOST_BROKEN:
                    raise UsageError(f"workers died {broken} times; is there enough memory? {len(waiting)} cells left")
                if waiting:
                    say("a worker died; its cells are run again")
    for line in failed:
        say(line)
    return failed


BAR = "{percentage:3.0f}% |{bar}| {elapsed} gone, {remaining} left{postfix}"


def _work_off(waiting, compute, folder, executor, at_once, seconds, bar, failed):
    """Hand out cells and save what comes back; return those that a broken executor has left."""
    waiting, pending, left, broken = list(waiting), {}, [], False
    while pending or (waiting and not broken):
        try:
            while waiting and not broken and len(pending) < at_once:
                pending[executor.submit(compute, waiting[0])] = waiting[0]
                waiting.pop(0)
        except BrokenExecutor:
            broken = True
        for future in wait(pending, return_when=FIRST_COMPLETED).done:
            cell = pending.pop(future)
            try:
                results.save(path_of(folder, cell), future.result())
            except (BrokenExecutor, CancelledError):  # what others have finished is saved all the same
                left.append(cell)
                broken = True
                continue
            except Exception as error:  # a cell's own error must not stop the others
                failed.append(f"{cell.name}: {type(error).__name__}: {error}")
            bar.update(seconds(cell))
            bar.set_postfix_str(f"{len(waiting) + len(pending)} cells left", refresh=False)
    return [*left, *waiting]


def _close(executor):
    """Stop an executor; a cluster's takes no word on what is not begun."""
    try:
        executor.shutdown(wait=False, cancel_futures=True)
    except TypeError:
        executor.shutdown(wait=False)
