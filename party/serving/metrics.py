"""Metrics for a daemon's monitoring: calls, bytes, health, share of the budget; no value, no attribute."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from ...common.errors import DataError
from ...common.extras import require_extra
from ...common.federation.card import PARTY
from ...common.processes.bounded_server import BoundedServer
from ...common.wire.tls import METHODS
from ..accounts.ledger import Ledger
from .events import Event, Log
from .health import failure

if TYPE_CHECKING:
    from prometheus_client.core import GaugeMetricFamily
    from prometheus_client.registry import CollectorRegistry

LOCALHOST = "127.0.0.1"
REQUEST_S = 10.0
"""Seconds that a whole request may take: strangers take no thread of the daemon for longer."""

_OTHER = "other"


class Metrics:
    """Counts events of a daemon's log, reads its ledger on request, and serves both to Prometheus.

    Args:
        ledger: ledger of the party or dealer.
        lifetime: `lifetime_rho` of the policy; None for a dealer, which is charged nothing.
        checks: name -> check of the health service, which raises if it fails.
        role: role of the daemon, which the names of all metrics contain.

    Raises:
        MissingExtraError: the extra `metrics` is not installed.
    """

    def __init__(
        self,
        ledger: Ledger,
        lifetime: Fraction | None,
        checks: Mapping[str, Callable[[], None]],
        role: str = PARTY,
    ) -> None:
        require_extra("metrics")
        from prometheus_client import Counter
        from prometheus_client.registry import CollectorRegistry

        self.registry: CollectorRegistry = CollectorRegistry()
        self._calls = Counter(
            f"dpmosaic_{role}_calls", "Calls that ended.", ("method", "code"), registry=self.registry
        )
        self._bytes = Counter(
            f"dpmosaic_{role}_bytes", "Payload of calls that ended.", ("direction",), registry=self.registry
        )
        self._seconds = Counter(
            f"dpmosaic_{role}_call_seconds", "Time that calls took.", ("method",), registry=self.registry
        )
        self.registry.register(_State(ledger, lifetime, checks, role))
        self._server: tuple[Any, threading.Thread] | None = None

    def counting_log(self, log: Log) -> Log:
        """A log whose events are counted before they are written."""

        def both(event: Event) -> None:
            self.count(event)
            log(event)

        return both

    def count(self, event: Event) -> None:
        """Counts a call that ended; ignores other events."""
        if event.event != "call":
            return
        # A caller chooses the name of a method, but must not create any number of labels.
        method = event.method if event.method in METHODS else _OTHER
        self._calls.labels(method, event.code).inc()
        self._seconds.labels(method).inc(event.seconds)
        self._bytes.labels("in").inc(event.bytes_in)
        self._bytes.labels("out").inc(event.bytes_out)

    def start(self, address: str) -> str:
        """Serves until `stop`.

        Args:
            address: host:port, or a port on localhost; port 0 means any free port.

        Returns:
            Host and port that are used.

        Raises:
            DataError: the address cannot be listened on.
        """
        from prometheus_client import MetricsHandler

        host, _, port = address.rpartition(":")
        if not port.isdecimal() or int(port) > 65535:
            raise DataError(f"metrics: expected host:port or a port, got {address!r}")
        pages = MetricsHandler.factory(self.registry)
        place = (host.removeprefix("[").removesuffix("]") or LOCALHOST, int(port))
        try:
            server = BoundedServer(
                place, lambda request, of, own, _: pages(request, of, own), None, REQUEST_S
            )
        except (DataError, OSError):
            raise DataError(
                f"metrics: cannot listen on {address}; check that the port is free and the host is this one"
            ) from None
        thread = threading.Thread(target=server.serve_forever, name="metrics", daemon=True)
        thread.start()
        self._server = server, thread
        return f"{host or LOCALHOST}:{server.server_address[1]}"

    def stop(self) -> None:
        """Stops serving."""
        if self._server is not None:
            server, thread = self._server
            server.shutdown()
            server.server_close()
            thread.join()
            self._server = None


class _State:
    """Gauges that are computed on request."""

    def __init__(
        self,
        ledger: Ledger,
        lifetime: Fraction | None,
        checks: Mapping[str, Callable[[], None]],
        role: str,
    ) -> None:
        self._ledger = ledger
        self._lifetime = lifetime
        self._checks = checks
        self._role = role

    def describe(self) -> list[GaugeMetricFamily]:
        """Empty, so that registration does not read the ledger."""
        return []

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """The current gauges."""
        from prometheus_client.core import GaugeMetricFamily

        prefix = f"dpmosaic_{self._role}"
        healthy = GaugeMetricFamily(f"{prefix}_healthy", "1 if the check passes.", labels=["what"])
        for name, check in self._checks.items():
            healthy.add_metric([name], float(failure(check) is None))
        yield healthy
        entries = self._ledger.summaries()
        yield GaugeMetricFamily(f"{prefix}_releases", "Releases accepted so far.", value=len(entries))
        if self._lifetime is None:
            return
        budget = GaugeMetricFamily(
            f"{prefix}_budget_share", "Share of lifetime_rho, granted or spent.", labels=["kind"]
        )
        for kind, total in (
            ("granted", sum((entry.granted for entry in entries), Fraction(0))),
            ("spent", sum((entry.spent for entry in entries), Fraction(0))),
        ):
            budget.add_metric([kind], float(total / self._lifetime) if self._lifetime else float(bool(total)))
        yield budget
