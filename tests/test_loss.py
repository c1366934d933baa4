"""Cross-entropy: values by hand, the edge rules, and what the mask hides."""

import numpy as np
import pytest

from mhc_np.autodiff import grad
from mhc_np.ops import cross_entropy

ALL = np.ones((1, 1), bool)


def one(logits, target):
    target = np.asarray(target)
    return cross_entropy(np.array([[logits]]), targets=target[None, None], mask=ALL)


def test_values_by_hand():
    np.testing.assert_allclose(one([0.0, np.log(3.0)], 1), np.log(4 / 3))
    np.testing.assert_allclose(one([0.0, np.log(3.0)], [0.5, 0.5]), np.log(4) - 0.5 * np.log(3))


def test_soft_targets_cost_at_least_their_entropy():
    p = np.array([0.2, 0.3, 0.5])
    entropy = -np.sum(p * np.log(p))
    np.testing.assert_allclose(one(np.log(p), p), entropy)
    assert one(np.log(p[::-1]), p) > entropy + 0.1


def test_soft_one_hot_equals_hard():
    rng = np.random.default_rng(0)
    logits, labels = rng.standard_normal((2, 3, 4)), rng.integers(0, 4, (2, 3))
    mask = rng.random((2, 3)) < 0.6
    hard = cross_entropy(logits, targets=labels, mask=mask)
    soft = cross_entropy(logits, targets=np.eye(4)[labels], mask=mask)
    np.testing.assert_allclose(hard, soft, rtol=1e-14)


def test_unsupervised_positions_are_never_read():
    logits = np.zeros((1, 2, 3))
    mask = np.array([[True, False]])
    targets = np.array([[[0.5, 0.5, 0.0], [np.nan, np.nan, np.nan]]])
    np.testing.assert_allclose(cross_entropy(logits, targets=targets, mask=mask), np.log(3))
    d_logits = grad(lambda z: cross_entropy(z, targets=targets, mask=mask))(logits)
    np.testing.assert_array_equal(d_logits[0, 1], 0)
    np.testing.assert_allclose(d_logits[0, 0], [1 / 3 - 0.5, 1 / 3 - 0.5, 1 / 3])


def test_minus_infinity_is_free_where_the_target_is_zero_and_infinite_where_not():
    np.testing.assert_allclose(one([0.0, 0.0, -np.inf], [0.5, 0.5, 0.0]), np.log(2))
    assert one([0.0, 0.0, -np.inf], 2) == np.inf
    d = grad(lambda z: cross_entropy(z, targets=np.array([[0]]), mask=ALL))(np.array([[[0.0, 0.0, -np.inf]]]))
    np.testing.assert_allclose(d[0, 0], [-0.5, 0.5, 0])


@pytest.mark.parametrize("row", [[-np.inf] * 3, [0.0, np.inf, 0.0], [0.0, np.nan, 0.0]])
@pytest.mark.parametrize("targets", [np.array([[0, 1]]), np.full((1, 2, 3), 1 / 3)], ids=["hard", "soft"])
def test_a_row_that_is_no_distribution_makes_the_loss_nan(row, targets):
    logits, mask = np.array([[row, [0.0, 1.0, 2.0]]]), np.ones((1, 2), bool)
    with np.errstate(invalid="ignore"):
        assert np.isnan(cross_entropy(logits, targets=targets, mask=mask))
        d = grad(lambda z: cross_entropy(z, targets=targets, mask=mask))(logits)
        unread = np.array([[False, True]])
        assert np.isfinite(cross_entropy(logits, targets=targets, mask=unread))
    assert np.isnan(d[0, 0]).all()
    assert np.isfinite(d[0, 1]).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_huge_logits_give_finite_value_and_gradient(dtype):
    logits = np.array([[[1e4, -1e4, 0.0]]], dtype)
    loss = cross_entropy(logits, targets=np.array([[1]]), mask=ALL)
    assert loss.dtype == dtype
    np.testing.assert_allclose(loss, 2e4)
    d = grad(lambda z: cross_entropy(z, targets=np.array([[1]]), mask=ALL))(logits)
    np.testing.assert_allclose(d[0, 0], [1, -1, 0])


@pytest.mark.parametrize(
    ("targets", "mask", "message"),
    [
        (np.array([[0]]), np.zeros((1, 1), bool), "at least one supervised"),
        (np.array([[3]]), ALL, r"labels in \[0, 3\), got 3"),
        (np.array([[-1]]), ALL, r"got -1"),
        (np.array([[[0.5, 0.2, 0.2]]]), ALL, "sum to one"),
        (np.array([[0, 1]]), ALL, "want labels"),
        (np.array([[0]]), np.ones((1, 1)), "bool mask"),
    ],
)
def test_bad_targets_are_refused_in_words(targets, mask, message):
    with pytest.raises(ValueError, match=message):
        cross_entropy(np.zeros((1, 1, 3)), targets=targets, mask=mask)
