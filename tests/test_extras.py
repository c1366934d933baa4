"""Extras of a saved result: exact answers give exact extras, and a short memory or a good memory is found out."""

import numpy as np
import pytest

from mhc_np.lab import extras
from mhc_np.lab.experiment import first_seen, source
from mhc_np.lab.recipe import Run, Training
from mhc_np.tasks import bijection, hmm

HMM = hmm.Config(num_states=3, num_symbols=3, num_observations=6)


def finish(task, config, answer, seen=None, reads_on=True):
    """Play a finished run whose model is the function ``answer(config, batch)``."""
    held_out = task.sample(config, np.random.default_rng(0), 64)

    def predict(batch):
        sizes = {"num_observations": batch.inputs.shape[1] - config.num_header} if task is hmm else {}
        return np.nan_to_num(answer(type(config)(**{**vars(config), **sizes}), batch), nan=1 / config.num_outputs)

    exact = task.posterior(config, held_out)
    return extras.Finished(config, predict, held_out, exact, predict(held_out), seen, reads_on)


def windowed(config, batch, window=2):
    rows = np.full((*batch.mask.shape, config.num_states), np.nan)
    rows[:, config.num_header :] = hmm.windowed_filter(*hmm.known(config, batch), window)
    return rows


def test_the_exact_filter_has_no_error_at_any_length_and_moves_as_it_should():
    found = extras.of("hmm", finish(hmm, HMM, hmm.posterior), np.random.default_rng(1))
    assert found["lengths"]["num_observations"] == [6, 9, 12, 15]
    np.testing.assert_allclose(found["lengths"]["kl_bits"], 0, atol=1e-12)
    np.testing.assert_allclose(found["memory"]["mismatch"], 0, atol=1e-12)
    assert found["memory"]["exact"][0] > found["memory"]["exact"][3] > 0
    assert np.all(np.diff(found["windows"]["kl_bits"]) <= 0)


def test_the_sequences_shown_are_the_first_ones():
    finished = finish(hmm, HMM, windowed)
    shown = extras.of("hmm", finished, np.random.default_rng(1))["sequences"]
    for name, rows in (("exact", finished.exact), ("model", finished.predicted)):
        rows = rows[: extras.NUM_SHOWN, HMM.num_header :]
        by_hand = -(rows * np.log2(np.where(rows > 0, rows, 1))).sum(axis=-1)
        np.testing.assert_allclose(shown[f"{name}_entropy_bits"], by_hand, atol=1e-12)
    assert np.abs(shown["exact_entropy_bits"] - shown["model_entropy_bits"]).max() > 0.01


def test_a_filter_with_a_window_of_two_is_found_out():
    found = extras.of("hmm", finish(hmm, HMM, windowed), np.random.default_rng(1))
    assert np.argmin(found["windows"]["model_kl_bits"]) == 1  # the second window, w = 2
    assert found["windows"]["model_kl_bits"][1] == 0
    assert found["memory"]["model"][0] > 0
    np.testing.assert_allclose(found["memory"]["model"][1:], 0, atol=1e-12)


def test_a_model_that_cannot_read_on_is_not_asked_to():
    found = extras.of("hmm", finish(hmm, HMM, hmm.posterior, reads_on=False), np.random.default_rng(1))
    assert found["lengths"]["num_observations"] == [6]


def test_one_observation_leaves_nothing_to_exchange():
    found = extras.of("hmm", finish(hmm, hmm.Config(3, 3, num_observations=1), hmm.posterior), np.random.default_rng(1))
    assert found["memory"] == {}
    assert found["lengths"]["num_observations"][0] == 1


def test_a_bijection_known_by_heart_is_found_out():
    config, rng = bijection.Config(num_symbols=4), np.random.default_rng(2)
    seen = bijection.sample(config, rng, 64)

    def by_heart(config, batch):
        exact = bijection.posterior(config, batch)
        if batch is not seen:
            return exact
        return 0.5 * exact + 0.5 * np.eye(4)[batch.targets]

    honest = extras.of("bijection", finish(bijection, config, bijection.posterior, seen), rng)["memorisation"]
    assert honest["remembered_bits"] == honest["fresh_excess_bits"] == 0
    cheat = extras.of("bijection", finish(bijection, config, by_heart, seen), rng)["memorisation"]
    assert cheat["seen_excess_bits"] < -0.3
    assert cheat["remembered_bits"] == -cheat["seen_excess_bits"]


def test_other_tasks_have_no_extras():
    assert extras.of("recall", None, None) == {}


@pytest.mark.parametrize("num_reused", [0, 3])
def test_what_was_seen_first_is_what_training_saw_first(num_reused):
    settings = {"num_symbols": 9}
    run = Run("", "bijection", settings, training=Training(batch_size=5, num_sequences=12, num_reused=num_reused))
    rng = np.random.default_rng(8)
    draw = source(run, rng)
    first = np.concatenate([draw(rng).inputs for _ in range(3)])
    np.testing.assert_array_equal(first_seen(run, 8).inputs, first)


def test_few_secrets_come_back_in_new_orders():
    run = Run("", "bijection", {"num_symbols": 9}, training=Training(batch_size=64, num_reused=3))
    rng = np.random.default_rng(8)
    batch = source(run, rng)(rng)
    pairs = {frozenset(zip(row[0::2], np.append(row[1::2], -1), strict=True)) for row in batch.inputs}
    secrets = {tuple(row.targets[0::2][np.argsort(row.inputs[0::2])]) for row in _rows(batch)}
    assert len(secrets) == 3
    assert len(pairs) > 20
    with pytest.raises(ValueError, match="only bijections can be re-used"):
        Run("", "hmm", training=Training(num_reused=3))


def _rows(batch):
    return [type(batch)(*(part[b] for part in batch)) for b in range(len(batch.inputs))]
