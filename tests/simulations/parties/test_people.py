import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table
from dpmosaic.common.errors import DataError
from dpmosaic.common.protocols.aligned import Population
from dpmosaic.simulations.parties.partition import Grid
from dpmosaic.simulations.parties.people import Linkage, Overlap, link_tables

PEOPLE = tuple(f"id {number}" for number in range(1_000))


def held(parties=3, seed=0, people=PEOPLE, **shares):
    return Overlap(**shares).hold(people, parties, np.random.default_rng(seed))


def patterns(parties, people=1_000):
    """The set of parties that hold each person, as bits."""
    found = np.zeros(people, dtype=np.int64)
    for place, party in enumerate(parties):
        found[party.rows] |= 1 << place
    return found


def test_by_default_every_party_holds_everyone_in_one_order():
    for party in held():
        assert party.rows.tolist() == list(range(1_000))
        assert party.identifiers == PEOPLE


@pytest.mark.parametrize("parties", [1, 2, 3])
def test_the_stated_share_is_everywhere_and_every_other_person_somewhere(parties):
    found = patterns(held(parties, everywhere=0.8))
    everyone = (1 << parties) - 1
    assert found.min() >= 1
    assert np.count_nonzero(found == everyone) == (1_000 if parties == 1 else 800)


def test_people_who_are_not_everywhere_are_in_each_pattern_alike():
    """200 people in 6 patterns: the statistic exceeds 30 with probability 1.5e-5."""
    counts = np.bincount(patterns(held(everywhere=0.8)), minlength=8)[1:7]
    assert ((counts - 200 / 6) ** 2 / (200 / 6)).sum() < 30


def test_shuffled_rows_have_another_order_at_each_party_and_keep_their_identifiers():
    parties = held(shuffle=True)
    assert len({tuple(party.rows) for party in parties}) == 3
    for party in parties:
        assert sorted(party.rows) == list(range(1_000))
        assert party.identifiers == tuple(PEOPLE[row] for row in party.rows)


def test_typos_match_nobody():
    parties = held(typos=0.02)
    wrong = [set(party.identifiers) - set(PEOPLE) for party in parties]
    assert [len(texts) for texts in wrong] == [20] * 3
    assert not any(one & other for one, other in itertools.combinations(wrong, 2))


@pytest.mark.parametrize("shares", [{"everywhere": 1.1}, {"everywhere": -0.1}, {"typos": 2.0}])
def test_refuses_a_share_that_is_none(shares):
    with pytest.raises(DataError, match="expected a share from 0 to 1"):
        Overlap(**shares)


def slow_join(tables, identifiers, population):
    """Records as tuples of codes, None where a party does not hold the person."""
    records = []
    named = [[text or object() for text in texts] for texts in identifiers]
    for person in {person for people in named for person in people}:
        record = []
        for table, people in zip(tables, named, strict=True):
            rows = [row for row, other in enumerate(people) if other == person]
            record += [int(column[rows[0]]) if rows else None for column in table.columns]
        if population is Population.ANYWHERE or None not in record:
            records.append(tuple(record))
    return records


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 2**32), st.integers(1, 4), st.sampled_from(Population))
def test_the_linked_table_is_the_join_by_identifiers(seed, parties, population):
    rng = np.random.default_rng(seed)
    sizes = {f"x{place}": 4 for place in range(parties)}
    identifiers = [[str(text or "") for text in rng.integers(0, 12, 10)] for _ in sizes]
    tables = [Table.from_codes(Domain.coded({name: 4}), rng.integers(0, 4, (10, 1))) for name in sizes]
    absent = population is Population.ANYWHERE
    domain = Domain.coded({name: 4 + absent for name in sizes})
    found = link_tables(domain, tables, identifiers, population)
    expected = slow_join(tables, identifiers, population)
    records = zip(*(column.tolist() for column in found.columns), strict=True)
    assert sorted(records) == sorted(tuple(4 if code is None else code for code in row) for row in expected)


def test_the_linked_table_has_whom_the_overlap_leaves_everywhere_and_rightly_written():
    domain = Domain.coded({"a": 1_000, "b": 1_000})
    codes = Table.from_codes(domain, np.column_stack([np.arange(1_000)] * 2))
    parties = held(2, everywhere=0.8, shuffle=True, typos=0.05)
    tables = [codes.project([name]).take(party.rows) for name, party in zip("ab", parties, strict=True)]
    found = link_tables(domain, tables, [party.identifiers for party in parties], Population.EVERYWHERE)
    right = set.intersection(
        *(
            {row for row, text in zip(p.rows, p.identifiers, strict=True) if "typo" not in text}
            for p in parties
        )
    )
    everywhere = set(np.flatnonzero(patterns(parties) == 3))
    assert set(found.column("a").tolist()) == right & everywhere
    assert (found.column("a") == found.column("b")).all()


def test_scattered_parties_hold_the_right_cells_of_each_identified_person():
    domain = Domain.coded({"a": 100, "b": 100, "c": 100})
    table = Table.from_codes(domain, np.column_stack([np.arange(100)] * 3))
    people = Linkage([str(code) for code in range(100)], Overlap(0.7, shuffle=True))
    grid = Grid.random(domain, 100, 2, 2, seed=1)
    tables, identifiers = people.scatter(table, grid, np.random.default_rng(0))
    assert [[set(piece.domain) for piece in row] for row in tables] == [
        [set(group) for group in layout.groups] for layout in grid.slices
    ]
    for pieces, written in zip(tables, identifiers, strict=True):
        for piece, texts in zip(pieces, written, strict=True):
            for column in piece.columns:
                assert [str(code) for code in column] == list(texts)
    slices = [set().union(*row) for row in identifiers]
    assert slices[0] | slices[1] == set(people.identifiers)
    assert not slices[0] & slices[1]


def test_refuses_more_or_fewer_identifiers_than_rows():
    table = Table.from_codes(Domain.coded({"a": 2}), np.zeros((3, 1), dtype=int))
    with pytest.raises(DataError, match="one identifier for each row"):
        Linkage(["1"], Overlap()).scatter(table, Grid.even(table.domain, 3, 1, 1), np.random.default_rng(0))
