"""Serves a console on this machine, until the process is asked to stop."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator

import uvicorn
from starlette.types import ASGIApp

from ..errors import DataError
from ..processes.stopping import Stop
from .gate import Gate
from .guard import Guard

LOOPBACK = "127.0.0.1"


@contextlib.contextmanager
def serve(pages: Callable[[Gate, Stop], ASGIApp], stop: Stop, port: int = 0) -> Iterator[str]:
    """Serves a console while the context lasts.

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
    with contextlib.closing(_listening(port)) as listener:
        authority = f"{LOOPBACK}:{listener.getsockname()[1]}"
        config = uvicorn.Config(
            Guard(pages(gate, stop), gate, authority),
            log_config=None,
            log_level="warning",
            access_log=False,
            server_header=False,
            proxy_headers=False,
            lifespan="off",
            ws="none",
            timeout_graceful_shutdown=2,
        )
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, args=([listener],), name="console", daemon=True)
        thread.start()
        try:
            yield f"http://{authority}{gate.entrance}"
        finally:
            gate.ended.set()
            server.should_exit = True
            thread.join()


def _listening(port: int) -> socket.socket:
    try:
        return socket.create_server((LOOPBACK, port))
    except OSError as cause:
        raise DataError(
            f"cannot listen on port {port} of this machine: {cause.strerror}; choose another by --port"
        ) from cause
