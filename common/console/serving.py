"""Serves a console until the process is asked to stop: on this machine, or over TLS on a network."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator

import uvicorn
from starlette.types import ASGIApp

from ..errors import DataError
from ..processes.stopping import Stop
from .connections import Timely
from .doors import Door
from .gate import Gate
from .guard import Guard
from .tls import ServerFiles, WithPeer, server_context

LOOPBACK = "127.0.0.1"
_IDLE_S = 15
"""Seconds that a connection may stay open after a reply."""


@contextlib.contextmanager
def serve(pages: Callable[[Gate, Stop], ASGIApp], stop: Stop, port: int = 0) -> Iterator[str]:
    """Serves a console on this machine while the context lasts.

    Args:
        pages: makes the pages, given their secrets and what asks the process to stop.
        stop: stop request of the process.
        port: port on the loopback interface; 0 for a free one.

    Yields:
        The address that opens the console, once.

    Raises:
        DataError: the port is in use.
    """
    gate = Gate()
    with contextlib.closing(_listening(LOOPBACK, port, "choose another by --port")) as listener:
        authority = f"{LOOPBACK}:{listener.getsockname()[1]}"
        config = _config(Guard(pages(gate, stop), gate, authority))
        with _running(config, listener, gate):
            yield f"http://{authority}{gate.entrance}"


@contextlib.contextmanager
def serve_https(
    pages: Callable[[Door, Stop], ASGIApp],
    stop: Stop,
    door: Door,
    listen: tuple[str, int],
    authority: str,
    files: ServerFiles,
) -> Iterator[None]:
    """Serves a console on a network while the context lasts.

    Args:
        pages: makes the pages, given the door and what asks the process to stop.
        stop: stop request of the process.
        door: lets in who signs in.
        listen: host and port to listen on.
        authority: host and port as browsers send them.
        files: its certificate and key, and whose certificates it asks of browsers.

    Raises:
        DataError: the port is in use, or a file is missing or does not hold together.
    """
    context = server_context(files)
    with contextlib.closing(_listening(*listen, "choose another by --https")) as listener:
        config = _config(Guard(pages(door, stop), door, authority))
        config.http = WithPeer
        config.load()
        config.ssl = context
        with _running(config, listener, door):
            yield


def _config(app: ASGIApp) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=Timely,
        log_config=None,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        lifespan="off",
        ws="none",
        timeout_keep_alive=_IDLE_S,
        timeout_graceful_shutdown=2,
    )


@contextlib.contextmanager
def _running(config: uvicorn.Config, listener: socket.socket, door: Door) -> Iterator[None]:
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, args=([listener],), name="console", daemon=True)
    thread.start()
    try:
        yield
    finally:
        door.ended.set()
        server.should_exit = True
        thread.join()


def _listening(host: str, port: int, instead: str) -> socket.socket:
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family)
    except OSError as cause:
        raise DataError(
            f"cannot listen on port {port} of {host}: {cause.strerror or 'no such address'}; {instead}"
        ) from cause
