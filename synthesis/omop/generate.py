"""A made-up CDM: people whose ages, conditions, drugs, measurements and deaths depend on each other."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from ...common.errors import DataError
from .database import write
from .events import conditions_at, drugs_for, measurements_at
from .illness import LASTING
from .model import FEMALE, HISPANIC, MALE, NOT_HISPANIC, RECORD, VERSION
from .people import UNTIL, People, Visits, at, draw_people, draw_visits
from .vocabulary import ancestors, concept_named, concepts


def generate(database: str | Path, people: int = 10_000, seed: int | None = None) -> Path:
    """Writes a CDM of made-up people into a new file of DuckDB.

    Args:
        database: the file; in a folder that exists, `cdm.duckdb`.
        people: number of people.
        seed: makes them reproducible.

    Returns:
        The file.

    Raises:
        DataError: there are no people, or the file exists.
    """
    if people < 1:
        raise DataError(f"people: expected at least 1, got {people}; ask for more")
    path = Path(database)
    path = path / "cdm.duckdb" if path.is_dir() else path
    rng = np.random.default_rng(seed)
    held = draw_people(people, rng)
    visits = draw_visits(held, rng)
    written = {"person": _person_rows(held), "observation_period": _period_rows(held)}
    written["visit_occurrence"] = _visit_rows(visits)
    conditions = conditions_at(visits, held, rng)
    written["condition_occurrence"] = conditions.drop(columns=["illness", "visit"])
    written["drug_exposure"] = drugs_for(conditions, visits, rng)
    written["measurement"] = measurements_at(conditions, visits, held, rng)
    written["death"] = _death_rows(held)
    written |= {"concept": concepts(), "concept_ancestor": ancestors()}
    source = {
        "cdm_source_name": "Made-up people",
        "cdm_source_abbreviation": "made up",
        "source_release_date": pd.Timestamp(UNTIL),
        "cdm_version": VERSION,
        "vocabulary_version": "invented",
    }
    write(path, written, source)
    return path


def _person_rows(people: People) -> pd.DataFrame:
    ids = np.arange(1, len(people.born) + 1)
    return pd.DataFrame(
        {
            "person_id": ids,
            "gender_concept_id": np.where(people.female, FEMALE, MALE),
            "year_of_birth": people.born,
            "race_concept_id": people.race,
            "ethnicity_concept_id": np.where(people.hispanic, HISPANIC, NOT_HISPANIC),
            "person_source_value": [f"MRN-{number:07d}" for number in ids],
            "gender_source_value": np.where(people.female, "F", "M"),
        }
    )


def _period_rows(people: People) -> pd.DataFrame:
    twice = people.gap_end < people.end
    who = np.concatenate([np.arange(len(twice)), np.flatnonzero(twice)])
    start = np.concatenate([people.start, people.gap_end[twice] + 1])
    end = np.concatenate([np.minimum(people.gap_start - 1, people.end), people.end[twice]])
    order = np.lexsort((start, who))
    return pd.DataFrame(
        {
            "observation_period_id": np.arange(1, len(who) + 1),
            "person_id": who[order] + 1,
            "observation_period_start_date": at(start[order]),
            "observation_period_end_date": at(end[order]),
            "period_type_concept_id": RECORD,
        }
    )


def _visit_rows(visits: Visits) -> pd.DataFrame:
    ids = np.arange(1, len(visits.who) + 1)
    follows = np.append(False, visits.who[1:] == visits.who[:-1])[: len(ids)]
    return pd.DataFrame(
        {
            "visit_occurrence_id": ids,
            "person_id": visits.who + 1,
            "visit_concept_id": visits.kind,
            "visit_start_date": at(visits.day),
            "visit_end_date": at(visits.end),
            "visit_type_concept_id": RECORD,
            "visit_source_value": "ward",
            "preceding_visit_occurrence_id": pd.Series(ids - 1, dtype="Int64").where(follows),
        }
    )


def _death_rows(people: People) -> pd.DataFrame:
    dead = np.flatnonzero(people.death >= 0)
    lasting = np.array([concept_named(one.name) for one in LASTING])
    cause = np.where(people.has[dead].any(axis=1), lasting[people.has[dead].argmax(axis=1)], 0)
    return pd.DataFrame(
        {
            "person_id": dead + 1,
            "death_date": at(np.maximum(people.death[dead], people.end[dead])),
            "death_type_concept_id": RECORD,
            "cause_concept_id": cause,
        }
    )
