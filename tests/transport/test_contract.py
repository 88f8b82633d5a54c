"""Contract of connections, whichever side dials, and tests of parties that dial out."""

import itertools
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest

from dpmosaic.common import errors
from dpmosaic.common.data.view import View
from dpmosaic.common.frames import FRAME_BYTES
from dpmosaic.common.queries import AnswerForm, MarginalQuery
from dpmosaic.common.wire import attached
from dpmosaic.curator.parties.client import PartyClient
from dpmosaic.curator.parties.connection import RetryPolicy
from dpmosaic.party.serving.attachment import Attachment
from support.terms import RELEASE_ID, terms_for, terms_of
from support.waiting import wait_until

TERMS = terms_of()
QUERY = MarginalQuery(RELEASE_ID, "q", AnswerForm.HISTOGRAM, View(("a",)), 2.0)


class ConnectionContract:
    """Inherited by a test class for each transport; `start` gives a party of a servicer."""

    @pytest.fixture
    def start(self):
        raise NotImplementedError

    def test_a_party_describes_itself_accepts_and_answers(self, start):
        client = PartyClient(start().dial())
        assert client.describe().name == "north"
        client.accept(terms_for(client))
        (counts,) = client.answer(QUERY, 1, 40, 1)
        assert counts.shape == (1, 40)

    def test_a_probe_measures_clock_and_both_ways_and_is_bounded(self, start):
        client = PartyClient(start().dial())
        for frames in (0, 3):
            found = client.probe(frames)
            assert abs(found.offset_s) <= found.upload_s
        assert found.download_s > 0
        with pytest.raises(errors.ProtocolError, match="at most 8 frames"):
            client.probe(9)

    @pytest.mark.parametrize(
        "kind",
        [
            errors.DataError,
            errors.BudgetError,
            errors.PolicyError,
            errors.ProtocolError,
            errors.DeliveriesLost,
            errors.PartyUnavailable,
        ],
    )
    def test_an_error_arrives_typed_and_the_connection_continues(self, start, kind):
        def serve(method, requests, caller):
            if method == "Answer":
                raise kind("fix the plan")
            yield b"fine"

        connection = start(SimpleNamespace(serve=serve)).dial()
        with pytest.raises(kind, match="party 'north': fix the plan") as arrived:
            list(connection.call("Answer", [b""]))
        assert type(arrived.value) is kind
        assert list(connection.call("Describe", [b""])) == [b"fine"]

    def test_the_text_of_an_internal_error_stays_at_the_party(self, start):
        def serve(method, requests, caller):
            raise ValueError("row 7 holds 1234567")
            yield

        party = start(SimpleNamespace(serve=serve))
        with pytest.raises(errors.PartyUnavailable) as arrived:
            list(party.dial().call("Answer", [b""]))
        assert "1234567" not in str(arrived.value) + str(party.events)

    def test_streams_of_many_frames_cross_both_ways(self, start):
        def serve(method, requests, caller):
            for number, frame in enumerate(list(requests)):
                yield bytes([number]) + frame

        sent = (bytes(FRAME_BYTES) for _ in range(7))
        replies = list(start(SimpleNamespace(serve=serve)).dial().call("Deliver", sent))
        assert [reply[0] for reply in replies] == list(range(7))
        assert {len(reply) for reply in replies} == {FRAME_BYTES + 1}

    def test_an_error_in_the_callers_requests_is_raised_at_the_caller(self, start):
        def serve(method, requests, caller):
            yield bytes(len(list(requests)))

        def frames():
            yield b"first"
            raise errors.PartyUnavailable("another party went away")

        connection = start(SimpleNamespace(serve=serve)).dial()
        with pytest.raises(errors.PartyUnavailable, match="another party went away"):
            list(connection.call("Deliver", frames()))
        assert list(connection.call("Describe", [b"", b""])) == [bytes(2)]

    @pytest.mark.slow
    def test_a_cancelled_call_does_not_block_the_next_one(self, start):
        def serve(method, requests, caller):
            list(requests)
            yield from itertools.repeat(b"more", 1000)

        connection = start(SimpleNamespace(serve=serve)).dial()
        for _ in range(3):
            replies = connection.call("Open", [b""])
            assert next(replies) == b"more"
            replies.close()

    def test_two_calls_at_once_get_their_own_replies(self, start):
        def serve(method, requests, caller):
            (request,) = list(requests)
            for _ in range(3):
                yield request

        connection = start(SimpleNamespace(serve=serve)).dial()
        first, second = (connection.call("Answer", [name]) for name in (b"a", b"b"))
        pairs = list(zip(first, second, strict=True))
        assert pairs == [(b"a", b"b")] * 3

    @pytest.mark.slow
    def test_a_party_that_does_not_finish_in_time_is_unavailable(self, start):
        over = threading.Event()

        def serve(method, requests, caller):
            over.wait(60)
            yield b""

        connection = start(SimpleNamespace(serve=serve)).dial(
            retry_policy=RetryPolicy(call_s=0.3, tries=1, arrival_s=60)
        )
        with pytest.raises(errors.PartyUnavailable, match="finish in time"):
            list(connection.call("Answer", [b""]))
        over.set()


