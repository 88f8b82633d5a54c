"""Fieller's interval, against its definition and by its coverage; differences against the closed form."""

import numpy as np
import pytest

from dpmosaic.curator.analysis.estimators.ratios import Ratio, difference, fieller

Z = 1.959964
COVARIANCE = np.array([[9.0, 2.0], [2.0, 4.0]])


def test_holds_exactly_the_ratios_within_so_many_standard_errors():
    found = fieller(12.0, 8.0, COVARIANCE, Z)
    grid = np.linspace(-20, 20, 400_001)
    variances = 9 - 2 * grid * 2 + grid**2 * 4
    held = grid[(12 - grid * 8) ** 2 <= Z**2 * variances]
    assert found.value == 1.5
    assert (found.low, found.high) == pytest.approx((held.min(), held.max()), abs=2e-4)


def test_contains_the_ratio_as_often_as_stated_at_a_noisy_denominator():
    """20000 draws: outside of 0.943..0.957 with probability 1e-5; the seed is fixed."""
    rng = np.random.default_rng(0)
    draws = rng.multivariate_normal([3.0, 10.0], COVARIANCE, size=20_000)
    found = [fieller(top, bottom, COVARIANCE, Z) for top, bottom in draws]
    bounded = np.array([np.isfinite(one.low) for one in found])
    held = np.array([one.low <= 0.3 <= one.high for one in found])
    assert bounded.mean() > 0.998
    assert 0.943 < held[bounded].mean() < 0.957


def test_is_unbounded_where_the_denominator_may_be_zero():
    assert np.isnan(fieller(1.0, 3.0, COVARIANCE, Z).low)
    assert np.isnan(fieller(1.0, -1.0, COVARIANCE, Z).value)


def test_a_difference_of_symmetric_intervals_has_the_variance_of_the_difference():
    one, other = Ratio(5.0, 5 - 3 * Z, 5 + 3 * Z), Ratio(2.0, 2 - 2 * Z, 2 + 2 * Z)
    found = difference(one, other, 0.25)
    half = Z * np.sqrt(9 + 4 - 2 * 0.25 * 6)
    assert (found.value, found.low, found.high) == pytest.approx((3.0, 3 - half, 3 + half))
