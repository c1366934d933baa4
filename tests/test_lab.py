"""Named runs and saved results: the run that resumes, the result that is refused, the seed that decides everything."""

import json
from dataclasses import replace

import numpy as np
import pytest

from mhc_np.autodiff import flatten
from mhc_np.lab import results
from mhc_np.lab.experiment import UsageError, carry_out
from mhc_np.lab.runs import RUNS, Run, Training
from mhc_np.lab.settings import is_as_named
from mhc_np.learn import CheckpointError, load

TINY = Run(
    "a few steps",
    task="bijection",
    task_settings={"num_symbols": 3},
    model_settings={"width": 8, "num_heads": 2},
    training=Training(num_steps=12, batch_size=4, num_evaluations=4, num_sequences=16),
)


def run(out, run=TINY, seed=0, **options):
    return carry_out("tiny", run, seed, out, progress=False, **options)


def test_a_run_leaves_a_checkpoint_and_a_result_and_is_not_run_again(tmp_path):
    result = run(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"checkpoint.npz", "result.json"}
    assert result["params"] == sum(
        leaf.size for leaf in flatten(load(tmp_path / "checkpoint.npz")[0]["params"]).values()
    )
    before = (tmp_path / "checkpoint.npz").read_bytes()
    assert run(tmp_path) == result
    assert (tmp_path / "checkpoint.npz").read_bytes() == before
    assert result["by_position"]["exact_entropy_bits"] == pytest.approx(np.log2([3, 2, 1]), abs=1e-5)
    assert result["metrics"]["kl_bits"] == pytest.approx(np.mean(result["by_position"]["kl_bits"]), rel=1e-4)


def test_one_seed_decides_everything_and_another_changes_it(tmp_path):
    a, b, c = (run(tmp_path / name, seed=seed) for name, seed in (("a", 0), ("b", 0), ("c", 1)))
    assert a["metrics"] == b["metrics"]
    assert a["curves"]["loss_nats"] == b["curves"]["loss_nats"]
    assert a["metrics"] != c["metrics"]


def test_hard_targets_see_labels_alone_and_soft_the_posterior(tmp_path):
    """After one step the loss is log V for both, but only the soft one is the same for every draw of the labels."""
    hard = replace(TINY, training=replace(TINY.training, targets="hard"))
    a, b = run(tmp_path / "soft"), run(tmp_path / "hard", hard)
    assert a["curves"]["loss_nats"][0] == pytest.approx(np.log(3), abs=0.1)
    assert a["curves"]["loss_nats"][:2] != b["curves"]["loss_nats"][:2]


def test_another_runs_folder_is_refused_and_left_alone_until_fresh(tmp_path):
    run(tmp_path)
    other = replace(TINY, training=replace(TINY.training, num_steps=13))
    before = (tmp_path / "result.json").read_bytes()
    with pytest.raises(UsageError, match=r"result.json: is of another run; give --out another folder, or --fresh"):
        run(tmp_path, other)
    (tmp_path / "result.json").unlink()
    with pytest.raises(CheckpointError, match=r"checkpoint.npz: belongs to another run"):
        run(tmp_path, other)
    (tmp_path / "result.json").write_bytes(before)
    assert run(tmp_path, other, fresh=True)["steps"] == 13


def test_snapshots_are_kept_at_equal_ratios_and_change_nothing_else(tmp_path):
    snapping = replace(TINY, training=replace(TINY.training, num_snapshots=4, average=0.5))
    plain = replace(TINY, training=replace(TINY.training, average=0.5))
    with_them, without = run(tmp_path / "a", snapping), run(tmp_path / "b", plain)
    assert with_them["metrics"] == without["metrics"]
    steps = (0, 1, 3, 12)
    assert {path.name for path in (tmp_path / "a" / "snapshots").iterdir()} == {f"step-{s}.npz" for s in steps}
    assert not (tmp_path / "b" / "snapshots").exists()
    last, meta = load(tmp_path / "a" / "snapshots" / "step-12.npz")
    assert meta == {"step": 12}
    averaged = flatten(load(tmp_path / "a" / "checkpoint.npz")[0]["averaged"])
    assert all((leaf == averaged[path]).all() for path, leaf in flatten(last).items())
    run(tmp_path / "a", plain, fresh=True)
    assert not (tmp_path / "a" / "snapshots").exists()


