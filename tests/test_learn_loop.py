"""The loop: what it computes, what it records, and that no kill at any moment changes a bit of it."""

import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import autograd.numpy as anp
import numpy as np
import pytest

from mhc_np.autodiff import flatten, tree_map, value_and_grad
from mhc_np.learn import AdamW, CheckpointError, Muon, clip_by_global_norm, fit, load, save, warmup_cosine
from mhc_np.learn.run import Run

NUM_STEPS = 23


def start(dtype=np.float64):
    rng = np.random.default_rng(1)
    return {
        "blocks": {"0": {"W_a": rng.standard_normal((3, 4)).astype(dtype), "connection": {}}},
        "b_out": rng.standard_normal(4).astype(dtype),
    }


def sample(rng, dtype=np.float64):
    x = rng.standard_normal((8, 3)).astype(dtype)
    return x, (x[:, :1] * x[:, 1:2] * np.ones(4)).astype(dtype)


def loss(params, batch):
    x, y = batch
    error = anp.tanh(x @ params["blocks"]["0"]["W_a"]) + params["b_out"] - y
    return anp.sum(error * error) / y.size


def train(checkpoint=None, *, sample=sample, optimizer=None, rng=None, params=None, **changes):
    """One run with everything turned on."""
    settings = dict(
        num_steps=NUM_STEPS,
        schedule=partial(warmup_cosine, num_steps=NUM_STEPS, warmup=4),
        clip_norm=0.5,
        average=0.9,
        evaluate=lambda params, step: {"norm": np.float32(np.linalg.norm(params["b_out"])), "twice": 2 * step},
        eval_steps=(0, 5, 10, NUM_STEPS),
        checkpoint_every=4,
        record_every=3,
        progress=False,
    )
    rng, optimizer = rng or np.random.default_rng(2), optimizer or AdamW()
    return fit(loss, params or start(), sample, optimizer, rng=rng, checkpoint=checkpoint, **(settings | changes))


def frozen(result):
    """All of a result as bytes, except for the seconds."""
    tree = {"params": result.params, "averaged": result.averaged, "state": result.state, "history": result.history}
    leaves = {path: np.asarray(leaf) for path, leaf in flatten(tree).items()}
    return {path: (leaf.dtype.str, leaf.shape, leaf.tobytes()) for path, leaf in leaves.items()}


class Stop(Exception):
    """An interruption."""


def stopping(at, sample=sample):
    """Return a sampler that breaks off at its ``at``-th call."""
    calls = iter(range(10**6))

    def sample_or_stop(rng):
        if next(calls) == at:
            raise Stop
        return sample(rng)

    return sample_or_stop


def test_the_loop_is_the_loop_written_out():
    rng, optimizer = np.random.default_rng(2), AdamW()
    params = start()
    state = optimizer.init(params)
    trail, losses, norms = [], [], []
    for step in range(NUM_STEPS):
        value, grads = value_and_grad(loss)(params, sample(rng))
        grads, norm = clip_by_global_norm(grads, 0.5)
        params, state = optimizer.update(params, grads, state, warmup_cosine(step, NUM_STEPS, 4))
        trail.append(tree_map(np.copy, params))
        losses.append(value)
        norms.append(norm)
    result = train(record_every=1)
    np.testing.assert_array_equal(result.params["b_out"], params["b_out"])
    np.testing.assert_array_equal(result.history["loss_nats"], losses)
    np.testing.assert_array_equal(result.history["grad_norm"], norms)
    assert max(norms) > 0.5 > min(norms)  # the clip was at work, and not always
    assert result.history["factor"][:4].tolist() == [0.25, 0.5, 0.75, 1.0]
    weights = 0.9 ** np.arange(NUM_STEPS)[::-1]
    wanted = sum(w * params["b_out"] for w, params in zip(weights, trail, strict=True)) / weights.sum()
    np.testing.assert_allclose(result.averaged["b_out"], wanted, rtol=0, atol=1e-14)
    assert result.averaged["blocks"]["0"]["connection"] == {}


