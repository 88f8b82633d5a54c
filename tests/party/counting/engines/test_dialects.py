"""Servers that this software was not run on: their SQL is read again, and gives in DuckDB what Python gives.

What a server does that sqlglot and `support/stand_in.py` do not know is not tested here.
"""

import math

import duckdb
import pytest
from sqlglot import exp

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.errors import DataError
from dpmosaic.party.counting.engines import adbc
from dpmosaic.party.counting.engines.adbc import AdbcEngine
from dpmosaic.party.counting.engines.dialects import SERVERS
from dpmosaic.party.counting.engines.kinds import Kind
from dpmosaic.party.counting.engines.remote import Place
from dpmosaic.party.counting.people import People
from dpmosaic.party.counting.source import EngineSource
from support.counting import CountingContract, people
from support.stand_in import MACROS, Server

pytestmark = pytest.mark.slow

TYPES = {
    Kind.WHOLE: "BIGINT",
    Kind.SINGLE: "REAL",
    Kind.DOUBLE: "DOUBLE",
    Kind.DECIMAL: "DECIMAL(20, 3)",
    Kind.BOOLEAN: "BOOLEAN",
    Kind.TEXT: "VARCHAR",
    Kind.DATE: "DATE",
    Kind.TIMESTAMP: "TIMESTAMP",
}


class StandInContract(CountingContract):
    """The contract of engines, by a server that DuckDB stands in for."""

    driver = ""
    loads = False
    composes = False
    every = 16

    test_a_slow_statement_is_ended = None
    test_a_statement_is_ended_when_nobody_waits_for_it = None

    @pytest.fixture(autouse=True)
    def _server(self, monkeypatch):
        self.database = duckdb.connect()
        self.database.execute(MACROS)
        self.servers = []

        def connect(driver, uri):
            self.servers.append(Server(SERVERS[driver].dialect, self.database))
            return self.servers[-1]

        monkeypatch.setattr(adbc, "_connect", connect)
        yield
        self.database.close()

    def engine(self, name):
        return AdbcEngine(Place(table=name, order_by="place"), self.driver, "secret")

    def write(self, name, written):
        types = ", ".join(f'"{column}" {TYPES[kind]}' for column, (kind, _) in written.items())
        self.database.execute(f"CREATE OR REPLACE TABLE {name} (place BIGINT, {types})")
        rows = [*zip(*(map(self.stored, values) for _, values in written.values()), strict=True)]
        marks = ", ".join("?" for _ in range(len(written) + 1))
        if rows:
            numbered = [(number, *row) for number, row in enumerate(rows)]
            self.database.executemany(f"INSERT INTO {name} VALUES ({marks})", numbered)

    def stored(self, value):
        """What the server has of a value."""
        return value


NUMBERS = {"type": "numeric", "min": 0, "max": 9, "bins": 3, "nullable": True, "unreadable": "missing"}
"""An entry in which texts that are no numbers are missing."""


class TestSQLServer(StandInContract):
    driver = "mssql"
    every = 12

    def holds(self, column):
        """Its floats are finite."""
        return not any(isinstance(value, float) and not math.isfinite(value) for value in column.values)

    def test_blanks_at_the_end_of_a_text_make_another_text(self):
        listed = {"type": "categorical", "categories": ["é", "n", "é ", "other"], "other": "other"}
        written = {"a": (Kind.TEXT, ["é", "é ", "n", "n ", "é", "another"])}
        rows = self.rows(written, Domain.from_json({"a": listed}))
        assert rows.marginal(("a",)).tolist() == [2, 1, 1, 2]


class TestOracle(StandInContract):
    driver = "oracle"
    composes = True

    def stored(self, value):
        return None if value == "" else value

    def holds(self, column):
        """It has no booleans before version 23."""
        return column.kind is not Kind.BOOLEAN

    def test_a_row_without_a_key_is_found(self):
        written = people(3) | {"key": (Kind.TEXT, ["p1", "", "p1"])}
        with pytest.raises(DataError, match="key"):
            self.rows(written, people=People("key", 1))


class TestSnowflake(StandInContract):
    driver = "snowflake"
    every = 40

    @pytest.mark.parametrize(
        "listed",
        [
            {"type": "categorical", "categories": ["n", "other"], "other": "other"},
            {"type": "boolean", "missing": ["caf\u00e9"]},
            NUMBERS | {"texts": ["caf\u00e9"]},
            NUMBERS | {"missing": ["caf\u00e9"]},
        ],
        ids=["categories", "boolean", "texts", "missing"],
    )
    def test_a_part_of_a_text_that_is_decomposed_is_found(self, listed):
        with pytest.raises(DataError, match="SQL and Python may read differently"):
            self.rows({"a": (Kind.TEXT, ["1", "cafe\u0301"])}, Domain.from_json({"a": listed}))


class TestRedshift(StandInContract):
    driver = "redshift"
    every = 40


def test_databricks_is_asked_what_spark_is_asked():
    cast = exp.select(exp.cast(exp.column("x"), "double"), exp.cast(exp.column("x"), "text")).from_("t")
    assert SERVERS["databricks"].sql(cast) == cast.sql("spark")


@pytest.mark.parametrize("driver", [name for name in SERVERS if name not in ("flightsql", "postgresql")])
def test_a_query_of_the_policy_is_sent_in_its_owner_s_words(driver):
    words = "SELECT REGEXP_LIKE(a, 'b') AS a FROM t -- of ours"
    server = SERVERS[driver]
    source = Place(query=words).source(server.dialect)
    sql = server.sql(exp.select("a").from_(source).limit(0))
    assert f"({words}\n) rows_of_party" in sql


def test_an_operator_is_told_that_a_server_was_never_tried(tmp_path):
    def caution(engine):
        return EngineSource(engine, Place(table="t"), "env:NONE", tmp_path).caution

    assert "never run on a server of adbc:mssql" in caution("adbc:mssql")
    assert [caution(engine) for engine in ("postgres", "spark", "adbc:postgresql")] == ["", "", ""]
