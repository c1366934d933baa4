"""Belief through depth: the last entry is the network's answer, the first the head's word on the embedding."""

from dataclasses import replace

import numpy as np
import pytest

from mhc_np.lab import belief_paths, cell_looks, results
from mhc_np.lab.ablate import answer, mean_kl_bits
from mhc_np.lab.cell_runs import subject_of
from mhc_np.lab.cells import Cell
from mhc_np.measure.calibration import entropy_bits
from mhc_np.models import init

TINY = Cell(width=8, depth=2, num_steps=3, batch_size=4, look_every=1, task_settings={"num_symbols": 4})


def test_the_path_ends_at_the_answer():
    cell = replace(TINY, arm="mhc")
    subject = cell_looks.first(subject_of(cell), 6)
    params = init(subject.config, np.random.default_rng(0))
    path = belief_paths.path_of(params, subject)
    predicted = answer(params, subject.config, inputs=subject.batch.inputs)
    assert path["kl_bits"][-1] == pytest.approx(mean_kl_bits(subject.exact, predicted), rel=1e-6)
    np.testing.assert_allclose(path["entropy_bits"][-1], entropy_bits(predicted[:, ::2]).mean(axis=0), rtol=1e-6)
    assert len(path["kl_bits"]) == len(path["growth"]) == 3
    assert path["growth"][0] == 1


def test_the_result_holds_every_arm(tmp_path, monkeypatch):
    made = belief_paths.belief_paths(TINY)
    assert set(belief_paths.ARMS) <= set(made)
    np.testing.assert_allclose(made["exact_entropy_bits"], [2, np.log2(3), 1, 0], atol=1e-4)
    monkeypatch.setattr(belief_paths, "CELL", TINY)
    monkeypatch.setattr(belief_paths, "belief_paths", lambda: made)
    belief_paths.main(["--out", str(tmp_path / "paths.json")])
    assert results.load(tmp_path / "paths.json", ("cell", "hc"))["hc"] == made["hc"]
