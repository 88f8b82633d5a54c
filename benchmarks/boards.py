"""The board of NIST: the score of pairs of SDNist for releases of its table, at epsilon 1.

Reference: a sample of 40 % of the real table, and the scores that SDNist's own reports print. The columns are
the ten of those reports, or all 24, where `mosaic` is run a second time with the area as its target, by which
SDNist groups. The domain and the rules are those of `domains/nist2019.json`, which follows the public
dictionary and SDNist's list of inconsistencies: nothing in it comes from the rows. Each line ends with the
number of rows that break a rule.

Run: python benchmarks/boards.py FOLDER [--columns 10 24] [--mechanism NAME...] [--seeds 5]
    [--out boards.json] [--page docs/published.md] [--least 988]

FOLDER holds nist2019.csv.gz (or .csv, .parquet): the national table of 2019, in the codes of the domain. With
`--least`, the command fails if the mean score of `mosaic` on ten columns is lower.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from boards_score import judge
from published_tables import placed

import dpmosaic
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table

DOMAIN = Path(__file__).parent / "domains" / "nist2019.json"
EPSILON, DELTA = 1.0, 1e-9
SAMPLE = 0.4

TEN = tuple("agep sex msp rac1p housing_type own_rent edu pincp_decile dvet deye".split())
"""The columns of the reports `r_aim_e_1_demographic` and `r_mst_e_1_demographic_na2019`."""
REPORTED = {"40 % of the real rows": 987, "AIM": 976, "MST": 958}
"""What these reports print; they cut decimals."""

NAMES = {
    "sample": "40 % of the real rows",
    "mosaic": "`mosaic`",
    "mosaic-puma": "`mosaic`, target `puma`",
    "aim": "`aim`",
    "mst": "`mst`",
}
"""What is run -> its line in a table."""
TITLES = {10: "SDNist, ten columns, epsilon 1", 24: "SDNist, all 24 columns, epsilon 1"}

Figures = Mapping[str, float]
Cells = Mapping[str, Figures]


def main() -> None:
    """Runs the missing cells, prints the tables, places them if asked, and fails below the least score."""
    asked = _arguments()
    cells: dict[str, Figures] = json.loads(asked.out.read_text("utf-8")) if asked.out.exists() else {}
    for columns in asked.columns:
        for name in asked.mechanism:
            if name == "mosaic-puma" and columns == len(TEN):
                continue
            for seed in range(1, asked.seeds + 1):
                key = f"{columns}/{name}/{seed}"
                if key not in cells:
                    cells[key] = cell(load(asked.folder, columns), name, seed)
                    asked.out.write_text(json.dumps(cells, indent=1) + "\n", encoding="utf-8")
                figures = "  ".join(f"{word} {value:.1f}" for word, value in cells[key].items())
                print(f"{key:16} {figures}", flush=True)
    print(f"\n{markdown(cells)}")
    if asked.page:
        asked.page.write_text(placed(asked.page.read_text("utf-8"), markdown(cells)), encoding="utf-8")
    if asked.least and means(cells, 10, "mosaic")["score"] < asked.least:
        sys.exit(f"expected a score of mosaic of at least {asked.least:g}")


def load(folder: Path, columns: int) -> Table:
    """The table, with ten columns or all, in the domain of the public dictionary."""
    domain = Domain.load(DOMAIN)
    paths = [folder / ("nist2019" + ending) for ending in (".csv.gz", ".csv", ".parquet")]
    table = dpmosaic.read_table(next(path for path in paths if path.exists()), domain)
    return table.project(TEN) if columns == len(TEN) else table


def cell(real: Table, mechanism: str, seed: int) -> Figures:
    """The scores of one release or sample, and how many of its rows break a rule."""
    rows = _sample(real, seed) if mechanism == "sample" else _release(real, mechanism, seed)
    return {**judge(real, rows), "inconsistent rows": float(inconsistent(rows))}


def inconsistent(rows: Table) -> int:
    """The number of rows that break a rule of the domain."""
    codes = {name: np.asarray(rows.column(name), dtype=np.int64) for name in rows.domain.names}
    broken = [rule.forbids(rows.domain, codes) for rule in rows.domain.rules]
    return int(np.any(broken, axis=0).sum())


def markdown(cells: Cells) -> str:
    """A table for each number of columns that was run."""
    return "\n\n".join(_table(columns, cells) for columns in TITLES if _run(cells, columns))


def means(cells: Cells, columns: int, mechanism: str) -> Figures:
    """The mean of each figure over the seeds that were run."""
    found = [figures for key, figures in cells.items() if key.rsplit("/", 1)[0] == f"{columns}/{mechanism}"]
    return {word: float(np.mean([figures[word] for figures in found])) for word in found[0]}


def _sample(real: Table, seed: int) -> Table:
    rng = np.random.default_rng(seed)
    return real.take(rng.choice(real.record_count, round(SAMPLE * real.record_count), replace=False))


def _release(real: Table, mechanism: str, seed: int) -> Table:
    promise = dpmosaic.Budget(epsilon=EPSILON, delta=DELTA)
    # In rho, because the independent check of epsilon takes longer than the release.
    granted = dpmosaic.Budget(zcdp_rho=float(promise.granted(gaussian_only=True)))
    name, _, target = mechanism.partition("-")
    return dpmosaic.simulate(
        real, epsilon=granted, protocol="trusted", mechanism=name, target=target or None, seed=seed
    ).rows


def _run(cells: Cells, columns: int) -> list[str]:
    """The mechanisms that were run with so many columns."""
    return [name for name in NAMES if any(key.startswith(f"{columns}/{name}/") for key in cells)]


def _table(columns: int, cells: Cells) -> str:
    found = {name: means(cells, columns, name) for name in _run(cells, columns)}
    words = list(next(iter(found.values())))
    lines: list[Sequence[str]] = [["", "", *words], ["---"] * (len(words) + 2)]
    if columns == len(TEN):
        lines += [[name, "report", str(score), *[""] * (len(words) - 1)] for name, score in REPORTED.items()]
    for name, figures in found.items():
        lines.append([NAMES[name], "ours", *(f"{figures[word]:.1f}".removesuffix(".0") for word in words)])
    return "\n".join([f"**{TITLES[columns]}**", "", *(f"| {' | '.join(line)} |" for line in lines)])


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--columns", nargs="+", type=int, choices=list(TITLES), default=list(TITLES))
    parser.add_argument("--mechanism", nargs="+", choices=list(NAMES), default=list(NAMES))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--out", type=Path, default=Path("boards.json"))
    parser.add_argument("--page", type=Path)
    parser.add_argument("--least", type=float)
    return parser.parse_args()


if __name__ == "__main__":
    main()
