"""Training in PyTorch leaves what NumPy leaves: alone, in two processes, after a kill, and half in each library."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from mhc_np.autodiff import flatten
from mhc_np.lab import cli, geometry, results
from mhc_np.lab.runs import RUNS
from mhc_np.lab.settings import with_settings
from mhc_np.learn import load, loop

pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'mhc_np[torch]'")
command = pytest.importorskip("mhc_np.torch_twin.__main__")
pytestmark = pytest.mark.torch

ROOT = Path(__file__).resolve().parents[1]
NAME = "bijection-v5-soft"
SETTINGS = {"training.num_steps": 12, "training.num_sequences": 16, "training.batch_size": 16, "model.width": 8}
TOLERANCE = 1e-5  # float32, after a dozen steps, of the largest entry


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def words(out, **changed):
    settings = {**SETTINGS, **{key.replace("__", "."): value for key, value in changed.items()}}
    return [NAME, "--out", str(out), *(f"--set={key}={value}" for key, value in settings.items())]


def train(out, **changed):
    assert command.main(["train", *words(out, **changed), "--device=cpu"]) == 0
    return results.load(Path(out) / "result.json")


def run(out, **changed):
    assert cli.main(["run", *words(out, **changed)]) == 0
    return results.load(Path(out) / "result.json")


def torchrun(out, *more, **changed):
    """Start two processes, as a reader would."""
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    line = [*launcher, "-m", "mhc_np.torch_twin", "train", *words(out, **changed), "--device=cpu", *more]
    return subprocess.Popen(line, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def assert_same_training(a, b):
    """Agree in curves, parameters, averages and AdamW's sums; and exactly in what the run is and what it drew."""
    (ours, meta), (theirs, other) = load(f"{a}/checkpoint.npz"), load(f"{b}/checkpoint.npz")
    assert meta["identity"] == other["identity"]
    assert meta["generator"] == other["generator"]
    assert flatten(ours).keys() == flatten(theirs).keys()
    for path, leaf in flatten(ours).items():
        got = flatten(theirs)[path]
        assert got.dtype == leaf.dtype
        atol = TOLERANCE * max(np.abs(leaf).max(initial=0), 1)
        np.testing.assert_allclose(got, leaf, rtol=0, atol=atol, err_msg=path)


@pytest.mark.parametrize(
    "changed",
    [
        {"training__average": 0.5, "training__weight_decay": 0.1},
        {"training__targets": "hard", "model__scheme": "mhc", "model__num_streams": 2, "training__num_snapshots": 3},
    ],
    ids=["averaged", "mhc"],
)
def test_one_process_trains_as_numpy_does(changed, capsys):
    found, wanted = train("torch", **changed), run("numpy", **changed)
    assert_same_training("numpy", "torch")
    assert found.pop("engine")["processes"] == 1
    assert found.keys() == wanted.keys()
    for name, value in wanted["metrics"].items():
        assert found["metrics"][name] == pytest.approx(value, rel=1e-3)
    kept = [sorted(path.name for path in Path(out).glob("snapshots/*")) for out in ("torch", "numpy")]
    assert kept[0] == kept[1]
    capsys.readouterr()
    assert cli.main(["show", "torch", "--figure", "torch.svg"]) == 0
    assert "torch/result.json" in capsys.readouterr().out
    assert Path("torch.svg").stat().st_size > 1000


def stopped_after(monkeypatch, steps, function, out):
    """Run until so many updates are saved, then fail."""

    def save_and_stop(self, path, save=loop.begin.__globals__["Run"].save):
        save(self, path)
        if self.step >= steps:
            raise OSError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr("mhc_np.learn.run.Run.save", save_and_stop)
        patch.setattr("mhc_np.lab.experiment.CHECKPOINT_EVERY", 4)
        assert function(out) == 2
    assert load(f"{out}/checkpoint.npz")[1]["step"] == steps


