"""Numbers that papers publish for public tables, and ours at their epsilon, delta and metric.

Reference: `benchmarks/published.csv`, what papers print; docs/published.md says where each number is from and
what differs. One cell is one release: a protocol of measurement, a table, an epsilon, a mechanism and a seed.
Cells in the file of `--out` are not run again, so that a stopped run resumes.

Run: python benchmarks/published.py FOLDER... [--out published.json] [--protocol NAME...] [--epsilon E...]
    [--mechanism NAME...] [--seeds 3] [--markdown] [--page docs/published.md]

A FOLDER is called adult, nltcs, titanic or br2000, and holds NAME.csv.gz (or .csv, .parquet) and domain.json;
folders of other names are left out. After the missing cells of the folders, if any, were run, `--markdown`
prints the tables of all cells in the file, and `--page` puts them in place of those of the page.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from published_tab_pe import measured_as_tab_pe
from published_tables import markdown, refreshed

import dpmosaic
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table
from dpmosaic.simulations.evaluation.metrics import kway_errors

DOMAINS = Path(__file__).parent / "domains"
MECHANISMS = ("mosaic", "aim", "mst", "independent")

Figures = Mapping[str, float]
Released = Callable[[Table], Table]


@dataclass(frozen=True)
class Protocol:
    """How a paper measures.

    Attributes:
        tables: names of the tables that we have.
        epsilons: those that are run.
        delta: number of records of the released table -> delta.
        measured: the real table, the release, and a seed for splits -> figures.
        workload: what a mechanism that follows one is asked for; None for its default.
        mechanisms: those that are run.
    """

    tables: tuple[str, ...]
    epsilons: tuple[float, ...]
    delta: Callable[[int], float]
    measured: Callable[[Table, Released, int], Figures]
    workload: str | None = None
    mechanisms: tuple[str, ...] = MECHANISMS


def workload_error(k: int) -> Callable[[Table, Released, int], Figures]:
    """AIM, definition 2: the L1 distance of k-way marginals over the number of records, mean over all."""

    def measured(real: Table, release: Released, seed: int) -> Figures:
        workload = dpmosaic.Workload.all_kway(real.domain, k)
        return {"L1": workload.error(real, release(real))}

    return measured


def total_variations(real: Table, release: Released, seed: int) -> Figures:
    """As the code of PrivMRF: mean total variation distance of 300 marginals, or of all if they are fewer."""
    return {f"{error.k}-way": error.total_variation for error in kway_errors(real, release(real), (3, 5))}


PROTOCOLS = {
    "pairs": Protocol(
        ("adult", "nltcs", "titanic"), (0.1, 1, 10), lambda records: 1e-9, workload_error(2), "2way"
    ),
    "triples": Protocol(("adult", "nltcs"), (0.1, 1, 10), lambda records: 1e-9, workload_error(3), "3way"),
    "privmrf": Protocol(
        ("nltcs", "br2000"), (0.2, 0.8, 3.2), lambda records: 1e-5, total_variations, mechanisms=("mosaic",)
    ),
    "tab-pe": Protocol(
        ("adult",),
        (1,),
        lambda records: 1 / (records * math.log(records)),
        measured_as_tab_pe,
        mechanisms=("mosaic", "aim"),
    ),
}


def main() -> None:
    """Runs the missing cells, then prints or places the tables if asked."""
    asked = _arguments()
    cells = json.loads(asked.out.read_text(encoding="utf-8")) if asked.out.exists() else {}
    for folder in asked.folders:
        for name in asked.protocol:
            protocol = PROTOCOLS[name]
            if folder.name in protocol.tables:
                run(folder, name, protocol, asked, cells)
    if asked.markdown:
        print(markdown(cells))
    if asked.page:
        page = refreshed(asked.page.read_text(encoding="utf-8"), cells)
        asked.page.write_text(page, encoding="utf-8")


def run(
    folder: Path, name: str, protocol: Protocol, asked: argparse.Namespace, cells: dict[str, Figures]
) -> None:
    """Runs and writes the cells of a table that are missing, and prints each."""
    table: Table | None = None
    for epsilon in [one for one in protocol.epsilons if one in (asked.epsilon or protocol.epsilons)]:
        for mechanism in [one for one in protocol.mechanisms if one in asked.mechanism]:
            for seed in range(1, asked.seeds + 1):
                key = f"{name}/{folder.name}/{epsilon:g}/{mechanism}/{seed}"
                if key not in cells:
                    table = table or load(folder, name)
                    cells[key] = cell(table, protocol, epsilon, mechanism, seed)
                    asked.out.write_text(json.dumps(cells, indent=1) + "\n", encoding="utf-8")
                figures = "  ".join(f"{metric} {value:.5g}" for metric, value in cells[key].items())
                print(f"{key:36} {figures}", flush=True)


def cell(table: Table, protocol: Protocol, epsilon: float, mechanism: str, seed: int) -> Figures:
    """The figures of one release."""

    def release(rows: Table) -> Table:
        promise = dpmosaic.Budget(epsilon=epsilon, delta=protocol.delta(rows.record_count))
        # In rho, because the independent check of epsilon takes longer than the release.
        granted = dpmosaic.Budget(zcdp_rho=float(promise.granted(gaussian_only=True)))
        return dpmosaic.simulate(
            rows,
            epsilon=granted,
            protocol="trusted",
            mechanism=mechanism,
            workload=protocol.workload,
            seed=seed,
        ).rows

    return protocol.measured(table, release, seed)


def load(folder: Path, protocol: str) -> Table:
    """The table, in the coding of AIM's authors for their metric and in its own otherwise."""
    coded = DOMAINS / f"{folder.name}-aim.json"
    own = protocol not in ("pairs", "triples") or not coded.exists()
    domain = Domain.load(folder / "domain.json" if own else coded)
    paths = [folder / (folder.name + ending) for ending in (".csv.gz", ".csv", ".parquet")]
    return dpmosaic.read_table(next(path for path in paths if path.exists()), domain)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--out", type=Path, default=Path("published.json"))
    parser.add_argument("--protocol", nargs="+", choices=list(PROTOCOLS), default=list(PROTOCOLS))
    parser.add_argument("--epsilon", nargs="+", type=float)
    parser.add_argument("--mechanism", nargs="+", choices=MECHANISMS, default=MECHANISMS)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--markdown", action="store_true")
    parser.add_argument("--page", type=Path)
    return parser.parse_args()


if __name__ == "__main__":
    main()
