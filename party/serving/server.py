"""A party that listens: gRPC over mutual TLS carries bytes to its servicer and back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import grpc
from grpc_health.v1.health_pb2_grpc import add_HealthServicer_to_server

from ...common.errors import DataError, PolicyError
from ...common.wire.status import refuse, status_of
from ...common.wire.tls import METHODS, OPTIONS, SERVICE, TlsSide, fingerprint_of, server_credentials
from .calls import Call, reason
from .events import Event, Log, silent
from .health import Health
from .servicer import PartyServicer

_THREADS = 8
_MAX_CALLS = 64
_SHOWN = 16


class PartyServer:
    """Serves one party until it is stopped.

    A thread serves a call. It sends a reply when the one before has left, and reads a request when the
    servicer asks for it, so a slow side slows the other one down and nothing piles up.

    Args:
        servicer: the party's.
        side: what the party shows and whom it lets in; asked anew for every connection and every call.
        address: host and port to listen on; port 0 takes a free one.
        health: of the party.
        log: told of every call.

    Raises:
        DataError: the address cannot be listened on.
    """

    def __init__(
        self,
        servicer: PartyServicer,
        side: Callable[[], TlsSide],
        address: str,
        health: Health,
        log: Log = silent,
    ) -> None:
        self._servicer = servicer
        self._side = side
        self._health = health
        self._log = log
        self._host = address.rpartition(":")[0]
        self._threads = ThreadPoolExecutor(max_workers=_THREADS, thread_name_prefix="call")
        self._server = grpc.server(self._threads, options=OPTIONS, maximum_concurrent_rpcs=_MAX_CALLS)
        handlers = {
            method: grpc.stream_stream_rpc_method_handler(self._serving(method)) for method in METHODS
        }
        self._server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler(SERVICE, handlers)])
        add_HealthServicer_to_server(health.servicer, self._server)
        try:
            self.port = self._server.add_secure_port(address, server_credentials(side))
        except RuntimeError:
            raise DataError(
                f"cannot listen on {address}; see that the port is free and the host this one"
            ) from None

    def start(self) -> None:
        """Lets callers in."""
        self._health.start()
        self._server.start()
        self._log(Event("started", code="SERVING", address=f"{self._host}:{self.port}"))

    def stop(self, grace_s: float = 10.0) -> None:
        """Lets nobody in any more, waits for calls under way, and ends those that take longer."""
        self._health.stop()
        self._server.stop(grace_s).wait()
        self._threads.shutdown(wait=True, cancel_futures=True)
        self._log(Event("stopped", code="NOT_SERVING"))

    def _serving(self, method: str) -> Callable[[Iterator[bytes], grpc.ServicerContext], Iterator[bytes]]:
        def serve(requests: Iterator[bytes], context: grpc.ServicerContext) -> Iterator[bytes]:
            fingerprint = fingerprint_of(context)
            call = Call(method, self._log, (fingerprint or "")[:_SHOWN])
            try:
                if fingerprint is None or not self._side().lets_in(fingerprint):
                    raise PolicyError(
                        "the certificate of the caller is not pinned here; send the party its card"
                    )
                yield from call.counted_out(self._servicer.serve(method, call.counted_in(requests)))
            except grpc.RpcError:
                call.end("CANCELLED", "the caller went away")
                raise
            except GeneratorExit:
                call.end("CANCELLED", "the caller went away")
                raise
            except Exception as error:
                call.end(status_of(error).name, reason(error))
                refuse(context, error)
            call.end("OK")

        return serve
