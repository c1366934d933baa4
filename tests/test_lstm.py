"""The LSTM layer: a second forward pass, causality, long sequences, PyTorch's layer, refusals. See also test_ops."""

import numpy as np
import pytest

from mhc_np.ops import lstm
from mhc_np.ops.lstm import lstm_bwd, lstm_fwd

RNG = np.random.default_rng(4)
SHAPES = {"x": (3, 7, 5), "W_x": (5, 16), "W_h": (4, 16), "bias": (16,)}
ARRAYS = {name: RNG.standard_normal(shape) for name, shape in SHAPES.items()}


def test_one_unit_step_by_step():
    x, W_x, W_h, bias = RNG.standard_normal(6), *RNG.standard_normal((3, 4))
    hidden = cell = 0.0
    wanted = []
    for value in x:
        i, f, o, g = value * W_x + hidden * W_h + bias
        cell = cell / (1 + np.exp(-f)) + np.tanh(g) / (1 + np.exp(-i))
        hidden = np.tanh(cell) / (1 + np.exp(-o))
        wanted.append(hidden)
    got = lstm(x[None, :, None], W_x[None], W_h[None], bias)
    np.testing.assert_allclose(got[0, :, 0], wanted, rtol=1e-12)


def test_a_position_sees_no_later_one():
    out = lstm(*ARRAYS.values())
    moved = ARRAYS["x"].copy()
    moved[:, 4] += 1
    after = lstm(moved, *list(ARRAYS.values())[1:])
    np.testing.assert_array_equal(out[:, :4], after[:, :4])
    assert np.all(np.abs(out[:, 4:] - after[:, 4:]).max(axis=(0, 2)) > 1e-6)


def test_large_inputs_saturate_and_stay_finite():
    arrays = [10_000 * array for array in ARRAYS.values()]
    out, cache = lstm_fwd(*(array.astype(np.float32) for array in arrays))
    gradients = lstm_bwd(np.ones_like(out), cache)
    assert all(np.isfinite(array).all() for array in (out, *gradients))


def test_an_open_forget_gate_carries_the_first_input_over_two_hundred_steps():
    length = 200
    W_x, bias = np.array([[0.0, 0, 0, 1]]), np.array([100.0, 100, 100, 0])
    x = np.zeros((1, length, 1))
    x[0, 0] = 0.3
    out, cache = lstm_fwd(x, W_x, np.zeros((1, 4)), bias)
    np.testing.assert_allclose(out, np.tanh(np.tanh(0.3)))
    d_out = np.zeros_like(out)
    d_out[0, -1] = 1
    slope = (1 - np.tanh(np.tanh(0.3)) ** 2) * (1 - np.tanh(0.3) ** 2)
    np.testing.assert_allclose(lstm_bwd(d_out, cache)[0][0, 0], slope)


@pytest.mark.torch
def test_values_and_gradients_are_those_of_pytorch():
    torch = pytest.importorskip("torch")
    layer = torch.nn.LSTM(5, 4, batch_first=True).double()
    order = np.concatenate([np.arange(4 * k, 4 * k + 4) for k in (0, 1, 3, 2)])  # i, f, g, o there; i, f, o, g here
    with torch.no_grad():
        layer.weight_ih_l0.copy_(torch.tensor(ARRAYS["W_x"][:, order].T))
        layer.weight_hh_l0.copy_(torch.tensor(ARRAYS["W_h"][:, order].T))
        layer.bias_ih_l0.copy_(torch.tensor(ARRAYS["bias"][order]))
        layer.bias_hh_l0.zero_()
    x = torch.tensor(ARRAYS["x"], requires_grad=True)
    wanted = layer(x)[0]
    out, cache = lstm_fwd(*ARRAYS.values())
    np.testing.assert_allclose(out, wanted.detach().numpy(), atol=1e-12)
    d_out = RNG.standard_normal(out.shape)
    wanted.backward(torch.tensor(d_out))
    d_x, d_W_x, d_W_h, d_bias = lstm_bwd(d_out, cache)
    for got, theirs in (
        (d_x, x.grad.numpy()),
        (d_W_x[:, order], layer.weight_ih_l0.grad.numpy().T),
        (d_W_h[:, order], layer.weight_hh_l0.grad.numpy().T),
        (d_bias[order], layer.bias_ih_l0.grad.numpy()),
    ):
        np.testing.assert_allclose(got, theirs, rtol=0, atol=1e-10 * np.abs(theirs).max())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"x": np.ones((3, 5))}, r"want x \(B, T >= 1, I\)"),
        ({"x": np.ones((3, 0, 5))}, r"want x \(B, T >= 1, I\)"),
        ({"W_x": np.ones((4, 16))}, r"W_x \(I, 4 H\), got \(3, 7, 5\) and \(4, 16\)"),
        ({"W_h": np.ones((4, 12))}, r"want W_h \(H, 4 H\)"),
        ({"bias": np.ones(4)}, r"bias \(4 H,\)"),
    ],
)
def test_shapes_that_do_not_fit_are_refused(change, message):
    with pytest.raises(ValueError, match=f"lstm: .*{message}"):
        lstm(**{**ARRAYS, **change})
