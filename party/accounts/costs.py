"""What the releases in a party's ledger cost, each for the unit of its terms, with the delta of labels."""

from __future__ import annotations

import sqlite3
from fractions import Fraction

from ...common.canonical.terms import decode_terms
from ...common.privacy.budget import AnswerKind
from ...common.privacy.cost import Adjacency, PrivacyUnit
from ...common.privacy.spending import Cost
from ..policies.quotas import Taken

_IN_FULL = ""
"""Stands for a query where the rest of a release's delta is counted without one."""

_UNKNOWN = PrivacyUnit(Adjacency.ZERO_OUT, 1 << 31)
"""Unit of what was counted after a restoration, for any number of rows; replacing a record costs more."""


class Costs:
    """Sums over the tables `release`, `answer`, `charged` and `restoration`; the ledger holds its lock.

    Args:
        database: database of the ledger.
    """

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database
        self._granted: dict[str, tuple[Cost, str]] = {}

    def delta_spent(self, release_id: str) -> Fraction:
        """The delta of the labels that a release was charged for."""
        rows = self._database.execute("SELECT delta FROM charged WHERE release_id = ?", (release_id,))
        return sum((Fraction(delta) for (delta,) in rows), Fraction(0))

    def delta_left(self, release_id: str) -> Fraction:
        """What is left of the delta that an accepted release was granted for labels."""
        granted = self.granted_cost(release_id).delta
        return granted and granted - self.delta_spent(release_id)

    def granted_cost(self, release_id: str) -> Cost:
        """What the terms of an accepted release allow it to cost."""
        return self._granted_of(release_id)[0]

    def count_in_full(self, release_id: str) -> None:
        """Counts the rest of a release's delta as spent."""
        self._count(release_id, _IN_FULL, self.delta_left(release_id))

    def recount(self, number: int, delta: Fraction) -> None:
        """Counts a delta as spent after the restoration of this number."""
        self._count("", str(number), delta)

    def list_taken(self, first: int) -> list[Taken]:
        """What each release may cost while it is open, and has cost once it is closed.

        Args:
            first: number of the first event of this calendar year.
        """
        releases = self._database.execute(
            "SELECT release_id, spent, curator, accepted_at < ?, closed_at, closed_at < ? FROM release",
            (first, first),
        )
        found = []
        for release_id, spent, curator, carried, closed, is_over in releases.fetchall():
            cost, whole = self._granted_of(release_id)
            if closed is not None:
                cost = Cost(cost.unit, Fraction(spent), cost.delta and self.delta_spent(release_id))
            before = self._charged_before(first, release_id) if carried and not is_over else Fraction(0)
            found.append(Taken(cost, Fraction(0) if is_over else cost.zcdp_rho - before, curator, whole))
        counted = self._database.execute(
            "SELECT counted, number >= ? FROM restoration WHERE counted IS NOT NULL", (first,)
        )
        for rho, is_recent in counted.fetchall():
            found.append(Taken(Cost(_UNKNOWN, Fraction(rho)), Fraction(rho) * is_recent))
        return [*found, Taken(Cost(_UNKNOWN, delta=self.delta_spent("")))]

    def _granted_of(self, release_id: str) -> tuple[Cost, str]:
        """What terms allow a release to cost, and the id of the whole of which it is a part."""
        if release_id not in self._granted:
            (encoded,) = self._database.execute(
                "SELECT terms FROM release WHERE release_id = ?", (release_id,)
            ).fetchone()
            terms = decode_terms(encoded)
            part = terms.plan.related
            self._granted[release_id] = terms.granted_cost, "" if part is None else part.whole
        return self._granted[release_id]

    def _charged_before(self, first: int, release_id: str) -> Fraction:
        """What a release was charged for before an event."""
        rows = self._database.execute(
            "SELECT rho FROM moment CROSS JOIN answer USING (release_id, query_id) "
            "WHERE number < ? AND release_id = ?",
            (first, release_id),
        )
        return sum((Fraction(rho) for (rho,) in rows), Fraction(0))

    def _count(self, release_id: str, query_id: str, delta: Fraction) -> None:
        if delta > 0:
            self._database.execute(
                "INSERT INTO charged VALUES (?, ?, ?, '[]', '[]', ?)",
                (release_id, query_id, AnswerKind.LABELS.value, str(delta)),
            )
