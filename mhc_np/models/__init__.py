"""Models: parameters in, logits out. They know no task.

Chapter: chapters/02_transformer.md      Tests: tests/test_transformer.py
"""

from collections.abc import Callable
from typing import NamedTuple

from mhc_np.models.config import ModelConfig
from mhc_np.models.trace import replace, trace
from mhc_np.models.transformer import init, logits


class Model(NamedTuple):
    """What makes a model: a frozen config, ``init(config, rng)`` and ``logits(params, config, *, inputs)``."""

    Config: type
    init: Callable
    logits: Callable


MODELS = {"transformer": Model(ModelConfig, init, logits)}

__all__ = ["MODELS", "Model", "ModelConfig", "init", "logits", "replace", "trace"]
