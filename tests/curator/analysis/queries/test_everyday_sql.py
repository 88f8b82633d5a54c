"""SQL of every day against DuckDB on the rows, where noise is small; and random queries."""

import datetime

import duckdb
import numpy as np
import pandas as pd
import pytest

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import encode_table
from dpmosaic.common.errors import DataError
from dpmosaic.curator.analysis.queries.answering import answer
from support.small_release import small_release

pytestmark = pytest.mark.slow

ROWS = 2000
DOMAIN = Domain.from_json(
    {
        "town": ["Berlin", "Bern", "Rome", "Rostock", ""],
        "day": {"type": "date", "min": "2019-12-20", "max": "2020-01-16", "bins": 28, "nullable": True},
        "at": {"type": "timestamp", "min": "2020-02-28", "max": "2020-03-01T23:59:59", "bins": 72},
        "age": {"type": "numeric", "min": 30, "max": 35, "bins": 6, "nullable": True},
        "member": {"type": "boolean"},
    }
)


def columns():
    rng = np.random.default_rng(5)
    base = rng.random(ROWS)
    towns = np.array(["Berlin", "Bern", "Rome", "Rostock", None], dtype=object)
    days = (np.datetime64("2019-12-20") + (base * 28).astype(int)).astype("datetime64[us]")
    hours = np.datetime64("2020-02-28", "us") + rng.integers(0, 72, ROWS) * np.timedelta64(1, "h")
    return {
        "town": towns[np.clip((base * 5 + rng.normal(0, 1, ROWS)).astype(int), 0, 4)],
        "day": np.where(rng.random(ROWS) < 0.1, np.datetime64("NaT"), days),
        "at": hours,
        "age": np.where(rng.random(ROWS) < 0.1, None, (30 + base * 6).astype(int)).astype(object),
        "member": base > rng.random(ROWS),
    }


RELEASE = small_release(encode_table(DOMAIN, columns()), orders=(1, 2))

FRAME = pd.DataFrame(columns()).astype({"age": "Int64", "member": "boolean"})


@pytest.fixture(scope="module")
def database():
    with duckdb.connect() as connection:
        connection.register("rows", FRAME)
        connection.sql("CREATE TABLE release AS SELECT * REPLACE (CAST(day AS DATE) AS day) FROM rows")
        yield connection


def estimates_of(query):
    return [tuple(getattr(cell, "value", cell) for cell in cells) for cells in answer(RELEASE, query).cells()]


def same(one, other):
    if isinstance(one, float):
        # A sum over no rows is 0 here, and NULL in SQL.
        if other is None:
            return np.isnan(one) or one == 0
        return one == pytest.approx(float(other), rel=1e-3, abs=0.05)
    return one == (other if not isinstance(other, datetime.date) else str(other))


def check(database, query, in_order):
    found, expected = estimates_of(query), database.sql(query).fetchall()
    if not in_order:
        found, expected = sorted(found, key=str), sorted(expected, key=str)
    assert len(found) == len(expected), (query, found, expected)
    for row, other in zip(found, expected, strict=True):
        assert all(map(same, row, other)), (query, row, other)


QUERIES = [
    "SELECT COUNT(*) AS n FROM release WHERE MONTH(day) = 12",
    "SELECT COUNT(*) AS n FROM release WHERE YEAR(day) >= 2020 AND DAY(day) BETWEEN 3 AND 20",
    "SELECT COUNT(*) AS n FROM release WHERE NOT QUARTER(day) IN (1, 4)",
    "SELECT COUNT(*) AS n FROM release WHERE EXTRACT(isodow FROM day) > 5 OR day IS NULL",
    "SELECT COUNT(*) AS n FROM release WHERE HOUR(release.at) < 12 AND date_part('month', release.at) <> 2",
    "SELECT MONTH(day) AS m, COUNT(*) AS n, AVG(age) AS a FROM release GROUP BY MONTH(day)",
    "SELECT YEAR(day), MONTH(day) AS m, town, COUNT(*) AS n FROM release GROUP BY 1, m, town",
    "SELECT YEAR(day) AS y, COUNT(*) AS n FROM release WHERE day < '2020-01-10' GROUP BY y",
    "SELECT town, COUNT(*) AS n FROM release WHERE town LIKE 'Ro%' GROUP BY town",
    "SELECT COUNT(*) AS n FROM release WHERE town NOT LIKE 'Ber__n' AND NOT town ILIKE '%ROM_'",
    "SELECT town, COUNT(DISTINCT age) AS n FROM release GROUP BY town",
    "SELECT COUNT(DISTINCT town) AS n, COUNT(DISTINCT day) AS d FROM release WHERE age = 34",
    "SELECT town, STDDEV(age) AS s, VARIANCE(age) AS v FROM release GROUP BY town",
    "SELECT VAR_SAMP(age) AS v, STDDEV_SAMP(age) FILTER (WHERE member) AS s FROM release",
    "SELECT SUM(CASE WHEN age > 33 THEN 1 ELSE 0 END) AS n FROM release",
    "SELECT AVG(CASE WHEN age > 33 THEN 1 ELSE 0 END) AS s, AVG(IF(age > 33, 1, 0)) AS t FROM release",
    "SELECT AVG(CASE WHEN town = 'Rome' THEN 1 WHEN town = 'Bern' THEN 0 END) AS s FROM release",
    "SELECT COUNT(CASE WHEN age > 33 THEN 1 END) AS n, COUNT(CASE WHEN member THEN age END) AS m "
    "FROM release",
    "SELECT AVG(CASE WHEN member THEN age END) AS a, SUM(CASE WHEN member THEN age ELSE 0 END) AS s "
    "FROM release",
    "SELECT CASE WHEN age < 31 THEN 'young' WHEN age < 34 THEN 'middle' ELSE 'old' END AS band, COUNT(*) "
    "AS n FROM release GROUP BY band",
    "SELECT CASE town WHEN 'Rome' THEN 1 END AS rome, member, COUNT(*) AS n FROM release GROUP BY ALL",
    "SELECT age < 33 AS young, COUNT(*) AS n FROM release GROUP BY young",
]

