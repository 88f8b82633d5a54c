"""What a person changes in weighted records, by brute force: never more than one record."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.interactions import interaction
from dpmosaic.common.data.related.rows import Rows
from dpmosaic.common.privacy.cost import ALL_ROWS, WEIGHT_PARTS, Adjacency, PrivacyUnit
from dpmosaic.common.protocols.scores.query import exact_scores
from dpmosaic.curator.people import rows as weighing
from dpmosaic.curator.people.kin import Kin
from dpmosaic.curator.people.rows import codes_of_first_rows, of_people, people_in_parts, records, weights
from dpmosaic.curator.people.shape import Family
from support.families import families, heavy, without

UNIT = PrivacyUnit(Adjacency.ADD_REMOVE, ALL_ROWS)
CODED = Domain.coded({"t1_0": 2, "t1_1": 2})


def cliques(domain):
    some = itertools.combinations(domain.names[:5], 3)
    return [*some, *(clique for n in (0, 1, 2) for clique in itertools.combinations(domain.names, n))]


def changes(family, rows):
    """What each person adds to each marginal of up to three columns of each table, in parts of a record."""
    for table in family.tables:
        if not family.own(table.name):
            continue
        whole = records(family, table.name, rows)
        for person in range(len(rows[family.root.name])):
            if len(rows[family.root.name]) == 1:
                others = whole.rows(0, 0)
            else:
                others = records(family, table.name, without(family, rows, person))
            for clique in cliques(whole.domain):
                yield whole, clique, whole.marginal(clique) - others.marginal(clique)


def largest_change(family, rows):
    """The largest sum of what one person adds to a marginal, in records."""
    return max(Fraction(int(np.abs(change).sum()), WEIGHT_PARTS) for _, _, change in changes(family, rows))


@pytest.mark.slow
@given(families())
def test_a_person_adds_at_most_one_record_to_each_marginal(drawn):
    for _, _, change in changes(*drawn):
        assert change.min(initial=0) >= 0
        assert change.sum() <= WEIGHT_PARTS


@pytest.mark.slow
@settings(max_examples=40)
@given(families(most_tables=3))
def test_a_person_moves_each_interaction_at_most_as_a_record_does(drawn):
    for table, clique, change in changes(*drawn):
        shape = table.domain.shape(clique)
        if clique and min(shape) > 1:
            moved = interaction(change / WEIGHT_PARTS, shape)
            bound = float(UNIT.squared_interaction_sensitivity(shape))
            assert (moved**2).sum() <= bound * (1 + 1e-12)


@pytest.mark.slow
@settings(max_examples=40)
@given(families(most_tables=3), st.integers(0, 2**32 - 1))
def test_a_person_moves_each_score_by_at_most_one(drawn, seed):
    rng = np.random.default_rng(seed)
    for table, clique, change in changes(*drawn):
        counts = table.marginal(clique)
        reference = WEIGHT_PARTS * rng.integers(0, 4, len(counts))
        with_, without_ = (exact_scores([one], reference)[0] for one in (counts, counts - change))
        assert (with_ - without_) ** 2 <= UNIT.squared_score_sensitivity * WEIGHT_PARTS**2


@pytest.mark.slow
@given(families(most_tables=4))
def test_records_of_others_do_not_change_when_a_person_leaves(drawn):
    family, rows = drawn
    if len(rows["t0"]) == 1:
        return
    for table in family.tables:
        if family.own(table.name):
            whole = records(family, table.name, rows)
            for person in range(len(rows["t0"])):
                mine = weighing.lineage(family, table.name, "t0", rows) == person
                others = records(family, table.name, without(family, rows, person))
                np.testing.assert_array_equal(whole.weights[~mine], others.weights)
                for column, other in zip(whole.columns, others.columns, strict=True):
                    np.testing.assert_array_equal(column[~mine], other)


@pytest.mark.slow
@given(families())
def test_weights_of_a_person_with_few_rows_waste_less_than_a_part_for_each_row(drawn):
    family, rows = drawn
    for table in family.tables[1:]:
        person, people = weighing.lineage(family, table.name, "t0", rows), len(rows["t0"])
        numbers = np.bincount(person, minlength=people)
        sums = np.bincount(person, weights(family, table.name, rows), people)
        several = numbers >= weighing.evened_rows(family, table.name)
        assert np.all((WEIGHT_PARTS - sums < numbers)[several & (numbers > 0)])


def test_up_to_so_many_rows_all_count_the_same():
    family, rows = heavy(50)
    (root, child) = family.tables
    for evened, one, other in (
        (1, WEIGHT_PARTS // 50, WEIGHT_PARTS // 2),
        (10, WEIGHT_PARTS // 50, WEIGHT_PARTS // 10),
    ):
        held = type(family)((root, type(child)(**{**vars(child), "evened": evened})))
        assert set(weights(held, "t1", rows)[:50]) == {one}
        assert set(weights(held, "t1", rows)[50:]) == {other}


def test_more_rows_than_parts_weigh_nothing():
    family, _ = heavy(1)
    held = Rows(
        {"t1_0": np.zeros(WEIGHT_PARTS + 1, dtype=np.int64)}, np.zeros(WEIGHT_PARTS + 1, dtype=np.int64), 1
    )
    found = weights(family, "t1", {"t0": Rows({}, np.arange(1), 1), "t1": held})
    assert not found.any()


def not_divided(family, name, rows):
    return np.full(len(rows[name]), WEIGHT_PARTS)


def one_event_counted_twice(family, name, rows):
    found = weights(family, name, rows)
    if len(found):
        found[0] *= 2
    return found


def rounded_up(family, name, rows):
    person = weighing.lineage(family, name, family.root.name, rows)
    numbers = np.bincount(person, minlength=len(rows[family.root.name]))
    return np.ceil(WEIGHT_PARTS / np.maximum(numbers, 1)).astype(np.int64)[person]


def rows_of_the_mean_person(family, name, rows):
    return np.full(len(rows[name]), WEIGHT_PARTS * rows[name].parents // max(1, len(rows[name])))


@pytest.mark.parametrize("fault", [not_divided, one_event_counted_twice, rounded_up, rows_of_the_mean_person])
def test_brute_force_finds_a_planted_fault(fault, monkeypatch):
    # 7 does not divide WEIGHT_PARTS, so that rounding up is seen, too.
    family, rows = heavy(7)
    assert largest_change(family, rows) <= 1
    monkeypatch.setattr(weighing, "weights", fault)
    assert largest_change(family, rows) > 1


def test_a_person_is_a_unit_of_any_number_of_rows_at_the_cost_of_one():
    one = PrivacyUnit(Adjacency.ADD_REMOVE, 1)
    assert UNIT.squared_sensitivity == one.squared_sensitivity == 1
    assert UNIT.squared_score_sensitivity == one.squared_score_sensitivity
    assert UNIT.squared_interaction_sensitivity((2, 5)) == one.squared_interaction_sensitivity((2, 5))
    assert (UNIT.parts, one.parts) == (WEIGHT_PARTS, 1)
    assert math.log2(WEIGHT_PARTS).is_integer()
    assert "person with all rows in all tables" in UNIT.in_words


def test_people_are_in_parts_of_few_rows_each_person_in_one(monkeypatch):
    numbers = np.random.default_rng(2).integers(0, 30, 500)
    assert people_in_parts(numbers) == [slice(0, 500)]
    monkeypatch.setattr(weighing, "_ROWS_OF_PART", 100)
    parts = people_in_parts(numbers)
    assert [one.start for one in parts] == [0, *(one.stop for one in parts[:-1])]
    assert parts[-1].stop == 500
    assert len(parts) > 50
    # The last person of a part may reach beyond it.
    assert max(numbers[one].sum() for one in parts) < 100 + numbers.max()


def test_rows_of_some_people_are_all_that_belongs_to_them():
    rng = np.random.default_rng(8)
    family = Family((Kin("p", None), Kin("s", None, parent="p"), Kin("c", None, parent="s")))
    rows = {"p": Rows({"x": np.arange(20)}, np.arange(20), 20)}
    for name, above in (("s", "p"), ("c", "s")):
        parent = np.repeat(np.arange(len(rows[above])), rng.integers(0, 4, len(rows[above])))
        rows[name] = Rows({"x": np.arange(len(parent))}, parent, len(rows[above]))
    parts = [of_people(family, "psc", rows, slice(first, last)) for first, last in ((0, 7), (7, 8), (8, 20))]
    for name in rows:
        joined = np.concatenate([part[name].codes["x"] for part in parts])
        np.testing.assert_array_equal(joined, rows[name].codes["x"])
        numbers = np.concatenate([part[name].numbers for part in parts])
        np.testing.assert_array_equal(numbers, rows[name].numbers)
    assert [len(part["p"]) for part in parts] == [7, 1, 12]


@given(families(most_tables=3))
def test_a_record_has_the_row_before_or_the_last_one_of_its_series(drawn):
    family, rows = drawn
    for table in family.tables[1:]:
        held, found = rows[table.name], records(family, table.name, rows) if family.own(table.name) else None
        for column in [] if found is None else family.columns(table.name):
            if not column.before:
                continue
            codes = held.codes[column.source]
            wanted, seen = [], {}
            for place, parent in enumerate(held.parent.tolist()):
                alike = table.series and column.source != table.series
                which = (parent, held.codes[table.series][place] if alike else 0)
                wanted.append(codes[seen[which]] if which in seen else column.attribute.size - 1)
                seen[which] = place
            assert found.column(column.attribute.name).tolist() == wanted


@given(families(most_tables=3))
def test_the_first_row_of_a_person_and_no_other_has_its_code(drawn):
    family, rows = drawn
    for table in family.tables[1:]:
        found = records(family, table.name, rows) if family.own(table.name) else None
        for name, code in {} if found is None else codes_of_first_rows(family, table.name).items():
            assert (found.column(name) == code).tolist() == rows[table.name].first.tolist()


@given(families(most_tables=3))
def test_records_keep_to_the_rules_of_first_rows(drawn):
    family, rows = drawn
    for table in family.tables[1:]:
        if family.own(table.name):
            found = records(family, table.name, rows)
            for rule in found.domain.rules:
                codes = {name: found.column(name) for name in rule.columns}
                assert not rule.forbids(found.domain, codes).any()


def test_a_first_row_is_the_first_one_of_its_series_and_not_the_other_way_round():
    family, rows = heavy(3)
    held = rows["t1"]
    family = family.with_table(replace(family["t1"], series="t1_0", domain=CODED))
    rows["t1"] = replace(held, codes={"t1_0": np.array([0, 1, 0, 1, 1]), "t1_1": np.array([1, 0, 0, 1, 0])})
    found = records(family, "t1", rows)
    assert found.column("previous_t1_0").tolist() == [2, 0, 1, 2, 1]
    assert found.column("previous_t1_1").tolist() == [2, 2, 1, 2, 1]
