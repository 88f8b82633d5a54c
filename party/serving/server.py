"""A party that listens: gRPC over mutual TLS between callers and its servicer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import grpc

from ...common.errors import DataError, PolicyError
from ...common.wire.reloading import RELOAD_SECONDS, Certificates
from ...common.wire.status import reason, refuse, status_of
from ...common.wire.tls import METHODS, OPTIONS, SERVICE, TlsSide, fingerprint_of
from .calls import Call
from .events import Event, Log, silent
from .health import Health
from .servicer import PartyServicer
from .turns import Shares

_MAX_CALLS = 64
"""Number of calls that all callers together may hold open; those of one release take turns."""

_FINGERPRINT_DIGITS = 16


class _NoRoomError(Exception):
    """A caller holds as many calls open as it may."""


class PartyServer:
    """Serves one party until it is stopped.

    Each call has a thread. It sends a reply when the previous one was sent, and reads a request when the
    servicer needs it, so a slow side slows down the other one and buffers stay small. A caller holds no more
    calls open than its share, and is asked to try again later beyond it.

    Args:
        servicer: servicer of the party.
        side: current TLS side of the party; called for every call, and to notice new certificates.
        address: host and port to listen on; port 0 means any free port.
        health: health service of the party.
        log: receives an event for every call and every change of certificates.
        reload_s: seconds between two looks at the certificates.

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
        reload_s: float = RELOAD_SECONDS,
    ) -> None:
        self._servicer = servicer
        self._side = side
        self._health = health
        self._log = log
        self.certificates = Certificates(side, self._log_reload, reload_s)
        self._shares = Shares(_MAX_CALLS)
        # One more thread than all shares, and room for calls that wait to be refused.
        self._threads = ThreadPoolExecutor(max_workers=_MAX_CALLS + 1, thread_name_prefix="call")
        self._server = grpc.server(self._threads, options=OPTIONS, maximum_concurrent_rpcs=2 * _MAX_CALLS)
        handlers = {
            method: grpc.stream_stream_rpc_method_handler(self._serving(method)) for method in METHODS
        }
        served = grpc.method_handlers_generic_handler(SERVICE, handlers)
        self._server.add_generic_rpc_handlers([served, health.handlers()])
        try:
            port = self._server.add_secure_port(address, self.certificates.credentials)
        except RuntimeError:
            raise DataError(
                f"cannot listen on {address}; check that the port is free and the host is this one"
            ) from None
        self.address = f"{address.rpartition(':')[0]}:{port}"

    def _log_reload(self, error: Exception | None) -> None:
        if error is None:
            self._log(Event("reload"))
        else:
            self._log(Event("reload", code=status_of(error).name, reason=reason(error)))

    def start(self) -> None:
        """Starts to accept calls."""
        self._health.start()
        self._server.start()
        self.certificates.start(self.address)
        self._log(Event("started", code="SERVING", address=self.address))

    def stop(self, grace_s: float = 10.0) -> None:
        """Accepts no new calls, waits for active ones, and cancels those that take longer."""
        self._health.stop()
        self.certificates.stop()
        self._server.stop(grace_s).wait()
        self.certificates.close()
        self._threads.shutdown(wait=True, cancel_futures=True)
        self._log(Event("stopped", code="NOT_SERVING"))

    def _serving(self, method: str) -> Callable[[Iterator[bytes], grpc.ServicerContext], Iterator[bytes]]:
        def serve(requests: Iterator[bytes], context: grpc.ServicerContext) -> Iterator[bytes]:
            fingerprint = fingerprint_of(context)
            call = Call(method, self._log, (fingerprint or "")[:_FINGERPRINT_DIGITS])
            try:
                side = self._side()
                if fingerprint is None or not side.accepts(fingerprint):
                    raise PolicyError(
                        "the caller's certificate is not pinned here; send its card to this daemon's operator"
                    )
                with self._shares.one_more(fingerprint, len(side.pinned)) as room:
                    if not room:
                        raise _NoRoomError
                    replies = self._replies(method, call.counted_in(requests), side, fingerprint)
                    yield from call.counted_out(replies)
            except _NoRoomError:
                # Without a refusal, so that the caller tries again.
                call.end("UNAVAILABLE", "the caller holds as many calls open as it may")
                context.abort(grpc.StatusCode.UNAVAILABLE, "too many open calls")
            except grpc.RpcError:
                call.end("CANCELLED", "the caller disconnected")
                raise
            except GeneratorExit:
                call.end("CANCELLED", "the caller disconnected")
                raise
            except Exception as error:
                call.end(status_of(error).name, reason(error))
                refuse(context, error)
            call.end("OK")

        return serve

    def _replies(
        self, method: str, requests: Iterator[bytes], side: TlsSide, fingerprint: str
    ) -> Iterator[bytes]:
        """The replies to a curator, or to another party."""
        if fingerprint in side.peers and fingerprint not in side.identities:
            return self._servicer.serve_peer(method, requests, side.peers[fingerprint])
        return self._servicer.serve(method, requests, side.identities.get(fingerprint, b""))
