"""A connection to a party's daemon: gRPC over mutual TLS, with deadlines and retries."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import grpc

from ...common.crypto.certificates import Certificate
from ...common.wire.sending import Sending
from ...common.wire.status import error_of, is_transient
from ...common.wire.tls import SERVICE, TlsSide, secure_channel


@dataclass(frozen=True)
class RetryPolicy:
    """Deadlines and retries of a curator's calls to a party.

    Attributes:
        call_s: deadline of one call with all its frames, in seconds.
        tries: largest number of tries of a call to an unreachable party.
        first_pause_s: seconds between the first two tries; each further pause is twice as long.
        longest_pause_s: longest pause, in seconds.
        away_s: seconds for which a release asks a party again that does not answer; then it stops, or goes on
            without the party if its terms allow that.
        arrival_s: seconds to wait for an attached party; it dials at least every five seconds.
        answer_s: seconds to wait for the answer of a party that is reached by files.
    """

    call_s: float = 3600.0
    tries: int = 6
    away_s: float = 60.0
    first_pause_s: float = 0.2
    longest_pause_s: float = 10.0
    arrival_s: float = 20.0
    answer_s: float = 30 * 86400.0

    def pauses(self) -> Iterator[float]:
        """The pauses between tries."""
        for number in range(self.tries - 1):
            yield min(self.first_pause_s * 2**number, self.longest_pause_s)


class GrpcConnection:
    """Carries encoded messages to one party's daemon; see `Connection`.

    A call to an unreachable party is retried if its requests can be sent again and no reply arrived. A
    refusal by the party itself is never retried.

    Args:
        party: name of the party, for messages.
        channel: channel to the party's daemon.
        retry_policy: deadlines and retries.
        sleep: waits for a number of seconds.
    """

    def __init__(
        self,
        party: str,
        channel: grpc.Channel,
        retry_policy: RetryPolicy | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._party = party
        self._channel = channel
        self._retry_policy = retry_policy or RetryPolicy()
        self._sleep = sleep

    def call(self, method: str, requests: Iterable[bytes]) -> Iterator[bytes]:
        """Replies to encoded requests.

        Raises:
            PartyUnavailable: the party cannot be reached, or does not finish before the deadline.
            MosaicError: what the party raised.
        """
        pauses = self._retry_policy.pauses() if isinstance(requests, Sequence) else iter(())
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
        """Closes the connection and cancels its running calls."""
        self._channel.close()

    def _once(self, method: str, requests: Iterable[bytes]) -> Iterator[bytes]:
        ask = self._channel.stream_stream(f"/{SERVICE}/{method}")
        sending = Sending(requests)
        call = ask(sending.frames(), timeout=self._retry_policy.call_s)
        sending.begin(call)
        try:
            yield from call
        except grpc.RpcError:
            if sending.failure is not None:
                raise sending.failure from None
            raise
        finally:
            call.cancel()


def dial(
    party: str,
    address: str,
    own: TlsSide,
    certificate: Certificate,
    retry_policy: RetryPolicy | None = None,
) -> GrpcConnection:
    """Connects to the party that holds this certificate.

    Args:
        party: name of the party.
        address: host and port of the party's daemon.
        own: certificate and key of the curator.
        certificate: pinned certificate of the party.
        retry_policy: deadlines and retries.
    """
    return GrpcConnection(party, secure_channel(address, own, certificate), retry_policy)