SORTED = [
    "SELECT town, COUNT(*) AS n FROM release GROUP BY town ORDER BY n DESC LIMIT 2",
    "SELECT town, COUNT(*) AS n FROM release GROUP BY town ORDER BY town NULLS FIRST",
    "SELECT age, COUNT(*) AS n FROM release GROUP BY age ORDER BY age DESC LIMIT 3 OFFSET 1",
    "SELECT MONTH(day) AS m, COUNT(*) AS n FROM release GROUP BY m ORDER BY MONTH(day)",
    "SELECT member, YEAR(day) AS y, COUNT(*) AS n FROM release GROUP BY ALL ORDER BY 2 DESC, member",
    "SELECT town, AVG(age) AS a FROM release GROUP BY town ORDER BY AVG(age), 1",
    "SELECT age > 33 AS old, COUNT(*) AS n FROM release GROUP BY age > 33 ORDER BY old DESC NULLS LAST",
    "SELECT COUNT(*) AS n FROM release GROUP BY town ORDER BY town",
]


@pytest.mark.parametrize("query", QUERIES)
def test_an_answer_is_that_of_duckdb(database, query):
    check(database, query, in_order=False)


@pytest.mark.parametrize("query", SORTED)
def test_rows_come_in_the_order_that_was_asked(database, query):
    check(database, query, in_order=True)


CONDITIONS = [
    "town = 'Rome'",
    "town IN ('Bern', 'Berlin')",
    "town LIKE 'R%'",
    "town ILIKE '_er%'",
    "town IS NULL",
    "age > 32",
    "age BETWEEN 31 AND 34",
    "age = 33",
    "member",
    "member IS NOT TRUE",
    "MONTH(day) IN (1, 2)",
    "DAY(day) < 15",
    "YEAR(day) = 2019",
    "EXTRACT(isodow FROM day) >= 4",
    "day >= DATE '2020-01-01'",
]
AGGREGATES = [
    "COUNT(*)",
    "COUNT(age)",
    "COUNT(DISTINCT town)",
    "SUM(age)",
    "AVG(age)",
    "STDDEV(age)",
    "COUNT(*) FILTER (WHERE {})",
    "SUM(CASE WHEN {} THEN 1 ELSE 0 END)",
    "AVG(CASE WHEN {} THEN age END)",
]
KEYS = [
    "town",
    "member",
    "age",
    "MONTH(day)",
    "YEAR(day)",
    "{}",
    "CASE WHEN {} THEN 'a' WHEN {} THEN 'b' END",
]


def random_query(rng):
    def condition(depth=2):
        if depth == 0 or rng.random() < 0.5:
            return rng.choice(CONDITIONS)
        if rng.random() < 0.3:
            return f"NOT ({condition(depth - 1)})"
        return f"({condition(depth - 1)} {rng.choice(['AND', 'OR'])} {condition(depth - 1)})"

    def filled(form):
        while "{}" in form:
            form = form.replace("{}", condition(1), 1)
        return form

    keys = [
        f"{filled(key)} AS k{place}" for place, key in enumerate(rng.choice(KEYS, rng.integers(0, 3), False))
    ]
    keys = [key.split(" AS ")[0] if key.split(" AS ")[0] in DOMAIN.names else key for key in keys]
    numbers = [f"{filled(rng.choice(AGGREGATES))} AS n{place}" for place in range(rng.integers(1, 3))]
    where = f" WHERE {condition()}" if rng.random() < 0.6 else ""
    return f"SELECT {', '.join(keys + numbers)} FROM release{where}" + (" GROUP BY ALL" if keys else "")


@pytest.mark.parametrize("seed", range(20))
def test_a_random_query_is_answered_as_by_duckdb(database, seed):
    check(database, random_query(np.random.default_rng(seed)), in_order=False)


