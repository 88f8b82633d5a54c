"""A masked release of all rows of two parties in DuckDB over one network of processes: seconds and memory.

Two parties with seven attributes of Adult's sizes each, a dealer and the curator are processes of this
machine. The rows are generated in DuckDB. The curator's seconds contain selection, fit and generation.

Run: python benchmarks/ranges.py [RECORDS...]
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import duckdb

from dpmosaic.common.data.domain import Domain
from dpmosaic.simulations.local_network import LocalNetwork, program

SIZES = (85, 9, 100, 16, 7, 15, 6, 5, 2, 100, 100, 99, 42, 2)
RECORDS = (100_000, 1_000_000)
_FIRST = 1_000
_TICKS = os.sysconf("SC_CLK_TCK")


def rows_of(names: list[str], records: int) -> str:
    """SQL of these attributes' rows: each value follows a hidden number of its row in half of the rows."""
    columns = [
        f"(CASE WHEN hash(i, {k}) % 2 = 0 THEN hash(i) % 100 ELSE hash(i, {k}, 1) END % {SIZES[k]})::INT "
        f"AS {name}"
        for name in names
        for k in [int(name[1:])]
    ]
    return f"SELECT {', '.join(columns)} FROM range({records}) t(i) ORDER BY i"


def write(path: Path, names: list[str], records: int) -> None:
    """Writes rows of these attributes."""
    with duckdb.connect(config={"memory_limit": "1GB"}) as connection:
        connection.execute(f"COPY ({rows_of(names, records)}) TO '{path}' (FORMAT parquet)")


def used(process: int) -> tuple[float, float]:
    """Seconds of a process, and the most memory that it had, in MB."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    (peak,) = (int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
    return (int(fields[11]) + int(fields[12])) / _TICKS, peak / 1024


def measured(records: int, folder: Path) -> None:
    """Releases once, and prints one line for each role."""
    domain = Domain.coded({f"x{i:02}": size for i, size in enumerate(SIZES)})
    write(folder / "first.parquet", list(domain.names), _FIRST)
    network = LocalNetwork.create(folder / "network", folder / "first.parquet", domain, "1x2", dealers=1)
    for name, held in zip(network.all_names, (domain.names[:7], domain.names[7:]), strict=True):
        home = network.party(name)
        write(home / "rows.parquet", list(held), records)
        policy = home / "policy.toml"
        policy.write_text(policy.read_text() + "max_disk_mb = 65536\n")
    started = time.perf_counter()
    with network.running() as daemons:
        ready = time.perf_counter()
        before = {name: used(daemon.process.pid)[0] for name, daemon in daemons.items()}
        command = [*program(), "curator", "release", str(network.plan), "--out", str(folder / "release")]
        curator = subprocess.Popen(command)
        _, status, usage = os.wait4(curator.pid, 0)
        seconds = time.perf_counter() - ready
        if status:
            raise SystemExit("the release failed")
        roles = {"curator": (usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)}
        for name, daemon in daemons.items():
            spent, peak = used(daemon.process.pid)
            roles[name] = spent - before[name], peak
    print(f"{records} records: {ready - started:.1f} s to encode, {seconds:.1f} s to release")
    for name, (spent, peak) in roles.items():
        print(f"  {name:<10} {spent:>8.1f} s of processors {peak:>7.0f} MB", flush=True)


def main() -> None:
    """Prints the seconds and the memory of each role, for each number of records."""
    for records in map(int, sys.argv[1:]) if sys.argv[1:] else RECORDS:
        with tempfile.TemporaryDirectory() as folder:
            measured(records, Path(folder))


if __name__ == "__main__":
    main()
