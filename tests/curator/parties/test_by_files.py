"""A connection by files, with a party that replies as the test says."""

import threading
from datetime import UTC, datetime

import pytest

from dpmosaic.common.crypto.certificates import new_tls_key, self_signed
from dpmosaic.common.crypto.identity import Identity
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.errors import AnswerPending, DataError, DeliveriesLost, PolicyError
from dpmosaic.common.federation.card import DEALER, PARTY, Card
from dpmosaic.common.wire.bundles import (
    Bundle,
    BundledReplies,
    BundleHeader,
    decode_calls,
    encode_replies,
    seal_bundle,
)
from dpmosaic.curator.parties.by_files.connection import FilesConnection
from dpmosaic.curator.parties.home import BY_FILES, CuratorHome

RELEASE = "ab" * 16


class Place:
    """A curator and parties by files, which reply what `replies` maps methods to."""

    def __init__(self, folder):
        self.home = CuratorHome.create(folder / "curator", "curator")
        self.folder, self.identities, self.told, self.beside = folder, {}, [], []

    def enroll(self, name):
        self.identities[name] = Identity.generate()
        certificate = self_signed(name, new_tls_key(), datetime.now(UTC))
        domain = Domain.coded({"a": 2})
        self.home.enroll(Card.issue(PARTY, name, self.identities[name], certificate, domain), BY_FILES)

    def connect(self, name, answer_s=0.0):
        mailbox = self.home._mailbox(name, RELEASE)
        return FilesConnection(mailbox, self.beside, answer_s, self.told.append)

    def sent(self, name):
        """The calls of each file for a party, with whether their replies are wanted."""
        found = []
        for path in sorted(self.home.folder.glob(f"outbox/{name}/{RELEASE}*.bundle")):
            bundle = Bundle.read(path.read_bytes())
            payload = bundle.open(self.identities[name], self.home.keyring.identity.public)
            found.append((bundle, decode_calls(payload)))
        return found

    def methods(self, name):
        return [[call.method + "-" * call.silent for call in calls] for _, calls in self.sent(name)]

    def reply(self, name, refusal=None, upto=None):
        """The party answers the latest file: each wanted call by its own request."""
        bundle, calls = self.sent(name)[-1]
        replies = {call.digest: call.requests for call in calls[:upto] if not call.silent}
        header = BundleHeader(name, "curator", RELEASE, bundle.header.number, bundle.digest)
        payload = encode_replies(BundledReplies(replies, refusal))
        answer = seal_bundle(header, payload, self.identities[name], self.home.keyring.identity.public)
        path = self.folder / "answer.bundle"
        path.write_bytes(answer.to_bytes())
        self.home.take_answer(path)


@pytest.fixture
def place(tmp_path):
    made = Place(tmp_path)
    made.enroll("north")
    made.enroll("south")
    return made


def asked(connection, method, *requests):
    return list(connection.call(method, requests))


def pending(connection, method, *requests):
    with pytest.raises(AnswerPending, match="reached by files, and its answer is not here"):
        asked(connection, method, *requests)


def test_calls_go_out_together_with_what_is_only_acknowledged_before_them(place):
    north = place.connect("north")
    assert asked(north, "Introduce", b"all") == [b""]
    north.foresee("Answer", [b"1"])
    north.foresee("Answer", [b"2"])
    assert place.methods("north") == []
    pending(north, "Answer", b"1")
    assert place.methods("north") == [["Describe", "Introduce-", "Answer", "Answer"]]
    place.reply("north")
    assert [asked(north, "Answer", n) for n in (b"1", b"2")] == [[b"1"], [b"2"]]
    pending(north, "Answer", b"3")
    assert place.methods("north")[1:] == [["Describe", "Introduce-", "Answer"]]


def test_every_file_repeats_what_a_party_remembers_and_what_was_replied_is_not_wanted_again(place):
    north = place.connect("north")
    pending(north, "Open", b"o")
    place.reply("north")
    assert asked(north, "Open", b"o") == [b"o"]
    asked(north, "Deliver", b"d")
    pending(north, "Answer", b"1")
    assert place.methods("north")[-1] == ["Describe", "Open-", "Deliver-", "Answer"]


