"""Sums over cells, leads and lags, and the depth that hops need: each on made-up runs with a known answer."""

from dataclasses import replace

import numpy as np
import pytest
from made_cells import STEPS, grid, made

from mhc_np.lab import hops, lead_lag
from mhc_np.lab import question as q
from mhc_np.lab.cells import Cell
from mhc_np.lab.grids import GRIDS


def cells(arm="hc", seeds=3, **settings):
    return [Cell(arm=arm, seed=seed, **settings) for seed in range(seeds)]


def test_the_edge_stops_at_the_first_rate_that_fails():
    def found(errors):
        return q.index([made(cell, mae=mae) for rate, mae in errors.items() for cell in cells(rate=rate)])

    assert q.edge(found({3e-3: 0.05, 1e-2: 0.09, 2e-2: 0.2}), "hc", True, 12) == 1e-2
    assert q.edge(found({3e-3: 0.05, 1e-2: 0.3, 2e-2: 0.05}), "hc", True, 12) == 3e-3  # luck beyond does not count
    assert q.edge(found({3e-3: 0.1}), "hc", True, 12) == 0
    assert q.edge(found({3e-3: None}), "hc", True, 12) == 0


def test_broken_runs_are_infinitely_wrong():
    broken = made(Cell(), diverged_at=30, mae=0.01)
    assert q.error(broken) == np.inf
    assert q.failed(broken)
    assert q.has_spikes(broken)
    assert q.error(made(Cell(), mae=None)) == np.inf
    assert not q.failed(made(Cell(), mae=0.5))
    assert q.is_exploded(made(Cell(), forward=None))
    assert not q.is_calm(made(Cell(), backward=None))


def test_missing_cells_are_told():
    results = grid("khop-mixing")
    assert q.missing("khop-mixing", results) == ""
    short = [r for r in results if r["cell"]["seed"] != 2]
    assert q.missing("khop-mixing", short) == "missing: 20 of 60 of khop-mixing (seeds 2)"
    other = [made(replace(cell, num_steps=100)) for cell in GRIDS["khop-mixing"]()]  # not the grid's own
    assert q.missing("khop-mixing", other) == "all 60 cells of khop-mixing are missing"


def test_worse_counts_strata_and_leaves_out_common_failure():
    results = [made(cell, mae=mae) for cell in cells("hc", rate=1e-2) for mae in [0.09]]
    results += [made(cell, mae=0.05) for cell in cells("mhc", rate=1e-2)]
    results += [made(cell, mae=0.9) for arm in ("hc", "mhc") for cell in cells(arm, rate=4e-2)]
    assert q.worse(q.index(results), "hc", "mhc") == {
        "strata": 1,
        "worse": 1.0,
        "better": 0.0,
        "median_ratio": pytest.approx(1.8),
    }


def test_shapes_differ_by_two_spreads():
    def compared(ones, others, **options):
        results = []
        for arm, values in (("hc", ones), ("mhc", others)):
            for cell, value in zip(cells(arm, len(values)), values, strict=True):
                matched = None if value is None else {"attention": {"pc1_share": value}}
                results.append(made(cell, matched=matched))
        return q.lower_at_matched(q.index(results), "hc", "mhc", "attention", "pc1_share", **options)

    assert compared([0.5, 0.52, 0.48], [0.8, 0.82, 0.78]) == {
        "strata": 1,
        "share": 1.0,
        "median_difference": pytest.approx(-0.3),
    }
    assert compared([0.5, 0.9, 0.7], [0.8, 0.6, 1.0])["share"] == 0  # within the spread
    assert compared([0.8, 0.8, 0.8], [0.5, 0.5, 0.5])["share"] == 0  # higher is not lower
    assert compared([0.5, 0.5, None], [0.8, 0.8, 0.8])["strata"] == 0  # two seeds only
    assert compared([0.75, 0.9, 0.6], [0.8, 0.6, 1.0], by=0.04)["share"] == 1


def test_used_thirds():
    assert q.used_thirds(made(Cell())) == 2  # the middle third costs nothing
    assert q.used_thirds(made(Cell(), matched=None), "matched") is None


