"""Ablations on a network set by hand: each cost is known, and nothing else costs anything."""

import numpy as np
import pytest
from planted import V, counting, everything, prior_bits

from mhc_np.lab.ablate import answer, averages, concentration, costs, mean_kl_bits, parts, remove
from mhc_np.models import ModelConfig, init

BATCH, EXACT = everything()
CRITICAL = {"head 0.0", "attention 0", "block 0", "all attention"}
WIPES = {"skip at mlp 0", "skip at attention 1", "skip at mlp 1"}  # idle parts that overwrite what head 0 found


@pytest.mark.parametrize("kind", ["zero", "mean"])
def test_every_cost_of_the_hand_set_network_is_the_known_one(kind):
    config, params = counting()
    average = averages(params, config, inputs=BATCH.inputs) if kind == "mean" else None
    found = costs(params, config, inputs=BATCH.inputs, exact=EXACT, average=average)
    wanted = {name: prior_bits() if name in CRITICAL | WIPES else 0.0 for name in found}
    assert found == pytest.approx(wanted, abs=1e-9)
    assert ("routing 0" in found) == (kind == "mean")


def test_wide_streams_are_ablated_alike():
    config, params = counting(scheme="identity", num_streams=2)
    for block in params["blocks"].values():
        for part in block.values():  # read the mean, write ones: two copies of the plain network
            part["connection"]["b_pre"] = np.zeros(2)
            part["connection"]["b_post"] = np.zeros(2)
    chosen = {name: part for name, part in parts(config).items() if part.kind in ("head", "mlp", "skip")}
    found = costs(params, config, inputs=BATCH.inputs, exact=EXACT, chosen=chosen)
    assert found == pytest.approx({n: prior_bits() if n in CRITICAL | WIPES else 0.0 for n in found}, abs=1e-9)


def test_the_whole_network_is_exact():
    config, params = counting()
    assert mean_kl_bits(EXACT, answer(params, config, inputs=BATCH.inputs)) == pytest.approx(0, abs=1e-12)


def test_mean_ablation_keeps_a_constant_that_zero_ablation_takes():
    """A feed-forward part that favours value 0, and the next one takes it back: a constant, and counted on."""
    config, params = counting()
    for layer, sign in (("0", 1), ("1", -1)):
        params["blocks"][layer]["mlp"]["b_out"] = 3.0 * sign * np.eye(2 * V)[V]
    inputs = BATCH.inputs
    average = averages(params, config, inputs=inputs)
    chosen = {"mlp 0": parts(config)["mlp 0"]}
    zero, mean = (costs(params, config, inputs=inputs, exact=EXACT, average=a, chosen=chosen) for a in (None, average))
    assert mean["mlp 0"] == pytest.approx(0, abs=1e-9)
    assert zero["mlp 0"] > 0.1


def test_fixed_routing_costs_nothing_where_routing_is_the_same_and_something_where_it_is_chosen():
    config = ModelConfig(num_inputs=5, num_outputs=5, num_positions=7, width=8, num_heads=2, positions="none")
    params = init(config, np.random.default_rng(0), np.float64)
    params["head"]["W_head"] *= 100
    ids = np.random.default_rng(1).integers(5, size=(30, 7))
    exact = answer(params, config, inputs=ids)  # hold the network against itself
    chosen = {"routing 0": parts(config)["routing 0"]}

    def cost(params, inputs, exact):
        average = averages(params, config, inputs=inputs)
        return costs(params, config, inputs=inputs, exact=exact, average=average, chosen=chosen)["routing 0"]

    assert cost(params, ids, exact) > 1e-3
    assert cost(params, ids[:1], exact[:1]) == pytest.approx(0, abs=1e-12)  # its own map is its average
    params["blocks"]["0"]["attention"]["W_q"] *= 0
    assert cost(params, ids, answer(params, config, inputs=ids)) == pytest.approx(0, abs=1e-12)


def test_a_removed_part_changes_its_own_columns_alone():
    config, params = counting()
    value = np.random.default_rng(0).standard_normal((2, 5, 2 * V))
    changed = remove(parts(config)["head 0.1"], config)("heads", 0, value)
    np.testing.assert_array_equal(changed[..., :V], value[..., :V])
    assert (changed[..., V:] == 0).all()
    assert (value != 0).all()  # the trace itself is left alone
    assert remove(parts(config)["head 0.1"], config)("heads", 1, value) is value


def test_fixed_routing_wants_an_average():
    config, _ = counting()
    with pytest.raises(ValueError, match="remove: routing is fixed to an average, want average"):
        remove(parts(config)["all routing"], config)


def test_concentration_of_planted_damage():
    assert concentration({"a": 0.1, "b": 0.1, "c": 0.1, "d": 0.1})["carry_half"] == 2
    one = concentration({"a": 0.0, "b": 2.0, "c": -3.0})
    assert one == {"largest": "b", "largest_share": 1.0, "over_second": None, "carry_half": 1}
    assert concentration({"a": 0.0, "b": -1.0})["largest"] is None
