"""One hand-written forward/backward pair becomes one node on autograd's tape; one walk gives every gradient.

Chapter: chapters/01_gradients.md      Tests: tests/test_autodiff.py

autograd records each primitive as a node and walks the nodes backwards. It builds a node's VJP *during the forward
pass* and hands it only ``ans, args, kwargs``; whatever else a backward needs (softmax weights, norms) would be computed
twice. `define_vjp` therefore lets the pair's cache travel in a keyword, ``tape={}``, which lives exactly as long as
the node.
"""

import threading

import numpy as np
from autograd.core import VJPNode, add_outgrads, vspace
from autograd.extend import defvjp_argnums, primitive
from autograd.tracer import isbox, new_box, toposort, trace_stack

from mhc_np.autodiff.trees import flatten, tree_map

_trace_lock = threading.Lock()  # autograd counts open traces in one global integer


def define_vjp(forward, backward, reference=None):
    """Join a forward kernel and its backward into one differentiable operation.

    Parameters
    ----------
    forward : callable
        ``forward(*arrays, **static) -> (out, cache)``. Positional arguments are differentiable arrays; keywords
        are not.
    backward : callable
        ``backward(d_out, cache) -> (d_array_0, d_array_1, …)``: one gradient for each positional argument, of its
        shape. It must leave ``d_out`` and ``cache`` as they are, so that the tape can be walked twice.
    reference : str, optional
        Name of the definition to differentiate instead when a second derivative is wanted.

    Returns
    -------
    callable
        ``op(*arrays, **static) -> out``. First order only: a fused backward is plain NumPy, so a second derivative
        would silently miss terms. It raises `NotImplementedError` instead.

    Examples
    --------
    >>> square = define_vjp(lambda x: (x * x, x), lambda d_out, x: (2 * x * d_out,))
    >>> float(grad(lambda x: square(x))(np.array(3.0)))
    6.0
    """

    def run(*arrays, tape, **static):
        out, tape["cache"] = forward(*arrays, **static)
        return out

    run.__name__ = forward.__name__
    operation = primitive(run)

    def make_vjp(argnums, ans, arrays, keywords):
        tape = keywords["tape"]
        nested = any(isbox(array) for array in arrays)

        def vjp(d_out):
            if nested or isbox(d_out):
                raise NotImplementedError(
                    f"{forward.__name__}: the hand-written backward is first order; "
                    f"differentiate {reference or 'the definition'} to go further"
                )
            gradients = backward(d_out, tape["cache"])
            return tuple(gradients[argnum] for argnum in argnums)

        return vjp

    defvjp_argnums(operation, make_vjp)

    def apply(*arrays, **static):
        return operation(*arrays, tape={}, **static)

    apply.__name__ = forward.__name__
    return apply


def value_and_grad(function):
    """Return a function that gives ``function``'s value and its gradient in the first argument.

    Parameters
    ----------
    function : callable
        ``function(params, *args, **kwargs) -> scalar``, where ``params`` is a float array or a nested dict of them.

    Returns
    -------
    callable
        ``(params, *args, **kwargs) -> (value, gradient)``; the gradient has the structure of ``params``.
        A parameter that the value does not depend on gets zeros.

    Notes
    -----
    Each leaf is a root of the tape. (autograd would make the whole dict one root, and then allocate a full set of zero
    arrays every time one entry is read.)

    Examples
    --------
    >>> value, gradient = value_and_grad(lambda p: p["a"] * p["b"])({"a": np.array(2.0), "b": np.array(5.0)})
    >>> float(value), float(gradient["a"]), float(gradient["b"])
    (10.0, 5.0, 2.0)
    """

    def compute(params, *args, **kwargs):
        single = not isinstance(params, dict)
        leaves = {"": params} if single else flatten(params)
        for path, leaf in leaves.items():
            _require_float(leaf, path)
        with _trace_lock:
            trace_stack.top += 1
            trace = trace_stack.top
        try:
            roots = {path: VJPNode.new_root() for path in leaves}
            boxes = {path: new_box(leaf, trace, roots[path]) for path, leaf in leaves.items()}
            end = function(boxes[""] if single else _rebuild(params, boxes), *args, **kwargs)
        finally:
            with _trace_lock:
                trace_stack.top -= 1
        traced = isbox(end) and end._trace == trace
        value = end._value if traced else end
        if np.shape(value) != ():
            raise ValueError(f"grad: want a scalar function, got a value of shape {np.shape(value)}")
        found = _walk(end._node, vspace(value).ones()) if traced else {}
        gradients = {
            path: found[root] if (root := roots[path]) in found else vspace(leaf).zeros()
            for path, leaf in leaves.items()
        }
        return value, gradients[""] if single else _rebuild(params, gradients)

    return compute


def grad(function):
    """Return a function that gives the gradient alone; see `value_and_grad`."""
    compute = value_and_grad(function)
    return lambda params, *args, **kwargs: compute(params, *args, **kwargs)[1]


def _walk(end_node, d_end):
    """Push the cotangent from the end node to the roots; return {root: gradient}."""
    pending, found = {end_node: (d_end, False)}, {}
    for node in toposort(end_node):
        d_node = pending.pop(node)[0]
        if not node.parents:
            found[node] = d_node
        for parent, d_parent in zip(node.parents, node.vjp(d_node), strict=True):
            pending[parent] = add_outgrads(pending.get(parent), d_parent)
        node.vjp = None  # its cache is free for what the next backward writes
    return found


def _rebuild(like, leaves):
    """Put flat leaves back into the structure of ``like``, empty dicts included."""
    paths = iter(leaves)
    return tree_map(lambda _: leaves[next(paths)], like)


def _require_float(leaf, path):
    """Refuse integer parameters: their gradient would be cut to an integer, or zero."""
    kind = getattr(leaf, "dtype", type(leaf))
    if not np.issubdtype(kind, np.floating):
        where = f"parameter {path!r}" if path else "the argument"
        raise TypeError(f"grad: want float arrays, got {where} of type {getattr(kind, '__name__', kind)}")
