"""A party that fetches bundles from its curator's mailbox, and brings the answers; it listens nowhere."""

from __future__ import annotations

import hashlib
import socket
import threading
import time
from collections.abc import Callable, Collection
from http import HTTPStatus

from ...common.errors import ApprovalPending, PartyUnavailable, ProtocolError
from ...common.federation.card import Card
from ...common.processes.bounded_server import cut_off
from ...common.wire.bundles import MOST_BYTES, Bundle
from ...common.wire.mailbox import MOST_HELD, MailboxRequest
from ...common.wire.status import reason, status_of
from ..accounts.ledger import Ledger
from ..home.folder import Home
from .by_files import answer_bundle
from .events import Event, Log, silent
from .https import Place
from .proxies import proxy_says
from .servicer import PartyServicer

_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.5, 5.0
_REFUSED_PAUSE_S = 60.0
_LONGEST_WAIT_S, _SHORTEST_WAIT_S = 20, 1
"""Bounds of the time for which a mailbox is asked to wait, in seconds: some proxies cut what is silent."""

_HELD_WAIT_S = 2
"""The same while an officer's decision is awaited, which is looked for in between."""

_PIECE_BYTES = 1 << 20

_REMEMBERED = 1000
"""Number of bundles of which it is known how often they came."""

_REMEDIES = {
    HTTPStatus.FORBIDDEN: "the curator's mailbox, or a proxy before it, refuses this party (403); ask the "
    "curator whether its card is enrolled with --by-files, compare the address, and set the clock by a time "
    "server",
    HTTPStatus.PROXY_AUTHENTICATION_REQUIRED: proxy_says("407"),
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: "something between here and the curator's mailbox refuses so long "
    "an answer (413); ask who runs it to raise its limit for bodies of requests",
}
"""What helps against statuses that stay until somebody changes something."""

_PASSING = (HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.CONFLICT, HTTPStatus.TOO_MANY_REQUESTS)
"""Statuses below 500 after which a later request may succeed."""


