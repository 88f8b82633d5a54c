"""Related tables: how far released rows are from the real ones, beside simpler ways.

For each table that belongs to another one: Kolmogorov distance of numbers of rows; mean total variation
distance of pairs of its own columns, of an own one and one of a table above, and of an own one and one of the
row before, counted by rows, numbers in ten groups of equal mass; of these the transitions of a column; gaps;
time spans; orphans. NAFLD's transitions of cholesterol have a line of their own. Beside the release:

- independent: each column as in the real table, independent of all others.
- with series: NAFLD's observations with `series`, so that what follows what is kept within a test. "By
  series" are distances to the last row of the same test in place of the row before.
- shuffled order: the real table, with the rows of each person in random order; the order's column stays.
- flat, all rows: `mosaic` on the joined table, by the budget that a person of the largest number m of rows
  leaves, that is with m times the noise; it knows no person.
- flat, 4 rows: the same with at most four rows of each person, drawn at random.

A flat release gets the whole budget for one table, with the number of its rows public; the release of related
tables shares it among all tables.

- dpsynth: `dpsynth.relational`, with `--dpsynth PYTHON`, the Python of an environment that has it: a checkout
  of google/dpsynth, with mbi. It gets the same zCDP, is told the same columns with all their values, dates as
  numbers, and takes a largest number of rows per parent, over which rows are dropped: three are tried. It has
  no order: rows are in that of its output, or of the order's column.

The unit is a person, epsilon 1 and delta 1e-6. Domains are drafts of the real tables, taken for reviewed. The
generated tables of `people_tables` are those on which settings are chosen, here with other seeds.

Run: python benchmarks/people.py [FOLDER...] [--seeds 1] [--tables NAME...] [--epsilon 1] [--dpsynth PYTHON]

A FOLDER is that of `nafld` or `airbnb`; without one, generated tables are released.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from people_tables import GENERATED, Related

import dpmosaic
from dpmosaic.common.data.attributes.unmodelled import WHOLE_NUMBERS, Identifier
from dpmosaic.curator.people.release import PeopleRelease
from dpmosaic.simulations.evaluation.related import (
    ChildEvaluation,
    evaluate,
    mean_distance,
    mean_independent,
)

DELTA = 1e-6
FEW = 4
CHILDREN = (3, 5, 10)
"""Largest numbers of rows per parent that `dpsynth.relational` is given."""

ITERATIONS = 100
"""Those of its estimation, as in its own example."""

FEW_VALUES = 30
"""Numbers of at most so many values are categories for it."""

SECONDS = 3600
"""It is ended after so long."""

REPORTED = 1000
"""Seeds of generated tables from here on are not used to choose settings."""

_LINE = "{:34s} {:>8s} {:>6s} {:>6s} {:>6s} {:>6s} {:>6s} {:>6s} {:>6s} {:>7s}"


def main() -> None:
    """Prints all figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folders", nargs="*", type=Path, metavar="FOLDER")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--tables", nargs="*", default=[*GENERATED], choices=[*GENERATED])
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--dpsynth", type=Path, metavar="PYTHON")
    asked = parser.parse_args()
    if asked.dpsynth is None:
        print("dpsynth.relational is not run: name a Python that has it by --dpsynth")
    for seed in range(asked.seeds):
        if asked.folders:
            for folder in asked.folders:
                show(folder.name, READERS[folder.name](folder), asked.epsilon, seed, asked.dpsynth)
        else:
            for name in asked.tables:
                rng = np.random.default_rng(zlib.crc32(name.encode()) + REPORTED + seed)
                show(name, GENERATED[name](rng), asked.epsilon, seed, asked.dpsynth)


def nafld(folder: Path) -> Related:
    """Patients, their observations and events."""
    patients, observations, events = (
        pd.read_csv(folder / f"{name}.csv.gz") for name in ("patients", "observations", "events")
    )
    return Related(
        {"patients": patients.drop(columns="case.id"), "observations": observations, "events": events},
        {"observations": {"id": "patients"}, "events": {"id": "patients"}},
        {"observations": "days", "events": "days"},
    )