class TestDialled(ConnectionContract):
    @pytest.fixture
    def start(self, loopback):
        return loopback


class TestAttached(ConnectionContract):
    @pytest.fixture
    def start(self, arrival):
        return arrival


class TestLent(ConnectionContract):
    @pytest.fixture
    def start(self, lent):
        return lent


SOON = RetryPolicy(call_s=5, tries=1, arrival_s=1.5)


@pytest.mark.slow
def test_a_party_that_is_not_enrolled_is_refused(arrival):
    stranger = arrival(enrolled=arrival.pair("north"))
    with pytest.raises(errors.PartyUnavailable, match="'north' is not attached"):
        PartyClient(stranger.dial(SOON)).describe()


@pytest.mark.slow
def test_a_party_does_not_attach_to_another_curator_than_it_pinned(arrival):
    party = arrival(expected=arrival.pair("curator")[1])
    with pytest.raises(errors.PartyUnavailable, match="'north' is not attached"):
        PartyClient(party.dial(SOON)).describe()
    with pytest.raises(errors.PartyUnavailable, match="no stream"):
        party.attachment.check_link()
    told = [event.reason for event in party.events if event.event == "link"]
    assert len(told) == len(set(told))
    assert any("the TLS handshake with the curator failed" in reason for reason in told)


def test_a_party_whose_curator_does_not_listen_says_so_once(arrival):
    party = arrival()
    told = threading.Event()
    party.attachment._log = lambda event: event.reason and (party.events.append(event), told.set())
    party.attachments.close()
    assert told.wait(30)
    assert "`curator listen`" in party.events[-1].reason


@pytest.mark.slow
def test_a_party_stops_whenever_its_curator_goes(arrival):
    """A stream that failed and never ended was lost for good in one of some 15 to 100 tries."""
    for pause_s in np.linspace(0, 0.02, 60):
        party = arrival()
        told = threading.Event()
        party.attachment._log = lambda event, told=told: event.reason and told.set()
        party.attachments.close()
        assert told.wait(30)
        time.sleep(pause_s)
        stopping = threading.Thread(target=party.attachment.stop, daemon=True)
        stopping.start()
        stopping.join(60)
        assert not stopping.is_alive()


def test_a_party_reports_whether_its_link_is_up(arrival):
    party = arrival()
    PartyClient(party.dial()).describe()
    party.attachment.check_link()
    wait_until(lambda: "SERVING" in {event.code for event in party.events if event.event == "link"})


def test_frames_that_do_not_begin_a_call_are_refused():
    whole = list(attached.encode_call("Answer", [b"request"]))
    assert attached.decode_method(whole[0]) == "Answer"
    assert list(attached.decode_requests(iter(whole[1:]))) == [b"request"]
    for data in (whole[1], b"\xff"):
        with pytest.raises(errors.ProtocolError):
            attached.decode_method(data)
    for frames in (whole, whole[1:2], [b"\xff"]):
        with pytest.raises(errors.ProtocolError):
            list(attached.decode_requests(iter(frames)))


def test_a_frame_that_is_not_a_reply_is_refused():
    for data in (b"", b"\xff"):
        with pytest.raises(errors.ProtocolError):
            attached.decode_reply(data)


@pytest.mark.slow
def test_a_party_opens_no_more_streams_than_its_share(arrival):
    party = arrival()
    more = [Attachment(party.attachment._servicer, party.attachment._channel, b"") for _ in range(2)]
    for attachment in more:
        attachment.start()
    client = PartyClient(party.dial())
    for _ in range(20):
        client.describe()
        time.sleep(0.02)
    assert party.attachments._open["north"] <= 4
    for attachment in more:
        attachment.stop()
