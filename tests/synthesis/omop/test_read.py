import shutil
from datetime import date

import duckdb
import pandas as pd
import pytest

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.errors import DataError
from dpmosaic.simulations.tables.frames import encode
from dpmosaic.synthesis.omop.choices import NONE, read_ranges
from dpmosaic.synthesis.omop.model import CLINICAL
from dpmosaic.synthesis.omop.read import read
from dpmosaic.synthesis.omop.vocabulary import concept_named, ranges

PERSON, VISIT = "person", "visit_occurrence"
EVENTS = ("condition_occurrence", "drug_exposure", "measurement")


@pytest.fixture
def small(tmp_path, cdm):
    """A CDM with the vocabulary and one person, whose rows a test adds."""
    path = tmp_path / "small.duckdb"
    shutil.copy(cdm, path)
    with duckdb.connect(str(path)) as connection:
        for table in CLINICAL:
            connection.execute(f"DELETE FROM {table.name}")
        connection.execute(
            "INSERT INTO person BY NAME SELECT 7 AS person_id, 8532 AS gender_concept_id, "
            "1950 AS year_of_birth, 8527 AS race_concept_id, 5 AS ethnicity_concept_id"
        )
        add(connection, "observation_period", observation_period_id=1, person_id=7, **period(2014, 2018))
    return path


def period(first, last):
    return {
        "observation_period_start_date": date(first, 6, 1),
        "observation_period_end_date": date(last, 6, 1),
    }


def add(connection, table, **columns):
    names = ", ".join(f"${name} AS {name}" for name in columns)
    connection.execute(f"INSERT INTO {table} BY NAME SELECT {names}", columns)


def changed(path, *rows):
    with duckdb.connect(str(path)) as connection:
        for table, columns in rows:
            add(connection, table, person_id=7, **columns)
    return read(path).tables


def visit(number, day, **more):
    return VISIT, {
        "visit_occurrence_id": number,
        "visit_concept_id": 9202,
        "visit_start_date": day,
        "visit_end_date": day,
        **more,
    }


def condition(number, name, day, visit_id, end=None):
    return "condition_occurrence", {
        "condition_occurrence_id": number,
        "condition_concept_id": concept_named(name),
        "condition_start_date": day,
        "condition_end_date": end,
        "visit_occurrence_id": visit_id,
    }


@pytest.mark.slow
def test_people_are_observed_from_the_first_to_the_last_day_of_the_released_time(small):
    tables = changed(small, ("observation_period", {"observation_period_id": 2, **period(2020, 2030)}))
    (person,) = tables[PERSON].to_dict("records")
    assert person["gender"] == "8532"
    assert (person["race"], person["ethnicity"]) == ("8527", "0")
    assert person["observed_from"] == pd.Timestamp("2015-01-01")
    assert person["observed_days"] == (date(2024, 12, 31) - date(2015, 1, 1)).days
    assert person["until_the_end"]
    assert pd.isna(person["days_to_death"])
    assert person["usual_reason"] == NONE


@pytest.mark.slow
def test_death_is_counted_from_the_end_of_observation(small):
    (person,) = changed(small, ("death", {"death_date": date(2018, 6, 11)}))[PERSON].to_dict("records")
    assert person["days_to_death"] == 10
    assert not person["until_the_end"]


@pytest.mark.slow
def test_visits_are_counted_from_the_first_day_and_have_their_first_condition_as_reason(small):
    day = date(2015, 1, 11)
    tables = changed(
        small,
        visit(1, day, visit_end_date=date(2015, 1, 14)),
        visit(2, date(2015, 3, 1), visit_concept_id=123, visit_end_date=None),
        condition(1, "Influenza", date(2015, 1, 12), 1, date(2015, 1, 20)),
        condition(2, "Asthma", day, 1),
    )
    first, second = tables[VISIT].to_dict("records")
    assert (first["kind"], first["day"], first["stay"]) == ("9202", 10, 3)
    assert (second["kind"], second["stay"], second["reason"]) == ("0", 0, NONE)
    rows = tables["condition_occurrence"]
    assert first["reason"] == rows["condition"][1]
    assert rows["day"].tolist() == [1, 0]
    assert rows["lasts"].tolist() == [8, pd.NA]
    assert tables[PERSON]["usual_reason"].tolist() == [first["reason"]]


@pytest.mark.slow
def test_events_of_no_visit_meet_on_a_day_of_their_own_and_others_are_left_out(small):
    day = date(2016, 2, 3)
    tables = changed(
        small,
        visit(1, day),
        visit(2, date(2012, 1, 1)),
        visit(3, date(2019, 1, 1)),
        condition(1, "Influenza", day, None),
        condition(2, "Asthma", day, 99),
        condition(3, "Asthma", date(2016, 2, 4), 1),
        condition(4, "Asthma", date(2012, 1, 1), 2),
        condition(5, "Asthma", date(2019, 1, 1), None),
    )
    visits = tables[VISIT]
    assert visits["kind"].tolist() == [NONE, "9202"]
    alone, met = visits["visit_occurrence_id"]
    assert tables["condition_occurrence"]["visit_occurrence_id"].tolist() == [alone, alone, met]


