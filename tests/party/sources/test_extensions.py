"""What DuckDB reads by its own extensions, which this test does not download."""

import contextlib
import sqlite3
from functools import partial

import duckdb
import pytest

from dpmosaic.common.errors import DataError
from dpmosaic.party.sources import query
from dpmosaic.party.sources.extensions import is_sqlite, load_extension, missing_extension
from dpmosaic.party.sources.query import QuerySource


@pytest.fixture
def database(tmp_path):
    path = tmp_path / "rows.sqlite"
    with contextlib.closing(sqlite3.connect(path)) as made:
        made.execute("CREATE TABLE people (id INT, age INT)")
        made.execute("INSERT INTO people VALUES (1, 30)")
        made.commit()
    return path


@pytest.fixture
def nothing_installed(monkeypatch, tmp_path):
    """DuckDB finds no extension, whatever this machine has installed."""
    nowhere = partial(query.connect, extension_directory=str(tmp_path / "none"))
    monkeypatch.setattr(query, "connect", nowhere)


def test_tells_sqlite_from_duckdb(database, tmp_path):
    duckdb.connect(str(tmp_path / "rows.duckdb")).close()
    assert is_sqlite(database)
    assert not is_sqlite(tmp_path / "rows.duckdb")


@pytest.mark.usefixtures("nothing_installed")
def test_a_query_that_needs_an_extension_says_how_to_install_it(database):
    text = f"SELECT * FROM sqlite_scan('{database}', 'people') ORDER BY id"
    with pytest.raises(DataError, match=r"sqlite_scanner, which is not installed.*INSTALL sqlite_scanner"):
        QuerySource(text, database.parent).columns()


@pytest.mark.usefixtures("nothing_installed")
def test_a_sqlite_database_says_how_to_install_its_extension(database):
    with pytest.raises(DataError, match="INSTALL sqlite_scanner"):
        QuerySource("SELECT * FROM people ORDER BY id", database.parent, database).columns()


@pytest.mark.usefixtures("nothing_installed")
def test_postgres_has_an_engine_of_its_own_as_well(tmp_path):
    text = "SELECT * FROM postgres_scan('', 'public', 'people') ORDER BY id"
    with pytest.raises(DataError, match=r'INSTALL postgres_scanner.*engine = "postgres"'):
        QuerySource(text, tmp_path).columns()


def test_an_installed_extension_is_loaded_and_the_query_runs(monkeypatch, tmp_path):
    loaded = []

    def load(connection, name):
        loaded.append(name)
        connection.execute("CREATE MACRO sqlite_scan(a, b) AS TABLE SELECT 1 AS id, 30 AS age")

    monkeypatch.setattr(query, "load_extension", load)
    source = QuerySource("SELECT * FROM sqlite_scan('f', 'people') ORDER BY id", tmp_path)
    assert source.columns() == ("id", "age")
    assert loaded == ["sqlite_scanner"]


def test_a_fault_of_the_query_itself_names_no_extension():
    with duckdb.connect() as connection, pytest.raises(duckdb.Error) as fault:
        connection.execute("SELECT * FROM nowhere")
    assert missing_extension(fault.value) is None


@pytest.mark.slow
def test_loading_downloads_nothing(tmp_path):
    with (
        duckdb.connect(config={"extension_directory": str(tmp_path)}) as connection,
        pytest.raises(DataError, match="not installed for this user"),
    ):
        load_extension(connection, "sqlite_scanner")
    assert not list(tmp_path.rglob("*.duckdb_extension"))
