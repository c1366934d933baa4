"""Assignment 1, a gradient by hand (chapters 1 and 2). Check: python -m pytest book/assignments/1_gradients.

The cosine of two rows: out[i] = x[i] . y[i] / (|x[i]| |y[i]|). Write its forward and its backward in plain NumPy.
Derive the backward on paper first, with the three moves of chapter 1, and hand the paper in.
"""

import numpy as np  # noqa: F401


def cosine_fwd(x, y):
    """Return (out, cache) for x and y of shape (N, D): out has shape (N,), the cache is what the backward needs."""
    raise NotImplementedError("cosine_fwd: return the cosines of shape (N,), and a tuple for the way back")


def cosine_bwd(d_out, cache):
    """Return (d_x, d_y), each (N, D), from d_out of shape (N,). Change neither d_out nor the cache."""
    raise NotImplementedError("cosine_bwd: return (d_x, d_y); what is a small change of |x|?")
