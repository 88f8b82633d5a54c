"""The tables of a CDM as those of a release: people, their visits, and what happens at visits.

Each statement looks at the rows of one person alone, and at what is public. Days of visits are counted from
the first day of observation, those of events from the first day of the visit.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

import pandas as pd

from ...common.errors import DataError
from .choices import NONE, Choices
from .database import SOURCE, Connection, held_tables, open_cdm
from .model import (
    CONDITION,
    DRUG,
    ETHNICITIES,
    GENDERS,
    MEASUREMENT,
    NO_CONCEPT,
    PERSON,
    RACES,
    RECORD,
    VISIT,
    VISITS,
)
from .rollup import categories, nearest
from .vocabulary import Ranged, ranges

YEARS = 10
"""Years before the date of the source that are released if nothing is said."""

CATEGORIES = 20
"""Most categories of conditions, of drugs and of measurements, if nothing is said."""


@dataclass(frozen=True, eq=False)
class Cdm:
    """A CDM that was read.

    Attributes:
        tables: its rows as those of a release, by name of the table; private.
        choices: what was chosen in public.
    """

    tables: Mapping[str, pd.DataFrame]
    choices: Choices


def read(
    database: str | Path,
    *,
    schema: str = "",
    since: date | None = None,
    until: date | None = None,
    most: int = CATEGORIES,
    known: Mapping[int, Ranged] | None = None,
) -> Cdm:
    """Reads a CDM, with concepts rolled up to few categories.

    Left out are people without a period of observation in the time that is released, visits that begin
    outside of theirs, and events of neither a visit nor a period.

    Args:
        database: a file of DuckDB, or the URI of a PostgreSQL database.
        schema: schema of the tables.
        since: first day of what is released; by default ten years before `until`.
        until: last day; by default the `source_release_date` of the table `cdm_source`.
        most: largest number of categories of conditions, of drugs and of measurements.
        known: public ranges of measurements, by concept; by default those of the invented vocabulary.

    Raises:
        DataError: there is no such CDM, or the time is not known.
        MissingExtraError: PostgreSQL needs an extra that is not installed.
    """
    with open_cdm(database, schema) as connection:
        choices = _choices(connection, since, until, most, ranges() if known is None else known)
        return Cdm(_tables(connection, choices), choices)


def _choices(
    connection: Connection, since: date | None, until: date | None, most: int, known: Mapping[int, Ranged]
) -> Choices:
    last = until or _last_day(connection)
    first = since or _years_before(last) + timedelta(days=1)
    if first >= last:
        raise DataError(f"since: expected a day before {last}, got {first}; choose an earlier one")
    conditions = categories(connection, CONDITION.domain, most)
    drugs = categories(connection, DRUG.domain, most)
    measurements = categories(connection, MEASUREMENT.domain, most, tuple(known))
    kept = {concept: one for concept, one in known.items() if concept in measurements}
    units = {one.unit for one in kept.values()}
    listed = {*conditions, *drugs, *measurements, *units, *GENDERS, *RACES, *ETHNICITIES, *VISITS}
    asked = {"listed": sorted({*listed, RECORD, NO_CONCEPT})}
    concept = connection.execute(
        "SELECT * FROM concept WHERE list_contains($listed, concept_id) ORDER BY concept_id", asked
    ).df()
    ancestor = connection.execute(
        "SELECT * FROM concept_ancestor WHERE list_contains($listed, ancestor_concept_id) AND "
        "list_contains($listed, descendant_concept_id) ORDER BY ALL",
        asked,
    ).df()
    return Choices(first, last, conditions, drugs, measurements, kept, concept, ancestor)


def _years_before(last: date) -> date:
    day = 28 if (last.month, last.day) == (2, 29) else last.day
    return last.replace(year=last.year - YEARS, day=day)


def _last_day(connection: Connection) -> date:
    """The date of the source."""
    if SOURCE in held_tables(connection):
        found = connection.execute(f"SELECT max(source_release_date)::DATE FROM {SOURCE}").fetchall()
        if isinstance(found[0][0], date):
            return found[0][0]
    raise DataError("cdm_source: expected its source_release_date, found none; state until, the last day")


def _tables(connection: Connection, choices: Choices) -> dict[str, pd.DataFrame]:
    named = {"since": choices.since, "until": choices.until}
    connection.execute(_SPANS.format(**{name: f"DATE '{day}'" for name, day in named.items()}))
    for table, listed in (
        (CONDITION, choices.conditions),
        (DRUG, choices.drugs),
        (MEASUREMENT, choices.measurements),
        (VISIT, tuple(VISITS)),
    ):
        connection.register("given", nearest(connection, table.domain, listed))
        connection.execute(f"CREATE TEMP TABLE rolled_{table.name} AS SELECT * FROM given")
        connection.unregister("given")
    connection.register(
        "given",
        pd.DataFrame(
            [(concept, one.low, one.high) for concept, one in choices.ranges.items()],
            columns=["concept", "low", "high"],
        ).astype({"concept": "int64", "low": "float64", "high": "float64"}),
    )
    connection.execute("CREATE TEMP TABLE ranged AS SELECT * FROM given")
    for statement in (_MEETINGS, *(_EVENTS.format(**one) for one in _EVENT_COLUMNS), _REASONS):
        connection.execute(statement)
    return {name: connection.execute(query).df() for name, query in _RELEASED.items()}


_SPANS = """
    CREATE TEMP TABLE spans AS
    SELECT person_id, greatest(min(observation_period_start_date), {since}) AS first,
        least(max(observation_period_end_date), {until}) AS last, {until} AS until
    FROM observation_period SEMI JOIN person USING (person_id)
    GROUP BY person_id HAVING first <= last
