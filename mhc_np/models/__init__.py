"""Models: parameters in, logits out. They know no task.

Chapter: chapters/02_transformer.md      Tests: tests/test_transformer.py
"""

from mhc_np.models.config import ModelConfig
from mhc_np.models.trace import replace, trace
from mhc_np.models.transformer import init, logits

__all__ = ["ModelConfig", "init", "logits", "replace", "trace"]
