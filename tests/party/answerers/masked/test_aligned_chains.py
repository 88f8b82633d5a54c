"""Chains that a curator may not ask an aligned party for."""

from fractions import Fraction

import pytest

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.errors import ProtocolError
from dpmosaic.common.messages import Delivery, DeliveryKind, MultiplyRequest, OpeningRequest
from dpmosaic.common.protocols.aligned import Population
from support.aligned import AlignedRelease, People

PEOPLE = People(Domain.coded({"a": 3, "b": 2, "c": 4}), ["ab c", "a bc"])
OWN, OTHER, STRANGER = (("", f"party-{name}") for name in ("0-0", "0-1", "1-0"))
A, B, C = ("a",), ("b",), ("c",)


def begun(population=Population.EVERYWHERE):
    """A release whose first party holds a and b, next to one that holds c."""
    release = AlignedRelease(PEOPLE, population, granted=Fraction(1))
    release.measurer()
    return release.terms, release.links[0][0].party


@pytest.fixture(scope="module")
def running():
    return begun()


def opened(running, *chain):
    terms, party = running
    return list(party.open(OpeningRequest(terms.release_id, chain, 1)))


def multiplied(running, *chain):
    terms, party = running
    party.multiply(MultiplyRequest(terms.release_id, (chain,)))


def test_a_party_opens_its_presence_and_its_parts(running):
    assert all(opened(running, part) for part in (OWN, A, B, ("a", "b")))


@pytest.mark.parametrize(
    "chain",
    [
        (OTHER,),
        (STRANGER,),
        (("", "nobody"),),
        (("",),),
        (("", "party-0-0", "a"),),
        (("a", ""),),
        (OWN, OWN),
        (OWN, A),
        (OTHER, A, B),
        (OTHER, A, A),
        ((),),
    ],
)
def test_no_other_matrix_is_opened(running, chain):
    """Of (presence of the other, a, b), only the product over all positions is computed."""
    with pytest.raises(ProtocolError, match="compare the plan"):
        opened(running, *chain)


@pytest.mark.parametrize("chain", [(OWN, A), (A, B), (OTHER, A, A), (STRANGER, A), (OTHER, A, B, C)])
def test_no_product_is_computed_without_an_opening_of_another_party_or_of_too_many_parts(running, chain):
    with pytest.raises(ProtocolError, match="compare the plan"):
        multiplied(running, *chain)


def test_row_wise_products_of_two_parts_of_one_party_are_not_stored(running):
    terms, party = running
    (dealer,) = terms.masked_plan.dealers_of(0)
    delivery = Delivery(terms.release_id, DeliveryKind.DEALT_ROWS, (OTHER, A, B), dealer)
    with pytest.raises(ProtocolError, match="expected one part of each party"):
        party.deliver(delivery, [])


@pytest.mark.parametrize("chain", [(OWN,), (OTHER, A)])
def test_people_of_any_party_count_without_presence(chain):
    with pytest.raises(ProtocolError, match="of attributes of the plan"):
        opened(begun(Population.ANYWHERE), *chain)