def test_a_run_without_snapshots_is_described_as_before_there_were_any():
    assert "num_snapshots" not in TINY.described()["training"]
    assert replace(TINY, training=replace(TINY.training, num_snapshots=9)).described()["training"]["num_snapshots"] == 9
    with pytest.raises(ValueError, match="want num_snapshots to be 0, or 3 and more, got 2"):
        replace(TINY.training, num_snapshots=2)


def test_a_damaged_result_is_named(tmp_path):
    (tmp_path / "result.json").write_text("{")
    with pytest.raises(ValueError, match=r"result.json: not a saved result"):
        run(tmp_path)
    (tmp_path / "result.json").write_text("[]")
    with pytest.raises(ValueError, match="not a saved result of a named run"):
        run(tmp_path)


def test_an_interrupted_run_goes_on_to_the_same_bits(tmp_path, monkeypatch):
    """Break off inside a training step; the kill test proper is in test_learn_loop and test_cli."""
    from mhc_np.lab import experiment

    whole = run(tmp_path / "whole")
    calls = []

    def breaking(*arguments, **keywords):
        calls.append(1)
        if len(calls) == 8:
            raise KeyboardInterrupt
        return cross_entropy(*arguments, **keywords)

    cross_entropy = experiment.cross_entropy
    monkeypatch.setattr(experiment, "cross_entropy", breaking)
    monkeypatch.setattr(experiment, "CHECKPOINT_EVERY", 3)
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "cut")
    assert load(tmp_path / "cut" / "checkpoint.npz")[1]["step"] == 6
    monkeypatch.setattr(experiment, "cross_entropy", cross_entropy)
    assert run(tmp_path / "cut")["metrics"] == whole["metrics"]
    a, b = (load(tmp_path / name / "checkpoint.npz")[0]["params"] for name in ("whole", "cut"))
    for path, leaf in flatten(a).items():
        assert leaf.tobytes() == flatten(b)[path].tobytes(), path


@pytest.mark.parametrize("name", [path.name for path in results.KEPT.iterdir() if path.name in RUNS])
def test_what_is_kept_is_what_its_name_stands_for_today(name):
    for result in results.load_kept(name):
        assert is_as_named(result), f"{name}, seed {result['seed']}: the recipe has changed since; run it again"


@pytest.mark.parametrize("name", RUNS)
def test_every_named_run_can_be_built_and_fits_together(name):
    assert RUNS[name].misfit() is None
    assert RUNS[name].model_config().num_outputs == RUNS[name].task_config().num_outputs
    json.dumps(results.plain(RUNS[name].training.__dict__))


def test_results_are_found_by_name_and_a_missing_one_names_its_command(tmp_path, monkeypatch):
    monkeypatch.setattr(results, "KEPT", tmp_path / "kept")
    monkeypatch.setattr(results, "OWN", tmp_path / "own")
    with pytest.raises(FileNotFoundError, match="python -m mhc_np run nothing --seed 0 --keep"):
        results.load_kept("nothing")
    saved = run(tmp_path / "own" / "tiny" / "seed-0")
    results.save(tmp_path / "kept" / "tiny" / "seed-3.json", saved)
    assert [path.name for path, _ in results.find("tiny")] == ["seed-3.json", "result.json"]
    assert results.load_kept("tiny") == [saved]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"header": "rows"}, "tiny: the task has 10 header tokens, the model takes 5: set model.num_header=10 too"),
        ({"num_states": 2}, "tiny: hmm: a header that joins rows of A with columns of E wants num_symbols"),
    ],
)
def test_a_task_and_a_model_that_do_not_fit_are_refused_before_anything_is_written(tmp_path, settings, message):
    training = replace(TINY.training, num_steps=3)
    with pytest.raises(UsageError, match=message):
        run(tmp_path / "new", replace(RUNS["hmm-soft"], task_settings=settings, training=training))
    assert not (tmp_path / "new").exists()
