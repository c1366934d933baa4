"""LSTM: one recurrent layer over a whole sequence, with its backward through time.

Chapter: chapters/04_training.md      Tests: tests/test_lstm.py
Symbols: x -> x (B, T, I), H -> width of the state, z_t = x_t W_x + h_t-1 W_h + b -> z (T, B, 4, H),
i, f, o -> input, forget, output gates, g -> candidate, c_t -> cell, h_t -> out (B, T, H)

The four parts of z stand in the order i, f, o, g. (PyTorch's order is i, f, g, o.)
"""

import autograd.numpy as anp
import numpy as np

from mhc_np.autodiff import define_vjp


def lstm_ref(x, W_x, W_h, bias):
    """Forget, add, show, one step after another: the definition."""
    width = W_h.shape[0]
    hidden = cell = np.zeros((x.shape[0], width))
    out = []
    for t in range(x.shape[1]):
        z = anp.matmul(x[:, t], W_x) + anp.matmul(hidden, W_h) + bias
        i, f, o = (1 / (1 + anp.exp(-z[:, k * width : (k + 1) * width])) for k in range(3))
        cell = f * cell + i * anp.tanh(z[:, 3 * width :])
        hidden = o * anp.tanh(cell)
        out.append(hidden)
    return anp.stack(out, axis=1)


def lstm(x, W_x, W_h, bias):
    """Read a sequence from left to right, keeping a cell that is partly forgotten and partly written at each step.

    Parameters
    ----------
    x : (B, T, I) floats
        T at least 1.
    W_x : (I, 4 H) floats
        Columns in four blocks of H: input gate, forget gate, output gate, candidate.
    W_h : (H, 4 H) floats
        The same for the state of the step before; state and cell are zero at first.
    bias : (4 H,) floats

    Returns
    -------
    (B, T, H) floats
        The state h_t after each step, so position t has seen the positions up to t.

    Raises
    ------
    ValueError
        If the shapes do not fit.

    References
    ----------
    Hochreiter and Schmidhuber (1997), Long short-term memory; with the forget gate of Gers, Schmidhuber and Cummins
    (2000).

    Examples
    --------
    Gates wide open (biases of 100) add up the candidates, here tanh(x) = 1 each: the cell holds 1, then 2, and shows
    its tanh.

    >>> open_gates = np.array([100.0, 100.0, 100.0, 0.0])
    >>> lstm(np.full((1, 2, 1), 50.0), np.array([[0.0, 0, 0, 1]]), np.zeros((1, 4)), open_gates).round(4)
    array([[[0.7616],
            [0.964 ]]])
    """
    width = W_h.shape[0]
    if x.ndim != 3 or x.shape[1] < 1 or W_x.shape != (x.shape[-1], 4 * width):
        raise ValueError(f"lstm: want x (B, T >= 1, I) and W_x (I, 4 H), got {x.shape} and {W_x.shape}, H = {width}")
    if W_h.shape != (width, 4 * width) or bias.shape != (4 * width,):
        raise ValueError(f"lstm: want W_h (H, 4 H) and bias (4 H,), got {W_h.shape} and {bias.shape}")
    return _lstm(x, W_x, W_h, bias)


def lstm_fwd(x, W_x, W_h, bias):
    """Return (out, cache). One product serves all inputs; each step then adds one small one, and one tanh.

    A gate is σ(z) = (1 + tanh(z / 2)) / 2, so with halved weights for the gates all four parts are a tanh.
    """
    batch, length, _ = x.shape
    width = W_h.shape[0]
    half = np.repeat(np.array([0.5, 0.5, 0.5, 1.0], W_h.dtype), width)
    steps = np.ascontiguousarray(np.swapaxes(x, 0, 1)).reshape(length * batch, -1)
    parts = steps @ (W_x * half)
    parts += bias * half
    parts = parts.reshape(length, batch, 4 * width)
    by_part = parts.reshape(length, batch, 4, width)
    recurrent = W_h * half
    hidden = np.zeros((length + 1, batch, width), W_h.dtype)  # hidden[t] is the state *before* step t
    cell = np.zeros_like(hidden)
    shown = np.empty_like(hidden[1:])  # tanh of the cell
    buffer = np.empty((batch, width), W_h.dtype)
    for t in range(length):
        if t:
            parts[t] += hidden[t] @ recurrent
        np.tanh(parts[t], out=parts[t])
        gates = by_part[t, :, :3]
        gates += 1
        gates *= 0.5
        i, f, o, g = (by_part[t, :, k] for k in range(4))
        np.multiply(f, cell[t], out=cell[t + 1])
        cell[t + 1] += np.multiply(i, g, out=buffer)
        np.tanh(cell[t + 1], out=shown[t])
        np.multiply(o, shown[t], out=hidden[t + 1])
    out = np.ascontiguousarray(np.swapaxes(hidden[1:], 0, 1))
    return out, (x.shape, steps, W_x, W_h, by_part, hidden, cell, shown)


def lstm_bwd(d_out, cache):
    """Walk back: the cell's cotangent gathers the output's, splits over i, f and g, and decays by f (eq:lstm-vjp)."""
    shape, steps, W_x, W_h, by_part, hidden, cell, shown = cache
    length, batch, _, width = by_part.shape
    i, f, o, g = (by_part[:, :, k] for k in range(4))
    # What each part of z gets for a unit of the cell's cotangent (o: of the output's), for all steps at once.
    d_parts = by_part * (1 - by_part)
    np.subtract(1, g * g, out=d_parts[:, :, 3])
    for k, factor in enumerate((g, cell[:-1], shown, i)):
        d_parts[:, :, k] *= factor
    through = o * (1 - shown * shown)
    flat = d_parts.reshape(length, batch, 4 * width)
    back = np.ascontiguousarray(W_h.T)
    d_cell, d_hidden = np.zeros((batch, width), W_h.dtype), np.zeros((batch, width), W_h.dtype)
    buffer = np.empty_like(d_cell)
    for t in reversed(range(length)):
        d_hidden += d_out[:, t]
        d_cell += np.multiply(d_hidden, through[t], out=buffer)
        d_parts[t, :, :2] *= d_cell[:, None]
        d_parts[t, :, 2] *= d_hidden
        d_parts[t, :, 3] *= d_cell
        d_cell *= f[t]
        np.matmul(flat[t], back, out=d_hidden)
    rows = flat.reshape(length * batch, 4 * width)
    d_x = np.ascontiguousarray(np.swapaxes((rows @ W_x.T).reshape(length, batch, -1), 0, 1)).reshape(shape)
    d_W_h = hidden[:-1].reshape(length * batch, width).T @ rows
    return d_x, steps.T @ rows, d_W_h, np.ones(len(rows), rows.dtype) @ rows


_lstm = define_vjp(lstm_fwd, lstm_bwd, reference="lstm_ref")
