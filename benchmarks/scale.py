"""A masked release of many rows of parties in DuckDB over one network of processes: seconds and memory.

Parties with 14 attributes of Adult's sizes, over columns or rows, a dealer if columns are apart, and the
curator are processes of this machine. The rows are generated in DuckDB. The curator's seconds contain
selection, fit and generation. References: the run before, with fewer rows, and what `--dry-run` predicts for
each role; seconds are those of processors.

Run: python benchmarks/scale.py [RECORDS...] [--grid 1x2] [--record scale.csv]
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
from collections.abc import Sequence
from pathlib import Path

import duckdb

from dpmosaic.common.data.domain import Domain
from dpmosaic.party.home import PartyHome
from dpmosaic.simulations.local_network import LocalNetwork, program
from dpmosaic.simulations.partition import Grid

SIZES = (85, 9, 100, 16, 7, 15, 6, 5, 2, 100, 100, 99, 42, 2)
RECORDS = (100_000, 1_000_000)
_FIRST = 1_000
_START_S = 1_800.0
_TICKS = os.sysconf("SC_CLK_TCK")


def rows_of(names: Sequence[str], records: range) -> str:
    """SQL of these attributes' rows: each value follows a hidden number of its row in half of the rows."""
    columns = [
        f"(CASE WHEN hash(i, {k}) % 2 = 0 THEN hash(i) % 100 ELSE hash(i, {k}, 1) END % {SIZES[k]})::INT "
        f"AS {name}"
        for name in names
        for k in [int(name[1:])]
    ]
    return f"SELECT {', '.join(columns)} FROM range({records.start}, {records.stop}) t(i) ORDER BY i"


def write(path: Path, names: Sequence[str], records: range) -> None:
    """Writes rows of these attributes."""
    with duckdb.connect(config={"memory_limit": "1GB"}) as connection:
        connection.execute(f"COPY ({rows_of(names, records)}) TO '{path}' (FORMAT parquet)")


def used(process: int) -> tuple[float, float]:
    """Seconds of a process, and the most memory that it had, in MB."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    (peak,) = (int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
    return (int(fields[11]) + int(fields[12])) / _TICKS, peak / 1024


def measured(records: int, grid: str, folder: Path, record: Path | None = None) -> float:
    """Releases once, and prints one line for each role.

    Args:
        records: rows of all parties of a column.
        grid: slices x parties of each.
        folder: an empty folder.
        record: CSV file to which the figures are added; None for none.

    Returns:
        Seconds of processors of all roles together, without generating the rows.
    """
    domain = Domain.coded({f"x{i:02}": size for i, size in enumerate(SIZES)})
    write(folder / "first.parquet", domain.names, range(_FIRST))
    dealers = int(len(Grid.parse(grid, domain, _FIRST).slices[0].groups) > 1)
    network = LocalNetwork.create(folder / "network", folder / "first.parquet", domain, grid, dealers=dealers)
    each = records // len(network.names)
    for place, row in enumerate(network.names):
        for name in row:
            home = PartyHome.open(network.party(name))
            rows = range(place * each, (place + 1) * each)
            write(home.folder / "rows.parquet", home.domain().names, rows)
            policy = home.folder / home.policy_name
            policy.write_text(policy.read_text() + "max_disk_mb = 65536\n")
    started = time.perf_counter()
    with network.running(_START_S) as daemons:
        ready = time.perf_counter()
        before = {name: used(daemon.process.pid)[0] for name, daemon in daemons.items()}
        release = [*program(), "curator", "release", str(network.plan)]
        planned = subprocess.run([*release, "--dry-run", "--json"], capture_output=True, check=True)
        predicted = json.loads(planned.stdout)["roles"]
        command = [*release, "--out", str(folder / "release")]
        curator = subprocess.Popen(command)
        _, status, usage = os.wait4(curator.pid, 0)
        seconds = time.perf_counter() - ready
        if status:
            raise SystemExit("the release failed")
        roles = {"curator": (usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)}
        for name, daemon in daemons.items():
            spent, peak = used(daemon.process.pid)
            roles[name] = spent - before[name], peak
    total = sum(before.values()) + sum(spent for spent, _ in roles.values())
    print(
        f"{grid}, {records} records: {ready - started:.1f} s to encode, {seconds:.1f} s to release, "
        f"{total:.1f} s of processors"
    )
    for name, (spent, peak) in roles.items():
        whole = spent + before.get(name, 0.0)
        said = predicted[name]
        print(
            f"  {name:<10} {whole:>8.1f} s of processors {peak:>7.0f} MB; predicted "
            f"{said['cpu_s'] / whole:.2f} and {said['peak_mb'] / peak:.2f} times as much",
            flush=True,
        )
        if record is not None:
            with record.open("a", newline="") as file:
                csv.writer(file).writerow((grid, records, name, f"{whole:.1f}", f"{peak:.0f}"))
    return total


def main() -> None:
    """Prints the seconds and the memory of each role for each number of records, and the slope."""
    parser = argparse.ArgumentParser()
    parser.add_argument("records", type=int, nargs="*", default=RECORDS)
    parser.add_argument("--grid", default="1x2")
    parser.add_argument("--record", type=Path, help="CSV file to which the figures are added")
    asked = parser.parse_args()
    spent = []
    for records in asked.records:
        with tempfile.TemporaryDirectory() as folder:
            spent.append(measured(records, asked.grid, Path(folder), asked.record))
    if len(spent) > 1:
        slope = math.log(spent[-1] / spent[-2]) / math.log(asked.records[-1] / asked.records[-2])
        print(f"seconds of processors grow as records to the power of {slope:.2f} at the end")


if __name__ == "__main__":
    main()
