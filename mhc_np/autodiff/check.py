"""Prove a gradient right three ways, and say in words what is wrong with a wrong one.

Chapter: chapters/01_gradients.md      Tests: tests/test_autodiff.py

Tests and exercises share `check_op`. It runs in float64 with a random cotangent, because the two usual short cuts are
blind: float32 drowns a right gradient in rounding, and under the cotangent of ``out.sum()`` the gradient of a softmax
or of Sinkhorn is zero, so that a wrong sign or a wrong factor passes.
"""

import warnings
from typing import NamedTuple

import numpy as np
from autograd import make_vjp

VALUE_TOLERANCE = 1e-12  # operation against definition, relative to the largest entry
GRADIENT_TOLERANCE = 1e-9  # hand-written against the definition's gradient
DIFFERENCE_TOLERANCE = 1e-7  # hand-written against finite differences, which round at about 1e-10


class Check(NamedTuple):
    """The verdict of a check: true when all is right; ``str`` gives it in words."""

    passed: bool
    message: str

    def __bool__(self):
        """Pass or fail."""
        return self.passed

    def __str__(self):
        """Say what was found."""
        return self.message


def check_op(op, reference, *arrays, rng, **static):
    """Check an operation's value and all its gradients against its definition.

    Parameters
    ----------
    op, reference : callable
        ``f(*arrays, **static) -> array``: the operation under test, and its definition in plain ``autograd.numpy``.
    *arrays : float64 arrays
        The point at which to check. Keep them small: every entry is moved four times.
    rng : np.random.Generator
        Draws the cotangent.
    **static
        Passed on to both.

    Returns
    -------
    Check
        True if the value is the definition's to 1e-12, every gradient the definition's to 1e-9 and that of finite
        differences to 1e-7 (relative to the largest entry; against the definition, every entry also to 1e-6 of its
        own size), inputs and cotangent stay as they were, and a second walk over the same tape gives the same.

    Raises
    ------
    ValueError
        If there is no argument, or one that is not a float64 array with entries.

    Examples
    --------
    >>> cube = lambda x: x * x * x
    >>> print(check_op(cube, cube, np.array([1.0, 2.0]), rng=np.random.default_rng(0)))
    right: the value and the gradient of 1 argument agree with the definition and with finite differences
    """
    if not arrays:
        raise ValueError("check_op: want at least one array to differentiate in, got none")
    for argnum, array in enumerate(arrays):
        if not isinstance(array, np.ndarray) or array.dtype != np.float64 or not array.size:
            got = f"{array.dtype} {array.shape}" if isinstance(array, np.ndarray) else type(array).__name__
            raise ValueError(f"check_op: want argument {argnum} to be a float64 array with entries, got {got}")
    before = [array.copy() for array in arrays]
    value, wanted = op(*arrays, **static), reference(*arrays, **static)
    trouble = _compare("the value", value, wanted, VALUE_TOLERANCE)
    if trouble:
        return Check(False, trouble)
    cotangent = np.asarray(rng.standard_normal(np.shape(value)))
    tested = False
    for argnum in range(len(arrays)):
        name = f"the gradient of argument {argnum}"
        walk, d_out = _tape(op, arrays, argnum, static), cotangent.copy()
        got = np.copy(walk(d_out))
        by_definition = _tape(reference, arrays, argnum, static)(cotangent)
        trouble = (
            _compare(name, got, by_definition, GRADIENT_TOLERANCE)
            or _compare_entries(name, got, by_definition)
            or _compare(
                f"{name} against finite differences",
                got,
                _differences(op, arrays, argnum, cotangent, static),
                DIFFERENCE_TOLERANCE,
            )
        )
        if trouble:
            return Check(False, trouble)
        if any(not np.array_equal(array, copy) for array, copy in zip(arrays, before, strict=True)):
            return Check(False, "an input was changed in place")
        if not np.array_equal(d_out, cotangent):
            return Check(False, f"{name}: the backward writes into the cotangent")
        if not np.array_equal(got, walk(d_out)):
            return Check(False, f"{name} changes when the tape is walked again: the backward writes into its cache")
        tested = tested or np.any(by_definition)
    if not tested and _moves_elsewhere(reference, arrays, cotangent, rng, static):
        return Check(False, "nothing was tested: every gradient is zero here, and not elsewhere; move the point")
    count = f"{len(arrays)} argument{'s' if len(arrays) != 1 else ''}"
    return Check(
        True,
        f"right: the value and the gradient of {count} agree with the definition and with finite differences",
    )


