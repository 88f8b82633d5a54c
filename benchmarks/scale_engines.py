"""Where the parties' tables of `scale.py` live: rows that each engine generates for itself, and what it used.

The rows of all engines have the same distribution; each value follows a hidden number of its row in half of
the rows.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import duckdb

from dpmosaic.party.home.home import PartyHome

SIZES = (85, 9, 100, 16, 7, 15, 6, 5, 2, 100, 100, 99, 42, 2)
ORDER = "i"
"""The column that orders the rows."""

_TICKS = os.sysconf("SC_CLK_TCK")
_FILE = "rows.parquet"
_SOURCE = f'file = "{_FILE}"\n'
_BUFFERS = "256MB"
_HEAP = "1g"


class Tables(Protocol):
    """An engine with the tables of all parties."""

    def write(self, home: PartyHome, names: Sequence[str], records: range, ordered: bool) -> None:
        """Generates the rows of a party in the engine, and names them in its policy.

        Args:
            home: the party's folder.
            names: its attributes.
            records: numbers of its rows.
            ordered: whether the party needs them in order.
        """

    def used(self, daemons: Mapping[str, int]) -> tuple[float, float]:
        """Seconds of the engine's own processes so far, and the most memory of one, MB; 0 without any.

        Args:
            daemons: numbers of the processes of parties and dealers.
        """


class Files:
    """Parquet files, which DuckDB counts in the party's process."""

    def write(self, home: PartyHome, names: Sequence[str], records: range, ordered: bool) -> None:
        """See `Tables`."""
        write_file(home.folder / _FILE, names, records)

    def used(self, daemons: Mapping[str, int]) -> tuple[float, float]:
        """See `Tables`."""
        return 0.0, 0.0


@dataclass(frozen=True)
class Postgres:
    """A private PostgreSQL server on a Unix socket.

    Attributes:
        connection: connection string.
        process: number of the server's first process.
    """

    connection: str
    process: int

    def write(self, home: PartyHome, names: Sequence[str], records: range, ordered: bool) -> None:
        """See `Tables`."""
        import psycopg

        table = home.keyring.name.replace("-", "_")
        rows = _rows(names, "(hashint8extended({row}, {seed}) & 1048575)", f"{ORDER}::bigint", "int")
        made = f"{rows} FROM generate_series({records.start}, {records.stop - 1}) AS t({ORDER})"
        with psycopg.connect(self.connection, autocommit=True) as connection:
            connection.execute(f"CREATE TABLE {table} AS {made}".encode())
            connection.execute(f"ANALYZE {table}".encode())
        secret = home.folder / "connection"
        secret.touch(mode=0o600)
        secret.write_text(self.connection)
        _name(home, "postgres", f'table = "{table}"\nconnection = "file:connection"\n', ordered)

    def used(self, daemons: Mapping[str, int]) -> tuple[float, float]:
        """See `Tables`."""
        return used_by([self.process, *_children(self.process)])


@dataclass(frozen=True)
class Spark:
    """Parquet tables that a Spark session writes; each party's own session counts them.

    Attributes:
        folder: of the tables.
    """

    folder: Path
    _written: list[Path] = field(default_factory=list)

    def write(self, home: PartyHome, names: Sequence[str], records: range, ordered: bool) -> None:
        """See `Tables`."""
        from pyspark.sql import SparkSession

        path = self.folder / home.keyring.name
        rows = _rows(names, "(xxhash64({row}, {seed}) & 1048575)", f"id AS {ORDER}", "int", "id")
        made = SparkSession.builder.master("local[2]").getOrCreate()
        made.sql(f"{rows} FROM range({records.start}, {records.stop})").write.parquet(str(path))
        made.stop()
        query = f'query = "SELECT * FROM parquet.`{path}`"\nconnection = "file:connection"\n'
        secret = home.folder / "connection"
        secret.touch(mode=0o600)
        secret.write_text("local[1]")
        _name(home, "spark", query, ordered)

    def used(self, daemons: Mapping[str, int]) -> tuple[float, float]:
        """See `Tables`."""
        return used_by([child for daemon in daemons.values() for child in _children(daemon)])


