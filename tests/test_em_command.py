"""The runs of EM on the one command line."""

import json
import re

import pytest

from mhc_np.lab import em_command
from mhc_np.lab.cli import main
from mhc_np.lab.em_runs import EM_RUNS, KEPT
from mhc_np.lab.plots_em import FIGURES
from mhc_np.lab.results import ROOT
from mhc_np.lab.runs import RUNS


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_list_names_the_runs_of_em(capsys):
    assert main(["list"]) == 0
    listed = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert set(EM_RUNS) <= set(listed)
    assert len(listed) == len(set(listed))


def test_run_writes_to_the_readers_folder_and_leaves_the_books_results_alone(tmp_path, capsys):
    before = (KEPT / "laws-seed-0.json").read_bytes()
    assert main(["run", "laws", "--json"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith("laws: closed forms")
    assert list(json.loads(said[-1])) == ["run", "seed", "seconds"]
    own = tmp_path / "runs" / "em" / "laws-seed-0.json"
    first = json.loads(own.read_text())
    assert first["metrics"] == json.loads(before)["metrics"]  # the command makes the book's result again
    own.write_text(json.dumps({**first, "seconds": -1}))
    assert main(["run", "laws"]) == 0  # carried out already
    assert json.loads(own.read_text())["seconds"] == -1
    assert main(["run", "laws", "--fresh"]) == 0
    assert json.loads(own.read_text())["seconds"] >= 0
    assert (KEPT / "laws-seed-0.json").read_bytes() == before
    assert main(["run", "laws", "--out", "there"]) == 0
    assert (tmp_path / "there" / "laws-seed-0.json").exists()


def test_keep_makes_the_books_result_again(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(em_command, "KEPT", tmp_path / "kept")
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "laws-seed-1.json").write_text('{"run": "old", "config": {}}')
    assert main(["run", "laws", "--seed", "1", "--keep"]) == 0
    assert json.loads((tmp_path / "kept" / "laws-seed-1.json").read_text())["run"] == "laws"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["run", "lawss"], "no run 'lawss'; did you mean laws"),
        (["show", "arms"], "did you mean arms-"),
        (["run", "laws", "--set", "task.noise=3"], "--set is for training runs"),
        (["run", "laws", "--keep", "--out", "there"], "leave out --out"),
        (["run", "laws", "--keep", "--seed", "9"], "keeps the seeds 0, 1, 2, 3, 4, got 9"),
        (["run", "laws", "--seed", "-1"], "seed that is not negative"),
        (["show", "laws", "--figure", "laws.svg"], "no figure of 'laws'"),
    ],
)
def test_refusals_are_one_line(words, message, capsys):
    assert main(words) == 2
    said = capsys.readouterr()
    assert message in said.err
    assert said.err.count("\n") == 1


@pytest.mark.parametrize("name", EM_RUNS)
def test_show_prints_every_number_that_it_names(name, capsys):
    assert main(["show", name]) == 0
    title, seeds, *lines = capsys.readouterr().out.splitlines()
    assert title == f"{name}: {EM_RUNS[name].about}"
    assert seeds.split() == ["seed", *map(str, EM_RUNS[name].seeds)]
    assert len(lines) > 2 + len(EM_RUNS[name].seeds)
    table = [line for line in lines if not line.startswith("/")]
    assert len({len(line) for line in table}) == 1


def test_show_reads_the_numbers_of_the_file(capsys):
    saved = json.loads((KEPT / "arms-marked-seed-3.json").read_text())
    assert main(["show", "arms-marked"]) == 0
    line = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("value_x10: steps"))
    assert int(line.split()[-2]) == saved["fastest"]["value_x10"]["late"]


@pytest.mark.parametrize("name", FIGURES)
def test_show_draws_what_has_a_figure(name, capsys, tmp_path):
    assert main(["show", name, "--figure", "figures/it.svg"]) == 0
    assert "drawn: figures/it.svg" in capsys.readouterr().out
    assert "<svg" in (tmp_path / "figures" / "it.svg").read_text()


def test_nothing_saved_is_said(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(em_command, "KEPT", tmp_path)
    assert main(["show", "sweep-gain"]) == 2
    assert "make one: python -m mhc_np run sweep-gain --seed 100" in capsys.readouterr().err


@pytest.mark.parametrize("chapter", ["07_advantage", "08_em", "09_frame_precision"])
def test_the_command_under_a_figure_names_a_run(chapter):
    text = (ROOT / "chapters" / f"{chapter}.md").read_text(encoding="utf-8")
    named = re.findall(r"`python -m mhc_np run ([\w-]+)", text)
    assert len(named) >= 2
    assert set(named) <= {*RUNS, *EM_RUNS}
    assert "lab.em_runs NAME" not in text
    for seed in map(int, re.findall(r"--seed (\d+)", text)):
        assert seed in {0, 100}
