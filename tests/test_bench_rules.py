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


def test_every_rule_is_timed():
    rows = bench_rules.bench_rules(rounds=2)
    assert rows.keys() == bench_rules.RULES.keys()
    for row in rows.values():
        assert row["ours_us"] > 0
        np.testing.assert_allclose(row["ratio"], row["obvious_us"] / row["ours_us"])


@pytest.mark.skipif(sys.platform != "linux", reason="there is nothing to keep")
def test_kept_memory_is_not_faulted_in_again(capsys, monkeypatch):
    monkeypatch.setitem(bench.SIZES, "S", {"width": 8, "num_layers": 1, "num_heads": 2, "num_positions": 4})
    bench_rules._steps("S", 3, True)
    milliseconds, faults = map(float, capsys.readouterr().out.split())
    assert milliseconds > 0
    assert faults < 50
