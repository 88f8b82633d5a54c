"""A curator's mailbox over HTTPS: parties by files fetch their bundles here, and bring the answers.

It carries the same files as people do. A stranger is refused with the same words whatever it sends; the path
of a request means nothing, so no name becomes one.
"""

from __future__ import annotations

import contextlib
import hashlib
import shutil
import ssl
import tempfile
import threading
import time
from collections.abc import Callable
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from io import BufferedIOBase
from pathlib import Path
from typing import IO, Any

from ....common.errors import MosaicError, ProtocolError
from ....common.processes.bounded_server import BoundedServer
from ....common.processes.reread import Reread
from ....common.wire.bundles import Bundle
from ....common.wire.mailbox import MOST_HEAD_BYTES, MOST_WAIT_S, MailboxRequest, SignedRequest
from ..home import CuratorHome
from .admission import Admission

_SILENT_S = 60.0
"""Seconds without a byte after which the connection of an admitted party is closed."""

_HTTP_BYTES = 16384
"""Most bytes of a request line and headers."""

_OUTBOX_S = 0.25
"""Seconds between two looks into the outbox."""

_CLOSE_S = 0.1
"""Seconds between two looks at whether it is to close."""

_TELL_S = 10.0
"""Seconds between two events of strangers, so that they do not fill a disk."""

_PIECE_BYTES = 1 << 20

Told = Callable[[str, str, str], None]
"""Called with what happened, the name of the party, and why."""


class MailboxServer:
    """Serves the bundles of a curator's outbox to the parties that they are for, and takes their answers.

    Args:
        home: the curator's folder.
        address: host and port to listen on; port 0 for any free port.
        tls: the TLS of a new connection; None for plain HTTP, behind something that ends TLS.
        told: told of bundles that were fetched, answers that were taken, and requests that were refused.
        now: seconds since 1970 in UTC.

    Attributes:
        port: on which it listens.

    Raises:
        DataError: the address is in use.
    """

    def __init__(
        self,
        home: CuratorHome,
        address: tuple[str, int],
        tls: Callable[[], ssl.SSLContext] | None,
        told: Told,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._home = home
        self._told = told
        own = home.keyring
        enrolled = Reread(home.identities_by_files, home.enrolment_files)
        self.admission = Admission(own.name, own.identity.public, enrolled, now)
        self._closing = threading.Event()
        self._taking = threading.Lock()
        self._told_of_strangers = -_TELL_S
        self._server = BoundedServer(address, self._serve, tls)
        self.port = int(self._server.server_address[1])
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(_CLOSE_S,), name="mailbox", daemon=True
        )

    def start(self) -> None:
        """Starts to serve."""
        self._thread.start()

    def close(self) -> None:
        """Ends every wait, and closes the port."""
        self._closing.set()
        self._server.shutdown()
        self._server.server_close()

    def bundle_for(self, request: MailboxRequest) -> Path | None:
        """The first bundle that waits for a party that does not have it; None if there is none in time."""
        until = time.monotonic() + min(request.wait_s, MOST_WAIT_S)
        name = request.sender
        waiting = Reread(partial(self._home.bundles_for, name), partial(self._home.boxes_of, name))
        while self.admission.is_latest(request):
            for path in waiting():
                if path.stem not in request.held:
                    self._told("fetched", name, "")
                    return path
            left = until - time.monotonic()
            if left <= 0 or self._closing.wait(min(left, _OUTBOX_S)):
                break
        return None

    def take(self, request: MailboxRequest, body: BufferedIOBase) -> None:
        """Takes in the answer that follows a request.

        Args:
            request: of the party, admitted.
            body: gives the answer.

        Raises:
            MosaicError: it was altered or cut on its way, it answers no bundle that waits, or a later request
                came meanwhile.
        """
        if not self._home.bundles_for(request.sender):
            raise ProtocolError("expected an answer to a bundle that waits for one, got another")
        with tempfile.TemporaryFile(dir=self._home.folder) as spool:
            self._copy(request, body, spool)
            # One at a time, since each is held in memory.
            with self._taking:
                spool.seek(0)
                answer = Bundle.read(spool.read())
                if answer.header.sender != request.sender:
                    raise ProtocolError("expected an answer of the party that brings it, got one of another")
                self._home.take(answer)
        self._told("taken", request.sender, "")

    def refuse(self, party: str, error: Exception) -> None:
        """Tells of a request that was refused; of those of strangers seldom."""
        if not party:
            if time.monotonic() - self._told_of_strangers < _TELL_S:
                return
            self._told_of_strangers = time.monotonic()
        self._told("refused", party, str(error) if isinstance(error, MosaicError) else type(error).__name__)

    def _copy(self, request: MailboxRequest, body: BufferedIOBase, spool: IO[bytes]) -> None:
        hashed, left = hashlib.sha256(), request.answer_bytes
        while left and self.admission.is_latest(request):
            piece = body.read(min(left, _PIECE_BYTES))
            if not piece:
                break
            left -= len(piece)
            hashed.update(piece)
            spool.write(piece)
        if left or hashed.digest() != request.answer_digest:
            raise ProtocolError(
                "expected a whole answer as its party signed it, got one that was cut or altered"
            )

    def _serve(
        self, connection: Any, address: Any, server: BoundedServer, lift_deadline: Callable[[], None]
    ) -> None:
        _Exchange(self, lift_deadline, connection, address, server)


