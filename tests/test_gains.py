"""Gains: fixtures with a wrong answer for every classic slip, products in order, tokens averaged last."""

import numpy as np
import pytest

from mhc_np import ops
from mhc_np.measure import gains

LOPSIDED = np.array([[0.9, 0.3], [0.1, 0.5]])


def rng():
    return np.random.default_rng(8)


def test_forward_is_rows_and_backward_is_columns():
    assert gains.forward_gain(LOPSIDED) == pytest.approx(1.2)
    assert gains.backward_gain(LOPSIDED) == pytest.approx(1.0)
    signed = LOPSIDED * [[1, -1], [1, 1]]
    assert gains.forward_gain(signed) == pytest.approx(1.2)
    assert gains.signed_forward_gain(signed) == pytest.approx(0.6)
    assert gains.signed_backward_gain(signed) == pytest.approx(1.0)


def test_gains_bound_what_happens_to_signals_and_gradients():
    H = rng().standard_normal((50, 4, 4))
    x = rng().uniform(-1, 1, (50, 4, 1))
    assert np.all(np.abs(H @ x).max(axis=(1, 2)) <= gains.forward_gain(H) + 1e-12)
    assert np.all(np.abs(np.swapaxes(H, 1, 2) @ x).max(axis=(1, 2)) <= gains.backward_gain(H) + 1e-12)
    worst = np.sign(H[np.arange(50), np.abs(H).sum(axis=2).argmax(axis=1)])[..., None]
    np.testing.assert_allclose(np.abs(H @ worst).max(axis=(1, 2)), gains.forward_gain(H))


def test_composite_applies_the_first_layer_first():
    first, second, third = rng().standard_normal((3, 2, 5, 3, 3))
    np.testing.assert_allclose(gains.composite([first, second, third]), third @ second @ first)
    x = rng().standard_normal((2, 5, 3, 7))
    np.testing.assert_allclose(gains.composite([first, second, third]) @ x, third @ (second @ (first @ x)))
    assert gains.composite([LOPSIDED, np.zeros((6, 2, 2))]).shape == (6, 2, 2)


def test_products_of_doubly_stochastic_matrices_keep_gain_one_and_lose_variety():
    plans = ops.sinkhorn(rng().standard_normal((30, 4, 4)), 300)
    product = gains.composite(list(plans))
    assert gains.forward_gain(product) == pytest.approx(1, abs=1e-12)
    assert gains.backward_gain(product) == pytest.approx(1, abs=1e-9)
    np.testing.assert_allclose(product, 0.25, atol=1e-6)
    values = gains.singular_values(product)
    assert values[0] == pytest.approx(1)
    assert values[1] < 1e-6


def test_singular_values_by_definition_and_for_broken_matrices():
    H = rng().standard_normal((2, 3, 4, 4))
    np.testing.assert_allclose(
        gains.singular_values(H)[1, 2], np.sqrt(np.linalg.eigvalsh(H[1, 2].T @ H[1, 2]))[::-1], rtol=1e-9
    )
    H[0, 0, 0, 0], H[1, 1, 2, 3] = np.nan, np.inf
    broken = np.isnan(gains.singular_values(H)).all(axis=-1)
    np.testing.assert_array_equal(broken, [[True, False, False], [False, True, False]])


def test_normalized_entropy_runs_from_permutation_to_uniform():
    for n in (2, 3, 8):
        assert gains.normalized_entropy(np.full((n, n), 1 / n)) == pytest.approx(1)
        assert gains.normalized_entropy(np.eye(n)[::-1]) == 0
    assert gains.normalized_entropy(np.ones((5, 1, 1))).tolist() == [0] * 5
    between = gains.normalized_entropy(ops.sinkhorn(np.stack([np.eye(4), 3 * np.eye(4)])))
    assert 1 > between[0] > between[1] > 0
    with pytest.raises(ValueError, match="want entries >= 0, got -1"):
        gains.normalized_entropy(-np.eye(2))


def test_doubly_stochastic_error_is_that_of_the_operations():
    plan = ops.sinkhorn(4 * rng().standard_normal((10, 4, 4)), 3)
    for got, want in zip(gains.doubly_stochastic_error(plan), ops.doubly_stochastic_error(plan), strict=True):
        np.testing.assert_array_equal(got, want)


def test_summary_measures_each_token_and_averages_last():
    H = rng().standard_normal((6, 7, 3, 3))
    got = gains.summary(H)
    assert got.forward == pytest.approx(np.mean([gains.forward_gain(h) for token in H for h in token]))
    assert got.forward > gains.forward_gain(H.mean(axis=(0, 1)))
    assert got.sigma_1 > got.sigma_2 > got.sigma_min > 0
    one = gains.summary([[2.0]])
    assert (one.sigma_1, one.sigma_2, one.sigma_min, one.backward) == (2, 2, 2, 2)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: gains.forward_gain(np.zeros((2, 3))),
            r"forward_gain: want matrices \(\.\.\., n, n\), got shape \(2, 3",
        ),
        (lambda: gains.normalized_entropy(np.full((2, 2), 3.0)), "want rows that sum to 1, got one off by 5"),
        (lambda: gains.summary(np.zeros((0, 2, 2))), r"summary: want at least one matrix, got shape \(0, 2, 2\)"),
        (lambda: gains.composite([]), "composite: want at least one mixing, got none"),
        (lambda: gains.composite([np.eye(2), np.eye(3)]), r"one size, got \(2, 2\) and \(3, 3\)"),
    ],
)
def test_bad_input_is_refused_in_words(call, message):
    with pytest.raises(ValueError, match=message):
        call()