class Collector:
    """Fetches bundles, answers them and brings the answers back, until it is stopped.

    It remembers nothing that it needs: a bundle whose answer did not arrive is fetched and answered again,
    and charged once.

    Args:
        home: folder of the party.
        servicer: servicer of the party.
        ledger: its ledger.
        place: where the mailbox is.
        curator: card of the curator.
        waiting: ids of the releases that wait for the party's officer.
        log: receives an event for every call and every change of the link.
        now: seconds since 1970 in UTC.
    """

    def __init__(
        self,
        home: Home,
        servicer: PartyServicer,
        ledger: Ledger,
        place: Place,
        curator: Card,
        waiting: Callable[[], Collection[str]],
        log: Log = silent,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._home = home
        self._servicer = servicer
        self._ledger = ledger
        self._place = place
        self._curator = curator
        self._waiting = waiting
        self._log = log
        self._now = now
        self._stopped = threading.Event()
        self._lock = threading.Lock()
        self._connection: socket.socket | None = None
        self._sent_us = 0
        self._wait_s = _LONGEST_WAIT_S
        self._held: list[str] = []
        self._answered: dict[bytes, int] = {}
        self._why: str | None = ""
        self._thread = threading.Thread(target=self._run, name="mailbox", daemon=True)

    def start(self) -> None:
        """Starts to ask."""
        self._thread.start()
        self._log(Event("started", code="DIALLING"))

    def stop(self) -> None:
        """Ends what it waits for; an answer that is being computed may be finished."""
        self._stopped.set()
        with self._lock:
            if self._connection is not None:
                cut_off(self._connection)
        self._thread.join()
        self._log(Event("stopped", code="NOT_SERVING"))

    def check_link(self) -> None:
        """Returns only if the mailbox replied last time.

        Raises:
            PartyUnavailable: it did not, or was not asked yet.
        """
        if self._why is not None:
            raise PartyUnavailable(self._why or "the curator's mailbox was not reached yet")

    def _run(self) -> None:
        pause = _FIRST_PAUSE_S
        while not self._stopped.is_set():
            try:
                self._fetch_and_answer()
                pause = _FIRST_PAUSE_S
                continue
            except PartyUnavailable as error:
                self._tell(error)
                self._stopped.wait(pause)
                pause = min(2 * pause, _LONGEST_PAUSE_S)
            except Exception as error:
                self._tell(error)
                self._stopped.wait(_REFUSED_PAUSE_S)

    def _fetch_and_answer(self) -> None:
        """One bundle, if one comes in time."""
        waiting = self._waiting() if self._held else ()
        self._held = [name for name in self._held if name.partition("-")[0] in waiting]
        bundle = self._ask(min(self._wait_s, _HELD_WAIT_S) if self._held else self._wait_s)
        if bundle is None:
            return
        self._wait_if_repeated(bundle.digest)
        try:
            answered = answer_bundle(self._home, self._servicer, self._ledger, bundle, self._log)
        except ApprovalPending:
            self._held.append(f"{bundle.header.release_id}-{bundle.header.number:04d}")
            return
        if not self._stopped.is_set():
            self._ask(answer=answered.bundle.to_bytes())

    def _wait_if_repeated(self, digest: bytes) -> None:
        """Waits before a bundle that came before, the longer the more often: proxies might repeat it."""
        times = self._answered.pop(digest, 0)
        self._answered[digest] = times + 1
        if len(self._answered) > _REMEMBERED:
            del self._answered[next(iter(self._answered))]
        if times:
            self._stopped.wait(min(_FIRST_PAUSE_S * 2**times, _REFUSED_PAUSE_S))

    def _ask(self, wait_s: int = 0, answer: bytes = b"") -> Bundle | None:
        """What the mailbox replies: a bundle, or nothing."""
        self._sent_us = max(self._sent_us + 1, int(self._now() * 1e6))
        request = MailboxRequest(
            self._home.keyring.name,
            self._curator.name,
            self._sent_us,
            wait_s,
            tuple(self._held[-MOST_HELD:]),
            len(answer),
            hashlib.sha256(answer).digest() if answer else b"",
        )
        head = request.sign(self._home.keyring.identity)
        pieces = [head, *(answer[at : at + _PIECE_BYTES] for at in range(0, len(answer), _PIECE_BYTES))]
        length = len(head) + len(answer)
        try:
            bundle = _bundle_of(*self._place.post(pieces, length, MOST_BYTES, wait_s, self._begin))
        except PartyUnavailable:
            if wait_s:
                self._wait_s = max(self._wait_s // 2, _SHORTEST_WAIT_S)
            raise
        finally:
            with self._lock:
                self._connection = None
        self._wait_s = min(self._wait_s + 1, _LONGEST_WAIT_S)
        if self._why is not None:
            self._why = None
            self._log(Event("link", code="SERVING"))
        return bundle

    def _begin(self, connection: socket.socket) -> None:
        with self._lock:
            self._connection = connection
            if self._stopped.is_set():
                raise PartyUnavailable("the daemon was stopped")

    def _tell(self, error: Exception) -> None:
        """Logs why nothing was fetched or brought, once until the reason changes."""
        why = reason(error)
        if why != self._why and not self._stopped.is_set():
            self._why = why
            self._log(Event("link", code=status_of(error).name, reason=why))


def _bundle_of(status: int, content: bytes) -> Bundle | None:
    """What a mailbox replied: a bundle, or nothing.

    Raises:
        PartyUnavailable: a later request may succeed.
        ProtocolError: somebody has to change something.
    """
    if status == HTTPStatus.NO_CONTENT:
        return None
    if status == HTTPStatus.OK:
        try:
            return Bundle.read(content)
        except ProtocolError as cause:
            raise ProtocolError(
                "expected a bundle of the curator's mailbox, got something else: perhaps a page of a proxy "
                "that wants a login or blocks the address; ask who runs it"
            ) from cause
    if status in _REMEDIES:
        raise ProtocolError(_REMEDIES[HTTPStatus(status)])
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR or status in _PASSING:
        raise PartyUnavailable(f"the curator's mailbox, or a proxy before it, has no time now ({status})")
    raise ProtocolError(
        f"something answers in place of the curator's mailbox ({status}); compare the address, and ask who "
        "runs the proxies between"
    )
