"""Intervals of any function agree with those of estimators in closed form."""

import itertools

import numpy as np
import pandas as pd
import pytest

from dpmosaic.common.errors import DataError
from dpmosaic.curator.analysis.estimators.jackknife import infer
from dpmosaic.curator.analysis.estimators.means import mean, proportion
from dpmosaic.curator.analysis.estimators.regression import linear
from support.surveys import coded, measured, people, survey, tilted

PEOPLE = people(1)
REAL = tilted(PEOPLE, 2)


@pytest.fixture(scope="module")
def release():
    return survey(coded(PEOPLE), measured(coded(REAL), 10.0, 0, largest=3))


def least_squares(frame):
    kept = frame[frame["income"].notna()]
    x = np.column_stack([np.ones(len(kept)), kept["age"], kept["school"] == "high", kept["school"] == "low"])
    return np.linalg.lstsq(x.astype(float), kept["income"].to_numpy(float), rcond=None)[0]


def test_of_a_mean_is_the_mean(release):
    found, other = infer(release, lambda frame: frame["income"].mean()), mean(release, "income")
    assert found.estimate == pytest.approx(other.estimate, abs=0.1 * float(other.std_error[0]))
    assert found.std_error == pytest.approx(other.std_error, rel=0.05)
    assert found.errors.sampling == pytest.approx(other.errors.sampling, rel=0.05)
    assert found.reach == pytest.approx(other.reach, abs=0.02)
    assert found.released == pytest.approx(other.released)


@pytest.mark.slow
def test_of_shares_of_groups_is_proportions(release):
    found = infer(release, lambda frame: (frame["owner"] == "yes").groupby(frame["school"]).mean())
    assert found.names == ("high", "low", "middle")
    order = ["school=high", "school=low", "school=middle"]
    other = proportion(release, "owner", "yes", by="school")
    assert found.estimate == pytest.approx([float(other[name].estimate[0]) for name in order], abs=2e-3)
    half = [float((other[name].high - other[name].low)[0]) for name in order]
    assert found.high - found.low == pytest.approx(half, rel=0.15)


@pytest.mark.slow
def test_of_least_squares_is_the_regression(release):
    found = infer(release, least_squares)
    other = linear(release, "income ~ age + school")
    order = [other.names.index(name) for name in ("intercept", "age", "school=high", "school=low")]
    # A regression also knows its equations where the release has no rows.
    assert found.estimate == pytest.approx(other.estimate[order], abs=0.5 * float(other.std_error.max()))
    share = found.std_error / other.std_error[order]
    assert (share > 0.4).all()
    assert (share < 1.1).all()


def test_of_a_correlation_is_near_that_of_the_real_table_without_noise():
    exact = survey(coded(PEOPLE), measured(coded(REAL), 1.0, 0))
    found = infer(exact, lambda frame: {"r": frame["age"].corr(frame["income"])})
    expected = REAL["age"].corr(REAL["income"])
    assert found.names == ("r",)
    # The function is not linear, so that a step from the release leaves a rest of the second order.
    assert abs(found.estimate[0] - expected) < 0.3 * abs(found.released[0] - expected)
    assert found.errors.sampling[0] == pytest.approx((1 - expected**2) / np.sqrt(len(REAL)), rel=0.15)


def test_of_a_gini_coefficient_is_near_that_of_the_real_table_without_noise():
    def gini(frame):
        x = np.sort(frame["income"].dropna().to_numpy(float))
        return (2 * np.arange(1, len(x) + 1) - len(x) - 1) @ x / (len(x) * x.sum())

    exact = survey(coded(PEOPLE), measured(coded(REAL), 1.0, 0))
    found = infer(exact, gini)
    assert abs(found.estimate[0] - gini(REAL)) < 0.2 * abs(found.released[0] - gini(REAL))
    assert np.isfinite(found.low[0])


def test_finds_the_columns_that_the_function_reads(release):
    """Named or found, they give the same."""
    found = infer(release, lambda frame: frame["age"].mean())
    named = infer(release, lambda frame: frame["age"].mean(), ["age"])
    assert found.estimate == pytest.approx(named.estimate)
    assert found.low == pytest.approx(named.low)


def test_a_function_that_jumps_has_no_interval(release):
    found = infer(release, lambda frame: frame["age"].median(), ["age"])
    assert np.isnan(found.low[0])
    assert "does not change evenly" in found.notes[0]


def test_a_value_that_some_rows_are_needed_for_has_no_interval(release):
    def oldest(frame):
        return {"mean": frame["age"].mean(), "oldest": 0.0 if (frame["age"] == 29).any() else np.nan}

    found = infer(release, oldest, ["age"])
    assert np.isfinite(found["mean"].low[0])
    assert np.isnan(found["oldest"].low[0])
    assert "without some of the rows" in found["oldest"].notes[0]


def test_a_function_of_a_series_keeps_its_names(release):
    found = infer(release, lambda frame: pd.Series({"a": frame["age"].mean(), "b": 2 * frame["age"].mean()}))
    assert found.names == ("a", "b")
    assert 2 * found["a"].estimate == pytest.approx(found["b"].estimate)


COUNTER = itertools.count()


@pytest.mark.parametrize(
    ("fn", "columns", "message"),
    [
        (lambda frame: frame["wage"].mean(), None, "KeyError"),
        (lambda frame: "text", None, "a number, a vector"),
        (lambda frame: np.nan, None, "finite numbers"),
        (lambda frame: next(COUNTER), None, "the same result"),
        (lambda frame: 1.0, None, "depends on none"),
        (lambda frame: frame["age"].mean(), ["wage"], "unknown attribute"),
    ],
)
def test_refuses_functions_without_a_result(release, fn, columns, message):
    with pytest.raises(DataError, match=message):
        infer(release, fn, columns)