class _Exchange(BaseHTTPRequestHandler):
    """One request over one connection, and its reply."""

    protocol_version = "HTTP/1.1"

    def __init__(self, mailbox: MailboxServer, lift_deadline: Callable[[], None], *connection: Any) -> None:
        self._mailbox = mailbox
        self._lift_deadline = lift_deadline
        super().__init__(*connection)

    def setup(self) -> None:
        """Bounds what is read of HTTP."""
        super().setup()
        self._body = self.rfile
        self.rfile = _Bounded(self.rfile, _HTTP_BYTES)  # type: ignore[assignment]

    def do_POST(self) -> None:
        """Answers a request to the mailbox."""
        try:
            request = self._admit()
        except (MosaicError, ValueError) as error:
            self._mailbox.refuse("", error)
            self._reply(HTTPStatus.FORBIDDEN)
            return
        try:
            if request.answer_bytes:
                self._mailbox.take(request, self._body)
                self._reply(HTTPStatus.NO_CONTENT)
            elif (bundle := self._mailbox.bundle_for(request)) is None:
                self._reply(HTTPStatus.NO_CONTENT)
            else:
                self._send(bundle)
        except MosaicError as error:
            self._mailbox.refuse(request.sender, error)
            self._reply(HTTPStatus.CONFLICT)
        except OSError as error:
            self._mailbox.refuse(request.sender, error)
            self._reply(HTTPStatus.SERVICE_UNAVAILABLE)

    def _admit(self) -> MailboxRequest:
        """The request, which an enrolled party signed just now; then the connection has time."""
        length = int(self.headers.get("Content-Length", ""))
        signed = SignedRequest.read(_Bounded(self._body, min(length, MOST_HEAD_BYTES)).read)
        request = self._mailbox.admission.admit(signed)
        if length != signed.head_bytes + request.answer_bytes:
            raise ProtocolError("expected the length that the request states, got another")
        self._lift_deadline()
        self.connection.settimeout(_SILENT_S)
        return request

    def _send(self, bundle: Path) -> None:
        with bundle.open("rb") as file:
            length = file.seek(0, 2)
            file.seek(0)
            self._begin(HTTPStatus.OK, length)
            with contextlib.suppress(OSError):
                shutil.copyfileobj(file, self.wfile, _PIECE_BYTES)

    def _reply(self, status: HTTPStatus) -> None:
        with contextlib.suppress(OSError):
            self._begin(status, 0)

    def _begin(self, status: HTTPStatus, length: int) -> None:
        self.close_connection = True
        self.send_response(status)
        self.send_header("Content-Type", "application/octet-stream")
        if status is not HTTPStatus.NO_CONTENT:
            self.send_header("Content-Length", str(length))
        self.send_header("Cache-Control", "no-store")
        self.send_header("Connection", "close")
        self.end_headers()

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Replies to what is no request to a mailbox."""
        self._reply(HTTPStatus.FORBIDDEN)

    def version_string(self) -> str:
        """Says nothing of the software."""
        return "mailbox"

    def log_message(self, format: str, *arguments: Any) -> None:
        """Logs nothing; the mailbox is told of what happens."""


class _Bounded:
    """The first bytes of a stream, as long as there are any."""

    def __init__(self, stream: BufferedIOBase, most: int) -> None:
        self._stream = stream
        self._left = most

    def read(self, size: int) -> bytes:
        """So many bytes, or fewer at the end."""
        return self._count(self._stream.read(min(size, self._left)))

    def readline(self, size: int) -> bytes:
        """The next line, or so many bytes of it."""
        return self._count(self._stream.readline(min(size, self._left)))

    def close(self) -> None:
        """Closes the stream."""
        self._stream.close()

    def _count(self, data: bytes) -> bytes:
        self._left -= len(data)
        return data
