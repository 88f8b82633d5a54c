"""SQL of every engine, of which none has to be there; and what is left to Python."""

import pytest
import sqlglot
from sqlglot import exp

from dpmosaic.common.data.domain import Domain
from dpmosaic.party.counting.encoding import encoding_of
from dpmosaic.party.counting.engines.kinds import Kind, NotExact

DIALECTS = (
    "bigquery",
    "databricks",
    "duckdb",
    "oracle",
    "postgres",
    "redshift",
    "snowflake",
    "spark",
    "tsql",
)


class Plain:
    composes = True

    def text(self, value):
        return exp.cast(value, "text")


def attribute(form):
    return Domain.from_json({"x": form})["x"]


def sql(form, kind, dialect):
    found = encoding_of(attribute(form), kind, exp.column("x", quoted=True), "k", Plain())
    return found.code.sql(dialect)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_engine_reads_the_sql_that_is_written_for_it(dialect):
    forms = [
        ({"type": "numeric", "min": 0, "max": 1, "bins": 3, "nullable": True}, Kind.TEXT),
        (["a", "it's", 3, ""], Kind.TEXT),
        ({"type": "date", "min": "2020-01-01", "max": "2021-12-31", "bins": 2}, Kind.DATE),
        (7, Kind.DOUBLE),
    ]
    for form, kind in forms:
        text = sql(form, kind, dialect)
        assert sqlglot.parse_one(text, dialect=dialect).sql(dialect) == text


def test_snowflake_and_bigquery_compare_with_floating_point_literals():
    form = {"type": "numeric", "min": 0, "max": 1, "bins": 10}
    assert "CAST('0.30000000000000004' AS DOUBLE)" in sql(form, Kind.DOUBLE, "snowflake")
    assert "CAST('0.30000000000000004' AS FLOAT64)" in sql(form, Kind.DOUBLE, "bigquery")


def test_runs_of_whole_numbers_are_arithmetic():
    form = {"type": "numeric", "min": 18, "max": 99999, "bins": 99982, "integer": True}
    text = sql(form, Kind.WHOLE, "duckdb")
    assert "CAST(k_number AS BIGINT) - 18" in text
    assert len(text) < 1000


@pytest.mark.slow
@pytest.mark.parametrize(
    ("form", "kind", "reason"),
    [
        ({"type": "numeric", "min": 0, "max": 9, "bins": 3, "format": "{} kg"}, Kind.TEXT, "format"),
        ({"type": "clock", "format": "HHMM"}, Kind.WHOLE, "hours and minutes"),
        ({"type": "clock", "format": "HH:MM"}, Kind.TIMESTAMP, "hours and minutes"),
        ({"type": "numeric", "min": 0, "max": 9, "bins": 3}, Kind.DATE, "holds dates"),
        ({"type": "numeric", "min": 0, "max": 50, "bins": 3, "multiple_of": 5}, Kind.DOUBLE, "multiples"),
        ({"type": "date", "min": "2020-01-01", "max": "2021-01-01", "bins": 2}, Kind.TEXT, "holds text"),
        (["a", "b"], Kind.OTHER, "another kind"),
        (["a", "b\n"], Kind.TEXT, "not printable"),
        ([2**60, 1], Kind.WHOLE, "above 2\\^53"),
        ([f"word {n}" for n in range(20_001)], Kind.TEXT, "more than 20000"),
    ],
)
def test_what_sql_would_read_otherwise_is_left_to_python(form, kind, reason):
    with pytest.raises(NotExact, match=reason):
        sql(form, kind, "duckdb")