def curve(*pieces):
    """A curve over the looks from (value, how often) pieces."""
    values = [value for value, count in pieces for _ in range(count)]
    assert len(values) == len(STEPS)
    return values


def run(gain_at=None, geometry_at=None, loss_at=None, knows_at=100):
    def step(at, before, after):
        return [after if at is not None and s >= at else before for s in STEPS]

    kl = [0.1 if s >= knows_at else 1.0 for s in STEPS]
    kl = [0.4 if loss_at is not None and s >= loss_at else value for s, value in zip(STEPS, kl, strict=True)]
    looks = {"kl_bits": kl, "mae_bits": kl, "forward": step(gain_at, 1.0, 50.0)}
    looks["stream_spearman"] = step(geometry_at, 0.9, 0.6)
    return made(Cell(arm="hc"), looks=looks)


def test_events_by_hand():
    events = lead_lag.event_steps(run(gain_at=40, geometry_at=200, loss_at=250))
    assert events == {"gain": 40, "geometry": 200, "calibration": 250, "loss": 250}
    assert lead_lag.event_steps(run()) == dict.fromkeys(lead_lag.NAMES)
    before = lead_lag.event_steps(run(geometry_at=50, loss_at=250))  # a fall before there is knowledge is none
    assert before["geometry"] is None
    never = lead_lag.event_steps(run(gain_at=40, loss_at=None, knows_at=10_000))
    assert never == {"gain": 40, "geometry": None, "calibration": None, "loss": None}


def test_a_run_that_breaks_off_has_lost():
    result = run(gain_at=40)
    result["train"]["diverged_at"] = 400
    assert lead_lag.event_steps(result)["loss"] == 400


def test_a_run_that_never_knew_has_nothing_to_lose():
    result = run(gain_at=40, knows_at=10_000)
    result["train"]["diverged_at"] = 400
    assert lead_lag.event_steps(result) == {"gain": 40, "geometry": None, "calibration": None, "loss": None}
    assert lead_lag.leads([result] * 20, "gain") == []


def test_a_coin_that_comes_first_half_of_the_time_does_not_lead():
    """Geometry that falls at random around the loss: no lead; shifted thirty steps ahead: a lead."""
    rng = np.random.default_rng(0)
    shifts = 10 * rng.integers(-5, 6, 20)
    even = [run(geometry_at=250 + int(shift), loss_at=250) for shift in shifts]
    assert not lead_lag.leading(even, "geometry")["leads"]
    ahead = [run(geometry_at=250 - 60 + int(shift), loss_at=250) for shift in shifts]
    assert lead_lag.leading(ahead, "geometry")["leads"]


def test_leading_needs_runs_that_agree():
    many = [run(gain_at=200 + 10 * k, geometry_at=300, loss_at=280) for k in range(8)] * 2
    assert lead_lag.leads(many, "gain")[:3] == [80, 70, 60]
    assert lead_lag.leading(many, "gain")["leads"]
    assert not lead_lag.leading(many, "geometry")["leads"]  # twenty steps late
    assert lead_lag.leads(many[:1], "geometry") == [-20]
    assert not lead_lag.leading(many[:5], "gain")["leads"]  # too few
    silent = [run(loss_at=280)] * 12
    assert set(lead_lag.leads(silent, "gain")) == {-400}  # it warned of nothing


def test_gain_without_consequence():
    assert lead_lag.followed([run(gain_at=40)] * 3 + [run(gain_at=40, loss_at=300)]) == 0.25
    assert lead_lag.followed([run(gain_at=300, loss_at=200)]) == 0
    assert np.isnan(lead_lag.followed([run()]))
    assert lead_lag.goes_wrong([run(), run(loss_at=300)]) == 0.5


def test_depth_needed_is_the_smallest_that_solves_at_its_best_rate():
    def change(cell):
        k, L = cell.task_settings["num_hops"], cell.depth
        return {"accuracy": 0.95 if L >= k and cell.rate == 3e-3 and k < 4 else 0.4}

    results = grid("khop-depth", change)
    assert hops.depth_needed(results) == {1: 1, 2: 2, 3: 3, 4: None}
    assert hops.accuracies(results)[3, 2] == 0.4
    assert hops.depth_needed([r for r in results if r["cell"]["seed"] < 2]) == {}
