"""Clipping: length, direction, untouched inputs, and gradients that are not numbers."""

import numpy as np
import pytest

from mhc_np.autodiff import flatten, tree_map
from mhc_np.learn import clip_by_global_norm


def random_tree(dtype=np.float64):
    rng = np.random.default_rng(0)
    tree = {"W_q": rng.standard_normal((3, 4)), "mlp": {"b_in": rng.standard_normal(5), "connection": {}}}
    return tree_map(lambda leaf: leaf.astype(dtype), tree)


def joined(tree):
    return np.concatenate([leaf.ravel() for leaf in flatten(tree).values()])


def test_long_gradient_is_shortened_along_itself():
    grads = random_tree()
    before = tree_map(np.copy, grads)
    clipped, norm = clip_by_global_norm(grads, 0.5)
    assert norm == pytest.approx(np.linalg.norm(joined(grads)), rel=1e-14)
    assert np.linalg.norm(joined(clipped)) == pytest.approx(0.5, rel=1e-14)
    np.testing.assert_allclose(joined(clipped), joined(grads) * (0.5 / norm), rtol=1e-14)
    np.testing.assert_array_equal(joined(grads), joined(before))
    assert clipped["mlp"]["connection"] == {}


def test_short_gradient_is_handed_back():
    grads = random_tree()
    assert clip_by_global_norm(grads, 100.0)[0] is grads
    assert clip_by_global_norm(grads, None)[0] is grads
    assert clip_by_global_norm(tree_map(np.zeros_like, grads), 1.0)[1] == 0.0


def test_float32_stays_float32():
    clipped, norm = clip_by_global_norm(random_tree(np.float32), 0.5)
    assert joined(clipped).dtype == np.float32
    assert norm == pytest.approx(np.linalg.norm(joined(random_tree())), rel=1e-6)


@pytest.mark.parametrize(("dtype", "huge"), [(np.float32, 1e30), (np.float64, 1e200)])
def test_finite_gradients_whose_squares_overflow(dtype, huge):
    grads = tree_map(lambda leaf: (leaf * huge).astype(dtype), random_tree())
    clipped, norm = clip_by_global_norm(grads, 1.0)
    assert norm == pytest.approx(np.linalg.norm(joined(random_tree())) * huge, rel=1e-6)
    assert np.linalg.norm(joined(clipped)) == pytest.approx(1.0, rel=1e-6)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_the_first_bad_parameter_is_named(bad):
    grads = random_tree()
    grads["mlp"]["b_in"][1:3] = bad
    with pytest.raises(FloatingPointError, match="2 of 5 entries of 'mlp/b_in' infinite or not a number"):
        clip_by_global_norm(grads, 1.0)
