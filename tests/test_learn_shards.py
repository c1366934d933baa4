"""Shards: the weighted mean of parts is the whole, whatever the threads do."""

import threading
from typing import NamedTuple

import autograd.numpy as anp
import numpy as np
import pytest

from mhc_np.autodiff import flatten, value_and_grad
from mhc_np.learn.shards import num_supervised, sharded, split


class Batch(NamedTuple):
    inputs: np.ndarray
    targets: np.ndarray
    mask: np.ndarray


def make(seed=0, size=7, dtype=np.float64):
    """A batch whose sequences are supervised at very different numbers of positions."""
    rng = np.random.default_rng(seed)
    mask = rng.random((size, 5)) < np.linspace(0.1, 0.9, size)[:, None]
    mask[-1] = True
    batch = Batch(rng.standard_normal((size, 5, 3)).astype(dtype), rng.standard_normal((size, 5)).astype(dtype), mask)
    return {"W_a": rng.standard_normal((3, 4)).astype(dtype), "W_b": rng.standard_normal(4).astype(dtype)}, batch


def loss(params, batch):
    predicted = anp.tanh(batch.inputs @ params["W_a"]) @ params["W_b"]
    return anp.sum(batch.mask * (predicted - batch.targets) ** 2) / np.sum(batch.mask, dtype=batch.inputs.dtype)


def assert_close(got, wanted, tolerance):
    np.testing.assert_allclose(got[0], wanted[0], rtol=tolerance)
    assert got[1].keys() == wanted[1].keys()
    for path, leaf in flatten(wanted[1]).items():
        assert got[1][path].dtype == leaf.dtype
        np.testing.assert_allclose(got[1][path], leaf, rtol=0, atol=tolerance * np.max(np.abs(leaf)), err_msg=path)


@pytest.mark.parametrize("num_shards", [1, 2, 3, 7, 20])
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-13), (np.float32, 1e-5)])
def test_shards_give_the_whole_gradient(num_shards, dtype, tolerance):
    params, batch = make(dtype=dtype)
    compute = value_and_grad(loss)
    assert_close(sharded(compute, num_shards)(params, batch), compute(params, batch), tolerance)


def test_weighing_by_sequences_would_be_wrong():
    params, batch = make()
    compute = value_and_grad(loss)
    unweighted = sharded(compute, 2, weight=lambda part: len(part.mask))
    with pytest.raises(AssertionError):
        assert_close(unweighted(params, batch), compute(params, batch), 1e-3)


def test_a_part_without_labels_is_left_out():
    params, batch = make()
    batch.mask[:4] = False
    compute = value_and_grad(loss)
    with np.errstate(all="raise"):
        assert_close(sharded(compute, 7)(params, batch), compute(params, batch), 1e-13)
    batch.mask[:] = False
    with pytest.raises(ValueError, match="want a batch with supervised positions"):
        sharded(compute, 2)(params, batch)


def test_the_same_bits_every_time_from_many_threads():
    """autograd counts its open traces in one global: a stress test that our tape keeps the threads apart."""
    params, batch = make(size=16)
    both = sharded(value_and_grad(loss), 4)
    wanted = both(params, batch)
    wrong = []

    def hammer():
        for _ in range(150):
            value, gradient = both(params, batch)
            if value != wanted[0] or any(np.any(gradient[path] != wanted[1][path]) for path in gradient):
                wrong.append(value)

    threads = [threading.Thread(target=hammer) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_the_number_of_workers_changes_no_bit():
    params, batch = make(dtype=np.float32)
    compute = value_and_grad(loss)
    wanted = sharded(compute, 4, num_workers=1)(params, batch)
    for num_workers in (2, 3, 4):
        value, gradient = sharded(compute, 4, num_workers)(params, batch)
        assert value == wanted[0]
        for path, leaf in wanted[1].items():
            np.testing.assert_array_equal(gradient[path], leaf)


def test_parts_do_run_at_once():
    meeting = threading.Barrier(2, timeout=20)

    def compute(params, batch):
        meeting.wait()  # passes only if both parts are there together
        return 1.0, {"gain": np.ones(1)}

    assert sharded(compute, 2)({}, np.zeros((4, 2)))[0] == 1.0


def test_errors_and_error_settings_reach_the_caller():
    def overflow(params, batch):
        return float(np.exp(batch * 1e4).max()), {"gain": np.ones(1)}

    both = sharded(overflow, 2)
    with np.errstate(over="ignore"):
        assert both({}, np.ones(4))[0] == np.inf
    with np.errstate(over="raise"), pytest.raises(FloatingPointError, match="overflow"):
        both({}, np.ones(4))


def test_one_array_for_two_parameters_is_not_scaled_twice():
    def compute(params, batch):
        g = np.full(2, float(len(batch)))
        return 0.0, {"a": g, "b": g}

    _, gradient = sharded(compute, 2)({}, np.zeros((4, 1)))
    np.testing.assert_array_equal(gradient["a"], [2.0, 2.0])
    np.testing.assert_array_equal(gradient["b"], [2.0, 2.0])


def test_split_keeps_every_sequence_once_and_in_order():
    batch = ({"inputs": np.arange(7)}, Batch(np.arange(14).reshape(7, 2), np.arange(7), None))
    parts = split(batch, 3)
    assert [len(part[0]["inputs"]) for part in parts] == [2, 2, 3]
    np.testing.assert_array_equal(np.concatenate([part[1].inputs for part in parts]), batch[1].inputs)
    assert type(parts[0][1]) is Batch
    assert parts[0][1].mask is None


def test_split_refuses_ragged_batches():
    with pytest.raises(ValueError, match="want one length of axis 0 in the whole batch, got .3, 4."):
        split((np.zeros(3), np.zeros(4)), 2)
    with pytest.raises(ValueError, match="want num_shards and num_workers >= 1, got 0 and 0"):
        sharded(loss, 0)
    with pytest.raises(ValueError, match="want num_shards and num_workers >= 1, got 2 and 0"):
        sharded(loss, 2, num_workers=0)


def test_the_mask_is_found_inside():
    _, batch = make()
    for nested in (batch, (batch, np.zeros((7, 5, 2))), {"a": np.zeros(7), "mask": batch.mask}):
        assert num_supervised(nested) == np.sum(batch.mask)
    assert num_supervised((np.zeros((7, 2)), np.zeros(7))) == 7
