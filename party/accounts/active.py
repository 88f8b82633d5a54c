"""The active releases of a party or dealer: decoded once, and bounded in number."""

from __future__ import annotations

import gc
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

from ...common.canonical.terms import decode_terms
from ...common.errors import ProtocolError
from ...common.federation.protocol_versions import SPOKEN
from ...common.terms import ReleaseTerms
from .ledger import Ledger

Active = TypeVar("Active")
"""What answers in one release, such as an `Answerer`."""


class Releases(Generic[Active]):
    """What answers in each accepted release; thread-safe.

    A release that was removed, or accepted before the party was started, is decoded from the ledger again.
    Its deliveries are lost then, and curators deliver them again. A release that is closed in the ledger,
    also by another process, is removed at the next call of any release.

    Args:
        ledger: ledger of the party or dealer.
        begin: creates what answers in an accepted release.
        check_running: raises to refuse a message of a release that was stopped, given its id.
        most: largest number of active releases; the least recently used one is removed.
    """

    def __init__(
        self,
        ledger: Ledger,
        begin: Callable[[ReleaseTerms], Active],
        check_running: Callable[[str], None],
        most: int,
    ) -> None:
        self._ledger = ledger
        self._begin = begin
        self._check_running = check_running
        self._most = most
        self._lock = threading.Lock()
        self._active: OrderedDict[str, Active] = OrderedDict()

    def of(self, release_id: str) -> Active:
        """What answers in a release, for one message of it.

        Raises:
            PolicyError: it was stopped.
            ProtocolError: it was not accepted, or is closed.
        """
        self._check_running(release_id)
        self.drop_closed()
        with self._lock:
            known = self._active.get(release_id)
            if known is None:
                terms = decode_terms(self._ledger.release(release_id).terms)
                if terms.protocol_version not in SPOKEN:
                    raise ProtocolError(
                        f"the release began with protocol version {terms.protocol_version}, and this "
                        f"software speaks {SPOKEN}; abandon it, or install the earlier version to finish it"
                    )
                return self._begin_and_keep(terms)
            self._active.move_to_end(release_id)
            return known

    def add(self, terms: ReleaseTerms) -> None:
        """Adds a release that the ledger has just accepted, unless it is active already."""
        with self._lock:
            if terms.release_id not in self._active:
                self._begin_and_keep(terms)

    def drop_closed(self) -> None:
        """Removes the keys, openings and shares of all releases that are closed in the ledger."""
        with self._lock:
            closed = self._active.keys() - self._ledger.open_releases()
            dropped = [weakref.ref(self._active.pop(release_id)) for release_id in closed]
        if any(one() is not None for one in dropped):
            # An error that was raised holds, in a cycle, what it passed through: openings and codes on disk.
            gc.collect()

    def _begin_and_keep(self, terms: ReleaseTerms) -> Active:
        begun = self._active[terms.release_id] = self._begin(terms)
        while len(self._active) > self._most:
            self._active.popitem(last=False)
        return begun
