"""Without a domain, dates that follow others come back after them, as far as they were."""

import warnings

import numpy as np
import pandas as pd
import pytest

import dpmosaic
from dpmosaic.common.data.attributes.dates import GapAttribute

ROWS = 6000
RNG = np.random.default_rng(4)
BEGUN = pd.Timestamp("2019-01-01") + pd.to_timedelta(RNG.integers(0, 1400 * 1440, ROWS), "min")
MINUTES = np.exp(RNG.normal(4.2, 0.6, ROWS)).astype(int) + 5
DAYS = RNG.geometric(0.15, ROWS) - 1


def after(times, number, unit):
    return times + pd.to_timedelta(number, unit)


def released(columns, epsilon=3.0, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return dpmosaic.synthesize(pd.DataFrame(columns), epsilon, seed=2, **options)


def gaps_of(table, first, later, form):
    begun, ended = (pd.to_datetime(table[name], format=form) for name in (first, later))
    return (ended - begun).dt.total_seconds() / 60


@pytest.mark.parametrize("form", ["%d/%m/%Y %H:%M", "%Y-%m-%d %H:%M", "%m/%d/%Y %I:%M %p"])
def test_a_time_that_ends_a_row_comes_after_the_one_that_begins_it(form):
    ended = after(BEGUN, MINUTES, "min")
    columns = {"cost": MINUTES * 3, "left": ended.strftime(form), "came": BEGUN.strftime(form)}
    table = released(columns).table
    gaps = gaps_of(table, "came", "left", form)
    assert (gaps >= 0).all()
    # A tenth of the real quantile is more than what noise moves these.
    assert gaps.quantile([0.1, 0.5, 0.9]).tolist() == pytest.approx(
        np.quantile(MINUTES, [0.1, 0.5, 0.9]).tolist(), rel=0.15
    )
    assert gaps.corr(table["cost"].astype(float), method="spearman") > 0.7


def test_dates_follow_each_other_in_a_chain():
    first = BEGUN.floor("D")
    second, third = after(first, DAYS, "D"), after(first, DAYS + DAYS[::-1], "D")
    columns = {
        name: one.strftime("%Y-%m-%d") for name, one in zip("abc", (third, first, second), strict=True)
    }
    table = released(columns).table
    for pair in ("bc", "ca", "ba"):
        gaps = gaps_of(table, *pair, "%Y-%m-%d") / 1440
        assert (gaps >= 0).all()
    assert (gaps_of(table, *"bc", "%Y-%m-%d") / 1440).mean() == pytest.approx(DAYS.mean(), rel=0.2)


def test_a_time_that_may_be_before_another_one_stays_near_it():
    planned = BEGUN.floor("h")
    columns = {"planned": planned, "held": after(planned, DAYS * 7 - 15, "min")}
    columns = {name: times.strftime("%d.%m.%Y %H:%M") for name, times in columns.items()}
    late = gaps_of(released(columns).table, "planned", "held", "%d.%m.%Y %H:%M")
    expected = np.quantile(DAYS * 7 - 15, [0.1, 0.5, 0.9])
    assert late.quantile([0.1, 0.5, 0.9]).tolist() == pytest.approx(expected.tolist(), abs=8)


def test_columns_of_the_same_dates_stay_the_same():
    day = BEGUN.strftime("%Y-%m-%d")
    table = released({"one": day, "other": day}).table
    assert (table["one"] == table["other"]).mean() > 0.95


def test_dates_that_have_nothing_to_do_with_each_other_follow_none():
    other = pd.Series(RNG.permutation(BEGUN)).dt.strftime("%Y-%m-%d")
    born = (pd.Timestamp("1930-01-01") + pd.to_timedelta(RNG.integers(0, 29_000, ROWS), "D")).strftime(
        "%Y-%m-%d"
    )
    release = released({"one": BEGUN.strftime("%Y-%m-%d"), "other": other, "born": born})
    assert not any(isinstance(one, GapAttribute) for one in release.published.domain.attributes)


def test_a_date_that_may_be_missing_follows_where_it_is_known():
    ended = pd.Series(after(BEGUN, DAYS, "D").strftime("%d.%m.%Y")).where(RNG.random(ROWS) < 0.7, "")
    table = released({"came": BEGUN.strftime("%d.%m.%Y"), "left": ended}).table
    known = table["left"].notna() & (table["left"] != "")
    assert known.mean() == pytest.approx(0.7, abs=0.05)
    assert (gaps_of(table[known], "came", "left", "%d.%m.%Y") >= 0).all()


def test_rows_of_people_end_after_they_begin():
    ended = after(BEGUN, MINUTES, "min")
    columns = {"id": RNG.integers(0, 3000, ROWS), "ward": RNG.choice(["a", "b"], ROWS)}
    columns |= {"came": BEGUN.strftime("%d/%m/%Y %H:%M"), "left": ended.strftime("%d/%m/%Y %H:%M")}
    table = released(columns, 5.0, key="id", order="came").table
    assert (gaps_of(table, "came", "left", "%d/%m/%Y %H:%M") >= 0).all()
