"""Calls over a real connection: refusals, retries, cancellation and turns."""

import contextlib
import itertools
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from types import SimpleNamespace

import grpc
import pytest
from grpc_health.v1 import health_pb2
from grpc_health.v1.health_pb2_grpc import HealthStub
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dpmosaic.common import errors
from dpmosaic.common.canonical.terms import encode_terms
from dpmosaic.common.data.view import View
from dpmosaic.common.federation.protocol_versions import NEWEST
from dpmosaic.common.frames import FRAME_BYTES
from dpmosaic.common.messages import Acknowledgement, Delivery, DeliveryKind
from dpmosaic.common.queries import AnswerForm, MarginalQuery
from dpmosaic.common.wire import codec, streams
from dpmosaic.common.wire.tls import METHODS, SERVICE, TlsSide, secure_channel
from dpmosaic.curator.parties.client import PartyClient
from dpmosaic.curator.parties.connection import GrpcConnection, RetryPolicy
from dpmosaic.party.serving.server import PartyServer
from support.terms import RELEASE_ID, terms_for, terms_of
from support.waiting import wait_until

TERMS = terms_of()
QUERY = MarginalQuery(RELEASE_ID, "q", AnswerForm.HISTOGRAM, View(("a",)), 2.0)
DELIVERY = streams.encode_delivery(
    Delivery(RELEASE_ID, DeliveryKind.DEALT_PRODUCTS, chains=((("a",), ("b",)),))
)


def refusing(error):
    def serve(method, requests, caller):
        raise error
        yield

    return SimpleNamespace(serve=serve)


def reading():
    """A servicer that reads all deliveries."""

    def serve(method, requests, caller):
        _, chunks = streams.decode_delivery(requests)
        for _ in chunks:
            pass
        yield codec.encode(Acknowledgement())

    return SimpleNamespace(serve=serve)


def calls_of(party):
    return [event for event in party.events if event.event == "call"]


@pytest.mark.parametrize(
    "kind", [errors.DataError, errors.BudgetError, errors.PolicyError, errors.ProtocolError]
)
def test_an_error_of_a_party_arrives_typed_with_its_name_and_text(loopback, kind):
    connection = loopback(refusing(kind("fix the plan"))).dial()
    with pytest.raises(kind, match="party 'north': fix the plan") as arrived:
        list(connection.call("Answer", [b""]))
    assert type(arrived.value) is kind


def test_the_text_of_an_internal_error_stays_at_the_party(loopback):
    party = loopback(refusing(ValueError("row 7 holds 1234567")))
    with pytest.raises(errors.PartyUnavailable, match="internal error"):
        list(party.dial().call("Answer", [b""]))
    (call,) = calls_of(party)
    assert call.code == "INTERNAL"
    assert "1234567" not in str(party.events)
    assert "ValueError at serve:" in call.reason


def test_a_refusal_that_is_too_long_for_metadata_is_truncated(loopback):
    with pytest.raises(errors.DataError, match=r"x \.\.\.$"):
        list(loopback(refusing(errors.DataError("x" * 100_000))).dial().call("Answer", [b""]))


def test_a_party_answers_over_the_network_as_in_process(loopback):
    client = PartyClient(loopback().dial())
    client.accept(terms_for(client))
    (counts,) = client.answer(QUERY, 1, 40, 1)
    (again,) = client.answer(QUERY, 1, 40, 1)
    assert counts.tolist() == again.tolist()
    assert counts.shape == (1, 40)


def test_a_party_refuses_another_protocol_version(loopback):
    with pytest.raises(errors.PolicyError, match="upgrade dpmosaic where it is older"):
        PartyClient(loopback().dial()).accept(replace(TERMS, protocol_version=NEWEST + 1))


def test_an_unknown_method_is_refused(loopback):
    with pytest.raises(errors.ProtocolError, match="no such method"):
        list(loopback().dial().call("Records", [b""]))


