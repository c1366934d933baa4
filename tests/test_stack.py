"""The stack: its gradient against autograd on a definition, and where the composite gain goes."""

import autograd.numpy as anp
import numpy as np
import pytest

from mhc_np.autodiff import flatten, value_and_grad
from mhc_np.dynamics.head import head_ref
from mhc_np.dynamics.stack import forward_stack, init, stack_loss_and_gradients
from mhc_np.ops.loss import cross_entropy_ref


def definition(params, inputs, targets, mask, gain):
    stream = anp.matmul(inputs, params["W_in"])
    for layer in params["layers"].values():
        stream = gain * (stream + head_ref(layer, stream))
    return cross_entropy_ref(anp.matmul(stream, params["W_out"]), targets=targets, mask=mask)


@pytest.mark.parametrize("gain", [0.5, 1.0, 1.7])
@pytest.mark.parametrize("num_layers", [1, 3])
def test_gradient_against_autograd(num_layers, gain):
    rng = np.random.default_rng(3)
    params = init(rng, num_inputs=4, num_outputs=3, num_layers=num_layers, width=5, key_width=2)
    inputs, targets = rng.standard_normal((2, 6, 4)), rng.integers(3, size=(2, 6))
    mask = rng.random((2, 6)) < 0.7
    loss, stack, by_layer, d_params = stack_loss_and_gradients(params, inputs, targets=targets, mask=mask, gain=gain)
    wanted, d_wanted = value_and_grad(definition)(params, inputs, targets, mask, gain)
    assert loss == pytest.approx(wanted, rel=1e-12)
    assert len(stack.streams) == num_layers + 1
    assert len(by_layer) == num_layers
    got, d_wanted = flatten(d_params), flatten(d_wanted)
    assert got.keys() == d_wanted.keys()
    for path in got:
        np.testing.assert_allclose(got[path], d_wanted[path], rtol=0, atol=1e-10 * max(1, np.abs(d_wanted[path]).max()))


def test_alignments_carry_the_composite_gain():
    """With silent layers the gain is all there is: b = u·v grows as g to the number of layers, at every layer."""
    rng = np.random.default_rng(4)
    params = init(rng, num_inputs=4, num_outputs=3, num_layers=3, width=5, key_width=2)
    for layer in params["layers"].values():
        layer["W_o"] = 1e-9 * layer["W_o"]
    params["W_out"] = 1e-9 * params["W_out"]  # so that the prediction, and with it the error, stays what it is
    inputs, targets, mask = rng.standard_normal((1, 4, 4)), rng.integers(3, size=(1, 4)), np.ones((1, 4), bool)
    size = {}
    for gain in (1.0, 2.0):
        by_layer = stack_loss_and_gradients(params, inputs, targets=targets, mask=mask, gain=gain)[2]
        size[gain] = np.array([np.abs(layer.alignment).max() for layer in by_layer])
    np.testing.assert_allclose(size[2.0] / size[1.0], 8.0, rtol=1e-6)


def test_logits_at_gain_one_are_a_residual_stack():
    rng = np.random.default_rng(5)
    params = init(rng, num_inputs=4, num_outputs=3, num_layers=2, width=5, key_width=2)
    inputs = rng.standard_normal((1, 4, 4))
    stream = inputs @ params["W_in"]
    for layer in params["layers"].values():
        stream = stream + head_ref(layer, stream)
    np.testing.assert_allclose(forward_stack(params, inputs, gain=1.0).logits, stream @ params["W_out"], atol=1e-13)
