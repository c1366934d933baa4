"""Every operation against its definition: value, gradients three ways, purity, precision, and planted faults."""

import autograd.numpy as anp
import numpy as np
import pytest

from mhc_np import ops
from mhc_np.autodiff import check_op, define_vjp, grad
from mhc_np.lab.cases import CASES

every_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


def rng():
    return np.random.default_rng(11)


@every_case
def test_value_and_gradients_agree_with_definition_and_differences(case):
    verdict = case.check()
    assert verdict, str(verdict)


@every_case
def test_a_gradient_one_percent_off_is_caught(case):
    for argnum in range(len(case.arrays)):

        def wrong(d_out, cache, argnum=argnum):
            gradients = list(case.backward(d_out, cache))
            true = gradients[argnum]
            vanishes = np.abs(true).max() < 1e-12  # attention's scores, with one position to choose from
            gradients[argnum] = true + 0.01 if vanishes else true * 1.01
            return gradients

        broken = define_vjp(case.forward, wrong)
        verdict = check_op(broken, case.ref, *case.arrays, rng=rng(), **case.static)
        assert not verdict
        assert f"argument {argnum} is wrong" in str(verdict)


@every_case
def test_kernels_leave_inputs_cotangent_and_cache_alone(case):
    arrays = [array.copy() for array in case.arrays]
    out, cache = case.forward(*arrays, **case.static)
    d_out = np.asarray(rng().standard_normal(np.shape(out)))
    d_before = d_out.copy()
    first = [np.copy(d) for d in case.backward(d_out, cache)]
    second = case.backward(d_out, cache)
    for array, before in zip(arrays, case.arrays, strict=True):
        np.testing.assert_array_equal(array, before)
    np.testing.assert_array_equal(d_out, d_before)
    for a, b in zip(first, second, strict=True):
        np.testing.assert_array_equal(a, b)


@every_case
def test_float32_stays_float32_and_close_to_float64(case):
    single = [array.astype(np.float32) for array in case.arrays]
    out32, cache32 = case.forward(*single, **case.static)
    out64, cache64 = case.forward(*case.arrays, **case.static)
    d_out = rng().standard_normal(np.shape(out64))
    pairs = [(out32, out64)]
    pairs += zip(
        case.backward(np.asarray(d_out, np.float32)[()], cache32),
        case.backward(d_out, cache64),
        strict=True,
    )
    for got, wanted in pairs:
        assert got.dtype == np.float32
        np.testing.assert_allclose(got, wanted, rtol=0, atol=1e-5 * max(np.abs(wanted).max(), 1e-3))


@every_case
def test_a_second_derivative_raises_and_names_the_definition(case):
    def first(x):
        gradient = grad(lambda y: anp.sum(case.op(y, *case.arrays[1:], **case.static) ** 2))(x)
        return anp.sum(gradient * gradient)

    with pytest.raises(NotImplementedError, match=f"differentiate {case.ref.__name__}"):
        grad(first)(case.arrays[0])


def test_the_checker_names_the_classic_slips():
    case = next(case for case in CASES if case.name == "linear")
    x = np.array(case.arrays[0][..., :4])
    weight = rng().standard_normal((4, 4))
    slips = {
        "1.5 times": lambda d_x, d_w: (d_x, 1.5 * d_w),
        "wrong sign": lambda d_x, d_w: (-d_x, d_w),
        "transposed": lambda d_x, d_w: (d_x, d_w.T),
        "zero everywhere": lambda d_x, d_w: (d_x, 0 * d_w),
        "wrong shape": lambda d_x, d_w: (d_x, d_w[0]),
        "not finite": lambda d_x, d_w: (d_x, d_w * np.nan),
        "off by": lambda d_x, d_w: (d_x, d_w + np.arange(4.0)),
    }
    for words, slip in slips.items():
        broken = define_vjp(case.forward, lambda d_out, cache, slip=slip: slip(*case.backward(d_out, cache)))
        assert words in str(check_op(broken, case.ref, x, weight, rng=rng()))


def test_rmsnorm_of_zero_and_constant_rows_is_finite():
    x = np.array([[0.0, 0.0, 0.0], [2.0, 2.0, 2.0]])
    np.testing.assert_allclose(ops.rmsnorm(x, np.ones(3)), [[0, 0, 0], [1, 1, 1]], atol=1e-6)
    slope = grad(lambda y: anp.sum(ops.rmsnorm(y, np.ones(3)) * np.array([[1.0, 2, 4]] * 2)))(x)
    assert np.all(np.isfinite(slope))
    np.testing.assert_allclose(slope[0], [1e3, 2e3, 4e3])  # gain * d_out / sqrt(eps)


