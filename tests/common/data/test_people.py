"""Rows of people, of whom each counts as one record."""

from dataclasses import replace

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.people import PeopleRows, number_people, rows_digest, vectors_of
from dpmosaic.common.data.table import Table
from dpmosaic.common.data.vectors import Vectors
from dpmosaic.common.errors import DataError
from dpmosaic.common.privacy.cost import WEIGHT_PARTS
from support.people import CLIQUES, DOMAIN, people_of, vector

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


def test_people_are_cut_and_placed_with_all_their_rows():
    rows = people_of(NUMBERS)
    whole = dense(rows.vectors(("a", "d"), 0, 5), 8)
    assert np.array_equal(dense(rows.rows(2, 5).vectors(("a", "d"), 0, 3), 8), whole[2:])
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
