"""The sweeps: one grid for all, nothing else differs, a kept table with the best rate of each architecture."""

import numpy as np
import pytest

from mhc_np.lab import results, runs_baselines, sweeps
from mhc_np.lab.runs import RUNS


@pytest.mark.parametrize("name", sweeps.STEPS)
def test_every_architecture_is_swept_on_the_same_grid(name):
    found = sweeps.variants(name)
    models = ("transformer", *runs_baselines.WIDTHS.get(name, ()))
    assert list(found) == [(model, rate) for model in models for rate in sweeps.RATES]
    for (model, rate), run in found.items():
        full = RUNS[name if model == "transformer" else f"{name}-{model}"]
        assert (run.model, run.model_settings, run.task_settings) == (
            full.model,
            full.model_settings,
            full.task_settings,
        )
        free = {"num_steps", "learning_rate", "num_evaluations"}
        ours, theirs = vars(run.training), vars(full.training)
        assert {k: ours[k] for k in ours if k not in free} == {k: theirs[k] for k in ours if k not in free}
        assert run.training.learning_rate == rate
        assert run.training.num_steps < full.training.num_steps


def test_the_full_runs_take_rates_of_the_grid():
    for name in runs_baselines.WIDTHS:
        assert set(runs_baselines.RATES[name].values()) <= set(sweeps.RATES)


def test_a_sweep_runs_every_variant_once_and_names_the_best(tmp_path, monkeypatch, capsys):
    def pretend(title, run, seed, out, progress):
        kl = abs(np.log(run.training.learning_rate / (0.03 if run.model == "lstm" else 0.01)))
        return {"params": 7, "steps": run.training.num_steps, "metrics": {"entropy_mae_bits": 1.0, "kl_bits": kl}}

    monkeypatch.setattr(sweeps, "carry_out", pretend)
    monkeypatch.setattr(results, "KEPT", tmp_path)
    sweeps.main(["recall", "--folder", str(tmp_path)])
    table = results.load(tmp_path / "sweeps" / "recall.json")
    assert table["best"] == {"transformer": 0.01, "lstm": 0.03}
    assert [row["learning_rate"] for row in table["rows"]] == 2 * list(sweeps.RATES)
    assert "best: {'transformer': 0.01, 'lstm': 0.03}" in capsys.readouterr().out


@pytest.mark.parametrize("name", [name for name in sweeps.STEPS if sweeps.kept(name).exists()])
def test_a_rival_takes_the_best_rate_of_the_kept_table_or_the_next_lower_one_where_that_is_the_largest(name):
    table = results.load(sweeps.kept(name))
    expected = {(model, rate) for model, rate in sweeps.variants(name)}
    assert {(row["model"], row["learning_rate"]) for row in table["rows"]} == expected
    for model, taken in runs_baselines.RATES.get(name, {}).items():
        best = table["best"][model]
        assert taken == (best if best < max(sweeps.RATES) else sorted(sweeps.RATES)[-2]), (name, model)


@pytest.mark.skipif(not sweeps.kept("hmm-soft-adamw").exists(), reason="AdamW's rates on the HMM are not swept yet")
def test_adamw_is_compared_with_muon_at_its_best_rate():
    assert results.load(sweeps.kept("hmm-soft-adamw"))["best"] == {
        "transformer": RUNS["hmm-soft-adamw"].training.learning_rate
    }
