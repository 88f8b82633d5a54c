"""Results from public facts: chains, their holders, feasible cliques, groups of products."""

import itertools
import math
import tracemalloc
from collections import Counter
from dataclasses import replace
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.view import View
from dpmosaic.common.errors import BudgetError, DataError
from dpmosaic.common.privacy.cost import WEIGHT_PARTS, grid_of
from dpmosaic.common.privacy.distributed import DistributedNoise
from dpmosaic.common.protocols.arithmetic.ring import Ring
from dpmosaic.common.protocols.masked import plan as plans
from dpmosaic.common.protocols.masked.dealers import DealerEntry
from dpmosaic.common.protocols.masked.plan import (
    MAX_OPENING_BYTES,
    MaskedPlan,
    block_rows,
    labels,
    rectangles,
    spans,
)
from dpmosaic.common.protocols.partition import RosterEntry
from support.forgetting import chain_of
from support.messages import DEALERS

DOMAIN = Domain.coded({"a": 5, "b": 2, "c": 3, "d": 2, "e": 1})
CLIQUES = [c for size in range(1, 6) for c in itertools.combinations(DOMAIN.names, size)]


def roster(*slices, records=(7, 4, 9)):
    """Entries of parties p0, p1, ... that hold these letters, slice by slice."""
    places = [(number, held) for number, parties in enumerate(slices) for held in parties]
    return tuple(
        RosterEntry(f"p{i}", number, tuple(held), records[number], bytes(32))
        for i, (number, held) in enumerate(places)
    )


def plan_of(*slices, records=(7, 4, 9), domain=DOMAIN, tolerated=0, bits=32):
    return MaskedPlan(domain, roster(*slices, records=records), tolerated, Ring(bits), dealers=DEALERS)


RAGGED = plan_of(["ae", "b", "cd"], ["abcde"], ["d", "abce"])


@st.composite
def ragged_plans(draw):
    """Plans of up to three slices, in each of which the attributes are partitioned across 1 to 5 parties."""
    slices = []
    for _ in range(draw(st.integers(1, 3))):
        seats = draw(st.lists(st.integers(0, 4), min_size=len(DOMAIN), max_size=len(DOMAIN)))
        slices.append([[n for n, s in zip(DOMAIN.names, seats, strict=True) if s == j] for j in set(seats)])
    return plan_of(*slices)


@given(plan=ragged_plans(), clique=st.sampled_from(CLIQUES))
def test_a_chain_has_the_part_of_each_holder_once_in_domain_order(plan, clique):
    for number in range(plan.slice_count):
        chain = plan.chain(View(clique), number)
        holders = plan.holders(chain, number)
        assert len(set(holders)) == len(chain)
        for part, holder in zip(chain, holders, strict=True):
            assert plan.roster[holder].slice == number
            assert part == tuple(name for name in clique if name in plan.roster[holder].attributes)
        assert sorted(itertools.chain(*chain)) == sorted(clique)
        assert plan.cells(chain) == DOMAIN.cells(clique)


@given(plan=ragged_plans(), clique=st.sampled_from(CLIQUES))
def test_two_parts_are_in_roster_order_and_more_are_sorted_by_cells(plan, clique):
    for number in range(plan.slice_count):
        chain = plan.chain(View(clique), number)
        if len(chain) <= 2:
            holders = plan.holders(chain, number)
            assert list(holders) == sorted(holders)
        else:
            cells = [DOMAIN.cells(part) for part in chain]
            assert cells == sorted(cells)


def test_equal_parts_of_a_long_chain_keep_the_rosters_order():
    plan = plan_of(["d", "b", "a", "c", "e"])
    assert plan.chain(View(("a", "b", "c", "d")), 0) == (("d",), ("b",), ("c",), ("a",))


@pytest.mark.parametrize(
    ("clique", "chains"),
    [
        ("a", ["a", "a", "a"]),
        ("ae", ["ae", "ae", "ae"]),
        ("bd", ["b d", "bd", "d b"]),
        ("abde", ["b d ae", "abde", "d abe"]),
        ("abcde", ["b ae cd", "abcde", "d abce"]),
    ],
)
def test_slices_with_other_splits_have_other_chains(clique, chains):
    found = [RAGGED.chain(View(tuple(clique)), number) for number in range(3)]
    assert found == [tuple(map(tuple, chain.split())) for chain in chains]


def test_a_plan_knows_its_slices_and_their_records():
    assert RAGGED.slice_count == 3
    assert [RAGGED.members(number) for number in range(3)] == [(0, 1, 2), (3,), (4, 5)]
    assert [RAGGED.records(number) for number in range(3)] == [7, 4, 9]
    assert RAGGED.record_count == 20
    assert RAGGED.holders((("b",), ("c", "d")), 0) == (1, 2)
    assert RAGGED.holders((("d",), ("b",)), 2) == (4, 5)


