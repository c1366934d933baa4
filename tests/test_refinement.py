"""Belief through depth on made-up beliefs: one that refines, one that overwrites, noise, and a broken layer."""

import numpy as np
import pytest

from mhc_np.measure.calibration import kl_bits
from mhc_np.measure.refinement import by_layer, by_layer_and_position, count_steps, kl_through_depth, prior, prior_bits

B, T, V, L = 40, 6, 4, 5


def rng(seed=0):
    return np.random.default_rng(seed)


def posterior():
    exact = rng().dirichlet(np.ones(V), (B, T))
    exact[:, ::2] = np.nan  # labels at every other position
    return exact


def towards(exact, shares):
    """Beliefs that have gone these shares of the way from uniform to exact."""
    return [share * np.nan_to_num(exact, nan=1 / V) + (1 - share) / V for share in shares]


def test_a_planted_refinement_falls_at_every_step_and_everywhere():
    exact = posterior()
    kl = kl_through_depth(exact, towards(exact, np.linspace(0, 1, L)))
    assert kl.shape == (L, B, T)
    found = count_steps(kl, tolerance=0.0)
    assert found == (1.0, 0.0, 0.0, 1.0, 0.0)
    assert by_layer(kl)[-1] == 0
    positions, means = by_layer_and_position(kl)
    assert positions.tolist() == [1, 3, 5]
    assert means.shape == (L, 3)
    np.testing.assert_allclose(means.mean(axis=1), by_layer(kl))


def test_a_planted_overwriting_is_counted():
    exact = posterior()
    kl = kl_through_depth(exact, towards(exact, [0, 0.5, 0.2, 0.9]))
    found = count_steps(kl, tolerance=1e-9)
    assert (found.fell, found.rose, found.never_rose) == pytest.approx((2 / 3, 1 / 3, 0))
    assert found.largest_rise == pytest.approx(by_layer(kl)[2] - by_layer(kl)[1])


def test_noise_rises_as_often_as_it_falls():
    exact = posterior()
    kl = kl_through_depth(exact, rng(1).dirichlet(np.ones(V), (L, B, T)))
    found = count_steps(kl, tolerance=0.0)
    assert found.rose == pytest.approx(0.5, abs=0.06)
    assert found.never_rose < 0.1  # 1 / 5! for five independent layers


def test_layers_that_change_nothing_stay():
    exact = posterior()
    kl = kl_through_depth(exact, towards(exact, [0.3, 0.3, 0.3]))
    assert count_steps(kl, tolerance=1e-6) == (0.0, 0.0, 1.0, 1.0, 0.0)


def test_a_broken_layer_is_infinitely_wrong_and_does_not_drop_out():
    exact, beliefs = posterior(), towards(posterior(), [0, 0.5, 1])
    beliefs[1][3, 1] = np.nan
    kl = kl_through_depth(exact, beliefs)
    assert by_layer(kl)[1] == np.inf
    found = count_steps(kl, tolerance=0.0)
    assert found.rose > 0
    assert found.largest_rise == np.inf


def test_the_prior_knows_positions_and_nothing_else():
    exact = posterior()
    found = prior(exact)
    assert np.isnan(found[0, ::2]).all()
    np.testing.assert_allclose(found[0, 1::2], exact[:, 1::2].mean(axis=0))
    assert prior_bits(exact) == pytest.approx(kl_bits(exact, found)[:, 1::2].mean())
    assert prior_bits(np.broadcast_to(exact[:1, 1:2], (B, 1, V))) == pytest.approx(0, abs=1e-12)


def test_wrong_input_is_refused():
    with pytest.raises(ValueError, match="count_steps: want two layers or more"):
        count_steps(np.ones((1, 3)), tolerance=0.0)
    with pytest.raises(ValueError, match="count_steps: want two layers or more"):
        count_steps(np.full((3, 3), np.nan), tolerance=0.0)
