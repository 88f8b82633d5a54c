"""Connections to the database that small rows share."""

import multiprocessing

import duckdb
import pyarrow as pa
import pytest

from dpmosaic.party.sources.memory import connect_small


def holding(number):
    connection = connect_small()
    connection.register("given", pa.table({"x": [number]}))
    connection.execute("CREATE TEMP VIEW file AS SELECT x FROM given")
    connection.execute("CREATE TEMP TABLE kept AS SELECT x FROM file")
    return connection


def told(connection):
    return [connection.execute(f"SELECT x FROM {name}").fetchall() for name in ("given", "file", "kept")]


def test_what_one_connection_holds_no_other_sees_and_nothing_is_left_of_it():
    with holding(1) as first, holding(2) as second:
        assert (told(first), told(second)) == ([[(1,)]] * 3, [[(2,)]] * 3)
    with connect_small() as third:
        assert third.execute("SELECT count(*) FROM duckdb_tables()").fetchall() == [(0,)]
        for name in ("given", "file", "kept"):
            with pytest.raises(duckdb.CatalogException):
                third.execute(f"SELECT x FROM {name}")


def test_a_fatal_error_ends_no_later_connection():
    text = pa.Array.from_buffers(pa.string(), 1, [None, *pa.array([b"\xff"]).buffers()[1:]])
    with connect_small() as broken:
        broken.register("given", pa.table({"x": text}))
        with pytest.raises(duckdb.Error):
            broken.execute("SELECT upper(x) FROM given")
    with holding(3) as connection:
        assert told(connection) == [[(3,)]] * 3


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="this system forks nothing")
def test_a_fork_reads_its_own_rows():
    with holding(4):
        fork = multiprocessing.get_context("fork").Process(target=_reads)
        fork.start()
        fork.join(60)
        assert fork.exitcode == 0


def _reads():
    with holding(5) as connection:
        assert told(connection) == [[(5,)]] * 3
