"""Parts of a release of related tables: of what an approval of the first one is an approval."""

from dataclasses import fields, replace
from fractions import Fraction

import pytest

from dpmosaic.common.about import About
from dpmosaic.common.crypto.identity import Identity
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.errors import PolicyError
from dpmosaic.common.privacy.budget import Budget
from dpmosaic.common.privacy.cost import ALL_ROWS, Adjacency
from dpmosaic.common.protocols.aligned import Alignment, Population
from dpmosaic.common.protocols.arithmetic.ring import WIDE, Ring
from dpmosaic.common.protocols.masked.dealers import DealerEntry
from dpmosaic.common.protocols.masked.plan import MaskedPlan
from dpmosaic.common.protocols.partition import RosterEntry
from dpmosaic.common.protocols.related import KnownColumn, RelatedPart, Relation, Way
from dpmosaic.common.release_spec import ReleaseSpec
from dpmosaic.common.terms import ReleaseTerms
from dpmosaic.party.approving.approvals import Approvals
from dpmosaic.party.approving.decisions import APPROVED
from support.terms import PURPOSE, id_of

PARTY = Identity.from_seed(b"p" * 32)
CURATOR, SIGNATURE = b"c" * 32, b"s" * 64
RELATIONS = (Relation("people", "", ""), Relation("stays", "people", "day"))
ROSTER = tuple(
    RosterEntry(f"party-{number}", number // 2, ("ab"[number % 2],), 9, bytes([number]) * 32)
    for number in range(4)
)
DEALERS = tuple(DealerEntry(name, name.encode() * 32) for name in "xyz")
ALIGNMENT = Alignment(id_of("alignment"), Population.EVERYWHERE, ((1, 2, 6), (1, 2, 6)), Fraction(1, 50))


def part(number, table, rho, left, domain, *columns):
    """The terms of a part, which cost so much; and others are left."""
    stated = RelatedPart(
        "a" * 32,
        1.0,
        left,
        table,
        RELATIONS,
        tuple(KnownColumn(name, table, Way.CODE, name) for name in columns),
    )
    plan = MaskedPlan(
        Domain.coded(domain), ROSTER, 1, WIDE, (2, 0, 3), DEALERS, alignment=ALIGNMENT, related=stated
    )
    spec = ReleaseSpec(
        Budget(zcdp_rho=rho),
        Adjacency.ADD_REMOVE,
        "masked",
        rows=number,
        rows_per_person=ALL_ROWS,
        about=About("teaching", "somebody", f"2026-01-0{number}", "2026-02-01"),
    ).over(plan)
    purpose = replace(PURPOSE, mechanism=f'"{number}"', max_cells=number, max_attributes=number)
    return ReleaseTerms(id_of(number), 2, spec, rho, plan, purpose)


FIRST = part(1, "people", 0.25, 1.0, {"a": 2, "b": 3}, "a", "b")
SECOND = part(2, "stays", 0.5, 0.75, {"a": 4, "b": 2}, "a", "b")


def of_spec(terms, **changes):
    return replace(terms, spec=replace(terms.spec, **changes))


def of_about(terms, **changes):
    return of_spec(terms, about=replace(terms.spec.about, **changes))


def of_plan(terms, **changes):
    plan = replace(terms.plan, **changes)
    return replace(terms, plan=plan, spec=terms.spec.over(plan))


def of_part(terms, **changes):
    return of_plan(terms, related=replace(terms.plan.related, **changes))


OTHERS = {
    replace: {"protocol_version": 1},
    of_spec: {"adjacency": Adjacency.ZERO_OUT},
    of_about: {"purpose": "publication", "contact": "somebody else", "until": "2027-01-01"},
    of_plan: {
        "alignment": replace(ALIGNMENT, alignment_id=id_of("other")),
        "tolerated": 0,
        "evaluators": (1, 0, 3),
        "dealers": (DealerEntry("w", b"w" * 32),),
    },
    of_part: {
        "whole": "b" * 32,
        "zcdp_rho": 2.0,
        "left_rho": 0.76,
        "relations": (RELATIONS[0], replace(RELATIONS[1], order="")),
    },
}
"""What no later part may have otherwise, by whose fields they are."""

OWN = {
    replace: {"release_id", "granted_rho", "purpose"},
    of_spec: {"budget", "rows"},
    of_about: {"asked"},
    of_plan: {"domain", "ring"},
    of_part: {"table", "columns", "codings"},
}
"""What each part has of its own."""

ELSEWHERE = {
    # Others of these fields are refused with other fields, or are no terms of related tables at all.
    replace: {"spec", "plan"},
    of_spec: {"protocol", "collusions", "check", "sample", "may_drop_out", "rows_per_person", "about"},
    of_about: set(),
    of_plan: {"roster", "related", "chosen", "check", "sample", "parts"},
    of_part: {"by_length"},
}
FIELDS = {
    replace: ReleaseTerms,
    of_spec: ReleaseSpec,
    of_about: About,
    of_plan: MaskedPlan,
    of_part: RelatedPart,
}


@pytest.fixture
def approvals(tmp_path):
    """Those of a party whose operator approved the first part."""
    made = Approvals(tmp_path / "requests.sqlite", PARTY)
    with pytest.raises(PolicyError, match="waits for this party's operator"):
        made.check(FIRST, CURATOR, SIGNATURE)
    made.decide(FIRST.release_id, APPROVED, "alice", "as discussed", accepted=False)
    yield made
    made.close()


def check_refused(approvals, terms):
    with pytest.raises(PolicyError, match="waits for this party's operator"):
        approvals.check(terms, CURATOR, SIGNATURE)


def test_the_second_part_is_approved_with_the_first(approvals):
    approvals.check(SECOND, CURATOR, SIGNATURE)


@pytest.mark.parametrize(("change", "name"), [(one, name) for one in OTHERS for name in OTHERS[one]])
def test_a_part_that_agrees_on_anything_else_waits_for_the_operator(approvals, change, name):
    check_refused(approvals, change(SECOND, **{name: OTHERS[change][name]}))


def test_a_part_of_other_parties_waits_for_the_operator(approvals):
    roster = (replace(ROSTER[0], identity=b"o" * 32), *ROSTER[1:])
    check_refused(approvals, of_plan(SECOND, roster=roster))


@pytest.mark.parametrize("change", FIELDS)
def test_every_field_of_terms_is_one_of_a_part_or_one_of_all(change):
    """A new field belongs to one of the three, and to the examples above if a part may not choose it."""
    named = [OWN[change], set(OTHERS[change]), ELSEWHERE[change]]
    assert set().union(*named) == {one.name for one in fields(FIELDS[change])}
    assert sum(map(len, named)) == len(fields(FIELDS[change]))


def test_parts_have_one_whole_whatever_they_have_of_their_own():
    assert FIRST.whole == SECOND.whole
    ring = of_plan(SECOND, ring=Ring(32))
    assert ring.whole == SECOND.whole
