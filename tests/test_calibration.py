"""Calibration: values by hand, the written rules for 0, NaN and bad rows, and planted faults."""

import numpy as np
import pytest

from mhc_np.measure.calibration import (
    entropy_bits,
    entropy_mae_bits,
    entropy_mae_of_means_bits,
    kl_bits,
    probabilities,
    summary,
    total_variation,
)

PAIRED = [kl_bits, total_variation, entropy_mae_bits, entropy_mae_of_means_bits, summary]


def rows(seed, *shape):
    return np.random.default_rng(seed).dirichlet(np.ones(shape[-1]), size=shape[:-1])


def test_entropy_of_a_uniform_row_and_of_certainty():
    for size in (1, 2, 8, 20):
        np.testing.assert_allclose(entropy_bits(np.full(size, 1 / size)), np.log2(size), atol=1e-12)
    certain = entropy_bits([0.0, 1.0, 0.0])
    assert certain == 0.0
    assert not np.signbit(certain)


def test_equal_entropies_can_hide_a_wrong_answer():
    p, q = [[[0.7, 0.2, 0.1]]], [[[0.1, 0.2, 0.7]]]
    result = summary(p, q)
    assert result.entropy_mae_bits < 1e-15
    assert result.entropy_mae_of_means_bits < 1e-15
    # 0.7 log2(7) - 0.1 log2(7) = 0.6 log2(7)
    np.testing.assert_allclose(result.kl_bits, 0.6 * np.log2(7), rtol=0, atol=1e-12)
    assert round(result.kl_bits, 4) == 1.6844
    np.testing.assert_allclose(result.total_variation, 0.6, rtol=0, atol=1e-12)


def test_means_taken_first_hide_errors_of_opposite_sign():
    """Entropies (0, 2) against (1, 1): no error by means, one bit on every sample."""
    two_bits, one_bit, none = [0.25] * 4, [0.5, 0.5, 0, 0], [1.0, 0, 0, 0]
    q = np.array([[none], [two_bits]])
    p = np.array([[one_bit], [one_bit]])
    assert entropy_mae_of_means_bits(p, q) == 0.0
    assert entropy_mae_bits(p, q) == 1.0


def test_means_first_never_exceeds_the_per_sample_error():
    p, q = rows(0, 6, 5, 4), rows(1, 6, 5, 4)
    assert 0 < entropy_mae_of_means_bits(p, q) < entropy_mae_bits(p, q)


def test_means_first_averages_over_samples_and_not_positions():
    p, q = rows(2, 7, 3, 4), rows(3, 7, 3, 4)
    gaps = [np.mean(entropy_bits(q[:, t])) - np.mean(entropy_bits(p[:, t])) for t in range(3)]
    np.testing.assert_allclose(entropy_mae_of_means_bits(p, q), np.abs(gaps).mean(), atol=1e-12)


def test_a_distribution_has_no_distance_from_itself():
    p = rows(4, 5, 6, 7)
    p[0, 0] = [1, 0, 0, 0, 0, 0, 0]
    np.testing.assert_array_equal(kl_bits(p, p), 0.0)
    np.testing.assert_array_equal(total_variation(p, p), 0.0)
    assert summary(p, p) == (0.0, 0.0, 0.0, 0.0)


def test_kl_agrees_with_the_sum_written_out():
    p, q = rows(5, 50, 4), rows(6, 50, 4)
    by_hand = [sum(a * np.log2(a / b) for a, b in zip(x, y, strict=True)) for x, y in zip(p, q, strict=True)]
    np.testing.assert_allclose(kl_bits(p, q), by_hand, rtol=0, atol=1e-12)
    assert (kl_bits(p, q) > 0).all()
    assert not np.allclose(kl_bits(p, q), kl_bits(q, p))


def test_pinsker_bounds_total_variation_by_kl():
    p, q = rows(7, 200, 5), rows(8, 200, 5)
    assert (total_variation(p, q) <= np.sqrt(kl_bits(p, q) * np.log(2) / 2)).all()


def test_zero_in_q_is_infinite_only_where_p_is_positive():
    np.testing.assert_array_equal(
        kl_bits([[0.5, 0.5, 0.0], [0.5, 0.5, 0.0]], [[1.0, 0.0, 0.0], [0.5, 0.5, 0.0]]), [np.inf, 0.0]
    )
    assert summary([[[0.5, 0.5]]], [[[1.0, 0.0]]]).kl_bits == np.inf


