"""Where parties that dial out arrive: the curator listens, and asks over the streams that they opened."""

from __future__ import annotations

import queue
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor

import grpc

from ...common.errors import DataError, MosaicError, PartyUnavailable, PolicyError
from ...common.wire import attached
from ...common.wire.attached import Ended
from ...common.wire.status import refuse
from ...common.wire.tls import OPTIONS, TlsSide, fingerprint_of, server_credentials
from .connection import Patience

_STREAMS_EACH = 4
_AHEAD = 2


class AttachmentServer:
    """Listens for parties that dial out.

    Args:
        side: what the curator shows, and the parties that it lets in.
        names: name of each party, by the fingerprint of its certificate.
        address: host and port to listen on; port 0 takes a free one.

    Raises:
        DataError: the address cannot be listened on.
    """

    def __init__(self, side: TlsSide, names: dict[str, str], address: str) -> None:
        self._names = names
        self._arrived = threading.Condition()
        self._free: dict[str, list[_Stream]] = defaultdict(list)
        self._open: Counter[str] = Counter()
        # An open stream keeps a thread; one more than all shares together turns others away.
        self._threads = ThreadPoolExecutor(_STREAMS_EACH * len(names) + 1, thread_name_prefix="attached")
        self._server = grpc.server(self._threads, options=OPTIONS)
        handler = grpc.stream_stream_rpc_method_handler(self._attach)
        handlers = {attached.METHOD: handler}
        self._server.add_generic_rpc_handlers(
            [grpc.method_handlers_generic_handler(attached.SERVICE, handlers)]
        )
        try:
            self.port = self._server.add_secure_port(address, server_credentials(lambda: side))
        except RuntimeError:
            raise DataError(
                f"cannot listen on {address}; see that the port is free, and the host this one"
            ) from None

    def start(self) -> None:
        """Lets parties in."""
        self._server.start()

    def close(self) -> None:
        """Closes every stream."""
        self._server.stop(0).wait()
        self._threads.shutdown(wait=True)

    def take(self, party: str, wait_s: float) -> _Stream:
        """A stream of a party on which nothing is under way.

        Raises:
            PartyUnavailable: there is none within the time.
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
                        f"party {party!r} is not attached; see that it is started with --attach and this "
                        "curator's address, and trusts its card"
                    )

    def give(self, party: str, stream: _Stream) -> None:
        """A stream on which nothing is under way any more."""
        with self._arrived:
            self._free[party].append(stream)
            self._arrived.notify_all()

    def _attach(self, frames: Iterator[bytes], context: grpc.ServicerContext) -> Iterator[bytes]:
        fingerprint = fingerprint_of(context)
        party = self._names.get(fingerprint or "")
        if party is None:
            refuse(context, PolicyError("the caller is not enrolled here; send the curator its card"))
        with self._arrived:
            if self._open[party] >= _STREAMS_EACH:
                refuse(context, PolicyError("the party has as many streams open as it may; close some"))
            self._open[party] += 1
        try:
            stream = _Stream(frames, context.cancel)
            if context.add_callback(stream.close):
                context.send_initial_metadata(())
                self.give(party, stream)
                yield from stream.outgoing()
        finally:
            with self._arrived:
                self._open[party] -= 1


class _Stream:
    """One stream that a party opened."""

    def __init__(self, incoming: Iterator[bytes], cancel: Callable[[], object]) -> None:
        self._incoming = incoming
        self._cancel = cancel
        self._outbox: queue.Queue[bytes] = queue.Queue(_AHEAD)
        self.closed = threading.Event()

    def close(self) -> None:
        """Ends the stream, also under a call."""
        if not self.closed.is_set():
            self.closed.set()
            self._cancel()

    def send(self, frame: bytes) -> None:
        """Hands a frame over; waits while earlier ones have not left."""
        while not self.closed.is_set():
            try:
                self._outbox.put(frame, timeout=0.2)
            except queue.Full:
                continue
            return
        raise PartyUnavailable("a party went away, or did not finish in time")

    def outgoing(self) -> Iterator[bytes]:
        """The frames that leave, until the stream ends."""
        while not self.closed.is_set():
            try:
                frame = self._outbox.get(timeout=0.2)
            except queue.Empty:
                continue
            yield frame

    def incoming(self) -> Iterator[bytes]:
        """The frames that come."""
        try:
            yield from self._incoming
        except grpc.RpcError:
            return


class AttachedConnection:
    """Carries encoded messages to a party over the streams that it opened; see `Connection`.

    A call sends all of its requests before it reads a reply: no method of a party replies before it has read
    its requests.

    Args:
        party: its name.
        attachments: where it arrives.
        patience: how long to wait.
    """

    def __init__(self, party: str, attachments: AttachmentServer, patience: Patience | None = None) -> None:
        self._party = party
        self._attachments = attachments
        self._patience = patience or Patience()

    def call(self, method: str, requests: Iterable[bytes]) -> Iterator[bytes]:
        """Replies to encoded requests.

        Raises:
            PartyUnavailable: the party is not attached, or does not finish before the deadline.
            MosaicError: what the party raised.
        """
        stream = self._attachments.take(self._party, self._patience.arrival_s)
        deadline = threading.Timer(self._patience.call_s, stream.close)
        deadline.start()
        done = False
        try:
            for frame in attached.encode_call(method, requests):
                stream.send(frame)
            for data in stream.incoming():
                said = attached.decode_reply(data)
                if isinstance(said, bytes):
                    yield said
                    continue
                done = True
                break
        finally:
            deadline.cancel()
            if done:
                self._attachments.give(self._party, stream)
            else:
                stream.close()
        if not done:
            raise PartyUnavailable(f"party {self._party!r} went away, or did not finish in time")
        if said is not Ended.DONE:
            assert isinstance(said, MosaicError)
            raise type(said)(f"party {self._party!r}: {said}")
