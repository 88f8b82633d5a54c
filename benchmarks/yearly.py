"""Releases of the same people year after year under one promise, beside separate ones of an equal share each.

A release that continues another measures the rows of the new year alone; a separate one measures all rows so
far. Both spend the same: a share of epsilon 1, delta 1e-6, for a person with all rows. Printed for each year
is the mean total variation distance of the table so far, with the year as one more column, of

- pairs: of two columns in a row, and of a column of the person with one of the row;
- steps: of a column with each one of the row of the same person in the year before;
- moves: whether a person who came has a row in a year, in the one before, and in an earlier one.

Values are told apart as the domain does. The last lines have ratios of both ways.

Tables: generated panels (`yearly_panels.py`), or the observations of NAFLD as one row for each person and
year of observation, in twelve periods.

Run: python benchmarks/yearly.py [FOLDER] [--panel trend] [--people 10000] [--years 12] [--seed 1]

FOLDER is that of `nafld`.
"""

from __future__ import annotations

import argparse
import itertools
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from yearly_panels import PANELS, Panel, nafld, numbers

import dpmosaic
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.privacy.budget import Budget
from dpmosaic.common.privacy.conversion import gaussian_epsilon
from dpmosaic.curator.results.raw_frames import encode_frame

EPSILON, DELTA = 1.0, 1e-6


def main() -> None:
    """Prints all figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", nargs="?", type=Path, metavar="FOLDER")
    parser.add_argument("--panel", choices=sorted(PANELS), default="trend")
    parser.add_argument("--people", type=int, default=10_000)
    parser.add_argument("--years", type=int, default=12)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    if asked.folder is None:
        panel = PANELS[asked.panel](asked.people, asked.years, np.random.default_rng(asked.seed))
    else:
        panel = nafld(asked.folder, asked.years)
    show(panel, asked.seed)


def show(panel: Panel, seed: int) -> None:
    """Prints the distances of both ways after each year."""
    years = sorted(panel.rows.year.unique())
    share = Budget(EPSILON, DELTA).granted(gaussian_only=True) / len(years)
    alone = gaussian_epsilon(float(2 * share) ** 0.5, DELTA)
    print(
        f"{panel.rows.id.nunique()} people, {len(panel.rows)} rows, {len(years)} years; epsilon {EPSILON:g}"
    )
    heads = (f"{way}: pairs {'steps':>6s} {'moves':>6s}" for way in ("continued", " separate"))
    print(" year  " + "   ".join(heads))
    asked = {
        "key": "id",
        "order": "year",
        "per_person": panel.per_person,
        "delta": DELTA,
        "ledger": False,
        "progress": False,
        "seed": seed,
    }
    found, before = [], None
    with tempfile.TemporaryDirectory() as place:
        for year in years:
            out = Path(place) / str(year)
            continued = dpmosaic.synthesize(
                panel.rows,
                EPSILON,
                domain=panel.domain,
                releases=len(years),
                until=int(year),
                continues=before,
                out=out,
                **asked,
            ).table
            before = out
            so_far = panel.rows[panel.rows.year <= year].reset_index(drop=True)
            domain = panel.domain | {"year": numbers(int(years[0]), max(int(year), 1), max(int(year), 1) + 1)}
            separate = dpmosaic.synthesize(so_far, alone, domain=domain, **asked).table
            found.append([distances(panel, so_far, one) for one in (continued, separate)])
            lines = (f"{pairs:16.4f} {steps:6.4f} {moves:6.4f}" for pairs, steps, moves in found[-1])
            print(f"{year:5d}  " + "   ".join(lines), flush=True)
    means = np.nanmean(np.array(found)[1:], axis=0)
    ratios = means[0] / means[1]
    last = np.array(found[-1][0]) / np.array(found[-1][1])
    print("ratio of the means over all releases but the first: " + _words(ratios))
    print("ratio after the last year: " + _words(last))


def _words(ratios: np.ndarray) -> str:
    return ", ".join(
        f"{name} {one:.2f}" for name, one in zip(("pairs", "steps", "moves"), ratios, strict=True)
    )


def distances(panel: Panel, real: pd.DataFrame, synthetic: pd.DataFrame) -> tuple[float, float, float]:
    """The mean distances of pairs, of steps and of moves, each with the year."""
    own = [name for name in panel.domain if name not in ("year", *panel.per_person)]
    both = [_in_codes(panel, one) for one in (real, synthetic)]
    pairs = [
        _distance(*(one[["year", *pair]] for one in both))
        for pair in (*itertools.combinations(own, 2), *itertools.product(panel.per_person, own))
    ]
    if real.year.nunique() == 1:
        return float(np.mean(pairs)), np.nan, np.nan
    later = [one.assign(year=one.year + 1) for one in both]
    joined = [
        a.merge(b, on=["id", "year"], suffixes=("", " before")) for a, b in zip(both, later, strict=True)
    ]
    steps = [
        _distance(*(rows[["year", one, f"{other} before"]] for rows in joined))
        for one, other in itertools.product(own, own)
    ]
    moves = _distance(*(_moves(one, int(real.year.max())) for one in both))
    return float(np.mean(pairs)), float(np.mean(steps)), moves


def _moves(rows: pd.DataFrame, last: int) -> pd.DataFrame:
    """For each person and year from the second on: whether there are rows in it, just before, and earlier."""
    first = rows.groupby("id").year.min()
    years = [rows[rows.year == year].id for year in range(last + 1)]
    return pd.concat(
        pd.DataFrame(
            {
                "year": year,
                "now": np.isin(first.index, years[year]),
                "last": np.isin(first.index, years[year - 1]),
                "old": (first < year - 1).to_numpy(),
            }
        )[(first <= year).to_numpy()]
        for year in range(1, last + 1)
    )


def _in_codes(panel: Panel, rows: pd.DataFrame) -> pd.DataFrame:
    domain = Domain.from_json({name: one for name, one in panel.domain.items() if name != "year"})
    codes = encode_frame(domain, rows)
    found = {name: codes.column(name) for name in domain}
    return pd.DataFrame({"id": rows.id.astype(int), "year": rows.year.astype(int), **found})


def _distance(real: pd.DataFrame, synthetic: pd.DataFrame) -> float:
    """Total variation distance."""
    one, other = (rows.value_counts(normalize=True) for rows in (real, synthetic))
    return float(one.sub(other, fill_value=0).abs().sum() / 2) if len(other) else 1.0


if __name__ == "__main__":
    main()
