"""Recipes of the mixing: the branches never notice, a slow mixing moves less, decay pulls where it says."""

from dataclasses import replace

import numpy as np
import pytest

from mhc_np.autodiff import flatten, tree_map
from mhc_np.lab.cell_runs import carry_out
from mhc_np.lab.cells import Cell
from mhc_np.lab.mixing_recipes import RECIPES, Apart, Recipe
from mhc_np.learn import AdamW
from mhc_np.models import init

TINY = Cell(arm="hc", width=8, depth=2, num_steps=6, batch_size=4, look_every=2, task_settings={"num_symbols": 4})


def trained(optimizer, steps=5):
    """Take steps along made-up gradients; return the starting and the last leaves."""
    params = init(TINY.model_config(), np.random.default_rng(0), np.float64)
    rng, state, start = np.random.default_rng(1), optimizer.init(params), flatten(params)
    start = {path: leaf.copy() for path, leaf in start.items()}
    for _ in range(steps):
        grads = tree_map(lambda leaf: rng.standard_normal(leaf.shape), params)
        params, state = optimizer.update(params, grads, state, 0.5)
    return start, flatten(params)


def is_mixing(path):
    return "/connection/" in path


def test_without_a_recipe_of_its_own_nothing_changes():
    plain = AdamW(0.01, weight_decay=0.1)
    _, one = trained(plain)
    _, other = trained(Apart(plain, Recipe()))
    assert one.keys() == other.keys()
    for path, leaf in one.items():
        np.testing.assert_array_equal(other[path], leaf, err_msg=path)


@pytest.mark.parametrize("name", RECIPES)
def test_the_branches_never_notice(name):
    plain = AdamW(0.01, weight_decay=0.1)
    _, one = trained(plain)
    _, other = trained(Apart(plain, RECIPES[name]))
    assert sum(map(is_mixing, one)) > 4
    for path, leaf in one.items():
        assert np.array_equal(other[path], leaf) != is_mixing(path), path


def test_a_tenth_of_the_rate_moves_a_tenth_as_far():
    start, whole = trained(AdamW(0.01))
    _, slow = trained(Apart(AdamW(0.01), RECIPES["slow"]))
    for path in filter(is_mixing, start):
        np.testing.assert_allclose(slow[path] - start[path], 0.1 * (whole[path] - start[path]), rtol=1e-6, atol=1e-12)


def test_decay_goes_to_zero_or_to_the_start():
    """One step with decay is the step without it, less the share of what there was, or of how far it was from home."""
    optimizer, params = AdamW(0.1, weight_decay=0.0), {"connection": {"b_res": np.array([2.0])}}
    for to_start, pulled in ((False, 0.1 * 0.5 * 3.0), (True, 0.1 * 0.5 * (3.0 - 2.0))):
        apart = Apart(optimizer, Recipe(decay=0.5, to_start=to_start))
        state, away = apart.init(params), {"connection": {"b_res": np.array([3.0])}}
        moved, state = apart.update(away, {"connection": {"b_res": np.array([1.0])}}, state)
        np.testing.assert_allclose(moved["connection"]["b_res"], 3.0 - 0.1 - pulled, rtol=1e-6)
        np.testing.assert_array_equal(state["start"]["connection"]["b_res"], [2.0])


def test_a_cell_with_a_recipe_is_another_cell_and_runs():
    slow = replace(TINY, mixing="slow")
    assert slow.name != TINY.name
    assert slow.described()["mixing"] == "slow"
    found = carry_out(slow)
    assert found["cell"] == slow.described()
    assert found["looks"] != carry_out(TINY)["looks"]


def test_records_that_were_kept_before_recipes_stay_valid():
    assert "mixing" not in TINY.described()
    with pytest.raises(ValueError, match="Cell: want mixing in"):
        Cell(mixing="fast")
