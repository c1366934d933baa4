"""Bijection elimination: the posterior against all V! bijections, and what a batch must hold."""

from itertools import permutations

import numpy as np
import pytest

from mhc_np.measure.calibration import entropy_bits, probabilities, summary
from mhc_np.tasks import TASKS, Batch
from mhc_np.tasks.bijection import Config, draw_bijections, encode, posterior, present, sample


def by_enumeration(num_symbols, tokens):
    """P(partner of the last key in ``tokens``): count the bijections that agree with what was shown."""
    shown = list(zip(tokens[0:-1:2], tokens[1::2], strict=True))
    counts = np.zeros(num_symbols)
    for pi in permutations(range(num_symbols)):
        if all(num_symbols + pi[key] == value for key, value in shown):
            counts[pi[tokens[-1]]] += 1
    return counts / counts.sum()


@pytest.mark.parametrize(("num_symbols", "num_pairs"), [(2, 2), (3, 3), (4, 4), (5, 5), (5, 3)])
def test_posterior_agrees_with_all_bijections(num_symbols, num_pairs):
    config = Config(num_symbols, num_pairs)
    batch = sample(config, np.random.default_rng(0), batch_size=6)
    p = posterior(config, batch)
    for b in range(6):
        for t in range(0, config.num_positions, 2):
            truth = by_enumeration(num_symbols, batch.inputs[b, : t + 1])
            np.testing.assert_allclose(p[b, t], truth, rtol=0, atol=1e-12)


def test_entropy_falls_one_value_at_a_time():
    config = Config(num_symbols=20)
    p = posterior(config, sample(config, np.random.default_rng(1), batch_size=3))
    bits = entropy_bits(p)[:, 0::2]
    np.testing.assert_allclose(bits, [np.log2(20 - np.arange(20))] * 3, rtol=0, atol=1e-12)
    # The papers stop at 19 pairs: log2(20!) / 19 bits on average.
    assert bits[:, :19].mean() == pytest.approx(3.2146, abs=5e-5)


def test_shapes_types_and_ids():
    config = Config(num_symbols=7, num_pairs=4)
    batch = sample(config, np.random.default_rng(2), batch_size=5)
    assert isinstance(batch, Batch)
    assert (config.num_ids, config.num_outputs, config.num_positions) == (14, 7, 7)
    assert batch.inputs.shape == batch.targets.shape == batch.mask.shape == (5, 7)
    assert (batch.inputs.dtype, batch.targets.dtype, batch.mask.dtype) == (int, int, bool)
    keys, values = batch.inputs[:, 0::2], batch.inputs[:, 1::2]
    assert keys.min() >= 0
    assert keys.max() < 7  # keys below V, values from V on: no id is both
    assert values.min() >= 7
    assert values.max() < 14
    assert all(len(set(row)) == 4 for row in keys)
    assert all(len(set(row)) == 3 for row in values)
    p = posterior(config, batch)
    assert (p.shape, p.dtype) == ((5, 7, 7), np.float64)
    np.testing.assert_array_equal(np.isnan(p), np.repeat(~batch.mask[..., None], 7, axis=-1))


def test_a_label_is_the_value_that_follows_and_not_the_input():
    config = Config(num_symbols=6)
    batch = sample(config, np.random.default_rng(3), batch_size=8)
    np.testing.assert_array_equal(batch.mask[0], np.arange(11) % 2 == 0)
    np.testing.assert_array_equal(batch.targets[:, 0:-1:2], batch.inputs[:, 1::2] - 6)
    # The last value is no input. It is the one value left.
    for inputs, targets in zip(batch.inputs, batch.targets, strict=True):
        assert {*range(6, 12)} - {*inputs} == {6 + targets[-1]}


def test_labels_are_draws_from_the_posterior():
    """Every label has positive probability, and the surprise averages to the entropy."""
    config = Config(num_symbols=8)
    batch = sample(config, np.random.default_rng(4), batch_size=500)
    chosen = np.take_along_axis(posterior(config, batch), batch.targets[..., None], axis=-1)
    surprise = -np.log2(chosen[:, 0::2, 0])
    np.testing.assert_allclose(surprise, [np.log2(8 - np.arange(8))] * 500, rtol=0, atol=1e-12)


def test_oracle_logits_have_no_error():
    config = Config(num_symbols=5)
    p = posterior(config, sample(config, np.random.default_rng(5), batch_size=9))
    with np.errstate(divide="ignore"):
        q = probabilities(np.log(np.where(np.isnan(p), 1.0, p)))
    np.testing.assert_allclose(summary(p, q), 0.0, rtol=0, atol=1e-12)


