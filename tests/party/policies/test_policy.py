import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.errors import PolicyError
from dpmosaic.common.federation.protocol_versions import NEWEST, OLDEST, SPOKEN
from dpmosaic.common.privacy.cost import ALL_ROWS, Adjacency, PrivacyUnit
from dpmosaic.common.privacy.rounding import float_above
from dpmosaic.common.privacy.spending import Cost
from dpmosaic.common.protocols.arithmetic.ring import Ring
from dpmosaic.common.protocols.masked.plan import MaskedPlan
from dpmosaic.common.protocols.partition import RosterEntry
from dpmosaic.common.protocols.related import KnownColumn, RelatedPart, Relation, Way
from dpmosaic.party.policies.policy import Policy
from dpmosaic.party.policies.quotas import Asking, Taken
from support.terms import SOMEBODY, terms_of, terms_with

TERMS = terms_of(granted=0.1)
POLICY = Policy(
    protocols=frozenset({"indicator"}),
    adjacencies=frozenset({Adjacency.ZERO_OUT}),
    max_release_rho=Fraction(0.1),
    lifetime_rho=Fraction(0.1) * 3,
    min_records=50,
    max_cells=1_000,
)


def check(policy, terms, records, reserved):
    """Raises the first reason to refuse the terms."""
    for refusal in policy.refusals(terms, records, [Taken(Cost(terms.unit, reserved))]):
        raise refusal


def test_a_release_at_every_limit_is_allowed():
    check(POLICY, TERMS, 50, Fraction(0.1) * 2)
    POLICY.check_cells(1_000)


PEOPLE_UNIT = PrivacyUnit(Adjacency.ZERO_OUT, ALL_ROWS)
PEOPLE = replace(
    POLICY,
    protocols=frozenset({"trusted"}),
    max_rows_per_person=ALL_ROWS,
    max_release_rho=Fraction(1),
    lifetime_rho=Fraction(100),
)


def part_of(whole, stated, left, granted):
    """Terms of a part of a release of related tables."""
    relations = (Relation("people", "", ""),)
    columns = (KnownColumn("a", "people", Way.CODE, "a"),)
    part = RelatedPart(whole * 32, stated, left, "people", relations, columns)
    plan = replace(SOMEBODY, related=part)
    return terms_of(protocol="trusted", granted=granted, plan=plan, rows_per_person=ALL_ROWS)


def test_parts_of_one_release_cost_no_more_together_than_a_release_may_whatever_a_curator_states():
    rng = np.random.default_rng(1)
    for _ in range(200):
        taken, asking = [], Asking(b"c" * 32, "cur")
        # Somebody else's parts of the same name do not count.
        other = Taken(Cost(PEOPLE_UNIT, Fraction(1)), curator=b"d" * 32, whole="a" * 32)
        for _ in range(12):
            granted, left, stated = np.sort(rng.uniform(0.01, 1.0, 3)).tolist()
            terms = part_of("a", stated, left, granted)
            if not [*PEOPLE.refusals(terms, 50, [other, *taken], asking)]:
                taken.append(Taken(terms.granted_cost, curator=asking.identity, whole="a" * 32))
        assert 0 < sum(one.cost.zcdp_rho for one in taken) <= PEOPLE.max_release_rho


def test_parts_as_a_curator_makes_them_fit_into_what_they_state_for_all():
    asking, taken, left = Asking(b"c" * 32, "cur"), [], Fraction(1)
    for share in (0.1, 0.3, 0.6):
        terms = part_of("a", 1.0, float_above(left), share)
        assert not [*PEOPLE.refusals(terms, 50, taken, asking)]
        taken.append(Taken(terms.granted_cost, curator=asking.identity, whole="a" * 32))
        left -= Fraction(share)
    assert [*PEOPLE.refusals(part_of("b", 1.0, 1.0, 1.0), 50, taken, asking)] == []


def test_the_defaults_refuse_every_release():
    with pytest.raises(PolicyError, match="does not allow the protocol 'indicator'"):
        check(Policy(), TERMS, 10**9, Fraction(0))


def test_the_defaults_refuse_every_marginal():
    with pytest.raises(PolicyError, match="max_cells"):
        Policy().check_cells(1)


@pytest.mark.parametrize(
    ("default", "reason"),
    [
        ("protocols", "protocol"),
        ("adjacencies", "adjacency"),
        ("max_release_rho", "max_release_rho"),
        ("lifetime_rho", "lifetime_rho"),
    ],
)
def test_each_limit_refuses_at_its_default(default, reason):
    policy = replace(POLICY, **{default: getattr(Policy(), default)})
    with pytest.raises(PolicyError, match=reason):
        check(policy, TERMS, 50, Fraction(0))


