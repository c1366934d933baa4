"""The head's closed forms: against autograd on the definition, finite differences and PyTorch, and planted faults."""

import autograd.numpy as anp
import numpy as np
import pytest

from mhc_np.autodiff import value_and_grad
from mhc_np.dynamics import advantage as law
from mhc_np.dynamics.head import (
    backward,
    causal,
    forward,
    head_ref,
    init,
    loss_and_gradients,
)
from mhc_np.ops.attention import merge_heads
from mhc_np.ops.loss import cross_entropy_ref

SHAPES = {  # name: B, T, D, H, K, K_v, V, scale of the parameters
    "one head": (2, 5, 4, 1, 3, 3, 6, 0.7),
    "two heads, values wider than keys": (2, 6, 5, 2, 2, 4, 3, 0.7),
    "T = 1": (3, 1, 4, 2, 3, 2, 5, 0.7),
    "one output": (1, 4, 3, 1, 2, 2, 1, 0.7),
    "nearly one-hot weights": (2, 6, 4, 1, 3, 3, 5, 4.0),
    "wholly one-hot weights": (2, 6, 4, 2, 3, 3, 5, 40.0),
    "longer": (1, 30, 8, 1, 10, 15, 8, 0.3),
}


def example(name, seed=0):
    B, T, D, H, K, K_v, V, scale = SHAPES[name]
    rng = np.random.default_rng([seed, len(name)])
    params = init(rng, num_inputs=D, num_outputs=V, key_width=K, value_width=K_v, num_heads=H, scale=scale)
    params["W_o"] = params["W_o"] / scale
    mask = rng.random((B, T)) < 0.7
    mask[0, 0] = True
    return params, rng.standard_normal((B, T, D)), rng.integers(V, size=(B, T)), mask, H


def definition(params, inputs, targets, mask, num_heads, allowed=None):
    logits = head_ref(params, inputs, num_heads=num_heads, allowed=allowed)
    return cross_entropy_ref(logits, targets=targets, mask=mask)


def assert_close(got, wanted, tolerance=1e-10):
    """Compare within ``tolerance`` of the largest entry, or of one for small arrays of gradients."""
    assert got.shape == wanted.shape
    np.testing.assert_allclose(got, wanted, rtol=0, atol=tolerance * max(1.0, np.abs(wanted).max(initial=0)))


@pytest.mark.parametrize("name", SHAPES)
def test_parameters_and_inputs_against_autograd(name):
    params, inputs, targets, mask, H = example(name)
    loss, head, gradients = loss_and_gradients(params, inputs, targets=targets, mask=mask, num_heads=H)
    wanted, d_params = value_and_grad(definition)(params, inputs, targets, mask, H)
    assert loss == pytest.approx(wanted, rel=1e-12)
    np.testing.assert_allclose(head.logits, head_ref(params, inputs, num_heads=H), rtol=0, atol=1e-12 * 40**2)
    for w, d in d_params.items():
        assert_close(gradients.params[w], d)
    d_inputs = value_and_grad(lambda x: definition(params, x, targets, mask, H))(inputs)[1]
    assert_close(gradients.d_inputs, d_inputs)


