"""The releases that a party works on: decoded once, and bounded in number."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable

from ..common.canonical.terms import decode_terms
from ..common.messages import ReleaseTerms
from .answerers.answerer import Answerer
from .ledger import Ledger

MOST = 64
"""So many releases are kept at once; the one that was asked about longest ago gives way."""


class Releases:
    """The answerers of accepted releases; threads may ask at the same time.

    A release that gave way, or was accepted before the party was started, is decoded from the ledger again.
    What was delivered for it is lost then, and curators deliver it again.

    Args:
        ledger: of the party.
        begin: makes the answerer of an accepted release.
    """

    def __init__(self, ledger: Ledger, begin: Callable[[ReleaseTerms], Answerer]) -> None:
        self._ledger = ledger
        self._begin = begin
        self._lock = threading.Lock()
        self._answerers: OrderedDict[str, Answerer] = OrderedDict()

    def of(self, release_id: str) -> Answerer:
        """The answerer of a release.

        Raises:
            ProtocolError: it was not accepted.
        """
        with self._lock:
            known = self._answerers.get(release_id)
            if known is None:
                return self._kept(decode_terms(self._ledger.release(release_id).terms))
            self._answerers.move_to_end(release_id)
            return known

    def add(self, terms: ReleaseTerms) -> None:
        """Adds a release that the ledger has just accepted; one that is there stays as it is."""
        with self._lock:
            if terms.release_id not in self._answerers:
                self._kept(terms)

    def _kept(self, terms: ReleaseTerms) -> Answerer:
        answerer = self._answerers[terms.release_id] = self._begin(terms)
        while len(self._answerers) > MOST:
            self._answerers.popitem(last=False)
        return answerer
