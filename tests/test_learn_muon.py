"""Muon: the quintic against the SVD, its symmetries, the step against its definition and PyTorch's."""

import numpy as np
import pytest

from mhc_np.autodiff import flatten, tree_map, unflatten
from mhc_np.learn import AdamW, Muon, muon, orthogonalize
from mhc_np.learn.muon import QUINTIC, on_muon

SHAPES = {
    "embed/table": (7, 4),
    "blocks/0/attention/W_q": (4, 4),
    "blocks/0/attention/W_k": (4, 4),
    "blocks/0/attention/connection/W_res": (4, 4),
    "blocks/0/mlp/W_in": (4, 6),
    "blocks/0/mlp/b_in": (6,),
    "blocks/0/mlp/W_out": (6, 4),
    "blocks/0/mlp/gain": (4,),
    "head/W_out": (4, 5),
}
MATRICES = [
    "blocks/0/attention/W_k",
    "blocks/0/attention/W_q",
    "blocks/0/mlp/W_in",
    "blocks/0/mlp/W_out",
]


def random_tree(rng, dtype=np.float64):
    return unflatten({path: rng.standard_normal(shape).astype(dtype) for path, shape in SHAPES.items()})


def phi(s, num_iters):
    a, b, c = QUINTIC
    for _ in range(num_iters):
        s = a * s + b * s**3 + c * s**5
    return s


def by_svd(matrix, num_iters=5):
    """What the quintic must give: the same singular vectors, each singular value sent through phi."""
    U, s, Vt = np.linalg.svd(matrix, full_matrices=False)
    return (U * phi(s / np.linalg.norm(s), num_iters)) @ Vt


@pytest.mark.parametrize("shape", [(5, 5), (4, 9), (9, 4), (1, 6), (6, 1), (3, 2, 5, 7)])
@pytest.mark.parametrize("num_iters", [0, 1, 5])
def test_orthogonalize_sends_singular_values_through_the_quintic(shape, num_iters):
    G = np.random.default_rng(0).standard_normal(shape)
    got = orthogonalize(G, num_iters)
    assert got.shape == shape
    for index in np.ndindex(shape[:-2]):
        np.testing.assert_allclose(got[index], by_svd(G[index], num_iters), rtol=0, atol=1e-12)


def test_another_quintic_is_noticed(monkeypatch):
    monkeypatch.setattr(muon, "QUINTIC", (3.4445, -4.7750, 2.03))
    G = np.random.default_rng(0).standard_normal((5, 5))
    assert np.max(np.abs(orthogonalize(G) - by_svd(G))) > 1e-6


def test_five_rounds_bring_singular_values_near_one():
    s = np.linspace(0.01, 1.0, 100_000)
    assert 0.68 < phi(s, 5).min() < phi(s, 5).max() < 1.14
    for shape in [(16, 16), (16, 64), (64, 16)]:
        G = np.random.default_rng(1).standard_normal(shape)
        values = np.linalg.svd(orthogonalize(G), compute_uv=False)
        assert values[0] < 1.21
        assert np.median(values) > 0.68
    raw = np.linalg.svd(G, compute_uv=False)
    assert raw[0] > 5  # the input was nothing of the kind


