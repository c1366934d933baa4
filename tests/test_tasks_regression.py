"""Bayesian regression: the predictive against integration over weights and against a kernel."""

import math

import numpy as np
import pytest

from mhc_np.measure.calibration import expected_calibration_error, summary
from mhc_np.tasks.regression import Config, encode, posterior, predictive, sample


def split(config, batch):
    """Return x (B, N, d) and y (B, N - 1) as a model is shown them."""
    d = config.num_weights
    return batch.inputs[:, 0::2, :d].astype(float), batch.inputs[:, 1::2, d + 1].astype(float)


def normal_cdf(z):
    return np.vectorize(math.erf, otypes=[float])(z / math.sqrt(2)) / 2 + 0.5


def bins_by_integration(config, x, y, grid=241):
    """P(bin of y at the last x): sum over a grid of weights of prior * likelihood * bin mass."""
    d = config.num_weights
    axis = np.linspace(-9, 9, grid) / math.sqrt(d)  # nine prior standard deviations
    w = np.stack(np.meshgrid(*[axis] * d, indexing="ij"), axis=-1).reshape(-1, d)
    log_weight = -d * (w**2).sum(axis=1) / 2
    for xk, yk in zip(x[:-1], y, strict=True):
        log_weight -= (yk - w @ xk) ** 2 / (2 * config.noise**2)
    weight = np.exp(log_weight - log_weight.max())
    keep = weight > 1e-20
    w, weight = w[keep], weight[keep] / weight[keep].sum()
    below = normal_cdf((config.edges - (w @ x[-1])[:, None]) / config.noise)
    ends = np.zeros((len(w), 1)), np.ones((len(w), 1))
    return weight @ np.diff(np.concatenate([ends[0], below, ends[1]], axis=1), axis=1)


@pytest.mark.parametrize("num_weights", [1, 2])
def test_posterior_agrees_with_integration_over_weights(num_weights):
    config = Config(num_weights, num_points=5, noise=0.5, num_bins=7, limit=1.5)
    batch = sample(config, np.random.default_rng(0), 2)
    p, (x, y) = posterior(config, batch), split(config, batch)
    for b in range(2):
        for k in range(5):
            truth = bins_by_integration(config, x[b, : k + 1], y[b, :k])
            np.testing.assert_allclose(p[b, 2 * k], truth, rtol=0, atol=1e-12)


@pytest.mark.parametrize("num_weights", [1, 3, 6])
def test_predictive_agrees_with_the_kernel_view(num_weights):
    """Second derivation: all y are jointly normal with covariance x.x' / d + sigma^2; condition."""
    config = Config(num_weights, num_points=10, noise=0.3)
    x, y = split(config, sample(config, np.random.default_rng(1), 4))
    result = predictive(config, x, y)
    for b in range(4):
        cov = x[b] @ x[b].T / num_weights + config.noise**2 * np.eye(10)
        for k in range(10):
            weights = np.linalg.solve(cov[:k, :k], cov[:k, k])
            np.testing.assert_allclose(result.mean[b, k], weights @ y[b, :k], rtol=0, atol=1e-11)
            variance = cov[k, k] - weights @ cov[:k, k]
            np.testing.assert_allclose(result.variance[b, k], variance, rtol=0, atol=1e-11)


def test_labels_are_the_bins_of_the_y_that_follow():
    config = Config(num_points=6)
    batch = sample(config, np.random.default_rng(2), 200)
    _, y = split(config, batch)
    for label, value in zip(batch.targets[:, 0:-1:2].ravel(), y.ravel(), strict=True):
        low = -np.inf if label == 0 else config.edges[label - 1]
        high = np.inf if label == 15 else config.edges[label]
        assert low - 1e-6 <= value <= high + 1e-6  # y is rounded to float32 in the inputs
    assert set(np.unique(batch.targets[batch.mask])) == set(range(16))