@pytest.mark.slow
@pytest.mark.parametrize("size", [FRAME_BYTES + 1, 5 << 20])
def test_an_oversize_frame_is_refused(loopback, size):
    party = loopback(reading())
    frames = streams.encode_payload([bytes(size)])
    with pytest.raises(errors.ProtocolError):
        list(party.dial().call("Deliver", itertools.chain([DELIVERY], frames)))


def test_an_answer_larger_than_a_message_passes_in_frames(loopback):
    frames = streams.encode_payload([bytes(FRAME_BYTES)] * 9)
    party = loopback(reading())
    assert len(list(party.dial().call("Deliver", itertools.chain([DELIVERY], frames)))) == 1
    (call,) = calls_of(party)
    assert call.bytes_in > 9 * FRAME_BYTES


@pytest.mark.slow
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(data=st.data())
def test_truncated_and_foreign_bytes_are_refused_and_the_party_continues(connection, data):
    method = data.draw(st.sampled_from([m for m in METHODS if m not in ("Describe", "Probe")]))
    whole = data.draw(st.sampled_from([encode_terms(TERMS), codec.encode(QUERY), DELIVERY]))
    sent = whole[: data.draw(st.integers(0, len(whole) - 1))] + data.draw(st.binary(max_size=6))
    with contextlib.suppress(errors.ProtocolError, errors.PolicyError):
        list(connection.call(method, [sent]))
    assert PartyClient(connection).describe().name == "north"


@pytest.fixture
def connection(loopback):
    return loopback().dial()


def test_an_unreachable_party_is_tried_again_and_then_named(loopback):
    party = loopback()
    connection = party.dial(
        retry_policy=RetryPolicy(call_s=60, tries=4, first_pause_s=0.25, longest_pause_s=0.5)
    )
    paused = []
    connection._sleep = paused.append
    party.server.stop(0)
    with pytest.raises(errors.PartyUnavailable, match="'north' does not answer"):
        list(connection.call("Describe", [b""]))
    assert paused == [0.25, 0.5, 0.5]


@pytest.mark.parametrize("error", [errors.PartyUnavailable("busy"), errors.ProtocolError("no")])
def test_a_refusal_by_the_party_is_not_retried(loopback, error):
    party = loopback(refusing(error))
    with pytest.raises(type(error)):
        list(party.dial().call("Answer", [b""]))
    assert len(calls_of(party)) == 1


def test_a_call_that_found_too_many_others_is_tried_again():
    held, began, pauses = threading.Event(), threading.Event(), []

    def answer(requests, context):
        began.set()
        held.wait(60)
        yield b"answered"

    server = grpc.server(ThreadPoolExecutor(2), maximum_concurrent_rpcs=1)
    handlers = {"Answer": grpc.stream_stream_rpc_method_handler(answer)}
    server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler(SERVICE, handlers)])
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()

    def let_the_other_end(seconds):
        pauses.append(seconds)
        held.set()
        first.result(60)

    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel, ThreadPoolExecutor(1) as thread:
        policy = RetryPolicy(call_s=60, tries=9, first_pause_s=0.01)
        connection = GrpcConnection("north", channel, policy, let_the_other_end)
        first = thread.submit(lambda: list(connection.call("Answer", [b""])))
        assert began.wait(60)
        assert list(connection.call("Answer", [b""])) == [b"answered"]
        assert pauses
    server.stop(0).wait()


@pytest.mark.slow
def test_a_party_that_does_not_finish_in_time_is_unavailable(loopback):
    release = threading.Event()

    def serve(method, requests, caller):
        release.wait(60)
        yield b""

    connection = loopback(SimpleNamespace(serve=serve)).dial(retry_policy=RetryPolicy(call_s=0.2, tries=3))
    with pytest.raises(errors.PartyUnavailable, match="did not finish in time"):
        list(connection.call("Answer", [b""]))
    release.set()