@pytest.mark.parametrize("tolerated", [0, 1, 5])
@pytest.mark.parametrize("sigma", [2.0**-15, 1.0, 300.0])
def test_the_largest_noisy_count_covers_all_records_and_the_noise_of_all_parties(tolerated, sigma):
    plan = replace(RAGGED, tolerated=tolerated)
    assert plan.noise == DistributedNoise(6, tolerated)
    assert plan.largest(sigma) == 20 * grid_of(sigma) + plan.noise.largest(sigma)


LARGEST = MAX_OPENING_BYTES // 4
"""Words of the largest opening in the ring of 32 bits."""


@pytest.mark.parametrize(
    ("held", "clique", "cells"),
    [
        (["abcde"], "abcde", None),  # one party: nothing is opened
        (["ae", "bc", "d"], "abe", 5),  # both parts are opened
        (["ae", "bc", "d"], "bcde", 6),  # d and e are one cell each less than bc
        (["a", "b", "c", "d", "e"], "abc", 6),  # b x c; the product with a is never opened
        (["a", "b", "c", "d", "e"], "abcde", 12),  # e x b x d x c; that with a is never opened
    ],
)
@pytest.mark.parametrize("bits", [32, 64])
def test_a_clique_is_feasible_up_to_the_limit_of_what_is_opened_for_it(held, clique, cells, bits):
    for records in [LARGEST * 32 // bits // (cells or 1), LARGEST * 32 // bits // (cells or 1) + 1]:
        plan = plan_of(held, records=(records,), bits=bits)
        fits = cells is None or records * cells * bits // 8 <= MAX_OPENING_BYTES
        assert plan.feasible(View(tuple(clique))) == fits
    assert fits == (cells is None)


@pytest.mark.slow
@given(
    plan=ragged_plans(),
    clique=st.sampled_from(CLIQUES),
    data=st.data(),
    bits=st.sampled_from([32, 64]),
)
def test_feasible_cliques_are_those_of_which_no_slice_opens_a_larger_matrix(plan, clique, data, bits):
    plan = replace(plan, ring=Ring(bits))
    opened = [0]
    for number in range(plan.slice_count):
        sizes = [DOMAIN.cells(part) for part in plan.chain(View(clique), number)]
        if len(sizes) > 1:
            opened += [plan.records(number) * n * bits // 8 for n in sizes]
            opened += [plan.records(number) * math.prod(sizes[:k]) * bits // 8 for k in range(2, len(sizes))]
    limit = data.draw(st.sampled_from(opened)) + data.draw(st.integers(-1, 0))
    with mock.patch.object(plans, "MAX_OPENING_BYTES", limit):
        assert plan.feasible(View(clique)) == (max(opened) <= limit or max(opened) == 0)


def test_an_opening_takes_a_word_for_each_record_and_cell():
    assert plan_of(["abcde"]).opening_bytes((("a",), ("b", "c")), 0) == 7 * 30 * 4
    assert plan_of(["abcde"], bits=64).opening_bytes((("a",), ("b", "c")), 0) == 7 * 30 * 8


def test_a_product_needs_a_word_for_each_record_and_cell_of_its_parts_and_partial_products():
    """In the first slice of 7 records, 5 values of a, 2 of b and 3 of c are at three parties."""
    part = {name: ((name,),) for name in "abc"}
    words = {(part["b"], 0): 14, (part["c"], 0): 21, (part["a"], 0): 35, ((("b",), ("c",)), 0): 42}
    assert RAGGED.multiplied(View(("a", "b", "c"))) == words
    assert RAGGED.multiplied(View(("a", "e"))) == {}


def chain_sets(plan, number):
    chains = [plan.chain(View(clique), number) for clique in CLIQUES]
    products = [chain for chain in chains if len(chain) > 1]
    return st.lists(st.sampled_from(products), max_size=30) if products else st.just([])


@pytest.mark.slow
@given(data=st.data(), plan=ragged_plans(), limit=st.integers(1, 400))
def test_rectangles_cover_every_chain_once_and_stay_in_the_limit_unless_one_left_alone_exceeds_it(
    data, plan, limit
):
    number = data.draw(st.integers(0, plan.slice_count - 1))
    chains = data.draw(chain_sets(plan, number))
    with mock.patch.object(plans, "_MAX_RECTANGLE", limit):
        groups = rectangles(plan, chains)
    covered = [(*left, right) for lefts, rights in groups for left in lefts for right in rights]
    assert Counter(covered) == Counter(set(chains))
    for lefts, rights in groups:
        assert lefts
        assert rights
        size = sum(map(plan.cells, lefts)) * sum(map(DOMAIN.cells, rights))
        assert size <= limit or len(lefts) == 1


def test_left_factors_with_the_same_right_factors_are_multiplied_together():
    plan = plan_of(["ab", "cd", "e"])
    chains = [((left,), (right,)) for left in "ab" for right in "cde"]
    assert rectangles(plan, chains) == [([(("a",),), (("b",),)], [("c",), ("d",), ("e",)])]
    assert rectangles(plan, chains[:-1]) == [
        ([(("a",),)], [("c",), ("d",), ("e",)]),
        ([(("b",),)], [("c",), ("d",)]),
    ]


def test_no_chains_make_no_rectangles():
    assert rectangles(RAGGED, []) == []


CLIQUE_PARTS = st.lists(st.text("ab12\0", max_size=3), min_size=1, max_size=3).map(tuple)
CHAINS = st.lists(CLIQUE_PARTS, min_size=1, max_size=4).map(tuple)


@pytest.mark.slow
@given(CHAINS)
def test_the_labels_of_a_chain_determine_it(chain):
    assert chain_of(labels(chain)) == chain


def test_names_that_look_like_numbers_do_not_give_two_chains_the_same_labels():
    alike = [(("1", "1"),), (("1",), ("1",)), (("1", "1", "1"),), (("1",),), (("2", "1"),), (("1", "2"),)]
    assert len({tuple(labels(chain)) for chain in alike}) == len(alike)


@given(bits=st.sampled_from([32, 64]), cells=st.integers(1, 10**9))
def test_a_block_has_at_least_one_row_and_at_most_as_many_as_fit(bits, cells):
    ring = Ring(bits)
    rows = block_rows(ring, cells)
    assert rows >= 1
    assert rows == 1 or rows * cells * ring.word_bytes <= 1 << 25


@given(st.lists(st.integers(1, 9), max_size=6))
def test_spans_lie_side_by_side(widths):
    found = spans(widths)
    assert [at.stop - at.start for at in found] == widths
    assert [at.start for at in found] == [sum(widths[:i]) for i in range(len(widths))]


@pytest.mark.parametrize(
    ("slices", "reason"),
    [
        ([], "slice by slice"),
        ([["abcde"], ["abcd"]], "slice 2: .* every attribute exactly once"),
        ([["abc", "cde"]], "slice 1: .* every attribute exactly once"),
        ([["abcdef"]], "slice 1: .* every attribute exactly once"),
        ([["abcde", "a"]], "slice 1: .* every attribute exactly once"),
        ([["ba", "cde"]], "slice 1: .* not in domain order"),
    ],
)
def test_a_plan_in_which_a_slice_lacks_or_repeats_attributes_is_refused(slices, reason):
    with pytest.raises(DataError, match=reason):
        plan_of(*slices)


TWO_SLICES = roster(["abc", "de"], ["abcde"])


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({0: {"slice": 1}, 1: {"slice": 1}, 2: {"slice": 0}}, "slice by slice"),
        ({0: {"slice": 1}, 1: {"slice": 1}, 2: {"slice": 2}}, "from slice 0 on"),
        ({2: {"slice": 2}}, "slice by slice"),
        ({2: {"name": "p0"}}, "the same name"),
        ({1: {"record_count": 8}}, "slice 1: .* different numbers of records"),
    ],
)
def test_a_plan_with_an_inconsistent_roster_is_refused(change, reason):
    entries = [replace(entry, **change.get(i, {})) for i, entry in enumerate(TWO_SLICES)]
    with pytest.raises(DataError, match=reason):
        MaskedPlan(DOMAIN, tuple(entries), 0, Ring(32))


@pytest.mark.parametrize("tolerated", [-1, 3, 4])
def test_a_plan_that_tolerates_the_collusion_of_all_parties_is_refused(tolerated):
    with pytest.raises(BudgetError, match="tolerated collusions"):
        MaskedPlan(DOMAIN, TWO_SLICES, tolerated, Ring(32), dealers=DEALERS)


def test_a_plan_with_a_huge_slice_number_is_refused_without_a_loop_over_slices():
    tracemalloc.start()
    try:
        with pytest.raises(DataError, match="slice by slice"):
            MaskedPlan(DOMAIN, (replace(TWO_SLICES[2], slice=10**12),), 0, Ring(32))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 1 << 20


D, E, F, G = (DealerEntry(name, bytes(32)) for name in "defg")
P0, P2 = (DealerEntry(entry.name, entry.identity) for entry in (TWO_SLICES[0], TWO_SLICES[2]))


def dealt_by(*dealers, **changes):
    """A plan of two parties in slice 0, p0 and p1, and of p2 alone in slice 1, with these dealers."""
    return MaskedPlan(DOMAIN, TWO_SLICES, 1, Ring(32), dealers=dealers, **changes)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"parts": 2}, "parts: expected 1 or 1048576"),
        ({"parts": WEIGHT_PARTS, "check": "one-hot"}, "proves that a row is one-hot"),
        ({"parts": WEIGHT_PARTS, "sample": 1}, "sample: expected all people"),
    ],
)
def test_a_plan_of_people_with_all_rows_asks_for_nothing_that_their_vectors_lack(changes, reason):
    with pytest.raises(DataError, match=reason):
        dealt_by(D, **changes)
    assert dealt_by(D, parts=WEIGHT_PARTS).with_sample(None).sample == 0


