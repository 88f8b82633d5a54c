"""Rules that a CDM keeps: each is a query for the rows that break it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from .database import Connection, open_cdm
from .model import CLINICAL, DEATH, EVENTS, NO_CONCEPT, PERIOD, PERSON, VISIT


@dataclass(frozen=True)
class CdmRule:
    """A rule.

    Attributes:
        name: what holds, as a sentence.
        broken: a query for the rows that break it.
        released: whether a release alone has to keep it.
    """

    name: str
    broken: str
    released: bool = False


@dataclass(frozen=True)
class Checked:
    """What a check found.

    Attributes:
        rule: the rule.
        rows: number of rows that break it; private if the database is.
    """

    rule: CdmRule
    rows: int

    @property
    def holds(self) -> bool:
        """Whether no row breaks the rule."""
        return self.rows == 0


def check(database: str | Path, *, schema: str = "", released: bool = False) -> tuple[Checked, ...]:
    """Checks the rules over a CDM.

    Args:
        database: a file of DuckDB, or the URI of a PostgreSQL database.
        schema: schema of the tables.
        released: whether it is a release, which has no source values.

    Raises:
        DataError: there is no such CDM, or a table is missing.
        MissingExtraError: PostgreSQL needs an extra that is not installed.
    """
    with open_cdm(database, schema, alone=True) as connection:
        return check_rules(connection, released)


def check_rules(connection: Connection, released: bool) -> tuple[Checked, ...]:
    """Checks the rules over a CDM that is open; see `check`."""
    asked = (rule for rule in rules() if released or not rule.released)
    return tuple(Checked(rule, _count(connection, rule)) for rule in asked)


def _count(connection: Connection, rule: CdmRule) -> int:
    ((found,),) = connection.execute(f"SELECT count(*) FROM ({rule.broken})").fetchall()
    return int(found)


def rules() -> tuple[CdmRule, ...]:
    """All rules."""
    return (*_keys(), *_references(), *_concepts(), *_times(), *_lives(), *_texts())


def _keys() -> Iterator[CdmRule]:
    for table in CLINICAL:
        key = table.key or "person_id"
        yield CdmRule(
            f"{table.name}: each {key} stands once",
            f"SELECT {key} FROM {table.name} GROUP BY {key} HAVING count(*) > 1 OR {key} IS NULL",
        )


def _references() -> Iterator[CdmRule]:
    for table in CLINICAL[1:]:
        yield CdmRule(
            f"{table.name}: each row belongs to a person",
            f"SELECT t.person_id FROM {table.name} AS t ANTI JOIN person AS p ON p.person_id = t.person_id",
        )
    for table in EVENTS:
        yield CdmRule(
            f"{table.name}: a visit that is named is one of the same person",
            f"SELECT t.person_id FROM {table.name} AS t ANTI JOIN {VISIT.name} AS v "
            "ON v.visit_occurrence_id = t.visit_occurrence_id AND v.person_id = t.person_id "
            "WHERE t.visit_occurrence_id IS NOT NULL",
        )
    yield CdmRule(
        f"{VISIT.name}: the visit before is one of the same person",
        f"SELECT t.person_id FROM {VISIT.name} AS t ANTI JOIN {VISIT.name} AS v ON v.visit_occurrence_id = "
        "t.preceding_visit_occurrence_id AND v.person_id = t.person_id "
        "WHERE t.preceding_visit_occurrence_id IS NOT NULL",
    )


def _concepts() -> Iterator[CdmRule]:
    for table in CLINICAL:
        for column in table.concepts:
            domain = f"AND c.domain_id = '{table.domain}'" if column == table.concept else ""
            wanted = f"a standard one of the domain {table.domain}" if domain else "one of the vocabulary"
            standard = "AND c.standard_concept IS NOT NULL" if domain else ""
            yield CdmRule(
                f"{table.name}: {column} is {wanted}, or {NO_CONCEPT}",
                f"SELECT {column} FROM {table.name} AS t ANTI JOIN concept AS c ON c.concept_id = t.{column} "
                f"{domain} {standard} WHERE t.{column} <> {NO_CONCEPT}",
            )
        if table.concept:
            yield CdmRule(
                f"{table.name}: each row is about a concept",
                f"SELECT {table.concept} FROM {table.name} WHERE {table.concept} IS NULL",
            )


def _times() -> Iterator[CdmRule]:
    for table in CLINICAL:
        if table.start:
            yield CdmRule(
                f"{table.name}: each row has a {table.start}",
                f"SELECT person_id FROM {table.name} WHERE {table.start} IS NULL",
            )
        if table.end:
            yield CdmRule(
                f"{table.name}: the end is not before the start",
                f"SELECT person_id FROM {table.name} WHERE {table.end} < {table.start}",
            )
    for table in (VISIT, *EVENTS):
        end = f"coalesce(t.{table.end}, t.{table.start})" if table.end else f"t.{table.start}"
        yield CdmRule(
            f"{table.name}: each row lies within one observation period of its person",
            f"SELECT t.person_id FROM {table.name} AS t ANTI JOIN {PERIOD.name} AS o "
            f"ON o.person_id = t.person_id AND t.{table.start} >= o.observation_period_start_date "
            f"AND {end} <= o.observation_period_end_date",
        )
    yield CdmRule(
        f"{PERIOD.name}: the periods of a person do not overlap",
        f"SELECT a.person_id FROM {PERIOD.name} AS a JOIN {PERIOD.name} AS b ON a.person_id = b.person_id "
        "AND a.observation_period_id < b.observation_period_id "
        "AND a.observation_period_start_date <= b.observation_period_end_date "
        "AND b.observation_period_start_date <= a.observation_period_end_date",
    )


def _lives() -> Iterator[CdmRule]:
    for table in (PERIOD, VISIT, *EVENTS, DEATH):
        yield CdmRule(
            f"{table.name}: no row is before its person's birth",
            f"SELECT t.person_id FROM {table.name} AS t JOIN person AS p ON p.person_id = t.person_id "
            f"WHERE year(t.{table.start}) < p.year_of_birth",
        )
    for table in (PERIOD, VISIT, *EVENTS):
        end = table.end or table.start
        yield CdmRule(
            f"{table.name}: no row is after its person's death",
            f"SELECT t.person_id FROM {table.name} AS t JOIN death AS d ON d.person_id = t.person_id "
            f"WHERE greatest(t.{table.start}, t.{end}) > d.death_date",
        )


def _texts() -> Iterator[CdmRule]:
    for table in CLINICAL:
        if table.texts:
            filled = " OR ".join(f"coalesce({name}, '') <> ''" for name in table.texts)
            yield CdmRule(
                f"{table.name}: source values and texts are empty",
                f"SELECT 1 FROM {table.name} WHERE {filled}",
                released=True,
            )
    source = [
        (table, name) for table in CLINICAL for name in table.columns if name.endswith("source_concept_id")
    ]
    for table, name in source:
        yield CdmRule(
            f"{table.name}: {name} is empty",
            f"SELECT 1 FROM {table.name} WHERE {name} <> {NO_CONCEPT}",
            released=True,
        )
    yield CdmRule(
        f"{PERSON.name}: places and providers are empty",
        f"SELECT 1 FROM {PERSON.name} WHERE coalesce(location_id, provider_id, care_site_id) IS NOT NULL",
        released=True,
    )
