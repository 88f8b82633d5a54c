import numpy as np
import pytest
from scipy import optimize, stats

from dpmosaic.common.errors import DataError
from dpmosaic.curator.analysis.intervals import fieller, quantile_of, wald


def test_the_quantile_leaves_half_of_the_rest_on_each_side():
    assert quantile_of(0.95) == pytest.approx(stats.norm.isf(0.025))


@pytest.mark.parametrize("level", [0.0, 1.0, 95, float("nan")])
def test_a_level_that_is_no_probability_is_refused(level):
    with pytest.raises(DataError, match="expected a level between 0 and 1"):
        quantile_of(level)


def test_an_interval_of_normal_errors_is_the_estimate_and_its_quantiles():
    low, high = wald(np.array([3.0]), np.array([4.0]), 0.9)
    assert (low[0], high[0]) == pytest.approx(stats.norm(3, 2).interval(0.9))


def test_rounding_below_zero_is_no_variance():
    assert wald(np.array([3.0]), np.array([-1e-20]), 0.9) == (3.0, 3.0)


def test_the_ends_of_a_ratio_are_where_its_test_is_just_not_significant():
    covariances = np.array([[[4.0, 1.0], [1.0, 2.0]]])
    low, high = fieller(np.array([10.0]), np.array([20.0]), covariances, 0.95)

    def excess(ratio):
        direction = np.array([1, -ratio])
        return (10 - 20 * ratio) ** 2 - stats.chi2.isf(0.05, 1) * direction @ covariances[0] @ direction

    assert low[0] == pytest.approx(optimize.brentq(excess, -3, 0.5))
    assert high[0] == pytest.approx(optimize.brentq(excess, 0.5, 3))


def test_a_ratio_over_an_exact_denominator_is_a_scaled_interval():
    low, high = fieller(np.array([10.0]), np.array([20.0]), np.array([[[4.0, 0], [0, 0]]]), 0.95)
    assert (low[0], high[0]) == pytest.approx(stats.norm(0.5, 0.1).interval(0.95))


@pytest.mark.parametrize("denominator", [0.0, 2.7, -20.0])
def test_a_ratio_over_what_may_be_zero_or_is_negative_has_no_interval(denominator):
    # The quantile is 1.96, so that 2.7 with variance 2 may be zero.
    covariances = np.array([[[4.0, 1.0], [1.0, 2.0]]])
    assert np.isnan(fieller(np.array([10.0]), np.array([denominator]), covariances, 0.95)).all()


def test_intervals_of_ratios_cover_as_often_as_they_say():
    # 4,000 normal draws; a level outside of 0.95 +- 4.5 standard errors (0.0155) has a probability of 1e-5.
    rng = np.random.default_rng(1)
    covariance = np.array([[9.0, 3.0], [3.0, 4.0]])
    drawn = rng.multivariate_normal([6, 12], covariance, 4000)
    low, high = fieller(drawn[:, 0], drawn[:, 1], np.broadcast_to(covariance, (4000, 2, 2)), 0.95)
    bounded = ~np.isnan(low)
    assert bounded.mean() > 0.99
    covered = (low <= 0.5) & (0.5 <= high) | ~bounded
    assert abs(covered.mean() - 0.95) < 0.0155