def test_a_run_may_begin_in_one_library_and_go_on_in_the_other(monkeypatch, capsys):
    run("whole")
    stopped_after(monkeypatch, 4, lambda out: cli.main(["run", *words(out)]), "one")
    every = ["--device=cpu", "--checkpoint-every=4"]
    stopped_after(monkeypatch, 8, lambda out: command.main(["train", *words(out), *every]), "other")
    capsys.readouterr()
    assert cli.main(["show", "other"]) == 2
    assert "no result yet; its run has made 8 of 12 steps; the same command goes on" in capsys.readouterr().err
    train("one")
    run("other")
    for out in ("one", "other"):
        assert_same_training("whole", out)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (["bijection-papr"], "no run 'bijection-papr'; did you mean bijection-paper"),
        (["hmm-soft"], "hmm-soft: the twin trains Transformers with AdamW; use python -m mhc_np run"),
        ([NAME, "--steps", "0"], "want num_steps to be a whole number, at least 1, got 0"),
        ([NAME, "--seed", "-1"], "a seed that is not negative"),
    ],
)
def test_what_cannot_be_done_is_one_line_and_nothing_written(line, message, capsys):
    assert command.main(["train", *line, "--device=cpu"]) == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1
    assert list(Path().iterdir()) == []


@pytest.mark.skipif("command.torch.cuda.device_count() > 0", reason="there is a GPU")
def test_a_gpu_is_asked_for_in_vain_where_there_is_none(capsys):
    assert command.main(["train", NAME, "--device=cuda"]) == 2
    assert "want a GPU for process 0, got 0 in this machine; give --device cpu" in capsys.readouterr().err


def test_the_looks_inside_read_what_the_twin_has_trained():
    name, small = "geometry-bijection", {"num_steps": 8, "num_sequences": 16, "num_snapshots": 3, "batch_size": 8}
    settings = [f"training.{key}={value}" for key, value in small.items()]
    line = ["train", name, "--out=out", "--device=cpu", *(f"--set={each}" for each in settings)]
    assert command.main(line) == 0
    found = geometry.geometry_of(with_settings(RUNS[name], settings), 0, "out", num_sequences=64)
    assert {"ablation", "depth", "drift", "keys", "manifold"} <= set(found)


def test_a_folder_that_holds_no_run_is_refused_in_words(capsys):
    Path("empty").mkdir()
    assert cli.main(["show", "empty"]) == 2
    assert capsys.readouterr().err == "mhc_np: empty: no result yet; no checkpoint either: not the folder of a run\n"


@pytest.mark.slow
def test_two_processes_train_as_one_does():
    changed = {"training__targets": "hard", "training__batch_size": 15, "training__average": 0.5}  # parts of 7 and 8
    process = torchrun("two", **changed)
    said, _ = process.communicate(timeout=300)
    assert process.returncode == 0, said
    assert train("one", **changed)["engine"]["processes"] == 1
    assert results.load("two/result.json")["engine"]["processes"] == 2
    assert_same_training("one", "two")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="finds the processes in /proc")
def test_a_killed_process_leaves_one_clear_line_and_a_run_that_goes_on():
    long = {"training__num_steps": 2000, "training__num_evaluations": 3}
    process = torchrun("cut", "--checkpoint-every=5", **long)
    until = time.monotonic() + 240
    while not Path("cut/checkpoint.npz").exists() and process.poll() is None and time.monotonic() < until:
        time.sleep(0.05)
    second = [
        int(child)
        for child in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        if "RANK=1\0" in Path(f"/proc/{child}/environ").read_text().replace("LOCAL_RANK", "")
    ]
    assert len(second) == 1
    os.kill(second[0], signal.SIGKILL)
    said, _ = process.communicate(timeout=240)
    assert process.returncode != 0
    ours = [line for line in said.splitlines() if "mhc_np.torch_twin: process 0 of 2: another one is lost" in line]
    assert len(ours) == 1, said
    _, meta = load("cut/checkpoint.npz")
    assert f"cut/checkpoint.npz holds {meta['step']} of 2000, and the same command goes on from there" in ours[0]
    assert 0 < meta["step"] < 2000
    assert len(train("cut", **long)["curves"]["loss_nats"]) == 250