@pytest.mark.parametrize("shift", [-1, 1])
def test_misaligned_oracle_is_caught(shift):
    config = Config(num_symbols=5)
    p = posterior(config, sample(config, np.random.default_rng(5), batch_size=9))
    q = p.copy()
    q[:, 0::2] = np.roll(p[:, 0::2], shift, axis=1)  # the answers of the pair next door
    assert summary(p, q).entropy_mae_bits > 0.1


def test_posterior_reads_nothing_from_the_future():
    config = Config(num_symbols=6)
    batch = sample(config, np.random.default_rng(6), batch_size=4)
    p = posterior(config, batch)
    for t in range(0, config.num_positions, 2):
        later = batch.inputs.copy()
        later[:, t + 1 :: 2] = np.roll(later[:, t + 1 :: 2], 1, axis=1)  # permute later values
        changed = posterior(config, batch._replace(inputs=later, targets=0 * batch.targets))
        np.testing.assert_array_equal(changed[:, t], p[:, t])


def test_keys_and_bijections_are_uniform():
    config = Config(num_symbols=4)
    batch = sample(config, np.random.default_rng(7), batch_size=20_000)
    pairs = 4 * batch.inputs[:, 0] + batch.targets[:, 0]
    share = np.bincount(pairs, minlength=16) / 20_000
    assert np.abs(share - 1 / 16).max() < 5 * np.sqrt(1 / 16 / 20_000)  # five standard errors


def test_the_same_bijections_can_be_shown_again():
    config = Config(num_symbols=9)
    rng = np.random.default_rng(8)
    secret = draw_bijections(config, rng, 3)
    for _ in range(2):
        batch = present(config, rng, secret)
        keys = batch.inputs[:, 0::2]
        np.testing.assert_array_equal(batch.targets[:, 0::2], np.take_along_axis(secret, keys, axis=1))


def test_generator_discipline():
    config = Config(num_symbols=5)
    before = np.random.get_state()[1].copy()  # noqa: NPY002 - it must stay untouched
    one = sample(config, np.random.default_rng(9), batch_size=4)
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002
    again = sample(config, np.random.default_rng(9), batch_size=4)
    other = sample(config, np.random.default_rng(10), batch_size=4)
    np.testing.assert_array_equal(one.inputs, again.inputs)
    assert not np.array_equal(one.inputs, other.inputs)
    rng = np.random.default_rng(9)
    assert not np.array_equal(sample(config, rng, 4).inputs, sample(config, rng, 4).inputs)


def test_the_default_is_the_elimination_task():
    """Twenty symbols, all shown once, no query token: a query would make it retrieval."""
    batch = sample(Config(), np.random.default_rng(11), batch_size=2)
    assert batch.inputs.shape == (2, 39)
    assert all(sorted(row) == list(range(20)) for row in batch.inputs[:, 0::2])


def test_arguments_are_not_changed():
    config = Config(num_symbols=3)
    keys, values = np.array([[2, 0, 1]]), np.array([[1, 2, 0]])
    batch = encode(config, keys, values)
    copies = [array.copy() for array in batch]
    posterior(config, batch)
    np.testing.assert_array_equal(keys, [[2, 0, 1]])
    np.testing.assert_array_equal(values, [[1, 2, 0]])
    for array, copy in zip(batch, copies, strict=True):
        np.testing.assert_array_equal(array, copy)


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"num_symbols": 1}, "want num_symbols >= 2, got 1"),
        ({"num_symbols": 4, "num_pairs": 5}, "want 1 <= num_pairs <= num_symbols = 4, got 5"),
        ({"num_symbols": 4, "num_pairs": 0}, "got 0"),
        ({"num_symbols": 2.5}, "want num_symbols to be a whole number, got 2.5"),
        ({"num_symbols": 4, "num_pairs": True}, "want num_pairs to be a whole number, got True"),
        ({"num_symbols": "4"}, "want num_symbols to be a whole number, got '4'"),
    ],
)
def test_bad_sizes(kwargs, message):
    with pytest.raises(ValueError, match=message):
        Config(**kwargs)


