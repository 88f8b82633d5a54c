"""Rows of people, of whom each counts as one record."""

import math
from dataclasses import replace

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.grouping import grouped_shape
from dpmosaic.common.data.interactions import interaction
from dpmosaic.common.data.people import (
    ByLength,
    PeopleRows,
    adding_up,
    number_people,
    rows_digest,
    vectors_of,
)
from dpmosaic.common.data.table import Table
from dpmosaic.common.data.vectors import Vectors
from dpmosaic.common.errors import DataError
from dpmosaic.common.privacy.cost import WEIGHT_PARTS
from support.people import CLIQUES, DOMAIN, people_by_length, people_of, vector

NUMBERS = [3, 0, 1, 7, 2]
numbers_of_rows = st.lists(st.integers(0, 9), min_size=1, max_size=6).filter(any)


def dense(held, cells):
    matrix = np.zeros((held.size, cells))
    np.add.at(matrix, (held.rows, held.cells), 1 if held.weights is None else held.weights)
    return matrix


@pytest.mark.slow
@given(numbers_of_rows, st.sampled_from([WEIGHT_PARTS, 1 << 10, 1 << 5]))
def test_rows_of_a_person_add_up_to_one_and_differ_by_one_part_at_most(numbers, parts):
    rows = people_of(numbers).in_parts(parts)
    sums = np.bincount(rows.person, rows.weights, len(numbers))
    assert sums.tolist() == [parts if number else 0 for number in numbers]
    for person, number in enumerate(numbers):
        mine = rows.weights[rows.person == person]
        assert len(mine) == number
        assert not number or mine.max() - mine.min() <= 1


@pytest.mark.parametrize("clique", CLIQUES)
def test_vectors_and_marginals_are_sums_of_weighted_rows(clique):
    rows = people_of(NUMBERS)
    cells = DOMAIN.cells(clique)
    found = dense(rows.vectors(clique, 0, 5), cells)
    wanted = np.array([vector(rows, person, clique).ravel() for person in range(5)]) * WEIGHT_PARTS
    assert np.array_equal(found, np.rint(wanted))
    assert np.array_equal(found.sum(axis=0), rows.marginal(clique))
    assert np.array_equal(dense(rows.vectors(clique, 2, 4), cells), found[2:4])


VARYING = st.sampled_from(["d", "bd", "abd", "abcd", ""])


def lengths_of(rows, clique, groups=()):
    """What each person adds to a view and to its interaction, as squared lengths, and to all cells."""
    shape = grouped_shape(DOMAIN.shape(clique), groups)
    found = dense(rows.vectors(clique, 0, rows.record_count, groups), math.prod(shape)) / rows.parts
    moved = [(interaction(one, shape) ** 2).sum() for one in found]
    return (found**2).sum(axis=1), np.array(moved), found.sum(axis=1)


@pytest.mark.slow
@given(numbers_of_rows, VARYING, st.integers(1, 5), st.integers(0, 999))
def test_rows_by_length_change_no_view_by_more_than_one_record_does(numbers, varying, evened, seed):
    rows = people_by_length(numbers, varying, evened, seed)
    for clique in CLIQUES:
        for groups in ((), tuple((0, 0, 1, 1) if name == "d" else () for name in clique)):
            marginal, moved, _ = lengths_of(rows, clique, groups)
            record = math.prod(1 - 1 / n for n in grouped_shape(DOMAIN.shape(clique), groups))
            assert marginal.max() <= 1
            assert moved.max() <= record * (1 + 1e-12)
            assert lengths_of(rows.adding_up, clique, groups)[2].max() <= 1


