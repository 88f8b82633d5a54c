"""Intervals of correlations and coefficients: what is drawn, and what has no interval."""

import numpy as np
import pytest

from dpmosaic.curator.analysis.estimators.coefficients import (
    LINEAR,
    LOGISTIC,
    alone,
    derivative_of,
    draw_steps,
    follow_bends,
)
from dpmosaic.curator.analysis.estimators.correlation import correlation
from dpmosaic.curator.analysis.estimators.draws import SUM_DRAWS, draw_sums, ends_of
from dpmosaic.curator.analysis.estimators.regression import linear, logistic
from support.surveys import coded, measured, people, survey, tilted

PEOPLE = people(1)
REAL = tilted(PEOPLE, 2)
OTHER = coded(PEOPLE)

COVARIANCE = np.array([[4.0, 1.0], [1.0, 0.5]])


def test_draws_have_the_mean_and_the_covariance_of_the_sums_and_are_the_same_again():
    """The mean exactly, by pairs. Variances of 1,000 pairs are within 20 % but for one seed of 10^5."""
    draws = draw_sums(np.array([10.0, -3.0]), COVARIANCE)
    assert draws.mean(axis=0) == pytest.approx([10, -3])
    assert np.cov(draws.T) == pytest.approx(COVARIANCE, rel=0.2)
    assert (draws == draw_sums(np.array([10.0, -3.0]), COVARIANCE)).all()


def test_draws_of_two_streams_are_independent():
    """The correlation of 1,000 pairs is below .15 but for one seed of 10^5; the seed is fixed."""
    one, other = (draw_sums(np.zeros(2), COVARIANCE, stream)[:, 0] for stream in (0, 1))
    assert abs(np.corrcoef(one, other)[0, 1]) < 0.15


def test_sums_without_errors_are_drawn_as_they_are():
    draws = draw_sums(np.array([1.0, 2.0, 3.0]), np.diag([0.0, 0.0, 1.0]))
    assert np.ptp(draws[:, :2], axis=0) == pytest.approx(0)
    assert np.ptp(draws[:, 2]) > 1


def test_ends_hold_the_level():
    low, high = ends_of(np.arange(1001.0)[:, None], 0.9)
    assert (low[0], high[0]) == pytest.approx((50, 950))


def test_with_a_known_derivative_steps_have_the_covariance_of_a_sandwich():
    """Within 20 % of a variance, see above."""
    derivative = np.array([[2.0, 0.5], [0.5, 1.0]])
    steps = draw_steps(COVARIANCE, np.broadcast_to(derivative, (SUM_DRAWS, 2, 2)), derivative)
    inverse = np.linalg.inv(derivative)
    assert np.cov(steps.T) == pytest.approx(inverse @ COVARIANCE @ inverse, abs=0.2)


def test_steps_are_longer_where_the_derivative_is_not_known_and_finite_where_no_table_has_it():
    derivative, errors = np.eye(2), np.random.default_rng(1).normal(0, 0.4, SUM_DRAWS)
    exact = np.broadcast_to(derivative, (SUM_DRAWS, 2, 2))
    unknown = exact + errors[:, None, None] * (1 - derivative)
    known = draw_steps(np.eye(2), exact, derivative)
    assert (draw_steps(np.eye(2), unknown, derivative).std(axis=0) > 1.2 * known.std(axis=0)).all()
    assert draw_steps(np.eye(2), -exact, derivative) == pytest.approx(10 * known)


def test_a_step_of_log_odds_leads_to_the_share_that_its_sum_says():
    """Of a coin that turns with one regressor of -1 and 1, a sum of s / 4 is a share of 1 / 2 + s / 4."""
    steps = np.array([[0.1], [-1.0], [1.5]])
    along, even = np.array([[1.0], [-1.0]]), np.zeros(2)
    bent = follow_bends(steps, along, even, LOGISTIC)
    assert bent == pytest.approx(np.log((0.5 + steps / 4) / (0.5 - steps / 4)), rel=1e-3)
    assert follow_bends(steps, along, even, LINEAR) is steps


def test_a_step_that_no_share_allows_is_twice_as_long_and_no_longer():
    bent = follow_bends(np.array([[3.0], [-40.0]]), np.array([[1.0], [-1.0]]), np.zeros(2), LOGISTIC)
    assert bent == pytest.approx(np.array([[6.0], [-80.0]]), rel=1e-3)


def test_shares_near_one_bend_away_from_a_half_and_back_towards_it():
    """From log odds of two a step up has to be longer than one down of the same sum, by the closed form."""
    bent = follow_bends(np.array([[0.5], [-0.5]]), np.ones((1, 1)), np.full(1, 2.0), LOGISTIC)
    share = 1 / (1 + np.exp(-2))
    up, down = share + 0.5 * share * (1 - share) * np.array([1, -1])
    expected = [np.log(up / (1 - up)) - 2, np.log(down / (1 - down)) - 2]
    assert bent[:, 0] == pytest.approx(expected, rel=1e-3)


def test_a_coefficient_moves_predictors_as_no_other_one_does():
    """In the given units: a unit of its own, and no sum of another coefficient's equation."""
    rng = np.random.default_rng(3)
    regressors = np.column_stack([np.ones(50), rng.normal(size=(50, 2)) @ [[1, 0.8], [0, 0.6]]])
    scale, theta = np.array([[1, -2, 0.5], [0, 0.1, 0], [0, 0, 3.0]]), np.array([0.3, -1.0, 0.7])
    along = alone(regressors, scale, LOGISTIC, theta)
    given = regressors @ np.linalg.inv(scale)
    slopes = LOGISTIC.slope(regressors @ theta)
    sums = given.T @ (slopes[:, None] * along)
    assert sums == pytest.approx(np.diag(sums.diagonal()), abs=1e-9)
    derivative = derivative_of(given, LOGISTIC, scale @ theta)
    assert sums.diagonal() == pytest.approx(1 / np.linalg.inv(derivative).diagonal())


def test_the_interval_of_a_correlation_holds_it_and_is_wider_of_the_population():
    """All pairs have noise of five records; one seed of twenty may fail, so it is fixed."""
    one = survey(OTHER, measured(coded(REAL), 5.0, 1))
    real = REAL[["age", "income"]].dropna().corr().iloc[0, 1]
    table, population = (correlation(one, "age", "income", of=of) for of in ("table", "population"))
    assert -1 < table.low[0] < real < table.high[0] < 1
    assert population.high[0] - population.low[0] > table.high[0] - table.low[0]


def test_a_correlation_of_which_nothing_was_measured_has_no_interval_or_says_so():
    found = correlation(survey(OTHER, measured(coded(REAL), 1.0, 0, largest=1)), "age", "income")
    assert found.notes[0].startswith(("no interval", "not measured"))


def test_an_interval_that_holds_all_slopes_that_a_column_allows_is_none():
    found = linear(survey(OTHER, measured(coded(REAL), 1.0, 0, largest=1)), "income ~ age")
    assert np.isnan(found["age"].low)
    assert "all that the column allows" in found["age"].notes[0]


def test_categories_have_no_interval_where_the_one_they_are_compared_with_lacks_a_response():
    """The real table's most common school has no owners; the release, which is another table, has some."""
    real = people(4)
    real.loc[real["school"] == PEOPLE["school"].mode()[0], "owner"] = "no"
    for seed in (0, 1):
        found = logistic(survey(OTHER, measured(coded(real), 5.0, seed)), "owner ~ school")
        assert np.isnan(found.low[1:]).all()
        assert all(note.startswith("no interval: too few records") for note in found.notes[1:])
