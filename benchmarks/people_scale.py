"""Related tables of many rows over one network of processes: seconds and memory of each.

People and their events lie in a DuckDB database or in a PostgreSQL server, which this script fills. Parties
are processes of this machine that read them there; the curator makes the release by its command. Memory is
the largest that a process had (`VmHWM`), and that of a server is the largest of one of its processes.

- whole: one hospital that holds both tables.
- apart: people at one party, events at another one, aligned by the key of people.

Run: python benchmarks/people_scale.py [--people 100000] [--events 10000000] [--grid whole apart]
    [--engine duckdb postgres] [--folder FOLDER]
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import duckdb
from scale_engines import tables, used

from dpmosaic.curator.parties.home import CuratorHome
from dpmosaic.party.home.home import PartyHome
from dpmosaic.simulations.local_network.network import LocalNetwork, program

GRIDS = {"whole": (("people", "events"),), "apart": (("people",), ("events",))}
ENGINES = ("duckdb", "postgres")
_START_S = 3_600.0
_CODES, _DAYS = 24, 3_650
DOMAINS: dict[str, dict[str, object]] = {
    "people": {
        "sex": ["f", "m"],
        "born": {"type": "numeric", "min": 1930, "max": 2009, "bins": 16, "integer": True},
        "region": [f"r{place}" for place in range(12)],
    },
    "events": {
        "day": {"type": "numeric", "min": 0, "max": _DAYS - 1, "bins": 20, "integer": True},
        "code": [f"c{place:02}" for place in range(_CODES)],
        "kind": ["in", "out", "home"],
        "value": {"type": "numeric", "min": 0, "max": 99, "bins": 20, "integer": True},
    },
}
KEYS = {"people": 'key = "id"\n', "events": 'belongs_to = { id = "people" }\norder = "day"\n'}
_COLUMNS = {"people": ("id", "id"), "events": ("event", "id")}
"""Of each table, its own key, by which rows come in one order, and the column of the person's."""

_POLICY = """
[policy]
protocols = ["masked"]
adjacencies = ["zero-out", "add-remove"]
max_release_rho = 1
lifetime_rho = 10
max_cells = 1000000
min_records = 1
min_tolerated = 0
max_rows_per_person = "all"
tables = ["people", "events"]
dealers = ["curator"]
max_disk_mb = 65536
max_cpu_seconds = 36000
approval = false
"""
_PLAN = """
[release]
epsilon = 1.0
delta = 1e-6
rows_per_person = "all"
collusions = 0
"""


def generate(path: Path, people: int, events: int) -> int:
    """Writes a DuckDB database of people and their events; numbers of events are geometric.

    Args:
        path: of the new file.
        people: number of people.
        events: of all of them, about.

    Returns:
        The number of events.
    """

    def random(row: str, seed: int, most: int) -> str:
        return f"(hash({row}, {seed}) % {most})::INT"

    with duckdb.connect(path, config={"memory_limit": "1GB", "temp_directory": str(path.parent)}) as store:
        share = f"(({random('p', 1, 1 << 20)} + 0.5) / {1 << 20})"
        store.execute(
            f"""CREATE TABLE drawn AS SELECT p, {random("p", 2, _CODES)} AS usual,
            floor(ln({share}) / ln(1 - {people / (people + events)}))::INT AS number
            FROM range({people}) t(p)"""
        )
        store.execute(
            f"""CREATE TABLE people AS SELECT p + 1000 AS id, ['f', 'm'][1 + {random("p", 3, 2)}] AS sex,
            1930 + ({random("p", 4, 60)} + usual % 20) AS born, 'r' || {random("p", 5, 12)} AS region
            FROM drawn"""
        )
        code = f"CASE WHEN {random('e', 6, 3)} = 0 THEN {random('e', 7, _CODES)} ELSE usual END"
        store.execute(
            f"""CREATE TABLE events AS SELECT e AS event, id, day, 'c' || lpad(code::VARCHAR, 2, '0') AS code,
            ['in', 'out', 'home'][1 + (code + {random("e", 9, 2)}) % 3] AS kind,
            (3 * code + {random("e", 10, 28)}) % 100 AS value
            FROM (SELECT e, id, {random("(p, place)", 8, _DAYS)} AS day, {code} AS code
                  FROM (SELECT p, p + 1000 AS id, usual, place, row_number() OVER () AS e
                        FROM drawn, range(number) t(place)))"""
        )
        store.execute("DROP TABLE drawn")
        return int(store.execute("SELECT count(*) FROM events").fetchall()[0][0])