def test_what_is_recorded():
    result = train()
    assert result.history["step"].tolist() == list(range(0, NUM_STEPS, 3))
    np.testing.assert_array_equal(result.history["loss_nats"], train(record_every=1).history["loss_nats"][::3])
    evaluations = result.history["evaluations"]
    assert evaluations["step"].tolist() == [0, 5, 10, NUM_STEPS]
    assert evaluations["twice"].tolist() == [0, 10, 20, 2 * NUM_STEPS]
    assert evaluations["norm"][0] == np.float32(np.linalg.norm(start()["b_out"]))
    assert evaluations["norm"][-1] == np.float32(np.linalg.norm(result.averaged["b_out"]))
    assert result.seconds > 0
    assert result.diverged_at is None
    assert len(train(num_steps=2500, schedule=lambda step: 1.0, record_every=None).history["step"]) <= 1000


def test_without_an_average_there_is_only_one_set_of_parameters():
    result = train(average=0.0)
    assert result.averaged is result.params
    assert result.history["evaluations"]["norm"][-1] == np.float32(np.linalg.norm(result.params["b_out"]))
    np.testing.assert_array_equal(result.params["b_out"], train().params["b_out"])


@pytest.mark.parametrize("average", [0.0, 0.9])
def test_snapshots_are_kept_as_they_were(average):
    kept = {}
    result = train(average=average, snapshot_steps=(0, 3, NUM_STEPS), snapshot=lambda p, step: kept.update({step: p}))
    assert list(kept) == [0, 3, NUM_STEPS]
    np.testing.assert_array_equal(kept[0]["b_out"], start()["b_out"])
    np.testing.assert_array_equal(kept[NUM_STEPS]["b_out"], result.averaged["b_out"])
    short = train(average=average, num_steps=3, schedule=lambda step: warmup_cosine(step, NUM_STEPS, 4), eval_steps=())
    np.testing.assert_array_equal(kept[3]["b_out"], short.averaged["b_out"])


def test_the_starting_parameters_are_left_alone():
    params = start()
    train(params=params)
    for path, leaf in flatten(params).items():
        np.testing.assert_array_equal(leaf, flatten(start())[path])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dtype_is_kept(dtype):
    result = train(params=start(dtype), sample=partial(sample, dtype=dtype), optimizer=Muon())
    for tree in (result.params, result.averaged, result.state["rest"]["m"], result.state["momentum"]):
        leaves = flatten(tree).values() if isinstance(tree, dict) else [tree]
        assert {leaf.dtype for leaf in leaves} == {np.dtype(dtype)}


@pytest.mark.parametrize("optimizer", [AdamW(), Muon()], ids=["adamw", "muon"])
@pytest.mark.parametrize("average", [0.0, 0.9])
def test_a_stop_at_any_step_changes_no_bit(tmp_path, optimizer, average):
    wanted = frozen(train(optimizer=optimizer, average=average))
    for at in range(NUM_STEPS):
        path = tmp_path / f"{at}.npz"
        with pytest.raises(Stop):
            train(path, sample=stopping(at), optimizer=optimizer, average=average)
        assert frozen(train(path, optimizer=optimizer, average=average)) == wanted


def test_many_stops_in_a_row_change_no_bit(tmp_path):
    wanted, path, stops = frozen(train()), tmp_path / "run.npz", 0
    for at in (2, 5, 1, 7, 6, 4, 9):
        try:
            result = train(path, sample=stopping(at))
        except Stop:
            stops += 1
    assert stops >= 5
    result = train(path)
    assert frozen(result) == wanted


def test_a_finished_run_is_read_not_run(tmp_path):
    first = train(tmp_path / "run.npz")
    again = train(tmp_path / "run.npz", sample=stopping(0))
    assert frozen(again) == frozen(first)
    assert again.seconds == load(tmp_path / "run.npz")[1]["seconds"]


def test_seconds_add_up(tmp_path):
    def slow(rng):
        time.sleep(0.005)
        return sample(rng)

    with pytest.raises(Stop):
        train(tmp_path / "run.npz", sample=stopping(20, slow))
    saved = load(tmp_path / "run.npz")[1]["seconds"]
    assert saved >= 20 * 0.005
    assert train(tmp_path / "run.npz").seconds > saved


