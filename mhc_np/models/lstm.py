"""The recurrent baseline: embed, read with LSTM layers from left to right, read out.

Chapter: chapters/04_training.md      Tests: tests/test_baselines.py
Symbols: D -> width, L -> num_layers, z -> logits (B, T, num_outputs)
"""

from dataclasses import dataclass

import numpy as np

from mhc_np import ops
from mhc_np.models.sizes import require_params, require_sizes
from mhc_np.models.tokens import embed_tokens, init_tokens

HEAD_STD = 0.02


@dataclass(frozen=True)
class LSTMConfig:
    """A stack of LSTM layers.

    Parameters
    ----------
    num_inputs, num_outputs, num_positions : int
        As for the Transformer. An LSTM has no table of positions, so longer sequences can be read.
    width : int
        D, of the embedding and of each layer's state.
    num_layers : int
        L.
    embedder : {"ids", "features"}
    """

    num_inputs: int
    num_outputs: int
    num_positions: int
    width: int = 48
    num_layers: int = 1
    embedder: str = "ids"

    reads_on = True

    def __post_init__(self):
        """Refuse what cannot be built."""
        require_sizes("LSTMConfig", self, "width", "num_layers")


def init(config, rng, dtype=np.float32):
    """Draw the parameters: matrices of variance 1 / fan-in, forget gates biased to keep (1), a small head."""
    D = config.width

    def matrix(rows, columns, std):
        return (std * rng.standard_normal((rows, columns))).astype(dtype)

    params = {"embed": init_tokens(config, rng, dtype), "blocks": {}}
    for layer in range(config.num_layers):
        bias = np.repeat([0.0, 1.0, 0.0, 0.0], D).astype(dtype)
        weights = {name: matrix(D, 4 * D, 1 / np.sqrt(D)) for name in ("W_x", "W_h")}
        params["blocks"][str(layer)] = {"lstm": {**weights, "b": bias}}
    params["head"] = {"W_head": matrix(D, config.num_outputs, HEAD_STD)}
    return params


def logits(params, config, *, inputs):
    """Predict at every position from what stands at or before it; arguments as for the Transformer."""
    require_params(init, params, config)
    hidden = embed_tokens(params["embed"], config, inputs)
    for block in params["blocks"].values():
        part = block["lstm"]
        hidden = ops.lstm(hidden, part["W_x"], part["W_h"], part["b"])
    return ops.linear(hidden, params["head"]["W_head"])