@pytest.mark.parametrize("version", [OLDEST - 1, NEWEST + 1])
def test_a_protocol_version_that_it_does_not_speak_is_refused_with_both(version):
    terms = replace(TERMS, protocol_version=version)
    with pytest.raises(
        PolicyError, match=f"speaks protocol version {SPOKEN}, the terms are of version {version};"
    ):
        check(POLICY, terms, 50, Fraction(0))


def test_another_protocol_is_refused():
    with pytest.raises(PolicyError, match="does not allow the protocol 'trusted'"):
        check(POLICY, terms_with(TERMS, protocol="trusted"), 50, Fraction(0))


def test_another_adjacency_is_refused():
    with pytest.raises(PolicyError, match="does not allow the adjacency 'replace-one'"):
        check(POLICY, terms_with(TERMS, adjacency=Adjacency.REPLACE_ONE), 50, Fraction(0))


def test_too_few_records_are_refused_without_saying_how_many():
    with pytest.raises(PolicyError, match="min_records") as refusal:
        check(POLICY, TERMS, 49, Fraction(0))
    assert not any(character.isdigit() for character in str(refusal.value))


def test_a_release_above_its_limit_by_the_last_digit_is_refused():
    terms = replace(TERMS, granted_rho=math.nextafter(0.1, 1))
    with pytest.raises(PolicyError, match="max_release_rho"):
        check(POLICY, terms, 50, Fraction(0))


def test_a_release_above_the_rest_of_the_lifetime_is_refused():
    with pytest.raises(PolicyError, match="lifetime_rho"):
        check(POLICY, TERMS, 50, Fraction(0.1) * 2 + Fraction(1, 2**200))


def test_a_marginal_of_one_cell_too_many_is_refused():
    with pytest.raises(PolicyError, match="query a smaller marginal"):
        POLICY.check_cells(1_001)


def masked(parties, tolerated):
    """Terms over so many slices of one party each."""
    roster = tuple(RosterEntry(str(i), i, ("a",), 50, bytes([i]) * 32) for i in range(parties))
    plan = MaskedPlan(Domain.coded({"a": 2}), roster, tolerated, Ring(32))
    return terms_with(TERMS, protocol="masked", plan=plan)


@pytest.mark.parametrize(
    ("parties", "tolerated", "least"),
    [(3, 2, 2), (3, 1, 1), (3, 1, 0), (3, 0, 0), (2, 1, 1), (2, 1, 5), (1, 0, 1), (1, 0, 5)],
)
def test_as_many_tolerated_collusions_as_the_policy_asks_for_or_there_can_be_are_allowed(
    parties, tolerated, least
):
    policy = replace(POLICY, protocols=frozenset({"masked"}), min_tolerated=least)
    check(policy, masked(parties, tolerated), 50, Fraction(0))


@pytest.mark.parametrize(("parties", "tolerated", "least"), [(3, 1, 2), (3, 0, 1), (2, 0, 1), (2, 0, 5)])
def test_too_few_tolerated_collusions_are_refused(parties, tolerated, least):
    policy = replace(POLICY, protocols=frozenset({"masked"}), min_tolerated=least)
    with pytest.raises(PolicyError, match="fewer collusions than min_tolerated"):
        check(policy, masked(parties, tolerated), 50, Fraction(0))


def test_one_other_party_may_collude_by_default():
    policy = replace(POLICY, protocols=frozenset({"masked"}))
    check(policy, masked(2, 1), 50, Fraction(0))
    with pytest.raises(PolicyError, match="min_tolerated"):
        check(policy, masked(2, 0), 50, Fraction(0))


def test_tolerated_collusions_are_checked_only_for_masked_releases():
    check(replace(POLICY, min_tolerated=9), TERMS, 50, Fraction(0))


def test_a_release_without_the_check_that_the_policy_requires_is_refused():
    policy = replace(POLICY, protocols=frozenset({"masked"}), require_check=True)
    terms = masked(2, 1)
    with pytest.raises(PolicyError, match="checks no openings"):
        check(policy, terms, 50, Fraction(0))
    check(policy, terms_with(terms, plan=replace(terms.plan, check="one-hot")), 50, Fraction(0))


def test_a_single_party_opens_nothing_that_a_policy_could_require_to_be_checked():
    policy = replace(POLICY, protocols=frozenset({"masked"}), require_check=True)
    check(policy, masked(1, 0), 50, Fraction(0))
