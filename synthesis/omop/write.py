"""A CDM from the tables of a release: dates put in order, texts left empty.

What is changed is changed by what was released and by public choices, so it costs no budget.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from . import database as databases
from .choices import NONE, Choices
from .model import CONDITION, DEATH, DRUG, MEASUREMENT, PERIOD, PERSON, RECORD, VERSION, VISIT, CdmTable

Days = NDArray[np.int64]


def write(
    database: str | Path, tables: Mapping[str, pd.DataFrame], choices: Choices, description: str = ""
) -> Path:
    """Writes a CDM of synthetic people into a new file of DuckDB.

    Args:
        database: the file.
        tables: tables of a release, as `read.read` makes them from a CDM.
        choices: the public choices of that reading.
        description: what the table `cdm_source` says of the people.

    Returns:
        The file.

    Raises:
        DataError: the file exists, or cannot be written.
    """
    people = _people(tables[PERSON.name], choices)
    visits = _visits(tables[VISIT.name], people)
    conditions = _with_reasons(tables[CONDITION.name], visits)
    written = {
        PERSON.name: _person_rows(people),
        PERIOD.name: _period_rows(people, choices),
        VISIT.name: _visit_rows(visits, choices),
        CONDITION.name: _lasting_rows(CONDITION, "condition", conditions, visits, choices),
        DRUG.name: _lasting_rows(DRUG, "drug", tables[DRUG.name], visits, choices),
        MEASUREMENT.name: _measurement_rows(tables[MEASUREMENT.name], visits, choices),
        DEATH.name: _death_rows(people, choices),
        "concept": choices.concept,
        "concept_ancestor": choices.ancestor,
    }
    path = Path(database)
    source = {
        "cdm_source_name": "Synthetic people",
        "cdm_source_abbreviation": "synthetic",
        "source_description": description,
        "source_release_date": pd.Timestamp(choices.until),
        "cdm_version": VERSION,
    }
    databases.write(path, written, source)
    return path


def _people(rows: pd.DataFrame, choices: Choices) -> pd.DataFrame:
    """People with the first and last day of observation, as days of the released time, and that of death.

    Nobody is observed before the year of birth, or after the released time.
    """
    since = np.datetime64(choices.since)
    start = (rows["observed_from"].to_numpy().astype("datetime64[D]") - since).astype(np.int64)
    births = (rows["year_of_birth"].to_numpy().astype(np.int64) - 1970).astype("datetime64[Y]")
    start = np.maximum(start, (births.astype("datetime64[D]") - since).astype(np.int64))
    end = start + rows["observed_days"].to_numpy().astype(np.int64)
    end = np.where(rows["until_the_end"].to_numpy().astype(np.bool_), choices.days, end)
    end = np.minimum(end, choices.days)
    death = pd.to_numeric(rows["days_to_death"], errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
    return rows.assign(first=np.minimum(start, end), last=end, death=end + death)


def _visits(rows: pd.DataFrame, people: pd.DataFrame) -> pd.DataFrame:
    """Visits with their first and last days, within the time that their people are observed.

    A person's visits are moved together, and come closer to each other if they take longer than that time.
    """
    owner = people.set_index("person_id").loc[rows["person_id"]]
    first, last = (owner[name].to_numpy().astype(np.int64) for name in ("first", "last"))
    rows = rows.reset_index(drop=True)
    day = rows["day"].to_numpy().astype(np.int64)
    by_person = rows.groupby("person_id")["day"]
    begin, end = (by_person.transform(which).to_numpy().astype(np.int64) for which in ("min", "max"))
    room, span = last - first, end - begin
    closer = np.minimum(1.0, room / np.maximum(span, 1))
    moved = np.clip(begin, 0, np.maximum(room - np.floor(span * closer), 0))
    start = first + np.minimum(moved + np.floor((day - begin) * closer), room).astype(np.int64)
    stay = rows["stay"].to_numpy().astype(np.int64)
    return rows.assign(first=start, last=np.minimum(start + stay, last), limit=last)


def _with_reasons(conditions: pd.DataFrame, visits: pd.DataFrame) -> pd.DataFrame:
    """Conditions in the order of their visits, of which that which a visit is about comes first.

    Where no condition of a visit is what it is about, the first one becomes it.
    """
    by_visit = conditions.groupby("visit_occurrence_id")
    reasons = visits.set_index("visit_occurrence_id")["reason"].astype(object)
    reason, stated = conditions["visit_occurrence_id"].map(reasons), conditions["condition"].astype(object)
    other = stated != reason
    order = np.lexsort((other, conditions["visit_occurrence_id"]))
    found = conditions.assign(condition=stated, reason=reason, earliest=by_visit["day"].transform("min"))
    found = found.iloc[order].reset_index(drop=True)
    main = ~found["visit_occurrence_id"].duplicated() & (found["reason"] != NONE)
    return found.assign(
        condition=found["condition"].where(~main, found["reason"]),
        day=found["day"].where(~main, found["earliest"]),
    )


def _person_rows(people: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "person_id": people["person_id"],
            "gender_concept_id": _concepts(people["gender"]),
            "year_of_birth": people["year_of_birth"],
            "race_concept_id": _concepts(people["race"]),
            "ethnicity_concept_id": _concepts(people["ethnicity"]),
        }
    )


def _period_rows(people: pd.DataFrame, choices: Choices) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "observation_period_id": np.arange(1, len(people) + 1),
            "person_id": people["person_id"],
            "observation_period_start_date": _dates(people["first"], choices),
            "observation_period_end_date": _dates(people["last"], choices),
            "period_type_concept_id": RECORD,
        }
    )


def _visit_rows(visits: pd.DataFrame, choices: Choices) -> pd.DataFrame:
    """Visits, without the days of events that belong to none."""
    kept = visits[visits["kind"] != NONE]
    return pd.DataFrame(
        {
            "visit_occurrence_id": kept["visit_occurrence_id"],
            "person_id": kept["person_id"],
            "visit_concept_id": _concepts(kept["kind"]),
            "visit_start_date": _dates(kept["first"], choices),
            "visit_end_date": _dates(kept["last"], choices),
            "visit_type_concept_id": RECORD,
        }
    )


def _lasting_rows(
    table: CdmTable, what: str, rows: pd.DataFrame, visits: pd.DataFrame, choices: Choices
) -> pd.DataFrame:
    """Conditions or drugs, each from a first to a last day."""
    placed, columns = _events(table.name, rows, visits)
    columns[table.concept] = _concepts(placed[what])
    columns[table.start] = _dates(placed["first"], choices)
    columns[table.end] = _dates(_last_days(placed), choices)
    columns[f"{what}_type_concept_id"] = RECORD
    return columns


def _measurement_rows(rows: pd.DataFrame, visits: pd.DataFrame, choices: Choices) -> pd.DataFrame:
    """Measurements, of which those with a public range have values."""
    placed, columns = _events(MEASUREMENT.name, rows, visits)
    concept = _concepts(placed["measurement"])
    columns["measurement_concept_id"] = concept
    columns["measurement_date"] = _dates(placed["first"], choices)
    columns["measurement_type_concept_id"] = RECORD
    level = placed["level"].astype(float)
    value = pd.Series(np.nan, index=placed.index)
    unit = pd.Series(pd.NA, index=placed.index, dtype="Int64")
    for one, known in choices.ranges.items():
        at = (concept == one) & level.notna()
        value[at] = (known.low + level[at] * (known.high - known.low)).round(known.decimals)
        unit[at] = known.unit
    columns["value_as_number"] = value
    columns["unit_concept_id"] = unit
    return columns


def _death_rows(people: pd.DataFrame, choices: Choices) -> pd.DataFrame:
    dead = people[people["death"].notna()]
    return pd.DataFrame(
        {
            "person_id": dead["person_id"],
            "death_date": _dates(dead["death"], choices),
            "death_type_concept_id": RECORD,
        }
    )


def _events(table: str, rows: pd.DataFrame, visits: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Events with the visits that they are at, and the columns that say where they belong.

    Args:
        table: name of the table.
        rows: the events.
        visits: see `_visits`.

    Returns:
        The events with their first day and the last one that they may have; and key, person and visit.
    """
    own = visits.set_index("visit_occurrence_id")[["person_id", "kind", "first", "limit"]]
    placed = rows.reset_index(drop=True).join(own, on="visit_occurrence_id")
    day = placed["day"].to_numpy().astype(np.int64)
    placed["first"] = np.minimum(placed["first"] + day, placed["limit"])
    visit = placed["visit_occurrence_id"].astype("Int64").where(placed["kind"] != NONE)
    columns = {
        f"{table}_id": np.arange(1, len(placed) + 1),
        "person_id": placed["person_id"],
        "visit_occurrence_id": visit,
    }
    return placed, pd.DataFrame(columns)


def _last_days(placed: pd.DataFrame) -> pd.Series:
    """The last day of each event, NaN if it has none."""
    lasts = pd.to_numeric(placed["lasts"], errors="coerce").astype(float)
    return np.minimum(placed["first"] + lasts, placed["limit"])


def _concepts(texts: pd.Series) -> pd.Series:
    return texts.astype(str).astype("int64")


def _dates(days: pd.Series, choices: Choices) -> pd.Series:
    """Dates of days of the released time; missing ones stay so."""
    return pd.Timestamp(choices.since) + pd.to_timedelta(days.astype(float), unit="D")
