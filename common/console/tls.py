"""TLS of a console on a network."""

from __future__ import annotations

import asyncio
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from starlette.types import Receive, Scope, Send

from ..errors import DataError
from ..federation.private_files import check_private
from .connections import Timely
from .signing_in import PEER


@dataclass(frozen=True)
class ServerFiles:
    """Files of a server.

    Attributes:
        certificate: its certificate and those that lead to its authority, PEM.
        key: its private key, PEM, readable by its owner only.
        people: PEM of the authority whose certificates browsers have to show; None for none.
    """

    certificate: Path
    key: Path
    people: Path | None = None

    def stamp(self) -> tuple[int, ...]:
        """Changes when a file is replaced."""
        paths = (self.certificate, self.key, self.people)
        return tuple(path.stat().st_mtime_ns for path in paths if path is not None)


def server_context(files: ServerFiles) -> ssl.SSLContext:
    """The server's side of TLS; files that are replaced count from the next connection on.

    Raises:
        DataError: a file is missing, does not hold together, or can be read by others.
    """
    current = (_stamp(files), _load_context(files))

    def renew(connection: ssl.SSLObject, name: str | None, context: ssl.SSLContext) -> None:
        nonlocal current
        try:
            stamp = _stamp(files)
            if stamp != current[0]:
                current = stamp, _load_context(files)
        except DataError:
            # Half of a pair is there; the former pair serves until the other half is.
            pass
        connection.context = current[1]

    current[1].sni_callback = renew
    return current[1]


def _stamp(files: ServerFiles) -> tuple[int, ...]:
    try:
        return files.stamp()
    except OSError as cause:
        raise DataError(
            f"cannot read {cause.filename}: {cause.strerror}; check [console] of the policy"
        ) from cause


def _load_context(files: ServerFiles) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        check_private(files.key)
        # Without a password of its own, OpenSSL would ask for one on the terminal.
        context.load_cert_chain(files.certificate, files.key, password="")
        if files.people is not None:
            context.load_verify_locations(files.people)
            context.verify_mode = ssl.CERT_REQUIRED
    except ssl.SSLError as cause:
        raise DataError(
            f"expected a certificate in {files.certificate}, its private key without a password in "
            f"{files.key}"
            + (f", and an authority in {files.people}" if files.people else "")
            + ", all PEM, got something else; fix the files"
        ) from cause
    except OSError as cause:
        raise DataError(
            f"cannot read {cause.filename}: {cause.strerror}; check [console] of the policy"
        ) from cause
    return context


class WithPeer(Timely):
    """HTTP of one connection, which tells the pages whose certificate it came with."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begins; the handshake has verified the certificate."""
        super().connection_made(transport)
        tls, app = transport.get_extra_info("ssl_object"), self.app
        peer = None if tls is None else tls.getpeercert(binary_form=True)

        async def tell_peer(scope: Scope, receive: Receive, send: Send) -> None:
            await app({**scope, PEER: peer}, receive, send)

        self.app: Any = tell_peer
