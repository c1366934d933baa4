"""Short runs: what a page trains is what the written-out loop would train, and the seed decides it."""

import numpy as np

from mhc_np.autodiff import flatten
from mhc_np.lab.short_runs import distil
from mhc_np.measure import calibration
from mhc_np.models import ModelConfig, init, logits
from mhc_np.tasks import bijection

TASK = bijection.Config(num_symbols=3)
CONFIG = ModelConfig(TASK.num_ids, TASK.num_outputs, TASK.num_positions, width=16, num_heads=2)
START = init(CONFIG, np.random.default_rng(0))


def error(params):
    """KL to the exact posterior on sequences that no run has seen."""
    batch = bijection.sample(TASK, np.random.default_rng(7), 200)
    answers = calibration.probabilities(logits(params, CONFIG, inputs=batch.inputs))
    return calibration.summary(bijection.posterior(TASK, batch), answers).kl_bits


def same(one, other):
    return all(np.array_equal(a, b) for a, b in zip(flatten(one).values(), flatten(other).values(), strict=True))


def test_it_learns_and_leaves_its_start_alone():
    before = {path: leaf.copy() for path, leaf in flatten(START).items()}
    run = distil(TASK, CONFIG, START, 60, learning_rate=1e-2)
    assert error(run.params) < 0.3 * error(START)
    assert all(np.array_equal(leaf, before[path]) for path, leaf in flatten(START).items())


def test_it_keeps_the_steps_it_is_asked_for():
    run = distil(TASK, CONFIG, START, 4, learning_rate=1e-2, looks=(0, 2, 4))
    assert list(run.kept) == [0, 2, 4]
    assert same(run.kept[0], START)
    assert same(run.kept[4], run.params)
    assert not same(run.kept[2], run.params)


def test_the_seed_decides_and_nothing_else_does():
    one, again, other = (distil(TASK, CONFIG, START, 3, learning_rate=1e-2, seed=seed).params for seed in (0, 0, 1))
    assert same(one, again)
    assert not same(one, other)
