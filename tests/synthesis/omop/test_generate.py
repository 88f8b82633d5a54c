import duckdb
import pytest

from dpmosaic.common.errors import DataError
from dpmosaic.synthesis.omop.checks import check
from dpmosaic.synthesis.omop.generate import generate
from dpmosaic.synthesis.omop.model import CLINICAL
from dpmosaic.synthesis.omop.vocabulary import concept_named

pytestmark = pytest.mark.slow


def tables_of(path):
    with duckdb.connect(str(path), read_only=True) as connection:
        return {
            table.name: connection.execute(f"SELECT * FROM {table.name} ORDER BY ALL").df()
            for table in CLINICAL
        }


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_made_up_people_keep_every_rule_of_a_cdm(tmp_path, seed):
    path = generate(tmp_path / "cdm.duckdb", 400, seed)
    assert [one.rule.name for one in check(path) if not one.holds] == []


@pytest.mark.slow
def test_a_seed_makes_the_same_people_and_another_one_others(tmp_path):
    one, same, other = (
        tables_of(generate(tmp_path / f"{place}.duckdb", 60, seed)) for place, seed in enumerate((1, 1, 2))
    )
    assert all(one[name].equals(same[name]) for name in one)
    assert not one["person"].equals(other["person"])


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    path = generate(tmp_path_factory.mktemp("many") / "cdm.duckdb", 4000, seed=1)
    with duckdb.connect(str(path), read_only=True) as connection:
        yield connection


def asked(connection, query, **named):
    ((found,),) = connection.execute(query, named or None).fetchall()
    return found


def test_values_go_with_conditions_and_drugs_follow_them(many):
    """Far beyond chance: the means differ by more than 20 standard errors."""
    with_it, without = (
        asked(
            many,
            "SELECT avg(value_as_number) FROM measurement WHERE measurement_concept_id = $pressure "
            f"AND person_id {word} "
            "(SELECT person_id FROM condition_occurrence WHERE condition_concept_id = $ill)",
            ill=concept_named("Essential hypertension"),
            pressure=concept_named("Systolic blood pressure"),
        )
        for word in ("IN", "NOT IN")
    )
    assert with_it > without + 10
    given = asked(
        many,
        "SELECT avg((condition_concept_id = $ill)::INT) FROM drug_exposure JOIN condition_occurrence "
        "USING (visit_occurrence_id) WHERE drug_concept_id = $drug",
        ill=concept_named("Type 2 diabetes"),
        drug=concept_named("Metformin"),
    )
    assert given > 0.4


def test_lasting_conditions_come_back_and_the_old_die(many):
    again, once = (
        asked(
            many,
            "SELECT avg(n) FROM (SELECT count(*) AS n FROM condition_occurrence "
            "WHERE condition_concept_id = $ill GROUP BY person_id)",
            ill=concept_named(name),
        )
        for name in ("Essential hypertension", "Influenza")
    )
    assert again > 2 * once
    dead, alive = (
        asked(many, f"SELECT avg(year_of_birth) FROM person {join} JOIN death USING (person_id)")
        for join in ("SEMI", "ANTI")
    )
    assert dead < alive - 10


def test_refuses_no_people_and_a_file_that_exists(tmp_path):
    with pytest.raises(DataError, match="at least 1"):
        generate(tmp_path / "cdm.duckdb", 0)
    generate(tmp_path, 1, seed=0)
    with pytest.raises(DataError, match="exists already"):
        generate(tmp_path, 1, seed=0)