def test_an_error_in_the_callers_requests_is_raised_at_the_caller(loopback):
    def frames():
        yield DELIVERY
        raise errors.PartyUnavailable("another party went away")

    party = loopback(reading())
    with pytest.raises(errors.PartyUnavailable, match="another party went away"):
        list(party.dial().call("Deliver", frames()))
    wait_until(lambda: calls_of(party))
    assert calls_of(party)[0].code == "CANCELLED"


@pytest.mark.slow
def test_replies_wait_for_a_curator_that_reads_slowly(loopback):
    made = []

    def serve(method, requests, caller):
        for number in range(400):
            made.append(number)
            yield bytes(FRAME_BYTES)

    replies = loopback(SimpleNamespace(serve=serve)).dial().call("Open", [b""])
    next(replies)
    time.sleep(0.5)
    ahead = len(made)
    assert ahead < 40
    replies.close()


def test_a_call_that_the_curator_cancels_ends_at_the_party(loopback):
    def serve(method, requests, caller):
        while True:
            yield bytes(1000)

    party = loopback(SimpleNamespace(serve=serve))
    replies = party.dial().call("Open", [b""])
    next(replies)
    replies.close()
    wait_until(lambda: calls_of(party))
    assert calls_of(party)[0].code == "CANCELLED"


@pytest.mark.slow
def test_a_party_that_stops_finishes_what_is_under_way(loopback):
    asked = threading.Event()

    def serve(method, requests, caller):
        asked.set()
        time.sleep(0.3)
        yield b"done"

    party = loopback(SimpleNamespace(serve=serve))
    replies = []
    thread = threading.Thread(target=lambda: replies.extend(party.dial().call("Answer", [b""])))
    thread.start()
    assert asked.wait(60)
    party.server.stop(5)
    thread.join()
    assert replies == [b"done"]


def test_a_call_under_way_and_its_connection_outlive_the_certificates_that_they_began_with(loopback):
    asked, renewed = threading.Event(), threading.Event()

    def serve(method, requests, caller):
        asked.set()
        assert renewed.wait(60)
        yield b"done"

    party = loopback(SimpleNamespace(serve=serve))
    connection = party.dial(retry_policy=RetryPolicy(call_s=120, tries=1))
    replies = []
    thread = threading.Thread(target=lambda: replies.extend(connection.call("Answer", [b""])))
    thread.start()
    assert asked.wait(60)
    party.party = loopback.pair("north")
    party.wait_for_reload()
    renewed.set()
    thread.join()
    assert replies == [b"done"]
    assert list(connection.call("Answer", [b""])) == [b"done"]


def test_health_follows_the_real_state(loopback):
    broken = threading.Event()

    def check():
        if broken.is_set():
            raise errors.DataError("the file is gone")

    party = loopback(checks={"data": check})
    channel = secure_channel(party.address, TlsSide(*party.party, (party.party[1],)), party.party[1])
    stub = HealthStub(channel)

    def status():
        return stub.Check(health_pb2.HealthCheckRequest(), timeout=60).status

    state = health_pb2.HealthCheckResponse
    assert status() == state.SERVING
    broken.set()
    wait_until(lambda: status() == state.NOT_SERVING)
    broken.clear()
    wait_until(lambda: status() == state.SERVING)
    channel.close()
    assert [(event.code, event.reason) for event in party.events if event.event == "health"] == [
        ("SERVING", ""),
        ("NOT_SERVING", "data: the file is gone"),
        ("SERVING", ""),
    ]


def test_a_port_that_is_taken_is_refused_in_one_sentence(loopback):
    taken = loopback()
    with pytest.raises(errors.DataError, match="cannot listen"):
        PartyServer(loopback.servicer_of(), taken.side, taken.address, taken.health)


def test_an_unknown_service_is_refused(loopback):
    party = loopback()
    channel = secure_channel(party.address, TlsSide(*party.curator, (party.party[1],)), party.party[1])
    with pytest.raises(grpc.RpcError) as refused:
        channel.unary_unary("/dpmosaic.v1.Ledger/Read")(b"", timeout=60)
    assert refused.value.code() is grpc.StatusCode.UNIMPLEMENTED
    channel.close()
