"""Runs at the sizes of the papers: too long for a laptop, so train them with ``python -m mhc_np.torch_twin train``.

Chapter: chapters/04_training.md      Tests: tests/test_runs.py

Depth, width, heads and the horizon are the wind-tunnel paper's, and so are its rates and AdamW's constants. Tasks,
initial values and the cosine are ours: sequences are fresh ones, and the header of an HMM has a token a row.
"""

from mhc_np.lab.recipe import Run, Training

HARD = {"num_steps": 100_000, "targets": "hard", "beta_2": 0.999, "num_sequences": 2000}

RUNS = {
    "bijection-paper": Run(
        "twenty symbols, sampled labels, six layers of width 192",
        task="bijection",
        model_settings={"width": 192, "num_layers": 6, "num_heads": 6, "activation": "gelu"},
        training=Training(batch_size=128, learning_rate=1e-3, warmup=0.02, **HARD),
    ),
    "hmm-paper": Run(
        "five states, sampled labels, nine layers of width 256",
        task="hmm",
        task_settings={"header": "rows"},
        model_settings={"width": 256, "num_layers": 9, "num_heads": 8, "activation": "gelu"},
        training=Training(learning_rate=3e-4, warmup=0.01, **HARD),
    ),
}
