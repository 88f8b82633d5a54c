"""People with all rows over parties, by brute force: what one person changes in what parties send.

The exact sum of all shares is computed from what each party multiplies; the noise is that of one record.
"""

import itertools
from fractions import Fraction

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from dpmosaic.common.data import people as counting
from dpmosaic.common.data.interactions import interaction
from dpmosaic.common.data.people import PeopleRows
from dpmosaic.common.data.vectors import Vectors
from dpmosaic.common.data.view import View
from dpmosaic.common.privacy.cost import ALL_ROWS, WEIGHT_PARTS, Adjacency, PrivacyUnit
from dpmosaic.common.protocols.arithmetic.ring import WIDE
from dpmosaic.common.protocols.masked.plan import MaskedPlan
from dpmosaic.common.protocols.masked.products import indicators, row_products
from dpmosaic.common.protocols.partition import RosterEntry
from dpmosaic.common.protocols.scores.query import exact_scores
from dpmosaic.curator.measurers.measurer import Query
from support.messages import DEALERS
from support.parties import cut, layout, measurer_over
from support.people import CLIQUES, DOMAIN, people_of
from support.taps import Sizes

GROUPS = ("abcd", "ac bd", "c abd", "d ab c", "a b c d")
UNIT = PrivacyUnit(Adjacency.ZERO_OUT, ALL_ROWS)


def sent(rows, groups, clique):
    """The sum of all shares of a marginal of one slice, in parts of a record."""
    held = tuple(tuple(group) for group in groups.split())
    roster = tuple(
        RosterEntry(f"p{place}", 0, names, rows.record_count, bytes([place]) * 32)
        for place, names in enumerate(held)
    )
    plan = MaskedPlan(DOMAIN, roster, 0, WIDE, dealers=DEALERS, parts=WEIGHT_PARTS)
    chain = plan.chain(View(clique), 0)
    product = np.ones((rows.record_count, 1), dtype=np.uint64)
    for part in chain:
        mine = rows.in_parts(plan.parts_of[0])
        vectors = mine.vectors(part, 0, rows.record_count)
        product = row_products(product, indicators(WIDE, vectors, DOMAIN.cells(part)))
    total = WIDE.as_signed(product.sum(axis=0, dtype=np.uint64)) * plan.scale(chain, 0)
    order = [name for part in chain for name in part]
    return total.reshape(DOMAIN.shape(order)).transpose([order.index(n) for n in clique]).ravel()


def changes(numbers, seed, groups):
    """What each person adds to each marginal; a person who is zeroed out keeps the position, without rows."""
    rows = people_of(numbers, seed=seed)
    for person, clique in itertools.product(range(len(numbers)), CLIQUES):
        others = rows.person != person
        rest = PeopleRows(
            rows.table.take(np.flatnonzero(others)), rows.person[others], len(numbers), WEIGHT_PARTS
        )
        whole = sent(rows, groups, clique)
        yield clique, whole, whole - sent(rest, groups, clique)


def largest_change(numbers, groups):
    return max(
        Fraction(int(np.abs(change).sum()), WEIGHT_PARTS) for _, _, change in changes(numbers, 1, groups)
    )


numbers_of_rows = st.lists(st.integers(0, 7), min_size=1, max_size=3).filter(any)


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(numbers_of_rows, st.integers(0, 999), st.sampled_from(GROUPS))
def test_a_person_changes_what_parties_send_by_no_more_than_one_record_does(numbers, seed, groups):
    rng = np.random.default_rng(seed)
    for clique, whole, change in changes(numbers, seed, groups):
        assert change.min() >= 0
        assert change.sum() <= WEIGHT_PARTS * UNIT.squared_sensitivity
        shape = DOMAIN.shape(clique)
        moved = interaction(change / WEIGHT_PARTS, shape)
        assert (moved**2).sum() <= float(UNIT.squared_interaction_sensitivity(shape)) * (1 + 1e-12)
        reference = WEIGHT_PARTS * rng.integers(0, 4, len(whole))
        with_, without = (exact_scores([one], reference)[0] for one in (whole, whole - change))
        assert (with_ - without) ** 2 <= UNIT.squared_score_sensitivity * WEIGHT_PARTS**2


