"""Runs for looking inside: deep enough to have layers, with snapshots; and a grid of depths with and without skips.

Chapter: chapters/06_geometry.md      Tests: tests/test_runs_geometry.py

The two tunnels that decide are ``geometry-bijection`` (sampled labels alone) and ``geometry-hmm``. The others ask
whether what they show hangs on the labels, on shared layers, or on attention itself.
"""

from dataclasses import replace

from mhc_np.lab.recipe import Run, Training

NUM_SNAPSHOTS = 40
LSTM_WIDTHS = {"geometry-bijection": 102, "geometry-hmm": 83}  # as many parameters as the Transformer, within 5 %
LSTM_RATES = {"geometry-bijection": 1e-2, "geometry-hmm": 1e-2}

BIJECTION = Run(
    "ten symbols, sampled labels, three layers",
    task="bijection",
    task_settings={"num_symbols": 10},
    model_settings={"width": 48, "num_layers": 3},
    training=Training(
        num_steps=12_000,
        targets="hard",
        learning_rate=3e-3,
        beta_2=0.99,
        average=0.998,
        num_snapshots=NUM_SNAPSHOTS,
    ),
)
BIJECTION_SOFT = Run(
    "twenty symbols, exact targets, three layers",
    task="bijection",
    task_settings={"num_symbols": 20},
    model_settings={"width": 48, "num_layers": 3},
    training=Training(num_steps=4000, learning_rate=3e-3, num_snapshots=NUM_SNAPSHOTS),
)

DEPTHS = (2, 4, 8, 16)
RATES = (1e-3, 3e-3, 1e-2)
PATHS = {"skips": "transformer", "no skips": "no_skip"}


def named_runs(others):
    """Return the runs with snapshots; ``others`` are the named runs that they take over, by name."""
    runs = {
        "geometry-bijection": BIJECTION,
        "geometry-bijection-soft": BIJECTION_SOFT,
        "geometry-hmm": snapped(others["hmm-soft"], "five states, exact targets, two layers four times over"),
        "geometry-hmm-untied": snapped(others["hmm-soft-untied"], "the same with six layers of their own"),
    }
    return runs | {f"{name}-lstm": _lstm(runs[name], name) for name in LSTM_WIDTHS}


def snapped(run, about):
    """Return the run with snapshots."""
    return replace(run, about=about, training=replace(run.training, num_snapshots=NUM_SNAPSHOTS))


def depth_runs():
    """Return the grid of C5: {(depth, path, rate): Run}, short runs of one task, the path alone differing."""
    return {
        (depth, path, rate): Run(
            f"{depth} layers with {path} at the rate {rate:g}",
            task="bijection",
            task_settings={"num_symbols": 8},
            model=model,
            model_settings={"width": 32, "num_heads": 2, "num_layers": depth},
            training=Training(num_steps=800, batch_size=32, learning_rate=rate, num_evaluations=6, num_sequences=512),
        )
        for depth in DEPTHS
        for path, model in PATHS.items()
        for rate in RATES
    }


def _lstm(run, name):
    """Return the run with an LSTM of equal size, and no snapshots: only its last states are looked at."""
    recipe = replace(run.training, optimizer="adamw", learning_rate=LSTM_RATES[name], num_snapshots=0)
    settings = {"width": LSTM_WIDTHS[name], "num_layers": 1}
    return replace(run, about="an equal LSTM instead", model="lstm", model_settings=settings, training=recipe)