@pytest.mark.parametrize("forgotten", ["rng", "averaged", "state", "history", "step"])
def test_whatever_is_not_restored_is_noticed(tmp_path, monkeypatch, forgotten):
    wanted, path = frozen(train()), tmp_path / "run.npz"
    with pytest.raises(Stop):
        train(path, sample=stopping(13))
    resume = Run.resume

    def resume_partly(run, path):
        kept = getattr(run, forgotten)
        kept = kept.bit_generator.state if forgotten == "rng" else kept
        resume(run, path)
        if forgotten == "rng":
            run.rng.bit_generator.state = kept
        else:
            setattr(run, forgotten, kept)
        return True

    monkeypatch.setattr(Run, "resume", resume_partly)
    assert frozen(train(path)) != wanted


def test_samplers_may_spawn_children(tmp_path):
    def spawning(rng):
        return sample(rng.spawn(1)[0])

    wanted = frozen(train(sample=spawning))
    with pytest.raises(Stop):
        train(tmp_path / "run.npz", sample=stopping(13, spawning))
    assert frozen(train(tmp_path / "run.npz", sample=spawning)) == wanted


@pytest.mark.parametrize(
    ("change", "name"),
    [
        (dict(num_steps=NUM_STEPS + 1, schedule=lambda step: 1.0), "num_steps"),
        (dict(optimizer=AdamW(eps=1e-7)), "optimizer"),
        (dict(optimizer=Muon()), "optimizer"),
        (dict(schedule=partial(warmup_cosine, num_steps=NUM_STEPS, warmup=5)), "schedule"),
        (dict(clip_norm=None), "clip_norm"),
        (dict(average=0.0), "average"),
        (dict(eval_steps=(0,)), "eval_steps"),
        (dict(identity={"task": "hmm"}), "task"),
        (dict(rng=np.random.default_rng(3)), "generator"),
        (dict(params=tree_map(lambda leaf: leaf + 1e-9, start())), "params"),
    ],
)
def test_another_runs_checkpoint_is_refused(tmp_path, change, name):
    with pytest.raises(Stop):
        train(tmp_path / "run.npz", sample=stopping(13), identity={"task": "bijection"})
    before = (tmp_path / "run.npz").read_bytes()
    with pytest.raises(CheckpointError, match=rf"run.npz: belongs to another run \(.*{name}: .* there, .* here"):
        train(tmp_path / "run.npz", **({"identity": {"task": "bijection"}} | change))
    assert (tmp_path / "run.npz").read_bytes() == before


def test_damaged_and_foreign_checkpoints_are_refused(tmp_path):
    (tmp_path / "run.npz").write_bytes(b"not a zip")
    with pytest.raises(CheckpointError, match="cut short, or not a checkpoint"):
        train(tmp_path / "run.npz")
    save(tmp_path / "run.npz", {}, {})
    with pytest.raises(CheckpointError, match="a checkpoint, but not of a run"):
        train(tmp_path / "run.npz")


def refusal(path, **changes):
    """The words with which a run refuses a checkpoint."""
    with pytest.raises(CheckpointError) as caught:
        train(path, **changes)
    return str(caught.value)


