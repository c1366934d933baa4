"""The runs for looking inside, and the command that makes, looks and judges, at a tiny size."""

from dataclasses import replace

import numpy as np
import pytest

from mhc_np.lab import geometry_runs, results
from mhc_np.lab.geometry_runs import NAMES, depth_grid, load, main
from mhc_np.lab.recipe import Run, Training
from mhc_np.lab.runs import RUNS
from mhc_np.lab.runs_geometry import DEPTHS, LSTM_WIDTHS, PATHS, RATES, depth_runs
from mhc_np.models import MODELS, match_width, num_params


def tiny(depth, model):
    return Run(
        "tiny",
        task="bijection",
        task_settings={"num_symbols": 3},
        model=model,
        model_settings={"width": 8, "num_heads": 2, "num_layers": depth},
        training=Training(num_steps=6, batch_size=4, num_evaluations=3, num_sequences=16),
    )


GRID = {(depth, path, 1e-2): tiny(depth, model) for depth in (1, 2) for path, model in PATHS.items()}


@pytest.mark.parametrize("name", LSTM_WIDTHS)
def test_the_lstm_is_of_equal_size_and_budget(name):
    run, other = RUNS[name], RUNS[f"{name}-lstm"]
    wanted = num_params(MODELS["transformer"], run.model_config())
    assert match_width(MODELS["lstm"], other.model_config(), wanted) == other.model_config()
    free = {"learning_rate", "optimizer", "num_snapshots"}
    ours, theirs = (vars(r.training) for r in (run, other))
    assert {key: ours[key] for key in ours if key not in free} == {key: theirs[key] for key in ours if key not in free}


def test_transformers_keep_snapshots_and_have_layers():
    for name in NAMES[:-1]:
        run = RUNS[name]
        if run.model == "transformer":
            assert run.training.num_snapshots >= 30
            assert run.model_config().num_applied >= 3


def test_the_depth_grid_differs_in_nothing_but_depth_path_and_rate():
    runs = depth_runs()
    assert len(runs) == len(DEPTHS) * len(PATHS) * len(RATES)
    for (depth, path, rate), run in runs.items():
        other = runs[DEPTHS[0], "skips", RATES[0]]
        assert run.model == PATHS[path]
        same = replace(
            other,
            about=run.about,
            model=run.model,
            model_settings={**other.model_settings, "num_layers": depth},
            training=replace(other.training, learning_rate=rate),
        )
        assert run == same
        sizes = {num_params(MODELS[p], run.model_config()) for p in PATHS.values()}
        assert len(sizes) == 1


def test_the_grid_gives_a_cell_a_run_and_a_start_a_network(tmp_path):
    found = depth_grid(0, tmp_path, GRID, progress=False)
    assert [(cell["depth"], cell["path"]) for cell in found["cells"]] == [(d, p) for d, p, _ in GRID]
    assert set(found["start"]) == {f"{d} {p}" for d, p, _ in GRID}
    for cell in found["cells"]:
        assert len(cell["gradients"]) == 2 * cell["depth"] + 1
        assert cell["kl_bits"] > 0
    for start in found["start"].values():
        assert start["log10_few"] <= start["log10_bound"]
    assert found == depth_grid(0, tmp_path, GRID, progress=False)  # from the files


def test_a_run_that_diverges_leaves_an_empty_cell(tmp_path, monkeypatch, capsys):
    def diverge(*arguments, **keywords):
        raise FloatingPointError("fit: want a finite loss, got nan")

    monkeypatch.setattr(geometry_runs, "carry_out", diverge)
    found = depth_grid(0, tmp_path, GRID, progress=False)
    assert all(cell["kl_bits"] is None and cell["gradients"] is None for cell in found["cells"])
    assert "want a finite loss" in capsys.readouterr().err


def test_the_command_makes_lists_and_judges(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(geometry_runs, "make", lambda name, seed, folder: {"run": name, "seed": seed, "config": {}})
    main([])
    assert capsys.readouterr().out.split() == list(NAMES)
    main(["geometry-hmm", "--seed", "3", "--out", str(tmp_path)])
    assert load(tmp_path)["geometry-hmm"] == [{"run": "geometry-hmm", "seed": 3, "config": {}}]
    assert load(tmp_path)["depth"] == []
    main(["verdicts", "--out", str(tmp_path)])
    printed = capsys.readouterr().out
    assert printed.count("not seen here. missing seeds of") == 6
    with pytest.raises(SystemExit):
        main(["nothing"])
    assert results.KEPT.name in str(geometry_runs.KEPT)
    assert np.all(np.diff(geometry_runs.SEEDS) == 1)
