"""The benchmark of the schemes runs and reports; no test looks at a time."""

import json

import pytest

from mhc_np.lab.bench_connections import bench_connections, report


@pytest.mark.slow
def test_every_scheme_is_timed_beside_the_plain_network():
    result = bench_connections(schemes=["identity", "mhc_lite"], size="S", num_streams=2, rounds=1, with_torch=False)
    assert list(result["rows"]) == ["residual", "identity", "mhc_lite"]
    for row in result["rows"].values():
        assert row["ours"]["median_ms"] >= row["ours"]["least_ms"] > 0
        assert row["over_plain"] > 0
        assert "torch" not in row
    assert json.loads(json.dumps(result))["setting"]["num_streams"] == 2
    text = report(result).splitlines()
    assert [line.split(",")[0] for line in text[1:4]] == ["residual", "identity", "mhc_lite"]
    assert "num_streams 2" in text[-1]


@pytest.mark.slow
@pytest.mark.torch
def test_pytorch_takes_part_where_it_is_installed():
    pytest.importorskip("torch")
    result = bench_connections(schemes=["mhc"], size="S", num_streams=2, rounds=1)
    for who in ("torch", "torch_plain"):
        assert result["rows"]["mhc"][who]["least_ms"] > 0
        assert result["rows"]["mhc"][f"over_{who}"] > 0
    assert "torch_plain" not in result["rows"]["residual"]
    names = [line[:34].strip() for line in report(result).splitlines()[1:-1]]
    assert names[-3:] == ["mhc, mhc_np", "mhc, PyTorch, our twin", "mhc, PyTorch, as it reads"]
