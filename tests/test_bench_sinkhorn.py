"""The benchmark runs and names its contestants; no test looks at a time."""

import numpy as np
import pytest

from mhc_np.autodiff import grad
from mhc_np.lab.bench_sinkhorn import Row, bench, report
from mhc_np.ops import sinkhorn


def test_all_contestants_are_timed_for_each_dtype():
    rows = bench(batch=4, num_iters=2, repeats=1)
    assert {row.dtype for row in rows} == {"float32", "float64"}
    assert sum(row.name == "mhc_np, unrolled" for row in rows) == 2
    assert all(row.median_ms >= row.least_ms >= 0 for row in rows)


def test_the_report_gives_our_share_of_the_others_time():
    text = report([Row("mhc_np, unrolled", "float32", 5.0, 4.0, 1.0), Row("other", "float32", 10.0, 9.0, 2.0)])
    assert text.splitlines()[2].split()[-1] == "0.50"


@pytest.mark.torch
def test_the_timed_functions_do_the_same_work():
    pytest.importorskip("torch")
    from mhc_np import torch_twin_connections as twin

    logits, cotangent = np.random.default_rng(0).standard_normal((2, 5, 3, 3))
    theirs = twin.forward_backward(twin.sinkhorn, logits, cotangent, 20)().numpy()
    np.testing.assert_allclose(grad(lambda x: (sinkhorn(x) * cotangent).sum())(logits), theirs, atol=1e-12)