def airbnb(folder: Path) -> Related:
    """Users and their sessions, which are in order."""
    users, sessions = (pd.read_csv(folder / f"{name}.csv.gz") for name in ("users", "sessions"))
    return Related(
        {"users": users, "sessions": sessions}, {"sessions": {"user_id": "users.id"}}, {"sessions": True}
    )


READERS = {"nafld": nafld, "airbnb": airbnb}

SERIES: Mapping[str, Mapping[str, str]] = {"nafld": {"observations": "test"}}
"""The columns of tables that say which rows are one series."""


def show(name: str, real: Related, epsilon: float, seed: int, dpsynth: Path | None = None) -> None:
    """Prints the figures of one release and of what it is compared with."""
    heads = ("rows", "KS", "own", "parent", "before", "trans", "gaps", "spans", "orphans")
    print(f"\n{name}, epsilon {epsilon:g}, seed {seed}")
    print(_LINE.format("", *heads))
    domains = domains_of(real)
    release = release_of(real, domains, epsilon, seed)
    lines = {"released": release.tables, "shuffled order": _shuffled(real, seed)}
    series = SERIES.get(name, {})
    if series:
        lines["with series"] = release_of(real, domains, epsilon, seed, series).tables
    for children in () if dpsynth is None else CHILDREN:
        tables = _by_dpsynth(dpsynth, real, epsilon, seed, children)
        if tables is not None:
            lines[f"dpsynth, {children} rows"] = tables
    for label, tables in lines.items():
        for child, found in evaluate(real.tables, tables, real.relations, real.order).items():
            _print(f"{child}: {label}", found)
            if label == "released":
                _print_independent(child, found)
        for child, found in _by_series(real, tables, series):
            _print(f"{child}, by series: {label}", found)
        if "observations" in real.tables:
            _print(f"cholesterol: {label}", cholesterol(real, tables))
    for child in real.relations:
        for most in (None, FEW):
            label = "all" if most is None else str(most)
            flat = _flat(real, child, domains, epsilon, most, seed)
            for found in evaluate(real.tables, flat, {child: real.relations[child]}).values():
                _print(f"{child}: flat, {label} rows", replace(found, numbers=float("nan")))


def _by_dpsynth(
    python: Path, real: Related, epsilon: float, seed: int, children: int
) -> dict[str, pd.DataFrame] | None:
    """A release by `dpsynth.relational`; None, and a line that says so, if it fails or takes too long."""
    relations, columns = [], {}
    for child in real.relations:
        foreign, parent, key = next(_above(real, child))
        relations.append((parent, key, child, foreign))
    with tempfile.TemporaryDirectory() as folder:
        for name, rows in real.tables.items():
            own = [column for column in rows.columns if column not in _keys(real, name)]
            numbers = rows.assign(**{column: _filled(_as_numbers(rows[column])) for column in own})
            numbers.to_csv(Path(folder, f"{name}.csv"), index=False)
            columns[name] = {column: _stated(numbers[column]) for column in own}
        asked = {
            "columns": columns,
            "relations": relations,
            "children": children,
            "iterations": ITERATIONS,
            "zcdp_rho": float(dpmosaic.Budget(epsilon=epsilon, delta=DELTA).granted(gaussian_only=True)),
            "seed": seed,
        }
        Path(folder, "asked.json").write_text(json.dumps(asked))
        script = Path(__file__).with_name("people_dpsynth.py")
        try:
            done = subprocess.run(
                [python, script, folder], capture_output=True, text=True, timeout=SECONDS, check=False
            )
        except subprocess.TimeoutExpired:
            print(f"dpsynth, {children} rows: not done after {SECONDS} s")
            return None
        if done.returncode:
            print(f"dpsynth, {children} rows: {done.stderr.strip().splitlines()[-1][:200]}")
            return None
        return {
            name: _as_real(pd.read_csv(Path(folder, "made", f"{name}.csv")), rows)
            for name, rows in real.tables.items()
        }


def _as_numbers(column: pd.Series) -> pd.Series:
    """Dates as days since 1970; others as they are."""
    times = _times(column)
    return column if times is None else (times - pd.Timestamp(0)) / pd.Timedelta(days=1)