@pytest.mark.parametrize("name", SHAPES)
def test_everything_inside_against_autograd(name):
    """Cut the graph at queries, keys, values, scores and outputs, and differentiate from there."""
    params, inputs, targets, mask, H = example(name)
    _, head, gradients = loss_and_gradients(params, inputs, targets=targets, mask=mask, num_heads=H)
    allowed = causal(inputs.shape[1])

    def from_out(out):
        return cross_entropy_ref(anp.matmul(merge_heads(out), params["W_o"]), targets=targets, mask=mask)

    def from_scores(scores, values):
        top = anp.max(anp.where(allowed, scores, -np.inf), axis=-1, keepdims=True)
        exps = anp.where(allowed, anp.exp(anp.where(allowed, scores - top, 0.0)), 0.0)
        return from_out(anp.matmul(exps / anp.sum(exps, axis=-1, keepdims=True), values))

    def from_queries(queries, keys, values):
        return from_scores(anp.matmul(queries, anp.swapaxes(keys, 2, 3)) / np.sqrt(queries.shape[-1]), values)

    finite = np.where(allowed, head.scores, 0.0)  # what stands at a forbidden place is not read
    q, k, v = head.queries, head.keys, head.values
    for got, function, at in [
        (gradients.d_out, from_out, head.out),
        (gradients.d_scores, lambda s: from_scores(s, v), finite),
        (gradients.d_values, lambda x: from_queries(q, k, x), v),
        (gradients.d_queries, lambda x: from_queries(x, k, v), q),
        (gradients.d_keys, lambda x: from_queries(q, x, v), k),
    ]:
        assert_close(got, value_and_grad(function)(at)[1])
    np.testing.assert_allclose(gradients.d_scores.sum(axis=-1), 0, atol=1e-14)
    np.testing.assert_array_equal(gradients.alignment, gradients.d_out @ np.swapaxes(v, 2, 3))
    if name.startswith("wholly"):
        assert (np.sort(head.weights, axis=-1)[..., -1] == 1).mean() > 0.9
        assert np.abs(gradients.d_scores).max() < 1e-3


@pytest.mark.parametrize("name", ["one head", "two heads, values wider than keys", "T = 1"])
def test_parameters_against_finite_differences(name):
    params, inputs, targets, mask, H = example(name)
    gradients = loss_and_gradients(params, inputs, targets=targets, mask=mask, num_heads=H)[2]
    for w in params:
        for index in np.ndindex(params[w].shape):
            slope = 0.0
            for distance, share in ((1, 45), (2, -9), (3, 1)):  # central differences of order six
                for sign in (1, -1):
                    moved = {**params, w: params[w].copy()}
                    moved[w][index] += sign * distance * 2e-3
                    loss = loss_and_gradients(moved, inputs, targets=targets, mask=mask, num_heads=H)[0]
                    slope += sign * share * loss / (60 * 2e-3)
            assert gradients.params[w][index] == pytest.approx(slope, abs=1e-10)


@pytest.mark.torch
@pytest.mark.parametrize("name", SHAPES)
def test_parameters_against_torch(name):
    torch = pytest.importorskip("torch")
    params, inputs, targets, mask, H = example(name)
    gradients = loss_and_gradients(params, inputs, targets=targets, mask=mask, num_heads=H)[2]
    weights = {w: torch.tensor(p, requires_grad=True) for w, p in params.items()}
    x = torch.tensor(inputs, requires_grad=True)
    B, T, _ = inputs.shape
    q, k, v = ((x @ weights[w]).reshape(B, T, H, -1).transpose(1, 2) for w in ("W_q", "W_k", "W_v"))
    out = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    logits = out.transpose(1, 2).reshape(B, T, -1) @ weights["W_o"]
    torch.nn.functional.cross_entropy(logits[torch.tensor(mask)], torch.tensor(targets[mask])).backward()
    for w, weight in weights.items():
        assert_close(gradients.params[w], weight.grad.numpy())
    assert_close(gradients.d_inputs, x.grad.numpy())


def test_any_mask_and_rows_that_see_nothing():
    params, inputs, targets, mask, H = example("two heads, values wider than keys")
    allowed = np.random.default_rng(2).random((6, 6)) < 0.5
    allowed[3] = False
    loss, head, gradients = loss_and_gradients(
        params, inputs, targets=targets, mask=np.ones_like(mask), num_heads=H, allowed=allowed
    )
    wanted, d_params = value_and_grad(definition)(params, inputs, targets, np.ones_like(mask), H, allowed)
    assert loss == pytest.approx(wanted, rel=1e-12)
    for w, d in d_params.items():
        assert_close(gradients.params[w], d)
    for zero in (head.weights[:, :, 3], head.out[:, :, 3], head.logits[:, 3], gradients.d_scores[:, :, 3]):
        assert not zero.any()
    assert not head.weights[..., ~allowed].any()


