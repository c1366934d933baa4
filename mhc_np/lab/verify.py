"""Run kept cells again and compare: whether every number is the same to the last bit.

Chapter: chapters/16_what_breaks_first.md      Tests: tests/test_verify.py

A cell's file holds all that decides its outcome, so running it again must write the same file, but for the entry "made"
(time, versions, commit). The processor and the BLAS may differ on another machine; then the last bits may.
"""

import tempfile

from mhc_np.lab import grid, results
from mhc_np.lab.cell_runs import carry_out
from mhc_np.lab.grids import seconds

NOT_COMPARED = "made"


def choose(cells, found, count):
    """Return so many kept cells: of different seeds and arms as far as that goes, the cheapest of those."""
    left, chosen = [cell for cell in cells if cell.name in found], []
    while left and len(chosen) < count:

        def often(cell):
            return sum((cell.seed == other.seed) + (cell.arm == other.arm) for other in chosen)

        chosen.append(min(left, key=lambda cell: (often(cell), seconds(cell))))
        left.remove(chosen[-1])
    return chosen


def verify(cells, folder, count, compute=carry_out, say=print):
    """Run some of a folder's cells again, in a scratch folder.

    Parameters
    ----------
    cells : list of Cell
    folder : path
        Of the kept results.
    count : int
        How many are run again; see `choose`.
    compute : callable
        ``compute(cell) -> dict``.
    say : callable
        Is told a line a cell.

    Returns
    -------
    list of dict
        A cell's ``name``, the entries that ``differ`` (none, it is hoped), and both records of how it was ``kept`` and
        made ``again``.
    """
    found, _ = grid.load(folder, cells)
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        for cell in choose(cells, found, count):
            path = grid.path_of(scratch, cell)
            results.save(path, compute(cell))
            old, new = found[cell.name], results.load(path, grid.NEEDED)
            differ = sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name))
            differ = [name for name in differ if name != NOT_COMPARED]
            rows.append({"name": cell.name, "differ": differ, "kept": old["made"], "again": new["made"]})
            say(f"{cell.name}: {'the same to the bit' if not differ else 'differs in ' + ', '.join(differ)}")
    return rows
