"""Assignment 1, a solution: the unit rows are all that the backward needs besides the lengths."""

import numpy as np


def cosine_fwd(x, y):
    """Return the cosines, and the unit rows with the lengths."""
    x_size, y_size = (np.sqrt((rows * rows).sum(axis=-1, keepdims=True)) for rows in (x, y))
    x_unit, y_unit = x / x_size, y / y_size
    out = (x_unit * y_unit).sum(axis=-1)
    return out, (x_unit, y_unit, x_size, y_size, out)


def cosine_bwd(d_out, cache):
    """With unit rows a and b, d_x = d (b - cos a) / |x|, and d_y the same the other way round."""
    x_unit, y_unit, x_size, y_size, cosine = cache
    d, cosine = d_out[:, None], cosine[:, None]
    return d * (y_unit - cosine * x_unit) / x_size, d * (x_unit - cosine * y_unit) / y_size
