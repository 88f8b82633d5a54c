"""A masked release of many rows over one network of processes: seconds and memory.

Parties with 14 attributes of Adult's sizes, over columns or rows, a dealer if columns are apart, and the
curator are processes of this machine. The rows are generated where they live: in files that DuckDB counts, in
one PostgreSQL server, or in Spark. The curator's seconds contain selection, fit and generation. References:
the run before, with fewer rows, and what `--dry-run` predicts for each role with DuckDB; seconds are those of
processors. The processes of a server or of Spark are the role `engine`.

Run: python benchmarks/scale.py [RECORDS...] [--grid 1x2] [--engine duckdb] [--record scale.csv]
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import os
import subprocess
import tempfile
import time
from pathlib import Path

from scale_engines import SIZES, tables, used, write_file

from dpmosaic.common.data.domain import Domain
from dpmosaic.party.home import PartyHome
from dpmosaic.simulations.local_network import LocalNetwork, program
from dpmosaic.simulations.partition import Grid

RECORDS = (100_000, 1_000_000)
ENGINES = ("duckdb", "postgres", "spark")
_FIRST = 1_000
_START_S = 1_800.0


def measured(
    records: int, grid: str, engine: str, folder: Path, *, ordered: bool = True, record: Path | None = None
) -> float:
    """Releases once, and prints one line for each role.

    Args:
        records: rows of all parties of a column.
        grid: slices x parties of each.
        engine: where the parties' rows live; one of `ENGINES`.
        folder: an empty folder.
        ordered: whether parties that are alone in their slice name a column that orders their rows.
        record: CSV file to which the figures are added; None for none.

    Returns:
        Seconds of processors of all roles together, without generating the rows.
    """
    domain = Domain.coded({f"x{i:02}": size for i, size in enumerate(SIZES)})
    write_file(folder / "first.parquet", domain.names, range(_FIRST))
    several = len(Grid.parse(grid, domain, _FIRST).slices[0].groups) > 1
    network = LocalNetwork.create(
        folder / "network", folder / "first.parquet", domain, grid, dealers=int(several)
    )
    each = records // len(network.names)
    with tables(engine, folder) as rows:
        for place, row in enumerate(network.names):
            for name in row:
                home = PartyHome.open(network.party(name))
                own = range(place * each, (place + 1) * each)
                rows.write(home, home.domain().names, own, ordered or several)
                policy = home.folder / home.policy_name
                policy.write_text(policy.read_text() + "max_disk_mb = 65536\n")
        started, (generated, _) = time.perf_counter(), rows.used({})
        with network.running(_START_S) as daemons:
            ready = time.perf_counter()
            processes = {name: daemon.process.pid for name, daemon in daemons.items()}
            release = [*program(), "curator", "release", str(network.plan)]
            planned = subprocess.run([*release, "--dry-run", "--json"], capture_output=True, check=True)
            predicted = json.loads(planned.stdout)["roles"]
            curator = subprocess.Popen([*release, "--out", str(folder / "release")])
            _, status, usage = os.wait4(curator.pid, 0)
            ended = time.perf_counter()
            if status:
                raise SystemExit("the release failed")
            roles = {name: used(process) for name, process in processes.items()}
            roles["curator"] = usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024
            spent, peak = rows.used(processes)
            if engine != "duckdb":
                roles["engine"] = spent - generated, peak
    total = sum(spent for spent, _ in roles.values())
    print(
        f"{grid}, {engine}, {records} records: {ready - started:.1f} s to encode, {ended - ready:.1f} s to "
        f"release, {total:.1f} s of processors"
    )
    for name, (spent, peak) in roles.items():
        said = predicted.get(name)
        text = f"  {name:<10} {spent:>8.1f} s of processors {peak:>7.0f} MB"
        if said is not None:
            text += f"; predicted {said['cpu_s'] / spent:.2f} and {said['peak_mb'] / peak:.2f} times as much"
        print(text, flush=True)
        if record is not None:
            with record.open("a", newline="") as file:
                csv.writer(file).writerow((grid, engine, records, name, f"{spent:.1f}", f"{peak:.0f}"))
    return total


def main() -> None:
    """Prints the seconds and the memory of each role for each number of records, and the slope."""
    parser = argparse.ArgumentParser()
    parser.add_argument("records", type=int, nargs="*", default=RECORDS)
    parser.add_argument("--grid", default="1x2")
    parser.add_argument("--engine", choices=ENGINES, default="duckdb", help="where the parties' rows live")
    parser.add_argument(
        "--unordered", action="store_true", help="rows have no order, so that no codes leave an engine"
    )
    parser.add_argument("--record", type=Path, help="CSV file to which the figures are added")
    asked = parser.parse_args()
    spent = []
    for records in asked.records:
        with tempfile.TemporaryDirectory() as folder:
            spent.append(
                measured(
                    records,
                    asked.grid,
                    asked.engine,
                    Path(folder),
                    ordered=not asked.unordered,
                    record=asked.record,
                )
            )
    if len(spent) > 1:
        slope = math.log(spent[-1] / spent[-2]) / math.log(asked.records[-1] / asked.records[-2])
        print(f"seconds of processors grow as records to the power of {slope:.2f} at the end")


if __name__ == "__main__":
    main()
