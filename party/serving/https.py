"""One request to the mailbox of a curator over HTTPS, perhaps through a proxy of the institution.

TLS may end at a proxy that inspects: its certificate has to come from an authority that the machine or the
policy trusts. It protects no secret, since what passes is sealed and signed.
"""

from __future__ import annotations

import base64
import contextlib
import re
import socket
import ssl
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from pathlib import Path
from urllib.parse import SplitResult, unquote, urlsplit

from ...common.errors import DataError, PartyUnavailable, ProtocolError
from .proxies import proxy_says

_TUNNEL = re.compile(r"Tunnel connection failed: ([0-9]{3})")
_DIAL_S = 10.0
_SILENT_S = 60.0
_PORTS = {"https": 443, "http": 80}
_HERE = ("127.0.0.1", "::1", "localhost")
_AWAY = (
    "the curator's mailbox does not answer, or cannot be reached; check its address and the proxy of [serve]"
)


@dataclass(frozen=True)
class Place:
    """Where a mailbox is, and how it is reached.

    Attributes:
        url: its address.
        proxy: URL of an HTTP proxy that passes connections on by CONNECT, with user and password if it asks
            for them; None for none.
        authorities: PEM file of the authorities that are trusted to say who the curator, or a proxy that
            inspects, is; None for those of the machine.
    """

    url: str
    proxy: str | None = None
    authorities: Path | None = None

    def __post_init__(self) -> None:
        parts = _split(self.url)
        if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in _HERE):
            raise DataError(
                f"expected the address of a mailbox as https://HOST/PATH, got {self.url!r}; http:// is for "
                "one on this machine"
            )
        if not parts.hostname or parts.username is not None:
            raise DataError(f"expected a host and no password in the address of a mailbox, got {self.url!r}")

    def post(
        self,
        pieces: Iterable[bytes],
        length: int,
        most: int,
        wait_s: float,
        begun: Callable[[socket.socket], None],
    ) -> tuple[int, bytes]:
        """Posts a body; the status of the reply, and its body.

        Args:
            pieces: the body in pieces.
            length: bytes of the body.
            most: largest number of bytes of a reply.
            wait_s: seconds for which the other side may be silent before it replies.
            begun: called with the socket, so that another thread may end it.

        Raises:
            PartyUnavailable: the mailbox cannot be reached, or the connection broke; a later try may succeed.
            ProtocolError: a certificate is of no trusted authority, or the proxy refuses.
            DataError: the file of authorities cannot be read.
        """
        connection = self._connection()
        try:
            connection.connect()
            connection.sock.settimeout(wait_s + _SILENT_S)
            begun(connection.sock)
            headers = {"Content-Type": "application/octet-stream", "Content-Length": str(length)}
            # Whoever refuses a long body replies before it came whole.
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                connection.request("POST", _split(self.url).path or "/", body=pieces, headers=headers)
            reply = connection.getresponse()
            content = reply.read(most + 1)
            if reply.length or len(content) > most:
                raise PartyUnavailable("the reply of the curator's mailbox was cut; it is asked again")
            return reply.status, content
        except ssl.SSLCertVerificationError as cause:
            raise ProtocolError(
                "the certificate that was shown for the curator's mailbox is not valid or of no authority "
                f"that is trusted here ({cause.verify_message}); if a proxy inspects connections, name the "
                "PEM file of its authority in authorities of [serve]"
            ) from cause
        except (OSError, HTTPException) as cause:
            if found := _TUNNEL.search(str(cause)):
                raise ProtocolError(proxy_says(found[1])) from cause
            raise PartyUnavailable(_AWAY) from cause
        finally:
            connection.close()

    def _connection(self) -> HTTPConnection:
        parts = _split(self.url)
        host, port = str(parts.hostname), parts.port or _PORTS[parts.scheme]
        via = None if self.proxy is None else urlsplit(self.proxy)
        first = (host, port) if via is None else (str(via.hostname), via.port or 80)
        if parts.scheme == "http":
            connection = HTTPConnection(*first, timeout=_DIAL_S)
        else:
            connection = HTTPSConnection(*first, timeout=_DIAL_S, context=_context(self.authorities))
        if via is not None:
            connection.set_tunnel(host, port, headers=_login(via))
        return connection


def _split(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018 - it is read here, since reading it may raise
    except ValueError as cause:
        raise DataError(f"expected the address of a mailbox as https://HOST/PATH, got {url!r}") from cause
    return parts


def _context(authorities: Path | None) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=authorities)
    except OSError as cause:
        raise DataError(
            f"cannot read authorities of [serve], {authorities}; name a PEM file of certificates"
        ) from cause
    # Certificates that inspecting proxies make often lack extensions that newer Pythons would insist on.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    context.set_alpn_protocols(["http/1.1"])
    return context


def _login(proxy: SplitResult) -> dict[str, str]:
    """The header with user and password, if a proxy's URL has them."""
    if proxy.username is None:
        return {}
    login = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
    return {"Proxy-Authorization": f"Basic {base64.b64encode(login.encode()).decode()}"}