def test_hospitals_of_whole_people_open_nothing_that_could_be_checked():
    held = roster(["abcde"], ["abcde"], records=(4, 5))
    alone = MaskedPlan(DOMAIN, held, 1, Ring(64), parts=WEIGHT_PARTS, check="one-hot")
    assert alone.parts_of == (WEIGHT_PARTS, WEIGHT_PARTS)
    assert alone.noise.parts == WEIGHT_PARTS


@pytest.mark.parametrize(
    ("dealers", "reason"),
    [
        ([], "slice 1: expected 1 dealers that are no party of it"),
        ([P0], "slice 1: expected 1 dealers that are no party of it"),
        ([D, E], "one dealer, or 3 or more with different names"),
        ([D, E, D], "with different names"),
        ([D, E, P0], "slice 1: expected 3 dealers that are no party of it"),
        ([replace(P2, identity=b"x" * 32)], "parties with their identities"),
        ([D, E, replace(P2, identity=b"x" * 32)], "parties with their identities"),
    ],
)
def test_a_plan_without_one_or_three_dealers_for_a_slice_is_refused(dealers, reason):
    with pytest.raises(DataError, match=reason):
        dealt_by(*dealers)


def test_the_first_dealers_that_are_no_party_of_a_slice_deal_for_it():
    """Places of dealers that are no party follow those of the parties."""
    plan = dealt_by(P0, E, P2, F, G)
    assert [entry.name for entry in plan.participants] == ["p0", "p1", "p2", "e", "f", "g"]
    assert plan.dealers_of(0) == (3, 2, 4)
    assert plan.dealers_of(1) == (0, 3, 4)
    assert dealt_by(P2).dealers_of(0) == (2,)


