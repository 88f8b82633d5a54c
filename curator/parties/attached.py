"""Attached parties: the curator listens, and asks over the streams that the parties opened."""

from __future__ import annotations

import queue
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import grpc

from ...common.errors import DataError, MosaicError, PartyUnavailable, PolicyError
from ...common.wire import attached
from ...common.wire.attached import Ended, Reply
from ...common.wire.reloading import RELOAD_SECONDS, Certificates
from ...common.wire.status import refuse
from ...common.wire.tls import OPTIONS, TlsSide, fingerprint_of
from .connection import RetryPolicy

_STREAMS_EACH = 4
_AHEAD = 2
_PARTIES = 64
"""So many parties may attach, or as many as are enrolled at the start, if these are more."""


@dataclass(frozen=True)
class Admitted:
    """Whom a curator admits.

    Attributes:
        side: its certificate, and those of the parties.
        names: name of each party, by the fingerprint of its certificate.
    """

    side: TlsSide
    names: Mapping[str, str]


class AttachmentServer:
    """Listens for parties that dial the curator.

    Args:
        admitted: whom the curator admits now; asked again for every stream, and to notice new certificates.
        address: host and port to listen on; port 0 for any free port.
        told: called with a name and whether the party is attached now, at every change.
        reloaded: called with None after a change of certificates, and with the error where one fails.
        reload_s: seconds between two looks at the certificates.

    Raises:
        DataError: the curator cannot listen on the address.
    """

    def __init__(
        self,
        admitted: Callable[[], Admitted],
        address: str,
        told: Callable[[str, bool], None] = lambda party, up: None,
        reloaded: Callable[[Exception | None], None] = lambda error: None,
        reload_s: float = RELOAD_SECONDS,
    ) -> None:
        self._admitted = admitted
        self._told = told
        self._certificates = Certificates(lambda: admitted().side, reloaded, reload_s)
        self._arrived = threading.Condition()
        self._free: dict[str, list[_Stream]] = defaultdict(list)
        self._open: Counter[str] = Counter()
        # An open stream occupies a thread; one more than all shares refuses further streams.
        most = max(_PARTIES, len(admitted().names))
        self._threads = ThreadPoolExecutor(_STREAMS_EACH * most + 1, thread_name_prefix="attached")
        self._server = grpc.server(self._threads, options=OPTIONS)
        handler = grpc.stream_stream_rpc_method_handler(self._attach)
        handlers = {attached.METHOD: handler}
        self._server.add_generic_rpc_handlers(
            [grpc.method_handlers_generic_handler(attached.SERVICE, handlers)]
        )
        try:
            self.port = self._server.add_secure_port(address, self._certificates.credentials)
        except RuntimeError:
            raise DataError(
                f"cannot listen on {address}; check that the port is free and that the host is this machine"
            ) from None
        self._host = address.rpartition(":")[0]

    def start(self) -> None:
        """Starts to admit parties."""
        self._server.start()
        self._certificates.start(f"{self._host}:{self.port}")

    def close(self) -> None:
        """Closes every stream."""
        self._certificates.stop()
        self._server.stop(0).wait()
        self._certificates.close()
        self._threads.shutdown(wait=True)

    def acquire(self, party: str, wait_s: float) -> _Stream:
        """Takes an idle stream of a party.

        Raises:
            PartyUnavailable: no stream became idle within the time.
        """
        until = time.monotonic() + wait_s
        with self._arrived:
            while True:
                while self._free[party]:
                    stream = self._free[party].pop()
                    if not stream.closed.is_set():
                        return stream
                if not self._arrived.wait(until - time.monotonic()):
                    raise PartyUnavailable(
                        f"party {party!r} is not attached; check that it runs with --attach and this "
                        "curator's address, and trusts the curator's card"
                    )

    def release(self, party: str, stream: _Stream) -> None:
        """Returns a stream that is idle again."""
        with self._arrived:
            self._free[party].append(stream)
            self._arrived.notify_all()

    def _attach(self, frames: Iterator[bytes], context: grpc.ServicerContext) -> Iterator[bytes]:
        fingerprint = fingerprint_of(context)
        try:
            party = self._admitted().names.get(fingerprint or "")
        except MosaicError as error:
            refuse(context, error)
        if party is None:
            refuse(context, PolicyError("the caller is not enrolled here; send the curator its card"))
        with self._arrived:
            if self._open[party] >= _STREAMS_EACH:
                refuse(context, PolicyError("the party has as many open streams as allowed; close some"))
            self._count(party, 1)
        try:
            stream = _Stream(frames, context.cancel)
            if context.add_callback(stream.close):
                context.send_initial_metadata(())
                self.release(party, stream)
                yield from stream.outgoing()
        finally:
            with self._arrived:
                self._count(party, -1)

    def _count(self, party: str, change: int) -> None:
        before, self._open[party] = self._open[party], self._open[party] + change
        if bool(before) != bool(self._open[party]):
            self._told(party, bool(self._open[party]))


