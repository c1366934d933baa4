"""The benchmark of the grid's arms runs and reports; no test looks at a time."""

import json

import pytest

from mhc_np.lab import bench_arms, results
from mhc_np.lab.cells import Cell
from mhc_np.lab.grids import ARMS
from mhc_np.models import num_params, transformer


@pytest.mark.slow
def test_every_contestant_is_timed_beside_the_plain_network():
    tiny = {"width": 8, "depth": 1, "batch_size": 2, "task_settings": {"num_symbols": 3}}
    contestants = {"residual": Cell(**tiny), "hc": Cell(arm="hc", **tiny)}
    result = bench_arms.bench_arms(contestants, rounds=1)
    assert list(result["rows"]) == ["residual", "hc"]
    assert result["rows"]["residual"]["over_plain"] == 1
    for name, row in result["rows"].items():
        assert row["params"] == num_params(transformer, contestants[name].model_config())
        assert row["median_ms"] >= row["least_ms"] > 0
    text = bench_arms.report(json.loads(json.dumps(result))).splitlines()
    assert [line.split()[0] for line in text[1:3]] == ["residual", "hc"]


def test_the_kept_times_are_those_of_the_grid_s_arms():
    kept = results.load(results.KEPT / "bench" / "arms.json", ("rows",))["rows"]
    assert list(kept) == [*ARMS, bench_arms.WIDER]
    for name, row in kept.items():
        assert row["params"] == num_params(transformer, bench_arms.CONTESTANTS[name].model_config())
    assert kept["free"]["params"] == kept["mhc"]["params"]
