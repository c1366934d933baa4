"""Every differentiable operation at a small point: what ``python -m mhc_np check`` and the shared tests go through.

Chapter: chapters/01_gradients.md      Tests: tests/test_ops.py

One `Case` a line puts an operation under every check of `tests/test_ops.py`: value and gradients three ways, purity,
precision, planted faults, second order refused.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from mhc_np import connections, ops
from mhc_np.autodiff import check_op
from mhc_np.connections.columns import columns, columns_bwd, columns_fwd, columns_ref
from mhc_np.connections.mix_and_write import mix_and_write_bwd, mix_and_write_fwd
from mhc_np.connections.mixing import mix_bwd, mix_fwd, read_bwd, read_fwd, write_bwd, write_fwd
from mhc_np.ops.activation import gelu_bwd, gelu_fwd, relu_bwd, relu_fwd
from mhc_np.ops.attention import attention_bwd, attention_fwd
from mhc_np.ops.birkhoff import birkhoff_mixture_bwd, birkhoff_mixture_fwd
from mhc_np.ops.embed import embed_bwd, embed_fwd
from mhc_np.ops.kronecker import kronecker_mixture_bwd, kronecker_mixture_fwd
from mhc_np.ops.linear import linear_bwd, linear_fwd
from mhc_np.ops.loss import cross_entropy_bwd, cross_entropy_fwd
from mhc_np.ops.lstm import lstm_bwd, lstm_fwd
from mhc_np.ops.norm import rmsnorm_bwd, rmsnorm_fwd
from mhc_np.ops.normed_linear import normed_linear_bwd, normed_linear_fwd
from mhc_np.ops.orthogonal import cayley_bwd, cayley_fwd
from mhc_np.ops.position import rotary_bwd, rotary_fwd
from mhc_np.ops.sigmoid import sigmoid_bwd, sigmoid_fwd
from mhc_np.ops.sinkhorn import sinkhorn_bwd, sinkhorn_fwd
from mhc_np.ops.sinkhorn_eps import sinkhorn_eps_bwd, sinkhorn_eps_fwd
from mhc_np.ops.sinkhorn_implicit import sinkhorn_implicit_bwd, sinkhorn_implicit_fwd

RNG = np.random.default_rng(7)


def normal(*shape, scale=1.0):
    """Random entries of size about one, drawn once: every test sees the same point."""
    return scale * RNG.standard_normal(shape)


@dataclass(frozen=True)
class Case:
    """An operation, its definition, its kernels, and a small point at which to check them."""

    name: str
    op: Callable
    ref: Callable
    forward: Callable
    backward: Callable
    arrays: tuple
    static: dict = field(default_factory=dict)

    def check(self):
        """Check value and gradients against the definition and finite differences; see `check_op`."""
        return check_op(self.op, self.ref, *self.arrays, rng=np.random.default_rng(11), **self.static)


LABELS = RNG.integers(0, 5, (2, 3))
SOFT = RNG.dirichlet(np.ones(5), (2, 3))
SUPERVISED = np.array([[True, False, True], [False, True, True]])
LINEAR = (ops.linear, ops.linear_ref, linear_fwd, linear_bwd)
ATTENTION = (ops.attention, ops.attention_ref, attention_fwd, attention_bwd)
LOSS = (ops.cross_entropy, ops.cross_entropy_ref, cross_entropy_fwd, cross_entropy_bwd)
QKV = (normal(2, 5, 6), normal(2, 5, 6), normal(2, 5, 6))

CASES = [
    Case("linear", *LINEAR, (normal(2, 3, 4), normal(4, 5))),
    Case("linear with bias", *LINEAR, (normal(2, 3, 4), normal(4, 5), normal(5))),
    Case(
        "rmsnorm",
        *(ops.rmsnorm, ops.rmsnorm_ref, rmsnorm_fwd, rmsnorm_bwd),
        (normal(2, 3, 4), normal(4)),
        {"eps": 1e-6},
    ),
    Case("relu", ops.relu, ops.relu_ref, relu_fwd, relu_bwd, (normal(3, 4),)),
    Case("gelu", ops.gelu, ops.gelu_ref, gelu_fwd, gelu_bwd, (normal(3, 4),)),
    Case(
        "embed",
        *(ops.embed, ops.embed_ref, embed_fwd, embed_bwd),
        (normal(5, 3),),
        {"ids": np.array([[0, 4, 4], [2, 4, 0]])},
    ),
    Case("attention", *ATTENTION, QKV, {"num_heads": 2}),
    Case("attention with bias", *ATTENTION, (*QKV, normal(2, 5, 5)), {"num_heads": 2}),
    Case("attention, T = 1", *ATTENTION, tuple(x[:, :1] for x in QKV), {"num_heads": 3}),
    Case(
        "rotary",
        *(ops.rotary, ops.rotary_ref, rotary_fwd, rotary_bwd),
        (normal(2, 5, 8),),
        {"num_heads": 2},
    ),
    Case("cross-entropy, hard", *LOSS, (normal(2, 3, 5),), {"targets": LABELS, "mask": SUPERVISED}),
    Case("cross-entropy, soft", *LOSS, (normal(2, 3, 5),), {"targets": SOFT, "mask": SUPERVISED}),
]

# The recurrent baseline.
LSTM = (ops.lstm, ops.lstm_ref, lstm_fwd, lstm_bwd)
LSTM_WEIGHTS = (normal(4, 12, scale=0.7), normal(3, 12, scale=0.7), normal(12))
CASES += [
    Case("lstm", *LSTM, (normal(2, 5, 4), *LSTM_WEIGHTS)),
    Case("lstm, T = 1", *LSTM, (normal(2, 1, 4), *LSTM_WEIGHTS)),
]

# Sinkhorn, the Birkhoff polytope and the connections.
NORMED_LINEAR = (ops.normed_linear, ops.normed_linear_ref, normed_linear_fwd, normed_linear_bwd)
CASES += [
    Case(
        "sinkhorn",
        *(ops.sinkhorn, ops.sinkhorn_ref, sinkhorn_fwd, sinkhorn_bwd),
        (normal(2, 3, 4, 4, scale=2.0),),
        {"num_iters": 20},
    ),
    Case(
        "sinkhorn, eps",
        *(ops.sinkhorn_eps, ops.sinkhorn_eps_ref, sinkhorn_eps_fwd, sinkhorn_eps_bwd),
        (normal(2, 3, 3),),
        {"num_iters": 20, "eps": 1e-6},
    ),
    Case(
        "sinkhorn, implicit",
        *(ops.sinkhorn_implicit, ops.sinkhorn_ref, sinkhorn_implicit_fwd, sinkhorn_implicit_bwd),
        (normal(2, 3, 3, scale=0.3),),
        {"num_iters": 60},
    ),
    Case(
        "birkhoff mixture",
        *(ops.birkhoff_mixture, ops.birkhoff_mixture_ref, birkhoff_mixture_fwd, birkhoff_mixture_bwd),
        (normal(2, 3, 6),),
    ),
    Case(
        "kronecker mixture",
        *(ops.kronecker_mixture, ops.kronecker_mixture_ref, kronecker_mixture_fwd, kronecker_mixture_bwd),
        (normal(2, 3, 2),),
    ),
    Case("cayley", ops.cayley, ops.cayley_ref, cayley_fwd, cayley_bwd, (normal(2, 3, 4, 4),)),
    Case("sigmoid", ops.sigmoid, ops.sigmoid_ref, sigmoid_fwd, sigmoid_bwd, (normal(3, 4),)),
    Case("normed linear", *NORMED_LINEAR, (normal(2, 3, 4), normal(4, 5)), {"eps": 1e-6}),
    Case("normed linear with bias", *NORMED_LINEAR, (normal(2, 3, 4), normal(4, 5), normal(5)), {"eps": 1e-6}),
    Case("columns", columns, columns_ref, columns_fwd, columns_bwd, (normal(2, 3, 7),), {"start": 2, "stop": 5}),
    Case(
        "read",
        *(connections.read, connections.read_ref, read_fwd, read_bwd),
        (normal(2, 3, 4), normal(2, 3, 4, 5)),
    ),
    Case(
        "mix",
        *(connections.mix, connections.mix_ref, mix_fwd, mix_bwd),
        (normal(2, 3, 4, 4), normal(2, 3, 4, 5)),
    ),
    Case(
        "write",
        *(connections.write, connections.write_ref, write_fwd, write_bwd),
        (normal(2, 3, 4, 5), normal(2, 3, 4), normal(2, 3, 5)),
    ),
    Case(
        "mix and write",
        *(connections.mix_and_write, connections.mix_and_write_ref, mix_and_write_fwd, mix_and_write_bwd),
        (normal(2, 3, 4, 4), normal(2, 3, 4, 5), normal(2, 3, 4), normal(2, 3, 5)),
    ),
]
