"""HMM headers: what each variant holds, that it can be read back, and that token kinds are disjoint."""

import numpy as np
import pytest

from mhc_np.tasks.hmm_header import HEADERS, blocks, read, soft_log, write


def parameters(S, V, B=3, K=4, seed=0):
    rng = np.random.default_rng(seed)
    transition = rng.dirichlet(np.ones(S), size=(B, S))
    emission = rng.dirichlet(np.ones(V), size=(B, S))
    return transition, emission, rng.integers(0, V, size=(B, K))


SIZES = [(2, 2), (5, 5), (3, 4), (4, 2)]
SQUARE = [(S, V) for S, V in SIZES if S == V]


@pytest.mark.parametrize(
    ("name", "S", "V"),
    [(name, *size) for name in HEADERS for size in (SQUARE if name == "mix" else SIZES)],
)
def test_what_is_written_can_be_read(name, S, V):
    transition, emission, observations = parameters(S, V)
    inputs = write(HEADERS[name], transition, emission, observations)
    layout = blocks(HEADERS[name], S, V)
    assert inputs.shape == (3, layout.num_header + 4, layout.observation.stop)
    assert inputs.dtype == np.float32
    A, E, x = read(HEADERS[name], S, V, inputs)
    assert A.dtype == E.dtype == np.float64
    np.testing.assert_allclose(A, transition, rtol=0, atol=1e-7)
    np.testing.assert_allclose(E, emission, rtol=0, atol=1e-7)
    np.testing.assert_allclose(A.sum(axis=-1), 1.0, rtol=0, atol=1e-15)
    np.testing.assert_array_equal(x, observations)


@pytest.mark.parametrize("name", HEADERS)
def test_kinds_of_tokens_have_columns_of_their_own(name):
    """Then one linear map on all features is one linear map for each kind of token."""
    header = HEADERS[name]
    inputs = write(header, *parameters(5, 5))
    layout = blocks(header, 5, 5)
    head, tail = inputs[:, : layout.num_header], inputs[:, layout.num_header :]
    assert not head[..., layout.observation].any()
    assert not tail[..., : layout.observation.start].any()
    np.testing.assert_array_equal(tail[..., layout.observation].sum(axis=-1), 1.0)
    if not header.joined:
        assert not head[:, :5, layout.emission].any()
        assert not head[:, 5:, layout.transition].any()
        # Every token carries a constant in its block, so that a bias per kind can be learned.
        names = 5 if header.names else 1
        for tokens, block in ((head[:, :5], layout.transition), (head[:, 5:], layout.emission)):
            np.testing.assert_array_equal(tokens[..., block][..., -names:].sum(axis=-1), 1.0)


def test_the_mix_header_by_hand():
    """Token i: row i of A, its logs, the name of i, COLUMN i of E, its logs."""
    A = np.array([[[1.0, 0.0], [0.25, 0.75]]])
    E = np.array([[[0.5, 0.5], [0.1, 0.9]]])
    inputs = write(HEADERS["mix"], A, E, np.array([[1]]))
    log = soft_log
    expected = [
        [1, 0, log(1), log(0), 1, 0, 0.5, 0.1, log(0.5), log(0.1), 0, 0],
        [0.25, 0.75, log(0.25), log(0.75), 0, 1, 0.5, 0.9, log(0.5), log(0.9), 0, 0],
        [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1],
    ]
    np.testing.assert_array_equal(inputs[0], np.array(expected, dtype=np.float32))


def test_the_rows_header_by_hand():
    """Four tokens of plain rows, each with the constant of its kind."""
    A = np.array([[[1.0, 0.0], [0.25, 0.75]]])
    E = np.array([[[0.5, 0.5], [0.125, 0.875]]])
    inputs = write(HEADERS["rows"], A, E, np.array([[0]]))
    expected = [
        [1, 0, 1, 0, 0, 0, 0, 0],
        [0.25, 0.75, 1, 0, 0, 0, 0, 0],
        [0, 0, 0, 0.5, 0.5, 1, 0, 0],
        [0, 0, 0, 0.125, 0.875, 1, 0, 0],
        [0, 0, 0, 0, 0, 0, 1, 0],
    ]
    np.testing.assert_array_equal(inputs[0], expected)


def test_each_header_changes_one_thing():
    ladder = list(HEADERS.values())
    for before, after in zip(ladder[:-1], ladder[1:], strict=True):
        assert sum(a != b for a, b in zip(before, after, strict=True)) == 1


def test_joining_rows_with_columns_needs_a_square():
    with pytest.raises(ValueError, match="wants num_symbols = num_states, got 4 and 3.*log_columns"):
        write(HEADERS["mix"], *parameters(3, 4))
