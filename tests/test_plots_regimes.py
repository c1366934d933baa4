"""The map of regimes: the colour follows who is ahead, failures and gaps have none."""

import numpy as np
from made_cells import grid, made

from mhc_np.lab import plots, plots_regimes
from mhc_np.lab import question as q
from mhc_np.lab.cells import Cell


def drawn(results):
    _, ax = plots.figure()
    texts = plots_regimes.draw_map(ax, q.index(results), "hc", "mhc")
    return texts, np.ma.filled(ax.images[0].get_array(), np.nan), ax


def test_every_tile_tells_its_setting():
    def planted(cell):
        errors = {"hc": {3e-3: 0.01, 1e-2: 0.11, 2e-2: None, 4e-2: 0.9}, "mhc": {4e-2: 0.8}}
        return {"mae": errors.get(cell.arm, {}).get(cell.rate, 0.1)}

    texts, shades, ax = drawn(grid("bijection", planted))
    assert [texts[True, 6, rate] for rate in (3e-3, 1e-2, 2e-2, 4e-2)] == ["×0.1", "×1.1", "broke", "both\nfail"]
    np.testing.assert_allclose(shades[0], [-1, 0, plots_regimes.TOP, np.nan])
    assert len(texts) == 24
    assert [label.get_text() for label in ax.get_yticklabels()][2:4] == ["24 norm", "6 bare"]


def test_what_is_not_there_is_left_empty():
    texts, shades, _ = drawn([made(Cell(arm="hc")), made(Cell(arm="mhc"), mae=None)])
    assert texts == {(True, 12, 1e-2): "other\nbroke"}
    assert np.isnan(shades).sum() == 23
    assert drawn([])[0] == {}
