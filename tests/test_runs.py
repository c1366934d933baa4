"""The named runs: each can be built, and says truly how large it is and what it changes."""

import numpy as np
import pytest

from mhc_np.lab import runs_baselines
from mhc_np.lab.runs import RUNS
from mhc_np.models import MODELS, match_width, num_params
from mhc_np.tasks import TASKS

every_run = pytest.mark.parametrize("name", RUNS)


def size(run):
    return num_params(MODELS[run.model], run.model_config())


@every_run
def test_every_run_can_be_built_and_answers(name):
    run = RUNS[name]
    config, rng = run.model_config(), np.random.default_rng(0)
    batch = TASKS[run.task].sample(run.task_config(), rng, 2)
    logits = MODELS[run.model].logits(MODELS[run.model].init(config, rng), config, inputs=batch.inputs)
    assert logits.shape == (*batch.mask.shape, run.task_config().num_outputs)
    assert np.isfinite(logits).all()
    assert run.about


@every_run
def test_relative_positions_know_the_header(name):
    run = RUNS[name]
    if run.model_settings.get("positions") == "relative":
        assert run.model_settings.get("num_header", 0) == getattr(run.task_config(), "num_header", 0)


def test_the_headers_are_the_tasks_and_the_hmm_models_are_small():
    headers = {run.task_settings.get("header", "mix") for name, run in RUNS.items() if name.startswith("hmm-soft")}
    assert headers == set(TASKS["hmm"].HEADERS)
    assert size(RUNS["hmm-soft"]) < size(RUNS["hmm-soft-long"]) + 1 < 100_000


@pytest.mark.parametrize(("name", "wanted"), [("bijection-paper", 2.67e6), ("hmm-paper", 7.1e6)])
def test_the_papers_runs_have_the_papers_sizes(name, wanted):
    assert size(RUNS[name]) == pytest.approx(wanted, rel=0.01)  # 9 layers of width 256 are 7.1 M, whatever is said


@pytest.mark.parametrize(("name", "model"), [(n, m) for n, widths in runs_baselines.WIDTHS.items() for m in widths])
def test_baselines_are_of_equal_size_and_budget(name, model):
    run, baseline = RUNS[name], RUNS[f"{name}-{model}"]
    wanted = num_params(MODELS["transformer"], run.model_config())
    config = baseline.model_config()
    assert baseline.model == model
    assert match_width(MODELS[model], config, wanted) == config
    free = {"learning_rate", "optimizer"}
    ours, theirs = (vars(r.training) for r in (run, baseline))
    assert {key: ours[key] for key in ours if key not in free} == {key: theirs[key] for key in ours if key not in free}
    assert (run.task, run.task_settings) == (baseline.task, baseline.task_settings)


@pytest.mark.parametrize("name", runs_baselines.STEPS)
def test_runs_of_other_lengths_differ_in_nothing_else(name):
    full = RUNS[name.replace("-v8-soft", "-v8-hard")].training
    for steps in runs_baselines.STEPS[name]:
        ours, theirs = vars(RUNS[f"{name}-{steps}-steps"].training), vars(full)
        assert ours["num_steps"] == steps
        np.testing.assert_allclose((1 - ours["average"]) * steps, (1 - full.average) * full.num_steps)
        free = {"num_steps", "average", "targets"}
        assert {key: ours[key] for key in ours if key not in free} == {k: theirs[k] for k in theirs if k not in free}
        assert ours["targets"] == name.rsplit("-", 1)[1]