def _moves_elsewhere(reference, arrays, cotangent, rng, static):
    """Say whether the definition has a gradient at another point, or is constant."""
    moved = [array + rng.standard_normal(array.shape) for array in arrays]
    return any(np.any(_tape(reference, moved, argnum, static)(cotangent)) for argnum in range(len(arrays)))


def _tape(function, arrays, argnum, static):
    """Run forward once; return the walk from a cotangent to the gradient of one argument, which can be made twice."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a path that is cut shows in the gradient
        return make_vjp(function, argnum)(*arrays, **static)[0]


def _differences(op, arrays, argnum, cotangent, static, step=1e-3):
    """Fourth-order central differences of <cotangent, op> in every entry of one argument (error of order step**4)."""

    def moved(index, by):
        array = arrays[argnum].copy()
        array[index] += by
        out = op(*arrays[:argnum], array, *arrays[argnum + 1 :], **static)
        return np.sum(out * cotangent)

    gradient = np.zeros_like(arrays[argnum])
    for index in np.ndindex(gradient.shape):
        near = moved(index, step) - moved(index, -step)
        far = moved(index, 2 * step) - moved(index, -2 * step)
        gradient[index] = (8 * near - far) / (12 * step)
    return gradient


def _compare(name, got, wanted, tolerance):
    """Return None when two arrays agree, else a sentence that says how they differ."""
    got, wanted = np.asarray(got), np.asarray(wanted)
    if got.shape != wanted.shape:
        return f"{name} has the wrong shape: want {wanted.shape}, got {got.shape}"
    if not np.all(np.isfinite(got)):
        return f"{name} is not finite at index {tuple(int(i) for i in np.argwhere(~np.isfinite(got))[0])}"
    scale = np.max(np.abs(wanted), initial=0.0)
    error = np.max(np.abs(got - wanted), initial=0.0)
    if error <= tolerance * max(scale, 1e-3):
        return None
    return f"{name} is wrong: {_diagnose(got, wanted, error)}"


def _compare_entries(name, got, wanted):
    """Return None when each entry is right for its own size: the largest one must not hide the others."""
    floor = 1e-13 * np.max(np.abs(wanted), initial=0.0) + 1e-15  # what rounding in the largest may do to the rest
    off = np.abs(got - wanted) - floor - 1e-6 * np.abs(wanted)
    if np.all(off <= 0):
        return None
    worst = tuple(int(i) for i in np.unravel_index(np.argmax(off), off.shape))
    return f"{name} is wrong in its smaller entries: at {worst} want {wanted[worst]:.6g}, got {got[worst]:.6g}"


def _diagnose(got, wanted, error):
    """Name the classic slips: a sign, a factor, a transpose, a zero; else point at the worst entry."""
    close = lambda a, b: np.allclose(a, b, rtol=1e-6, atol=1e-6 * np.max(np.abs(b)))  # noqa: E731
    if not np.any(got):
        return "it is zero everywhere; is the path cut?"
    if close(-got, wanted):
        return "right size, wrong sign"
    factor = np.sum(got * wanted) / max(np.sum(wanted * wanted), 1e-300)
    if abs(factor - 1) > 1e-4 and factor and close(got / factor, wanted):
        return f"it is {factor:.4g} times what it should be"
    if got.ndim >= 2 and got.shape[-1] == got.shape[-2] and close(np.swapaxes(got, -1, -2), wanted):
        return "right numbers, transposed"
    worst = np.unravel_index(np.argmax(np.abs(got - wanted)), got.shape)
    where = tuple(int(i) for i in worst)
    return f"off by {error:.2g} at most; at {where} want {wanted[worst]:.6g}, got {got[worst]:.6g}"
