"""Threads that wait for a connection."""

from __future__ import annotations

import contextlib
import socket


def cut_off(connection: socket.socket) -> None:
    """Ends what another thread waits for, without touching its TLS."""
    with contextlib.suppress(OSError):
        socket.socket.shutdown(connection, socket.SHUT_RDWR)
