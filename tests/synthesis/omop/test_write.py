"""Whatever rows a release may have, the CDM that is written from them keeps every rule."""

import duckdb
import numpy as np
import pandas as pd
import pytest

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.errors import DataError
from dpmosaic.simulations.tables.frames import encode
from dpmosaic.synthesis.omop.checks import check
from dpmosaic.synthesis.omop.choices import NONE, ORDER
from dpmosaic.synthesis.omop.read import read
from dpmosaic.synthesis.omop.write import write


@pytest.fixture(scope="module")
def held(cdm):
    return read(cdm)


def drawn(domain, size, rng):
    """Rows with each code of each column equally likely."""
    known = Domain.from_json(domain)
    columns = {}
    for one in known.attributes:
        columns[one.name] = one.decode(rng.integers(0, one.size, size), rng)
    return pd.DataFrame(columns)


def any_tables(choices, seed):
    """People whose visits and events have nothing to do with them."""
    rng, domains = np.random.default_rng(seed), choices.domain()
    people = drawn(domains["person"], 60, rng).assign(person_id=np.arange(60) + 1)
    visits = drawn(domains["visit_occurrence"], 300, rng)
    visits["person_id"] = np.sort(rng.integers(1, 61, 300))
    visits = visits.sort_values(["person_id", ORDER["visit_occurrence"]]).assign(
        visit_occurrence_id=np.arange(300) + 1
    )
    tables = {"person": people, "visit_occurrence": visits}
    for name in ("condition_occurrence", "drug_exposure", "measurement"):
        tables[name] = drawn(domains[name], 500, rng).assign(visit_occurrence_id=rng.integers(1, 301, 500))
    return tables


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_every_rule_holds_whatever_the_rows_are(tmp_path, held, seed):
    tables = any_tables(held.choices, seed)
    path = write(tmp_path / "cdm.duckdb", tables, held.choices)
    assert [one.rule.name for one in check(path, released=True) if not one.holds] == []
    with duckdb.connect(str(path), read_only=True) as connection:
        rows = {name: connection.execute(f"SELECT count(*) FROM {name}").fetchall()[0][0] for name in tables}
    kept = {name: len(one) for name, one in tables.items()}
    kept["visit_occurrence"] = int((tables["visit_occurrence"]["kind"] != NONE).sum())
    assert rows == kept


@pytest.mark.slow
def test_an_empty_table_is_written_as_one(tmp_path, held):
    tables = any_tables(held.choices, 0)
    tables["drug_exposure"] = tables["drug_exposure"].iloc[:0]
    tables["condition_occurrence"] = tables["condition_occurrence"].iloc[:0]
    path = write(tmp_path / "cdm.duckdb", tables, held.choices)
    assert all(one.holds for one in check(path, released=True))


@pytest.mark.slow
def test_rows_that_need_no_repair_come_back_in_their_categories(tmp_path, held):
    again = read(write(tmp_path / "cdm.duckdb", held.tables, held.choices))
    domains = held.choices.domain()
    assert again.choices.domain() == domains
    for name, rows in held.tables.items():
        one, other = (encode(table, domains[name]) for table in (rows, again.tables[name]))
        for column in one.domain:
            same = (one.column(column) == other.column(column)).mean()
            # What a visit is about comes first among its conditions.
            assert same == 1 or (name == "condition_occurrence" and same > 0.98)


@pytest.mark.slow
def test_visits_keep_their_order_and_come_closer_where_they_take_too_long(tmp_path, held):
    tables = any_tables(held.choices, 1)
    tables["visit_occurrence"]["kind"] = "9202"
    path = write(tmp_path / "cdm.duckdb", tables, held.choices)
    with duckdb.connect(str(path), read_only=True) as connection:
        rows = connection.execute("SELECT * FROM visit_occurrence ORDER BY visit_occurrence_id").df()
    for _, visits in rows.groupby("person_id"):
        assert visits["visit_start_date"].is_monotonic_increasing


@pytest.mark.slow
def test_a_visit_that_is_about_something_has_a_condition_of_it_first(tmp_path, held):
    tables = any_tables(held.choices, 2)
    path = write(tmp_path / "cdm.duckdb", tables, held.choices)
    again = read(path).tables["visit_occurrence"].set_index("visit_occurrence_id")["reason"]
    with_some = set(tables["condition_occurrence"]["visit_occurrence_id"])
    stated = tables["visit_occurrence"].set_index("visit_occurrence_id")
    stated = stated[(stated["kind"] != NONE) & (stated["reason"] != NONE)]["reason"]
    for visit, reason in stated.items():
        if visit in with_some:
            assert again[visit] == reason


@pytest.mark.slow
def test_values_lie_in_their_ranges_with_their_units(tmp_path, held):
    path = write(tmp_path / "cdm.duckdb", any_tables(held.choices, 3), held.choices)
    with duckdb.connect(str(path), read_only=True) as connection:
        rows = connection.execute("SELECT * FROM measurement WHERE value_as_number IS NOT NULL").df()
    assert len(rows) > 50
    for concept, values in rows.groupby("measurement_concept_id"):
        known = held.choices.ranges[concept]
        assert values["value_as_number"].between(known.low, known.high).all()
        assert (values["unit_concept_id"] == known.unit).all()


def test_refuses_a_file_that_exists(tmp_path, held):
    (tmp_path / "cdm.duckdb").write_text("")
    with pytest.raises(DataError, match="exists already"):
        write(tmp_path / "cdm.duckdb", held.tables, held.choices)
