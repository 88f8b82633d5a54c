import logging

import pytest

from dpmosaic.common.errors import DataError
from dpmosaic.curator.analysis.queries.language import (
    Aggregate,
    Below,
    Both,
    Either,
    Equal,
    Kind,
    Missing,
    Not,
    Query,
    Surely,
)
from dpmosaic.curator.analysis.queries.parsing import LONGEST_QUERY, parsed

NAMES = ("age", "sex", "income", "hours-per-week", "Since")


def query(text):
    return parsed(text, NAMES)


def where(condition):
    return query(f"SELECT COUNT(*) FROM release WHERE {condition}").where


AGE = Equal("age", 3)
OLD = Not(Below("age", 65, True))


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("age = 3", AGE),
        ("3 = age", AGE),
        ("(age) = (3)", AGE),
        ("age <> 3", Not(AGE)),
        ("age != -3.5", Not(Equal("age", -3.5))),
        ("age < 3", Below("age", 3, False)),
        ("age <= 3", Below("age", 3, True)),
        ("age > 65", OLD),
        ("65 < age", OLD),
        ("age >= 1e3", Not(Below("age", 1000.0, False))),
        ("age BETWEEN 3 AND 4", Both(Not(Below("age", 3, False)), Below("age", 4, True))),
        ("sex IN ('F', 'M')", Either(Equal("sex", "F"), Equal("sex", "M"))),
        ("sex NOT IN ('F')", Not(Equal("sex", "F"))),
        ("sex IS NULL", Missing("sex")),
        ("sex IS NOT NULL", Not(Missing("sex"))),
        ("sex = TRUE", Equal("sex", True)),
        ("sex", Equal("sex", True)),
        ("sex IS FALSE", Surely(Equal("sex", False))),
        ("since < DATE '2020-01-31'", Below("Since", "2020-01-31", False)),
        ("since < TIMESTAMP '2020-01-31 10:00:00'", Below("Since", "2020-01-31 10:00:00", False)),
        ('"hours-per-week" = 3', Equal("hours-per-week", 3)),
        ("release.AGE = 3", AGE),
        ("NOT age = 3 AND sex = 'F' OR age > 65", Either(Both(Not(AGE), Equal("sex", "F")), OLD)),
        ("age = 3 AND (sex = 'F' OR age > 65)", Both(AGE, Either(Equal("sex", "F"), OLD))),
        ("sex = 'it''s'", Equal("sex", "it's")),
    ],
)
def test_conditions_are_read(text, condition):
    assert where(text) == condition


@pytest.mark.parametrize(
    ("text", "aggregate"),
    [
        ("COUNT(*)", Aggregate("COUNT(*)", Kind.COUNT)),
        ("COUNT(*) AS n", Aggregate("n", Kind.COUNT)),
        ("count(age) n", Aggregate("n", Kind.COUNT, "age")),
        ("COUNT_IF(age = 3) n", Aggregate("n", Kind.COUNT, AGE)),
        ("SUM(age) n", Aggregate("n", Kind.SUM, "age")),
        ("SUM(age = 3) n", Aggregate("n", Kind.COUNT, AGE)),
        ("AVG(age) n", Aggregate("n", Kind.MEAN, "age")),
        ("MEAN(age) n", Aggregate("n", Kind.MEAN, "age")),
        ("AVG(age = 3) n", Aggregate("n", Kind.MEAN, AGE)),
        ("SHARE(age = 3) n", Aggregate("n", Kind.MEAN, AGE)),
        ("share() n", Aggregate("n", Kind.SHARE)),
        ("SHARE(*) n", Aggregate("n", Kind.SHARE)),
        ("MEDIAN(age) n", Aggregate("n", Kind.QUANTILE, "age")),
        ("QUANTILE(age, 0.9) n", Aggregate("n", Kind.QUANTILE, "age", probability=0.9)),
        ("AVG(age) FILTER (WHERE age > 65) n", Aggregate("n", Kind.MEAN, "age", OLD)),
    ],
)
def test_aggregates_are_read(text, aggregate):
    assert query(f"SELECT {text} FROM release") == Query((aggregate,), (), None)


@pytest.mark.parametrize("groups", ["sex", "1", "ALL", "release.sex", "SEX, sex"])
def test_groups_are_read(groups):
    found = query(f"select sex, count(*) from Release group by {groups}")
    assert found == Query(("sex", Aggregate("COUNT(*)", Kind.COUNT)), ("sex",), None)


def test_a_column_may_group_without_being_selected_and_from_may_be_left_out():
    assert query("SELECT COUNT(*) GROUP BY sex").groups == ("sex",)


def test_the_columns_of_a_query_are_all_that_occur():
    found = query(
        "SELECT sex, AVG(age) FILTER (WHERE income = 'x') FROM release WHERE since < '2020' GROUP BY sex"
    )
    assert found.columns == {"sex", "age", "income", "Since"}
    assert found.selecting == {"sex", "Since"}


