"""Mixings of trained networks: the raw ones are those that mHC projects, and a file says what made it."""

import json

import numpy as np
import pytest

from mhc_np import ops
from mhc_np.lab import trained_mixings as kept
from mhc_np.lab.cells import Cell
from mhc_np.models import ModelConfig, init
from mhc_np.models.mixings import mixings

TINY = {"depth": 2, "num_steps": 4, "width": 8, "batch_size": 2}


def network(scheme):
    config = ModelConfig(num_inputs=5, num_outputs=3, num_positions=6, width=8, scheme=scheme, num_streams=4)
    params = init(config, np.random.default_rng(0), np.float64)
    for block in params["blocks"].values():
        for part in block.values():
            leaves, rng = part["connection"], np.random.default_rng(1)
            part["connection"] = {name: leaf + 0.3 * rng.standard_normal(leaf.shape) for name, leaf in leaves.items()}
    return params, config, np.array([[0, 3, 1, 4], [2, 2, 0, 1]])


def test_raw_mixings_are_what_sinkhorn_is_given():
    params, config, inputs = network("mhc")
    raw = kept.raw_mixings(params, config, inputs=inputs)
    projected = mixings(params, config, inputs=inputs)
    assert len(raw) == len(projected) == 2 * config.num_layers
    for before, after in zip(raw, projected, strict=True):
        np.testing.assert_allclose(ops.sinkhorn(before, 20), after, atol=1e-12)
        assert np.ptp(before, axis=(0, 1)).max() > 0.01  # tokens differ


def test_raw_mixings_of_another_scheme_are_refused():
    params, config, inputs = network("hc")
    with pytest.raises(ValueError, match="raw_mixings: want a network of the scheme 'mhc', got 'hc'"):
        kept.raw_mixings(params, config, inputs=inputs)


@pytest.mark.parametrize("arm", kept.ARMS)
def test_the_command_writes_what_can_be_made_again(arm, tmp_path, capsys):
    kept.main([arm, "--rate", "0.02", "--seed", "3", "--out", str(tmp_path)], **TINY)
    path = kept.path_of(Cell(arm, rate=0.02, seed=3), tmp_path)
    assert capsys.readouterr().out.strip() == str(path)
    found = json.loads(path.read_text())
    assert np.shape(found["matrices"]) == (len(kept.QUESTIONS), 2 * TINY["depth"], 4, 4)
    assert found["made"]["command"] == f"python -m mhc_np.lab.trained_mixings {arm} --rate 0.02 --seed 3"
    assert found["kl_bits"] > 0
    again = kept.carry_out(Cell(**found["cell"]))
    assert {**again, "made": None} == {**found, "made": None}


def test_what_the_book_keeps_is_of_the_grid_and_names_its_command():
    paths = sorted(kept.KEPT.glob("*.json"))
    assert paths
    for path in paths:
        found = json.loads(path.read_text())
        cell = Cell(**found["cell"])
        assert path == kept.path_of(cell)
        assert cell == Cell(cell.arm, rate=cell.rate, seed=cell.seed)  # else the grid's own settings
        assert found["made"]["command"] == kept.command(cell)
        assert kept.load(cell.arm, cell.rate, cell.seed)["matrices"].shape == (3, 24, 4, 4)
