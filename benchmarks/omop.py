"""A CDM of made-up people beside its release: rules that hold, time, and distances of the tables.

Each table is read from both databases with the columns of the tables above it. Distances are total variation,
averaged over columns or pairs of columns, in which each person counts as one, or each row.

- `release`: of the release to the real CDM;
- `another draw`: of another CDM of the same generator: what sampling alone makes of it;
- `independent`: of columns that do not depend on each other, with the real shares of each.

Run: python benchmarks/omop.py [--people 10000] [--epsilon 1] [--seed 0]
"""

from __future__ import annotations

import argparse
import itertools
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from dpmosaic.simulations.tables.frames import encode
from dpmosaic.synthesis.omop.checks import check
from dpmosaic.synthesis.omop.generate import generate
from dpmosaic.synthesis.omop.read import Cdm, read
from dpmosaic.synthesis.omop.synthesize import synthesize_cdm

VISIT, EVENTS = "visit_occurrence", ("condition_occurrence", "drug_exposure", "measurement")
WEIGHT = "weight"


def main() -> None:
    """Prints the figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--people", type=int, default=10_000)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        at = Path(folder)
        real = generate(at / "real.duckdb", asked.people, asked.seed)
        other = generate(at / "other.duckdb", asked.people, asked.seed + 1_000_003)
        started = time.perf_counter()
        made = synthesize_cdm(real, at / "release", asked.epsilon, progress=False).database
        seconds = time.perf_counter() - started
        checked = check(made, released=True)
        holding = sum(one.holds for one in checked)
        print(
            f"{asked.people} people, epsilon {asked.epsilon:g}: {seconds:.0f} s; "
            f"{holding} of {len(checked)} rules hold"
        )
        cdm = read(real)
        found = {"release": read(made), "another draw": read(other), "independent": None}
        for by_person in (True, False):
            figures = {name: dict(compared(cdm, one, by_person)) for name, one in found.items()}
            print(f"\neach {'person' if by_person else 'row'} counts as one")
            print(pd.DataFrame(figures).to_string(float_format="{:.3f}".format, na_rep=""))
    visits = pd.DataFrame({name: dict(numbers(cdm, one)) for name, one in found.items() if one is not None})
    print(f"\n{visits.to_string(float_format='{:.3f}'.format)}")


def compared(one: Cdm, other: Cdm | None, by_person: bool) -> Iterator[tuple[str, float]]:
    """Distances by name: of tables, then of what follows what.

    Args:
        one: the real CDM.
        other: the one beside it; None for independent columns.
        by_person: whether each person counts as one.
    """
    tables = joined(one, by_person)
    others = tables if other is None else joined(other, by_person)
    for name, rows in tables.items():
        own = [column for column in rows if "." not in column and column != WEIGHT]
        above = [column for column in rows if "." in column]
        kinds = {
            "columns": [(column,) for column in own],
            "pairs": list(itertools.combinations(own, 2)),
            "pairs with columns above": list(itertools.product(own, above)),
        }
        for kind, columns in kinds.items():
            if columns:
                distances = [_distance(rows, None if other is None else others[name], c) for c in columns]
                yield f"{name}: {kind}", float(np.mean(distances))
    for what, pair, make in (
        ("reason after reason", ("before", "reason"), _in_turn),
        ("drugs with conditions of a visit", ("condition", "drug"), _together),
    ):
        made = make(one, tables)
        yield what, _distance(made, None if other is None else make(other, others), pair)


def numbers(one: Cdm, other: Cdm) -> Iterator[tuple[str, float]]:
    """How far numbers of rows are."""
    counts = [_visits_per_person(cdm) for cdm in (one, other)]
    at = np.arange(max(counts[0].max(), counts[1].max()) + 1)
    shares = [np.searchsorted(np.sort(count), at, "right") / len(count) for count in counts]
    yield "visits of a person: Kolmogorov distance", float(np.abs(shares[0] - shares[1]).max())
    for name in one.tables:
        yield f"{name}: rows, as a ratio", len(other.tables[name]) / len(one.tables[name])


def joined(cdm: Cdm, by_person: bool) -> dict[str, pd.DataFrame]:
    """Codes of each table with those of the visit and the person that a row belongs to, and weights."""
    domains = cdm.choices.domain()
    codes = {name: encode(rows, domains[name]) for name, rows in cdm.tables.items()}
    frames = {
        name: pd.DataFrame({column: table.column(column) for column in table.domain})
        for name, table in codes.items()
    }
    visits, keys = cdm.tables[VISIT], cdm.tables[VISIT]["visit_occurrence_id"]
    owner = visits["person_id"]
    person = frames["person"].add_prefix("person.").set_index(cdm.tables["person"]["person_id"])
    with_person = frames[VISIT].join(person.loc[owner].reset_index(drop=True))
    with_person[WEIGHT] = 1 / owner.groupby(owner).transform("size") if by_person else 1.0
    found = {"person": frames["person"].assign(**{WEIGHT: 1.0}), VISIT: with_person}
    above = with_person.rename(columns={column: f"visit.{column}" for column in frames[VISIT]})
    above = above.set_index(keys)
    for name in EVENTS:
        visit = cdm.tables[name]["visit_occurrence_id"]
        rows = pd.concat([frames[name], above.loc[visit].reset_index(drop=True)], axis=1)
        found[name] = rows.assign(
            **{WEIGHT: rows[WEIGHT] / visit.groupby(visit).transform("size") if by_person else 1.0}
        )
    return found


def _distance(one: pd.DataFrame, other: pd.DataFrame | None, columns: Sequence[str]) -> float:
    """Total variation distance of the shares of combinations, or to the product of those of each column."""
    columns = list(columns)
    shares = _shares(one, columns)
    if other is not None:
        compared_with = _shares(other, columns)
    elif len(columns) == 1:
        return 0.0
    else:
        first, second = (_shares(one, [column]) for column in columns)
        product = np.multiply.outer(first.to_numpy(), second.to_numpy()).ravel()
        index = pd.MultiIndex.from_product([first.index, second.index], names=columns)
        compared_with = pd.Series(product, index)
    return float(shares.sub(compared_with, fill_value=0).abs().sum() / 2)


def _shares(rows: pd.DataFrame, columns: list[str]) -> pd.Series:
    sums = rows.groupby(columns[0] if len(columns) == 1 else columns)[WEIGHT].sum()
    return sums / sums.sum()


def _visits_per_person(cdm: Cdm) -> pd.Series:
    people = cdm.tables["person"]["person_id"]
    return cdm.tables[VISIT]["person_id"].value_counts().reindex(people, fill_value=0)


def _in_turn(cdm: Cdm, tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """Reasons of consecutive visits of a person."""
    visits = cdm.tables[VISIT].assign(**{WEIGHT: tables[VISIT][WEIGHT].to_numpy()})
    visits = visits.sort_values(["person_id", "day"], kind="stable")
    return visits.assign(before=visits.groupby("person_id")["reason"].shift()).dropna(subset="before")


def _together(cdm: Cdm, tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """Conditions and drugs of the same visit."""
    conditions, drugs = (cdm.tables[name] for name in EVENTS[:2])
    conditions = conditions.assign(**{WEIGHT: tables[EVENTS[0]][WEIGHT].to_numpy()})
    both = conditions.merge(drugs[["visit_occurrence_id", "drug"]], on="visit_occurrence_id")
    # Each condition counts as much however many drugs are beside it.
    beside = drugs["visit_occurrence_id"].value_counts()
    return both.assign(**{WEIGHT: both[WEIGHT] / both["visit_occurrence_id"].map(beside)})


if __name__ == "__main__":
    main()