@pytest.mark.parametrize(("dtype", "huge"), [(np.float32, 1e30), (np.float64, 1e200)])
def test_rows_whose_squares_overflow_are_nan_not_zero(dtype, huge):
    x = np.array([[huge, 1.0], [3.0, 4.0]], dtype)
    for op, second in ((ops.rmsnorm, np.ones(2, dtype)), (ops.normed_linear, np.eye(2, dtype=dtype))):
        out = op(x, second)
        assert np.isnan(out[0]).all()
        np.testing.assert_allclose(out[1], [0.848528, 1.131371], rtol=1e-5)
        slope = grad(lambda y, op=op, second=second: anp.sum(op(y, second) * np.array([1, 2], dtype)))(x)
        assert np.isnan(slope[0]).all()
        assert np.isfinite(slope[1]).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_gelu_has_its_limits_at_both_ends(dtype):
    x = np.array([-np.inf, np.finfo(dtype).min, -1e5, -1e4, 1e4], dtype)
    np.testing.assert_array_equal(ops.gelu(x), [0, 0, 0, 0, 1e4])
    np.testing.assert_array_equal(grad(lambda y: anp.sum(ops.gelu(y)))(x), [0, 0, 0, 0, 1])
    assert ops.gelu(np.array([np.inf], dtype)) == np.inf
    assert np.isnan(ops.gelu(np.array([np.nan], dtype)))


def test_gelu_matches_the_exact_normal_form_to_its_stated_error():
    from math import erf

    x = np.linspace(-6, 6, 1001)
    exact = x * 0.5 * (1 + np.array([erf(v / np.sqrt(2)) for v in x]))
    assert 1e-5 < np.abs(ops.gelu(x) - exact).max() < 5e-4


def test_rotary_scores_depend_on_the_distance_alone():
    q, k = (np.broadcast_to(rng().standard_normal(8), (1, 6, 8)).copy() for _ in range(2))
    scores = ops.rotary(q, num_heads=1)[0] @ ops.rotary(k, num_heads=1)[0].T
    for offset in range(-5, 6):
        np.testing.assert_allclose(np.diagonal(scores, offset), scores.diagonal(offset)[0])
    assert np.ptp(scores[0]) > 1e-2  # and they do depend on it


def test_relative_bias_shares_one_row_among_equal_offsets():
    offsets = np.minimum(np.maximum(np.subtract.outer(np.arange(4), np.arange(4)), 0), 2)
    table = rng().standard_normal((3, 2))
    bias = ops.relative_bias(table, offsets=offsets)
    assert bias.shape == (2, 4, 4)
    np.testing.assert_array_equal(bias[1, 3], table[[2, 2, 1, 0], 1])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ops.linear(np.ones((2, 3)), np.ones((4, 5))), r"linear: want x .* got \(2, 3\)"),
        (lambda: ops.linear(np.ones((2, 3)), np.ones((3, 5)), np.ones(4)), r"want bias \(5,\)"),
        (lambda: ops.linear(np.ones((2, 0)), np.ones((0, 5))), r"with I > 0, got \(2, 0\) and \(0, 5\)"),
        (lambda: ops.linear(np.array(1.0), np.ones((1, 5))), r"linear: want x .* got \(\)"),
        (
            lambda: ops.linear(np.ones((2, 3), int), np.ones((3, 5))),
            "linear: want x to be an array .* got int64",
        ),
        (lambda: ops.linear(np.ones((2, 3)), np.ones((3, 5), int)), "want weight to be an array of floats, got int64"),
        (lambda: ops.linear(np.ones((2, 3)), np.ones((3, 5)), np.ones(5, int)), "want bias to be an array of floats"),
        (lambda: ops.linear([[1.0]], np.ones((1, 5))), "want x to be an array of floats, got a list"),
        (lambda: ops.relu(np.arange(3)), "relu: want x to be an array of floats, got int64; convert"),
        (lambda: ops.gelu(np.arange(3)), "gelu: want x to be an array of floats, got int64; convert"),
        (lambda: ops.rmsnorm(np.ones((2, 3)), np.ones(2)), r"rmsnorm: want gain \(3,\)"),
        (lambda: ops.embed(np.ones((2, 3)), ids=np.array([-1])), r"want ids in \[0, 2\), got -1"),
        (lambda: ops.embed(np.ones((2, 3)), ids=np.array([0.5])), "want integer ids"),
        (lambda: ops.rotary(np.ones((1, 2, 6)), num_heads=2), "even width"),
    ],
)
def test_bad_shapes_are_refused_in_words(call, message):
    with pytest.raises(ValueError, match=message):
        call()
