"""What several operations ask of their arguments before they compute.

Chapter: chapters/01_gradients.md      Tests: tests/test_ops.py
"""

from autograd.tracer import getval


def require_floats(who, **arrays):
    """Refuse what is no array of floats: integers would be cut down on the way, and have no gradient.

    Raises
    ------
    ValueError
        Naming the operation, the argument and what came instead.

    Examples
    --------
    >>> import numpy as np
    >>> require_floats("relu", x=np.arange(3))
    Traceback (most recent call last):
    ValueError: relu: want x to be an array of floats, got int64; convert it first, x.astype(float)
    """
    for name, array in arrays.items():
        dtype = getattr(getval(array), "dtype", None)  # a traced array keeps its values in a box
        if dtype is None:
            got = type(array).__name__
            raise ValueError(f"{who}: want {name} to be an array of floats, got a {got}; convert it first, np.array")
        if dtype.kind != "f":
            way_out = f"convert it first, {name}.astype(float)"
            raise ValueError(f"{who}: want {name} to be an array of floats, got {dtype}; {way_out}")
