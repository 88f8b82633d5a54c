"""Tests of hypotheses: without noise those of the textbook; with it, errors as stated; else refused."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2_contingency, mannwhitneyu, ttest_ind

from dpmosaic.common.errors import DataError
from dpmosaic.curator.analysis.estimators.correlation import correlation
from dpmosaic.curator.analysis.estimators.means import difference, mean
from dpmosaic.curator.analysis.hypotheses.tests import run_test
from support.surveys import coded, measured, people, survey

PEOPLE = people(1, missing=0.0)
BETWEEN = ("rural", True, False)


@pytest.fixture(scope="module")
def exact():
    """The real table itself, with all of its triples measured without noise."""
    return survey(coded(PEOPLE), measured(coded(PEOPLE), 1e-3, 0, largest=3))


def groups(column):
    return PEOPLE.loc[PEOPLE.rural, column], PEOPLE.loc[~PEOPLE.rural, column]


def same(found, p_value):
    assert math.log(found.p_value) == pytest.approx(math.log(p_value), rel=0.03, abs=0.03)
    assert found.effective_records == pytest.approx(len(PEOPLE), rel=0.05)


def test_the_t_test_is_that_of_welch(exact):
    one, other = groups("age")
    found = run_test(exact, "t", "age", between=BETWEEN)
    same(found, ttest_ind(one, other, equal_var=False).pvalue)
    assert found.effect == pytest.approx(one.mean() - other.mean(), rel=1e-3)


def test_ranks_are_compared_as_by_mann_and_whitney(exact):
    one, other = groups("age")
    found = run_test(exact, "mann-whitney", "age", between=BETWEEN)
    reference = mannwhitneyu(one, other)
    same(found, reference.pvalue)
    assert found.effect == pytest.approx(reference.statistic / (len(one) * len(other)) - 0.5, abs=1e-3)


def test_independence_is_tested_as_by_pearson(exact):
    found = run_test(exact, "chi-square", "school", "rural")
    reference = chi2_contingency(pd.crosstab(PEOPLE["school"], PEOPLE["rural"]), correction=False)
    assert found.statistic == pytest.approx(reference.statistic, rel=0.01)
    assert found.degrees == reference.dof


@pytest.mark.slow
def test_survival_is_compared_as_by_the_log_rank_test(exact):
    from statsmodels.duration.survfunc import survdiff

    found = run_test(exact, "log-rank", "age", event=("owner", "yes"), between=BETWEEN)
    reference = survdiff(PEOPLE["age"], (PEOPLE["owner"] == "yes").astype(float), PEOPLE["rural"])
    # The variance of the sum is estimated without assuming that hazards are equal.
    assert math.sqrt(found.statistic) == pytest.approx(math.sqrt(reference[0]), rel=0.15)


@pytest.mark.slow
def test_coefficients_are_tested_together(exact, sm):
    found = run_test(exact, "coefficients", "income ~ age + school", term="school")
    design = pd.DataFrame(
        {"one": 1.0, "age": PEOPLE["age"]} | {s: PEOPLE["school"] == s for s in ("low", "high")}
    ).astype(float)
    fit = sm.OLS(PEOPLE["income"], design).fit(cov_type="HC0")
    reference = fit.wald_test(np.eye(4)[2:], use_f=False, scalar=True)
    assert found.statistic == pytest.approx(float(reference.statistic), rel=0.03)
    assert found.degrees == 2


@pytest.mark.slow
def test_the_effect_of_a_treatment_is_that_of_weights_and_of_a_regression(exact, sm):
    treated = PEOPLE["rural"].astype(float)
    weighted = run_test(exact, "effect", "income", between=BETWEEN, adjust=["age", "school"], by="weighting")
    regressed = run_test(exact, "effect", "income", between=BETWEEN, adjust=["age", "school"])
    low, high = ((PEOPLE["school"] == s).astype(float) for s in ("low", "high"))
    full = pd.DataFrame({"one": 1.0, "age": PEOPLE["age"], "low": low, "high": high}).astype(float)
    chance = sm.Logit(treated, full).fit(disp=0).predict()
    one, other = treated / chance, (1 - treated) / (1 - chance)
    means = [(w * PEOPLE["income"]).sum() / w.sum() for w in (one, other)]
    assert weighted.effect == pytest.approx(means[0] - means[1], rel=0.02)
    slope = sm.OLS(PEOPLE["income"], full.assign(t=treated)).fit(cov_type="HC0")
    assert regressed.effect == pytest.approx(slope.params["t"], rel=0.02)
    assert math.sqrt(regressed.statistic) == pytest.approx(abs(slope.tvalues["t"]), rel=0.03)


@pytest.mark.slow
def test_without_an_effect_at_most_six_of_a_hundred_reject():
    """Of 300 tests by noisy releases with a permuted column; fails by chance with probability .01."""
    rejected = made = 0
    for seed in range(100):
        table = people(seed, count=1500, missing=0.0)
        table["rural"] = np.random.default_rng(seed).permutation(table["rural"])
        release = survey(coded(table), measured(coded(table), 20.0, seed))
        for found in (
            run_test(release, "t", "income", between=BETWEEN),
            run_test(release, "mann-whitney", "age", between=BETWEEN),
            run_test(release, "chi-square", "school", "rural"),
        ):
            made += not found.note
            rejected += found.p_value < 0.05
    assert made > 200
    assert rejected <= 0.05 * made + 2.33 * math.sqrt(0.05 * 0.95 * made)


def test_a_test_without_power_is_refused_with_the_reason():
    release = survey(coded(PEOPLE), measured(coded(PEOPLE), 3000.0, 0))
    found = run_test(release, "t", "income", between=BETWEEN)
    assert math.isnan(found.p_value)
    assert "no test" in found.note
    assert "no test" in repr(found)


@pytest.mark.parametrize(
    ("name", "columns", "options", "expected"),
    [
        ("z", ["age"], {}, "expected one of t, mann-whitney"),
        ("t", ["age"], {}, "expected the arguments of its function"),
        ("t", ["age"], {"between": "rural"}, "expected a column and two values"),
        ("t", ["school"], {"between": BETWEEN}, "expected numbers"),
        ("chi-square", ["school", "school"], {}, "expected two columns"),
        ("coefficients", ["income ~ age"], {"term": "school"}, "expected a column of the regression"),
        (
            "effect",
            ["income"],
            {"between": BETWEEN, "adjust": ["age"], "by": "luck"},
            "'regression' or 'weighting'",
        ),
    ],
    ids=["name", "missing", "between", "texts", "twice", "term", "by"],
)
def test_refuses_arguments_that_do_not_fit(exact, name, columns, options, expected):
    with pytest.raises(DataError, match=expected):
        run_test(exact, name, *columns, **options)


def test_a_correlation_is_that_of_the_real_table_and_its_interval_is_that_of_fisher(exact):
    found = correlation(exact, "age", "income")
    expected = PEOPLE["age"].corr(PEOPLE["income"])
    assert found.estimate[0] == pytest.approx(expected, abs=1e-3)
    half = (np.arctanh(found.high[0]) - np.arctanh(found.low[0])) / 2
    assert half == pytest.approx(1.96 / math.sqrt(len(PEOPLE)), rel=0.1)


def test_an_estimate_never_has_an_interval_beyond_its_column():
    release = survey(coded(PEOPLE), measured(coded(PEOPLE), 400.0, 0))
    found = mean(release, "income", by="school")
    given = np.isfinite(found.low)
    assert (found.low[given] >= 0).all()
    assert (found.high[given] <= 7).all()
    assert not ((found.low == 0) & (found.high == 7)).any()
    apart = difference(release, "income", BETWEEN)
    assert not apart.high[0] > 7