@pytest.mark.parametrize(
    ("tokens", "message"),
    [
        ([[2, 4, 0, 4, 1]], r"ids of values \(odd positions\) in 3 .. 5, none twice in a row, got \[4, 4\] in row 0"),
        ([[2, 4, 0, 5, 1], [2, 4, 0, 1, 1]], r"ids of values .* got \[4, 1\] in row 1"),  # a key in a value's place
        ([[2, 4, 0, 6, 1]], r"ids of values .* got \[4, 6\]"),
        ([[2, 4, 2, 5, 1]], r"ids of keys \(even positions\) in 0 .. 2, .* got \[2, 2, 1\]"),
        ([[2, 4, 0, 5, 3]], r"ids of keys .* got \[2, 0, 3\]"),
        ([[-1, 4, 0, 5, 1]], r"ids of keys .* got \[-1, 0, 1\]"),
        ([[2, 4, 0]], r"want inputs \(B, 5\), got \(1, 3\)"),
        ([2, 4, 0, 5, 1], r"want inputs \(B, 5\), got \(5,\)"),
        ([[2.0, 4.0, 0.0, 5.0, 1.0]], r"as whole numbers .* got float64"),
    ],
)
def test_posterior_of_an_impossible_sequence_is_refused(tokens, message):
    with pytest.raises(ValueError, match=f"bijection: .*{message}"):
        posterior(Config(num_symbols=3), Batch(np.array(tokens), None, None))


def test_posterior_reads_inputs_alone():
    config = Config(num_symbols=4)
    batch = sample(config, np.random.default_rng(13), batch_size=3)
    np.testing.assert_array_equal(posterior(config, Batch(batch.inputs, None, None)), posterior(config, batch))


@pytest.mark.parametrize(
    ("keys", "values", "message"),
    [
        ([[0, 0, 1]], [[0, 1, 2]], r"want keys in 0 .. 2, none twice in a row, got \[0, 0, 1\] in row 0"),
        ([[0, 1, 3]], [[0, 1, 2]], r"want keys .* got \[0, 1, 3\]"),
        ([[0, 1, 2]], [[0, 1, 1]], r"want values .* got \[0, 1, 1\]"),
        ([[0, 1, 2]], [[0, 1, -1]], r"want values .* got \[0, 1, -1\]"),
        ([[0, 1, 2]], [[0, 1]], r"one shape \(B, at least 3\), got \(1, 3\) and \(1, 2\)"),
        ([[0, 1]], [[0, 1]], r"one shape \(B, at least 3\), got \(1, 2\)"),
        ([[0.5, 1, 2]], [[0, 1, 2]], "want keys as whole numbers .* got float64"),
        ([0, 1, 2], [0, 1, 2], r"want keys as whole numbers .* got int64 \(3,\)"),
    ],
)
def test_pairs_that_no_bijection_holds_are_refused(keys, values, message):
    with pytest.raises(ValueError, match=f"bijection: .*{message}"):
        encode(Config(num_symbols=3), keys, values)


@pytest.mark.parametrize("rows", [[[0, 1, 1]], [[0, 1, 3]], [[0, 1]], [[0.0, 1.0, 2.0]]])
def test_only_bijections_are_presented(rows):
    with pytest.raises(ValueError, match="bijection: want bijections"):
        present(Config(num_symbols=3), np.random.default_rng(0), rows)


def test_narrow_integers_do_not_wrap():
    config = Config(num_symbols=100)
    order = np.arange(100, dtype=np.int8)[None]
    assert encode(config, order, order).inputs[0, 1::2].tolist() == list(range(100, 199))


def test_tasks_keep_one_interface():
    for name, task in TASKS.items():
        config = task.Config()
        batch = task.sample(config, np.random.default_rng(12), 2)
        p = task.posterior(config, batch)
        shape = (2, config.num_positions)
        assert batch.inputs.shape[:2] == batch.targets.shape == batch.mask.shape == shape, name
        assert p.shape == (*shape, config.num_outputs), name
        assert p.dtype == np.float64, name
        assert batch.mask.dtype == bool, name
        assert batch.mask.any(), name
        np.testing.assert_array_equal(np.isnan(p).any(axis=-1), ~batch.mask, err_msg=name)
        np.testing.assert_allclose(p[batch.mask].sum(axis=-1), 1.0, rtol=0, atol=1e-12)
        assert batch.targets.min() >= 0
        assert batch.targets.max() < config.num_outputs
        assert not batch.targets[~batch.mask].any()
        if batch.inputs.ndim == 2:
            assert batch.inputs.dtype == np.int64
            assert 0 <= batch.inputs.min() <= batch.inputs.max() < config.num_ids
        else:
            assert batch.inputs.dtype == np.float32
            assert batch.inputs.shape[2] == config.num_features
            assert np.isfinite(batch.inputs).all()
        with pytest.raises(AttributeError):  # frozen
            config.num_outputs = 3
