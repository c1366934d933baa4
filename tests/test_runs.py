"""The named runs: each can be built, and says truly how large it is and what it changes."""

import numpy as np
import pytest

from mhc_np.autodiff import flatten
from mhc_np.lab.runs import RUNS
from mhc_np.models import MODELS
from mhc_np.tasks import TASKS

every_run = pytest.mark.parametrize("name", RUNS)


def size(run):
    params = MODELS[run.model].init(run.model_config(), np.random.default_rng(0))
    return sum(leaf.size for leaf in flatten(params).values())


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
        assert run.model_settings["num_header"] == run.task_config().num_header


def test_the_headers_are_the_tasks_and_the_hmm_models_are_small():
    headers = {run.task_settings.get("header", "mix") for name, run in RUNS.items() if name.startswith("hmm-soft")}
    assert headers == set(TASKS["hmm"].HEADERS)
    assert size(RUNS["hmm-soft"]) < size(RUNS["hmm-soft-long"]) + 1 < 100_000