def test_tiny_probabilities_do_not_overflow():
    tiny = 1e-310
    np.testing.assert_allclose(kl_bits([1.0, 0.0], [tiny, 1.0]), -np.log2(tiny), rtol=1e-12)


@pytest.mark.parametrize("measure", PAIRED)
def test_rows_without_posterior_are_left_out(measure):
    p, q = rows(9, 4, 6, 3), rows(10, 4, 6, 3)
    missing = p.copy()
    missing[:, 1::2] = np.nan
    if measure in (kl_bits, total_variation):
        out = measure(missing, q)
        assert np.isnan(out[:, 1::2]).all()
        np.testing.assert_array_equal(out[:, 0::2], measure(p, q)[:, 0::2])
    else:
        np.testing.assert_allclose(measure(missing, q), measure(p[:, 0::2], q[:, 0::2]), rtol=1e-14)
        broken = q.copy()
        broken[:, 1::2] = np.nan  # what the model says there does not matter
        np.testing.assert_allclose(measure(missing, broken), measure(missing, q), rtol=1e-14)


def test_rows_left_out_in_some_samples_only():
    """Position 0 has one sample and a gap of 1 bit, position 1 has two samples and no gap."""
    p = np.array([[[0.5, 0.5], [0.5, 0.5]], [[np.nan, np.nan], [0.5, 0.5]]])
    q = np.array([[[1.0, 0.0], [0.5, 0.5]], [[0.5, 0.5], [0.5, 0.5]]])
    assert entropy_mae_bits(p, q) == pytest.approx(1 / 3, abs=1e-15)
    assert entropy_mae_of_means_bits(p, q) == 0.5


def test_a_broken_answer_breaks_the_mean():
    p, q = rows(11, 4, 3), rows(12, 4, 3)
    p[0] = [1.0, 0.0, 0.0]
    q[0, 1] = np.nan  # even where p is 0
    assert np.isnan(kl_bits(p, q)[0])
    assert np.isfinite(kl_bits(p, q)[1:]).all()
    assert np.isnan(summary(p, q)).all()


def test_softmax_of_anything():
    assert probabilities(np.float32([1e4, 0.0, -1e4])).tolist() == [1.0, 0.0, 0.0]
    assert probabilities(np.float32([0, 0])).dtype == np.float64
    np.testing.assert_array_equal(probabilities([-np.inf, 3.0]), [0.0, 1.0])
    for bad in ([np.nan, 0.0], [np.inf, 0.0], [-np.inf, -np.inf]):
        assert np.isnan(probabilities(bad)).all()
    np.testing.assert_array_equal(probabilities([1e4, 1e4 + 1]), probabilities([0.0, 1.0]))
    np.testing.assert_allclose(probabilities(np.log(rows(13, 3, 4))), rows(13, 3, 4), atol=1e-14)


def test_float32_probabilities_are_welcome():
    p = rows(14, 10, 50)
    q = p.astype(np.float32)
    assert entropy_bits(q).dtype == np.float64
    assert summary(p, q).entropy_mae_bits < 1e-5


@pytest.mark.parametrize("measure", PAIRED)
def test_bad_rows_are_refused(measure):
    good = np.full((2, 2), 0.5)
    with pytest.raises(ValueError, match="sum to 1, got one off by 0.2; turn logits into prob"):
        measure(good, [[0.5, 0.5], [0.7, 0.5]])
    with pytest.raises(ValueError, match="want probabilities >= 0, got -0.5"):
        measure(good, [[0.5, 0.5], [1.5, -0.5]])
    with pytest.raises(ValueError, match=r"of one shape, got \(2, 2\) and \(2,\)"):
        measure(good, good[0])
    with pytest.raises(ValueError, match="each row of p all numbers or all NaN"):
        measure([[0.5, np.nan], [0.5, 0.5]], good)


@pytest.mark.parametrize("measure", [entropy_mae_bits, entropy_mae_of_means_bits, summary])
def test_nothing_to_average(measure):
    with pytest.raises(ValueError, match="want at least one row with a posterior"):
        measure(np.full((2, 3, 2), np.nan), np.full((2, 3, 2), 0.5))


def test_a_number_is_no_distribution():
    with pytest.raises(ValueError, match=r"want probabilities of shape \(..., V\)"):
        entropy_bits(1.0)