BINNED = Domain.from_json(
    {
        "week": {"type": "date", "min": "2020-01-06", "max": "2020-03-30", "bins": 13, "granularity": "week"},
        "month": {
            "type": "date",
            "min": "2020-01-01",
            "max": "2020-12-01",
            "bins": 12,
            "granularity": "month",
        },
        "day": {"type": "date", "min": "2020-01-01", "max": "2020-12-31", "parts": ["month", "weekday"]},
        "time": {"type": "clock", "format": "HH:MM", "min": "00:00", "max": "23:59", "bins": 24},
        "span": {"type": "date", "min": "2020-01-01", "max": "2020-12-30", "bins": 5},
        "old": {"type": "timestamp", "min": "1900-01-01", "max": "2020-12-31T23:59:59", "bins": 5},
    }
)


@pytest.fixture(scope="module")
def binned():
    rng = np.random.default_rng(6)
    days = np.datetime64("2020-01-01") + rng.integers(0, 365, ROWS)
    raw = {
        "week": np.datetime64("2020-01-06") + rng.integers(0, 85, ROWS),
        "month": days,
        "day": days,
        "time": np.array([f"{hour:02d}:30" for hour in rng.integers(0, 24, ROWS)], dtype=object),
        "span": np.datetime64("2020-01-01") + rng.integers(0, 365, ROWS),
        "old": days,
    }
    return raw, small_release(encode_table(BINNED, raw), orders=(1,))


def count(release, condition):
    return answer(release, f"SELECT COUNT(*) FROM release WHERE {condition}").value


def test_parts_that_a_column_is_known_by_are_counted(binned):
    raw, release = binned
    months = raw["day"].astype("datetime64[M]").astype(int) % 12 + 1
    assert count(release, "MONTH(day) = 5") == pytest.approx((months == 5).sum(), abs=0.1)
    assert count(release, "MONTH(month) = 5") == pytest.approx((months == 5).sum(), abs=0.1)
    assert count(release, "ISODOW(day) = 7") == pytest.approx(
        (pd.DatetimeIndex(raw["day"]).day_of_week == 6).sum(), abs=0.1
    )


def test_hours_of_a_time_of_day_are_counted(binned):
    raw, release = binned
    expected = sum(text.startswith(("08", "09")) for text in raw["time"])
    assert count(release, "HOUR(time) IN (8, 9)") == pytest.approx(expected, abs=0.1)


def test_a_bin_that_a_month_cuts_gives_each_month_its_days(binned):
    raw, release = binned
    rows = answer(release, "SELECT MONTH(span) AS m, COUNT(*) AS n FROM release GROUP BY m").rows
    assert [row.key for row in rows] == [(month,) for month in range(1, 13)]
    # Each month has some 170 records of 2000, with a standard deviation of 12; at 5 of them, false alarms
    # are below 1e-5 in all. Bins of 73 days know their sums alone.
    expected = np.bincount(raw["span"].astype("datetime64[M]").astype(int) % 12, minlength=12)
    assert [row.estimates[0].value for row in rows] == pytest.approx(expected, abs=85)
    assert sum(row.estimates[0].value for row in rows) == pytest.approx(ROWS)


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("MONTH(week) = 2", "'week' holds weeks, which have no month of their own"),
        ("DAY(month) = 2", "'month' holds months, which have no day"),
        ("YEAR(time) = 2020", "'time' holds times of day"),
        ("DAY(day) = 2", "known by parts of its dates only; ask COUNT.* and of MONTH"),
        ("HOUR(old) = 2", "spans too many hours"),
        ("MONTH(span) = 'May'", "a part of a date is a whole number"),
        ("span LIKE '2020%'", "LIKE compares categories"),
    ],
)
def test_what_a_column_does_not_tell_is_refused(binned, condition, expected):
    with pytest.raises(DataError, match=expected):
        count(binned[1], condition)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT YEAR(age), COUNT(*) FROM release GROUP BY 1", "'age' holds no dates"),
        ("SELECT COUNT(*) FROM release WHERE town LIKE 'X%'", "no value of the column 'town' is like 'X%'"),
        ("SELECT COUNT(*) FROM release WHERE town LIKE 'Romm'", "did you mean 'Rome'"),
        ("SELECT STDDEV(day) FROM release", "holds dates or times; ask for QUANTILE"),
        ("SELECT COUNT(DISTINCT at) FROM release", "counted in bins"),
        ("SELECT * FROM release LIMIT 5", "rows are in the table of the release"),
        ("SELECT town, COUNT(*) AS n FROM release GROUP BY town ORDER BY AVG(age)", "is selected"),
    ],
)
def test_a_question_without_an_answer_is_refused(query, expected):
    with pytest.raises(DataError, match=expected):
        answer(RELEASE, query)


def test_the_interval_of_a_deviation_holds_that_of_the_table_and_is_wider_with_more_noise():
    noisy = small_release(encode_table(DOMAIN, columns()), orders=(1, 2), sigma=30.0)
    expected = FRAME["age"].dropna().astype(float).std()
    for release in (RELEASE, noisy):
        low, high = answer(release, "SELECT STDDEV(age) FROM release").interval
        assert low - 1e-6 <= expected <= high + 1e-6
    assert high - low > 0.01