def test_float32_stays_float32():
    params, inputs, targets, mask, H = example("one head")
    single = {w: p.astype(np.float32) for w, p in params.items()}
    arguments = {"targets": targets, "mask": mask, "num_heads": H}
    loss, head, gradients = loss_and_gradients(single, inputs.astype(np.float32), **arguments)
    assert loss.dtype == np.float32
    double = loss_and_gradients(params, inputs, **arguments)[2]
    pairs = list(zip(gradients[:-1], double[:-1], strict=True))
    pairs += [(gradients.params[w], double.params[w]) for w in params]
    for got, wanted in pairs:
        assert got.dtype == np.float32
        assert_close(got, wanted, 1e-5)


def test_inputs_and_parameters_are_left_alone():
    params, inputs, targets, mask, H = example("one head")
    before = {w: p.copy() for w, p in params.items()}, inputs.copy()
    loss_and_gradients(params, inputs, targets=targets, mask=mask, num_heads=H)
    for w in params:
        np.testing.assert_array_equal(params[w], before[0][w])
    np.testing.assert_array_equal(inputs, before[1])


FAULTS = {
    "sign of the advantage": ("score_gradient", lambda weights, b: -law.row_mean(weights, b) * weights + weights * -b),
    "no mean in the advantage": ("score_gradient", lambda weights, b: weights * b),
    "weights not transposed": ("value_gradient", lambda weights, d_out: weights @ d_out),
    "queries and keys swapped": ("key_gradient", lambda d_scores, queries, scale: scale * (d_scores @ queries)),
    "scale forgotten": ("query_gradient", lambda d_scores, keys, scale: d_scores @ keys),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_planted_faults_are_caught(fault, monkeypatch):
    params, inputs, targets, mask, H = example("one head")
    truth = value_and_grad(definition)(params, inputs, targets, mask, H)[1]
    monkeypatch.setattr(law, *FAULTS[fault])
    gradients = loss_and_gradients(params, inputs, targets=targets, mask=mask, num_heads=H)[2]
    got = np.concatenate([gradients.params[w].ravel() for w in truth])
    wanted = np.concatenate([d.ravel() for d in truth.values()])
    with pytest.raises(AssertionError):
        assert_close(got, wanted, 1e-6)


def test_backward_takes_any_cotangent():
    params, inputs, _, _, H = example("two heads, values wider than keys")
    cotangent = np.random.default_rng(3).standard_normal((2, 6, 3))
    got = backward(params, inputs, forward(params, inputs, num_heads=H), cotangent).params
    wanted = value_and_grad(lambda p: anp.sum(head_ref(p, inputs, num_heads=H) * cotangent))(params)[1]
    for w in params:
        assert_close(got[w], wanted[w])


@pytest.mark.parametrize(
    ("shape", "heads", "message"),
    [((2, 5, 3), 1, r"want inputs \(B, T, D\) and W_q"), ((2, 5, 4), 2, "widths that 2 heads divide")],
)
def test_bad_shapes_are_refused_in_words(shape, heads, message):
    params = example("one head")[0]
    with pytest.raises(ValueError, match=message):
        forward(params, np.zeros(shape), num_heads=heads)


@pytest.mark.parametrize(
    ("changes", "heads", "message"),
    [
        ({"W_q": (4, 4)}, 1, r"W_q and W_k of one width.* got W_q \(4, 4\), W_k \(4, 3\)"),
        ({"W_o": (4, 6)}, 1, r"a row of W_o a column of W_v.* W_o \(4, 6\)"),
        ({"W_q": (4, 4), "W_k": (4, 4)}, 2, r"2 heads divide, got .*W_v \(4, 3\)"),
        ({}, 0, "0 heads divide"),
    ],
)
def test_matrices_that_do_not_fit_are_named(changes, heads, message):
    params = example("one head")[0] | {w: np.zeros(shape) for w, shape in changes.items()}
    with pytest.raises(ValueError, match=message):
        forward(params, np.zeros((2, 5, 4)), num_heads=heads)
