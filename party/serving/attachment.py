"""A party that dials out: it opens streams to its curator and serves calls over them."""

from __future__ import annotations

import contextlib
import re
import threading
from collections.abc import Callable, Iterator

import grpc

from ...common.crypto.clocks import REMEDY
from ...common.errors import MosaicError, PartyUnavailable, ProtocolError
from ...common.wire import attached
from ...common.wire.status import error_of, reason, status_of
from .calls import Call
from .events import Event, Log, silent
from .proxies import proxy_says
from .servicer import PartyServicer

STREAMS = 2
"""Number of concurrent calls of a curator to one party; a release needs one."""

_PROXY_SAYS = re.compile(r"proxy returned response code ([0-9]{3})")

_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.5, 5.0

_LONGEST_END_S = 60.0
"""A stream that has not ended by then ends with the process."""


class Attachment:
    """Keeps streams to a curator open until it is stopped; reopens lost ones.

    Args:
        servicer: servicer of the party.
        channel: dials the curator; called for every stream, so that new certificates need no restart.
        curator: identity of that curator.
        log: receives an event for every call and every change of the link.
    """

    def __init__(
        self,
        servicer: PartyServicer,
        channel: Callable[[], grpc.Channel],
        curator: bytes,
        log: Log = silent,
    ) -> None:
        self._servicer = servicer
        self._channel = channel
        self._curator = curator
        self._log = log
        self._stopped = threading.Event()
        self._lock = threading.Lock()
        self._calls: set[grpc.Call] = set()
        self._open = 0
        self._told = ""
        self._threads = [
            threading.Thread(target=self._keep_open, name=f"stream-{number}", daemon=True)
            for number in range(STREAMS)
        ]

    def start(self) -> None:
        """Starts to dial."""
        for thread in self._threads:
            thread.start()
        self._log(Event("started", code="DIALLING"))

    def stop(self) -> None:
        """Closes every stream."""
        self._stopped.set()
        with self._lock:
            calls = list(self._calls)
        for call in calls:
            call.cancel()
        for thread in self._threads:
            thread.join(_LONGEST_END_S)
        self._log(Event("stopped", code="NOT_SERVING"))

    def check_link(self) -> None:
        """Returns only while a stream to the curator is open.

        Raises:
            PartyUnavailable: no stream is open.
        """
        if not self._open:
            raise PartyUnavailable(
                "no stream to the curator is open; without `curator listen` it listens only during a release"
            )

    def _keep_open(self) -> None:
        pause = _FIRST_PAUSE_S
        while not self._stopped.is_set():
            try:
                if self._serve_stream():
                    pause = _FIRST_PAUSE_S
            except MosaicError as error:
                self._log(Event("link", code=status_of(error).name, reason=str(error)))
            self._stopped.wait(pause)
            pause = min(2 * pause, _LONGEST_PAUSE_S)

    def _serve_stream(self) -> bool:
        """Serves over one stream until it ends; returns whether the curator accepted it."""
        frames, ended = _Incoming(), threading.Event()
        with contextlib.closing(self._channel()) as channel:
            call = channel.stream_stream(attached.ATTACH)(self._replies(frames))
            call.add_done_callback(lambda _: ended.set())
            with self._lock:
                self._calls.add(call)
            frames.begin(call)
            if self._stopped.is_set():
                call.cancel()
            try:
                call.initial_metadata()
                taken = bool(call.is_active())
                self._count(taken)
                ended.wait()
                self._count(-taken)
                if not taken:
                    self._tell(_why(call))
            finally:
                with self._lock:
                    self._calls.discard(call)
        return taken

    def _count(self, change: int) -> None:
        with self._lock:
            before, self._open = self._open, self._open + change
            after = self._open
            self._told = "" if after else self._told
        if bool(before) != bool(after):
            self._log(Event("link", code="SERVING" if after else "DIALLING"))

    def _tell(self, why: str) -> None:
        """Logs why the curator took no stream, once until the reason changes or a stream was open."""
        if self._stopped.is_set():
            return
        with self._lock:
            told, self._told = self._told, why
        if told != why:
            self._log(Event("link", code="DIALLING", reason=why))

    def _replies(self, frames: _Incoming) -> Iterator[bytes]:
        """The party's frames over one stream, call after call."""
        incoming = iter(frames)
        for first in incoming:
            try:
                method = attached.decode_method(first)
            except ProtocolError as error:
                self._log(Event("link", code=status_of(error).name, reason=str(error)))
                return
            yield from self._call(method, attached.decode_requests(incoming))

    def _call(self, method: str, requests: Iterator[bytes]) -> Iterator[bytes]:
        call = Call(method, self._log)
        try:
            replies = self._servicer.serve(method, call.counted_in(requests), self._curator)
            for reply in call.counted_out(replies):
                yield attached.encode_reply(reply)
            _read_to_end(requests)
        except (GeneratorExit, grpc.RpcError):
            call.end("CANCELLED", "the curator disconnected")
            raise
        except Exception as error:
            _read_to_end(requests)
            call.end(status_of(error).name, reason(error))
            yield attached.encode_end(error)
        else:
            call.end("OK")
            yield attached.encode_end()


def _why(call: grpc.RpcError) -> str:
    """Why a stream was not taken, in plain words."""
    if found := _PROXY_SAYS.search((call.details() or "").lower()):
        return proxy_says(found[1])
    if isinstance(error_of(call, "curator"), ProtocolError):
        return (
            "the TLS handshake with the curator failed: expected that each side shows the certificate that "
            f"the other pinned; compare fingerprints and expiry, {REMEDY}, exchange cards again and trust "
            "them"
        )
    return (
        "the curator does not listen, or it cannot be reached; without `curator listen` it does so only "
        "during a release"
    )


def _read_to_end(requests: Iterator[bytes]) -> None:
    """Reads the remaining requests of a call, so that the next frame begins a new call."""
    with contextlib.suppress(ProtocolError):
        for _ in requests:
            pass


class _Incoming:
    """The incoming frames of a stream; a reader may start before the stream is open."""

    def __init__(self) -> None:
        self._begun = threading.Event()
        self._call: grpc.Call | None = None

    def begin(self, call: grpc.Call) -> None:
        self._call = call
        self._begun.set()

    def __iter__(self) -> Iterator[bytes]:
        self._begun.wait()
        assert self._call is not None
        with contextlib.suppress(grpc.RpcError):
            yield from self._call
