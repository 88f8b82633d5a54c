"""Ports of this machine that stay free until somebody listens, also between two starts of a process."""

from __future__ import annotations

import contextlib
import itertools
import secrets
import socket

from ...common.errors import DataError

_FIRST, _LAST = 20_000, 32_767
"""Below the ports that Linux, macOS and Windows give to connections and to whoever asks for any."""

_COUNT = _LAST - _FIRST + 1
_TURNS = itertools.count(secrets.randbelow(_COUNT))
"""Processes begin at random places, and a process comes back to a port after all others."""


def free_port(host: str = "127.0.0.1") -> int:
    """A port on which nobody listens, and which the system gives to nobody who does not ask for it by number.

    Args:
        host: address on which it is free.

    Raises:
        DataError: there is none.
    """
    for turn in itertools.islice(_TURNS, _COUNT):
        port = _FIRST + turn % _COUNT
        with contextlib.suppress(OSError), socket.create_server((host, port)):
            return port
    raise DataError(
        f"expected a free port of {host} from {_FIRST} to {_LAST}, found none; end what listens there"
    )