def test_a_slice_of_one_party_needs_no_dealer():
    plan = plan_of(["abcde"], ["abcde"])
    assert replace(plan, dealers=()).dealers_of(0) == ()


def test_only_evaluator_0_may_be_a_dealer_that_is_no_party():
    assert dealt_by(D, evaluators=(3, 0, 2)).evaluator_names == ("d", "p0", "p2")
    for evaluators in ((0, 3, 2), (0, 1, 3), (4, 0, 1)):
        with pytest.raises(DataError, match="three evaluators or none"):
            dealt_by(D, evaluators=evaluators)


@pytest.mark.parametrize("dealers", [(D,), (D, E, F)], ids=["one dealer", "three dealers"])
@pytest.mark.parametrize("bits", [32, 64])
def test_what_is_checked_is_opened_in_wide_words_unless_one_dealer_knows_masks_of_32_bits(dealers, bits):
    plan = replace(dealt_by(*dealers), ring=Ring(bits))
    checked = replace(plan, check="one-hot")
    one, two = plan.domain.names[:2]
    assert {plan.opened_ring(chain) for chain in (((one,),), ((one,), (two,)))} == {Ring(bits)}
    assert checked.opened_ring(((one,), (two,))) == Ring(64)
    assert checked.integer_masks == (len(dealers) == 3 or bits == 64)
    assert checked.opened_ring(((one,),)) == Ring(64 if checked.integer_masks else 32)


def test_with_the_check_a_clique_of_three_parties_is_feasible():
    roster = tuple(RosterEntry(name, 0, (name,), 10, bytes(32)) for name in "abc")
    plan = MaskedPlan(Domain.coded({"a": 2, "b": 2, "c": 2}), roster, 1, Ring(32), dealers=DEALERS)
    checked = replace(plan, check="one-hot")
    assert checked.feasible(View(("a", "b", "c")))
    chain = (("a",), ("b",))
    assert checked.opening_bytes(chain, 0) == 2 * plan.opening_bytes(chain, 0)