def test_another_run_is_told_by_what_was_given_first(tmp_path):
    path = tmp_path / "run.npz"
    train(path, identity={"seed": 0, "model": {"width": 16, "scheme": "mhc"}, "kept": [1, 2]})
    given = {"seed": 3, "model": {"width": 32, "scheme": "mhc"}, "kept": [1, 2], "new": "x"}
    others = dict(rng=np.random.default_rng(3), params=tree_map(lambda leaf: leaf + 1, start()))
    told = 'seed: 0 there, 3 here; model/width: 16 there, 32 here; new: null there, "x" here'
    assert f"another run ({told}; clip_norm: 0.5 there, 0.25 here)" in refusal(
        path, identity=given, clip_norm=0.25, **others
    )
    same = refusal(path, identity={"seed": 0, "model": {"width": 16, "scheme": "mhc"}, "kept": [1, 2]}, **others)
    assert "another run (generator: " in same  # what was given is alike: then the start is what counts
    assert "params: " in same


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda arrays, meta: arrays.pop("state"), "want 'state' among its arrays, got"),
        (lambda arrays, meta: arrays.update(params=np.zeros(3)), r"want nothing at 'params', got float64 \(3,\)"),
        (lambda arrays, meta: arrays.update(history=np.zeros(3)), "want tables .* in its history, got ndarray"),
        (lambda arrays, meta: arrays["state"].pop("m"), r"want float64 \(16,\) at 'state/m', got nothing"),
        (lambda arrays, meta: arrays["state"].update(extra=np.zeros(2)), r"want nothing at 'state/extra', got float64"),
        (
            lambda arrays, meta: arrays["params"].update(b_out=np.zeros(5)),
            r"want float64 \(4,\) at 'params/b_out', got float64 \(5,\)",
        ),
        (
            lambda arrays, meta: arrays["averaged"].update(b_out=np.zeros(4, np.float32)),
            r"want float64 \(4,\) at 'averaged/b_out', got float32 \(4,\)",
        ),
        (lambda arrays, meta: arrays["history"].pop("steps"), "want tables .* in its history, got"),
        (lambda arrays, meta: arrays["history"]["steps"].update(step=np.zeros(1)), "columns of one length in 'steps'"),
        (lambda arrays, meta: arrays["history"].update(steps=np.zeros(1)), "columns of one length in 'steps'"),
        (lambda arrays, meta: meta.pop("generator"), "want 'generator' in its header, got"),
        (lambda arrays, meta: meta.update(generator={}), "want the state of a PCG64 as 'generator', got another"),
        (lambda arrays, meta: meta.update(generator=None), "want the state of a PCG64 as 'generator', got another"),
        (
            lambda arrays, meta: meta.update(generator=np.random.MT19937(0).state),
            "want the state of a PCG64 as 'generator', got another",
        ),
        (lambda arrays, meta: meta.update(step=None), "want 'step' to count something, got None"),
        (lambda arrays, meta: meta.update(spawned=-1), "want 'spawned' to count something, got -1"),
        (lambda arrays, meta: meta.update(diverged_at="6"), "want 'diverged_at' to count something, got '6'"),
        (lambda arrays, meta: meta.update(seconds=None), "want 'seconds' to be a number, got None"),
        (lambda arrays, meta: meta.update(identity=[]), "not of a run"),
    ],
)
def test_a_checkpoint_with_a_right_digest_and_wrong_content_is_refused_before_it_is_taken_over(
    tmp_path, monkeypatch, change, message
):
    path, runs = tmp_path / "run.npz", []
    train(path)
    arrays, meta = load(path)
    change(arrays, meta)
    save(path, arrays, meta)
    resume = Run.resume

    def watched(run, path):
        runs.append(run)
        return resume(run, path)

    monkeypatch.setattr(Run, "resume", watched)
    rng, params = np.random.default_rng(2), start()
    with pytest.raises(CheckpointError, match=f"run.npz: .*{message}.*move it away"):
        train(path, rng=rng, params=params)
    assert runs[0].params is params
    assert (runs[0].step, runs[0].seconds, runs[0].history) == (0, 0.0, {"steps": {}, "evaluations": {}})
    assert rng.bit_generator.state == np.random.default_rng(2).bit_generator.state


def breaking(at, value):
    """Return a sampler whose ``at``-th batch makes the loss infinite or not a number."""
    calls = iter(range(10**6))

    def sample_or_break(rng):
        x, y = sample(rng)
        return (x, np.full_like(y, value)) if next(calls) == at else (x, y)

    return sample_or_break


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e200])
def test_divergence_raises(value):
    with pytest.raises(FloatingPointError, match="fit: want a finite loss, got (nan|inf) after 6 updates"):
        train(sample=breaking(6, value))


def test_a_gradient_that_is_not_finite_counts_as_divergence():
    def kinked(params, batch):
        return loss(params, batch) + anp.sum(anp.sqrt(params["b_out"] * 0.0))  # finite, with slope 0 * inf

    with pytest.raises(FloatingPointError, match="4 of 4 entries of 'b_out' infinite or not a number"):
        fit(kinked, start(), sample, AdamW(), num_steps=3, rng=np.random.default_rng(0), progress=False)


