"""Tables of people and years for `yearly.py`: generated ones, and the observations of NAFLD."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

_Cells = NDArray[Any]


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


def trend(people: int, years: int, rng: np.random.Generator) -> Panel:
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
        parts.append(_rows_of(year, born, sex, job, income, region)[held])
        held &= rng.random(people) > 0.06 + 0.05 * (job == 3)
    rows = pd.concat(parts, ignore_index=True)
    return Panel(
        rows,
        ("born", "sex"),
        {
            "year": numbers(0, years - 1, years),
            "born": numbers(1940, 2000, 12),
            "sex": categories(["f", "m"]),
            "job": categories(["work", "school", "home", "none"]),
            "income": numbers(0, 99, 20),
            "region": categories(list("abcdef")),
        },
    )


def steady(people: int, years: int, rng: np.random.Generator) -> Panel:
    """As `trend`, but what people do is the same in all years."""
    like = trend(people, years, rng)
    shares = [0.4, 0.2, 0.15, 0.1, 0.1, 0.05]
    born, sex = rng.integers(1940, 2000, people), rng.choice(["f", "m"], people)
    comes = np.where(rng.random(people) < 0.5, 0, rng.integers(0, years, people))
    job = rng.choice(4, people, p=[0.25] * 4)
    income = rng.normal(30, 8, people) + 6 * (job == 0)
    region = rng.choice(list("abcdef"), people, p=shares)
    held, parts = np.zeros(people, dtype=bool), []
    for year in range(years):
        held |= comes == year
        changes = rng.random(people) < 0.15
        job = np.where(changes, (job + rng.integers(0, 2, people) + (sex == "m")) % 4, job)
        income = 0.9 * income + 3 + 0.6 * (job == 0) - 0.6 * (job == 3) + rng.normal(0, 2.5, people)
        moves = rng.random(people) < 0.05
        region = np.where(moves, rng.choice(list("abcdef"), people, p=shares), region)
        parts.append(_rows_of(year, born, sex, job, income, region)[held])
        held &= rng.random(people) > 0.06 + 0.05 * (job == 3)
    return Panel(pd.concat(parts, ignore_index=True), like.per_person, like.domain)


def _rows_of(
    year: int, born: _Cells, sex: _Cells, job: _Cells, income: _Cells, region: _Cells
) -> pd.DataFrame:
    """A row of each person of `trend` and `steady`."""
    return pd.DataFrame(
        {
            "id": np.arange(len(born)),
            "year": year,
            "born": born,
            "sex": sex,
            "job": np.array(["work", "school", "home", "none"])[job],
            "income": income.clip(0, 99).round().astype(int),
            "region": region,
        }
    )


def clinic(people: int, years: int, rng: np.random.Generator) -> Panel:
    """Visits in some years, with values of a laboratory that hang together and drift for each person."""
    age, sex = rng.integers(20, 85, people), rng.choice(["f", "m"], people)
    smoke = rng.choice(["no", "yes", "ex"], people, p=[0.6, 0.2, 0.2])
    comes = np.minimum(rng.geometric(0.25, people) - 1, years - 1)
    spread, moves = np.array([[0.8], [12.0], [4.0]]), np.array([[0.1], [1.5], [0.4]])
    own, noise = rng.normal(0, 1, (3, people)), rng.normal(0, 1, (3, people))
    values = np.array([[5.2], [70.0], [28.0]]) + spread * (0.7 * own + 0.3 * noise)
    values += np.array([[0.01], [0.2], [0.02]]) * (age - 50)
    gone, parts = comes + rng.geometric(0.12, people), []
    for year in range(years):
        here = (comes <= year) & (year < gone) & ((comes == year) | (rng.random(people) < 0.65))
        seen = values + np.array([[0.3], [5.0], [1.0]]) * rng.normal(0, 1, (3, people))
        values = values + moves * rng.normal(0, 1, (3, people))
        rows = {
            "id": np.arange(people),
            "year": year,
            "born": 2000 - age,
            "sex": sex,
            "smoke": smoke,
            "hba": (seen[0] * 10).clip(30, 119).round().astype(int),
            "egfr": seen[1].clip(10, 149).round().astype(int),
            "bmi": seen[2].clip(15, 54).round().astype(int),
        }
        parts.append(pd.DataFrame(rows)[here])
    domain = {
        "year": numbers(0, years - 1, years),
        "born": numbers(1910, 1985, 15),
        "sex": categories(["f", "m"]),
        "smoke": categories(["no", "yes", "ex"]),
        "hba": numbers(30, 119, 18),
        "egfr": numbers(10, 149, 14),
        "bmi": numbers(15, 54, 13),
    }
    return Panel(pd.concat(parts, ignore_index=True), ("born", "sex", "smoke"), domain)


def nafld(folder: Path, years: int) -> Panel:
    """The last observations of cholesterol and blood pressure of each person and year of observation."""
    people, seen = (pd.read_csv(folder / f"{name}.csv.gz") for name in ("patients", "observations"))
    seen = seen[seen.test.isin(["chol", "sbp", "dbp"])].assign(year=seen.days // 365)
    seen = seen[seen.year.between(0, years - 1)]
    wide = seen.pivot_table(index=["id", "year"], columns="test", values="value", aggfunc="last")
    rows = wide.reset_index().merge(people[["id", "age", "male"]], on="id")
    domain = {
        "year": numbers(0, years - 1, years),
        "age": numbers(18, 98, 16),
        "male": categories([0, 1]),
    }
    for name, low, high in (("chol", 50, 400), ("dbp", 30, 130), ("sbp", 70, 230)):
        domain[name] = numbers(low, high, 16) | {"nullable": True}
        rows[name] = rows[name].clip(low, high).round()
    return Panel(rows, ("age", "male"), domain)


def numbers(low: int, high: int, bins: int) -> dict[str, object]:
    """The entry of whole numbers in a domain."""
    return {"type": "numeric", "min": low, "max": high, "bins": bins, "integer": True}


def categories(names: list[object]) -> dict[str, object]:
    """The entry of categories in a domain."""
    return {"type": "categorical", "categories": names}


PANELS: dict[str, Callable[[int, int, np.random.Generator], Panel]] = {
    "trend": trend,
    "steady": steady,
    "clinic": clinic,
}
"""The generated ones by name."""
