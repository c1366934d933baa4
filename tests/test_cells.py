"""Cells: the same to the bit again, equal at the start whatever the arm, and broken networks told as broken."""

import json
from dataclasses import replace

import numpy as np
import pytest

from mhc_np.autodiff import flatten
from mhc_np.lab import cell_looks, stress
from mhc_np.lab.cell_runs import carry_out
from mhc_np.lab.cells import Cell
from mhc_np.lab.grids import ARMS
from mhc_np.lab.site_gradients import site_gradients
from mhc_np.measure.calibration import kl_bits, probabilities
from mhc_np.models import init, logits
from mhc_np.ops import cross_entropy

TINY = Cell(width=8, depth=2, num_steps=6, batch_size=4, look_every=2, task_settings={"num_symbols": 4})


def numbers(result):
    return json.dumps({name: part for name, part in result.items() if name != "made"})


@pytest.fixture(scope="module")
def tiny():
    return carry_out(replace(TINY, arm="mhc"))


def test_a_cell_is_the_same_to_the_bit_again(tiny):
    assert numbers(carry_out(replace(TINY, arm="mhc"))) == numbers(tiny)
    assert numbers(carry_out(replace(TINY, arm="mhc", seed=1))) != numbers(tiny)


def test_a_result_holds_what_it_says(tiny):
    assert tiny["cell"] == replace(TINY, arm="mhc").described()
    assert tiny["looks"]["step"] == [0, 2, 4, 6]
    assert {len(curve) for curve in tiny["looks"].values()} == {4}
    assert tiny["final"]["step"] == 6
    assert tiny["matched"] is None
    assert tiny["looks"]["forward"][0] == pytest.approx(1, abs=1e-5)
    assert tiny["looks"]["divergence"][0] == pytest.approx(0, abs=1e-2)  # reads differ, so branches write alike to all
    assert len(tiny["train"]["kl_nats"]) == 2
    assert len(json.dumps(tiny)) < 10_000
    assert json.loads(json.dumps(tiny, allow_nan=False)) == tiny


def test_every_arm_starts_as_the_same_function():
    found = {}
    for arm in ARMS:
        config = replace(TINY, arm=arm, depth=6, width=32).model_config()
        inputs = np.random.default_rng(1).integers(0, 4, (3, 5))
        found[arm] = logits(init(config, np.random.default_rng(0)), config, inputs=inputs)
    for arm, values in found.items():
        np.testing.assert_allclose(values, found["residual"], rtol=0, atol=1e-6, err_msg=arm)


def test_arms_see_the_same_sequences():
    first = {arm: carry_out(replace(TINY, arm=arm, num_steps=1, look_every=1)) for arm in ("residual", "hc")}
    one, other = (first[arm]["train"]["kl_nats"][0] for arm in first)
    assert one == pytest.approx(other, rel=1e-3)
    assert one > 0


def test_the_loss_is_the_divergence():
    """What training records is KL in nats: cross-entropy less the entropy of the exact posterior."""
    cell = replace(TINY, num_steps=1, look_every=1)
    subject = cell_looks.subject(cell, np.random.default_rng(3))
    params = init(cell.model_config(), np.random.default_rng(0))
    out = logits(params, cell.model_config(), inputs=subject.batch.inputs)
    loss = cross_entropy(out, targets=subject.exact, mask=subject.batch.mask)
    kl = np.nanmean(kl_bits(subject.exact, probabilities(out))) * np.log(2)
    assert loss - cell_looks.entropy_nats(subject.exact) == pytest.approx(kl, rel=1e-4)


def test_a_network_that_blows_up_is_a_result():
    found = carry_out(replace(TINY, arm="free", rate=1e6, num_steps=30, look_every=5))
    assert found["train"]["diverged_at"] is not None
    assert found["settled"] is None
    json.dumps(found, allow_nan=False)


