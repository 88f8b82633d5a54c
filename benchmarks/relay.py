"""What the curator needs to pass a large message from party to party; whether compression would pay.

Sender and receiver are processes that listen, with mutual TLS; the curator is this process. A line for each
size and each pause of the receiver has MiB a second, processor seconds of the curator for each GiB, and how
MiB its peak memory has grown since it relayed a small message. Then, for each kind of payload, its size
after zlib at level 1 relative to before, and how much a core compresses a second relative to what the relay
carried in the same run.

Run: python benchmarks/relay.py [--mib 256 1024] [--pause-ms 0 10]
"""

from __future__ import annotations

import argparse
import contextlib
import multiprocessing
import multiprocessing.connection
import os
import resource
import time
import zlib
from collections.abc import Iterator
from datetime import UTC, datetime

import numpy as np

from dpmosaic.common.crypto.certificates import Certificate, new_tls_key, self_signed
from dpmosaic.common.frames import FRAME_BYTES
from dpmosaic.common.messages import Acknowledgement, OpeningRequest
from dpmosaic.common.wire import codec, streams
from dpmosaic.common.wire.tls import TlsSide
from dpmosaic.curator.parties.client import PartyClient
from dpmosaic.curator.parties.connection import dial
from dpmosaic.party.serving.health import Health
from dpmosaic.party.serving.server import PartyServer

Pair = tuple[bytes, Certificate]
Pipe = multiprocessing.connection.Connection
_SMALL = 8
_SEALED = os.urandom(FRAME_BYTES)


class Sender:
    """Sends as many frames as the recipient's place in a request says."""

    def serve(self, method: str, requests: Iterator[bytes], caller: bytes) -> Iterator[bytes]:
        """See `PartyServicer.serve`."""
        (request,) = requests
        yield from streams.encode_payload(_SEALED for _ in range(codec.decode(OpeningRequest, request).step))


class Receiver:
    """Reads frames, with a pause after each."""

    def __init__(self, pause_s: float) -> None:
        self._pause_s = pause_s

    def serve(self, method: str, requests: Iterator[bytes], caller: bytes) -> Iterator[bytes]:
        """See `PartyServicer.serve`."""
        for _ in requests:
            time.sleep(self._pause_s)
        yield codec.encode(Acknowledgement())


def serve(role: Sender | Receiver, key: bytes, own: bytes, curator: bytes, ready: Pipe) -> None:
    """Serves in a process of its own, and tells its address."""
    side = TlsSide(key, Certificate(own), (Certificate(curator),))
    server = PartyServer(role, lambda: side, "127.0.0.1:0", Health({}, lambda event: None))
    server.start()
    ready.send(server.address)
    with contextlib.suppress(EOFError):
        ready.recv()
    server.stop(0.2)


def started(role: Sender | Receiver, name: str, curator: Pair) -> tuple[PartyClient, Pipe]:
    """A client of a process that serves, and what ends it."""
    key = new_tls_key()
    own = key, self_signed(name, key, datetime.now(UTC))
    here, there = multiprocessing.Pipe()
    context = multiprocessing.get_context("spawn")
    context.Process(target=serve, args=(role, key, own[1].pem, curator[1].pem, there), daemon=True).start()
    link = dial(name, here.recv(), TlsSide(*curator, (own[1],)), own[1])
    return PartyClient(link), here


def relayed(mib: int, sender: PartyClient, receiver: PartyClient) -> tuple[float, float, float]:
    """Seconds, processor seconds and growth of peak memory, MiB, of one message."""
    before, began, spent = _peak_mib(), time.monotonic(), time.process_time()
    sender.relay(0, OpeningRequest("0" * 32, (("a",),), 1, step=mib), receiver)
    return time.monotonic() - began, time.process_time() - spent, _peak_mib() - before


def payloads(rng: np.random.Generator) -> dict[str, bytes]:
    """A frame of each kind: sealed bytes, masked words, noisy counts of `trusted` and `indicator`."""
    counts = rng.poisson(rng.gamma(0.5, 40, FRAME_BYTES // 4)) * 64
    noise = np.rint(rng.normal(0, 20 * 64, FRAME_BYTES // 4))
    return {
        "sealed": _SEALED,
        "masked words": rng.integers(-(2**63), 2**63, FRAME_BYTES // 8).astype("<i8").tobytes(),
        "noisy counts": (counts + noise).astype("<i4").tobytes(),
    }


def main() -> None:
    """Prints one line for each case."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--mib", type=int, nargs="+", default=[256, 1024])
    parser.add_argument("--pause-ms", type=float, nargs="+", default=[0.0, 10.0])
    asked = parser.parse_args()
    key = new_tls_key()
    curator = key, self_signed("curator", key, datetime.now(UTC))
    fastest = 0.0
    for pause_ms in asked.pause_ms:
        sender, end = started(Sender(), "sender", curator)
        receiver, other_end = started(Receiver(pause_ms / 1e3), "receiver", curator)
        relayed(_SMALL, sender, receiver)
        for mib in asked.mib:
            seconds, spent, grown = relayed(mib, sender, receiver)
            fastest = max(fastest, mib / seconds)
            print(
                f"{mib:6} MiB, receiver pauses {pause_ms:g} ms: {mib / seconds:6.0f} MiB/s, "
                f"{spent / mib * 1024:5.2f} s of a core for each GiB, peak memory + {grown:.0f} MiB"
            )
        del end, other_end
    for name, payload in payloads(np.random.default_rng(0)).items():
        began = time.process_time()
        size = sum(len(zlib.compress(payload, 1)) for _ in range(16)) / 16
        rate = 16 * len(payload) / 2**20 / (time.process_time() - began)
        ratio = size / len(payload)
        print(f"{name:12}: zlib to {ratio:.3f} of its size, at {rate / fastest:.2f} of the relay's rate")


def _peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main()
