"""Sinkhorn: closed forms, fixtures, extreme logits, refused input, and the broken backwards found in the wild."""

import warnings

import autograd.numpy as anp
import numpy as np
import pytest

from mhc_np.autodiff import check_op, define_vjp, grad
from mhc_np.ops import doubly_stochastic_error, sinkhorn, sinkhorn_implicit, sinkhorn_ref
from mhc_np.ops.sinkhorn import COLUMNS, ROWS, batch_first, batch_last, sinkhorn_bwd, sinkhorn_fwd

SLOW = np.array([[0.0, 0.0], [-20.0, 0.0]])


def rng():
    return np.random.default_rng(2)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 8])
@pytest.mark.parametrize("num_iters", [1, 2, 20])
def test_value_and_gradient_agree_with_the_definition_and_differences(n, num_iters):
    logits = 2 * rng().standard_normal((3, n, n))
    verdict = check_op(sinkhorn, sinkhorn_ref, logits, rng=rng(), num_iters=num_iters)
    assert verdict, str(verdict)


def test_leading_axes_are_a_batch():
    logits = rng().standard_normal((2, 3, 5, 4, 4))
    plan = sinkhorn(logits)
    assert plan.shape == logits.shape
    assert plan.flags.c_contiguous
    for index in np.ndindex(2, 3, 5):
        np.testing.assert_allclose(plan[index], sinkhorn(logits[index]), atol=1e-15)


@pytest.mark.parametrize(
    ("logits", "diagonal", "off"),
    [
        (np.zeros((4, 4)), 0.25, 0.25),
        (np.eye(4), 0.475366, 0.174878),  # eye as *logits* is nowhere near the identity
        (6 * np.eye(4) - 3, 0.992619, 0.002460),
        ((np.eye(4) - 1) * 0.1 / 0.05, 0.711235, 0.096255),  # a temperature of .05 does not make .1 sharp
        (8 * np.eye(4) - 8, 0.998995, 0.000335),
    ],
)
def test_fixtures(logits, diagonal, off):
    want = np.where(np.eye(4, dtype=bool), diagonal, off)
    np.testing.assert_allclose(sinkhorn(logits), want, atol=1e-6)


def test_powers_of_a_near_identity_drift_to_the_centre():
    def power(logits, times):
        return np.linalg.matrix_power(sinkhorn(logits), times)[0, 0]

    assert power(6 * np.eye(4) - 3, 60) == pytest.approx(0.664, abs=5e-4)
    assert power(8 * np.eye(4) - 8, 64) == pytest.approx(0.938, abs=5e-4)


def test_one_iteration_is_columns_then_rows():
    logits = np.array([[0.0, 2.0], [0.0, 0.0]])
    plan = sinkhorn(logits, num_iters=1)
    np.testing.assert_allclose(plan, [[0.3621, 0.6379], [0.8075, 0.1925]], atol=5e-5)
    np.testing.assert_allclose(plan.sum(axis=0), [1.1696, 0.8304], atol=5e-5)
    other_order = sinkhorn(logits.T, num_iters=1).T
    np.testing.assert_allclose(other_order, [[0.1925, 0.6379], [0.8075, 0.3621]], atol=5e-5)
    np.testing.assert_allclose(other_order.sum(axis=1), [0.8304, 1.1696], atol=5e-5)


@pytest.mark.parametrize("num_iters", [1, 5, 20, 100, 1000])
def test_the_slow_case_needs_as_many_iterations_as_the_accuracy_asked_for(num_iters):
    rows, columns = doubly_stochastic_error(sinkhorn(SLOW, num_iters))
    assert rows < 1e-15
    assert columns == pytest.approx(1 / (2 * num_iters + 1), rel=0.01)


def test_two_by_two_limit_is_a_sigmoid():
    a, b, c, d = rng().standard_normal(4)
    plan = sinkhorn(np.array([[a, b], [c, d]]), num_iters=200)
    s = 1 / (1 + np.exp(-(a + d - b - c) / 2))
    np.testing.assert_allclose(plan, [[s, 1 - s], [1 - s, s]], atol=1e-13)


@pytest.mark.parametrize("num_iters", [1, 20])
def test_rows_are_exact_and_row_and_column_constants_do_not_matter(num_iters):
    logits = 3 * rng().standard_normal((50, 4, 4))
    plan = sinkhorn(logits, num_iters)
    rows, columns = doubly_stochastic_error(plan)
    assert rows.max() < 1e-15
    assert columns.max() > 1e-3  # twenty iterations do not finish all of these
    shifted = logits + rng().standard_normal((50, 1, 4))  # a constant a column; a row's takes the limit
    np.testing.assert_allclose(sinkhorn(shifted, num_iters), plan, atol=1e-13)
    rows_shifted = sinkhorn(logits[:5] + rng().standard_normal((5, 4, 1)), 3000)
    np.testing.assert_allclose(rows_shifted, sinkhorn(logits[:5], 3000), atol=1e-9)


