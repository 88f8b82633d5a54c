"""The active releases of a party: decoded once, and bounded in number."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable

from ..common.canonical.terms import decode_terms
from ..common.messages import ReleaseTerms
from .answerers.answerer import Answerer
from .ledger import Ledger


class Releases:
    """The answerers of accepted releases; thread-safe.

    A release that was removed, or accepted before the party was started, is decoded from the ledger again.
    Its deliveries are lost then, and curators deliver them again. A release that is closed in the ledger,
    also by another process, is removed at the next call of any release.

    Args:
        ledger: ledger of the party.
        begin: creates the answerer of an accepted release.
        check_running: raises to refuse a message of a release that was stopped, given its id.
        most: largest number of active releases; the least recently used one is removed.
    """

    def __init__(
        self,
        ledger: Ledger,
        begin: Callable[[ReleaseTerms], Answerer],
        check_running: Callable[[str], None],
        most: int,
    ) -> None:
        self._ledger = ledger
        self._begin = begin
        self._check_running = check_running
        self._most = most
        self._lock = threading.Lock()
        self._answerers: OrderedDict[str, Answerer] = OrderedDict()

    def of(self, release_id: str) -> Answerer:
        """The answerer of a release, for one message of it.

        Raises:
            PolicyError: it was stopped.
            ProtocolError: it was not accepted, or is closed.
        """
        self._check_running(release_id)
        self.drop_closed()
        with self._lock:
            known = self._answerers.get(release_id)
            if known is None:
                return self._kept(decode_terms(self._ledger.release(release_id).terms))
            self._answerers.move_to_end(release_id)
            return known

    def add(self, terms: ReleaseTerms) -> None:
        """Adds a release that the ledger has just accepted, unless it is active already."""
        with self._lock:
            if terms.release_id not in self._answerers:
                self._kept(terms)

    def drop_closed(self) -> None:
        """Removes the keys, openings and shares of all releases that are closed in the ledger."""
        with self._lock:
            for release_id in self._answerers.keys() - self._ledger.open_releases():
                del self._answerers[release_id]

    def _kept(self, terms: ReleaseTerms) -> Answerer:
        answerer = self._answerers[terms.release_id] = self._begin(terms)
        while len(self._answerers) > self._most:
            self._answerers.popitem(last=False)
        return answerer
