"""The differentiable operations: each a definition, a contract, and a hand-written forward/backward pair.

Chapter: chapters/01_gradients.md      Tests: tests/test_ops.py
"""

from mhc_np.ops.activation import gelu, gelu_ref, relu, relu_ref
from mhc_np.ops.attention import attention, attention_ref, attention_weights
from mhc_np.ops.birkhoff import birkhoff_mixture, birkhoff_mixture_ref, permutation_basis
from mhc_np.ops.birkhoff_geometry import birkhoff_decomposition, birkhoff_distance, birkhoff_projection
from mhc_np.ops.embed import embed, embed_ref
from mhc_np.ops.kronecker import kronecker_mixture, kronecker_mixture_ref
from mhc_np.ops.linear import linear, linear_ref
from mhc_np.ops.loss import cross_entropy, cross_entropy_ref
from mhc_np.ops.lstm import lstm, lstm_ref
from mhc_np.ops.norm import rmsnorm, rmsnorm_ref
from mhc_np.ops.normed_linear import normed_linear, normed_linear_ref
from mhc_np.ops.orthogonal import cayley, cayley_ref, orthostochastic
from mhc_np.ops.position import relative_bias, rotary, rotary_ref
from mhc_np.ops.sigmoid import sigmoid, sigmoid_ref
from mhc_np.ops.sinkhorn import doubly_stochastic_error, sinkhorn, sinkhorn_ref
from mhc_np.ops.sinkhorn_eps import sinkhorn_eps, sinkhorn_eps_ref
from mhc_np.ops.sinkhorn_implicit import implicit_gradient, sinkhorn_implicit

__all__ = [
    "attention",
    "attention_ref",
    "attention_weights",
    "birkhoff_decomposition",
    "birkhoff_distance",
    "birkhoff_mixture",
    "birkhoff_mixture_ref",
    "birkhoff_projection",
    "cayley",
    "cayley_ref",
    "cross_entropy",
    "cross_entropy_ref",
    "doubly_stochastic_error",
    "embed",
    "embed_ref",
    "gelu",
    "gelu_ref",
    "implicit_gradient",
    "kronecker_mixture",
    "kronecker_mixture_ref",
    "linear",
    "linear_ref",
    "lstm",
    "lstm_ref",
    "normed_linear",
    "normed_linear_ref",
    "orthostochastic",
    "permutation_basis",
    "relative_bias",
    "relu",
    "relu_ref",
    "rmsnorm",
    "rmsnorm_ref",
    "rotary",
    "rotary_ref",
    "sigmoid",
    "sigmoid_ref",
    "sinkhorn",
    "sinkhorn_eps",
    "sinkhorn_eps_ref",
    "sinkhorn_implicit",
    "sinkhorn_ref",
]
