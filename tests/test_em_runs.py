"""The runs of EM at a tiny size: they run, save what the rules read, and choose rates as they say."""

import json
import re

import numpy as np
import pytest

from mhc_np.dynamics.arms import ARMS
from mhc_np.lab import em_arms, em_control, em_gain, em_laws, em_runs, em_trace, results
from mhc_np.lab.em_runs import EM_RUNS, load, main, run_em
from mhc_np.lab.em_setting import SETTINGS, Stage, smaller
from mhc_np.lab.verdicts import VERDICTS
from mhc_np.lab.verdicts_em import RULES

TINY = smaller(SETTINGS["marked"], num_steps=40)
RATES = {name: {"fastest": 0.1, "lowest": 0.05} for name in ARMS}


def test_a_stage_is_fixed_by_its_seed():
    one, same, other = (Stage(TINY, seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(one.draw().inputs, same.draw().inputs)
    np.testing.assert_array_equal(one.held_out.inputs, same.held_out.inputs)
    assert not np.array_equal(one.held_out.inputs, other.held_out.inputs)
    assert not np.array_equal(one.draw().inputs, one.draw().inputs)
    assert one.bayes_nats == pytest.approx(0.5197, abs=1e-4)
    assert one.target_nats(0.0) == pytest.approx(np.log(8))
    assert one.target_nats(1.0) == pytest.approx(one.bayes_nats)


def test_held_out_loss_is_the_mean_over_labels():
    stage = Stage(TINY, 3)
    look = stage.look(stage.params)
    logits = stage.params["W_o"] * 0
    uniform = stage.look({**stage.params, "W_o": logits})
    assert uniform["held_out_nats"] == pytest.approx(np.log(8))
    assert uniform["entropy_nats"] == pytest.approx(np.log(8))
    assert abs(look["held_out_nats"] - np.log(8)) < 0.02
    lost = stage.look({**stage.params, "W_o": logits + np.nan})
    assert set(lost.values()) == {None}


def test_an_arm_runs_and_reports():
    run = em_arms.run_arm(TINY, 0, "adamw", 0.05)
    assert len(run["curve"]) == 3
    assert run["final_nats"] == pytest.approx(np.mean(run["curve"]))
    assert run["half"] is None or run["curve"][run["half"] // 20] <= 1.3
    lost = em_arms.run_arm(TINY, 0, "sgd", 1e6)
    assert lost["final_nats"] is None
    assert lost["late"] is None


def test_pick_takes_the_best_rate_for_each_question():
    def run(rate, late, final):
        return {"rate": rate, "half": late, "late": late, "final_nats": final}

    one = {"sweep": {"sgd": [run(0.1, None, 1.0), run(0.2, 40, 0.9), run(0.4, 20, 2.0), run(0.8, None, None)]}}
    two = {"sweep": {"sgd": [run(0.1, 400, 1.0), run(0.2, 40, 0.9), run(0.4, 30, 2.0), run(0.8, 10, 0.1)]}}
    assert em_arms.pick([one, two]) == {"sgd": {"fastest": 0.4, "lowest": 0.2}}


def test_arms_and_the_comparison_at_one_rate():
    got = em_arms.arms(smaller(TINY, num_steps=20), 0, RATES)
    assert set(got["fastest"]) == set(got["lowest"]) == set(ARMS)
    assert {run["rate"] for run in got["same_rate"].values()} == {0.01}
    assert got["same_rate"]["sgd"]["first_below"] == 20


@pytest.mark.slow
def test_a_trace_holds_what_the_rules_read():
    got = em_trace.trace(TINY, 0, RATES)["arms"]
    for arm in em_trace.TRACED:
        look = got[arm]["looks"][-1]
        for key in ("score_cosine", "value_cosine", "weights_cosine"):
            assert -1 <= look[key] <= 1
        assert 0 <= look["reinforced_share"] <= 1
        assert look["score_gradient_size"] >= 0
        assert set(got[arm]["settled"]) == {"routing", "content", "W_q", "W_k", "W_v", "W_o"}
        assert all(0 < step <= 40 for step in got[arm]["settled"].values())
    # At first order, one block alone lowers the loss by its rate times the number of steps.
    start = got["sgd"]["looks"][0]
    wanted = start["content_rate"] * em_trace.NUM_ALONE * em_trace.GENTLE * 0.05
    assert start["content_alone_nats"] == pytest.approx(wanted, rel=0.2)


@pytest.mark.slow
def test_controls_train_the_same_head_and_meet_at_the_end():
    got = em_control.control(TINY, 0, RATES)["arms"]["adamw"]
    traced = em_trace.trace(TINY, 0, RATES)["arms"]["adamw"]
    assert [look["step"] for look in got["looks"]] == [look["step"] for look in traced["looks"]]
    assert got["swap"]["routing"][-1] == got["swap"]["content"][-1]
    assert got["swap"]["routing"][-1] < got["swap"]["content"][0]
    for look in got["looks"]:
        assert look["weights_cosine"] > 0  # a step along the gradient goes its way, tied or not
    assert set(got["done"]) == {"routing", "content"}


def test_gain_cells_and_their_rates():
    cell = em_gain.run_cell(2, 1.25, "sgd", 0.05, 0, num_steps=60)
    assert cell["kl_bits"] > 0
    assert -1 <= cell["update_cosine"] <= 1
    assert cell["score_cosine"] > 0.5
    lost = em_gain.run_cell(4, 2.0, "sgd", 1.0, 0, num_steps=60)
    assert lost["kl_bits"] is None
    clipped = em_gain.run_cell(4, 2.0, "sgd_clip", 0.01, 0, num_steps=60)
    assert clipped["kl_bits"] is not None
    base = {"optimizer": "sgd", "depth": 1, "gain": 1.0}
    sweeps = [
        {"sweep": [{**base, "rate": 0.1, "kl_bits": 0.5}, {**base, "rate": 1.0, "kl_bits": kl}]} for kl in (0.1, None)
    ]
    assert em_gain.pick_rates(sweeps) == {("sgd", 1, 1.0): 0.1}


def test_the_closed_forms_pass_their_own_run():
    errors = em_laws.laws(1)["metrics"]["errors"]
    assert 0 < max(errors.values()) < 1e-10


def test_the_loop_of_the_figure():
    loop = em_laws.loop(0)
    both = loop["courses"]["both"]
    assert np.shape(both["weights"]) == (5, 6, 5)
    assert both["loss"][-1] < 0.1 * both["loss"][0]
    assert loop["courses"]["frame_frozen"]["loss"][-1] > 3 * both["loss"][-1]
    np.testing.assert_array_equal(loop["courses"]["frame_frozen"]["weights"][0], both["weights"][0])


def test_a_run_is_saved_once_and_loaded_after(tmp_path, capsys):
    first = run_em("bayes", 0, tmp_path)
    stamp = (tmp_path / "bayes-seed-0.json").stat().st_mtime_ns
    assert run_em("bayes", 0, tmp_path) == first
    assert (tmp_path / "bayes-seed-0.json").stat().st_mtime_ns == stamp
    assert {"run", "seed", "config", "seconds", "versions", "commit", "metrics"} <= set(first)
    assert load(tmp_path)["bayes"] == [first]
    assert load(tmp_path)["laws"] == []
    assert run_em("bayes", 0, tmp_path, fresh=True)["metrics"] == first["metrics"]
    assert (tmp_path / "bayes-seed-0.json").stat().st_mtime_ns > stamp


def test_verdicts_are_printed_with_what_is_missing(tmp_path, capsys):
    main(["verdicts", "--out", str(tmp_path)])
    assert capsys.readouterr().out.startswith("C9: not seen here (missing seeds of laws")
    main(["verdicts"])
    assert re.findall(r"^(C\d+): ", capsys.readouterr().out, re.M) == ["C9", "C10", "C11"]


def test_rates_come_from_the_sweeps_beside_a_run_or_else_from_the_books(tmp_path, monkeypatch):
    """So that a reader can repeat one run without repeating the sweep first."""
    taken = []
    monkeypatch.setattr(em_runs.em_arms, "pick", lambda sweeps: taken.append(sweeps))
    monkeypatch.setattr(em_runs.em_trace, "trace", lambda setting, seed, rates: {"arms": {}})
    run_em("trace-marked", 0, tmp_path)
    assert taken[-1] == load()["sweep-marked"]
    for seed in em_arms.SWEEP_SEEDS:
        results.save(tmp_path / f"sweep-marked-seed-{seed}.json", {"run": "own", "config": {}})
    run_em("trace-marked", 1, tmp_path)
    assert [sweep["run"] for sweep in taken[-1]] == ["own", "own"]


def test_what_is_missing_is_said(tmp_path, monkeypatch):
    monkeypatch.setattr(em_runs, "KEPT", tmp_path / "none")
    with pytest.raises(FileNotFoundError, match="python -m mhc_np run sweep-sticky --seed 100"):
        run_em("arms-sticky", 0, tmp_path)
    with pytest.raises(ValueError, match="want one of laws"):
        run_em("sticky", 0, tmp_path)


def test_kept_results_are_complete_small_and_judged():
    """Every seed of every run is with the book, in valid JSON, and the rules give a verdict on them."""
    kept = load()
    folder = results.KEPT / "em"
    assert {name: [run["seed"] for run in found] for name, found in kept.items()} == {
        name: list(run.seeds) for name, run in EM_RUNS.items()
    }
    files = list(folder.glob("*.json"))
    assert sum(file.stat().st_size for file in files) < 2**20
    for file in files:
        json.loads(file.read_text(), parse_constant=pytest.fail)
    for rule in RULES.values():
        assert rule(kept)[0] in VERDICTS


@pytest.mark.parametrize("task", SETTINGS)
def test_kept_sweeps_tried_the_rates_of_their_setting(task):
    """So that the command under a figure makes the same choice again."""
    setting = SETTINGS[task]
    for saved in load()[f"sweep-{task}"]:
        for name, arm in ARMS.items():
            tried = tuple(run["rate"] for run in saved["sweep"][name])
            assert tried == (setting.adamw_rates if arm.adamw else setting.rates)
        assert saved["config"]["num_steps"] == setting.num_steps
        assert saved["config"]["num_positions"] == setting.config.num_positions


def test_settled_is_the_arrival_that_the_trained_networks_of_the_geometry_are_asked_for(monkeypatch):
    """One measure of when a thing is done: in this chapter's heads and in chapter 9's networks."""
    monkeypatch.setattr(em_trace.drift, "arrival", lambda steps, distance: float(len(steps)))
    got = em_trace.trace(smaller(TINY, num_steps=20), 0, RATES)["arms"]["sgd"]["settled"]
    assert len(set(got.values())) == 1