"""

_EVENT_COLUMNS = (
    {
        "table": CONDITION.name,
        "key": CONDITION.key,
        "concept": CONDITION.concept,
        "start": CONDITION.start,
        "more": "CASE WHEN condition_end_date IS NOT NULL "
        "THEN greatest(condition_end_date - condition_start_date, 0) END AS lasts",
    },
    {
        "table": DRUG.name,
        "key": DRUG.key,
        "concept": DRUG.concept,
        "start": DRUG.start,
        "more": "coalesce(drug_exposure_end_date - drug_exposure_start_date, days_supply - 1, 0) AS lasts",
    },
    {
        "table": MEASUREMENT.name,
        "key": MEASUREMENT.key,
        "concept": MEASUREMENT.concept,
        "start": MEASUREMENT.start,
        "more": "(value_as_number - low) / (high - low) AS level",
    },
)

_ALL_EVENTS = " UNION ALL ".join(
    f"SELECT person_id, visit_occurrence_id AS visit, {one['start']} AS day FROM {one['table']}"
    for one in _EVENT_COLUMNS
)

_MEETINGS = f"""
    CREATE TEMP TABLE meetings AS
    WITH visits AS (
        SELECT v.visit_occurrence_id AS visit, v.person_id, v.visit_start_date AS start,
            greatest(coalesce(v.visit_end_date - v.visit_start_date, 0), 0) AS stay,
            coalesce(category, {NO_CONCEPT})::VARCHAR AS kind
        FROM visit_occurrence AS v
        JOIN spans AS s ON s.person_id = v.person_id AND v.visit_start_date BETWEEN s.first AND s.last
        LEFT JOIN rolled_visit_occurrence AS r ON r.concept_id = v.visit_concept_id
    ),
    alone AS (
        SELECT DISTINCT e.person_id, e.day AS start
        FROM ({_ALL_EVENTS}) AS e
        JOIN spans AS s ON s.person_id = e.person_id AND e.day BETWEEN s.first AND s.last
        ANTI JOIN visits AS v ON v.visit = e.visit AND v.person_id = e.person_id
    )
    SELECT * FROM visits
    UNION ALL
    SELECT -row_number() OVER (ORDER BY person_id, start), person_id, start, 0, '{NONE}' FROM alone
