"""Rates at the ends of a grid: found, and run beyond; and no verdict hangs on one."""

import pytest

from mhc_np.dynamics.arms import ARMS
from mhc_np.lab import em_edges
from mhc_np.lab.em_arms import pick
from mhc_np.lab.em_gain import OPTIMIZERS, pick_rates
from mhc_np.lab.em_runs import load
from mhc_np.lab.em_setting import SETTINGS, smaller

TINY = smaller(SETTINGS["marked"], num_steps=20)


def test_beyond_goes_on_in_the_grids_own_ratio():
    grid = (1.0, 1.78, 3.16, 5.62, 10.0)
    assert em_edges.rates_beyond(grid, [1.78]) == []
    assert em_edges.rates_beyond(grid, [10.0, 3.16]) == [17.8, 31.6]
    assert em_edges.rates_beyond(grid, [1.0]) == [0.562, 0.316]
    assert em_edges.rates_beyond(grid, [10.0, 1.0]) == [0.562, 0.316, 17.8, 31.6]


def sweep_of(best):
    """A made-up sweep in which the given rates are the best, and every other arm is best in the middle."""
    found = {}
    for name, arm in ARMS.items():
        rates = TINY.adamw_rates if arm.adamw else TINY.rates
        top = best.get(name, rates[3])
        found[name] = [{"rate": r, "half": 1, "late": abs(r - top), "final_nats": abs(r - top)} for r in rates]
    return {"sweep": found}


def test_only_arms_at_an_end_are_run_beyond_it():
    found = em_edges.arms_beyond(TINY, 0, [sweep_of({"sgd": TINY.rates[-1], "adamw": TINY.adamw_rates[0]})])["beyond"]
    assert set(found) == {"sgd", "adamw"}
    assert min(run["rate"] for run in found["sgd"]) > TINY.rates[-1]
    assert max(run["rate"] for run in found["adamw"]) < TINY.adamw_rates[0]
    assert "curve" not in found["sgd"][0]


def test_cells_of_the_gain_too(monkeypatch):
    monkeypatch.setattr(em_edges, "run_cell", lambda d, g, o, rate, seed, **kw: {"rate": rate, "update_cosine": 0.0})
    rates = OPTIMIZERS["sgd_clip"][0]
    cell = {"optimizer": "sgd_clip", "depth": 1, "gain": 1.0}
    sweeps = [{"sweep": [{**cell, "rate": rate, "kl_bits": 1 / rate} for rate in rates]}]
    assert em_edges.gain_beyond(0, sweeps) == {"beyond": [{"rate": 3.16}, {"rate": 10.0}]}


@pytest.mark.parametrize("task", SETTINGS)
def test_the_verdict_on_speed_compares_arms_whose_best_rates_are_bracketed(task):
    setting, best = SETTINGS[task], pick(load()[f"sweep-{task}"])
    for name in ("sgd", "value_x10"):
        assert em_edges.rates_beyond(setting.rates, best[name].values()) == []


def test_the_verdict_on_the_gain_reads_bracketed_rates_where_anything_is_learned():
    sweeps = load()["sweep-gain"]
    for (optimizer, depth, gain), best in pick_rates(sweeps).items():
        if optimizer == "sgd" and em_edges.rates_beyond(OPTIMIZERS["sgd"][0], [best]):
            assert (depth, gain) in {(8, 1.5), (8, 2.0)}  # the smallest rate: nothing is learned there at any
