"""AdamW against its definition, against PyTorch, and against planted faults."""

import re

import numpy as np
import pytest

from mhc_np.autodiff import flatten, tree_map, unflatten
from mhc_np.learn import AdamW, adamw, decays
from mhc_np.learn.vector import pack, rebuild, unpack

SHAPES = {
    "embed/table": (7, 4),
    "blocks/0/attention/W_q": (4, 4),
    "blocks/0/attention/gain": (4,),
    "blocks/0/attention/connection/W_res": (8, 4),
    "blocks/0/attention/connection/alpha": (3,),
    "blocks/0/mlp/b_in": (6,),
    "head/W_out": (4, 5),
    "scalar": (),
}
DECAYING = {"embed/table", "blocks/0/attention/W_q", "head/W_out"}


def random_tree(rng, dtype=np.float64):
    tree = unflatten({path: rng.standard_normal(shape).astype(dtype) for path, shape in SHAPES.items()})
    tree["blocks"]["0"]["mlp"]["connection"] = {}  # the residual scheme has nothing to learn
    return tree


def adamw_ref(params, gradients, learning_rate, betas, eps, weight_decay, factors):
    """The textbook, leaf by leaf: averages, bias correction, decay beside the gradient."""
    params = {path: leaf.copy() for path, leaf in flatten(params).items()}
    m = {path: np.zeros_like(leaf) for path, leaf in params.items()}
    v = {path: np.zeros_like(leaf) for path, leaf in params.items()}
    for step, (grads, factor) in enumerate(zip(gradients, factors, strict=True), start=1):
        for path, g in flatten(grads).items():
            m[path] = betas[0] * m[path] + (1 - betas[0]) * g
            v[path] = betas[1] * v[path] + (1 - betas[1]) * g**2
            m_hat, v_hat = m[path] / (1 - betas[0] ** step), v[path] / (1 - betas[1] ** step)
            decay = weight_decay if path in DECAYING else 0.0
            rate = learning_rate * factor
            params[path] = params[path] * (1 - rate * decay) - rate * m_hat / (np.sqrt(v_hat) + eps)
    return params


def run(optimizer, params, gradients, factors):
    state = optimizer.init(params)
    for grads, factor in zip(gradients, factors, strict=True):
        params, state = optimizer.update(params, grads, state, factor)
    return params, state


def assert_same(got, wanted, tolerance=1e-12):
    got = flatten(got)
    assert got.keys() == wanted.keys()
    for path in wanted:
        np.testing.assert_allclose(got[path], wanted[path], rtol=0, atol=tolerance, err_msg=path)


@pytest.fixture
def ten_steps():
    rng = np.random.default_rng(0)
    params = random_tree(rng)
    return params, [random_tree(rng) for _ in range(10)], rng.uniform(0, 1, 10).tolist()


def test_ten_steps_are_the_textbooks(ten_steps):
    settings = dict(learning_rate=0.03, betas=(0.8, 0.95), eps=1e-3, weight_decay=0.5)
    got, state = run(AdamW(**settings), *ten_steps)
    params, gradients, factors = ten_steps
    assert_same(got, adamw_ref(params, gradients, factors=factors, **settings))
    assert state["step"] == 10
    assert got["blocks"]["0"]["mlp"]["connection"] == {}


@pytest.mark.parametrize(
    "fault",
    [dict(betas=(0.8, 0.951)), dict(eps=1.1e-3), dict(weight_decay=0.49), dict(learning_rate=0.0301)],
    ids=lambda fault: next(iter(fault)),
)
def test_the_comparison_sees_every_setting(ten_steps, fault):
    settings = dict(learning_rate=0.03, betas=(0.8, 0.95), eps=1e-3, weight_decay=0.5)
    got, _ = run(AdamW(**(settings | fault)), *ten_steps)
    params, gradients, factors = ten_steps
    with pytest.raises(AssertionError):
        assert_same(got, adamw_ref(params, gradients, factors=factors, **settings))


def test_blocks_do_not_change_the_result(ten_steps, monkeypatch):
    whole, _ = run(AdamW(), *ten_steps)
    monkeypatch.setattr(adamw, "BLOCK", 5)  # cuts leaves in the middle
    cut, _ = run(AdamW(), *ten_steps)
    for path, leaf in flatten(whole).items():
        np.testing.assert_array_equal(flatten(cut)[path], leaf)


def test_only_matrices_and_tables_decay():
    assert {path for path in SHAPES if decays(path)} == DECAYING
    assert decays("blocks/3/mlp/W_in")
    assert not decays("blocks/3/mlp/connection/W_pre")
    assert not decays("gain")
    assert not decays("blocks/0/attention/b_relative")


def test_without_a_gradient_decaying_parameters_shrink_and_the_others_stay():
    params = random_tree(np.random.default_rng(0))
    moved, _ = run(AdamW(learning_rate=0.1, weight_decay=0.5), params, [tree_map(np.zeros_like, params)], [1.0])
    for path, leaf in flatten(params).items():
        wanted = leaf * (1 - 0.1 * 0.5) if path in DECAYING else leaf
        np.testing.assert_allclose(flatten(moved)[path], wanted, rtol=1e-15, err_msg=path)


