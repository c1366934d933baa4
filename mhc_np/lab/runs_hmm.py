"""Runs of the HMM wind tunnel: the recipe, and what happens when one part of it is changed.

Chapter: chapters/04_training.md      Tests: tests/test_runs.py

Nothing in the recipe is special to hidden Markov models but the header: two blocks applied four times over, positions
as learned score biases (so that longer sequences can be read), Muon for the matrices, exact targets. What Muon does not
move, the score biases among it, needs a high rate: at 3e-3 instead of 2e-2 the same error takes twice the steps.
"""

from dataclasses import replace

from mhc_np.lab.recipe import Run, Training
from mhc_np.tasks import hmm

MODEL = {"width": 48, "num_layers": 2, "num_loops": 4, "positions": "relative", "num_header": 5}
TRAINING = Training(num_steps=2000, batch_size=32, optimizer="muon", learning_rate=2e-2)


def changed(run, about, *, task=None, model=None, **training):
    """Return the run with some settings changed: a variant."""
    return replace(
        run,
        about=about,
        task_settings={**run.task_settings, **(task or {})},
        model_settings={**run.model_settings, **(model or {})},
        training=replace(run.training, **training),
    )


def with_header(run, header):
    """Return the run with another header, and the model told how many tokens that is."""
    settings = {**run.task_settings, "header": header}
    return changed(
        run, f"the header {header!r}", task=settings, model={"num_header": hmm.Config(**settings).num_header}
    )


SOFT = Run("five states, exact targets", task="hmm", model_settings=MODEL, training=TRAINING)

TWO_STATES = changed(
    SOFT,
    "two states, ten observations",
    task={"num_states": 2, "num_symbols": 2, "num_observations": 10},
    model={"num_header": 2},
    num_steps=3000,
    batch_size=64,
    average=0.99,
)

RUNS = {
    "hmm-soft": SOFT,
    "hmm-soft-long": changed(SOFT, "the same, as low as it goes", num_steps=15_000, batch_size=64, average=0.995),
    "hmm-2-soft": TWO_STATES,
    # Ten observations train the biases of distances up to nine; beyond it, the plain run reads biases that are still 0.
    "hmm-2-soft-cut": changed(TWO_STATES, "the same, with no bias that is never trained", model={"max_distance": 9}),
    "hmm-soft-slow-biases": changed(SOFT, "3e-3 for what Muon does not move", learning_rate=3e-3),
    "hmm-soft-adamw": changed(SOFT, "AdamW for the matrices too", optimizer="adamw", learning_rate=1e-2),
    "hmm-soft-untied": changed(SOFT, "six layers of their own", model={"num_layers": 6, "num_loops": 1}),
    **{f"hmm-soft-{header}": with_header(SOFT, header) for header in hmm.HEADERS if header != "mix"},
}
