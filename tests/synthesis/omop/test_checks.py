"""Each rule is broken by a statement of its own, and found."""

import re
import shutil

import duckdb
import pytest

from dpmosaic.common.errors import DataError
from dpmosaic.synthesis.omop import checks
from dpmosaic.synthesis.omop.checks import check, check_rules, rules
from dpmosaic.synthesis.omop.model import CLINICAL, VOCABULARY

TABLES = {table.name: table for table in CLINICAL}


@pytest.fixture(scope="module")
def copied(cdm):
    """The CDM in memory, without source values."""
    with duckdb.connect() as connection:
        connection.execute(f"ATTACH '{cdm}' AS held (READ_ONLY)")
        for table in (*CLINICAL, *VOCABULARY):
            connection.execute(f"CREATE TABLE {table.name} AS SELECT * FROM held.{table.name}")
        for table in CLINICAL:
            for name in table.texts:
                connection.execute(f"UPDATE {table.name} SET {name} = NULL")
        yield connection


def breaking(name):
    """Statements that break the rule of a name in one row."""
    table, _, said = name.partition(": ")
    held = TABLES[table]
    key = held.key or "person_id"
    one = f"WHERE {key} = (SELECT min({key}) FROM {table})"
    if said.endswith("stands once"):
        return f"INSERT INTO {table} SELECT * FROM {table} {one}"
    if said == "each row belongs to a person":
        return f"UPDATE {table} SET person_id = 999999 {one}"
    if said == "a visit that is named is one of the same person":
        other = (
            f"(SELECT min(visit_occurrence_id) FROM visit_occurrence WHERE person_id <> {table}.person_id)"
        )
        return f"UPDATE {table} SET visit_occurrence_id = {other} {one}"
    if said == "the visit before is one of the same person":
        return f"UPDATE {table} SET preceding_visit_occurrence_id = 999999 {one}"
    if match := re.match(r"(\w+concept_id) is (one|a)", said):
        return f"UPDATE {table} SET {match[1]} = 123456789 {one}"
    if said == "each row is about a concept":
        return f"UPDATE {table} SET {held.concept} = NULL {one}"
    if said.startswith("each row has a "):
        return f"UPDATE {table} SET {held.start} = NULL {one}"
    if said == "the end is not before the start":
        return f"UPDATE {table} SET {held.end} = {held.start} - 1 {one}"
    if said == "each row lies within one observation period of its person":
        return f"DELETE FROM observation_period WHERE person_id = (SELECT min(person_id) FROM {table})"
    if said == "the periods of a person do not overlap":
        return (
            "INSERT INTO observation_period SELECT * REPLACE (999999 AS observation_period_id) "
            f"FROM observation_period {one}"
        )
    if said == "no row is before its person's birth":
        return (
            f"UPDATE person SET year_of_birth = 2500 WHERE person_id = (SELECT min(person_id) FROM {table})"
        )
    if said == "no row is after its person's death":
        return (
            "DELETE FROM death; INSERT INTO death (person_id, death_date) "
            f"SELECT min(person_id), DATE '1990-01-01' FROM {table}"
        )
    if said == "source values and texts are empty":
        return f"UPDATE {table} SET {held.texts[-1]} = 'x' {one}"
    if match := re.match(r"(\w+source_concept_id) is empty", said):
        return f"UPDATE {table} SET {match[1]} = 7 {one}"
    if said == "places and providers are empty":
        return f"UPDATE {table} SET care_site_id = 7 {one}"
    raise AssertionError(f"no statement breaks {name!r}")


def test_every_rule_holds_before(copied):
    assert [one.rule.name for one in check_rules(copied, True) if not one.holds] == []


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule.name)
def test_a_broken_rule_is_found(copied, rule, monkeypatch):
    monkeypatch.setattr(checks, "rules", lambda: (rule,))
    copied.execute("BEGIN")
    try:
        copied.execute(breaking(rule.name))
        (found,) = check_rules(copied, True)
        assert found.rows >= 1
    finally:
        copied.execute("ROLLBACK")


def test_names_of_rules_are_different():
    names = [rule.name for rule in rules()]
    assert len({*names}) == len(names)


@pytest.mark.slow
def test_an_end_beyond_the_period_or_the_death_is_found_too(copied):
    for table, name in (
        ("drug_exposure", "each row lies within one observation period of its person"),
        ("visit_occurrence", "each row lies within one observation period of its person"),
    ):
        copied.execute("BEGIN")
        end = TABLES[table].end
        copied.execute(f"UPDATE {table} SET {end} = {end} + 100000")
        found = {one.rule.name: one.holds for one in check_rules(copied, False)}
        assert not found[f"{table}: {name}"]
        copied.execute("ROLLBACK")


@pytest.mark.slow
def test_source_values_are_asked_of_a_release_alone(cdm):
    assert all(one.holds for one in check(cdm))
    broken = {one.rule.name for one in check(cdm, released=True) if not one.holds}
    assert "person: source values and texts are empty" in broken
    assert all(name.endswith("source values and texts are empty") for name in broken)


@pytest.mark.slow
def test_refuses_what_is_no_cdm(tmp_path, cdm):
    with pytest.raises(DataError, match="found none"):
        check(tmp_path / "missing.duckdb")
    (tmp_path / "text.duckdb").write_text("a")
    with pytest.raises(DataError, match="expected a file of DuckDB"):
        check(tmp_path / "text.duckdb")
    with duckdb.connect(str(tmp_path / "part.duckdb")) as connection:
        connection.execute("CREATE TABLE person (person_id BIGINT)")
    with pytest.raises(DataError, match="expected the column gender_concept_id"):
        check(tmp_path / "part.duckdb")
    with duckdb.connect(str(tmp_path / "types.duckdb")) as connection:
        connection.execute(f"ATTACH '{cdm}' AS held (READ_ONLY)")
        for table in (*CLINICAL, *VOCABULARY):
            connection.execute(f"CREATE TABLE {table.name} AS SELECT * FROM held.{table.name}")
        connection.execute("ALTER TABLE person ALTER year_of_birth TYPE VARCHAR")
        connection.execute("UPDATE person SET year_of_birth = 'a secret'")
    with pytest.raises(DataError, match=r"columns of CDM 5\.4 in its types") as refused:
        check(tmp_path / "types.duckdb")
    assert "secret" not in str(refused.value)
    with duckdb.connect(str(tmp_path / "types.duckdb")) as connection:
        connection.execute("ALTER TABLE death ALTER death_date TYPE TIMESTAMP")
    with pytest.raises(DataError, match="expected dates in death_date"):
        check(tmp_path / "types.duckdb")
    with pytest.raises(DataError, match="expected a schema 'none'"):
        check(cdm, schema="none")


@pytest.mark.parametrize("reading", ["read_text", "read_blob", "read_csv", "glob"])
def test_a_view_of_a_strangers_database_reads_no_file_of_this_machine(cdm, tmp_path, reading):
    (tmp_path / "other.csv").write_text("a\nb\n")
    database = tmp_path / "cdm.duckdb"
    shutil.copyfile(cdm, database)
    assert check(database)
    with duckdb.connect(database) as connection:
        connection.execute("ALTER TABLE person RENAME TO kept")
        connection.execute(
            f"CREATE VIEW person AS SELECT kept.* FROM kept, {reading}('{tmp_path / 'other.csv'}')"
        )
    with pytest.raises(DataError, match="found a view of other files"):
        check(database)
