"""The rules of speed: both ways of each give the same numbers. What the times are is not tested."""

import sys

import numpy as np
import pytest

from mhc_np.lab import bench, bench_rules


@pytest.mark.parametrize("rule", bench_rules.RULES)
def test_the_obvious_way_and_ours_agree(rule):
    obvious, ours = (way() for way in bench_rules.RULES[rule]())
    assert obvious.dtype == ours.dtype == np.float32
    assert obvious.shape == ours.shape
    np.testing.assert_allclose(ours, obvious, rtol=0, atol=1e-5 * np.abs(obvious).max())


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setitem(bench.SIZES, "S", {"width": 8, "num_layers": 1, "num_heads": 2, "num_positions": 4})


def test_every_rule_is_timed_and_told(small, monkeypatch):
    heap = {"kept": {"median_ms": 1.0, "faults": 2.0}}
    monkeypatch.setattr(bench_rules, "time_heap", lambda rounds: heap)
    result = bench_rules.bench_rules(rounds=2)
    assert result["rules"].keys() == bench_rules.RULES.keys()
    for row in result["rules"].values():
        assert row["ours_us"] > 0
        np.testing.assert_allclose(row["ratio"], row["obvious_us"] / row["ours_us"])
    told = bench_rules.report(result)
    assert all(rule in told for rule in bench_rules.RULES)
    assert told.endswith(" freed memory kept                      1.0 ms, 2 pages faulted in")


@pytest.mark.skipif(sys.platform != "linux", reason="there is nothing to keep")
def test_a_step_prints_its_time_and_its_page_faults(small, capsys):
    bench_rules.print_steps("S", 3, True)
    milliseconds, faults = map(float, capsys.readouterr().out.split())
    assert milliseconds > 0
    assert faults < 50


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="there is nothing to keep")
def test_handing_memory_back_costs_page_faults():
    found = bench_rules.time_heap(rounds=1)
    assert found["kept"]["faults"] < 100 < 3000 < found["handed back"]["faults"]
