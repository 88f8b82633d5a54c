"""Refusals in the protocol `masked`: steps out of order, outside the plan or against the policy."""

import contextlib
import re
from dataclasses import replace

import numpy as np
import pytest

from dpmosaic.common.canonical.terms import encode_terms
from dpmosaic.common.data.view import View
from dpmosaic.common.errors import BudgetError, DataError, MosaicError, PolicyError, ProtocolError
from dpmosaic.common.messages import Delivery, DeliveryKind, MultiplyRequest, OpeningRequest
from dpmosaic.common.privacy.cost import Adjacency, gaussian_cost
from dpmosaic.common.queries import AnswerForm, MarginalQuery
from support.changed import changed
from support.terms import RELEASE_ID, id_of

pytestmark = pytest.mark.slow

NORTH, EAST, WEST, SOUTH, DEALER = range(5)
A, B, C, D = ("a",), ("b",), ("c",), ("d",)
PAIR = (A, C)
QUERY = MarginalQuery(RELEASE_ID, "q", AnswerForm.SHARE, View(("a", "c")), 3.0)
COST = gaussian_cost(3.0, Adjacency.ZERO_OUT)


def generous(masked, **plan):
    """Terms with a grant for answers that are exact up to a hundredth."""
    return masked.terms_of(masked.plan_of(**plan), granted_rho=1e8)


EAST_OPENS = Delivery(RELEASE_ID, DeliveryKind.OPENING, (C,), EAST)
ATTEMPTS = {
    "open": lambda party: party.open(OpeningRequest(RELEASE_ID, (A,), EAST)),
    "deliver an opening": lambda party: party.deliver(EAST_OPENS, [b""]),
    "deliver seeds": lambda party: party.deliver(
        Delivery(RELEASE_ID, DeliveryKind.MASK_SEEDS, sender=DEALER), [b""]
    ),
    "deliver rows": lambda party: party.deliver(
        Delivery(RELEASE_ID, DeliveryKind.DEALT_ROWS, PAIR, DEALER), [b""]
    ),
    "deliver products": lambda party: party.deliver(
        Delivery(RELEASE_ID, DeliveryKind.DEALT_PRODUCTS, sender=DEALER, chains=(PAIR,)), [b""]
    ),
    "multiply": lambda party: party.multiply(MultiplyRequest(RELEASE_ID, (PAIR,))),
    "answer": lambda party: party.answer(QUERY),
    "answer without a product": lambda party: party.answer(changed(QUERY, clique=("a", "b"))),
}


@pytest.mark.parametrize("attempt", ATTEMPTS)
def test_refuses_queries_before_the_release_is_accepted(masked, attempt):
    release = masked.Release()
    with pytest.raises(ProtocolError, match="accept it first"):
        ATTEMPTS[attempt](release.parties["north"])
    assert release.ledgers["north"].total_reserved() == 0


@pytest.mark.parametrize("attempt", ATTEMPTS)
def test_refuses_all_steps_before_the_parties_are_introduced(masked, attempt):
    release = masked.Release().accept()
    with pytest.raises(ProtocolError, match="introduce them first"):
        ATTEMPTS[attempt](release.parties["north"])
    assert release.spent()["north"] == 0


@pytest.mark.parametrize("attempt", ATTEMPTS)
def test_refuses_all_steps_after_the_data_changed(masked, tmp_path, attempt):
    release = masked.Release(folder=tmp_path).accept().introduce()
    rows = masked.rows_of(release.plan, 0).project(("a", "b"))
    release.start("north", table=rows.take(np.arange(39, -1, -1)))
    with pytest.raises(ProtocolError, match="other data"):
        release.parties["north"].accept(encode_terms(release.terms))
    with pytest.raises(ProtocolError, match="data changed"):
        ATTEMPTS[attempt](release.parties["north"])
    assert release.spent()["north"] == 0


@pytest.mark.parametrize("clique", [("a", "c"), ("a", "c", "d")])
def test_without_any_one_delivery_a_party_refuses_uncharged_and_continues_with_it(masked, clique):
    for left_out, _ in enumerate(masked.Release().deliveries(clique)):
        release = masked.Release(generous(masked)).accept().introduce()
        for number, step in enumerate(release.deliveries(clique)):
            if number != left_out:
                # Steps that depend on the missing delivery are refused too.
                with contextlib.suppress(ProtocolError):
                    step()
        refused = set()
        for name, step in release.products(clique):
            try:
                step()
            except ProtocolError:
                refused.add(name)
        assert refused
        for name in refused:
            with pytest.raises(ProtocolError, match="multiply first"):
                release.parties[name].answer(changed(QUERY, clique=clique))
            assert release.spent()[name] == 0
        counts = release.prepare(clique).counts(changed(QUERY, clique=clique, sigma=1e-3))
        assert np.allclose(counts, release.exact(clique), atol=0.03)


