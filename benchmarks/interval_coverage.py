"""Whether intervals hold: shares of 95 % intervals that contain the real table's number, by table and kind.

Each table of `interval_tables.py` is released with other noise for each seed (delta 1e-9, trusted, bins
chosen by the release), and each release answers the same questions (`interval_questions.py`).

For each table and kind: the share of intervals that contain the truth, the share of numbers that got one, the
median width as a multiple of the interval that the real table gives about the population, the root mean
square of errors in units of their stated standard errors, which is 1 where these are right, and the share of
numbers that fail in more releases than chance explains (of 6 in 3, of 10 in 4). Numbers of one release share
its noise, so standard errors of the first and the fourth are those of the means of releases.

Run: python benchmarks/interval_coverage.py --releases FOLDER [--data FOLDER] [--tables pay ...] [--rows 2000]
     [--seeds 3] [--epsilon 1 .3]

Releases are kept in the folder and used again by the next run. --data is the folder of the public tables, of
which each is represented by a sample of --rows. --answers FILE writes all answers as CSV.
"""

from __future__ import annotations

import argparse
import itertools
import warnings
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from interval_questions import KINDS, Question, questions_of
from interval_tables import MOST_ROWS, TABLES, table_of
from intervals import Z, frame_of, released
from scipy.stats import binom

from dpmosaic.common.errors import DataError
from dpmosaic.curator.analysis.published import Published

CHANCE = 0.005
"""Intervals that hold 95 times of 100 fail in so many releases, or more, no more often than this."""


def main() -> None:
    """Prints the figures of each table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--releases", type=Path, required=True)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--tables", nargs="+", choices=TABLES, required=True)
    parser.add_argument("--rows", type=int, default=MOST_ROWS)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--epsilon", type=float, nargs="+", default=[1.0])
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--answers", type=Path)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    found: list[pd.DataFrame] = []
    for name, epsilon in itertools.product(asked.tables, asked.epsilon):
        found.append(answered(name, epsilon, asked))
        print(f"{name}, epsilon {epsilon:g}, {asked.seeds} releases\n{figures(found[-1])}\n", flush=True)
        if asked.answers:
            pd.concat(found).to_csv(asked.answers, index=False)
    print(f"all\n{figures(pd.concat(found))}\n\n{markdown(found)}")


def answered(name: str, epsilon: float, asked: argparse.Namespace) -> pd.DataFrame:
    """The answers of all releases of a table, one row for each number."""
    domain, raw = table_of(name, asked.data, asked.rows)
    questions, rows = questions_of(name, domain, frame_of(domain, raw)), list[dict[str, Any]]()
    folder = asked.releases / f"{name}-{len(next(iter(raw.values())))}-{epsilon:g}"
    # Tables have other noise, so that their figures are independent.
    first = zlib.crc32(name.encode()) % 10**6
    for seed in range(first, first + asked.seeds):
        published = released(domain, raw, folder / str(seed), seed, epsilon)
        label = {"table": name, "epsilon": epsilon, "seed": seed}
        for question in questions:
            if question.kind in asked.kinds:
                rows += [label | row for row in answers(question, published)]
    return with_figures(pd.DataFrame(rows))


def answers(question: Question, published: Published) -> Iterator[dict[str, Any]]:
    """One row for each number that is asked for."""
    try:
        found = question.answers(published)
    except DataError:
        found = {}
    for name, (truth, sampling) in question.truth.items():
        row = {"kind": question.kind, "question": str((question.arguments, question.named)), "name": name}
        yield row | {"truth": truth, "sampling": sampling} | dict(found.get(name, {"low": np.nan}))


def with_figures(rows: pd.DataFrame) -> pd.DataFrame:
    """Answers with what is counted of them."""
    # A sum of 1's may be off by rounding where an interval is one number.
    slack = 1e-9 * (1 + rows["truth"].abs())
    above, below = rows["truth"] - rows["low"] >= -slack, rows["high"] - rows["truth"] >= -slack
    return rows.assign(
        given=np.isfinite(rows["low"]),
        held=above & below,
        width=(rows["high"] - rows["low"]) / (2 * Z * rows["sampling"]),
        z=(rows["estimate"] - rows["truth"]) / np.hypot(rows["noise"], rows["unexplained"]),
    )


def figures(rows: pd.DataFrame) -> str:
    """The figures of each kind of question, as text."""
    return "\n".join(f"  {kind:12} {_figures_of(rows[rows['kind'] == kind])}" for kind in KINDS)


def markdown(found: Sequence[pd.DataFrame]) -> str:
    """A table of all figures, by table and epsilon."""
    named = {f"{one.at[0, 'table']}, {one.at[0, 'epsilon']:g}": one for one in found} | {
        "all": pd.concat(found)
    }
    lines = [f"| hold, answered, width, errors | {' | '.join(KINDS)} |", f"|{'---|' * (len(KINDS) + 1)}"]
    for name, rows in named.items():
        lines.append(f"| {name} | {' | '.join(_figures_of(rows[rows['kind'] == kind]) for kind in KINDS)} |")
    return "\n".join(lines)


def _figures_of(rows: pd.DataFrame) -> str:
    """How many intervals hold, how many numbers have one, width, errors in standard errors, weak numbers."""
    given = rows[rows["given"]]
    if not len(given):
        return "none" if len(rows) else ""
    held = _mean_text(given["held"].astype(float), given)
    error = _mean_text(np.minimum(given["z"].abs(), 9) ** 2, given, root=True)
    by = given.groupby(["table", "epsilon", "question", "name"])["held"]
    failed = binom.sf(by.size() - by.sum() - 1, by.size(), 0.05)
    weak = float((failed < CHANCE).mean())
    return (
        f"{held} of {len(given)}, {rows['given'].mean():.0%}, {given['width'].median():.1f}, {error}, "
        f"{weak:.0%} weak"
    )


def _mean_text(values: pd.Series, rows: pd.DataFrame, root: bool = False) -> str:
    """A mean with its standard error over releases; or the root of a mean."""
    mean = float(values.mean())
    sums = values.groupby([rows["table"], rows["epsilon"], rows["seed"]]).agg(["sum", "size"])
    n = len(sums)
    error = float(np.sqrt(((sums["sum"] - mean * sums["size"]) ** 2).sum() * n / max(n - 1, 1))) / len(values)
    if root:
        mean, error = mean**0.5, error / (2 * max(mean, 1e-9) ** 0.5)
    return f"{mean:.2f} ± {error:.2f}"


if __name__ == "__main__":
    main()
