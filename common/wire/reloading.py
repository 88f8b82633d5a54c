"""TLS certificates of a process that listens, replaced while it listens."""

from __future__ import annotations

import contextlib
import math
import socket
import ssl
import threading
import time
from collections.abc import Callable

import grpc

from ..errors import DataError
from .status import reason
from .tls import TlsSide, certificate_configuration

RELOAD_SECONDS = 1.0
_ANSWER_S = 5.0
_HOLD_S = 10.0
_HANDSHAKE_RECORD = b"\x16"


class Certificates:
    """The certificates of a port; a change of the files needs no restart and ends no call.

    gRPC frees its earlier certificates as soon as it gets new ones, even if another connection is about to
    begin a handshake with them (grpc/grpc#36693, a use after free). A handshake that has begun keeps them. So
    gRPC gets new ones only after a real change, and only while a handshake that this class began, and never
    ends, keeps the earlier ones. It is closed when no other connection can need them any more.

    Args:
        side: current TLS side of the process.
        told: called with None after every change, and with the error where a change fails.
        every_s: seconds between two looks at the side.
    """

    def __init__(
        self,
        side: Callable[[], TlsSide],
        told: Callable[[Exception | None], None],
        every_s: float = RELOAD_SECONDS,
    ) -> None:
        self._side = side
        self._told = told
        self._every_s = every_s
        self._shown = side()
        self._next: grpc.ServerCertificateConfiguration | None = None
        self._held: list[tuple[float, socket.socket]] = []
        self._failure = ""
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="certificates", daemon=True)
        self.credentials = grpc.dynamic_ssl_server_credentials(
            certificate_configuration(self._shown), self._fetch, require_client_authentication=True
        )

    def start(self, address: str) -> None:
        """Begins to watch the side.

        Args:
            address: host and port of the server that has the credentials.
        """
        host, _, port = address.rpartition(":")
        self._place = host.strip("[]"), int(port)
        self._thread.start()

    def stop(self) -> None:
        """Watches no longer; call it before the server stops and refuses the handshakes of a change."""
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join()

    def close(self) -> None:
        """Closes the handshakes that were held; call it after the server has stopped."""
        self._close_until(math.inf)

    def check_current(self) -> None:
        """Returns only while connections get the current certificates.

        Raises:
            DataError: a change failed.
        """
        if self._failure:
            raise DataError(f"connections get earlier certificates: {self._failure}")

    def _watch(self) -> None:
        while not self._stopped.wait(self._every_s):
            self._close_until(time.monotonic())
            try:
                self._reload()
            except Exception as error:
                # The next look tries again. Every call is checked against the current pins all the same.
                if (failure := reason(error)) != self._failure:
                    self._told(error)
                self._failure = failure
            else:
                self._failure = ""

    def _reload(self) -> None:
        if (side := self._side()) == self._shown:
            return
        config = certificate_configuration(side)
        holding = self._begun_handshake()
        self._next = config
        try:
            # gRPC takes the new ones when a connection arrives.
            self._begun_handshake().close()
        finally:
            self._next = None
            # From now on: gRPC may have replaced the earlier ones just before.
            self._held.append((time.monotonic() + _HOLD_S, holding))
        self._shown = side
        self._told(None)

    def _fetch(self) -> grpc.ServerCertificateConfiguration | None:
        """Called by gRPC at each connection, one at a time; None changes nothing."""
        config, self._next = self._next, None
        return config

    def _begun_handshake(self) -> socket.socket:
        """A connection to the own port whose handshake the server has begun; it waits for the next message.

        Raises:
            DataError: the server began no handshake.
        """
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        received, sent = ssl.MemoryBIO(), ssl.MemoryBIO()
        with contextlib.suppress(ssl.SSLWantReadError):
            context.wrap_bio(received, sent).do_handshake()
        with contextlib.ExitStack() as failed:
            link = failed.enter_context(socket.create_connection(self._place, _ANSWER_S))
            link.sendall(sent.read())
            if link.recv(1) != _HANDSHAKE_RECORD:
                raise DataError("its own port begins no handshake; restart it")
            failed.pop_all()
        return link

    def _close_until(self, now: float) -> None:
        """Closes the handshakes that were held until then."""
        for end, link in self._held:
            if end <= now:
                link.close()
        self._held = [(end, link) for end, link in self._held if end > now]