def test_an_edge_belongs_to_the_bin_above_it():
    config = Config(num_weights=1, num_points=3, num_bins=4, limit=1.0)
    batch = encode(config, np.zeros((1, 3, 1)), np.array([[-1.0, 0.0, 1.0]]))
    np.testing.assert_array_equal(config.edges, [-1.0, 0.0, 1.0])
    np.testing.assert_array_equal(batch.targets[batch.mask], [1, 2, 3])


def test_labels_are_draws_from_the_posterior():
    config = Config()
    batch = sample(config, np.random.default_rng(3), 2000)
    p, labels = posterior(config, batch)[batch.mask], batch.targets[batch.mask]
    assert expected_calibration_error(p, labels, 10, events="every") < 0.003
    surprise = -np.log2(np.take_along_axis(p, labels[:, None], axis=1))
    entropy = -(p * np.log2(np.maximum(p, 1e-300))).sum(axis=1)
    assert abs(surprise.mean() - entropy.mean()) < 0.05


def test_doubt_shrinks_to_the_noise():
    config = Config(num_points=200, noise=0.5)
    x, y = split(config, sample(config, np.random.default_rng(4), 50))
    variance = predictive(config, x, y).variance
    assert (variance > 0.25).all()
    assert variance[:, 0].mean() > 1.0
    assert variance[:, -1].mean() < 0.26


def test_far_tails_stay_positive_and_rows_sum_to_one():
    config = Config(num_weights=1, num_points=2, noise=0.1, num_bins=8, limit=2.0)
    batch = encode(config, np.array([[[3.0], [1.0]], [[3.0], [-1.0]]]), np.full((2, 2), 9.0))
    p = posterior(config, batch)[:, 2]  # w is close to 3, so y is far in an open bin
    assert (p > 0).any(axis=-1).all()
    assert (p >= 0).all()
    np.testing.assert_allclose(p.sum(axis=-1), 1.0, rtol=0, atol=1e-15)
    np.testing.assert_allclose(p[0], p[1, ::-1], rtol=1e-12)  # mirrored, down to the last digits
    assert 0 < p[0, 5] < 1e-30


def test_kinds_of_tokens_have_columns_of_their_own():
    config = Config(num_weights=3, num_points=4)
    inputs = sample(config, np.random.default_rng(5), 2).inputs
    assert inputs.shape == (2, 7, 6)
    assert inputs.dtype == np.float32
    assert not inputs[:, 0::2, 4:].any()
    assert not inputs[:, 1::2, :4].any()
    np.testing.assert_array_equal(inputs[:, 0::2, 3], 1.0)
    np.testing.assert_array_equal(inputs[:, 1::2, 5], 1.0)


def test_posterior_reads_inputs_alone_and_nothing_from_the_future():
    config = Config(num_points=6)
    batch = sample(config, np.random.default_rng(6), 3)
    p = posterior(config, batch)
    np.testing.assert_array_equal(p, posterior(config, batch._replace(targets=0 * batch.targets)))
    for t in range(0, 10, 2):
        later = batch.inputs.copy()
        later[:, t + 1 :] = later[::-1, t + 1 :]
        changed = posterior(config, batch._replace(inputs=later))
        np.testing.assert_array_equal(changed[:, t], p[:, t])


def test_a_model_that_ignores_the_examples_is_far_off():
    config = Config()
    p = posterior(config, sample(config, np.random.default_rng(7), 200))
    prior = np.where(np.isnan(p), np.nan, p[:, :1])
    assert summary(p, p) == (0.0, 0.0, 0.0, 0.0)
    assert summary(p, prior).kl_bits > 0.5


def test_same_seed_same_batch():
    config = Config()
    one, again = (sample(config, np.random.default_rng(8), 4) for _ in range(2))
    for a, b in zip(one, again, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"num_bins": 1}, "num_bins >= 2, got 2, 16, 1"),
        ({"num_weights": 0}, "want num_weights, num_points >= 1"),
        ({"noise": 0.0}, r"want noise > 0 and limit > 0, got 0.0, 2.5"),
    ],
)
def test_bad_config(kwargs, message):
    with pytest.raises(ValueError, match=message):
        Config(**kwargs)