def _filled(column: pd.Series) -> pd.Series:
    """Numbers with one below all others for missing ones, whose own code fails in `dpsynth.relational`."""
    if not pd.api.types.is_numeric_dtype(column) or not column.isna().any():
        return column
    low, high = column.min(), column.max()
    return column.fillna(low - max(1.0, (high - low) / 16))


def _times(column: pd.Series) -> pd.Series | None:
    """Times, if a column of texts or times holds them."""
    if pd.api.types.is_datetime64_any_dtype(column):
        return column
    if pd.api.types.is_numeric_dtype(column):
        return None
    try:
        return pd.to_datetime(column, format="ISO8601")
    except (ValueError, TypeError):
        return None


def _stated(column: pd.Series) -> dict[str, object]:
    """What `dpsynth.relational` is told of a column."""
    if pd.api.types.is_numeric_dtype(column) and column.nunique() > FEW_VALUES:
        known = column.dropna()
        return {
            "low": float(known.min()),
            "high": float(known.max()),
            "whole": bool((known == known.round()).all()),
        }
    texts = column.to_csv(index=False, header=False).splitlines()
    return {"values": sorted({text.strip('"') for text in texts})}


def _as_real(made: pd.DataFrame, real: pd.DataFrame) -> pd.DataFrame:
    """Released columns with the dates of the real ones, written in the same way."""
    dates = {}
    for name in real.columns:
        numbers = _as_numbers(real[name])
        if pd.api.types.is_numeric_dtype(numbers) and numbers.isna().any():
            made[name] = made[name].where(made[name] >= numbers.min())
        times = _times(real[name])
        if times is not None:
            shown = pd.Timestamp(0) + pd.to_timedelta(made[name], unit="D")
            text = not pd.api.types.is_datetime64_any_dtype(real[name])
            whole = bool((times.dropna() == times.dropna().dt.normalize()).all())
            dates[name] = shown.dt.strftime("%Y-%m-%d" if whole else "%Y-%m-%d %H:%M:%S") if text else shown
    return made.assign(**dates)


def cholesterol(real: Related, tables: dict[str, pd.DataFrame]) -> ChildEvaluation:
    """The consecutive values of one test of NAFLD."""
    held = []
    for one in (real.tables, tables):
        rows = one["observations"]
        held.append({"patients": one["patients"][["id"]], "values": rows[rows.test == "chol"]})
    values = [{**one, "values": one["values"][["id", "days", "value"]]} for one in held]
    return evaluate(values[0], values[1], {"values": {"id": "patients"}}, {"values": "days"})["values"]


def _by_series(
    real: Related, tables: Mapping[str, pd.DataFrame], series: Mapping[str, str]
) -> Iterator[tuple[str, ChildEvaluation]]:
    """The tables with series, compared with the last row of the same one."""
    if series:
        found = evaluate(real.tables, tables, real.relations, real.order, series)
        yield from ((name, found[name]) for name in series)


def _print(label: str, found: ChildEvaluation) -> None:
    groups = (found.within, found.across, found.before, found.transitions)
    pairs = [f"{mean_distance(pairs):.3f}" for pairs in groups]
    others = ["" if one is None else f"{one:.3f}" for one in (found.gaps, found.spans, found.orphans)]
    print(_LINE.format(label, str(found.rows[1]), f"{found.numbers:.3f}", *pairs, *others), flush=True)


def _print_independent(child: str, found: ChildEvaluation) -> None:
    groups = (found.within, found.across, found.before, found.transitions)
    pairs = [f"{mean_independent(pairs):.3f}" for pairs in groups]
    print(_LINE.format(f"{child}: independent", str(found.rows[0]), "", *pairs, "", "", ""))


def _keys(real: Related, table: str) -> set[str]:
    """The columns of a table that hold keys."""
    held = set(real.relations.get(table, {}))
    for stated in real.relations.values():
        ((foreign, other),) = stated.items()
        name, _, key = other.partition(".")
        if name == table:
            held.add(key or foreign)
    return held


def release_of(
    real: Related,
    domains: Mapping[str, dpmosaic.Domain],
    epsilon: float,
    seed: int,
    series: Mapping[str, str] | None = None,
) -> PeopleRelease:
    """A release of the tables, with a domain of each."""
    return dpmosaic.synthesize(
        real.tables,
        epsilon,
        relations=real.relations,
        order=dict(real.order),
        series=series,
        delta=DELTA,
        domain=domains,
        seed=seed,
        progress=False,
    )