def test_permuting_the_logits_permutes_the_plan():
    logits, p, q = rng().standard_normal((5, 5)), [3, 0, 4, 1, 2], [1, 2, 0, 4, 3]
    np.testing.assert_allclose(sinkhorn(logits[p][:, q]), sinkhorn(logits)[p][:, q], atol=1e-15)


@pytest.mark.parametrize("n", [2, 3, 4, 8])
@pytest.mark.parametrize("scale", [1, 30, 300, 1e4])
def test_extreme_float32_logits_give_finite_values_and_gradients(n, scale):
    logits = (scale * rng().uniform(-1, 1, (256, n, n))).astype(np.float32)
    logits[0] = -scale
    logits[1, 0] = -scale  # one row far below all others
    logits[2, :, 0] = -scale
    cotangent = rng().standard_normal(logits.shape).astype(np.float32)
    plan, cache = sinkhorn_fwd(logits, num_iters=20)
    (gradient,) = sinkhorn_bwd(cotangent, cache)
    assert plan.dtype == gradient.dtype == np.float32
    assert np.all(np.isfinite(gradient))
    plan64, cache64 = sinkhorn_fwd(logits.astype(np.float64), num_iters=20)
    np.testing.assert_allclose(plan, plan64, atol=1e-6)
    np.testing.assert_allclose(plan64, sinkhorn_ref(logits.astype(np.float64)), atol=1e-12)
    np.testing.assert_allclose(gradient, sinkhorn_bwd(cotangent.astype(np.float64), cache64)[0], atol=1e-6)


def test_float32_training_through_three_hundred_stays_finite():
    """Descent with momentum toward a permutation, started at ±300: values and gradients finite all the way."""
    logits = (300 * rng().uniform(-1, 1, (64, 4, 4))).astype(np.float32)
    logits[:8] /= 200  # these have a gradient from the start
    target, velocity = np.eye(4, dtype=np.float32)[[1, 2, 3, 0]], np.zeros_like(logits)
    loss_of = lambda x: anp.sum((sinkhorn(x) - target) ** 2)  # noqa: E731
    before, farthest = loss_of(logits[:8]), 0
    for _ in range(200):
        gradient = grad(loss_of)(logits)
        assert gradient.dtype == np.float32
        assert np.all(np.isfinite(gradient))
        velocity = 0.9 * velocity + gradient
        logits = logits - 500 * velocity
        farthest = max(farthest, np.abs(logits[:8]).max())
    assert loss_of(logits[:8]) < 0.5 * before
    assert farthest > 300


def test_float32_falls_back_to_float64_where_its_range_is_too_small():
    _, (plan, _, _) = sinkhorn_fwd(np.zeros((4, 4), np.float32), num_iters=20)
    assert plan.dtype == np.float32
    _, (plan, _, _) = sinkhorn_fwd(np.zeros((8, 8), np.float32), num_iters=20)
    assert plan.dtype == np.float64
    # Float32 rounds e^-100 to zero: the sums then lift it, by up to (n - 1)^2 an iteration, until the plan is doubly
    # stochastic. In float32 it would stay zero for ever.
    logits = stuck_for(100)
    plan = sinkhorn(logits.astype(np.float32), 100)
    np.testing.assert_allclose(plan, sinkhorn_ref(logits, 100), atol=1e-6)
    assert plan[0, 1] > 0.1
    assert doubly_stochastic_error(plan)[1] < 0.2


def stuck_for(gap, dtype=np.float64):
    """Three rows fit in column 0 alone, but for e^-gap: after many iterations those entries are two ninths each."""
    logits = np.full((4, 4), -float(gap))
    logits[:3, 0] = logits[3, 1:] = 0
    return logits.astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("op", [sinkhorn, sinkhorn_implicit])
def test_entries_that_the_kernel_would_lose_come_back(op, dtype):
    """The 1e-348 at the start grows by nine an iteration; a kernel that rounds it to zero ends two thirds off."""
    logits, num_iters = stuck_for(800, dtype), 400
    plan = op(logits, num_iters)
    assert plan.dtype == dtype
    np.testing.assert_allclose(plan, sinkhorn_ref(logits.astype(float), num_iters), atol=1e-6)
    assert plan[0, 1] > 0.2
    slope = grad(lambda x: anp.sum(op(x, num_iters) * np.arange(16, dtype=dtype).reshape(4, 4)))(logits)
    assert slope.dtype == dtype
    assert np.all(np.isfinite(slope))
    kernel, _ = sinkhorn_fwd(logits, num_iters=num_iters)
    assert np.abs(kernel - plan).max() > 0.3


@pytest.mark.parametrize("span", [340, 360])
def test_the_kernel_loses_nothing_where_it_is_used_for_many_iterations(span):
    for logits in (stuck_for(span), span * rng().uniform(0, 1, (20, 4, 4))):
        np.testing.assert_allclose(sinkhorn(logits, 600), sinkhorn_ref(logits, 600), atol=1e-11)


