"""How DuckDB is opened, and the database that small rows share."""

import multiprocessing
import subprocess
import sys
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

import dpmosaic
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


_SHOWN = """
from dpmosaic.party.sources.memory import connect, connect_small
for connection in (connect(), connect(threads=1), connect_small(), connect().cursor()):
    print(connection.execute("SELECT current_setting('enable_progress_bar')").fetchone()[0])
"""


def test_no_query_shows_a_bar_in_an_interactive_program():
    shown = subprocess.run([sys.executable, "-c", _SHOWN], capture_output=True, text=True, check=True)
    assert shown.stdout.split() == ["False"] * 4


def test_nothing_else_opens_a_database_with_a_bar():
    root = Path(dpmosaic.__file__).parent
    folders = ("common", "party", "curator", "synthesis", "simulations")
    files = [file for folder in folders for file in (root / folder).rglob("*.py")]
    opening = [file for file in files if "duckdb.connect(" in file.read_text()]
    assert opening
    assert [file for file in opening if "SET enable_progress_bar = false" not in file.read_text()] == []
