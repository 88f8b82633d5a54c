"""A party accepts a release only over the alignment that its ledger has, and over no other rows."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dpmosaic.common.canonical.terms import encode_terms
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table
from dpmosaic.common.errors import PolicyError, ProtocolError
from dpmosaic.common.privacy.cost import Adjacency
from dpmosaic.common.protocols.aligned import Population
from dpmosaic.common.protocols.masked.plan import MaskedPlan
from dpmosaic.common.protocols.partition import Partition
from dpmosaic.party.party import Party
from support.aligned import ALIGNMENT_ID, AlignedRelease, People
from support.terms import id_of, terms_with

PEOPLE = People(Domain.coded({"a": 3, "b": 2, "c": 4}), ["ab c", "abc"])


@pytest.fixture(scope="module")
def release():
    return AlignedRelease(PEOPLE, granted=Fraction(1, 10))


def accept(release, **changes):
    """The first party is asked to accept another release, whose terms have these changes."""
    terms = terms_with(release.terms, release_id=id_of("x"), **changes)
    return release.links[0][0].party.accept(encode_terms(terms))


def with_alignment(release, **changes):
    plan = release.terms.plan
    return {"plan": replace(plan, alignment=replace(plan.alignment, **changes))}


def with_entries(release, change):
    plan = release.terms.plan
    return {"plan": replace(plan, roster=tuple(map(change, plan.roster)))}


def test_a_party_accepts_a_release_over_the_alignment_in_its_ledger():
    release = AlignedRelease(PEOPLE, granted=Fraction(1, 10))
    assert accept(release).signature


def test_it_does_not_say_how_many_rows_it_has_but_which_alignments(release):
    said = release.links[0][0].party.describe()
    assert (said.record_count, said.alignments) == (None, (ALIGNMENT_ID,))


@pytest.mark.parametrize(
    "change",
    [
        {"alignment_id": id_of("g")},
        {"people": ((1, 2, 3), (4,))},
        {"zcdp_rho": Fraction(1, 10**6)},
        {"match_keys": 2},
    ],
)
def test_another_alignment_than_in_the_ledger_is_refused(release, change):
    with pytest.raises(ProtocolError, match=r"expected (a finished|the) alignment"):
        accept(release, **with_alignment(release, **change))


def test_another_number_of_positions_is_refused(release):
    def larger(entry):
        return replace(entry, record_count=entry.record_count + 1)

    with pytest.raises(ProtocolError, match="names this party with its identity, attributes and records"):
        accept(release, **with_entries(release, larger))


def test_other_parties_than_those_that_were_aligned_are_refused(release):
    plan = release.terms.plan
    own, other, alone = plan.roster
    left_out = replace(alone, slice=0, attributes=("c",), record_count=other.record_count)
    last = replace(other, slice=1, attributes=("a", "b", "c"), record_count=alone.record_count)
    other_plan = MaskedPlan(
        plan.domain, (own, left_out, last), plan.tolerated, plan.ring, plan.evaluators, plan.dealers,
        alignment=plan.alignment,
    )  # fmt: skip
    with pytest.raises(ProtocolError, match="with the same parties in the same order"):
        accept(release, plan=other_plan)


def test_parties_of_a_slice_in_another_order_are_refused(release):
    """Patterns name parties by their place in the slice."""
    plan = release.terms.plan
    first, second, third = plan.roster
    with pytest.raises(ProtocolError, match="with the same parties in the same order"):
        accept(release, plan=replace(plan, roster=(second, first, third)))


def test_sizes_of_attributes_without_absent_are_refused_if_people_of_any_party_count(release):
    with pytest.raises(ProtocolError, match="other sizes of this party's attributes"):
        accept(release, **with_alignment(release, population=Population.ANYWHERE))


def test_a_release_that_would_make_the_number_of_rows_public_is_refused(release):
    rows = release.institutions[0].table.record_count
    plan = replace(
        release.terms.plan,
        alignment=None,
        roster=tuple(replace(e, record_count=rows if e.slice == 0 else 5) for e in release.terms.plan.roster),
    )
    with pytest.raises(PolicyError, match="the policy hides the number of rows"):
        accept(release, plan=plan)


def test_another_protocol_over_aligned_rows_is_refused():
    release = AlignedRelease(PEOPLE, granted=Fraction(1, 10), protocols=frozenset({"masked", "indicator"}))
    plan = release.terms.plan
    unmasked = Partition(plan.domain, plan.roster, alignment=plan.alignment)
    with pytest.raises(PolicyError, match="by the protocol 'masked' only"):
        accept(release, protocol="indicator", plan=unmasked)


def test_several_rows_of_a_person_over_aligned_rows_are_refused(release):
    with pytest.raises(PolicyError, match="with one row of each person"):
        accept(release, rows_per_person=2)


def test_an_alignment_that_was_charged_under_a_weaker_adjacency_is_refused():
    release = AlignedRelease(PEOPLE, granted=Fraction(1, 10), adjacencies=frozenset(Adjacency))
    with pytest.raises(PolicyError, match="was charged under zero-out, and would cost otherwise"):
        accept(release, adjacency=Adjacency.REPLACE_ONE)


def test_people_of_any_party_cannot_be_counted_if_those_of_other_slices_were_left_out():
    """Their rows are at a position for each party, so one person would count several times."""
    people = People(PEOPLE.domain, ["ab c", "a bc"])
    options = {"granted": Fraction(1, 10), "across_slices": "first"}
    with pytest.raises(PolicyError, match="it can only count people everywhere"):
        accept(AlignedRelease(people, Population.ANYWHERE, **options))
    assert accept(AlignedRelease(people, **options)).signature


def test_rows_that_changed_after_the_alignment_are_refused():
    release = AlignedRelease(PEOPLE, granted=Fraction(1, 10))
    institution, ledger = release.institutions[0], release.ledgers[0]
    other = Table(institution.table.domain, tuple(np.roll(c, 1) for c in institution.table.columns))
    party = Party(replace(institution, table=other), ledger, lambda: b"k" * 32)
    assert party.describe().alignments == ()
    with pytest.raises(ProtocolError, match="expected a finished alignment of the current rows"):
        party.accept(encode_terms(release.terms))


def test_add_remove_is_refused_without_an_alignment_and_accepted_with_one():
    release = AlignedRelease(PEOPLE, granted=Fraction(1, 10), adjacency=Adjacency.ADD_REMOVE)
    assert accept(release).signature
    public = AlignedRelease(
        PEOPLE, granted=Fraction(1, 10), adjacency=Adjacency.ADD_REMOVE, max_alignment_rho=Fraction(0)
    )
    rows = public.institutions[0].table.record_count
    roster = tuple(replace(e, record_count=rows if e.slice == 0 else 5) for e in public.terms.plan.roster)
    with pytest.raises(PolicyError, match="add-remove would not hold"):
        accept(public, plan=replace(public.terms.plan, alignment=None, roster=roster))
