"""A CDM in a real PostgreSQL server reads as the same one in DuckDB; skipped where none is installed."""

import shutil

import duckdb
import pytest

from dpmosaic.common.errors import DataError
from dpmosaic.synthesis.omop.checks import check
from dpmosaic.synthesis.omop.model import CLINICAL, VOCABULARY
from dpmosaic.synthesis.omop.read import read
from support.postgres import server

pytestmark = pytest.mark.slow

psycopg = pytest.importorskip("psycopg")
KINDS = {"DOUBLE": "NUMERIC", "VARCHAR": "TEXT", "BIGINT": "INTEGER"}


@pytest.fixture(scope="module")
def held(cdm, tmp_path_factory):
    """The CDM, with texts that a CSV has to quote."""
    path = tmp_path_factory.mktemp("held") / "cdm.duckdb"
    shutil.copy(cdm, path)
    with duckdb.connect(str(path)) as connection:
        for person, text in ((3, 'a "quoted", one\nof two lines'), (4, "")):
            connection.execute(
                "UPDATE person SET person_source_value = ? WHERE person_id = ?", [text, person]
            )
    return path


@pytest.fixture(scope="module")
def uri(held):
    """A server with the CDM in the schema `clinic`, its numbers and texts in PostgreSQL's usual types."""
    with server() as stated, psycopg.connect(stated) as connection:
        connection.execute("CREATE SCHEMA clinic")
        with duckdb.connect(str(held), read_only=True) as known:
            for table in (*CLINICAL, *VOCABULARY):
                columns = ", ".join(f"{name} {KINDS.get(kind, kind)}" for name, kind in table.columns.items())
                connection.execute(f"CREATE TABLE clinic.{table.name} ({columns})")
                with connection.cursor().copy(f"COPY clinic.{table.name} FROM STDIN") as copy:
                    for row in known.execute(f"SELECT * FROM {table.name}").fetchall():
                        copy.write_row(row)
        connection.execute("CREATE TABLE clinic.cdm_source (source_release_date DATE)")
        connection.execute("INSERT INTO clinic.cdm_source VALUES ('2024-12-31')")
        connection.commit()
        host = dict(part.split("=") for part in stated.split())["host"]
        yield f"postgresql://postgres@/postgres?host={host}"


@pytest.mark.slow
def test_the_same_tables_are_read(uri, held):
    found, wanted = read(uri, schema="clinic"), read(held)
    assert found.choices.domain() == wanted.choices.domain()
    for name, rows in wanted.tables.items():
        assert rows.equals(found.tables[name])


def test_the_same_rules_hold(uri, held):
    one, other = check(uri, schema="clinic", released=True), check(held, released=True)
    assert one == other


def test_refuses_another_schema_and_a_server_that_is_not_there(uri):
    with pytest.raises(DataError, match="in the schema 'public'"):
        read(uri)
    with pytest.raises(DataError, match="cannot be reached"):
        read("postgresql://nobody@/nothing?host=/nowhere")
