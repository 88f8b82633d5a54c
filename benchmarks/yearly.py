"""Releases of the same people year after year under one promise, beside separate ones of an equal share each.

A release that continues another measures the rows of the new year alone; a separate one measures all rows so
far. Both spend the same: a share of epsilon 1, delta 1e-6, for a person with all rows. Printed for each year
is the mean total variation distance of the table so far, with the year as one more column, of

- pairs: of two columns in a row, and of a column of the person with one of the row;
- steps: of a column with each one of the row of the same person in the year before;
- moves: whether a person who came has a row in a year, in the one before, and in an earlier one.

Values are told apart as the domain does. The last lines have ratios of both ways.

Tables: a generated panel with persistence, entry and exit; or the observations of NAFLD as one row for each
person and year of observation, in twelve periods.

Run: python benchmarks/yearly.py [FOLDER] [--people 10000] [--years 12] [--seed 1]

FOLDER is that of `nafld`.
"""

from __future__ import annotations

import argparse
import itertools
import tempfile
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

import dpmosaic
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.privacy.budget import Budget
from dpmosaic.common.privacy.conversion import gaussian_epsilon
from dpmosaic.curator.results.raw_frames import encode_frame

EPSILON, DELTA = 1.0, 1e-6


@dataclass(frozen=True, eq=False)
class Panel:
    """A table with a row for each person and year.

    Attributes:
        rows: the table, with a key `id` and an order `year`.
        per_person: columns of people.
        domain: content of its domain file.
    """

    rows: pd.DataFrame
    per_person: tuple[str, ...]
    domain: dict[str, dict[str, object]]


def main() -> None:
    """Prints all figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", nargs="?", type=Path, metavar="FOLDER")
    parser.add_argument("--people", type=int, default=10_000)
    parser.add_argument("--years", type=int, default=12)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    if asked.folder is None:
        panel = generated(asked.people, asked.years, np.random.default_rng(asked.seed))
    else:
        panel = nafld(asked.folder, asked.years)
    show(panel, asked.seed)


def generated(people: int, years: int, rng: np.random.Generator) -> Panel:
    """A panel: jobs, incomes and regions persist, and incomes drift; half of the people come later."""
    born, sex = rng.integers(1940, 2000, people), rng.choice(["f", "m"], people)
    comes = np.where(rng.random(people) < 0.5, 0, rng.integers(0, years, people))
    job = rng.choice(4, people, p=[0.4, 0.3, 0.2, 0.1])
    income, region = rng.normal(30, 8, people) + 5 * (job == 0), rng.choice(list("abcdef"), people)
    held, parts = np.zeros(people, dtype=bool), []
    for year in range(years):
        held |= comes == year
        changes = rng.random(people) < 0.15
        job = np.where(changes, (job + rng.integers(0, 2, people) + (sex == "m")) % 4, job)
        income = 0.9 * income + 3 + 0.5 * year * (job == 1) + rng.normal(0, 2.5, people)
        region = np.where(rng.random(people) < 0.05, rng.choice(list("abcdef"), people), region)
        rows = {
            "id": np.arange(people),
            "year": year,
            "born": born,
            "sex": sex,
            "job": np.array(["work", "school", "home", "none"])[job],
            "income": income.clip(0, 99).round().astype(int),
            "region": region,
        }
        parts.append(pd.DataFrame(rows)[held])
        held &= rng.random(people) > 0.06 + 0.05 * (job == 3)
    rows = pd.concat(parts, ignore_index=True)
    return Panel(
        rows,
        ("born", "sex"),
        {
            "year": _numbers(0, years - 1, years),
            "born": _numbers(1940, 2000, 12),
            "sex": _categories(["f", "m"]),
            "job": _categories(["work", "school", "home", "none"]),
            "income": _numbers(0, 99, 20),
            "region": _categories(list("abcdef")),
        },
    )


def nafld(folder: Path, years: int) -> Panel:
    """The last observations of cholesterol and blood pressure of each person and year of observation."""
    people, seen = (pd.read_csv(folder / f"{name}.csv.gz") for name in ("patients", "observations"))
    seen = seen[seen.test.isin(["chol", "sbp", "dbp"])].assign(year=seen.days // 365)
    seen = seen[seen.year.between(0, years - 1)]
    wide = seen.pivot_table(index=["id", "year"], columns="test", values="value", aggfunc="last")
    rows = wide.reset_index().merge(people[["id", "age", "male"]], on="id")
    domain = {
        "year": _numbers(0, years - 1, years),
        "age": _numbers(18, 98, 16),
        "male": _categories([0, 1]),
    }
    for name, low, high in (("chol", 50, 400), ("dbp", 30, 130), ("sbp", 70, 230)):
        domain[name] = _numbers(low, high, 16) | {"nullable": True}
        rows[name] = rows[name].clip(low, high).round()
    return Panel(rows, ("age", "male"), domain)


def _numbers(low: int, high: int, bins: int) -> dict[str, object]:
    return {"type": "numeric", "min": low, "max": high, "bins": bins, "integer": True}


def _categories(names: list[object]) -> dict[str, object]:
    return {"type": "categorical", "categories": names}


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
            domain = panel.domain | {
                "year": _numbers(int(years[0]), max(int(year), 1), max(int(year), 1) + 1)
            }
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