@pytest.mark.parametrize(
    "text",
    [
        "SELECT MIN(age)",
        "SELECT AVG(DISTINCT age)",
        "SELECT SUM(age + 1)",
        "SELECT AVG(age) OVER ()",
        "SELECT AVG(age) / 2",
        "SELECT COUNT(*) FROM release HAVING COUNT(*) > 1",
        "SELECT DISTINCT COUNT(*) FROM release",
        "SELECT COUNT(*) FROM release, release",
        "SELECT COUNT(*) FROM release JOIN release USING (age)",
        "SELECT COUNT(*) FROM (SELECT age FROM release)",
        "SELECT COUNT(*) FROM release TABLESAMPLE 10",
        "SELECT COUNT(*) FROM release WHERE age IN (SELECT 1)",
        "SELECT COUNT(*) FROM release WHERE age = age",
        "SELECT COUNT(*) FROM release WHERE age + 1 = 2",
        "SELECT COUNT(*) FROM release WHERE age = 1 + 1",
        "SELECT COUNT(*) FROM release WHERE LOWER(sex) LIKE 'f%'",
        "SELECT COUNT(DISTINCT (age, sex))",
        "SELECT STDDEV_POP(age)",
        "SELECT COUNT(*) FROM release LIMIT 1 + 1",
        "SELECT COUNT(*) FROM release LIMIT 10 PERCENT",
        "SELECT SUM(CASE WHEN age = 3 THEN 2 ELSE 1 END)",
        "SELECT SUM(CASE WHEN age = 3 THEN age ELSE 1 END)",
        "SELECT AVG(CASE WHEN age = 3 THEN age ELSE 0 END)",
        "SELECT COUNT(*) FROM release GROUP BY CASE WHEN age = 3 THEN sex END",
        "SELECT COUNT(*) FROM release WHERE WEEK(since) = 3",
        "SELECT COUNT(*) FROM release WHERE age BETWEEN SYMMETRIC 1 AND 2",
        "SELECT COUNT(*) FROM release WHERE sex IS NOT DISTINCT FROM 'F'",
        "SELECT COUNT(*) FROM release GROUP BY ROLLUP (sex)",
        "SELECT COUNT(*) FROM release; SELECT COUNT(*) FROM release",
        "SELECT COUNT(*) UNION SELECT COUNT(*)",
        "SELECT sex FROM release GROUP BY sex",
        "SELECT COUNT(*) FROM release WHERE age = ?",
        "DROP TABLE release",
        "VACUUM",
        "",
    ],
)
def test_what_is_not_supported_is_refused_with_what_is(text, caplog):
    with (
        caplog.at_level(logging.WARNING),
        pytest.raises(DataError, match=r"SELECT \[columns,\] COUNT\(\*\), .*GROUP BY"),
    ):
        query(text)
    assert not caplog.records


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT COUNT(*) FROM release WHERE agge = 3", "unknown column 'agge'; did you mean 'age'"),
        ("SELECT MEDAN(age)", r"MEDAN\(age\) \(did you mean 'MEDIAN'\?\), which is not supported"),
        ("SELECT COUNT(*) FROM adult", "expected FROM release, got FROM adult"),
        ("SELECT COUNT(*) FROM release WHERE other.age = 3", "unknown table 'other'"),
        (
            'SELECT COUNT(*) FROM release WHERE sex = "F"',
            "no column is called 'F'; text is written in single quotes",
        ),
        ("SELECT COUNT(*) FROM release WHERE sex IN (F)", "got the column 'F'; write text in single quotes"),
        ("SELECT AVG(hours-per-week) FROM release", 'needs double quotes: write "hours-per-week"'),
        ("SELECT COUNT(*) FROM release WHERE hours-per-week > 3", "needs double quotes"),
        ("SELECT sex, COUNT(*) FROM release", "selected without an aggregate; add GROUP BY sex"),
        ("SELECT COUNT(*), COUNT(*) FROM release", "one name; name them apart with AS"),
        ("SELECT sex AS s, COUNT(*) FROM release GROUP BY sex", "keeps its name"),
        ("SELECT COUNT(*) FROM release GROUP BY 1", "GROUP BY 1 is no column"),
        ("SELECT COUNT(*) FROM release WHERE age = NULL", "write IS NULL"),
        ("SELECT QUANTILE(age, 90) FROM release", "a probability between 0 and 1"),
        ("SELECT QUANTILE(age, 'x') FROM release", "a probability between 0 and 1"),
        ("SELECT SHARE() FILTER (WHERE age = 3) FROM release", "takes no FILTER"),
        ("SELECT COUNT(*) FROM release WHERE (age = 3", "is no SQL: Expecting \\) at line 1"),
        ("SELECT COUNT(*) FROM release WHERE sex = 'F", "is no SQL: a quote or a bracket is not closed"),
        (f"SELECT COUNT(*) {' ' * LONGEST_QUERY}", "at most 10000 characters"),
        (f"SELECT COUNT(*) WHERE {'(' * 3000}age{')' * 3000}", "too many conditions within conditions"),
    ],
)
def test_mistakes_are_named(text, expected):
    with pytest.raises(DataError, match=expected):
        query(text)
