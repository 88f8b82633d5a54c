"""A curator that alters, swaps or replays openings gets no answer."""

from fractions import Fraction

import pytest

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.view import View
from dpmosaic.common.errors import ProtocolError
from dpmosaic.common.messages import DealRequest, Delivery, DeliveryKind, MultiplyRequest
from dpmosaic.common.queries import AnswerForm, MarginalQuery
from dpmosaic.curator.measurers.measurer import Query
from support.masked_views import table_of
from support.taps import Curator
from support.terms import RELEASE_ID, id_of

pytestmark = pytest.mark.slow

WIDE = Domain.coded({"x": 400, "y": 3})


def flipped(payloads, frame, bit):
    octets = bytearray(payloads[frame])
    octets[bit // 8] ^= 1 << bit % 8
    return [*payloads[:frame], bytes(octets), *payloads[frame + 1 :]]


ALTERED = {
    "a bit of the salt": lambda p: flipped(p, 0, 100),
    "a bit of the first frame": lambda p: flipped(p, 1, 12345),
    "a bit of the last frame": lambda p: flipped(p, 3, 0),
    "a bit of the last tag": lambda p: flipped(p, 3, 8 * len(p[3]) - 1),
    "two frames change places": lambda p: [p[0], p[2], p[1], p[3]],
    "the last frame comes first": lambda p: [p[0], p[3], p[1], p[2]],
    "the salt comes last": lambda p: [*p[1:], p[0]],
    "the salt is dropped": lambda p: p[1:],
    "the first frame is dropped": lambda p: [p[0], *p[2:]],
    "a frame is dropped": lambda p: [*p[:2], p[3]],
    "the last frame is dropped": lambda p: p[:3],
    "all frames but the salt are dropped": lambda p: p[:1],
    "all frames are dropped": lambda p: [],
    "the salt is repeated": lambda p: [p[0], *p],
    "the first frame is repeated": lambda p: [*p[:2], *p[1:]],
    "the last frame is repeated": lambda p: [*p, p[3]],
    "the stream is repeated": lambda p: [*p, *p],
    "the salt is cut": lambda p: [p[0][:-1], *p[1:]],
    "the salt is longer": lambda p: [p[0] + b"0", *p[1:]],
    "the last frame is cut": lambda p: [*p[:3], p[3][:-4]],
    "the last frame is cut to its tag": lambda p: [*p[:3], p[3][-16:]],
    "the first frame is cut": lambda p: [p[0], p[1][:-4], *p[2:]],
    "two frames run together": lambda p: [p[0], p[1][:-4], p[1][-4:] + p[2], p[3]],
    "salt and frame run together": lambda p: [p[0] + p[1], *p[2:]],
    "an empty frame follows": lambda p: [*p, b""],
    "zeros of the same length": lambda p: [bytes(len(one)) for one in p],
}


@pytest.mark.parametrize("alter", ALTERED.values(), ids=ALTERED)
def test_an_altered_opening_is_refused_and_no_value_is_released(alter, ledgers):
    curator = Curator(table_of("random", WIDE, records=1500), "1x2")
    measurer = curator.measurer()
    first = iter([alter])
    curator.wire.alter = lambda payloads: next(first, lambda same: same)(payloads)
    with pytest.raises(ProtocolError):
        measurer.measure([Query(View(("x", "y")), Fraction(1, 2), "test")])
    assert "Answer" not in curator.wire.methods()
    assert_nothing_is_answered(curator, ledgers, (("x",), ("y",)))


def assert_nothing_is_answered(curator, ledgers, chain):
    """No party multiplies an incomplete delivery, answers from it or charges for it."""
    curator.wire.alter = None
    domain = curator.table.domain
    clique = domain.canonical(name for part in chain for name in part)
    cells, (dealer,) = domain.cells(clique), curator.terms().masked_plan.dealers_of(0)
    dealt = DealRequest(RELEASE_ID, DeliveryKind.DEALT_PRODUCTS, 1, (chain,))
    curator.federation.dealers[0].client.relay_dealt(dealer, dealt, curator.clients[1])
    query = MarginalQuery(RELEASE_ID, "q", AnswerForm.SHARE, View(clique), 1.0)
    for client in curator.clients:
        with pytest.raises(ProtocolError, match="deliver all of them"):
            client.multiply(MultiplyRequest(RELEASE_ID, (chain,)))
        with pytest.raises(ProtocolError, match="a product that was not computed"):
            list(client.answer(query, 1, cells, 1))
    assert [ledger.cost_of(RELEASE_ID) for ledger in ledgers] == [0] * len(ledgers)


def test_unaltered_openings_have_a_salt_and_three_frames_and_are_accepted():
    curator = Curator(table_of("random", WIDE, records=1500), "1x2")
    measurer = curator.measurer()
    counted = []
    curator.wire.alter = lambda payloads: counted.append(len(payloads)) or payloads
    measurer.measure([Query(View(("x", "y")), Fraction(1, 2), "test")])
    assert counted == [4, 2]


TWINS = Domain.coded({"a": 4, "b": 4, "c": 4, "d": 4, "e": 4, "f": 4})


def part(text):
    return (tuple(text),)


def opening(held, sender, release_id=RELEASE_ID):
    return Delivery(release_id, DeliveryKind.OPENING, part(held), sender)


REPLAYED = {
    "swapped with another party's": ((0, "a", 2), opening("c", 1), 2),
    "as another party's of the same part": ((0, "a", 2), opening("a", 1), 2),
    "to another recipient": ((0, "a", 1), opening("a", 0), 2),
    "back to its sender": ((0, "a", 1), opening("a", 1), 0),
    "as from the recipient": ((0, "a", 1), opening("a", 1), 1),
    "as another part": ((0, "a", 2), opening("b", 0), 2),
    "as a larger part": ((0, "a", 2), opening("ab", 0), 2),
    "in another release": ((0, "a", 2), opening("a", 0, id_of("another")), 2),
    "as the dealer's rows": (
        (0, "a", 2),
        Delivery(RELEASE_ID, DeliveryKind.DEALT_ROWS, (("a",), ("e",)), 3, owner=0),
        2,
    ),
}


@pytest.mark.parametrize(("taken", "delivery", "recipient"), REPLAYED.values(), ids=REPLAYED)
def test_an_opening_is_accepted_only_by_its_recipient_and_for_its_chain(taken, delivery, recipient):
    curator = Curator(table_of("random", TWINS, records=20), "1x3")
    curator.measurer()
    curator.measurer(id_of("another"))
    sender, held, meant_for = taken
    frames = curator.open(sender, part(held), meant_for)
    with pytest.raises(ProtocolError):
        curator.deliver(recipient, delivery, frames)
    curator.deliver(meant_for, opening(held, sender), frames)


def test_swapped_openings_of_two_parties_are_refused_and_no_value_is_released(ledgers):
    curator = Curator(table_of("random", TWINS, records=20), "1x2")
    curator.measurer()
    first, second = curator.open(0, part("a"), 1), curator.open(1, part("d"), 0)
    with pytest.raises(ProtocolError, match="does not open"):
        curator.deliver(1, opening("a", 0), second)
    with pytest.raises(ProtocolError, match="does not open"):
        curator.deliver(0, opening("d", 1), first)
    assert_nothing_is_answered(curator, ledgers, (("a",), ("d",)))


@pytest.mark.parametrize("other", [0, 2, 3, 9], ids=["itself", "another slice", "another", "unknown"])
def test_a_party_exchanges_openings_only_within_its_slice(other):
    curator = Curator(table_of("random", TWINS, records=20), "2x2")
    curator.measurer()
    frames = curator.open(0, part("a"), 1)
    with pytest.raises(ProtocolError, match="compare the plan"):
        curator.open(0, part("a"), other)
    with pytest.raises(ProtocolError, match="compare the plan"):
        curator.deliver(0, opening("d", other), frames)


@pytest.mark.parametrize("held", ["d", "ad", "ba", "z", ""], ids=str)
def test_a_party_opens_nothing_but_parts_that_it_holds(held):
    curator = Curator(table_of("random", TWINS, records=20), "1x2")
    curator.measurer()
    with pytest.raises(ProtocolError, match="compare the plan"):
        curator.open(0, part(held), 1)
