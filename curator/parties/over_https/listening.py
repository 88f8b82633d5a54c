"""An HTTPS port that strangers can reach: a bounded number of connections, each with a deadline."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from collections.abc import Callable
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

from ....common.errors import DataError
from ....common.processes.reread import Reread
from ....common.processes.waiting import cut_off

CONNECTIONS = 128
"""Most connections at one time, more than there are parties."""

ADMISSION_S = 10.0
"""Seconds within which a request has to be admitted, from the beginning of its connection."""

_THIS_MACHINE = ("127.0.0.1", "::1", "localhost")


class BoundedServer(ThreadingHTTPServer):
    """Serves each connection in a thread of its own, which ends unless its request is admitted in time.

    Args:
        address: host and port to listen on; port 0 for any free port.
        serve: serves one connection, given the connection, its address, this server, and what lifts the
            deadline of the connection.
        tls: the TLS of a new connection; None for plain HTTP.
        admission_s: the deadline, in seconds.

    Raises:
        DataError: the address is in use.
    """

    daemon_threads = True

    def __init__(
        self,
        address: tuple[str, int],
        serve: Callable[[Any, Any, BoundedServer, Callable[[], None]], object],
        tls: Callable[[], ssl.SSLContext] | None,
        admission_s: float = ADMISSION_S,
    ) -> None:
        self.address_family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        self._serve = serve
        self._tls = tls
        self._admission_s = admission_s
        self._free = threading.BoundedSemaphore(CONNECTIONS)
        try:
            super().__init__(address, None)  # type: ignore[arg-type]
        except OSError as cause:
            raise DataError(
                f"cannot listen on {address[0]} port {address[1]}: {cause.strerror}; name a free address of "
                "this machine"
            ) from cause

    def server_bind(self) -> None:
        """Binds, without looking up a name of the address."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()

    def process_request(self, request: Any, client_address: Any) -> None:
        """Closes a connection that is one too many."""
        if self._free.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Serves one connection."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    def finish_request(self, request: Any, client_address: Any) -> None:
        """Serves one connection; its handshake counts as well."""
        request.settimeout(self._admission_s)
        if self._tls is not None:
            # Raises if the connection is broken already, which `wrap_socket` would leave open.
            request.getpeername()
            request = self._tls().wrap_socket(request, server_side=True, do_handshake_on_connect=False)
        deadline = threading.Timer(self._admission_s, cut_off, (request,))
        deadline.daemon = True
        deadline.start()
        try:
            if isinstance(request, ssl.SSLSocket):
                request.do_handshake()
            self._serve(request, client_address, self, deadline.cancel)
        finally:
            deadline.cancel()
            if isinstance(request, ssl.SSLSocket):
                self.shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Says nothing of connections that break, which anybody can make."""


def address_of(text: str, local: bool) -> tuple[str, int]:
    """Host and port of an address to listen on.

    Args:
        text: the address.
        local: whether it has to be of this machine, since what it serves is not encrypted.

    Raises:
        DataError: it has no port, or is not of this machine.
    """
    host, _, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not host or not port.isdecimal() or int(port) > 65535:
        raise DataError(f"expected the address as host:port, got {text!r}; give both")
    if local and host not in _THIS_MACHINE:
        raise DataError(
            f"expected --certificate and --key to listen on {host}, got none; name them, or listen on "
            "127.0.0.1 behind a server that ends TLS"
        )
    return host, int(port)


def tls_of(certificate: Path, key: Path) -> Callable[[], ssl.SSLContext]:
    """The TLS of a server, from its files as they are when it is asked for: new ones need no restart.

    While only one of the two files was replaced, it is that of the earlier ones.

    Args:
        certificate: PEM file of a certificate and of those between it and an authority.
        key: PEM file of its key, without a passphrase.

    Raises:
        DataError: they cannot be read, or do not belong together.
    """

    def make() -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        # A passphrase would be asked for on a terminal.
        context.load_cert_chain(certificate, key, password="")
        return context

    try:
        read = Reread(make, lambda: (certificate, key))
    except OSError as cause:
        raise DataError(
            f"cannot read the certificate {certificate} and its key {key}: {cause.strerror}; name PEM files "
            "that belong together, the key without a passphrase"
        ) from cause
    current = [read()]

    def latest() -> ssl.SSLContext:
        with contextlib.suppress(OSError):
            current[0] = read()
        return current[0]

    return latest
