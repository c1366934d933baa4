"""Made-up results of cells, for the tests of rules: each field can be set, the rest is that of a calm run."""

import numpy as np

from mhc_np.lab.grids import GRIDS

STEPS = list(range(0, 401, 10))


def made(cell, **changes):
    """Return a result of a cell that has learned calmly, with some entries changed.

    ``mae``, ``kl``, ``forward``, ``backward``, ``sigma_ratio``, ``spikes``, ``diverged_at``, ``accuracy``; ``matched``
    (a dict, or None); ``settled``; ``looks``: curves to put in place.
    """
    value = {
        **{"mae": 0.03, "kl": 0.01, "forward": 1.0, "backward": 1.1, "sigma_ratio": 0.9, "spikes": [], "accuracy": 0.9},
        **{"diverged_at": None, "settled": {"value_drift": 300.0, "map_drift": 300.0}, "looks": {}},
        "matched": {"attention": {"pc1_share": 0.8, "spearman": 0.9}, "em_cosine": 0.99, "kl_bits": 0.02},
        **changes,
    }
    fall = np.geomspace(1.09, value["kl"] or 1.0, len(STEPS)).tolist()
    looks = {
        **{"step": STEPS, "kl_bits": fall, "mae_bits": fall},
        **{name: [1.0] * 40 + [value[name]] for name in ("forward", "backward", "sigma_ratio")},
        **{"stream_spearman": [0.9] * 41},
        **value["looks"],
    }
    return {
        "cell": cell.described(),
        "train": {"spikes": value["spikes"], "diverged_at": value["diverged_at"]},
        "looks": looks,
        "matched": value["matched"],
        "final": {
            **{"mae_bits": value["mae"], "kl_bits": value["kl"], "accuracy": value["accuracy"]},
            "kl_without": [1.0, value["kl"], 0.5],
        },
        "settled": value["settled"],
    }


def grid(name, change=lambda cell: {}):
    """Return made-up results of every cell of a grid; ``change(cell)`` says what is not calm about it."""
    return [made(cell, **change(cell)) for cell in GRIDS[name]()]
