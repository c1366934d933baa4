"""Read, mix, write: orientation on matrices whose transpose passes every marginal test, loops as oracle, faults."""

import numpy as np
import pytest

from mhc_np.autodiff import check_op, define_vjp
from mhc_np.connections import mix, mix_and_write, mix_and_write_ref, mix_ref, read, read_ref, write, write_ref
from mhc_np.connections.mix_and_write import BLOCK
from mhc_np.connections.mixing import mix_bwd, mix_fwd, read_bwd, read_fwd, write_bwd, write_fwd

LOPSIDED = np.array([[0.9, 0.1, 0.0], [0.0, 0.8, 0.2], [0.1, 0.1, 0.8]])  # doubly stochastic, and so is its transpose


def rng():
    return np.random.default_rng(13)


def arrays():
    draw = rng().standard_normal
    return {"H_pre": draw((2, 3, 4)), "H_post": draw((2, 3, 4)), "H_res": draw((2, 3, 4, 4)), "x": draw((2, 3, 4, 4))}


def test_mixing_the_identity_returns_the_matrix_itself():
    np.testing.assert_array_equal(mix(LOPSIDED, np.eye(3)), LOPSIDED)
    assert np.abs(mix(LOPSIDED.T, np.eye(3)) - LOPSIDED).max() > 0.05


def test_a_permutation_permutes():
    """Rows are new streams: row i has its one where new stream i comes from."""
    streams = np.array([[10.0], [20.0], [30.0]])
    cycle = np.array([[0.0, 0, 1], [1, 0, 0], [0, 1, 0]])
    np.testing.assert_array_equal(mix(cycle, streams), [[30], [10], [20]])


def test_equal_loops_over_tokens_and_streams():
    given, update = arrays(), rng().standard_normal((2, 3, 4))
    for b, t in np.ndindex(2, 3):
        x, H = given["x"][b, t], given["H_res"][b, t]
        hidden = sum(given["H_pre"][b, t, j] * x[j] for j in range(4))
        np.testing.assert_allclose(read(given["H_pre"], given["x"])[b, t], hidden)
        for i in range(4):
            new = sum(H[i, j] * x[j] for j in range(4))
            np.testing.assert_allclose(mix(given["H_res"], given["x"])[b, t, i], new)
            written = x[i] + given["H_post"][b, t, i] * update[b, t]
            np.testing.assert_allclose(write(given["x"], given["H_post"], update)[b, t, i], written)


def test_tokens_need_not_fill_the_last_block():
    draw = rng().standard_normal
    H_res, streams, H_post, update = (draw((1, 2 * BLOCK + 1, *shape)) for shape in ((3, 3), (3, 5), (3,), (5,)))
    got = mix_and_write(H_res, streams, H_post, update)
    np.testing.assert_allclose(got, mix_and_write_ref(H_res, streams, H_post, update), atol=1e-14)


def swapped(x):
    return np.swapaxes(x, -1, -2)


FAULTS = {
    "mix by H instead of its transpose": (mix_fwd, mix_ref, lambda d, c: (d @ swapped(c[1]), c[0] @ d)),
    "weights transposed": (mix_fwd, mix_ref, lambda d, c: (swapped(mix_bwd(d, c)[0]), mix_bwd(d, c)[1])),
    "no gradient to the weights": (mix_fwd, mix_ref, lambda d, c: (0 * c[0], mix_bwd(d, c)[1])),
    "read gives every stream the same": (
        *(read_fwd, read_ref),
        lambda d, c: (read_bwd(d, c)[0], np.broadcast_to(d[..., None, :], c[1].shape) / 4),
    ),
    "write forgets the weights": (
        *(write_fwd, write_ref),
        lambda d, c: (d, write_bwd(d, c)[1], d.sum(axis=-2)),
    ),
    "write cuts the streams": (write_fwd, write_ref, lambda d, c: (0 * d, *write_bwd(d, c)[1:])),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_planted_faults_are_caught(fault):
    forward, reference, broken = FAULTS[fault]
    given = arrays()
    points = {
        read_fwd: (given["H_pre"], given["x"]),
        mix_fwd: (given["H_res"], given["x"]),
        write_fwd: (given["x"], given["H_post"], rng().standard_normal((2, 3, 4))),
    }
    assert check_op(define_vjp(forward, MATCHING[forward]), reference, *points[forward], rng=rng())
    assert not check_op(define_vjp(forward, broken), reference, *points[forward], rng=rng())


MATCHING = {read_fwd: read_bwd, mix_fwd: mix_bwd, write_fwd: write_bwd}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: read(np.zeros((1, 2)), np.zeros((1, 3, 4))), r"read: want H_pre \(1, 3\) .* got \(1, 2\)"),
        (lambda: mix(np.zeros((3, 2)), np.zeros((3, 4))), r"mix: want H_res \(3, 3\) .* got \(3, 2\)"),
        (lambda: mix(np.eye(3), np.zeros((5, 3, 4))), r"mix: want H_res \(5, 3, 3\)"),
        (lambda: write(np.zeros((3, 4)), np.zeros(3), np.zeros(3)), r"want H_post \(3,\) and update \(4,\)"),
    ],
)
def test_bad_shapes_are_refused_in_words(call, message):
    with pytest.raises(ValueError, match=message):
        call()
