"""One database of a thread for all its data frames: each sees its own rows, and errors end nothing else."""

import threading

import duckdb
import pyarrow as pa
import pytest

from dpmosaic.simulations.tables import databases
from dpmosaic.simulations.tables.databases import open_empty

TEXTS = pa.array(["a", "b"])
NO_TEXT = pa.Array.from_buffers(
    pa.string(), 1, [None, pa.py_buffer(b"\0\0\0\0\1\0\0\0"), pa.py_buffer(b"\xff")]
)


def holding(texts):
    connection = open_empty()
    connection.register("given", pa.table([texts], ["c0"]))
    connection.execute("CREATE TEMP VIEW file AS SELECT c0 FROM given")
    return connection


def held(connection):
    return [text for (text,) in connection.execute("SELECT c0 FROM file").fetchall()]


def test_connections_hold_rows_of_their_own_until_they_are_closed():
    one, other = holding(TEXTS), holding(pa.array(["c"]))
    assert (held(one), held(other)) == (["a", "b"], ["c"])
    one.close()
    assert held(other) == ["c"]
    assert open_empty().execute("SELECT view_name FROM duckdb_views() WHERE NOT internal").fetchall() == []


def test_after_an_error_that_ends_the_database_there_is_another():
    broken = holding(NO_TEXT)
    with pytest.raises(duckdb.Error):
        broken.execute("SELECT strip_accents(c0), upper(c0) FROM file").fetchall()
    with pytest.raises(duckdb.FatalException):
        broken.execute("SELECT 1")
    assert held(holding(TEXTS)) == ["a", "b"]


def test_threads_and_processes_have_databases_of_their_own(monkeypatch):
    def database():
        open_empty()
        return databases._MADE.database

    mine, found = database(), []
    thread = threading.Thread(target=lambda: found.append(database()))
    thread.start()
    thread.join()
    assert found[0] is not mine
    assert database() is mine
    monkeypatch.setattr("os.getpid", lambda: -1)
    assert database() is not mine
