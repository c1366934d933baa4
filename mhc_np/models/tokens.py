"""What the baselines read: ids through a table, or features through one linear map, as the Transformer does.

Chapter: chapters/04_training.md      Tests: tests/test_baselines.py
"""

import numpy as np

from mhc_np import ops

EMBEDDING_STD = 0.5


def init_tokens(config, rng, dtype, width=None):
    """Draw the table, (num_inputs, width)."""
    shape = config.num_inputs, width or config.width
    return {"table": (EMBEDDING_STD * rng.standard_normal(shape)).astype(dtype)}


def embed_tokens(part, config, inputs):
    """Return (B, T, width) from ids (B, T), or from features (B, T, num_inputs).

    Raises
    ------
    ValueError
        If the inputs do not fit the config.
    """
    inputs = np.asarray(inputs)
    if config.embedder == "ids":
        if inputs.ndim != 2:
            raise ValueError(f"logits: want inputs (B, T) ids, got shape {inputs.shape}")
        return ops.embed(part["table"], ids=inputs)
    if inputs.ndim != 3 or inputs.shape[2] != config.num_inputs:
        raise ValueError(f"logits: want inputs (B, T, {config.num_inputs}) features, got shape {inputs.shape}")
    table = part["table"]
    return ops.linear(inputs.astype(getattr(table, "_value", table).dtype, copy=False), table)
