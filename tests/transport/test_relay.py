"""Messages from party to party pass the curator frame by frame: a slow receiver slows the sender."""

import threading
import time

import pytest

from dpmosaic.common.frames import FRAME_BYTES
from dpmosaic.common.messages import Acknowledgement, OpeningRequest
from dpmosaic.common.wire import codec, streams
from dpmosaic.curator.parties.client import PartyClient

FRAMES = 256
AHEAD = 24
"""Frames of 1 MiB that may be on the way while a receiver reads none: windows of 4 MiB at both ends of two
connections, and what is encoded between them."""

LONG_S = 120.0
SEALED = bytes(FRAME_BYTES)
REQUEST = OpeningRequest("0" * 32, (("a",),), 1)


class Sender:
    """Sends frames and counts those that were taken from it."""

    def __init__(self):
        self.sent = 0
        self.ended = threading.Event()

    def serve(self, method, requests, caller):
        list(requests)
        try:
            for _ in range(FRAMES):
                self.sent += 1
                yield next(streams.encode_payload([SEALED]))
        finally:
            self.ended.set()


class Receiver:
    """Reads the first frames, then waits until it may go on."""

    def __init__(self):
        self.received = 0
        self.full, self.go_on = threading.Event(), threading.Event()

    def serve(self, method, requests, caller):
        _, chunks = streams.decode_delivery(requests)
        for _ in chunks:
            self.received += 1
            if self.received == 2:
                self.full.set()
                assert self.go_on.wait(LONG_S)
        yield codec.encode(Acknowledgement())


@pytest.fixture(params=["dialled", "attached"])
def start(request, loopback, arrival):
    """Connects a client to something that serves, in both directions of connection."""
    return lambda servicer: PartyClient(
        (loopback if request.param == "dialled" else arrival)(servicer).dial()
    )


def settled(count):
    """A count that has not grown for a second, and so waits for something."""
    seen, since, limit = count(), time.monotonic(), time.monotonic() + LONG_S
    while time.monotonic() - since < 1.0:
        assert time.monotonic() < limit
        time.sleep(0.02)
        if count() != seen:
            seen, since = count(), time.monotonic()
    return seen


@pytest.mark.slow
def test_a_slow_receiver_slows_the_sender_and_nothing_is_lost(start):
    sender, receiver = Sender(), Receiver()
    one, other = start(sender), start(receiver)
    relaying = threading.Thread(target=one.relay, args=(0, REQUEST, other))
    relaying.start()
    try:
        assert receiver.full.wait(LONG_S)
        assert settled(lambda: sender.sent) - receiver.received <= AHEAD
    finally:
        receiver.go_on.set()
        relaying.join(LONG_S)
    assert not relaying.is_alive()
    assert (sender.sent, receiver.received) == (FRAMES, FRAMES)
