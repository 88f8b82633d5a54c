"""The standard gRPC health service of a party, which reports the result of real checks."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping

import grpc
from google.protobuf.message import DecodeError
from grpc_health.v1.health_pb2 import DESCRIPTOR, HealthCheckRequest, HealthCheckResponse

from ...common.errors import DataError, MosaicError
from ...common.wire.status import reason
from ...common.wire.tls import SERVICE
from .events import Event, Log, silent

CHECK_SECONDS = 5.0
_HEALTH = DESCRIPTOR.services_by_name["Health"].full_name
_ITS_LOG = "its operator finds the reason in the log"
_TOLD = {
    "source": "its rows cannot be read, or were replaced since it was started; its operator restarts it",
    "ledger": f"its ledger cannot be written; {_ITS_LOG}",
    "disk": "its disk is nearly full; its operator makes room",
    "certificate": "its certificate is not valid; its operator issues another one and a new card",
}


class Health:
    """Checks every few seconds whether the party can answer, and reports the result to clients that ask.

    Nobody can watch it: where a caller reads no reply, the servicer of gRPC's package stops the whole server.

    Args:
        checks: name -> check, which raises if it fails.
        log: receives an event when the state changes.
        every_s: seconds between two checks.
    """

    def __init__(
        self, checks: Mapping[str, Callable[[], None]], log: Log = silent, every_s: float = CHECK_SECONDS
    ) -> None:
        self._checks = checks
        self._log = log
        self._every_s = every_s
        self._stopped = threading.Event()
        self._serving: bool | None = None
        self._thread = threading.Thread(target=self._watch, name="health", daemon=True)

    def start(self) -> None:
        """Checks once, and then periodically."""
        self.check()
        self._thread.start()

    def check(self) -> bool:
        """Runs every check; returns whether all passed."""
        found = {name: failure(check) for name, check in self._checks.items()}
        failed = {name: error for name, error in found.items() if error is not None}
        if (serving := not failed) is not self._serving:
            why = "; ".join(f"{name}: {reason(error)}" for name, error in failed.items())
            self._log(Event("health", code="SERVING" if serving else "NOT_SERVING", reason=why))
        self._serving = serving
        return serving

    def handlers(self) -> grpc.GenericRpcHandler:
        """The health service, of which a server has to answer only `Check`."""
        check = grpc.unary_unary_rpc_method_handler(self._answer)
        return grpc.method_handlers_generic_handler(_HEALTH, {"Check": check})

    def stop(self) -> None:
        """Reports NOT_SERVING from now on, without further checks."""
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join()

    def _answer(self, request: bytes, context: grpc.ServicerContext) -> bytes:
        """The latest result, for the party's service or the whole server."""
        try:
            service = HealthCheckRequest.FromString(request).service
        except DecodeError:
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, "no request of the health service")
        if service not in ("", SERVICE):
            context.abort(grpc.StatusCode.NOT_FOUND, "no such service")
        serving = self._serving and not self._stopped.is_set()
        state = HealthCheckResponse.SERVING if serving else HealthCheckResponse.NOT_SERVING
        return bytes(HealthCheckResponse(status=state).SerializeToString())

    def _watch(self) -> None:
        while not self._stopped.wait(self._every_s):
            self.check()


def failure(check: Callable[[], None]) -> Exception | None:
    """What a check raises; None if it passes."""
    try:
        check()
    except Exception as error:
        return error
    return None


def failures(checks: Mapping[str, Callable[[], None]]) -> tuple[MosaicError, ...]:
    """An error for each check that fails, for curators; without its text, which may name files."""
    failed = [name for name, check in list(checks.items()) if failure(check) is not None]
    return tuple(DataError(_TOLD.get(name, f"the check of its {name} fails; {_ITS_LOG}")) for name in failed)
