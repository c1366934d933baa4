"""Runs that compare: other architectures of equal size, learning rates on one grid, secrets re-used, fewer steps.

Chapter: chapters/04_training.md      Tests: tests/test_runs.py

A baseline sees the Transformer's sequences, as many of them, with the same targets, and has its number of parameters to
within five percent (a test solves for the width again). Every architecture's rate comes from one grid; see
`mhc_np.lab.sweeps`.
"""

from dataclasses import replace

from mhc_np.lab.recipe import Run, Training

# Of the architectures, all but the width: the same everywhere.
SETTINGS = {
    "lstm": {"num_layers": 1},
    "mlp": {"num_layers": 2},
    "context_mlp": {"num_layers": 1, "token_width": 12},
}
WIDTHS = {
    "bijection-v20-soft": {"lstm": 40, "mlp": 28, "context_mlp": 22},
    "bijection-v20-hard": {"lstm": 40, "mlp": 28, "context_mlp": 22},
    "hmm-soft": {"lstm": 83, "mlp": 58, "context_mlp": 66},
    "recall": {"lstm": 81},
}
RATES = {  # the best of the sweep; where that is the grid's largest, the next lower, since the full run is longer
    "bijection-v20-soft": {"lstm": 3e-2, "mlp": 1e-2, "context_mlp": 3e-2},
    "bijection-v20-hard": {"lstm": 3e-2, "mlp": 3e-2, "context_mlp": 3e-2},
    "hmm-soft": {"lstm": 1e-2, "mlp": 3e-2, "context_mlp": 1e-2},
    "recall": {"lstm": 1e-2},
}
STEPS = {  # beside the full run's; those on exact targets keep the recipe of the labels, so that nothing else differs
    "bijection-v8-hard": (500, 1000, 2000, 8000),
    "bijection-v8-soft": (500, 1000, 2000, 4000),
    "bijection-v20-hard": (3750, 7500, 15_000),
}

RECALL = Run(
    "sixteen pairs, all asked for",
    task="recall",
    task_settings={"num_queries": 16},  # with eight, half of the seeds stay on the plateau for all of the run
    model_settings={"width": 48, "num_layers": 2, "positions": "relative"},
    training=Training(num_steps=1500, batch_size=32, targets="hard", optimizer="muon", learning_rate=2e-2),
)
REGRESSION = Run(
    "two weights, sixteen points, exact targets",
    task="regression",
    model_settings={"width": 48, "num_layers": 2, "num_loops": 2, "positions": "relative"},
    training=Training(num_steps=1500, batch_size=32, optimizer="muon", learning_rate=3e-3),
)
V8_HARD = Run(
    "eight symbols, sampled labels",
    task="bijection",
    task_settings={"num_symbols": 8},
    model_settings={"width": 32, "num_heads": 2},
    training=Training(num_steps=4000, targets="hard", learning_rate=1e-2, beta_2=0.99, average=0.998),
)
OWN = {"recall": RECALL, "regression": REGRESSION, "bijection-v8-hard": V8_HARD}


def named_runs(others):
    """Return all runs of this module; ``others`` are the Transformer's runs to compare with, by name."""
    compared = {name: {**others, **OWN}[name] for name in WIDTHS}
    runs = dict(OWN)
    for name, run in compared.items():
        for model in WIDTHS[name]:
            runs[f"{name}-{model}"] = baseline(run, name, model, learning_rate=RATES[name][model])
    labels = {"bijection-v8-hard": V8_HARD, "bijection-v20-hard": others["bijection-v20-hard"]}
    for name, run in labels.items():
        runs.update({f"{name}-{steps}-steps": _steps(run, steps) for steps in STEPS[name]})
    exact = replace(V8_HARD, training=replace(V8_HARD.training, targets="soft"))
    runs.update({f"bijection-v8-soft-{steps}-steps": _steps(exact, steps) for steps in STEPS["bijection-v8-soft"]})
    runs.update({f"bijection-v8-hard-reused-{count}": _reused(V8_HARD, count) for count in (32, 4096)})
    return runs


def baseline(run, name, model, **training):
    """Return the run with another architecture, of equal size, trained by AdamW."""
    settings = {"width": WIDTHS[name][model], **SETTINGS[model]}
    about = f"an equal {model.replace('_', ' ')} instead of the Transformer"
    recipe = replace(run.training, optimizer="adamw", **training)
    return replace(run, about=about, model=model, model_settings=settings, training=recipe)


def _steps(run, num_steps):
    """Return the run with other steps; warm-up, decay and average take the same shares of it."""
    recipe = run.training
    average = round(1 - (1 - recipe.average) * recipe.num_steps / num_steps, 6)
    kind = "sampled labels" if recipe.targets == "hard" else "exact targets"
    about = f"{run.task_settings['num_symbols']} symbols, {kind}, {num_steps} steps"
    return replace(run, about=about, training=replace(recipe, num_steps=num_steps, average=average))


def _reused(run, count):
    about = f"the same, with {count} bijections over and over"
    return replace(run, about=about, training=replace(run.training, num_reused=count))
