"""Callers that hold calls open and send or read nothing: the others go on."""

import contextlib
import threading
import time

import grpc
import pytest
from grpc_health.v1.health_pb2 import HealthCheckRequest
from grpc_health.v1.health_pb2_grpc import HealthStub

from dpmosaic.common.wire.tls import SERVICE, TlsSide, secure_channel
from dpmosaic.curator.parties.client import PartyClient
from dpmosaic.party.serving.turns import Shares

pytestmark = pytest.mark.slow


@pytest.fixture
def channel_of():
    """Channels to a party, and streams over them in which nothing is ever sent."""
    ended = threading.Event()
    with contextlib.ExitStack() as opened:

        def silent():
            ended.wait()
            yield from ()

        def start(party, who, calls):
            channel = secure_channel(party.address, TlsSide(*who, (party.party[1],)), party.party[1])
            opened.enter_context(contextlib.closing(channel))
            return [channel.stream_stream(f"/{SERVICE}/Deliver")(silent()) for _ in range(calls)]

        yield start
        ended.set()


def refused(party):
    return [event for event in party.events if event.code == "UNAVAILABLE"]


def test_whoever_holds_any_number_of_calls_open_keeps_no_other_caller_from_its_own(loopback, channel_of):
    party, honest = loopback(), loopback.pair("honest")
    party.pinned.append(honest[1])
    party.wait_for_reload()
    codes = []
    for call in channel_of(party, party.curator, 100):
        call.add_callback(lambda call=call: codes.append(call.code()))
    client, until = PartyClient(party.dial(honest)), time.monotonic() + 60
    # Of 64 calls, two callers have 32 each.
    while len(refused(party)) < 68:
        assert time.monotonic() < until
        assert client.describe().name == "north"
    assert client.describe().name == "north"
    assert {*codes} <= {grpc.StatusCode.UNAVAILABLE}


@pytest.mark.parametrize("asked", [HealthCheckRequest(), HealthCheckRequest(service="another")], ids=str)
def test_nobody_can_watch_the_health_of_a_party_and_so_stop_it(loopback, asked):
    """With the servicer of grpcio-health-checking, the server stood still when such callers left."""
    party = loopback()
    client = PartyClient(party.dial())
    channel = secure_channel(party.address, TlsSide(*party.curator, (party.party[1],)), party.party[1])
    watched = [HealthStub(channel).Watch(asked) for _ in range(50)]
    assert {call.code() for call in watched} == {grpc.StatusCode.UNIMPLEMENTED}
    channel.close()
    assert client.describe().name == "north"


def test_a_health_check_that_is_none_is_refused(loopback):
    party = loopback()
    with secure_channel(party.address, TlsSide(*party.curator, (party.party[1],)), party.party[1]) as channel:
        check = channel.unary_unary("/grpc.health.v1.Health/Check")
        for request, code in ((b"\xff", "INVALID_ARGUMENT"), (b"\n\1x", "NOT_FOUND")):
            with pytest.raises(grpc.RpcError) as refused:
                check(request, timeout=60)
            assert refused.value.code().name == code


def test_every_one_of_many_callers_has_room_and_what_ended_makes_room_again():
    shares = Shares(4)
    with contextlib.ExitStack() as open_calls:
        held = [open_calls.enter_context(shares.one_more("a", 2)) for _ in range(3)]
        assert held == [True, True, False]
        with shares.one_more("b", 2) as room:
            assert room
    with shares.one_more("a", 2) as room:
        assert room
    with shares.one_more("c", 100) as room:
        assert room
