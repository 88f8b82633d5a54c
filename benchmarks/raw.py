"""Public files without a domain, beside the same files with a domain that a person reviewed, in the same run.

For each file two releases of the same budget and seed: "none" learns what the columns hold, "reviewed" has
the domain file in benchmarks/domains/raw. For each column: the Kolmogorov distance of numbers and dates, or
the total variation distance of texts; the share of impossible values; the share of rows that became "other";
the share of missing values in the real and both synthetic tables; and the unit of rounding of each. Then the
mean distance of all pairs of columns that both releases have, on 20 bins of the real columns, and its ratio.
Figures are means over seeds; of rounding, the last seed's. A star marks what exceeds the limits below, in
files of 5,000 rows and more.

Run: python benchmarks/raw.py [FILE...] [--epsilon 1] [--seeds 1] [--anyway]

Each file is in a package that has to be installed; see raw_files.py.
"""

from __future__ import annotations

import argparse
import tempfile
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from raw_columns import Column, Texts, compared, numbers, pairs, read_texts, unit_of
from raw_files import FILES

import dpmosaic
from dpmosaic.common.data.attributes.attribute import Attribute
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.errors import DataError

DOMAINS = Path(__file__).parent / "domains" / "raw"
WAYS = ("none", "reviewed")

DISTANCE, IMPOSSIBLE, MISSING, PAIRS = 0.03, 0.005, 0.002, 1.25
"""Limits: of Kolmogorov distances, shares of impossible values, shares of missing values where there are
none, and the ratio of pairs."""

LARGE = 5_000


@dataclass(frozen=True)
class Made:
    """A release of a file.

    Attributes:
        texts: the cells of its table, as a reader of its file has them.
        seconds: what it took.
    """

    texts: Texts
    seconds: float


def main() -> None:
    """Prints the figures of each file."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="*", choices=[*FILES, []])
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--anyway", action="store_true", help="also files that are refused as too small")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        for name in asked.files or FILES:
            compare(name, FILES[name].written(Path(folder) / f"{name}.csv"), asked)


def compare(name: str, path: Path, asked: argparse.Namespace) -> None:
    """Prints a line for each column of a file, and one for its pairs."""
    domain, real = Domain.load(DOMAINS / f"{name}.json"), read_texts(path)
    rows = len(next(iter(real.values())))
    print(f"{name}: {rows:,} rows, {len(real)} columns, epsilon {asked.epsilon:g}", flush=True)
    made: dict[str, list[Made]] = {}
    try:
        for seed in range(1, asked.seeds + 1):
            for way in WAYS:
                reviewed = domain if way == "reviewed" else None
                made.setdefault(way, []).append(released(path, reviewed, asked, seed))
    except DataError as refusal:
        print(f"  refused: {refusal}\n", flush=True)
        return
    shown(domain, real, made, rows >= LARGE)


def released(path: Path, domain: Domain | None, asked: argparse.Namespace, seed: int) -> Made:
    """A release of a file.

    Raises:
        DataError: it has too few rows to learn what its columns hold.
    """
    started = time.perf_counter()
    anyway = asked.anyway and domain is None
    made = dpmosaic.synthesize(path, asked.epsilon, domain=domain, seed=seed, anyway=anyway, progress=False)
    seconds = time.perf_counter() - started
    with tempfile.TemporaryDirectory() as folder:
        made.save(Path(folder) / "release")
        return Made(read_texts(Path(folder) / "release" / "synthetic.csv"), seconds)


def shown(domain: Domain, real: Texts, made: Mapping[str, Sequence[Made]], large: bool) -> None:
    """Prints the figures.

    Args:
        domain: the reviewed domain.
        real: the real cells.
        made: the releases of each seed, by way.
        large: whether the limits hold.
    """
    print(f"  {'':28} distance        impossible      other   missing                 rounding")
    print(f"  {'column':28} {'none   reviewed ' * 2} none    real   none   reviewed  real none reviewed")
    none = [one.texts for one in made["none"]]
    for name in domain:
        if all(name in texts for texts in none):
            columns = {
                way: [compared(domain[name], real[name], one.texts[name]) for one in ones]
                for way, ones in made.items()
            }
            print(_line(domain[name], real, columns, large), flush=True)
    lost = [name for name in real if any(name not in texts for texts in none)]
    print(f"  left out: {', '.join(lost) or 'nothing'}")
    common = Domain(tuple(domain[name] for name in domain if name not in lost))
    found = [float(np.mean([pairs(common, real, one.texts) for one in made[way]])) for way in WAYS]
    ratio = found[0] / found[1]
    seconds = [float(np.mean([one.seconds for one in made[way]])) for way in WAYS]
    print(
        f"  pairs {found[0]:.4f} {found[1]:.4f}, ratio {ratio:.2f}{_star(large and ratio > PAIRS)}; "
        f"{seconds[0]:.0f} s, {seconds[1]:.0f} s\n",
        flush=True,
    )


def _line(attribute: Attribute, real: Texts, columns: Mapping[str, Sequence[Column]], large: bool) -> str:
    cells = real[attribute.name]
    known, gone = numbers(attribute, cells), float(np.mean(cells == ""))
    none, reviewed = (columns[way] for way in WAYS)
    distance, impossible, other, missing = (
        [float(np.mean([getattr(one, key) for one in ones])) for ones in (none, reviewed)]
        for key in ("distance", "impossible", "other", "missing")
    )
    lost = large and gone == 0 and missing[0] > MISSING
    units = [None if known is None else unit_of(known), none[-1].unit, reviewed[-1].unit]
    far = large and known is not None and distance[0] > DISTANCE
    return " ".join(
        [
            f"  {attribute.name[:28]:28}",
            f"{distance[0]:.4f}{_star(far)} {distance[1]:.4f} ",
            f"{impossible[0]:.4f}{_star(large and impossible[0] > IMPOSSIBLE)} {impossible[1]:.4f} ",
            f"{other[0]:.4f} ",
            f"{gone:.4f} {missing[0]:.4f}{_star(lost)} {missing[1]:.4f}",
            *("" if units[0] is None else f"{unit:g}" if unit else "any" for unit in units),
            _star(large and units[0] != units[1]),
        ]
    )


def _star(exceeds: bool) -> str:
    return "*" if exceeds else " "


if __name__ == "__main__":
    main()