def domains_of(real: Related) -> dict[str, dpmosaic.Domain]:
    """The drafted domain of each table, taken for reviewed."""
    return {table: reviewed(rows, real, table) for table, rows in real.tables.items()}


def reviewed(rows: pd.DataFrame, real: Related, table: str) -> dpmosaic.Domain:
    """The draft, with all texts of the columns whose texts it leaves open, as of a public list of codes.

    It says of the table's own key whether it is a whole number or a text.
    """
    keys = _keys(real, table)
    domain = dpmosaic.draft(rows.drop(columns=[*keys])).domain
    names = [
        Identifier(key, WHOLE_NUMBERS if pd.api.types.is_integer_dtype(rows[key]) else f"{table}-{{:06d}}")
        for key in keys - {*real.relations.get(table, {})}
    ]
    listed = [
        replace(one, categories=tuple(sorted(set(rows[one.name].fillna("")))), other=None, open=False)
        if isinstance(one, dpmosaic.CategoricalAttribute) and one.open
        else one
        for one in domain.attributes
    ]
    return replace(domain, attributes=tuple(listed), unmodelled=(*domain.unmodelled, *names))


def _shuffled(real: Related, seed: int) -> dict[str, pd.DataFrame]:
    """The real tables with the rows of each person in random order."""
    rng = np.random.default_rng(seed)
    found = dict(real.tables)
    for name, order in real.order.items():
        rows = found[name]
        (foreign,) = real.relations[name]
        parent = pd.factorize(rows[foreign])[0]
        at = np.empty(len(rows), dtype=np.int64)
        at[np.argsort(parent, kind="stable")] = np.lexsort((rng.random(len(rows)), parent))
        mixed = rows.iloc[at].reset_index(drop=True)
        if isinstance(order, str):
            mixed[order] = rows[order].to_numpy()
        found[name] = mixed
    return found


def _above(real: Related, child: str) -> Iterator[tuple[str, str, str]]:
    """The tables above a table: the column of the one below, the name, and its key."""
    while child in real.relations:
        ((foreign, other),) = real.relations[child].items()
        child, _, key = other.partition(".")
        yield foreign, child, key or foreign


def _flat(
    real: Related,
    child: str,
    domains: dict[str, dpmosaic.Domain],
    epsilon: float,
    most: int | None,
    seed: int,
) -> dict[str, pd.DataFrame]:
    """Rows of a release of the joined table, as tables in which each row has a parent of its own."""
    rows, person = real.tables[child], child
    joined = rows
    names = {child: [*domains[child].columns]}
    for foreign, name, key in _above(real, child):
        above = real.tables[name].rename(columns=lambda column, name=name: f"{name}.{column}")
        at = foreign if person == child else f"{person}.{foreign}"
        joined = joined.merge(above, left_on=at, right_on=f"{name}.{key}")
        names[name] = [f"{name}.{column}" for column in domains[name].columns]
        person = name
    people = joined[f"{person}.{key}"]
    if most is not None:
        joined = joined.sample(frac=1, random_state=seed)
        joined = joined[joined.groupby(f"{person}.{key}").cumcount() < most]
    largest = int(people.value_counts().max()) if most is None else most
    domain = dpmosaic.draft(joined[[column for held in names.values() for column in held]]).domain
    rho = float(dpmosaic.Budget(epsilon=epsilon, delta=DELTA).granted(gaussian_only=True)) / largest**2
    made = dpmosaic.simulate(
        dpmosaic.encode(joined, domain),
        epsilon=dpmosaic.Budget(zcdp_rho=rho, delta=DELTA),
        protocol="trusted",
        seed=seed,
    )
    drawn = dpmosaic.decode(made.rows, seed)
    number = np.arange(len(drawn))
    found = {}
    for name in real.tables:
        columns = drawn[names[name]] if name in names else real.tables[name].iloc[:0]
        found[name] = columns.rename(columns=lambda column, name=name: column.removeprefix(f"{name}."))
        found[name] = found[name].assign(**dict.fromkeys(_keys(real, name), number[: len(found[name])]))
    return found


if __name__ == "__main__":
    main()
