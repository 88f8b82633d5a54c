"""Ports of this machine that stay free until somebody listens, also between two starts of a process."""

from __future__ import annotations

import contextlib
import itertools
import secrets
import socket

from ...common.errors import DataError

_FIRST_PORT, _LAST_PORT = 20_000, 32_767
"""Below the ports that Linux, macOS and Windows give to connections and to whoever asks for any."""

_PORTS = _LAST_PORT - _FIRST_PORT + 1
_TURNS = itertools.count(secrets.randbelow(_PORTS))
"""Processes begin at random places, and a process comes back to a port after all others."""


def free_port(host: str = "127.0.0.1") -> int:
    """A port on which nobody listens, and which the system gives to nobody who does not ask for it by number.

    Args:
        host: address on which it is free.

    Raises:
        DataError: there is none.
    """
    for turn in itertools.islice(_TURNS, _PORTS):
        port = _FIRST_PORT + turn % _PORTS
        with contextlib.suppress(OSError), socket.create_server((host, port)):
            return port
    wanted = f"a free port of {host} from {_FIRST_PORT} to {_LAST_PORT}"
    raise DataError(f"expected {wanted}, found none; end what listens there")
