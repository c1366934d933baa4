"""Connections: streams in and out, and the oracles that every scheme must pass."""

import numpy as np
import pytest

from mhc_np.autodiff import check_op
from mhc_np.connections import connect, expand, init, reduce
from mhc_np.connections.streams import expand_ref, reduce_ref

STREAM_COUNTS = [1, 2, 3, 4, 8]


def rng():
    return np.random.default_rng(5)


@pytest.mark.parametrize("n", STREAM_COUNTS)
def test_expand_then_reduce_gives_back_the_hidden_state(n):
    hidden = rng().standard_normal((2, 3, 4))
    np.testing.assert_allclose(reduce(expand(hidden, n)), hidden, rtol=1e-15)
    verdict = check_op(lambda x: expand(x, n), lambda x: expand_ref(x, n), hidden, rng=rng())
    assert verdict, str(verdict)
    verdict = check_op(reduce, reduce_ref, rng().standard_normal((2, 3, n, 4)), rng=rng())
    assert verdict, str(verdict)


@pytest.mark.parametrize("n", STREAM_COUNTS)
def test_residual_adds_the_branch_of_the_mean_to_every_stream(n):
    streams = rng().standard_normal((2, 3, n, 4))
    got = connect(init("residual", n, 4, rng()), "residual", streams, lambda x: 10 * x)
    np.testing.assert_allclose(got, streams + 10 * streams.mean(axis=2, keepdims=True), rtol=1e-14)
