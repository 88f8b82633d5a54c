"""What a party's ledger tells: marks, budgets, releases."""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

from ...common.history import Mark
from ...common.privacy.spending import Cost, together
from ..policies.quotas import Taken
from .answers import AnswerRows
from .bindings import BindingRows
from .costs import Costs
from .file_format import open_database
from .history import History
from .placements import Placements
from .releases import ReleaseRows
from .rows import (
    CertifiedRelease,
    KeptAlignment,
    LedgerCharge,
    LedgerEvents,
    LedgerRelease,
    LedgerRestoration,
    LedgerSummary,
)
from .times import Times


class ReadLedger:
    """The part of a ledger that changes nothing in it; thread-safe.

    Args:
        path: the SQLite file; None for a new ledger in memory.
        clock: seconds since 1970 in UTC, noted with each event.

    Raises:
        DataError: there is no such file, other users can read it, or it has another format.
    """

    def __init__(self, path: Path | None = None, clock: Callable[[], float] = time.time) -> None:
        self._database = open_database(path)
        self._lock = threading.Lock()
        self._history = History(self._database)
        self._releases = ReleaseRows(self._database)
        self._answers = AnswerRows(self._database)
        self._costs = Costs(self._database)
        self._bindings = BindingRows(self._database)
        self._placements = Placements(self._database)
        self._times = Times(self._database, clock)
        weakref.finalize(self, self._database.close)

    def close(self) -> None:
        """Closes the file."""
        self._database.close()

    def mark(self) -> Mark:
        """The high-water mark: how many events were ever written, and the head of their chain."""
        with self._lock:
            return self._history.mark()

    def check_contains(self, mark: Mark) -> None:
        """Returns only if this ledger stated the mark at some time.

        Raises:
            ProtocolError: it did not, so it was restored from an old copy.
        """
        with self._lock:
            self._history.check_contains(mark)

    def costs(self) -> list[Cost]:
        """What is reserved or spent, each for its unit: grants of open releases, costs of closed ones."""
        return [one.cost for one in self.list_taken()]

    def list_taken(self) -> list[Taken]:
        """What each release takes of the budgets, in all and in this calendar year."""
        with self._lock:
            return self._list_taken()

    def total_reserved(self) -> Fraction:
        """Total budget that is reserved or spent, zCDP, for a person with one row; see `together`."""
        return together(self.costs()).zcdp_rho

    def release(self, release_id: str) -> LedgerRelease:
        """The entry of an open release.

        Raises:
            ProtocolError: it was not accepted, or is closed.
        """
        with self._lock:
            return LedgerRelease(*self._releases.open(release_id, "terms, data_digest, secret, introduction"))

    def terms(self, release_id: str) -> bytes | None:
        """The encoded terms of a release, open or closed; None if it was not accepted."""
        with self._lock:
            row = self._releases.find(release_id, "terms")
        return None if row is None else bytes(row[0])

    def certified_release(self, release_id: str) -> CertifiedRelease | None:
        """A release whose certificate this party signed; None if it was not accepted, or has none."""
        with self._lock:
            row = self._releases.find(release_id, "terms, certificate")
        return None if row is None or row[1] is None else CertifiedRelease(*row)

    def open_releases(self) -> frozenset[str]:
        """Ids of all accepted releases that are not closed."""
        with self._lock:
            return self._releases.all_open()

    def curator(self, release_id: str) -> bytes | None:
        """Identity of a release's curator, empty if any may call; None if it was not accepted."""
        with self._lock:
            row = self._releases.find(release_id, "curator")
        return None if row is None else bytes(row[0])

    def bound(self, release_id: str, kind: str, of: str) -> str | None:
        """The digest of what a secret of an open release hides; None if it was not used."""
        with self._lock:
            return self._bindings.find(release_id, kind, of)

    def alignment(self, alignment_id: str, data_digest: str) -> KeptAlignment:
        """A finished alignment.

        Args:
            alignment_id: id of the release that made it.
            data_digest: digest of the rows that it is used for.

        Raises:
            ProtocolError: there is none, it is not finished, or it is of other rows.
        """
        with self._lock:
            return self._placements.finished_alignment(alignment_id, data_digest)

    def placements(self, data_digest: str) -> tuple[str, ...]:
        """Ids of the finished alignments of these rows, the latest last."""
        with self._lock:
            return self._placements.ids(data_digest)

    def summaries(self) -> list[LedgerSummary]:
        """Summaries of all accepted releases, in the order of acceptance."""
        with self._lock:
            return self._releases.summaries()

    def events(self) -> list[LedgerEvents]:
        """Beginning and end of all accepted releases, in the order of acceptance."""
        with self._lock:
            return self._times.events()

    def restorations(self) -> list[LedgerRestoration]:
        """All restorations of the ledger from backups, in their order."""
        with self._lock:
            return self._times.restorations()

    def charges(self) -> list[LedgerCharge]:
        """All charged queries, in the order in which they were charged."""
        with self._lock:
            return self._times.charges()

    def cost_of(self, release_id: str) -> Fraction:
        """Cost of a release so far, zCDP."""
        with self._lock:
            row = self._releases.find(release_id, "spent")
        return Fraction(row[0]) if row else Fraction(0)

    def check_not_held(self) -> None:
        """Returns only if the ledger may accept releases.

        Raises:
            PolicyError: it was restored from a backup, and nobody has counted what was spent since.
        """
        with self._lock:
            self._releases.check_not_held()

    def was_recounted(self) -> bool:
        """Whether it was restored and recounted since the identity of its owner was replaced last."""
        with self._lock:
            return self._releases.was_recounted()

    def is_held(self) -> bool:
        """Whether the ledger was restored from a backup and accepts nothing until `recount`."""
        with self._lock:
            return self._releases.is_held()

    def _list_taken(self) -> list[Taken]:
        return self._costs.list_taken(self._times.first_of_year())
