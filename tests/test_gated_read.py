"""Looking and reading at once: the definition, each path alone, blocks that do not divide, faults."""

import autograd.numpy as anp
import numpy as np
import pytest

from mhc_np.autodiff import check_op, define_vjp, grad
from mhc_np.autodiff.parts import Parts, unpack
from mhc_np.connections import gated_read, gated_read_ref
from mhc_np.connections.gated_read import BLOCK, gated_read_bwd, gated_read_fwd


def rng():
    return np.random.default_rng(17)


def point(n=4, width=5, extra=3, lead=(2, 3)):
    draw = rng().standard_normal
    return draw((*lead, n, width)), draw((n * width, n + extra)), draw(n + extra)


def side_by_side(parts):
    """Put all outputs in one row a token, so that one random cotangent reaches all."""
    hidden, raw, streams = parts
    return anp.concatenate([hidden, raw, anp.reshape(streams, (*streams.shape[:-2], -1))], axis=-1)


@pytest.mark.parametrize("n", [1, 2, 4, 8])
@pytest.mark.parametrize("extra", [0, 3])
def test_value_and_gradients_agree_with_the_definition_and_differences(n, extra):
    verdict = check_op(
        lambda *arrays: side_by_side(gated_read(*arrays)),
        lambda *arrays: side_by_side(gated_read_ref(*arrays)),
        *point(n, 3, extra, lead=(2, 2)),
        rng=rng(),
    )
    assert verdict, str(verdict)


@pytest.mark.parametrize("used", [0, 1, 2])
def test_each_output_alone_sends_its_gradient_back(used):
    arrays = point()
    weights = rng().standard_normal(gated_read(*arrays)[used].shape)
    for argnum in range(3):

        def loss(x, op, argnum=argnum):
            return anp.sum(op(*arrays[:argnum], x, *arrays[argnum + 1 :])[used] * weights)

        got, want = (grad(lambda x, op=op, at=loss: at(x, op))(arrays[argnum]) for op in (gated_read, gated_read_ref))
        np.testing.assert_allclose(got, want, atol=1e-12)


def test_tokens_need_not_fill_the_last_block():
    arrays = point(lead=(1, 2 * BLOCK + 1))
    weights = rng().standard_normal(side_by_side(gated_read(*arrays)).shape)
    got, want = (
        grad(lambda x, op=op: anp.sum(side_by_side(op(x, *arrays[1:])) * weights))(arrays[0])
        for op in (gated_read, gated_read_ref)
    )
    np.testing.assert_allclose(got, want, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_kernels_keep_the_dtype_and_leave_their_inputs_alone(dtype):
    arrays = tuple(array.astype(dtype) for array in point())
    before = [array.copy() for array in arrays]
    parts, cache = gated_read_fwd(*arrays, eps=1e-6)
    d_parts = Parts(rng().standard_normal(part.shape).astype(dtype) for part in parts)
    kept = [d_part.copy() for d_part in d_parts]
    first, second = gated_read_bwd(d_parts, cache), gated_read_bwd(d_parts, cache)
    for got, again in zip(first, second, strict=True):
        assert got.dtype == dtype
        np.testing.assert_array_equal(got, again)
    for array, copy in zip((*arrays, *d_parts), (*before, *kept), strict=True):
        np.testing.assert_array_equal(array, copy)


def without(index):
    """Forget one output's cotangent."""
    return lambda d, cache: gated_read_bwd(Parts(None if i == index else part for i, part in enumerate(d)), cache)


def no_norm(d, cache):
    streams, weight, scale, product, gate = cache
    return gated_read_bwd(d, (streams, weight, scale, 0 * product, gate))


def first_block_twice(d, cache):
    d_streams, *rest = gated_read_bwd(d, cache)
    return (d_streams * np.where(np.arange(d_streams.shape[1]) < 1, 2, 1)[:, None, None], *rest)


@pytest.mark.parametrize("broken", [without(0), without(1), without(2), no_norm, first_block_twice])
def test_planted_faults_are_caught(broken):
    wrong = define_vjp(gated_read_fwd, broken)
    verdict = check_op(
        lambda *arrays: side_by_side(unpack(wrong(*arrays, eps=1e-6))),
        lambda *arrays: side_by_side(gated_read_ref(*arrays)),
        *point(2, 3),
        rng=rng(),
    )
    assert "is wrong" in str(verdict)


def test_a_second_derivative_names_the_definition():
    streams, weight, bias = point()

    def first(x):
        return anp.sum(grad(lambda y: anp.sum(gated_read(y, weight, bias)[0] ** 2))(x) ** 2)

    with pytest.raises(NotImplementedError, match="differentiate gated_read_ref"):
        grad(first)(streams)


@pytest.mark.parametrize(
    ("weight", "bias"), [((19, 7), (7,)), ((20, 7), (6,)), ((20, 3), (3,))], ids=["rows", "bias", "no room for a gate"]
)
def test_bad_shapes_are_refused_in_words(weight, bias):
    with pytest.raises(ValueError, match=r"gated_read: want weight \(20, M\) and bias \(M,\) with M >= 4"):
        gated_read(np.zeros((2, 3, 4, 5)), np.zeros(weight), np.zeros(bias))
