"""What is chosen in public before a CDM is released: time, categories, ranges of values; and the domains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

import pandas as pd

from ...common.bounded import json_of, read_bytes
from ...common.errors import DataError
from .model import CONDITION, DRUG, ETHNICITIES, GENDERS, MEASUREMENT, PERSON, RACES, VISIT, VISITS
from .rollup import names_of
from .vocabulary import Ranged, ranges

NONE = "none"
"""The category of what has no visit, or no condition."""

BEFORE_BIRTH_YEARS = 110
"""How many years before the end of the records the oldest person is born."""

RELATIONS: Mapping[str, Mapping[str, str]] = {
    VISIT.name: {"person_id": PERSON.name},
    CONDITION.name: {"visit_occurrence_id": VISIT.name},
    DRUG.name: {"visit_occurrence_id": VISIT.name},
    MEASUREMENT.name: {"visit_occurrence_id": VISIT.name},
}
"""Which table of a release belongs to which."""

ORDER: Mapping[str, str] = {VISIT.name: "day"}
"""By which column rows of a person are in order."""

_STAY = [0, 1, 3, 8, 15]
_LASTS = [0, 5, 8, 15, 29, 61, 90]
_FIRST = [0, 7, 30, 90, 180, 365, 730, 1095, 1825]
_OBSERVED = [0, 182, 365, 730, 1095, 1825, 2555]
_PARTS_OF_A_RANGE = 16


@dataclass(frozen=True, eq=False)
class Choices:
    """Public choices for the release of a CDM.

    Attributes:
        since: first day of the records that are released.
        until: last day.
        conditions: categories of conditions.
        drugs: categories of drugs.
        measurements: categories of measurements.
        ranges: of the values of measurements, by category.
        concept: rows of the vocabulary for all concepts that a release may hold.
        ancestor: how these stand above each other.
    """

    since: date
    until: date
    conditions: tuple[int, ...]
    drugs: tuple[int, ...]
    measurements: tuple[int, ...]
    ranges: Mapping[int, Ranged] = field(default_factory=dict)
    concept: pd.DataFrame = field(default_factory=pd.DataFrame)
    ancestor: pd.DataFrame = field(default_factory=pd.DataFrame)

    @property
    def days(self) -> int:
        """Days from the first to the last day."""
        return (self.until - self.since).days

    def domain(self) -> dict[str, dict[str, Any]]:
        """Domains of the tables of a release, as in domain files."""
        reasons = [*names_of(self.conditions), NONE]
        oldest = self.until.year - BEFORE_BIRTH_YEARS
        return {
            PERSON.name: {
                "gender": _categories(names_of(GENDERS)),
                "year_of_birth": {
                    "type": "numeric",
                    "edges": [*range(oldest, self.until.year, 10), self.until.year],
                    "integer": True,
                },
                "race": _categories(names_of(RACES)),
                "ethnicity": _categories(names_of(ETHNICITIES)),
                "observed_from": {
                    "type": "date",
                    "min": self.since.isoformat(),
                    "max": self.until.isoformat(),
                    "bins": 8,
                    "atoms": [self.since.isoformat()],
                },
                "observed_days": _numbers(_OBSERVED, self.days),
                "until_the_end": {"type": "boolean"},
                "days_to_death": _numbers([0, 1, 31], 366, nullable=True),
                "usual_reason": _categories(reasons),
            },
            VISIT.name: {
                "kind": _categories([*names_of(VISITS), NONE]),
                "day": _numbers(_FIRST, self.days),
                "stay": _numbers(_STAY, 366),
                "reason": _categories(reasons),
            },
            CONDITION.name: {
                "condition": _categories(names_of(self.conditions)),
                "day": _numbers(_STAY, 366),
                "lasts": _numbers(_LASTS, 366, nullable=True),
            },
            DRUG.name: {
                "drug": _categories(names_of(self.drugs)),
                "day": _numbers(_STAY, 366),
                "lasts": _numbers(_LASTS, 366),
            },
            MEASUREMENT.name: {
                "measurement": _categories(names_of(self.measurements)),
                "day": _numbers(_STAY, 366),
                "level": {"type": "numeric", "min": 0, "max": 1, "bins": _PARTS_OF_A_RANGE, "nullable": True},
            },
        }


def _categories(categories: Sequence[str]) -> dict[str, Any]:
    return {"type": "categorical", "categories": list(categories)}


def _numbers(edges: Sequence[int], last: int, nullable: bool = False) -> dict[str, Any]:
    """Whole numbers in bins; larger ones count as the last."""
    kept = [edge for edge in edges if edge < last]
    return {"type": "numeric", "edges": [*kept, last], "integer": True, "nullable": nullable}


def read_ranges(path: Path) -> dict[int, Ranged]:
    """Ranges of measurements from a file: concept -> low, high, decimals, unit.

    Raises:
        DataError: it holds something else.
    """
    try:
        stated = json_of(read_bytes(path))
        found = {int(concept): Ranged(**entry) for concept, entry in stated.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        raise DataError(
            f'{path}: expected {{"CONCEPT": {{"low": 4, "high": 14, "decimals": 1, "unit": 8554}}}}, found '
            "something else; fix the file"
        ) from None
    for concept, one in found.items():
        if not one.low < one.high or one.decimals < 0:
            raise DataError(f"{path}: expected low < high and decimals from 0 on for {concept}; fix the file")
    return {**ranges(), **found}