def test_files_for_all_parties_are_written_before_one_is_waited_for(place):
    north, south = place.connect("north"), place.connect("south")
    for one in (north, south):
        one.foresee("Answer", [b"1"])
    pending(north, "Answer", b"1")
    assert place.methods("south") == [["Describe", "Answer"]]
    assert ["north" in told for told in place.told] == [True, False]


def test_a_release_that_is_resumed_writes_no_second_file_while_one_is_under_way(place):
    pending(place.connect("north"), "Answer", b"1")
    resumed = place.connect("north")
    pending(resumed, "Answer", b"1")
    assert len(place.methods("north")) == 1
    place.reply("north")
    assert asked(place.connect("north"), "Answer", b"1") == [b"1"]
    assert asked(resumed, "Answer", b"1") == [b"1"]


@pytest.mark.slow
def test_a_release_waits_for_the_answer_that_somebody_brings(place):
    north = place.connect("north", answer_s=60.0)
    brought = threading.Timer(0.1, lambda: place.reply("north"))
    north.foresee("Answer", [b"1"])
    north._send()
    brought.start()
    assert asked(north, "Answer", b"1") == [b"1"]
    brought.join()


def test_a_refusal_arrives_typed_and_the_next_file_asks_again(place):
    north = place.connect("north")
    pending(north, "Answer", b"1")
    place.reply("north", PolicyError("not allowed"), upto=1)
    with pytest.raises(PolicyError, match="party 'north': not allowed"):
        asked(north, "Answer", b"1")
    pending(north, "Answer", b"1")
    assert len(place.methods("north")) == 2
    place.reply("north")
    assert asked(north, "Answer", b"1") == [b"1"]


def test_a_refusal_that_is_brought_again_stops_no_release_that_was_resumed(place):
    pending(place.connect("north"), "Answer", b"1")
    place.reply("north", PolicyError("not allowed"), upto=1)
    brought = (place.folder / "answer.bundle").read_bytes()
    with pytest.raises(PolicyError, match="not allowed"):
        asked(place.connect("north"), "Answer", b"1")
    pending(place.connect("north"), "Answer", b"1")
    place.reply("north")
    (place.folder / "answer.bundle").write_bytes(brought)
    assert not place.home.take_answer(place.folder / "answer.bundle").exists()
    assert asked(place.connect("north"), "Answer", b"1") == [b"1"]


def test_deliveries_that_were_lost_are_not_repeated_but_the_introduction_is(place):
    north = place.connect("north")
    asked(north, "Introduce", b"all")
    asked(north, "Deliver", b"d")
    pending(north, "Answer", b"1")
    place.reply("north", DeliveriesLost("deliver it again"), upto=1)
    with pytest.raises(DeliveriesLost):
        asked(north, "Answer", b"1")
    pending(north, "Answer", b"1")
    assert place.methods("north")[-1] == ["Describe", "Introduce-", "Answer"]


def test_an_answer_that_is_taken_in_is_not_replaced_by_a_later_refusal(place):
    pending(place.connect("north"), "Answer", b"1")
    place.reply("north")
    place.reply("north", PolicyError("certified"), upto=1)
    assert asked(place.connect("north"), "Answer", b"1") == [b"1"]


def test_an_abandoned_release_goes_out_alone_and_takes_back_what_nobody_answered(place):
    north = place.connect("north")
    pending(north, "Answer", b"1")
    asked(north, "Abandon", b"release")
    north.close()
    assert place.methods("north") == [["Describe", "Abandon-"]]


def test_a_dealer_is_not_reached_by_files(place):
    certificate = self_signed("university", new_tls_key(), datetime.now(UTC))
    card = Card.issue(DEALER, "university", Identity.generate(), certificate, None)
    with pytest.raises(DataError, match="expected a party to be reached by files, got a dealer"):
        place.home.enroll(card, BY_FILES)
