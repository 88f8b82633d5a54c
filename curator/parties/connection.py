"""A connection to a party's daemon: gRPC over mutual TLS, with deadlines and few, patient retries."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import grpc

from ...common.crypto.certificates import Certificate
from ...common.wire.status import error_of, is_transient
from ...common.wire.tls import SERVICE, TlsSide, secure_channel


@dataclass(frozen=True)
class Patience:
    """How long a curator waits for a party.

    Attributes:
        call_s: deadline of one call, all of its frames included.
        tries: how often a call is made at most while the party cannot be reached.
        first_pause_s: between the first two tries; every further pause is twice as long.
        longest_pause_s: no pause is longer.
        arrival_s: how long it waits for a party that dials out; it dials every five seconds at least.
    """

    call_s: float = 3600.0
    tries: int = 6
    first_pause_s: float = 0.2
    longest_pause_s: float = 10.0
    arrival_s: float = 20.0

    def pauses(self) -> Iterator[float]:
        """The pauses between tries."""
        for number in range(self.tries - 1):
            yield min(self.first_pause_s * 2**number, self.longest_pause_s)


class GrpcConnection:
    """Carries encoded messages to one party's daemon; see `Connection`.

    A party that cannot be reached is tried again while nothing of the call was used up: its requests can be
    sent anew and no reply came. What the party itself refuses is never tried again.

    Args:
        party: its name, for messages.
        channel: to its daemon.
        patience: how long to wait.
        sleep: waits so many seconds.
    """

    def __init__(
        self,
        party: str,
        channel: grpc.Channel,
        patience: Patience | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._party = party
        self._channel = channel
        self._patience = patience or Patience()
        self._sleep = sleep

    def call(self, method: str, requests: Iterable[bytes]) -> Iterator[bytes]:
        """Replies to encoded requests.

        Raises:
            PartyUnavailable: the party cannot be reached, or does not finish before the deadline.
            MosaicError: what the party raised.
        """
        pauses = self._patience.pauses() if isinstance(requests, Sequence) else iter(())
        while True:
            replied = False
            try:
                for reply in self._once(method, requests):
                    replied = True
                    yield reply
                return
            except grpc.RpcError as failed:
                pause = None if replied or not is_transient(failed) else next(pauses, None)
                if pause is None:
                    raise error_of(failed, self._party) from failed
            self._sleep(pause)

    def close(self) -> None:
        """Ends the connection and what is under way on it."""
        self._channel.close()

    def _once(self, method: str, requests: Iterable[bytes]) -> Iterator[bytes]:
        ask = self._channel.stream_stream(f"/{SERVICE}/{method}")
        sending = _Sending(requests)
        call = ask(sending.frames(), timeout=self._patience.call_s)
        sending.begin(call)
        try:
            yield from call
        except grpc.RpcError:
            if sending.failure is not None:
                raise sending.failure from None
            raise
        finally:
            call.cancel()


class _Sending:
    """The requests of one call; gRPC's thread reads them, and where they fail the caller gets the error."""

    def __init__(self, requests: Iterable[bytes]) -> None:
        self._requests = requests
        self._begun = threading.Event()
        self._call: grpc.Call | None = None
        self.failure: BaseException | None = None

    def begin(self, call: grpc.Call) -> None:
        self._call = call
        self._begun.set()

    def frames(self) -> Iterator[bytes]:
        self._begun.wait()
        try:
            yield from self._requests
        except GeneratorExit:
            raise
        except BaseException as failure:
            # Raised in a thread of gRPC's, where nobody would see it.
            self.failure = failure
            assert self._call is not None
            self._call.cancel()


def dial(
    party: str,
    address: str,
    own: TlsSide,
    certificate: Certificate,
    patience: Patience | None = None,
) -> GrpcConnection:
    """A connection to the party that holds this certificate.

    Args:
        party: its name.
        address: host and port of its daemon.
        own: what the curator shows.
        certificate: the party's, pinned.
        patience: how long to wait.
    """
    return GrpcConnection(party, secure_channel(address, own, certificate), patience)