def test_orthogonalize_commutes_with_sign_transposition_and_rotation():
    rng = np.random.default_rng(2)
    G = rng.standard_normal((5, 8))
    once = orthogonalize(G)
    Q, _ = np.linalg.qr(rng.standard_normal((8, 8)))
    np.testing.assert_array_equal(orthogonalize(-G), -once)
    np.testing.assert_allclose(orthogonalize(G.T), once.T, rtol=0, atol=1e-12)
    np.testing.assert_allclose(orthogonalize(G @ Q), once @ Q, rtol=0, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("power", [-120, -1, 1, 120])
def test_orthogonalize_ignores_scale(dtype, power):
    G = np.random.default_rng(3).standard_normal((3, 5, 8)).astype(dtype)
    np.testing.assert_array_equal(orthogonalize(G * dtype(2.0**power)), orthogonalize(G))


def test_zero_stays_zero_and_does_not_spill_over():
    stack = np.stack([np.zeros((3, 3)), np.eye(3)])
    got = orthogonalize(stack)
    np.testing.assert_array_equal(got[0], np.zeros((3, 3)))
    np.testing.assert_array_equal(got[1], orthogonalize(np.eye(3)))


def test_float32_stays_float32():
    G = np.random.default_rng(4).standard_normal((2, 16, 8))
    narrow = orthogonalize(G.astype(np.float32))
    assert narrow.dtype == np.float32
    np.testing.assert_allclose(narrow, orthogonalize(G), rtol=0, atol=1e-5)


def test_which_parameters_go_to_muon():
    leaves = flatten(random_tree(np.random.default_rng(0)))
    assert sorted(path for path in leaves if on_muon(path, leaves[path])) == MATRICES
    assert not on_muon("blocks/0/attention/W_bias", np.zeros((4, 3, 3)))


def muon_ref(W, gradients, optimizer, factors):
    """One matrix at a time, in (in, out), with an SVD for the orthogonal part."""
    M = np.zeros_like(W)
    for G, factor in zip(gradients, factors, strict=True):
        rate = optimizer.learning_rate * factor
        M = optimizer.momentum * M + G
        O = by_svd(G + optimizer.momentum * M, optimizer.num_iters)  # noqa: E741
        num_in, num_out = W.shape
        W = (1 - rate * optimizer.weight_decay) * W - rate * np.sqrt(max(1, num_out / num_in)) * O
    return W


def run(optimizer, params, gradients, factors):
    state = optimizer.init(params)
    for grads, factor in zip(gradients, factors, strict=True):
        params, state = optimizer.update(params, grads, state, factor)
    return params, state


def test_steps_are_the_definitions():
    rng = np.random.default_rng(5)
    params, gradients = random_tree(rng), [random_tree(rng) for _ in range(5)]
    factors = rng.uniform(0, 1, 5).tolist()
    optimizer = Muon(learning_rate=0.1, momentum=0.9, weight_decay=0.5, rest=AdamW(learning_rate=0.01))
    got, state = run(optimizer, params, gradients, factors)
    assert list(flatten(got)) == list(flatten(params))
    wanted, _ = run(optimizer.rest, params, gradients, factors)
    for path, leaf in flatten(got).items():
        if path in MATRICES:
            reference = muon_ref(
                flatten(params)[path], [flatten(grads)[path] for grads in gradients], optimizer, factors
            )
        else:
            reference = flatten(wanted)[path]
        np.testing.assert_allclose(leaf, reference, rtol=0, atol=1e-12, err_msg=path)
    assert {name: stack.shape for name, stack in state["momentum"].items()} == {
        "4x4": (2, 4, 4),
        "4x6": (1, 4, 6),
        "6x4": (1, 6, 4),
    }


def test_the_wide_matrix_takes_the_larger_step():
    """(in, out) = (4, 6) maps to more outputs than it has inputs, so it is W_in that is scaled, by sqrt(6/4)."""
    rng = np.random.default_rng(6)
    params = tree_map(np.zeros_like, random_tree(rng))
    G = rng.standard_normal((4, 6))
    grads = random_tree(rng)
    grads["blocks"]["0"]["mlp"] |= {"W_in": G, "W_out": G.T}
    moved, _ = run(Muon(), params, [grads], [1.0])
    mlp = moved["blocks"]["0"]["mlp"]
    np.testing.assert_allclose(mlp["W_in"], np.sqrt(1.5) * mlp["W_out"].T, rtol=0, atol=1e-12)


def test_caller_keeps_params_and_grads():
    rng = np.random.default_rng(7)
    params, grads = random_tree(rng, np.float32), random_tree(rng, np.float32)
    before = tree_map(np.copy, {"params": params, "grads": grads})
    moved, state = run(Muon(), params, [grads], [1.0])
    kept = tree_map(np.copy, moved)
    Muon().update(moved, grads, state)
    assert {leaf.dtype for leaf in flatten(moved).values()} == {np.dtype(np.float32)}
    for tree, copy in [({"params": params, "grads": grads}, before), (moved, kept)]:
        for path, leaf in flatten(tree).items():
            np.testing.assert_array_equal(leaf, flatten(copy)[path])


def test_works_with_nothing_for_adamw_and_with_nothing_for_muon():
    W, b = {"blocks": {"0": {"W_a": np.eye(2)}}}, {"b_a": np.ones(2)}
    for params in (W, b):
        moved, _ = run(Muon(), params, [params, params], [1.0, 1.0])
        for path, leaf in flatten(moved).items():
            assert np.all(np.isfinite(leaf))
            assert not np.array_equal(leaf, flatten(params)[path])


@pytest.mark.torch
def test_steps_are_pytorchs(monkeypatch):
    torch = pytest.importorskip("torch")
    if not hasattr(torch.optim, "Muon"):
        pytest.skip("this PyTorch has no Muon")
    # PyTorch iterates in bfloat16; without that it must agree to the last digits.
    monkeypatch.setattr(torch.Tensor, "bfloat16", lambda tensor: tensor.clone())
    rng = np.random.default_rng(8)
    params, gradients = random_tree(rng), [random_tree(rng) for _ in range(10)]
    leaves = flatten(params)
    tensors = {path: torch.nn.Parameter(torch.tensor(leaves[path].T.copy())) for path in MATRICES}  # (out, in)
    theirs = torch.optim.Muon(tensors.values(), lr=0.02, weight_decay=0.05, momentum=0.95, eps=1e-30)
    for grads in gradients:
        for path, tensor in tensors.items():
            tensor.grad = torch.tensor(flatten(grads)[path].T.copy())
        theirs.step()
    got, _ = run(Muon(), params, gradients, [1.0] * 10)
    for path, tensor in tensors.items():
        np.testing.assert_allclose(flatten(got)[path], tensor.detach().numpy().T, rtol=0, atol=1e-10)
