"""The commands, as a reader types them: their output, their refusals, and a kill in mid-run."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from mhc_np.autodiff import flatten
from mhc_np.lab import results
from mhc_np.lab.cases import CASES
from mhc_np.lab.cli import main
from mhc_np.lab.settings import is_as_named
from mhc_np.learn import load

ROOT = Path(__file__).resolve().parents[1]
TINY = ["--set", "training.num_steps=20", "--set", "training.num_sequences=16", "--set", "model.width=8"]


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_list_names_every_run(capsys):
    assert main(["list"]) == 0
    assert "bijection-v20-hard " in capsys.readouterr().out


def test_run_ends_with_one_line_of_json_and_show_reads_it(capsys):
    assert main(["run", "bijection-v5-soft", "--seed", "3", "--json", *TINY]) == 0
    last = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert list(last) == ["run", "seed", "params", "steps", "seconds", "metrics"]
    assert (last["run"], last["seed"], last["steps"]) == ("bijection-v5-soft", 3, 20)
    assert {"entropy_mae_bits", "kl_bits"} <= set(last["metrics"])
    assert main(["show", "bijection-v5-soft"]) == 0
    assert "runs/bijection-v5-soft/seed-3,model.width=8" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["run", "bijecton-v5-sfot"], "no run 'bijecton-v5-sfot'; did you mean bijection-v5-soft"),
        (["show", "bijection"], "no run 'bijection'; did you mean"),
        (["run", "bijection-v5-soft", "--set", "training.steps=3"], "did you mean training.num_steps"),
        (["run", "bijection-v5-soft", "--set", "model.width"], "KEY=VALUE, got 'model.width'"),
        (["run", "bijection-v5-soft", "--set", "model.width=7"], "a width that 2 heads divide, got 7"),
        (["run", "bijection-v5-soft", "--set", "training.targets=firm"], "want targets in"),
        (["run", "bijection-v5-soft", "--set", "task.num_symbols=1"], "num_symbols >= 2, got 1"),
        (["run", "bijection-v5-soft", "--set", "training.num_steps=many"], "want a value like 1200"),
        (["run", "bijection-v5-soft", "--set", "training.learning_rate=fast"], "want a value like 0.005"),
        (["run", "bijection-v5-soft", "--set", "training.num_steps=2.5"], "want a value like 1200"),
        (["run", "bijection-v5-soft", "--set", "training.num_steps=True"], "want a value like 1200"),
        (["run", "bijection-v5-soft", "--set", "training.average=1.0"], "want average in [0, 1), got 1.0"),
        (
            ["run", "bijection-v5-soft", "--set", "training.learning_rate=-1"],
            "want learning_rate in [0, 1e+06), got -1",
        ),
        (["run", "bijection-v5-soft", "--set", "training.warmup=7"], "want warmup in [0, 1), got 7"),
        (
            ["run", "bijection-v5-soft", "--set", "training.num_reused=-1"],
            "num_reused to be a whole number, at least 0",
        ),
        (["run", "bijection-v5-soft", "--set", "model.scheme=nope"], "want a scheme among"),
        (["run", "bijection-v5-soft", "--set", "model.num_outputs=9"], "did you mean"),
        (["run", "bijection-v5-soft", "--set", "model.final_norm=7"], "want a value like True"),
        (["run", "bijection-v5-soft", "--keep", "--set", "model.width=8"], "--keep is for runs as they are named"),
        (["run", "bijection-v5-soft", "--seed", "-1"], "seed that is not negative"),
    ],
)
def test_what_cannot_be_done_is_one_line_exit_code_2_and_nothing_written(words, message, capsys):
    assert main(words) == 2
    said = capsys.readouterr()
    assert message in said.err
    assert said.err.count("\n") == 1
    assert list(Path().iterdir()) == []


def test_a_variant_has_a_folder_of_its_own_and_no_part_in_the_figure(capsys):
    assert main(["run", "bijection-v5-soft", *TINY]) == 0
    folder = "seed-0,model.width=8,training.num_sequences=16,training.num_steps=20"
    saved = Path("runs/bijection-v5-soft", folder, "result.json")
    before = saved.read_bytes()
    assert main(["run", "bijection-v5-soft", *TINY, "--set", "training.num_steps=21", "--out", str(saved.parent)]) == 2
    assert "is of another run" in capsys.readouterr().err
    assert saved.read_bytes() == before
    assert not is_as_named(results.load(saved))


@pytest.mark.parametrize("text", ["{", "[]", '{"run": "x"}', b"\xff\xfe"])
def test_a_damaged_result_is_one_line_and_exit_code_2(text, capsys):
    file = Path("runs/bijection-v5-soft/seed-0/result.json")
    file.parent.mkdir(parents=True)
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    for command in ("run", "show"):
        assert main([command, "bijection-v5-soft"]) == 2
        said = capsys.readouterr().err
        assert "not a saved result" in said
        assert said.count("\n") == 1


def test_a_folder_that_cannot_be_is_one_line_and_exit_code_2(capsys):
    Path("taken").write_text("")
    assert main(["run", "bijection-v5-soft", *TINY, "--out", "taken"]) == 2
    Path("run/checkpoint.npz").mkdir(parents=True)
    assert main(["run", "bijection-v5-soft", *TINY, "--out", "run"]) == 2
    assert capsys.readouterr().err.count("mhc_np: ") == 2


@pytest.mark.slow
def test_a_killed_command_goes_on_to_bitwise_the_same_parameters(tmp_path):
    steps = ["--set", "training.num_steps=900", "--set", "training.num_sequences=16"]
    command = [sys.executable, "-m", "mhc_np", "run", "bijection-v5-soft", *steps, "--out"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}

    def start(out):
        return subprocess.Popen([*command, out], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    assert start("whole").wait() == 0
    rng, kills = np.random.default_rng(), 0
    while not Path("cut/result.json").exists():
        process = start("cut")
        while kills < 2 and process.poll() is None and not Path("cut/checkpoint.npz").exists():
            time.sleep(0.01)
        if kills < 2:
            time.sleep(rng.uniform(0, 1))
            process.send_signal(signal.SIGKILL)
            kills += 1
        process.wait()
    a, b = (load(f"{name}/checkpoint.npz")[0] for name in ("whole", "cut"))
    for path, leaf in flatten(a).items():
        assert leaf.tobytes() == flatten(b)[path].tobytes(), path


def test_check_names_every_operation_and_reads_another_implementations_file(capsys):
    assert main(["check"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(CASES)
    assert all(" right: " in line for line in lines)
    assert main(["check", "--write-golden", "theirs.npz"]) == 0
    assert main(["check", "theirs.npz"]) == 0
    with np.load("theirs.npz") as file:
        theirs = dict(file)
    name = next(name for name in theirs if "/grad/" in name)
    np.savez("theirs.npz", **{**theirs, name: -theirs[name]})
    capsys.readouterr()
    assert main(["check", "theirs.npz"]) == 1
    assert "wrong sign" in capsys.readouterr().out
    capsys.readouterr()
    Path("list.json").write_text("[1]")
    Path("junk.npz").write_text("no archive")
    for file in ("missing.npz", "list.json", "junk.npz", "notes.txt"):
        assert main(["check", file]) == 2
        said = capsys.readouterr().err
        assert file in said
        assert said.count("\n") == 1
        assert "pickle" not in said