def test_divergence_can_be_recorded_instead(tmp_path):
    path = tmp_path / "run.npz"
    result = train(path, sample=breaking(6, np.nan), on_divergence="stop")
    assert result.diverged_at == 6
    assert all(np.all(np.isfinite(leaf)) for leaf in flatten(result.params).values())
    assert result.history["evaluations"]["step"].tolist() == [0, 5]
    again = train(path, sample=stopping(0), on_divergence="stop")
    assert again.diverged_at == 6
    assert frozen(again) == frozen(result)
    with pytest.raises(FloatingPointError, match="diverged after 6 updates"):
        train(path)


def test_arguments_are_checked():
    with pytest.raises(ValueError, match='want on_divergence "raise" or "stop", got "?\'?ignore'):
        train(on_divergence="ignore")
    with pytest.raises(ValueError, match="want eval_steps in 0 … 23, got 0 … 24"):
        train(eval_steps=(0, 24))
    with pytest.raises(ValueError, match="want the same names each time"):
        train(evaluate=lambda params, step: {f"at_{step}": 1.0})


def test_shards_train_the_same_network():
    one, two = train(), train(num_shards=2)
    np.testing.assert_allclose(two.params["b_out"], one.params["b_out"], rtol=0, atol=1e-10)
    assert frozen(train(num_shards=2)) == frozen(two)
    assert frozen(train(num_shards=2, num_workers=1)) == frozen(two)


def test_the_bar_shows_loss_and_time_left(capsys):
    train(progress=True)
    shown = capsys.readouterr().err
    assert "23/23" in shown
    assert "loss " in shown
    train()
    assert capsys.readouterr().err == ""


SCRIPT = """
import sys, time
from functools import partial
import numpy as np
from mhc_np import learn, ops
from mhc_np.models import ModelConfig, transformer
from mhc_np.tasks import bijection

task = bijection.Config(num_symbols=5)
model = ModelConfig(num_inputs=task.num_ids, num_outputs=task.num_outputs, num_positions=task.num_positions, width=16)
rng = np.random.default_rng(0)

def sample(rng):
    time.sleep(0.002)
    return bijection.sample(task, rng, 16)

def loss(params, batch):
    scores = transformer.logits(params, model, inputs=batch.inputs)
    return ops.cross_entropy(scores, targets=batch.targets, mask=batch.mask)

params = transformer.init(model, rng)
print("go", flush=True)
result = learn.fit(
    loss, params, sample, learn.Muon(), num_steps=150, rng=rng, average=0.99, checkpoint=sys.argv[1],
    checkpoint_every=2, schedule=partial(learn.warmup_cosine, num_steps=150, warmup=10), progress=False,
    evaluate=lambda params, step: {"norm": np.linalg.norm(params["embed"]["table"])}, eval_steps=range(0, 151, 5),
)
learn.save(sys.argv[2], {"params": result.params, "averaged": result.averaged, "state": result.state,
                         "history": result.history}, {})
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
def test_kill_minus_nine_at_random_moments_changes_no_bit(tmp_path):
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": str(Path(__file__).parents[1])}

    def launch(name):
        command = [sys.executable, "-c", SCRIPT, tmp_path / f"{name}.npz", tmp_path / f"{name}_result.npz"]
        process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
        assert process.stdout.readline() == "go\n"
        return process

    with launch("whole") as process:
        begun = time.perf_counter()
        assert process.wait() == 0
        duration = time.perf_counter() - begun

    rng, kills, seen = np.random.default_rng(), 0, []  # a new seed each time: the moments should differ
    while not (tmp_path / "killed_result.npz").exists():
        with launch("killed") as process:
            try:
                process.wait(timeout=None if kills == 5 else rng.uniform(0, 0.3) * duration)
            except subprocess.TimeoutExpired:
                process.kill()
                kills += 1
        if (tmp_path / "killed.npz").exists():
            seen.append(load(tmp_path / "killed.npz")[1]["step"])  # whole at every moment
    assert kills >= 1
    assert seen == sorted(seen)
    arrays, wanted = (load(tmp_path / f"{name}_result.npz")[0] for name in ("killed", "whole"))
    assert flatten(arrays).keys() == flatten(wanted).keys()
    for path, leaf in flatten(wanted).items():
        got = flatten(arrays)[path]
        assert (got.dtype, got.shape, got.tobytes()) == (leaf.dtype, leaf.shape, leaf.tobytes()), path