class _Stream:
    """One stream that a party opened."""

    def __init__(self, incoming: Iterator[bytes], cancel: Callable[[], object]) -> None:
        self._incoming = incoming
        self._cancel = cancel
        self._outbox: queue.Queue[bytes] = queue.Queue(_AHEAD)
        self.closed = threading.Event()

    def close(self) -> None:
        """Ends the stream, even during a call."""
        if not self.closed.is_set():
            self.closed.set()
            self._cancel()

    def send(self, frame: bytes) -> None:
        """Queues a frame; waits while earlier frames are unsent."""
        while not self.closed.is_set():
            try:
                self._outbox.put(frame, timeout=0.2)
            except queue.Full:
                continue
            return
        raise PartyUnavailable("a party disconnected or did not finish in time")

    def outgoing(self) -> Iterator[bytes]:
        """The outgoing frames, until the stream ends."""
        while not self.closed.is_set():
            try:
                frame = self._outbox.get(timeout=0.2)
            except queue.Empty:
                continue
            yield frame

    def incoming(self) -> Iterator[bytes]:
        """The incoming frames."""
        try:
            yield from self._incoming
        except grpc.RpcError:
            return


class AttachedConnection:
    """Carries encoded messages to a party over streams that the party opened; see `Connection`.

    A call sends all requests before it reads a reply, since no method of a party replies before it has read
    all requests.

    Args:
        party: name of the party.
        attachments: server that accepts the party's streams.
        retry_policy: deadlines and retries.
    """

    def __init__(
        self, party: str, attachments: AttachmentServer, retry_policy: RetryPolicy | None = None
    ) -> None:
        self._party = party
        self._attachments = attachments
        self._retry_policy = retry_policy or RetryPolicy()

    def call(self, method: str, requests: Iterable[bytes]) -> Iterator[bytes]:
        """Replies to encoded requests.

        Raises:
            PartyUnavailable: the party is not attached, or does not finish before the deadline.
            MosaicError: what the party raised.
        """
        stream = self._attachments.acquire(self._party, self._retry_policy.arrival_s)
        deadline = threading.Timer(self._retry_policy.call_s, stream.close)
        deadline.start()
        last: Reply | None = None
        try:
            for frame in attached.encode_call(method, requests):
                stream.send(frame)
            for data in stream.incoming():
                last = attached.decode_reply(data)
                if not isinstance(last, bytes):
                    break
                yield last
        finally:
            deadline.cancel()
            if last is None or isinstance(last, bytes):
                stream.close()
            else:
                self._attachments.release(self._party, stream)
        finish(self._party, last)


def finish(party: str, last: Reply | None) -> None:
    """Returns only if the last frame of a call was its proper end.

    Raises:
        PartyUnavailable: the frames ended early.
        MosaicError: what the party raised.
    """
    if isinstance(last, MosaicError):
        raise type(last)(f"party {party!r}: {last}")
    if last is not Ended.DONE:
        raise PartyUnavailable(f"party {party!r} disconnected or did not finish in time")
