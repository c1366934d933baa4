"""The named runs, as data.

Chapter: chapters/04_training.md      Tests: tests/test_lab.py

``-soft`` runs train on the exact posterior of every position: distillation of a known answer, and labelled so.
``-hard`` runs see sampled labels alone, as the papers' networks do; only they show a network *discovering* the
posterior.
"""

from mhc_np.lab import runs_baselines, runs_geometry, runs_hmm, runs_paper
from mhc_np.lab.recipe import Run, Training

__all__ = ["RUNS", "Run", "Training"]


def _bijection(num_symbols, about, *, width, **training):
    heads = 2 if width < 48 else 4
    return Run(
        about,
        task="bijection",
        task_settings={"num_symbols": num_symbols},
        model_settings={"width": width, "num_heads": heads},
        training=Training(**training),
    )


HARD = {"targets": "hard", "beta_2": 0.99, "average": 0.998}

RUNS = {
    "bijection-v5-soft": _bijection(5, "five symbols, exact targets", width=32, num_steps=1200),
    "bijection-v8-soft": _bijection(8, "the book's running example", width=32, num_steps=2000),
    "bijection-v10-soft": _bijection(10, "ten symbols, exact targets", width=48, num_steps=2500),
    "bijection-v20-soft": _bijection(20, "twenty symbols, exact targets", width=32, num_steps=8000, learning_rate=8e-3),
    "bijection-v20-hard": _bijection(
        20, "twenty symbols, sampled labels", width=32, num_steps=30_000, learning_rate=8e-3, **HARD
    ),
    "bijection-v20-hard-long": _bijection(
        20, "the same, as low as it goes", width=32, num_steps=200_000, learning_rate=8e-3, **HARD
    ),
    "bijection-v20-hard-narrow": _bijection(
        20,
        "the same in a stream of 24",
        width=24,
        num_steps=30_000,
        learning_rate=1e-2,
        **HARD,
    ),
    "bijection-v5-hard": _bijection(
        5, "five symbols, sampled labels", width=16, num_steps=12_000, learning_rate=1e-2, **HARD
    ),
    **runs_hmm.RUNS,
    **runs_paper.RUNS,
}
RUNS.update(runs_baselines.named_runs(RUNS))
RUNS.update(runs_geometry.named_runs(RUNS))
