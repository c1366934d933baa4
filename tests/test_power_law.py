"""The power law: exact data give it back, noisy data within its own error bar, and what has no line is refused."""

import numpy as np
import pytest

from mhc_np.measure.power_law import fit_power_law


def test_an_exact_law_is_found_exactly():
    samples = np.array([10.0, 70, 300, 9000])
    law = fit_power_law(samples, 3 * samples**-0.7)
    np.testing.assert_allclose(law, (0.7, 3.0, 0.0), atol=1e-12)


def test_the_error_bar_of_a_noisy_law_covers_the_truth_about_as_often_as_it_says():
    rng, samples = np.random.default_rng(0), np.geomspace(100, 1e5, 12)
    laws = [fit_power_law(samples, samples**-0.5 * np.exp(0.2 * rng.standard_normal(12))) for _ in range(400)]
    within = np.mean([abs(law.exponent - 0.5) < law.spread for law in laws])
    assert 0.58 < within < 0.74  # one standard error: 0.66 with ten degrees of freedom


def test_two_points_have_a_line_but_no_error_bar():
    assert np.isnan(fit_power_law([1, 2], [2.0, 1.0]).spread)


@pytest.mark.parametrize(
    ("samples", "errors", "message"),
    [([1, 1], [1, 2], "two different ones"), ([1, 2], [1, 2, 3], "as many errors"), ([1, 2], [1, 0], "above 0")],
)
def test_what_has_no_line_is_refused(samples, errors, message):
    with pytest.raises(ValueError, match=f"fit_power_law: .*{message}"):
        fit_power_law(samples, errors)
