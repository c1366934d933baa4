"""Models: parameters in, logits out. They know no task.

Chapter: chapters/02_transformer.md      Tests: tests/test_transformer.py
"""

from collections.abc import Callable
from typing import NamedTuple

from mhc_np.models import lstm, mlp, no_skip
from mhc_np.models.config import ModelConfig
from mhc_np.models.lstm import LSTMConfig
from mhc_np.models.mlp import ContextMLPConfig, MLPConfig
from mhc_np.models.sizes import match_width, num_params
from mhc_np.models.trace import replace, trace
from mhc_np.models.transformer import init, logits


class Model(NamedTuple):
    """What makes a model: a frozen config, ``init(config, rng)`` and ``logits(params, config, *, inputs)``."""

    Config: type
    init: Callable
    logits: Callable


MODELS = {
    "transformer": Model(ModelConfig, init, logits),
    "no_skip": Model(ModelConfig, init, no_skip.logits),
    "lstm": Model(LSTMConfig, lstm.init, lstm.logits),
    "mlp": Model(MLPConfig, mlp.init, mlp.logits),
    "context_mlp": Model(ContextMLPConfig, mlp.init, mlp.logits),
}

__all__ = [
    "MODELS",
    "ContextMLPConfig",
    "LSTMConfig",
    "MLPConfig",
    "Model",
    "ModelConfig",
    "init",
    "logits",
    "match_width",
    "num_params",
    "replace",
    "trace",
]