@given(numbers_of_rows, VARYING, st.integers(1, 5), st.integers(0, 999))
def test_rows_by_length_weigh_as_the_formula_says(numbers, varying, evened, seed):
    rows = people_by_length(numbers, varying, evened, seed)
    for clique in CLIQUES:
        found = dense(rows.vectors(clique, 0, len(numbers)), DOMAIN.cells(clique))
        sizes = sorted(DOMAIN[name].size for name in clique if name in varying)[1:]
        share = math.prod(1 - 1 / n for n in sizes) ** 0.5
        for person, number in enumerate(numbers):
            one = rows.rows(person, person + 1).table
            counts = np.bincount(one.cell_codes(clique, 0, number), minlength=DOMAIN.cells(clique))
            divisor = max(min(number, math.sqrt((counts**2).sum()) / share), evened)
            exact = rows.parts * counts / divisor
            assert np.all((exact - 2 < found[person]) & (found[person] <= exact * (1 + 1e-9)))
        assert rows.marginal(clique).tolist() == found.sum(axis=0).tolist()
        added = dense(rows.adding_up.vectors(clique, 0, len(numbers)), found.shape[1])
        assert np.all(found.sum(axis=1) >= added.sum(axis=1) - found.shape[1])


def test_rows_that_differ_where_they_are_said_to_agree_change_an_interaction_too_much():
    diagonal = {"b": np.array([0, 1, 2]), "d": np.array([1, 2, 3])}
    table = Table.from_codes(DOMAIN, {"a": np.zeros(3, int), "c": np.zeros(3, int), **diagonal})
    table = Table(DOMAIN, table.columns, weights=np.full(3, WEIGHT_PARTS // 3))
    right, wrong = (
        PeopleRows(table, np.zeros(3, int), 1, WEIGHT_PARTS, ByLength(frozenset(varying), 1))
        for varying in ("bd", "d")
    )
    record = (1 - 1 / 3) * (1 - 1 / 4)
    assert lengths_of(right, ("b", "d"))[1].max() <= record
    assert lengths_of(wrong, ("b", "d"))[1].max() > record


def test_rows_by_length_are_placed_and_digested_as_they_weigh():
    rows = people_by_length(NUMBERS, "bd", 2)
    whole = dense(rows.vectors(("a", "d"), 0, 5), 8)
    placed = rows.place_people(np.array([4, 0, -1, 2, 6], dtype=np.int32), 8)
    at = np.zeros((8, 8))
    at[[4, 0, 2, 6]] = whole[[0, 1, 3, 4]]
    assert np.array_equal(dense(placed.vectors(("a", "d"), 0, 8), 8), at)
    assert placed.marginal(("a", "d")).tolist() == at.sum(axis=0).tolist()
    assert adding_up(placed).marginal(("d",)).tolist() != placed.marginal(("d",)).tolist()
    digests = {rows_digest(one, ("d",), range(5)) for one in (rows, adding_up(rows))}
    assert len(digests) == 2
    table = rows.table
    assert adding_up(table) is table


def test_people_are_cut_taken_and_placed_with_all_their_rows():
    rows = people_of(NUMBERS)
    whole = dense(rows.vectors(("a", "d"), 0, 5), 8)
    assert np.array_equal(dense(rows.rows(2, 5).vectors(("a", "d"), 0, 3), 8), whole[2:])
    assert np.array_equal(
        dense(rows.take(np.array([3, 1, 0])).vectors(("a", "d"), 0, 3), 8), whole[[3, 1, 0]]
    )
    placed = rows.place_people(np.array([4, 0, -1, 2, 6], dtype=np.int32), 8)
    at = np.zeros((8, 8))
    at[[4, 0, 2, 6]] = whole[[0, 1, 3, 4]]
    assert np.array_equal(dense(placed.vectors(("a", "d"), 0, 8), 8), at)


@pytest.mark.parametrize("rows_at_once", [1, 4, 100])
def test_blocks_of_people_change_nothing(rows_at_once, monkeypatch):
    rows = people_of([3, 0, 1, 70, 2, 0, 5])
    parts = [rows.weights[rows.person == person].cumsum() for person in range(7)]
    fewer = [np.diff(ends // (WEIGHT_PARTS >> 10), prepend=0) for ends in parts]
    monkeypatch.setattr("dpmosaic.common.data.people.COUNTED_AT_ONCE", rows_at_once)
    assert rows.in_parts(1 << 10).weights.tolist() == np.concatenate(fewer).tolist()
    small = replace(rows, person=rows.person.astype(np.int32))
    placed = small.place_people(np.array([5, 1, -1, 0, 8, 2, 3]), 9)
    whole = dense(rows.vectors(("a", "d"), 0, 7), 8)
    at = np.zeros((9, 8))
    at[[5, 1, 0, 8, 2, 3]] = whole[[0, 1, 3, 4, 5, 6]]
    assert np.array_equal(dense(placed.vectors(("a", "d"), 0, 9), 8), at)
    assert np.array_equal(dense(placed.vectors(("a", "d"), 4, 99), 8), at[4:])
    assert placed.marginals([("a", "d"), ("d",)])[0].tolist() == at.sum(axis=0).tolist()
    presence = dense(placed.vectors((), 0, 9), 1)
    assert presence[:, 0].tolist() == at.sum(axis=1).tolist()
    with pytest.raises(DataError, match="one row of each person"):
        placed.cell_codes(("a",), 0, 1)
    assert rows_digest(small, ("a", "d"), range(2, 6)) == rows_digest(rows, ("a", "d"), range(2, 6))


def test_coarser_parts_depend_on_nothing_but_the_rows_of_the_person():
    rows = people_of([40, 3, 17])
    alone = rows.rows(1, 2).in_parts(1 << 5)
    together = rows.in_parts(1 << 5)
    assert alone.weights.tolist() == together.weights[together.person == 1].tolist()


def test_groups_of_codes_are_cells_too():
    rows, groups = people_of(NUMBERS), ((), (0, 0, 1, 1))
    assert np.array_equal(
        dense(rows.vectors(("a", "d"), 0, 5, groups), 4).sum(axis=0), rows.marginal(("a", "d"), groups)
    )


def test_people_are_numbered_by_their_first_rows():
    person, first = number_people(["q", "p", "q", "r", "p"])
    assert (person.tolist(), first.tolist()) == ([0, 1, 0, 2, 1], [0, 1, 3])


def test_a_person_has_no_single_cell():
    with pytest.raises(DataError, match="people with all rows"):
        people_of(NUMBERS).cell_codes(("a",), 0, 1)


def test_the_digest_is_of_rows_people_and_their_number():
    rows = people_of(NUMBERS)
    moved = PeopleRows(rows.table, np.minimum(rows.person, 3), 5, WEIGHT_PARTS)
    more = PeopleRows(rows.table, rows.person, 6, WEIGHT_PARTS)
    assert len({rows.digest(), moved.digest(), more.digest(), rows.project(("a",)).digest()}) == 4


def test_a_digest_of_masked_rows_tells_which_person_has_which_cell_in_how_many_parts():
    rows = people_of(NUMBERS)
    found = {
        rows_digest(one, ("a",), range(5)) for one in (rows, rows.in_parts(32), people_of([2, 1, 1, 7, 2]))
    }
    assert len(found) == 3
    table = Table.from_codes(Domain.coded({"a": 2}), {"a": np.array([0, 1])})
    assert rows_digest(table, ("a",), range(2)) != rows_digest(table, ("a",), range(1))


def test_one_hot_rows_are_vectors_of_ones():
    held = Vectors.of(np.array([2, -1, 0]))
    assert dense(held, 3).tolist() == [[0, 0, 1], [0, 0, 0], [1, 0, 0]]
    assert Vectors.of(held) is held
    table = Table.from_codes(Domain.coded({"a": 3}), {"a": np.array([2, 0])})
    assert vectors_of(table, ("a",), 0, 2).tolist() == [2, 0]
