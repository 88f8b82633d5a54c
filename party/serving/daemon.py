"""The process of one party, which serves its folder until it is stopped."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import TextIO

from ...common.stopping import Stop
from ..home import LEDGER, SHAREABLE_LOG, PartyHome, Reread
from ..ledger import Ledger
from ..policy_file import Settings
from .attachment import Attachment
from .events import Event, EventLog, Log
from .health import Health
from .metrics import Metrics
from .server import PartyServer
from .servicer import PartyServicer

_GRACE_S = 20.0


def serve(
    home: PartyHome,
    log_to: TextIO,
    *,
    listen: str | None = None,
    attach: str | None = None,
    curator: str | None = None,
    metrics: str | None = None,
    until_ends: int | None = None,
) -> None:
    """Serves a party until SIGTERM or SIGINT; then active calls may finish.

    Args:
        home: folder of the party.
        log_to: receives the full log; the shareable log is in the folder.
        listen: host and port, instead of the policy's.
        attach: host and port of a curator to dial, instead of listening.
        curator: name of that curator; None if only one is pinned.
        metrics: host and port for Prometheus, instead of the policy's.
        until_ends: file descriptor of a pipe; the party also stops at its end, as when the writer dies.

    Raises:
        DataError: the folder is inconsistent, or the address is in use.
    """
    stop = Stop().at_signals()
    if until_ends is not None:
        threading.Thread(target=_watch, args=(until_ends, stop), name="starter", daemon=True).start()
    with home.claimed(), home.file(SHAREABLE_LOG).open("a", encoding="utf-8") as shareable:
        settings = Settings.load(home.folder)
        home.check_files()
        ledger, approvals = Ledger(home.folder / LEDGER), home.approvals(automatic=not settings.approval)
        log: Log = EventLog(log_to, shareable)
        party = home.party(settings, ledger, approvals)
        checks = _checks(home, settings, ledger)
        servicer = PartyServicer(party)
        counting: Metrics | None = None
        if (metrics_at := metrics or settings.metrics) is not None:
            counting = Metrics(ledger, settings.policy.lifetime_rho, checks)
            log(Event("metrics", code="SERVING", address=counting.start(metrics_at)))
            log = counting.logged(log)
        if attach is None:
            side = Reread(home.side, home.keyring.folder)
            server = PartyServer(servicer, side, listen or settings.listen, Health(checks, log), log)
            checks["reload"] = server.certificates.check_current
            server.start()
            stop.wait()
            server.stop(_GRACE_S)
        else:
            address = attach
            dialled = home.curator(curator)
            attachment = Attachment(
                servicer, lambda: home.channel_to(dialled.name, address), dialled.identity, log
            )
            checks["link"] = attachment.check_link
            attachment.start()
            stop.wait()
            attachment.stop()
        if counting is not None:
            counting.stop()
        ledger.close()
        approvals.close()


def _checks(home: PartyHome, settings: Settings, ledger: Ledger) -> dict[str, Callable[[], None]]:
    """What has to hold for the party to be healthy; each check raises where it does not."""
    return {
        "ledger": ledger.check_writable,
        "source": lambda: _readable(settings),
        "certificate": lambda: _valid(home),
    }


def _watch(descriptor: int, stop: Stop) -> None:
    # Unbuffered: the lock of a buffer would be held while the interpreter shuts down.
    while os.read(descriptor, 1024):
        pass

    stop.request()


def _readable(settings: Settings) -> None:
    settings.source().columns()


def _valid(home: PartyHome) -> None:
    home.keyring.certificate.check_valid()