def test_a_query_without_its_product_is_refused_uncharged_and_others_are_answered(release):
    for name in ("north", "east"):
        with pytest.raises(ProtocolError, match="multiply first"):
            release.parties[name].answer(QUERY)
    assert set(release.spent().values()) == {0}
    for name in ("west", "south"):
        release.parties[name].answer(QUERY)
    release.parties["north"].answer(changed(QUERY, clique=("a", "b"), query_id="q2"))
    assert release.spent() == {"north": COST, "east": 0, "west": COST, "south": COST}


def test_deliveries_of_one_release_are_refused_in_another(masked):
    one = masked.Release().accept().introduce()
    other = masked.Release(masked.terms_of(release_id=id_of("s")))
    other.parties = one.parties
    other.accept().introduce()
    one.prepare(("a", "c"))
    with pytest.raises(ProtocolError, match="deliver all of them"):
        other.multiply(NORTH, PAIR)
    with pytest.raises(ProtocolError, match="does not open"):
        other.deliver(DeliveryKind.OPENING, (C,), NORTH, one.sealed(EAST, (C,), NORTH), EAST)
    with pytest.raises(ProtocolError, match="multiply first"):
        other.parties["north"].answer(replace(QUERY, release_id=id_of("s")))


@pytest.mark.parametrize(
    ("change", "kind", "reason"),
    [
        ({"form": AnswerForm.HISTOGRAM, "clique": ("a", "b")}, ProtocolError, "no answers of the form"),
        ({"form": AnswerForm.RECORD_WISE, "clique": ("a",)}, ProtocolError, "no answers of the form"),
        ({"release_id": id_of("s")}, ProtocolError, "accept it first"),
        ({"clique": ("a", "z")}, ProtocolError, "attributes that can be queried"),
        ({"clique": ("c", "a")}, ProtocolError, "in domain order"),
        ({"clique": ("a", "a")}, DataError, "named twice"),
        ({"sigma": 2.0**-21}, BudgetError, "lower the budget"),
        ({"sigma": 2.0**41}, BudgetError, "grant more"),
        ({"sigma": 0.1}, BudgetError, "more than is left"),
        ({"sigma": 2.0**-20}, ProtocolError, "could overflow"),
        ({"boxes": (((0, 1),),)}, DataError, "box 0: expected for each attribute"),
        ({"boxes": (((0, 1), (2, 2)),)}, DataError, "non-empty range"),
        ({"boxes": (((0, 1), (3, 1)),)}, DataError, "non-empty range"),
        ({"boxes": (((0, 1), (0, 5)),)}, DataError, "non-empty range"),
        ({"boxes": (((0, 2), (0, 2)), ((1, 2), (1, 3)))}, DataError, "box 1: it overlaps another box"),
    ],
)
def test_a_query_that_does_not_fit_is_refused_by_all_parties_and_not_charged(release, change, kind, reason):
    release.prepare(("a", "c"))
    for party in release.parties.values():
        with pytest.raises(kind, match=reason):
            party.answer(changed(QUERY, **change))
    assert set(release.spent().values()) == {0}
    release.frames(QUERY)


def test_a_marginal_past_max_cells_is_neither_multiplied_nor_answered(masked):
    release = masked.Release(policy=replace(masked.policy, max_cells=8)).accept().introduce()
    release.prepare(("a", "c")).frames(QUERY)
    with pytest.raises(PolicyError, match="max_cells"):
        release.deal_product((B, C))
    with pytest.raises(PolicyError, match="max_cells"):
        release.multiply(NORTH, (B, C))
    query = changed(QUERY, clique=("b", "c"), query_id="q2")
    for party in release.parties.values():
        for boxes in ((), (((0, 3), (0, 4)),)):
            with pytest.raises(PolicyError, match="max_cells"):
                party.answer(changed(query, boxes=boxes))
    assert set(release.spent().values()) == {COST}


def test_no_refusal_contains_data(release):
    """Messages state rules and remedies, but no count, size, code or key of this table."""
    release.prepare(("a", "c"))
    chains = [(), (("z",),), (("a", "a"),), (A, C, A), (("b", "a"),), (C,)]
    changes = [{"sigma": 0.1}, {"sigma": 2.0**-20}, {"clique": ("c", "d")}, {"clique": ("z",)}]
    attempts = [lambda chain=chain: release.sealed(NORTH, chain, EAST) for chain in chains]
    attempts += [lambda change=c: release.parties["east"].answer(changed(QUERY, **change)) for c in changes]
    for attempt in attempts:
        with pytest.raises(MosaicError) as refusal:
            attempt()
        told = re.sub(r"\b(64 bits|[12] parts)\b", "", str(refusal.value))
        assert not any(character.isdigit() for character in told)
