"""The looks inside trained networks on the one command line."""

import json

import pytest
from tiny_looks import BIJECTION, looks

from mhc_np.lab import geometry_command, geometry_runs, results
from mhc_np.lab.cli import main


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """Work in an empty folder, with a book that holds nothing yet, on a tiny run."""
    monkeypatch.chdir(tmp_path)
    for module in (geometry_command, geometry_runs):
        monkeypatch.setattr(module, "KEPT", tmp_path / "kept")
    monkeypatch.setitem(geometry_runs.RUNS, "geometry-bijection", BIJECTION)


def test_list_names_the_grid_of_depths_beside_the_runs(capsys):
    assert main(["list"]) == 0
    listed = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert set(geometry_runs.NAMES) <= set(listed)
    assert len(listed) == len(set(listed))


def test_run_trains_looks_and_saves_for_the_reader_or_for_the_book(tmp_path, capsys):
    assert main(["run", "geometry-bijection", "--json"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0].split() == ["geometry-bijection", "seed", "0"]
    assert json.loads(said[-1])["prior bits"] > 0
    assert (tmp_path / "runs" / "geometry-bijection" / "seed-0" / "checkpoint.npz").exists()
    own = tmp_path / "runs" / "geometry" / "geometry-bijection-seed-0.json"
    assert results.load(own)["run"] == "geometry-bijection"
    assert not (tmp_path / "kept").exists()
    assert main(["run", "geometry-bijection", "--keep"]) == 0
    kept, again = results.load(tmp_path / "kept" / own.name), results.load(own)
    assert {**kept, "commit": None} == {**again, "commit": None}
    assert main(["show", "geometry-bijection"]) == 0
    assert capsys.readouterr().out.count(own.name) == 3  # saved, and shown twice


def test_show_draws_the_figure_that_the_file_is_named_after(tmp_path, monkeypatch, capsys):
    results.save(tmp_path / "kept" / "geometry-hmm-seed-0.json", looks()["geometry-hmm"][0])
    monkeypatch.setattr(geometry_command, "load", looks)
    assert main(["show", "geometry-hmm", "--figure", "here/belief.svg"]) == 0
    assert "<svg" in (tmp_path / "here" / "belief.svg").read_text()
    assert main(["show", "geometry-hmm", "--figure", "here/bel.svg"]) == 2
    assert "name the file after one of belief, " in capsys.readouterr().err


def test_the_grid_of_depths_is_told_a_line_a_cell():
    found = geometry_command.numbers(looks()["depth"][0])
    assert list(found)[0] == "1 layers, skips, rate 0.01: KL bits"
    assert len(found) == 8
    assert "–" in geometry_command.report(
        "depth",
        [("p", {**looks()["depth"][0], "cells": [{"depth": 1, "path": "skips", "rate": 0.1, "kl_bits": None}]})],
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["show", "depth"], "make one: python -m mhc_np run depth --seed 0"),
        (["run", "depth", "--set", "training.num_steps=3"], "--set is for training runs"),
        (["run", "depth", "--seed", "-1"], "seed that is not negative"),
        (["run", "geometry-hmm", "--keep", "--seed", "9"], "keeps the seeds 0, 1, 2, 3, 4, got 9"),
    ],
)
def test_what_cannot_be_done_is_said(words, message, capsys):
    assert main(words) == 2
    assert message in capsys.readouterr().err
