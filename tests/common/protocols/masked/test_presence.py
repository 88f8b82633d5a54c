"""Chains over aligned parties: who multiplies what, and who opens it to whom."""

import itertools
from dataclasses import replace
from fractions import Fraction

import pytest

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.view import View
from dpmosaic.common.privacy.cost import WEIGHT_PARTS
from dpmosaic.common.protocols.aligned import Alignment, Population
from dpmosaic.common.protocols.arithmetic.ring import Ring
from dpmosaic.common.protocols.masked.plan import MaskedPlan, labels
from dpmosaic.common.protocols.masked.presence import columns_in, is_presence, presence
from dpmosaic.common.protocols.partition import RosterEntry
from support.messages import DEALERS

DOMAIN = Domain.coded({"a": 5, "b": 2, "c": 3, "d": 4})
CLIQUES = [c for size in range(1, 5) for c in itertools.combinations(DOMAIN.names, size)]


def plan_of(*slices, population=Population.EVERYWHERE):
    roster = tuple(
        RosterEntry(held, number, tuple(held), 9, bytes(32))
        for number, groups in enumerate(slices)
        for held in groups.split()
    )
    # Parties of different slices may hold the same attributes.
    roster = tuple(replace(entry, name=f"{entry.name}{place}") for place, entry in enumerate(roster))
    people = tuple((1,) * (2 ** len(groups.split()) - 1) for groups in slices)
    alignment = Alignment("f" * 32, population, people, Fraction(1, 2))
    return MaskedPlan(DOMAIN, roster, 0, Ring(32), dealers=DEALERS, alignment=alignment)


def shown(chain):
    """A chain as text; a party's presence by its attributes, in brackets."""
    return " ".join(f"[{part[1][:-1]}]" if is_presence(part) else "".join(part) for part in chain)


@pytest.mark.parametrize(
    ("groups", "clique", "chain"),
    [
        ("abcd", "abc", "abc"),
        ("abc d", "a", "[d] a"),
        ("abc d", "ad", "a d"),
        ("abc d", "ab", "[d] b a"),
        ("abc d", "abc", "[d] b ac"),
        ("ab c d", "b", "[c] [d] b"),
        ("ab c d", "ab", "[c] [d] b a"),
        ("ab c d", "ac", "[d] c a"),
        ("ab c d", "abc", "[d] c ab"),
        ("ab c d", "abcd", "c d ab"),
    ],
)
def test_every_other_party_of_the_slice_multiplies_its_presence(groups, clique, chain):
    assert shown(plan_of(groups).chain(View(tuple(clique)), 0)) == chain


@pytest.mark.parametrize("groups", ["abcd", "abc d", "ab c d", "a b c d"])
def test_people_of_any_party_count_without_any_presence(groups):
    aligned = plan_of(groups, population=Population.ANYWHERE)
    plain = replace(aligned, alignment=None)
    for clique in CLIQUES:
        assert aligned.chain(View(clique), 0) == plain.chain(View(clique), 0)
    assert (aligned.absent, plain.absent) == (True, False)


@pytest.mark.parametrize("groups", ["abc d", "ab c d", "a b c d", "ad bc"])
def test_every_party_holds_a_part_and_only_the_last_part_may_be_held_by_one_that_holds_another(groups):
    plan = plan_of("abcd", groups)
    for clique in CLIQUES:
        chain = plan.chain(View(clique), 1)
        holders = plan.holders(chain, 1)
        assert set(holders) == set(plan.members(1))
        assert len(set(holders[:-1])) == len(holders) - 1
        openers = plan.openers(chain, 1)
        assert set(openers) == set(holders) - {holders[-1]}
        assert plan.cells(chain) == DOMAIN.cells(clique)
        assert sorted(name for part in chain for name in columns_in(part)) == sorted(clique)


@pytest.mark.parametrize("groups", ["abc d", "ab c d", "a b c d"])
def test_of_people_with_all_rows_each_party_has_one_factor_and_no_part_is_divided(groups):
    plan = replace(plan_of(groups), parts=WEIGHT_PARTS)
    for clique in CLIQUES:
        chain = plan.chain(View(clique), 0)
        assert sorted(plan.holders(chain, 0)) == list(plan.members(0))
        assert plan.parts_of[0] ** len(chain) * plan.scale(chain, 0) == WEIGHT_PARTS


def test_a_presence_is_of_no_attribute_and_has_labels_of_its_own():
    assert presence("b") != ("b",)
    assert columns_in(presence("b")) == ()
    assert not is_presence(("b",))
    assert labels((presence("b"),)) != labels((("b",),))
    assert plan_of("abc d").cells((presence("d1"),)) == 1


def test_people_with_none_of_a_cliques_attributes_are_those_of_patterns_without_its_holders():
    plan = plan_of("abcd", "ab c d")
    people = ((7,), (1, 2, 4, 8, 16, 32, 64))
    plan = replace(plan, alignment=replace(plan.alignment, people=people))
    # Patterns of the parties that hold nothing: c, d, and both.
    assert plan.absent_count(("a", "b")) == 2 + 8 + 32
    assert plan.absent_count(("a", "c")) == 8
    assert plan.absent_count(DOMAIN.names) == 0
