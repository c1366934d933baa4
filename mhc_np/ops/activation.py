"""ReLU and GELU: the two nonlinearities of the feed-forward block, entry by entry.

Chapter: chapters/01_gradients.md      Tests: tests/test_ops.py
Symbols: x -> x (..., D); GELU in its tanh form, because NumPy has no error function
"""

import autograd.numpy as anp
import numpy as np

from mhc_np.autodiff import define_vjp
from mhc_np.ops.checks import require_floats

# Python floats, so that float32 stays float32.
SQRT_2_OVER_PI = 0.7978845608028654
CUBIC = 0.044715
FLOOR = -1e4  # below it gelu is zero to the last bit, and -inf times zero would be NaN


def relu_ref(x):
    """Keep the positive part: the definition."""
    return anp.maximum(x, 0.0)


def relu(x):
    """Return max(x, 0) for each entry; the derivative at 0 is 0.

    Raises
    ------
    ValueError
        If ``x`` is no array of floats.

    Examples
    --------
    >>> relu(np.array([-1.0, 0.0, 2.0]))
    array([0., 0., 2.])
    """
    require_floats("relu", x=x)
    return _relu(x)


def relu_fwd(x):
    """Return (out, out): the sign of the output is all that the backward needs."""
    out = np.maximum(x, 0)
    return out, out


def relu_bwd(d_out, out):
    """Let the cotangent through where the output is positive (eq:relu-vjp)."""
    return (d_out * (out > 0),)


def gelu_ref(x):
    """Weight x by (almost) the normal probability of lying below it: the definition, in tanh form."""
    return 0.5 * x * (1.0 + anp.tanh(SQRT_2_OVER_PI * (x + CUBIC * x * x * x)))


def gelu(x):
    """Return x·Φ(x) for each entry, Φ in the tanh approximation (error below 5e-4).

    The limits hold: -inf gives 0 with slope 0, and inf gives inf (whose slope is NaN).

    Raises
    ------
    ValueError
        If ``x`` is no array of floats.

    References
    ----------
    Hendrycks and Gimpel (2016), Gaussian error linear units.

    Examples
    --------
    >>> gelu(np.array([-10.0, 0.0, 1.0, 10.0])).round(4) + 0.0
    array([ 0.    ,  0.    ,  0.8412, 10.    ])
    """
    require_floats("gelu", x=x)
    return _gelu(x)


def gelu_fwd(x):
    """Return (out, (x, tanh)), reusing one buffer; x*x*x costs a small fraction of x**3."""
    if not x.min(initial=0) >= FLOOR:
        x = np.maximum(x, FLOOR)
    tanh = x * x
    tanh *= CUBIC
    tanh += 1
    tanh *= x
    tanh *= SQRT_2_OVER_PI
    np.tanh(tanh, out=tanh)
    out = tanh + 1
    out *= x
    out *= 0.5
    return out, (x, tanh)


def gelu_bwd(d_out, cache):
    """Differentiate the product: Φ plus x times the slope of the tanh (eq:gelu-vjp)."""
    x, tanh = cache
    slope = x * x
    slope *= 3 * CUBIC
    slope += 1
    slope *= x
    slope *= 0.5 * SQRT_2_OVER_PI
    slope *= 1 - tanh * tanh
    slope += 0.5 * tanh
    slope += 0.5
    slope *= d_out
    return (slope,)


_relu = define_vjp(relu_fwd, relu_bwd, reference="relu_ref")
_gelu = define_vjp(gelu_fwd, gelu_bwd, reference="gelu_ref")
