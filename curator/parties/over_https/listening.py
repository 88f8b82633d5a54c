"""The address on which a curator's mailbox listens, and its TLS."""

from __future__ import annotations

import contextlib
import ssl
from collections.abc import Callable
from pathlib import Path

from ....common.errors import DataError
from ....common.processes.reread import Reread

_THIS_MACHINE = ("127.0.0.1", "::1", "localhost")


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
