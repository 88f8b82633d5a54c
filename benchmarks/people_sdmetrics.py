"""SDMetrics' diagnostic of releases of several tables: do they hold what the real tables hold?

Both are read from CSV files by the same program, as their users read them. The metadata are those of the
release's dossier. Domains are those of `people.py`. The diagnostic counts every value beyond the real
smallest or largest one. So with `--exact` domains state these two, as `dpsynth.relational` is told them in
`people.py`; where they are not public, a release may not.

Run: python benchmarks/people_sdmetrics.py FOLDER... --sdmetrics PYTHON [--exact] [--seed 0] [--epsilon 1]

PYTHON is that of an environment that has SDMetrics. A FOLDER is that of `nafld` or `airbnb`.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

if TYPE_CHECKING:
    import dpmosaic
    from dpmosaic.curator.people.release import PeopleRelease

_READ = "--read"
"""With it and a folder, by the Python that has SDMetrics."""

_RANGES = ("numeric", "date", "timestamp")


def main() -> None:
    """Prints the diagnostic of a release of the tables of each folder."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    parser.add_argument("--sdmetrics", type=Path, required=True, metavar="PYTHON")
    parser.add_argument("--exact", action="store_true")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--epsilon", type=float, default=1.0)
    asked = parser.parse_args()
    for folder in asked.folders:
        print(f"{folder.name}, epsilon {asked.epsilon:g}, {'exact' if asked.exact else 'drafted'} ranges")
        print(_diagnostic(asked.sdmetrics, folder, asked.exact, asked.epsilon, asked.seed), flush=True)


def _diagnostic(python: Path, folder: Path, exact: bool, epsilon: float, seed: int) -> str:
    """The score, its parts, and each column that is not at 100 %, in lines."""
    from people import READERS, domains_of, release_of

    real = READERS[folder.name](folder)
    domains = domains_of(real)
    if exact:
        domains = {table: _exact(domain, real.tables[table]) for table, domain in domains.items()}
    return _read_by(python, real.tables, release_of(real, domains, epsilon, seed))


def _exact(domain: dpmosaic.Domain, rows: pd.DataFrame) -> dpmosaic.Domain:
    """The domain with the real smallest and largest values, of a date also where it was said as a gap."""
    return type(domain).from_json(
        {name: _ranged(entry, rows[name]) for name, entry in domain.to_json().items() if name in rows}
        | {name: entry for name, entry in domain.to_json().items() if name not in rows}
    )


def _ranged(entry: Any, column: pd.Series) -> Any:
    if not isinstance(entry, dict) or entry.get("type") not in _RANGES:
        return entry
    # Values of their own, such as a 0 below a logarithmic scale, lie beyond the range.
    known = column.dropna()
    known = known[~known.isin(entry.get("atoms", []))]
    if entry["type"] == "numeric":
        return entry | {"min": known.min().item(), "max": known.max().item()}
    ends = (pd.to_datetime(one).isoformat() for one in (known.min(), known.max()))
    low, high = (one.removesuffix("T00:00:00") if entry["type"] == "date" else one for one in ends)
    plain = {name: one for name, one in entry.items() if name not in ("after", "atoms", "scale")}
    return plain | {"min": low, "max": high, "bins": "auto"}


def _read_by(python: Path, real: dict[str, pd.DataFrame], release: PeopleRelease) -> str:
    from dpmosaic.curator.dossier.metadata import sdmetrics
    from dpmosaic.curator.dossier.subject import Subject

    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        (folder / "real").mkdir()
        for name, rows in real.items():
            rows.to_csv(folder / "real" / f"{name}.csv", index=False)
        release.save(folder / "made")
        (folder / "metadata.json").write_text(json.dumps(sdmetrics(Subject.load(folder / "made"))))
        done = subprocess.run([python, __file__, _READ, folder], capture_output=True, text=True, check=True)
        return done.stdout


def read(folder: Path) -> None:
    """Prints the diagnostic of the tables in a folder; its Python needs SDMetrics and pandas alone."""
    from sdmetrics.reports.multi_table import DiagnosticReport

    metadata = json.loads((folder / "metadata.json").read_text())
    real, made = (
        {name: pd.read_csv(folder / where / f"{name}.csv") for name in metadata["tables"]}
        for where in ("real", "made/tables")
    )
    report = DiagnosticReport()
    report.generate(real, made, metadata, verbose=False)
    print(f"SDMetrics' diagnostic: {report.get_score():.2%}")
    for what, score in report.get_properties().itertuples(index=False):
        print(f"  {what}: {score:.2%}")
        found = report.get_details(what)
        for row in found[found["Score"] < 1].to_dict("records"):
            of = f"{row.get('Table', row.get('Child Table'))} {row.get('Column', '')}"
            print(f"    {of.strip()}: {row['Metric']} {row['Score']:.2%}")


if __name__ == "__main__":
    if sys.argv[1:2] == [_READ]:
        read(Path(sys.argv[2]))
    else:
        main()
