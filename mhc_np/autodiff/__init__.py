"""Join a hand-written backward to autograd's tape, map over nested dicts, prove a gradient right.

Chapter: chapters/01_gradients.md      Tests: tests/test_autodiff.py
"""

from mhc_np.autodiff.check import Check, check_op
from mhc_np.autodiff.heap import keep_heap
from mhc_np.autodiff.tape import define_vjp, grad, value_and_grad
from mhc_np.autodiff.trees import flatten, tree_map, unflatten

__all__ = [
    "Check",
    "check_op",
    "define_vjp",
    "flatten",
    "grad",
    "keep_heap",
    "tree_map",
    "unflatten",
    "value_and_grad",
]