@pytest.mark.slow
def test_values_are_places_in_the_public_range_of_the_category(small):
    known = ranges()[concept_named("Haemoglobin A1c")]
    with duckdb.connect(str(small)) as connection:
        for number, (name, value) in enumerate(
            [("Haemoglobin A1c", 6.5), ("Haemoglobin A1c", None), ("Vital sign", 7.0)], start=1
        ):
            add(
                connection,
                "measurement",
                person_id=7,
                measurement_id=number,
                measurement_concept_id=concept_named(name),
                measurement_date=date(2016, 1, 1),
                value_as_number=value,
            )
    levels = read(small).tables["measurement"]["level"]
    assert levels[0] == pytest.approx((6.5 - known.low) / (known.high - known.low))
    assert levels[1:].isna().all()


@pytest.mark.slow
@pytest.mark.parametrize("person", [1, 17, 120, 300])
def test_no_row_of_a_person_changes_with_the_rows_of_another(tmp_path, cdm, person):
    """Brute force: without a person, the tables are those of the others."""
    without = tmp_path / "without.duckdb"
    shutil.copy(cdm, without)
    with duckdb.connect(str(without)) as connection:
        for table in CLINICAL:
            connection.execute(f"DELETE FROM {table.name} WHERE person_id = ?", [person])
    whole, rest = read(cdm), read(without)
    assert whole.choices.domain() == rest.choices.domain()
    for name, rows in with_people(rest.tables).items():
        others = with_people(whole.tables)[name]
        others = others[others["person_id"] != person]
        pd.testing.assert_frame_equal(others.reset_index(drop=True), rows.reset_index(drop=True))


def with_people(tables):
    """The tables with the person, day and kind of the visit in place of its key."""
    visits = tables[VISIT].set_index("visit_occurrence_id")[["person_id", "day", "kind"]]
    found = {PERSON: tables[PERSON], VISIT: tables[VISIT].drop(columns="visit_occurrence_id")}
    for name in EVENTS:
        joined = tables[name].join(visits.add_prefix("visit_"), on="visit_occurrence_id")
        found[name] = joined.drop(columns="visit_occurrence_id").rename(
            columns={"visit_person_id": "person_id"}
        )
    return found


@pytest.mark.slow
@pytest.mark.parametrize("most", [18, 25, 60])
def test_all_rows_fit_their_domains_which_no_row_has_a_say_in(cdm, small, most):
    held = read(cdm, most=most)
    domains = held.choices.domain()
    assert domains == read(small, most=most).choices.domain()
    for name, rows in held.tables.items():
        table = encode(rows, domains[name])
        assert table.record_count == len(rows)
        assert len(Domain.from_json(domains[name])) == len(domains[name])
    for listed in (held.choices.conditions, held.choices.drugs, held.choices.measurements):
        assert len(listed) <= most


@pytest.mark.slow
def test_the_time_is_what_is_asked_for_or_ten_years(cdm):
    asked = read(cdm, since=date(2018, 3, 1), until=date(2019, 2, 28))
    assert (asked.choices.since, asked.choices.until) == (date(2018, 3, 1), date(2019, 2, 28))
    people = asked.tables[PERSON]
    assert (people["observed_from"] >= "2018-03-01").all()
    assert (people["observed_days"] <= 364).all()
    assert read(cdm, until=date(2020, 2, 29)).choices.since == date(2010, 3, 1)
    with pytest.raises(DataError, match="a day before 2024-12-31"):
        read(cdm, since=date(2025, 1, 1))


@pytest.mark.slow
def test_refuses_a_source_without_a_date(small):
    with duckdb.connect(str(small)) as connection:
        connection.execute("DROP TABLE cdm_source")
    with pytest.raises(DataError, match="state until"):
        read(small)
    assert len(read(small, until=date(2018, 1, 1)).tables[PERSON]) == 1


def test_ranges_are_read_from_a_file_beside_the_invented_ones(tmp_path):
    path = tmp_path / "ranges.json"
    path.write_text('{"3004410": {"low": 3, "high": 20, "decimals": 1, "unit": 8554}}')
    found = read_ranges(path)
    assert found[3004410].high == 20
    assert set(ranges()) < set(found)
    for text in ('{"a": {}}', "[]", '{"1": {"low": 1}}'):
        path.write_text(text)
        with pytest.raises(DataError, match="found something else"):
            read_ranges(path)
    path.write_text('{"1": {"low": 2, "high": 1, "decimals": 0, "unit": 0}}')
    with pytest.raises(DataError, match="low < high"):
        read_ranges(path)


@pytest.mark.slow
def test_a_schema_of_the_database_can_be_named(tmp_path, cdm):
    path = tmp_path / "schema.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(f"ATTACH '{cdm}' AS held (READ_ONLY)")
        connection.execute("CREATE SCHEMA clinic")
        held = connection.execute(
            "SELECT table_name FROM duckdb_tables() WHERE database_name = 'held'"
        ).fetchall()
        for (name,) in held:
            connection.execute(f"CREATE TABLE clinic.{name} AS SELECT * FROM held.{name}")
    tables = read(path, schema="clinic").tables
    assert all(rows.equals(read(cdm).tables[name]) for name, rows in tables.items())
    with pytest.raises(DataError, match="expected the table person"):
        read(path)