@contextlib.contextmanager
def tables(engine: str, folder: Path) -> Iterator[Tables]:
    """An engine for the tables of one release.

    Args:
        engine: duckdb, postgres or spark.
        folder: for its files.
    """
    if engine == "postgres":
        with _server(folder) as server:
            yield server
    elif engine == "spark":
        (folder / "spark-defaults.conf").write_text(
            f"spark.driver.memory {_HEAP}\nspark.ui.enabled false\nspark.sql.shuffle.partitions 2\n"
            "spark.driver.bindAddress 127.0.0.1\nspark.driver.host 127.0.0.1\nspark.log.level OFF\n"
            f"spark.local.dir {folder}\n"
        )
        os.environ["SPARK_CONF_DIR"] = str(folder)
        yield Spark(folder)
    else:
        yield Files()


def write_file(path: Path, names: Sequence[str], records: range) -> None:
    """Writes rows of these attributes to a Parquet file."""
    columns = _rows(names, "hash({row}, {seed})", "", "INT")
    made = f"{columns} FROM range({records.start}, {records.stop}) t({ORDER}) ORDER BY {ORDER}"
    with duckdb.connect(config={"memory_limit": "1GB"}) as connection:
        connection.execute(f"COPY ({made}) TO '{path}' (FORMAT parquet)")


def used(process: int) -> tuple[float, float]:
    """Seconds of a process, and the most memory that it had, in MB."""
    fields = _stat(process)
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    # One that ends has none.
    peak = max((int(line.split()[1]) for line in lines if line.startswith("VmHWM")), default=0)
    return (int(fields[11]) + int(fields[12])) / _TICKS, peak / 1024


def used_by(processes: Sequence[int]) -> tuple[float, float]:
    """Seconds of processes and of those that they waited for, and the most memory of one, MB."""
    seconds, peak = 0.0, 0.0
    for process in processes:
        # One that ended meanwhile was a moment's work.
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            seconds += sum(map(int, _stat(process)[11:15])) / _TICKS
            peak = max(peak, used(process)[1])
    return seconds, peak


def _rows(names: Sequence[str], hashed: str, first: str, type_: str, row: str = ORDER) -> str:
    """The SELECT of these attributes' values.

    Args:
        names: attributes.
        hashed: a whole number that depends on the row and a seed.
        first: a column before them; empty for none.
        type_: of the values.
        row: number of the row.
    """
    columns = [first] if first else []
    for name in names:
        k = int(name[1:])
        of = [hashed.format(row=row, seed=seed) for seed in (3 * k + 1, 3 * k + 2, 0)]
        columns.append(
            f"CAST(CASE WHEN {of[0]} % 2 = 0 THEN {of[2]} % 100 ELSE {of[1]} END % {SIZES[k]} AS {type_}) "
            f"AS {name}"
        )
    return f"SELECT {', '.join(columns)}"


def _name(home: PartyHome, engine: str, source: str, ordered: bool) -> None:
    """Names the engine's rows in the policy, instead of the file of the first ones."""
    policy = home.folder / home.policy_name
    order = f'order_by = "{ORDER}"\n' if ordered else ""
    text = policy.read_text()
    assert _SOURCE in text, "the policy of a local network names a file"
    policy.write_text(text.replace(_SOURCE, f'engine = "{engine}"\n{source}{order}'))


@contextlib.contextmanager
def _server(folder: Path) -> Iterator[Postgres]:
    """Starts a server."""
    user = pwd.getpwnam("postgres") if os.getuid() == 0 else pwd.getpwuid(os.getuid())
    home = folder / "postgres"
    home.mkdir()
    # The server refuses to run as root.
    folder.chmod(0o711)
    os.chown(home, user.pw_uid, user.pw_gid)
    as_user = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []} if os.getuid() == 0 else {}
    data = home / "data"

    def run(program: str, *arguments: str) -> None:
        found = shutil.which(program) or sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{program}"))[-1]
        command = [str(found), "-D", str(data), *arguments]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=home, **as_user)  # type: ignore[call-overload]

    run("initdb", "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync")
    options = f"-k {home} -c listen_addresses= -c fsync=off -c shared_buffers={_BUFFERS}"
    run("pg_ctl", "-w", "-o", options, "-l", str(home / "log"), "start")
    try:
        process = int((data / "postmaster.pid").read_text().splitlines()[0])
        yield Postgres(f"host={home} user=postgres dbname=postgres", process)
    finally:
        run("pg_ctl", "-m", "immediate", "stop")


def _stat(process: int) -> list[str]:
    return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()


def _children(process: int) -> list[int]:
    """Numbers of the processes that a process started and that are still there."""
    found = []
    for task in Path(f"/proc/{process}/task").iterdir():
        found += map(int, (task / "children").read_text().split())
    return found
