"""Probes on planted features: what is there is read, what is not is not, on points not seen."""

import numpy as np
import pytest

from mhc_np.measure.calibration import kl_bits, probabilities
from mhc_np.measure.probes import explained, read, ridge, softmax_probe, split

N, D, V = 1500, 16, 4


def rng(seed=0):
    return np.random.default_rng(seed)


def planted(noise=0.0, seed=0):
    features = rng(seed).standard_normal((N, D)) * np.geomspace(0.01, 10, D) + 3
    direction = rng(seed + 1).standard_normal(D) / np.geomspace(0.01, 10, D)
    return features, features @ direction + 7 + noise * rng(seed + 2).standard_normal(N)


def test_ridge_reads_a_planted_number_on_points_it_has_not_seen():
    features, target = planted()
    fit, judge = split(N)
    probe = ridge(features[fit], target[fit], penalty=1e-12)
    assert explained(read(probe, features[judge]), target[judge]) > 0.999


def test_noise_reads_as_nothing_on_unseen_points_though_not_on_seen_ones():
    features, target = rng().standard_normal((120, 60)), rng(1).standard_normal(120)
    fit, judge = split(120)
    probe = ridge(features[fit], target[fit], penalty=0.0)
    assert explained(read(probe, features[fit]), target[fit]) > 0.9
    assert explained(read(probe, features[judge]), target[judge]) < 0.05


def test_ridge_is_its_normal_equation_and_survives_dead_features():
    features, target = planted(noise=1.0)
    probe = ridge(features, target, penalty=0.0)
    rest = target - read(probe, features)
    assert abs(rest.mean()) < 1e-8
    assert np.abs((features - features.mean(axis=0)).T @ rest).max() < 1e-6 * N
    dead = np.column_stack([features, np.ones(N), features[:, 0]])
    again = ridge(dead, target, penalty=0.0)
    np.testing.assert_allclose(read(again, dead), read(probe, features), atol=1e-5)


def test_the_penalty_does_not_depend_on_the_scale_and_shrinks_to_the_mean():
    features, target = planted(noise=1.0)
    a, b = (read(ridge(scale * features, target, penalty=0.1), scale * features) for scale in (1.0, 1e4))
    np.testing.assert_allclose(a, b, rtol=1e-6)
    np.testing.assert_allclose(read(ridge(features, target, penalty=1e9), features), target.mean(), rtol=1e-5)


def test_several_targets_are_read_one_by_one():
    features, target = planted(noise=0.5)
    both = np.column_stack([target, -2 * target])
    probe = ridge(features, both)
    np.testing.assert_allclose(read(probe, features)[:, 0], read(ridge(features, target), features), atol=1e-8)


def test_softmax_probe_finds_a_planted_log_linear_belief():
    features = rng().standard_normal((N, D)) * np.geomspace(0.01, 10, D)
    slopes = rng(1).standard_normal((D, V)) / np.geomspace(0.01, 10, D)[:, None]
    belief = probabilities(features @ slopes + 1)
    fit, judge = split(N)
    probe = softmax_probe(features[fit], belief[fit])
    bits = kl_bits(belief[judge], probabilities(read(probe, features[judge]))).mean()
    assert bits < 0.01 * kl_bits(belief, np.full_like(belief, 1 / V)).mean()


def test_softmax_probe_of_noise_falls_back_on_the_prior():
    features, belief = rng().standard_normal((N, D)), rng(1).dirichlet(np.ones(V) * 0.4, N)
    fit, judge = split(N)
    probe = softmax_probe(features[fit], belief[fit])
    bits = kl_bits(belief[judge], probabilities(read(probe, features[judge]))).mean()
    alone = kl_bits(belief[judge], np.broadcast_to(belief[fit].mean(axis=0), belief[judge].shape)).mean()
    assert alone < bits < 1.05 * alone


def test_softmax_probe_is_at_its_minimum():
    """Its mean answer is the mean target, and more iterations change nothing."""
    features, belief = rng().standard_normal((300, 5)), rng(1).dirichlet(np.ones(V), 300)
    probes = [softmax_probe(features, belief, penalty=1e-3, num_iters=count) for count in (300, 1200)]
    answers = [probabilities(read(probe, features)) for probe in probes]
    np.testing.assert_allclose(answers[0], answers[1], atol=1e-7)
    np.testing.assert_allclose(answers[0].mean(axis=0), belief.mean(axis=0), atol=1e-9)


def test_certain_targets_do_not_send_it_to_infinity():
    features = np.linspace(-1, 1, 50)[:, None]
    belief = np.eye(2)[(features[:, 0] > 0).astype(int)]
    probe = softmax_probe(features, belief)
    assert np.isfinite(probe.weights).all()
    assert (probabilities(read(probe, features)).argmax(axis=1) == belief.argmax(axis=1)).all()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ridge(np.ones((3, 2)), np.ones(4)), r"ridge: want features \(N, D\) and N targets"),
        (lambda: softmax_probe(np.ones(3), np.ones((3, 2))), "softmax_probe: want features"),
        (lambda: explained([1.0], [1.0, 2.0]), r"explained: want one shape, got \(1,\) and \(2,\)"),
        (lambda: split(1), "split: want both parts to have sequences, got 0 of 1"),
    ],
)
def test_wrong_input_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
