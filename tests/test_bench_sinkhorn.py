"""The benchmark runs and names its contestants; no test looks at a time."""

import json

import numpy as np
import pytest

from mhc_np.autodiff import grad
from mhc_np.lab import results
from mhc_np.lab.bench_sinkhorn import bench, report
from mhc_np.ops import sinkhorn


def test_all_contestants_are_timed_for_each_dtype():
    result = bench(batch=4, num_iters=2, repeats=1)
    assert {row["dtype"] for row in result["rows"]} == {"float32", "float64"}
    assert sum(row["name"] == "mhc_np, unrolled" for row in result["rows"]) == 2
    assert all(row["median_ms"] >= row["least_ms"] >= 0 for row in result["rows"])
    assert result["setting"]["num_iters"] == 2


def test_the_report_gives_our_share_of_the_others_time():
    other = {"name": "other", "dtype": "float32", "median_ms": 10.0, "least_ms": 9.0, "ours_over_it": 0.5}
    lines = report({"setting": {"batch": 8192}, "rows": [other]}).splitlines()
    assert lines[1].split()[-1] == "0.50"
    assert "batch 8,192" in lines[-1]


def test_the_result_can_be_kept(tmp_path):
    """As ``python -m mhc_np bench sinkhorn --keep`` does."""
    result = bench(batch=4, num_iters=2, repeats=1, dtypes=("float32",))
    results.save(tmp_path / "sinkhorn.json", result)
    kept = json.loads((tmp_path / "sinkhorn.json").read_text(encoding="utf-8"))
    assert [row["name"] for row in kept["rows"]] == [row["name"] for row in result["rows"]]
    assert "numpy" in kept["versions"]


@pytest.mark.torch
def test_the_timed_functions_do_the_same_work():
    pytest.importorskip("torch")
    from mhc_np.torch_twin import connections as twin

    logits, cotangent = np.random.default_rng(0).standard_normal((2, 5, 3, 3))
    theirs = twin.forward_backward(twin.sinkhorn, logits, cotangent, 20)().numpy()
    np.testing.assert_allclose(grad(lambda x: (sinkhorn(x) * cotangent).sum())(logits), theirs, atol=1e-12)
