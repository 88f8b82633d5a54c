"""The process of one party or dealer, which serves its folder until it is stopped."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator
from functools import partial
from typing import TextIO

from ...common.errors import DataError
from ...common.federation.card import PARTY, Card
from ...common.processes.notices import APPROVAL_WAITS, CERTIFICATE_ENDS, UNHEALTHY, Notifier
from ...common.processes.reread import Reread
from ...common.processes.stopping import Stop
from ..disk import check_room, told_if_full
from ..home.folder import SHAREABLE_LOG, Home, Opened
from ..policies.direct import NO_DIRECT
from .attachment import Attachment
from .collecting import Collector
from .events import Event, EventLog, Log
from .health import Health, failure
from .https import Place
from .log_files import log_of
from .metrics import Metrics
from .server import PartyServer
from .servicer import PartyServicer
from .watch import Watch

_GRACE_S = 20.0
_LAST_NOTICE_S = 5.0
_END_S = 30.0
"""Seconds after a stop request after which the process ends even if a call still computes."""


def serve(
    home: Home,
    log_to: TextIO,
    *,
    listen: str | None = None,
    attach: str | None = None,
    through: str | None = None,
    curator: str | None = None,
    metrics: str | None = None,
    until_ends: int | None = None,
) -> None:
    """Serves a party or dealer until SIGTERM or SIGINT; then active calls may finish.

    Args:
        home: folder of the party or dealer.
        log_to: receives the full log; the shareable log is in the folder.
        listen: host and port, instead of the policy's.
        attach: host and port of a curator to dial, instead of listening.
        through: address of a curator's mailbox, from which a party fetches files, instead of listening.
        curator: name of that curator; None if only one is pinned.
        metrics: host and port for Prometheus, instead of the policy's.
        until_ends: file descriptor of a pipe; the daemon also stops at its end, as when the writer dies.

    Raises:
        DataError: the folder is inconsistent, the address is in use or none, or the disk is full.
    """
    if through is not None and home.role != PARTY:
        raise DataError(
            "expected a party to fetch files from a mailbox, got a dealer, which deals all the time; let it "
            "listen, or attach"
        )
    stop = Stop().at_signals()
    if until_ends is not None:
        threading.Thread(target=_watch, args=(until_ends, stop), name="starter", daemon=True).start()
    with told_if_full(home.folder):
        _serve(
            home,
            log_to,
            stop,
            listen=listen,
            attach=attach,
            through=through,
            curator=curator,
            metrics=metrics,
        )


def _serve(
    home: Home,
    log_to: TextIO,
    stop: Stop,
    *,
    listen: str | None,
    attach: str | None,
    through: str | None,
    curator: str | None,
    metrics: str | None,
) -> None:
    with home.claim():
        home.check_files()
        with log_of(home, SHAREABLE_LOG) as shareable, home.open_role() as opened:
            log: Log = EventLog(log_to, shareable)
            checks = opened.checks
            checks["disk"] = partial(check_room, home.folder)
            direct = opened.direct or NO_DIRECT
            side = Reread(lambda: direct.side(home.side()), home.certificate_files)
            servicer = PartyServicer(opened.role, checks=checks, direct=direct, side=side)
            counting: Metrics | None = None
            if (metrics_at := metrics or opened.metrics) is not None:
                counting = Metrics(opened.ledger, opened.lifetime, checks, home.role)
                log(Event("metrics", code="SERVING", address=counting.start(metrics_at)))
                log = counting.counting_log(log)
            if attach is None and through is None:
                server = PartyServer(servicer, side, listen or opened.listen, Health(checks, log), log)
                checks["reload"] = server.certificates.check_current
                server.start()
                with _tell_operator(home, opened, log):
                    stop.wait()
                end_in_time(log)
                server.stop(_GRACE_S)
            else:
                link = _link(home, opened, servicer, log, attach, through, home.curator(curator))
                checks["link"] = link.check_link
                link.start()
                with _tell_operator(home, opened, log):
                    stop.wait()
                end_in_time(log)
                link.stop()
            if counting is not None:
                counting.stop()


def _link(
    home: Home,
    opened: Opened,
    servicer: PartyServicer,
    log: Log,
    attach: str | None,
    through: str | None,
    curator: Card,
) -> Attachment | Collector:
    """What dials a curator: its listener, or its mailbox."""
    if through is not None:
        place = Place(through, opened.proxy, opened.authorities)
        waiting = opened.watched[APPROVAL_WAITS]
        return Collector(home, servicer, opened.ledger, place, curator, waiting, log)
    assert attach is not None
    address = attach
    return Attachment(
        servicer,
        lambda: home.channel_to(curator.name, address, opened.proxy),
        curator.identity,
        log,
    )


@contextlib.contextmanager
def _tell_operator(home: Home, opened: Opened, log: Log) -> Iterator[None]:
    """Tells the operator of what the role watches, of a certificate that ends, and of failing checks."""

    def log_undelivered(why: str) -> None:
        log(Event("notice", code="UNDELIVERED", reason=why))

    def unhealthy() -> list[str]:
        # The link of an attached daemon is down between two releases.
        checks = [(name, check) for name, check in list(opened.checks.items()) if name != "link"]
        return ["health"] if any(failure(check) is not None for _, check in checks) else []

    def certificate_ends() -> list[str]:
        certificate = home.keyring.certificate
        return [] if certificate.warning() is None else [certificate.fingerprint]

    notifier = Notifier(opened.notify, home.role, home.keyring.name, log_undelivered)
    conditions = {**opened.watched, CERTIFICATE_ENDS: certificate_ends, UNHEALTHY: unhealthy}
    watch = Watch(conditions, notifier, log)
    watch.start()
    try:
        yield
    finally:
        watch.stop()
        notifier.close(_LAST_NOTICE_S)


def end_in_time(log: Log) -> None:
    """Ends the process after some seconds, whatever still computes; every process may be killed at any time.

    Args:
        log: receives an event before the process is ended.
    """

    def end() -> None:
        log(Event("stopped", code="DEADLINE_EXCEEDED", reason="a call still computed; it can be repeated"))
        os._exit(0)

    timer = threading.Timer(_END_S, end)
    timer.daemon = True
    timer.start()


def _watch(descriptor: int, stop: Stop) -> None:
    # Unbuffered: the lock of a buffer would be held while the interpreter shuts down.
    while os.read(descriptor, 1024):
        pass

    stop.request()
