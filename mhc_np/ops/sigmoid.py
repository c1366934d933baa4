"""Sigmoid: squeeze any number into (0, 1).

Chapter: chapters/13_mhc.md      Tests: tests/test_ops.py
Symbols: x -> x (any shape), σ(x) -> out
"""

import autograd.numpy as anp
import numpy as np

from mhc_np.autodiff import define_vjp


def sigmoid_ref(x):
    """Shift and halve a tanh: the definition, which no x overflows."""
    return (1 + anp.tanh(x / 2)) / 2


def sigmoid(x):
    """Return 1 / (1 + exp(-x)) for each entry; 0 or 1 to rounding for large ``|x|``.

    Examples
    --------
    >>> sigmoid(np.array([-1e4, 0.0, np.log(3.0)])).round(6)
    array([0.  , 0.5 , 0.75])
    """
    return _sigmoid(x)


def sigmoid_fwd(x):
    """Return (out, out): the slope is a function of the value."""
    out = np.tanh(x / 2)
    out += 1
    out /= 2
    return out, out


def sigmoid_bwd(d_out, out):
    """Multiply by the slope, the value times what is missing to one (eq:sigmoid-vjp)."""
    slope = 1 - out
    slope *= out
    slope *= d_out
    return (slope,)


_sigmoid = define_vjp(sigmoid_fwd, sigmoid_bwd, reference="sigmoid_ref")