def test_caller_keeps_params_and_grads(ten_steps):
    params, gradients, factors = ten_steps
    before = tree_map(np.copy, {"params": params, "grads": gradients[0]})
    moved, state = run(AdamW(), params, gradients[:1], factors[:1])
    kept = tree_map(np.copy, moved)
    AdamW().update(moved, gradients[0], state, 1.0)  # a later step must not reach back either
    for path, leaf in flatten({"params": params, "grads": gradients[0]}).items():
        np.testing.assert_array_equal(leaf, flatten(before)[path])
    for path, leaf in flatten(moved).items():
        np.testing.assert_array_equal(leaf, flatten(kept)[path])


def test_float32_stays_float32_and_near_float64(ten_steps):
    params, gradients, factors = ten_steps
    single = lambda tree: tree_map(lambda leaf: leaf.astype(np.float32), tree)  # noqa: E731
    wide, _ = run(AdamW(), params, gradients, factors)
    narrow, state = run(AdamW(), single(params), [single(grads) for grads in gradients], factors)
    assert {leaf.dtype for leaf in flatten(narrow).values()} == {np.dtype(np.float32)}
    assert state["m"].dtype == state["v"].dtype == np.float32
    for path, leaf in flatten(wide).items():
        scale = np.max(np.abs(leaf))
        np.testing.assert_allclose(flatten(narrow)[path], leaf, rtol=0, atol=1e-5 * scale, err_msg=path)


def test_order_of_keys_does_not_matter():
    params = {"b_x": np.array([1.0]), "W_x": np.array([[2.0, 3.0]])}
    grads = {"b_x": np.array([1.0]), "W_x": np.array([[-1.0, 1.0]])}
    swapped = {name: params[name] for name in reversed(params)}
    optimizer = AdamW(learning_rate=0.1)
    one, state = optimizer.update(params, grads, optimizer.init(params))
    two, _ = optimizer.update(one, grads, {key: array.copy() for key, array in state.items()})
    other, _ = optimizer.update({name: one[name] for name in swapped}, grads, state)
    assert list(two) == list(params)
    assert list(other) == list(swapped)
    for name, leaf in two.items():
        np.testing.assert_array_equal(other[name], leaf)


def test_non_contiguous_and_shared_gradients():
    W = np.arange(6.0).reshape(2, 3)
    grads = {"W_a": np.asfortranarray(W), "W_b": W}
    params = {"W_a": np.zeros((2, 3)), "W_b": np.zeros((2, 3))}
    moved, _ = AdamW(eps=1.0).update(params, grads, AdamW().init(params))
    np.testing.assert_array_equal(moved["W_a"], moved["W_b"])
    np.testing.assert_array_equal(W, np.arange(6.0).reshape(2, 3))


def test_wrong_trees_are_refused():
    params = {"W_a": np.zeros((2, 3)), "gain": np.ones(2)}
    optimizer = AdamW()
    state = optimizer.init(params)
    with pytest.raises(ValueError, match=re.escape("want 'W_a' of shape (2, 3), got (3, 2)")):
        optimizer.update(params, {"W_a": np.zeros((3, 2)), "gain": np.ones(2)}, state)
    with pytest.raises(ValueError, match="want a leaf 'gain'"):
        optimizer.update(params, {"W_a": np.zeros((2, 3))}, state)
    with pytest.raises(ValueError, match="want a state for 8 parameters, got one for 4"):
        optimizer.update(params, params, optimizer.init({"gain": np.ones(4)}))
    with pytest.raises(ValueError, match="want leaves of one dtype, got .'float32', 'float64'."):
        optimizer.init({"a": np.zeros(2), "b": np.zeros(2, np.float32)})


def test_pack_and_unpack_are_inverse():
    leaves = flatten(random_tree(np.random.default_rng(1)))
    paths = sorted(leaves)
    back = unpack(pack(leaves, paths), leaves, paths)
    assert list(back) == paths
    for path in paths:
        np.testing.assert_array_equal(back[path], leaves[path])
    tree = random_tree(np.random.default_rng(1))
    assert rebuild(back, tree)["blocks"]["0"]["mlp"].keys() == tree["blocks"]["0"]["mlp"].keys()


@pytest.mark.torch
def test_ten_steps_are_pytorchs(ten_steps):
    torch = pytest.importorskip("torch")
    params, gradients, _ = ten_steps
    tensors = {path: torch.nn.Parameter(torch.tensor(leaf)) for path, leaf in flatten(params).items()}
    groups = [
        {"params": [tensors[path] for path in tensors if decays(path)], "weight_decay": 0.1},
        {"params": [tensors[path] for path in tensors if not decays(path)], "weight_decay": 0.0},
    ]
    theirs = torch.optim.AdamW(groups, lr=3e-3, betas=(0.9, 0.98), eps=1e-8)
    for grads in gradients:
        for path, g in flatten(grads).items():
            tensors[path].grad = torch.tensor(g)
        theirs.step()
    got, _ = run(AdamW(weight_decay=0.1), params, gradients, [1.0] * 10)
    assert_same(got, {path: tensor.detach().numpy() for path, tensor in tensors.items()}, 1e-10)
