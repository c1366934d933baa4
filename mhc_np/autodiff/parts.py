"""Several outputs of one operation, so that one backward can see all their cotangents at once.

Chapter: chapters/01_gradients.md      Tests: tests/test_parts.py

A node of autograd's tape has one value. For an operation with several, that value is a `Parts`: a tuple whose
cotangent is again a tuple, with None for a part that nothing depended on. No zeros are filled in: for large arrays
those would cost as much as the operation.

    both = define_vjp(forward, backward)      forward returns (Parts((a, b)), cache); backward takes Parts((d_a, d_b))
    a, b = unpack(both(x))
"""

from autograd.core import VSpace
from autograd.extend import defvjp, primitive
from autograd.tracer import Box, getval


class Parts(tuple):
    """The values of an operation with several outputs, or their cotangents."""

    __slots__ = ()


class _PartsBox(Box):
    """A traced `Parts`."""

    __slots__ = ()


class _PartsSpace(VSpace):
    """How cotangents of `Parts` add up: part by part, None where there is nothing yet."""

    def _add(self, x, y):
        return Parts(b if a is None else a if b is None else a + b for a, b in zip(x, y, strict=True))

    _mut_add = _add


_PartsBox.register(Parts)
_PartsSpace.register(Parts)


def unpack(parts):
    """Return the parts one by one, each differentiable.

    Examples
    --------
    >>> from mhc_np.autodiff import define_vjp, grad
    >>> powers = define_vjp(
    ...     lambda x: (Parts((x * x, x * x * x)), x),
    ...     lambda d, x: (2 * x * (0 if d[0] is None else d[0]) + 3 * x * x * (0 if d[1] is None else d[1]),),
    ... )
    >>> def both(x):
    ...     square, cube = unpack(powers(x))
    ...     return square + 10 * cube
    >>> import numpy as np
    >>> float(grad(both)(np.array(2.0))), float(grad(lambda x: unpack(powers(x))[0])(np.array(2.0)))
    (124.0, 4.0)
    """
    return tuple(_part(parts, index) for index in range(len(getval(parts))))


@primitive
def _part(parts, index):
    return parts[index]


def _part_vjp(ans, parts, index):
    """Put the cotangent in its place; the others have none."""
    count = len(getval(parts))
    return lambda d_out: Parts(d_out if i == index else None for i in range(count))


defvjp(_part, _part_vjp)
