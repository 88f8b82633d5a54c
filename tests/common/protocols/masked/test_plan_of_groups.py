"""Chains, sizes and refusals of a plan where codes are grouped."""

from fractions import Fraction

import pytest

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.view import View
from dpmosaic.common.errors import DataError, ProtocolError
from dpmosaic.common.protocols.aligned import Alignment, Population
from dpmosaic.common.protocols.arithmetic.ring import Ring
from dpmosaic.common.protocols.masked.columns import columns_of, groups_of, names_of
from dpmosaic.common.protocols.masked.plan import MAX_OPENING_BYTES, MaskedPlan, labels
from dpmosaic.common.protocols.partition import RosterEntry
from support.messages import DEALERS

DOMAIN = Domain.coded({"a": 5, "b": 6, "c": 4, "d": 2})
HALVES = {name: tuple(code % 2 for code in range(DOMAIN[name].size)) for name in "abc"} | {"d": ()}


def plan_of(*held, records=7, population=None):
    alignment = None
    if population is not None:
        people = ((3,) * ((1 << len(held)) - 1),)
        alignment = Alignment("f" * 32, population, people, Fraction(1, 2))
    roster = tuple(RosterEntry(f"p{i}", 0, tuple(each), records, bytes(32)) for i, each in enumerate(held))
    return MaskedPlan(DOMAIN, roster, 0, Ring(32), dealers=DEALERS, alignment=alignment)


def groups_for(clique, groups=HALVES):
    return tuple(groups[name] for name in clique)


@pytest.mark.parametrize("held", [["ab", "cd"], ["ad", "b", "c"], ["abcd"]])
def test_a_chain_of_groups_has_their_columns_and_the_holders_of_their_attributes(held):
    plan, clique = plan_of(*held), DOMAIN.names
    chain = plan.chain(View(clique, groups=groups_for(clique)), 0)
    assert plan.cells(chain) == 2**4
    assert sorted(name for part in chain for name in names_of(part)) == sorted(clique)
    for part, place in zip(chain, plan.holders(chain, 0), strict=True):
        assert set(names_of(part)) <= set(plan.roster[place].attributes)
        assert groups_of(part) in (groups_for(names_of(part)), ())
    plan.check_chain(chain, 0, summed=True)


def test_a_part_that_is_not_grouped_is_that_of_other_marginals():
    plan = plan_of("ab", "cd")
    grouped = plan.chain(View(("a", "c"), groups=(HALVES["a"], ())), 0)
    assert grouped[1] == plan.chain(View(("b", "c")), 0)[1]
    assert plan.chain(View(("a", "c"), groups=((), ())), 0) == plan.chain(View(("a", "c")), 0)


def test_long_chains_are_sorted_by_the_numbers_of_groups():
    plan = plan_of("ad", "b", "c")
    assert [names_of(part) for part in plan.chain(View(("a", "b", "c")), 0)] == [("c",), ("a",), ("b",)]
    chain = plan.chain(View(("a", "b", "c"), groups=((), HALVES["b"], (0, 1, 2, 0))), 0)
    assert [names_of(part) for part in chain] == [("b",), ("c",), ("a",)]


def test_other_groups_have_other_labels():
    plan = plan_of("ab", "cd")
    found = {
        tuple(labels(plan.chain(View(("a", "c"), groups=groups), 0)))
        for groups in [(), (HALVES["a"], ()), ((), HALVES["c"]), ((1, 0, 1, 0, 1), ()), ((0, 1, 1, 1, 1), ())]
    }
    assert len(found) == 5


def test_a_clique_is_feasible_if_the_openings_of_its_groups_are():
    records = MAX_OPENING_BYTES // 4 // 4
    plan = plan_of("ab", "cd", records=records)
    assert not plan.feasible(View(DOMAIN.names))
    assert plan.feasible(View(DOMAIN.names, groups=groups_for(DOMAIN.names)))
    assert not plan_of("ab", "cd", records=records + 1).feasible(
        View(DOMAIN.names, groups=groups_for(DOMAIN.names))
    )


@pytest.mark.parametrize(
    "groups",
    [
        ((0, 1, 0, 1), ()),  # of another number of codes
        ((0, 2, 0, 2, 0), ()),  # with gaps
        ((0, 0, 0, 0, 0), ()),
    ],
)
def test_a_chain_of_groups_that_do_not_fit_is_refused(groups):
    plan = plan_of("ab", "cd")
    chain = (columns_of(View(("a",), groups[:1])), ("c",))
    with pytest.raises(ProtocolError, match="expected groups that fit the plan"):
        plan.check_chain(chain, 0)


@pytest.mark.parametrize(
    "chain",
    [
        (("\x1d0,1\x1dz",), ("c",)),  # no attribute
        (("a", "\x1d0,1,0,1,0\x1da"), ("c",)),  # an attribute twice
        (("\x1d0,1,0,1,0\x1da", "c"),),  # of two parties
        (("b", "\x1d0,1,0,1,0\x1da"), ("c",)),  # not in domain order
        (("\x1d0,1,0,1,0a",), ("c",)),  # not a column
    ],
)
def test_columns_that_are_no_chain_are_refused(chain):
    with pytest.raises(ProtocolError):
        plan_of("ab", "cd").check_chain(chain, 0)


@pytest.mark.parametrize(
    ("labels", "apart"),
    [((0, 1, 0, 1, 2), True), ((), True), ((0, 1, 0, 1, 1), False), ((1, 2, 1, 2, 0), False)],
)
def test_absent_is_the_last_group_alone_where_it_is_a_code(labels, apart):
    everywhere, anywhere = (plan_of("ab", "cd", population=population) for population in Population)
    if anywhere.alignment.population is not Population.ANYWHERE:
        everywhere, anywhere = anywhere, everywhere
    everywhere.check_view(View(("a",), (labels,)))
    chain = (columns_of(View(("a",), (labels,))),)
    if apart:
        anywhere.check_view(View(("a",), (labels,)))
        anywhere.check_chain(chain, 0)
    else:
        with pytest.raises(DataError, match="set it apart"):
            anywhere.check_view(View(("a",), (labels,)))
        with pytest.raises(ProtocolError, match="set it apart"):
            anywhere.check_chain(chain, 0)