def test_what_is_not_finite_is_nan_and_raises_nothing():
    rows = np.full((2, 3, 4), np.inf)
    assert np.isnan(cell_looks.describe(rows, np.full((2, 3, 5), 0.2))["pc1_share"])
    assert cell_looks.nearest([np.nan, np.inf, 0.9]) is None
    assert cell_looks.nearest([0.9, 0.029, np.nan]) == 1


def test_switching_off_every_third_leaves_the_embedding():
    cell = replace(TINY, depth=3)
    subject = cell_looks.subject(cell, np.random.default_rng(4))
    params = init(subject.config, np.random.default_rng(0))
    all_off = cell_looks.without(params, subject, [0, 1, 2])
    silent = {**params, "blocks": {}}
    for layer, block in params["blocks"].items():
        attention = {**block["attention"], "W_o": 0 * block["attention"]["W_o"]}
        mlp = {**block["mlp"], "W_out": 0 * block["mlp"]["W_out"], "b_out": 0 * block["mlp"]["b_out"]}
        silent["blocks"][layer] = {"attention": attention, "mlp": mlp}
    assert all_off == pytest.approx(cell_looks.without(silent, subject, []), rel=1e-6)
    assert all_off != pytest.approx(cell_looks.without(params, subject, []), rel=1e-3)


def test_gradients_at_a_site_by_differences():
    cell = replace(TINY, arm="mhc")
    subject = cell_looks.first(cell_looks.subject(cell, np.random.default_rng(5)), 3)
    config, batch = subject.config, subject.batch
    params = init(config, np.random.default_rng(0), np.float64)
    found = site_gradients(params, config, batch, [("heads", 0), ("mlp", 1)])
    direction = np.random.default_rng(6).standard_normal(found["heads", 0].shape)

    def loss(size):
        def hook(site, layer, value):
            return value + size * direction if (site, layer) == ("heads", 0) else value

        out = logits(params, config, inputs=batch.inputs, hook=hook)
        return cross_entropy(out, targets=batch.targets, mask=batch.mask)

    slope = (loss(1e-5) - loss(-1e-5)) / 2e-5
    assert (found["heads", 0] * direction).sum() == pytest.approx(slope, rel=1e-6)


def test_small_errors_make_the_gradient_the_e_step():
    subject = cell_looks.first(cell_looks.subject(TINY, np.random.default_rng(7)), 4)
    params = init(subject.config, np.random.default_rng(0))
    assert cell_looks.em_cosine(params, subject) == pytest.approx(1, abs=1e-2)


@pytest.mark.parametrize("arm", stress.ARMS)
def test_frozen_mixing_stays_and_is_the_same_draw(arm):
    cell = replace(TINY, arm=arm, noise=0.2)
    params = init(cell.model_config(), np.random.default_rng(0))
    trained, complete = stress.freeze(params, arm, 0.2, np.random.default_rng(1))
    whole, paths = flatten(complete(trained)), {path for path in flatten(params) if path.endswith("_res")}
    assert whole.keys() == flatten(params).keys()
    assert flatten(trained).keys() == whole.keys() - paths
    H = np.eye(4) + 0.2 * np.random.default_rng(1).standard_normal((4, 4))
    want = H if arm == "free" else np.log(np.maximum(H, np.exp(-8)))
    np.testing.assert_allclose(whole["blocks/0/attention/connection/b_res"], want, rtol=1e-6)
    found = carry_out(cell)
    gain = found["looks"]["forward"]
    assert np.ptp(gain) < 1e-6 * gain[0]
    assert (abs(gain[0] - 1) < 1e-4) == (arm == "mhc")
    with pytest.raises(ValueError, match="freeze: noise is for the arms free, mhc, got 'hc'"):
        stress.freeze(params, "hc", 0.1, np.random.default_rng(0))


def test_unknown_names_are_refused():
    with pytest.raises(ValueError, match="Cell: want arm in"):
        Cell(arm="hyper")
    with pytest.raises(ValueError, match="Cell: want schedule in"):
        Cell(schedule="step")