"""
"""Visits, and days with events that belong to none."""

_EVENTS = f"""
    CREATE TEMP TABLE events_{{table}} AS
    WITH events AS (
        SELECT e.*, coalesce(category, {NO_CONCEPT}) AS category
        FROM {{table}} AS e LEFT JOIN rolled_{{table}} AS r ON r.concept_id = e.{{concept}}
    )
    SELECT coalesce(m.visit, a.visit) AS visit_occurrence_id, e.category::VARCHAR AS category,
        greatest(e.{{start}} - coalesce(m.start, a.start), 0) AS day, {{more}}, e.{{key}} AS place
    FROM events AS e
    LEFT JOIN meetings AS m ON m.visit = e.visit_occurrence_id AND m.person_id = e.person_id
    LEFT JOIN meetings AS a ON a.person_id = e.person_id AND a.start = e.{{start}} AND a.kind = '{NONE}'
        AND m.visit IS NULL
    LEFT JOIN ranged ON ranged.concept = e.category
    WHERE coalesce(m.visit, a.visit) IS NOT NULL
"""

_REASONS = f"""
    CREATE TEMP TABLE reasons AS
    SELECT visit_occurrence_id AS visit, first(category ORDER BY day, place) AS reason
    FROM events_{CONDITION.name} GROUP BY visit
"""
"""The first condition of each visit."""


def _one_of(name: str, listed: Collection[int]) -> str:
    """A column of concepts of people, in which others than the listed ones are none."""
    column = f"{name}_concept_id"
    return f"CASE WHEN {column} IN {tuple(listed)} THEN {column} ELSE {NO_CONCEPT} END::VARCHAR AS {name}"


_RELEASED = {
    PERSON.name: f"""
        WITH usual AS (
            SELECT person_id, reason,
                row_number() OVER (PARTITION BY person_id ORDER BY count(*) DESC, reason) AS rank
            FROM meetings JOIN reasons USING (visit) GROUP BY person_id, reason
        )
        SELECT p.person_id,
            {_one_of("gender", GENDERS)}, year_of_birth, {_one_of("race", RACES)},
            {_one_of("ethnicity", ETHNICITIES)},
            s.first AS observed_from, s.last - s.first AS observed_days, s.last = s.until AS until_the_end,
            CASE WHEN d.death_date IS NOT NULL THEN greatest(d.death_date - s.last, 0) END AS days_to_death,
            coalesce(reason, '{NONE}') AS usual_reason
        FROM person AS p
        JOIN spans AS s USING (person_id)
        LEFT JOIN usual AS u ON u.person_id = p.person_id AND u.rank = 1
        LEFT JOIN (SELECT person_id, min(death_date) AS death_date FROM death GROUP BY person_id) AS d
            ON d.person_id = p.person_id
        ORDER BY p.person_id
    """,
    VISIT.name: f"""
        SELECT visit AS visit_occurrence_id, m.person_id, kind, m.start - s.first AS day, stay,
            coalesce(reason, '{NONE}') AS reason
        FROM meetings AS m JOIN spans AS s USING (person_id) LEFT JOIN reasons USING (visit)
        ORDER BY m.person_id, day, visit
    """,
    CONDITION.name: f"""
        SELECT visit_occurrence_id, category AS condition, day, lasts FROM events_{CONDITION.name}
        ORDER BY place
    """,
    DRUG.name: f"""
        SELECT visit_occurrence_id, category AS drug, day, greatest(lasts, 0) AS lasts FROM events_{DRUG.name}
        ORDER BY place
    """,
    MEASUREMENT.name: f"""
        SELECT visit_occurrence_id, category AS measurement, day, level FROM events_{MEASUREMENT.name}
        ORDER BY place
    """,
}
