import itertools

from dpmosaic.synthesis.omop.illness import LASTING, PASSING, VALUES, VITAL
from dpmosaic.synthesis.omop.model import CLINICAL, VERSION
from dpmosaic.synthesis.omop.vocabulary import ancestors, concept_named, concepts, ranges


def test_invented_concepts_have_numbers_of_local_concepts_and_stand_once():
    table = concepts()
    assert table["concept_id"].is_unique
    invented = table[table["vocabulary_id"] == "Invented"]
    assert (invented["concept_id"] >= 2_000_000_000).all()
    assert invented["concept_name"].is_unique


def test_the_hierarchy_is_transitive_and_levels_add_up():
    rows = ancestors().itertuples(index=False, name=None)
    levels = {(above, below): nearest for above, below, nearest, _ in rows}
    assert all(levels[one, one] == 0 for one, _ in levels)
    for (top, middle), (other, below) in itertools.product(levels, levels):
        if middle == other:
            assert levels[top, below] == levels[top, middle] + levels[middle, below]


def test_all_that_people_fall_ill_with_is_a_concept_and_every_measurement_has_a_range():
    for one in (*LASTING, *PASSING):
        concept_named(one.name)
        for name, chance, days in one.drugs:
            concept_named(name)
            assert 0 < chance <= 1
            assert days >= 1
        assert set(one.measured) <= set(VALUES)
    assert set(VITAL) <= set(VALUES)
    assert {concept_named(name) for name in VALUES} == set(ranges())
    illnesses = {one.name for one in (*LASTING, *PASSING)}
    named = {name for values in VALUES.values() for name, _ in (*values.shifts, *values.passing)}
    assert named <= illnesses


def test_columns_have_the_types_of_the_data_model():
    assert VERSION == "5.4"
    kinds = {(table.name, name): kind for table in CLINICAL for name, kind in table.columns.items()}
    assert kinds["person", "birth_datetime"] == "TIMESTAMP"
    assert kinds["death", "death_date"] == "DATE"
    assert kinds["measurement", "value_as_number"] == "DOUBLE"
    assert kinds["measurement", "value_as_concept_id"] == "BIGINT"
    assert kinds["drug_exposure", "sig"] == "VARCHAR"
    assert kinds["measurement", "measurement_time"] == "VARCHAR"
