"""What a party refuses of the other sides of an alignment."""

import itertools

import numpy as np
import pytest

from dpmosaic.common.data.view import View
from dpmosaic.common.errors import DeliveriesLost, ProtocolError
from dpmosaic.common.frames import FRAME_BYTES
from dpmosaic.common.messages import Delivery, DeliveryKind, Introduction, OpeningRequest
from dpmosaic.common.queries import AnswerForm, MarginalQuery
from dpmosaic.common.wire import codec, streams
from dpmosaic.common.wire.alignments import positions_payload
from dpmosaic.curator.parties.federation import connect
from dpmosaic.curator.releasing.planning.alignment_order import AlignmentProposal
from dpmosaic.party.answerers.alignment.answerer import AlignmentAnswerer
from support.aligning import Aligning, order
from support.terms import RELEASE_ID, SPEC

PEOPLE = [[["a", "b", "c"], ["b", "c", "d"]]]
PLACES = Delivery(RELEASE_ID, DeliveryKind.POSITIONS)
KEY = Delivery(RELEASE_ID, DeliveryKind.ALIGNMENT_KEY)


def key_for(recipient, chain=()):
    """Asks a party for the key of an alignment."""
    return OpeningRequest(RELEASE_ID, chain, recipient, DeliveryKind.ALIGNMENT_KEY)


class Introduced:
    """Parties that accepted an alignment and are introduced to each other; two in one slice by default."""

    def __init__(self, people=PEOPLE):
        self.parties = Aligning(people)
        federation = connect(self.parties.domain, self.parties.links, counted=False)
        self.terms = AlignmentProposal(RELEASE_ID, order(), SPEC).terms(federation)
        self.clients = [member.client for member in federation.members]
        self.first, self.second, *_ = self.clients
        introduction = Introduction(RELEASE_ID, federation.accept(self.terms))
        for client in self.clients:
            client.introduce(introduction)

    def share_key(self):
        self.first.relay(0, key_for(1), self.second)

    def tokens(self, client):
        return client.align(RELEASE_ID, self.clients.index(client), 1)

    def place(self, client, size, positions, people=((1, 2, 3),)):
        client.deliver(PLACES, positions_payload(size, people, np.array(positions, dtype=np.uint32)))


@pytest.fixture
def introduced():
    return Introduced()


def test_tokens_asked_for_twice_are_the_same_and_charged_once(introduced):
    introduced.share_key()
    for client in introduced.clients:
        np.testing.assert_array_equal(introduced.tokens(client), introduced.tokens(client))
    assert {queries for _, queries in introduced.parties.spent()} == {1}


def test_a_restarted_party_sends_the_same_tokens(introduced):
    first = introduced.tokens(introduced.first)
    introduced.first._connection = introduced.parties.restarted(0, 0)
    np.testing.assert_array_equal(introduced.tokens(introduced.first), first)


def test_without_the_key_a_party_charges_nothing_and_asks_for_it(introduced):
    with pytest.raises(DeliveriesLost, match="deliver it"):
        introduced.tokens(introduced.second)
    assert all(spent == 0 for spent, _ in introduced.parties.spent())


@pytest.mark.parametrize("change", ["drop", "repeat", "beyond", "more"])
def test_positions_that_are_not_distinct_or_not_one_for_each_token_are_refused(introduced, change):
    count = len(introduced.tokens(introduced.first))
    positions = {
        "drop": range(count - 1),
        "repeat": [0, *range(count - 1)],
        "beyond": [*range(count - 1), count],
        "more": range(count + 1),
    }[change]
    with pytest.raises(ProtocolError, match="match the tokens again"):
        introduced.place(introduced.first, count, positions)


def test_other_positions_than_the_first_ones_are_refused(introduced):
    count = len(introduced.tokens(introduced.first))
    for _ in range(2):
        introduced.place(introduced.first, count, range(count))
    with pytest.raises(ProtocolError, match="placed otherwise"):
        introduced.place(introduced.first, count, range(count)[::-1])
    with pytest.raises(ProtocolError, match="placed otherwise"):
        introduced.place(introduced.first, count, range(count), people=((1, 2, 4),))


@pytest.mark.parametrize(("place", "chain"), [(1, ()), (0, (("a0",),))])
def test_only_the_first_party_gives_a_key_and_nothing_else(introduced, place, chain):
    asked = codec.encode(key_for(1 - place, chain))
    with pytest.raises(ProtocolError, match="to the first party"):
        list(introduced.parties.links[0][place].call("Open", [asked]))


def test_only_a_key_that_the_first_party_sealed_is_taken(introduced):
    with pytest.raises(ProtocolError, match="of the first party"):
        introduced.first.deliver(KEY, [np.zeros(8)])
    with pytest.raises(ProtocolError, match="does not open"):
        introduced.second.deliver(KEY, [np.zeros(4), np.zeros(6)])


def test_of_a_key_that_is_too_long_little_is_read(introduced, monkeypatch):
    monkeypatch.setattr(AlignmentAnswerer, "_shared_key", lambda self: bytes(64 * FRAME_BYTES))
    first, second = introduced.parties.links[0]
    sealed = first.call("Open", [codec.encode(key_for(1))])
    header = streams.encode_delivery(key_for(1).delivery(0))
    with pytest.raises(ProtocolError, match="another length"):
        list(second.call("Deliver", itertools.chain([header], sealed)))
    assert len(list(sealed)) > 60


def test_a_release_that_aligns_rows_answers_nothing_else(introduced):
    query = MarginalQuery(RELEASE_ID, "q", AnswerForm.SHARE, View(("a0",)), 1.0)
    with pytest.raises(ProtocolError, match="no answers of the form"):
        list(introduced.first.answer(query, 1, 2, 1))
    with pytest.raises(ProtocolError, match="has no products"):
        introduced.first.deliver(Delivery(RELEASE_ID, DeliveryKind.DEALT_ROWS, (("a0",),)), [np.zeros(1)])


def test_the_tokens_of_two_alignments_of_the_same_rows_have_nothing_in_common():
    first, second = (Introduced() for _ in range(2))
    one, other = (set(map(tuple, made.tokens(made.first)[:, 0].tolist())) for made in (first, second))
    assert not one & other


def test_a_key_is_for_the_parties_that_are_compared_and_no_others():
    """A curator that colludes with a party of one slice learns nothing of the tokens of another slice."""
    two_slices = Introduced([[["ada"], ["bob"]], [["ada"], ["dan"]]])
    asked = codec.encode(key_for(2))
    with pytest.raises(ProtocolError, match="for another one that is compared with it"):
        list(two_slices.parties.links[0][0].call("Open", [asked]))