@pytest.mark.parametrize("groups", GROUPS)
def test_a_person_with_rows_at_every_party_counts_as_one(groups):
    assert largest_change([40, 3], groups) == 1


def not_divided(monkeypatch):
    evenly = PeopleRows.evenly.__func__

    def faulty(cls, table, person, people, parts):
        made = evenly(cls, table, person, people, parts)
        made.table.weights[:] = parts
        return made

    monkeypatch.setattr(PeopleRows, "evenly", classmethod(faulty))


def one_event_counted_twice(monkeypatch):
    vectors = PeopleRows.vectors

    def faulty(self, clique, start, stop, groups=()):
        held = vectors(self, clique, start, stop, groups)
        again = [np.append(one[:1], one) for one in (held.rows, held.cells, held.weights)]
        return Vectors(held.size, *again)

    monkeypatch.setattr(PeopleRows, "vectors", faulty)


def parts_of_every_party(monkeypatch):
    """The parts of a product are those of one party, so that people with rows at two count too much."""
    monkeypatch.setattr(MaskedPlan, "scale", lambda plan, chain, number: WEIGHT_PARTS // plan.parts_of[0])


def rounded_up(monkeypatch):
    in_parts = PeopleRows.in_parts

    def faulty(self, parts):
        made = in_parts(self, parts)
        made.table.weights[:] += 1
        return made

    monkeypatch.setattr(PeopleRows, "in_parts", faulty)


@pytest.mark.parametrize("fault", [not_divided, one_event_counted_twice, parts_of_every_party, rounded_up])
def test_brute_force_finds_a_planted_fault(fault, monkeypatch):
    assert largest_change([7, 3], "ac bd") <= 1
    fault(monkeypatch)
    assert largest_change([7, 3], "ac bd") > 1


def transcript(rows, grid):
    """Method, direction and size of every message of a release, in order."""
    Sizes.seen = []
    rho = Fraction(1, 100)
    measurer = measurer_over(rows, grid, 100 * rho, tapped=Sizes)
    views = [View(("a",)), View(("a", "b")), View(("b", "d")), View(("a", "c", "d"))]
    measurer.measure([Query(view, rho, "test") for view in views])
    measurer.score(
        views[:2], [np.zeros(DOMAIN.cells(view.clique), dtype=np.int64) for view in views[:2]], rho, ""
    )
    return Sizes.seen


@pytest.mark.slow
@pytest.mark.parametrize("grid", ["1x1", "2x1", "1x2", "2x2", (layout(4, "d ab c"),)])
def test_messages_have_the_same_sizes_whatever_the_number_of_events_of_a_person(grid):
    few, many = ([2, 1, 3, 1], [2, 1, 900, 1])
    found = transcript(people_of(few), grid)
    assert found == transcript(people_of(many), grid)
    assert len(found) > 10


@pytest.mark.slow
def test_a_fan_out_shows_in_the_sizes(monkeypatch):
    """A position for each event in place of each person."""
    evenly = PeopleRows.evenly.__func__
    monkeypatch.setattr(
        counting.PeopleRows,
        "evenly",
        classmethod(lambda cls, table, person, people, parts: evenly(
            cls, table, np.arange(len(person)), len(person), parts
        )),
    )  # fmt: skip
    few, many = (people_of(numbers) for numbers in ([2, 1, 3, 1], [2, 1, 900, 1]))
    assert transcript(few, "1x2") != transcript(many, "1x2")


def test_the_parts_of_a_slice_multiply_to_those_of_a_person_at_most():
    rows = people_of([2, 2])
    for groups in GROUPS:
        for pieces in cut(rows, (layout(2, groups),)):
            assert (1 << 20 // len(pieces)) ** len(pieces) <= WEIGHT_PARTS
