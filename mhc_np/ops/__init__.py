"""The differentiable operations: each a definition, a contract, and a hand-written forward/backward pair.

Chapter: chapters/01_gradients.md      Tests: tests/test_ops.py
"""

from mhc_np.ops.activation import gelu, gelu_ref, relu, relu_ref
from mhc_np.ops.attention import attention, attention_ref, attention_weights
from mhc_np.ops.embed import embed, embed_ref
from mhc_np.ops.linear import linear, linear_ref
from mhc_np.ops.loss import cross_entropy, cross_entropy_ref
from mhc_np.ops.norm import rmsnorm, rmsnorm_ref
from mhc_np.ops.position import relative_bias, rotary, rotary_ref
from mhc_np.ops.sinkhorn import doubly_stochastic_error, sinkhorn, sinkhorn_ref
from mhc_np.ops.sinkhorn_eps import sinkhorn_eps, sinkhorn_eps_ref
from mhc_np.ops.sinkhorn_implicit import implicit_gradient, sinkhorn_implicit

__all__ = [
    "attention",
    "attention_ref",
    "attention_weights",
    "cross_entropy",
    "cross_entropy_ref",
    "doubly_stochastic_error",
    "embed",
    "embed_ref",
    "gelu",
    "gelu_ref",
    "implicit_gradient",
    "linear",
    "linear_ref",
    "relative_bias",
    "relu",
    "relu_ref",
    "rmsnorm",
    "rmsnorm_ref",
    "rotary",
    "rotary_ref",
    "sinkhorn",
    "sinkhorn_eps",
    "sinkhorn_eps_ref",
    "sinkhorn_implicit",
    "sinkhorn_ref",
]
