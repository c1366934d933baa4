"""Cut a range of columns out of an array: what ``x[..., start:stop]`` does, with a backward that costs little.

Chapter: chapters/13_mhc.md      Tests: tests/test_ops.py
Symbols: x -> x (..., I)
"""

import numpy as np

from mhc_np.autodiff import define_vjp


def columns_ref(x, *, start, stop):
    """Slice the last axis: the definition."""
    return x[..., start:stop]


def columns_fwd(x, *, start, stop):
    """Return (a contiguous copy, where it came from)."""
    return np.ascontiguousarray(x[..., start:stop]), (start, stop, x.shape)


def columns_bwd(d_out, cache):
    """Put the cotangent back among zeros (eq:columns-vjp); autograd's own would scatter with ``np.add.at``."""
    start, stop, shape = cache
    d_x = np.zeros(shape, d_out.dtype)
    d_x[..., start:stop] = d_out
    return (d_x,)


columns = define_vjp(columns_fwd, columns_bwd, reference="columns_ref")
