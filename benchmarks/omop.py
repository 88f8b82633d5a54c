"""A CDM of made-up people beside its release: rules that hold, time, and distances of the tables.

Usage: python benchmarks/omop.py [--people N] [--epsilon E] [--seed S]

Each table is read from both databases with the columns of the tables above it. Distances are total variation,
averaged over columns or pairs of columns. `another draw` is a CDM of the same generator with other people:
what sampling alone makes of it.
"""

from __future__ import annotations

import argparse
import itertools
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from dpmosaic.simulations.omop.checks import check
from dpmosaic.simulations.omop.generate import generate
from dpmosaic.simulations.omop.read import Cdm, read
from dpmosaic.simulations.omop.synthesize import synthesize_cdm
from dpmosaic.simulations.tables.frames import encode

VISIT, EVENTS = "visit_occurrence", ("condition_occurrence", "drug_exposure", "measurement")


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
        made = synthesize_cdm(real, at / "release", asked.epsilon).database
        seconds = time.perf_counter() - started
        checked = check(made, released=True)
        holding = sum(one.holds for one in checked)
        print(
            f"{asked.people} people, epsilon {asked.epsilon:g}: {seconds:.0f} s; "
            f"{holding} of {len(checked)} rules hold"
        )
        cdm = read(real)
        figures = {
            "release": dict(compared(cdm, read(made))),
            "another draw": dict(compared(cdm, read(other))),
        }
    print(pd.DataFrame(figures).to_string(float_format="{:.4f}".format))


def compared(one: Cdm, other: Cdm) -> Iterator[tuple[str, float]]:
    """Figures by name: distances by table, then what people's histories are like."""
    tables, others = joined(one), joined(other)
    for name in tables:
        first, second = tables[name], others[name]
        own = [column for column in first if not column.startswith(("person.", "visit."))]
        above = [column for column in first if column not in own]
        yield f"{name}: columns", _mean(first, second, [(column,) for column in own])
        yield f"{name}: pairs", _mean(first, second, list(itertools.combinations(own, 2)))
        if above:
            yield (
                f"{name}: pairs with what is above",
                _mean(first, second, list(itertools.product(own, above))),
            )
    numbers = [_visits_per_person(cdm) for cdm in (one, other)]
    yield "visits of a person (Kolmogorov)", _kolmogorov(*numbers)
    yield "visits of a person, mean (ratio)", float(numbers[1].mean() / numbers[0].mean())
    yield "reason after reason", _distance(*(_in_turn(cdm) for cdm in (one, other)))
    yield "drugs with conditions of a visit", _distance(*(_together(cdm) for cdm in (one, other)))


def joined(cdm: Cdm) -> dict[str, pd.DataFrame]:
    """Codes of each table with those of the visit and the person that a row belongs to."""
    domains = cdm.choices.domain()
    codes = {name: encode(rows, domains[name]) for name, rows in cdm.tables.items()}
    frames = {
        name: pd.DataFrame({column: table.column(column) for column in table.domain})
        for name, table in codes.items()
    }
    person = frames["person"].add_prefix("person.").set_index(cdm.tables["person"]["person_id"])
    visit = frames[VISIT]
    owner = cdm.tables[VISIT]["person_id"]
    above = (
        visit.add_prefix("visit.").assign(person_id=owner).set_index(cdm.tables[VISIT]["visit_occurrence_id"])
    )
    found = {"person": frames["person"], VISIT: visit.join(person.loc[owner].reset_index(drop=True))}
    for name in EVENTS:
        rows = above.loc[cdm.tables[name]["visit_occurrence_id"]].reset_index(drop=True)
        people = person.loc[rows.pop("person_id")].reset_index(drop=True)
        found[name] = pd.concat([frames[name], rows, people], axis=1)
    return found


def _mean(one: pd.DataFrame, other: pd.DataFrame, columns: list[tuple[str, ...]]) -> float:
    return float(np.mean([_distance(one[list(names)], other[list(names)]) for names in columns]))


def _distance(one: pd.DataFrame, other: pd.DataFrame) -> float:
    """Total variation distance between the shares of combinations."""
    shares = [rows.value_counts(normalize=True) for rows in (one, other)]
    return float(shares[0].sub(shares[1], fill_value=0).abs().sum() / 2)


def _visits_per_person(cdm: Cdm) -> pd.Series:
    return (
        cdm.tables[VISIT]["person_id"].value_counts().reindex(cdm.tables["person"]["person_id"], fill_value=0)
    )


def _kolmogorov(one: pd.Series, other: pd.Series) -> float:
    at = np.arange(max(one.max(), other.max()) + 1)
    shares = [np.searchsorted(np.sort(numbers), at, "right") / len(numbers) for numbers in (one, other)]
    return float(np.abs(shares[0] - shares[1]).max())


def _in_turn(cdm: Cdm) -> pd.DataFrame:
    """Reasons of consecutive visits of a person."""
    visits = cdm.tables[VISIT].sort_values(["person_id", "day"], kind="stable")
    before = visits.groupby("person_id")["reason"].shift()
    return pd.DataFrame({"before": before, "reason": visits["reason"]}).dropna()


def _together(cdm: Cdm) -> pd.DataFrame:
    """Conditions and drugs of the same visit."""
    tables: Mapping[str, pd.DataFrame] = cdm.tables
    both = tables[EVENTS[0]].merge(tables[EVENTS[1]], on="visit_occurrence_id")
    return both[["condition", "drug"]]


if __name__ == "__main__":
    main()