def network(folder: Path, grid: str, engine: str, database: Path, connection: str) -> LocalNetwork:
    """The folders of all roles.

    Args:
        folder: an empty one.
        grid: one of `GRIDS`.
        engine: one of `ENGINES`.
        database: of DuckDB.
        connection: of the server.
    """
    held = GRIDS[grid]
    names = tuple(f"party-1-{place}" for place, _ in enumerate(held, start=1))
    made = LocalNetwork(folder, (names,))
    folder.mkdir()
    curator = CuratorHome.create(folder / "curator", "curator")
    for name, own in zip(names, held, strict=True):
        home = PartyHome.create(made.party(name), name)
        secret = home.folder / "connection"
        secret.touch(mode=0o600)
        secret.write_text(connection)
        text = "".join(_section(home.folder, table, engine, database) for table in own)
        if "people" not in own:
            text += _source("people", engine, database, "id")
        others = json.dumps([other for other in names if other != name])
        text += f"[records]\nsame_as = {others}\n[serve]\nlisten = '127.0.0.1:0'\n" + _POLICY
        text += "max_alignment_rho = 1\n" if len(held) > 1 else ""
        (home.folder / "policy.toml").write_text(text)
        curator.enroll(home.card(), "127.0.0.1:0")
    for name in names:
        PartyHome.open(made.party(name)).trust(curator.federation())
    text = _PLAN + f'adjacency = "{"add-remove" if len(held) > 1 else "zero-out"}"\n'
    for table, domain in DOMAINS.items():
        (curator.folder / f"{table}.json").write_text(json.dumps(domain))
        text += f'[tables.{table}]\ndomain = "{table}.json"\n{KEYS[table]}'
    text += f"[[slice]]\nparties = {json.dumps(names)}\n"
    if len(held) > 1:
        text += "".join(f"holds.{name} = {json.dumps(own)}\n" for name, own in zip(names, held, strict=True))
        text += "[alignment]\n"
    made.plan.write_text(text)
    return made


def _section(folder: Path, table: str, engine: str, database: Path) -> str:
    (folder / f"{table}.json").write_text(json.dumps(DOMAINS[table]))
    belongs = KEYS[table] if table != "people" else ""
    columns = ", ".join(dict.fromkeys([*_COLUMNS[table], *DOMAINS[table]]))
    return _source(table, engine, database, columns) + f'domain = "{table}.json"\n{belongs}'


def _source(table: str, engine: str, database: Path, columns: str) -> str:
    key = 'key = "id"\n' if table == "people" else ""
    order = _COLUMNS[table][0]
    if engine == "postgres":
        where = (
            f'engine = "postgres"\ntable = "{table}"\nconnection = "file:connection"\norder_by = "{order}"\n'
        )
    else:
        where = f'query = "SELECT {columns} FROM {table} ORDER BY {order}"\ndatabase = "{database}"\n'
    return f"[tables.{table}]\n{where}{key}"


def measured(made: LocalNetwork, out: Path, server: object) -> None:
    """Releases once, and prints one line for each role."""
    started = time.perf_counter()
    with made.running(_START_S) as daemons:
        ready = time.perf_counter()
        for name, daemon in daemons.items():
            _show(f"{name}, reading", *used(daemon.process.pid))
        curator = subprocess.Popen([*program(), "curator", "release", str(made.plan), "--out", str(out)])
        _, status, usage = os.wait4(curator.pid, 0)
        ended = time.perf_counter()
        if status:
            raise SystemExit("the release failed")
        for name, daemon in daemons.items():
            _show(name, *used(daemon.process.pid))
        _show("curator", usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)
        spent, peak = server.used({})  # type: ignore[attr-defined]
        if peak:
            _show("server", spent, peak)
    print(f"{ready - started:.0f} s until all parties listen, {ended - ready:.0f} s to release", flush=True)


def _show(role: str, seconds: float, peak: float) -> None:
    print(f"  {role:<20} {seconds:>8.1f} s of processors {peak:>7.0f} MB", flush=True)


def _fill(connection: str, database: Path) -> None:
    """Copies the tables to a server."""
    import psycopg

    with duckdb.connect(database, read_only=True) as store, psycopg.connect(connection) as server:
        for table in DOMAINS:
            types = [(name, str(kind)) for name, kind, *_ in store.execute(f"DESCRIBE {table}").fetchall()]
            columns = ", ".join(f"{name} {'text' if kind == 'VARCHAR' else kind}" for name, kind in types)
            server.execute(f"CREATE TABLE {table} ({columns})".encode())
            with server.cursor().copy(f"COPY {table} FROM STDIN (FORMAT csv)".encode()) as copy:
                with tempfile.NamedTemporaryFile(dir=database.parent) as file:
                    store.execute(f"COPY {table} TO '{file.name}' (FORMAT csv, HEADER false)")
                    with open(file.name, "rb") as lines:
                        while block := lines.read(1 << 20):
                            copy.write(block)
        server.commit()


@contextlib.contextmanager
def _folder(named: Path | None) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir=named) as made:
        yield Path(made)


def main() -> None:
    """Prints the seconds and the memory of each role."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--people", type=int, default=100_000)
    parser.add_argument("--events", type=int, default=10_000_000)
    parser.add_argument("--grid", nargs="+", choices=[*GRIDS], default=[*GRIDS])
    parser.add_argument("--engine", nargs="+", choices=ENGINES, default=["duckdb"])
    parser.add_argument("--folder", type=Path, help="for its files; by default that of temporary files")
    asked = parser.parse_args()
    with _folder(asked.folder) as folder:
        database = folder / "events.duckdb"
        events = generate(database, asked.people, asked.events)
        for engine in asked.engine:
            with tables(engine, folder) as server:
                connection = getattr(server, "connection", "")
                if connection:
                    _fill(connection, database)
                for grid in asked.grid:
                    print(f"{grid}, {engine}: {asked.people} people, {events} events", flush=True)
                    made = network(folder / f"{engine}-{grid}", grid, engine, database, connection)
                    measured(made, folder / f"{engine}-{grid}-released", server)


if __name__ == "__main__":
    main()
