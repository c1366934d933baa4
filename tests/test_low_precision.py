"""Fewer bits: the rounding is torch's, a small stream survives it, a large one is infinite or deaf."""

import numpy as np
import pytest

from mhc_np.autodiff import tree_map
from mhc_np.lab import cell_looks, low_precision, results
from mhc_np.lab.cells import Cell
from mhc_np.models import init, logits

TINY = Cell(width=8, depth=2, num_steps=3, batch_size=4, look_every=1, task_settings={"num_symbols": 4})


@pytest.fixture(scope="module")
def network():
    subject = cell_looks.first(cell_looks.subject(TINY, np.random.default_rng(0)), 6)
    return init(subject.config, np.random.default_rng(1)), subject


@pytest.mark.torch
def test_the_rounding_is_torch_s():
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(2)
    x = (rng.standard_normal(5000) * 10.0 ** rng.uniform(-20, 20, 5000)).astype(np.float32)
    for name, kind in (("bfloat16", torch.bfloat16), ("float16", torch.float16)):
        want = torch.tensor(x).to(kind).to(torch.float32).numpy()
        np.testing.assert_array_equal(low_precision.FORMATS[name](x), want, err_msg=name)


def test_all_streams_are_rounded_and_nothing_else(network):
    seen = []

    def note(x):
        seen.append(x.shape)
        return x

    params, subject = network
    logits(params, subject.config, inputs=subject.batch.inputs, hook=low_precision.kept_in(note))
    B, T = subject.batch.inputs.shape
    assert seen == [(B, T, 1, 8)] * 5  # the embedding, and two sub-layers of two blocks


def test_a_small_stream_survives_and_a_large_one_overflows(network):
    params, subject = network
    small = low_precision.look(params, subject)["kl_bits"]
    assert small["float16"] == pytest.approx(small["float32"], abs=0.01)
    assert small["bfloat16"] == pytest.approx(small["float32"], abs=0.01)
    huge = {**params, "embed": tree_map(lambda leaf: leaf * np.float32(1e7), params["embed"])}
    large = low_precision.look(huge, subject)["kl_bits"]
    assert np.isfinite(large["bfloat16"])
    assert not np.isfinite(large["float16"])


def test_the_result_is_written(tmp_path, monkeypatch):
    made = low_precision.low_precision(TINY, arms=("residual", "hc"), seeds=[0])
    assert [row["arm"] for row in made["rows"]] == ["residual", "hc"]
    monkeypatch.setattr(low_precision, "low_precision", lambda: made)
    low_precision.main(["--out", str(tmp_path / "bits.json")])
    assert results.load(tmp_path / "bits.json", ("cell", "rows"))["rows"] == made["rows"]
