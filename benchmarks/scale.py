"""A masked release of many rows over one network of processes: seconds and memory.

Parties with 14 attributes of Adult's sizes, over columns or rows, a dealer if columns are apart, and the
curator are processes of this machine. The rows are generated where they live: in files that DuckDB counts, in
one PostgreSQL server, or in Spark. The curator's seconds contain selection, fit and generation. References:
the run before, with fewer rows, and what `--dry-run` predicts for each role with DuckDB; seconds are those of
processors. The processes of a server or of Spark are the role `engine`.

Run: python benchmarks/scale.py [RECORDS...] [--grid 1x2] [--engine duckdb] [--workers one dask]
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
from dataclasses import dataclass
from pathlib import Path

from scale_engines import SIZES, tables, used, write_file
from scale_workers import WORKERS, workers

from dpmosaic.common.data.domain import Domain
from dpmosaic.party.dealing.home import DealerHome
from dpmosaic.party.home.home import PartyHome
from dpmosaic.simulations.local_network.network import LocalNetwork, program
from dpmosaic.simulations.parties.partition import Grid

RECORDS = (100_000, 1_000_000)
ENGINES = ("duckdb", "postgres", "spark")
_FIRST = 1_000
_START_S = 1_800.0


@dataclass(frozen=True)
class Setup:
    """What is released.

    Attributes:
        grid: slices x parties of each.
        engine: where the parties' rows live; one of `ENGINES`.
        ordered: whether parties that are alone in their slice name a column that orders their rows.
        sample: rows of the largest slice that products between parties use; None for the plan's default.
        workers: who multiplies; one of `WORKERS`.
    """

    grid: str
    engine: str
    ordered: bool
    sample: int | None
    workers: str


def measured(records: int, setup: Setup, folder: Path, record: Path | None = None) -> tuple[float, float]:
    """Releases once, and prints one line for each role.

    Args:
        records: rows of all parties of a column.
        setup: what is released.
        folder: an empty folder.
        record: CSV file to which the figures are added; None for none.

    Returns:
        Seconds of processors of all roles together, without generating the rows; and those of the release on
        a clock.
    """
    domain = Domain.coded({f"x{i:02}": size for i, size in enumerate(SIZES)})
    write_file(folder / "first.parquet", domain.names, range(_FIRST))
    several = len(Grid.parse(setup.grid, domain, _FIRST).slices[0].groups) > 1
    network = LocalNetwork.create(
        folder / "network", folder / "first.parquet", domain, setup.grid, dealers=int(several)
    )
    if setup.sample is not None:
        plan = network.plan.read_text()
        network.plan.write_text(plan.replace("# sample = 1000000 ", f"sample = {setup.sample} "))
    each = records // len(network.names)
    with tables(setup.engine, folder) as rows, workers(setup.workers, folder) as cluster:
        for place, row in enumerate(network.names):
            for name in row:
                home = PartyHome.open(network.party(name))
                own = range(place * each, (place + 1) * each)
                rows.write(home, home.domain().names, own, setup.ordered or several)
                _append(home, "max_disk_mb = 65536\n")
                _append(home, cluster.section if name == network.all_names[0] else cluster.others)
        for name in network.dealers:
            _append(DealerHome.open(network.dealer(name)), cluster.others)
        started, before = time.perf_counter(), {"engine": rows.used({})[0], "workers": cluster.used()[0]}
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
            for name, (spent, peak) in {"engine": rows.used(processes), "workers": cluster.used()}.items():
                if peak:
                    roles[name] = spent - before[name], peak
    total = sum(spent for spent, _ in roles.values())
    print(
        f"{setup.grid}, {setup.engine}, {setup.workers}, {records} records: {ready - started:.1f} s to "
        f"encode, {ended - ready:.1f} s to release, {total:.1f} s of processors"
    )
    for name, (spent, peak) in roles.items():
        said = predicted.get(name)
        text = f"  {name:<10} {spent:>8.1f} s of processors {peak:>7.0f} MB"
        if said is not None:
            text += f"; predicted {said['cpu_s'] / spent:.2f} and {said['peak_mb'] / peak:.2f} times as much"
        print(text, flush=True)
        if record is not None:
            with record.open("a", newline="") as file:
                figures = f"{spent:.1f}", f"{peak:.0f}"
                csv.writer(file).writerow((setup.grid, setup.engine, records, name, *figures))
    return total, ended - ready


def _append(home: PartyHome | DealerHome, text: str) -> None:
    policy = home.folder / home.policy_name
    policy.write_text(policy.read_text() + text)


def main() -> None:
    """Prints the seconds and the memory of each role for each number of records, and slope or ratio."""
    parser = argparse.ArgumentParser()
    parser.add_argument("records", type=int, nargs="*", default=RECORDS)
    parser.add_argument("--grid", default="1x2")
    parser.add_argument("--engine", choices=ENGINES, default="duckdb", help="where the parties' rows live")
    parser.add_argument(
        "--unordered", action="store_true", help="rows have no order, so that no codes leave an engine"
    )
    parser.add_argument(
        "--sample", type=int, help="rows of the largest slice that products between parties use"
    )
    parser.add_argument(
        "--workers",
        choices=WORKERS,
        nargs="+",
        default=["threads"],
        help="who multiplies: a thread for each processor, one, or one and a cluster at the first party",
    )
    parser.add_argument("--record", type=Path, help="CSV file to which the figures are added")
    asked = parser.parse_args()
    spent, seconds = [], []
    for records in asked.records:
        for kind in asked.workers:
            setup = Setup(asked.grid, asked.engine, not asked.unordered, asked.sample, kind)
            with tempfile.TemporaryDirectory() as folder:
                processors, release = measured(records, setup, Path(folder), asked.record)
            spent.append(processors)
            seconds.append(release)
        first, *others = seconds[-len(asked.workers) :]
        for kind, other in zip(asked.workers[1:], others, strict=True):
            print(f"{kind}: the release is {first / other:.2f} times as fast as with {asked.workers[0]}")
    if len(asked.records) > 1 and len(asked.workers) == 1:
        slope = math.log(spent[-1] / spent[-2]) / math.log(asked.records[-1] / asked.records[-2])
        print(f"seconds of processors grow as records to the power of {slope:.2f} at the end")


if __name__ == "__main__":
    main()
