"""A stack of attention layers whose stream is scaled by a gain g: what explosion does to EM.

Chapter: chapters/08_em.md      Tests: tests/test_stack.py
Symbols: x_0 = inputs W_in -> stream (B, T, D), x_{l+1} = g·(x_l + attention_l(x_l)) -> streams[l], g -> gain,
logits = x_L W_out (B, T, V), layers["l"] -> W_q, W_k, W_v (D, K), W_o (K, D)

There is no norm, since a norm would take the gain out again. Values then grow as g^l on the way up and the errors as
g^(L − l) on the way down, so that every alignment b = u·v carries the factor g^L: the composite gain. Each layer is the
head of `mhc_np.dynamics.head` with D outputs, and its closed forms are chained by hand.
"""

from typing import NamedTuple

import numpy as np

from mhc_np.autodiff import flatten, unflatten
from mhc_np.dynamics.head import Gradients, backward, forward
from mhc_np.dynamics.head import init as init_head
from mhc_np.ops.loss import cross_entropy_bwd, cross_entropy_fwd


class Stack(NamedTuple):
    """What the forward pass computes: the stream before each layer and after the last, each layer, and the logits."""

    streams: list  # L + 1 arrays (B, T, D)
    heads: list  # L times Head
    logits: np.ndarray  # (B, T, V)


def init(rng, *, num_inputs, num_outputs, num_layers, width, key_width):
    """Draw parameters, normal with variance 1 / fan-in; ``layers`` holds ``"0", "1", …``."""
    layers = {}
    for index in range(num_layers):
        layers[str(index)] = init_head(
            rng, num_inputs=width, num_outputs=width, key_width=key_width, value_width=key_width, scale=1.0
        )
    params = {
        "W_in": rng.standard_normal((num_inputs, width)),
        "layers": layers,
        "W_out": rng.standard_normal((width, num_outputs)),
    }
    return unflatten({path: leaf / np.sqrt(leaf.shape[0]) for path, leaf in flatten(params).items()})


def forward_stack(params, inputs, *, gain):
    """Run the stack; ``gain`` multiplies the whole stream, skip and branch, after each layer.

    Examples
    --------
    A layer that writes nothing leaves only the gain: 2 layers of gain 3 make 9.

    >>> one, zero = np.ones((1, 1)), np.zeros((1, 1))
    >>> silent = {"W_q": one, "W_k": one, "W_v": one, "W_o": zero}
    >>> params = {"W_in": one, "layers": {"0": silent, "1": silent}, "W_out": one}
    >>> float(forward_stack(params, np.ones((1, 1, 1)), gain=3.0).logits[0, 0, 0])
    9.0
    """
    streams, heads = [inputs @ params["W_in"]], []
    for layer in params["layers"].values():
        heads.append(forward(layer, streams[-1]))
        streams.append(gain * (streams[-1] + heads[-1].logits))
    return Stack(streams, heads, streams[-1] @ params["W_out"])


def stack_loss_and_gradients(params, inputs, *, targets, mask, gain):
    """Return (loss in nats, Stack, each layer's Gradients, the gradient of the parameters).

    A layer's cotangent is g times that of the stream above; the stream below gets it twice, through the skip and
    through the layer (eq:stack).
    """
    stack = forward_stack(params, inputs, gain=gain)
    loss, cache = cross_entropy_fwd(stack.logits, targets=targets, mask=mask)
    (d_logits,) = cross_entropy_bwd(1.0, cache)
    d_stream = d_logits @ params["W_out"].T
    by_layer: list[Gradients] = []
    for name, stream, head in reversed(list(zip(params["layers"], stack.streams[:-1], stack.heads, strict=True))):
        d_sum = gain * d_stream
        by_layer.insert(0, backward(params["layers"][name], stream, head, d_sum))
        d_stream = d_sum + by_layer[0].d_inputs
    d_params = {
        "W_in": _outer(inputs, d_stream),
        "layers": {name: g.params for name, g in zip(params["layers"], by_layer, strict=True)},
        "W_out": _outer(stack.streams[-1], d_logits),
    }
    return loss, stack, by_layer, d_params


def _outer(x, d):
    return x.reshape(-1, x.shape[-1]).T @ d.reshape(-1, d.shape[-1])