def test_half_precision_is_computed_wide():
    logits = 3 * rng().standard_normal((20, 4, 4)).astype(np.float16)
    plan = sinkhorn(logits)
    assert plan.dtype == np.float16
    np.testing.assert_array_equal(plan, sinkhorn(logits.astype(float)).astype(np.float16))


def test_ones_as_cotangent_see_nothing():
    """Row sums are constant, so ``plan.sum()`` has no gradient: a test that uses it cannot fail."""
    assert np.abs(grad(lambda x: anp.sum(sinkhorn(x)))(rng().standard_normal((4, 4)))).max() < 1e-14


def transposed(d_plan, cache):
    return (np.swapaxes(sinkhorn_bwd(d_plan, cache)[0], -1, -2),)


def last_matrix_only(d_plan, cache):
    plan, sums, _ = cache
    G = batch_last(d_plan, plan.dtype) * plan
    for axis in (ROWS, COLUMNS) * (len(sums) // 2 + 1):
        G -= plan * G.sum(axis=axis, keepdims=True)
    return (batch_first(G, d_plan),)


def last_pass_only(d_plan, cache):
    plan = cache[0]
    G = batch_last(d_plan, plan.dtype) * plan
    return (batch_first(G - plan * G.sum(axis=ROWS, keepdims=True), d_plan),)


def first_columns_forgotten(d_plan, cache):
    plan, sums, columns = cache
    return sinkhorn_bwd(d_plan, (plan, sums, 0 * columns))


def order_swapped(d_plan, cache):
    plan, sums, columns = cache
    return sinkhorn_bwd(d_plan, (plan, [(total, 1 - axis) for total, axis in sums], columns))


def no_sums(d_plan, cache):
    return (d_plan * batch_first(cache[0], d_plan),)


@pytest.mark.parametrize(
    "broken", [transposed, last_matrix_only, last_pass_only, first_columns_forgotten, order_swapped, no_sums]
)
def test_broken_backwards_are_caught(broken):
    logits = 2 * rng().standard_normal((4, 4))
    wrong = define_vjp(sinkhorn_fwd, broken)
    for num_iters in (3, 20):
        verdict = check_op(wrong, sinkhorn_ref, logits, rng=rng(), num_iters=num_iters)
        assert not verdict
        assert "gradient of argument 0 is wrong" in str(verdict)


@pytest.mark.parametrize(
    ("logits", "keywords", "message"),
    [
        (np.zeros((2, 3)), {}, r"sinkhorn: want shape \(\.\.\., n, n\), got \(2, 3\)"),
        (np.zeros(3), {}, r"got \(3,\)"),
        (np.zeros((3, 0, 0)), {}, r"got \(3, 0, 0\)"),
        (np.zeros((2, 2), int), {}, "sinkhorn: want logits to be an array of floats, got int64"),
        (np.zeros((2, 2), complex), {}, "array of floats, got complex128"),
        ([[0.0, 1.0], [1.0, 0.0]], {}, "array of floats, got a list"),
        (np.zeros((2, 2)), {"num_iters": 0}, "want num_iters >= 1 and whole, got 0"),
        (np.zeros((2, 2)), {"num_iters": 2.5}, "want num_iters >= 1 and whole, got 2.5"),
        (np.full((2, 2), -1e305), {}, "want finite logits, below 1e300"),
        (np.array([[0.0, -np.inf], [0, 0]]), {}, "want finite logits, below 1e300, got NaN, inf or more; for a mask"),
        (np.array([[0.0, np.nan], [0, 0]]), {}, "want finite logits"),
    ],
)
def test_what_has_no_answer_is_refused_in_words(logits, keywords, message):
    with pytest.raises(ValueError, match=message):
        sinkhorn(logits, **keywords)
    if getattr(logits, "dtype", None) != np.float64:
        return  # nothing to differentiate
    with pytest.raises(ValueError, match=message):
        grad(lambda x: anp.sum(sinkhorn(x, **keywords)))(logits)


def test_the_warning_fires_when_asked_and_only_then():
    with pytest.warns(RuntimeWarning, match=r"off by up to 0\.024 > 0\.001 after 20 iterations; raise num_iters"):
        sinkhorn(SLOW, tolerance=1e-3)
    with pytest.warns(RuntimeWarning, match="off by up to"):
        grad(lambda x: anp.sum(sinkhorn(x, tolerance=1e-3) ** 2))(SLOW)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sinkhorn(SLOW)
        sinkhorn(SLOW, tolerance=0.03)
        sinkhorn(np.zeros((0, 4, 4)), tolerance=1e-3)


def test_the_error_is_reported_a_matrix():
    rows, columns = doubly_stochastic_error(np.array([[[0.9, 0.3], [0.1, 0.5]], [[1, 0], [0, 1]]]))
    np.testing.assert_allclose(rows, [0.4, 0], atol=1e-15)
    np.testing.assert_allclose(columns, [0.2, 0], atol=1e-15)
