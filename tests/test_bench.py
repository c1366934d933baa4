"""The step benchmark: it times the same work twice. What the times are is not tested."""

import sys

import numpy as np
import pytest

from mhc_np.lab import bench


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setitem(bench.SIZES, "S", {"width": 8, "num_layers": 1, "num_heads": 2, "num_positions": 4})


def test_without_torch_our_times_stand_alone(small, monkeypatch):
    monkeypatch.setitem(sys.modules, "mhc_np.torch_twin", None)
    monkeypatch.delattr("mhc_np.torch_twin", raising=False)
    result = bench.bench_step(sizes=["S"], rounds=3)
    row = result["sizes"]["S"]
    assert set(row) == {"params", "rounds", "ours"}
    assert row["rounds"] == 3
    assert 0 < row["ours"]["least_ms"] <= row["ours"]["median_ms"]
    assert "not installed" in bench.report(result)
    assert {"machine", "versions", "commit"} < result.keys()


def test_an_unknown_size_is_refused():
    with pytest.raises(ValueError, match="want sizes among S, M, L, got 'XL'"):
        bench.bench_step(sizes=["S", "XL"])


def test_our_step_learns(small):
    config = bench.ModelConfig(num_inputs=40, num_outputs=20, **bench.SIZES["S"])
    step = bench.our_step(bench.init(config, np.random.default_rng(0)), config)
    batch = np.arange(8).reshape(2, 4), np.zeros((2, 4), int), np.ones((2, 4), bool)
    losses = [step(*batch) for _ in range(30)]
    assert losses[-1] < 0.8 * losses[0]


@pytest.mark.torch
def test_both_contestants_do_the_same_work(small):
    pytest.importorskip("torch", reason="PyTorch is not installed")
    result = bench.bench_step(sizes=["S"], rounds=4)
    row = result["sizes"]["S"]
    assert row["loss_difference"] < 1e-5  # the second is after a step of AdamW
    assert row["ratio"] > 0
    assert row["ratio_of_least"] == row["ours"]["least_ms"] / row["torch"]["least_ms"]
    result["machine"]["blas threads"] = "1"
    assert "S: d 8, 1 layers" in bench.report(result)
    assert "NumPy was not held" not in bench.report(result)
    result["machine"]["blas threads"] = "not set"
    assert bench.report(result).endswith("set OPENBLAS_NUM_THREADS=1 first.")
