"""A party's durable record of its grants and charges: SQLite, one transaction for each entry."""

from __future__ import annotations

import contextlib
import hashlib
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

from ...common.canonical.terms import encode_terms
from ...common.errors import BudgetError, DataError, PartyUnavailable, PolicyError, ProtocolError
from ...common.history import Mark
from ...common.promises.pricing import entry_of
from ...common.promises.statement import Claim, Entry, next_link
from ...common.queries import Asked
from ...common.terms import ReleaseTerms
from ..policies.quotas import Taken
from .file_format import create_database
from .reading import ReadLedger
from .releases import refusal_of_closed
from .rows import (
    ABANDONED,
    CERTIFIED,
    OPEN,
    LedgerEntry,
    LedgerRelease,
    Placement,
)


def _no_signature(link: bytes) -> bytes:
    return b""


class Ledger(ReadLedger):
    """Reserved and spent budgets. A confirmed entry is on disk; no query is charged twice.

    A release ends when it is certified or abandoned. Its secret, its introduction, the keys of its noise and
    its bindings are erased then, and what it did not spend is no longer reserved; terms, entries and
    signatures stay.

    Args:
        path: the SQLite file, made by `create`; or None for a new ledger in memory (simulations).
        clock: seconds since 1970 in UTC, noted with each event.

    Raises:
        DataError: there is no such file, other users can read it, or it has another format.
    """

    @classmethod
    def create(cls, path: Path) -> Ledger:
        """Creates the file of a new ledger and opens it.

        Raises:
            DataError: there is a file already.
        """
        create_database(path)
        return cls(path)

    def reserve(
        self,
        terms: ReleaseTerms,
        data_digest: str,
        secret: bytes,
        admit: Callable[[Sequence[Taken]], None],
        curator_signature: bytes = b"",
        curator: bytes = b"",
    ) -> LedgerRelease:
        """Reserves the budget of a release. Repeating the same terms has no effect.

        Args:
            terms: terms of the release.
            data_digest: digest of the party's rows.
            secret: 32 fresh bytes; stored if the release is new.
            admit: raises to refuse a new release, given what all earlier ones take; called in the
                transaction, so that no other release can be accepted in between.
            curator_signature: the curator's signature of the terms; stored with them.
            curator: identity of the curator that signed them; empty if the party accepts any.

        Raises:
            ProtocolError: the id was used for other terms or other data, or the release is closed.
            PolicyError: the ledger was restored, and is held.
        """
        encoded = encode_terms(terms)
        with self._transaction():
            row = self._releases.find(terms.release_id, "terms, data_digest")
            if row is None:
                self._releases.check_not_held()
                admit(self._list_taken())
                accepted = self._event("accepted", terms.release_id, hashlib.sha256(encoded).digest())
                self._releases.add(
                    terms.release_id,
                    accepted,
                    encoded,
                    Fraction(terms.granted_rho),
                    data_digest,
                    curator,
                    curator_signature,
                    secret,
                )
            elif row != (encoded, data_digest):
                raise ProtocolError("this release id was used for other terms or other data; use a new id")
        return self.release(terms.release_id)

    def introduce(
        self, release_id: str, introduction: bytes, keys: bytes, peers: Mapping[bytes, tuple[str, Mark]]
    ) -> None:
        """Stores an introduction, and the marks in it; repeating it stores newer marks and nothing else.

        Args:
            release_id: id of an open release.
            introduction: the encoded introduction.
            keys: digest of all keys in it; it can be repeated with other marks, not with other keys.
            peers: name and mark of each other party, by its identity.

        Raises:
            ProtocolError: the release is unknown or closed, or has another introduction; or the ledger of
                another party was restored from an old copy.
        """
        with self._transaction():
            known, accepted_at = self._releases.open(release_id, "introduced_keys, accepted_at")
            if known not in (None, keys):
                raise ProtocolError("this release was introduced with other parties or masks; use a new id")
            for identity, (name, mark) in peers.items():
                if known is None:
                    self._history.check_follows(identity, name, mark, accepted_at)
                self._history.see(identity, mark)
            if known is None:
                self._releases.introduce(release_id, introduction, keys)

    def charge(
        self,
        query: Asked,
        rho: Fraction,
        data_digest: str,
        noise_key: bytes,
        sign: Callable[[bytes], bytes] = _no_signature,
        max_queries: int = sys.maxsize,
        delta: Fraction = Fraction(0),
    ) -> LedgerEntry:
        """Charges a query before its noise is drawn; a repeated query gets the first entry and costs nothing.

        Args:
            query: query to charge.
            rho: cost for the unit of the release's terms, as the party computed it.
            data_digest: digest of the rows that it will be answered from.
            noise_key: 32 fresh bytes, or none if this party does not answer; stored if the query is new.
            sign: signs a link as the party.
            max_queries: largest number of queries of the release.
            delta: of labels, probability with which one is stated that one person alone has.

        Raises:
            ProtocolError: the release is unknown or closed, the id was used for another query or other data,
                or the query was charged when noise was drawn by another version of the sampler.
            BudgetError: the query exceeds the grant of the release.
            PolicyError: it would be one query too many.
        """
        with self._transaction():
            terms, granted, spent, accepted_for = self._releases.open(
                query.release_id, "terms, granted, spent, data_digest"
            )
            _check_data(accepted_for, data_digest)
            known = self._answers.find(query)
            if known is not None:
                return known
            if Fraction(spent) + rho > Fraction(granted) or delta > self._costs.delta_left(query.release_id):
                raise BudgetError("the query costs more than is left of the release's budget at this party")
            if self._answers.query_count(query.release_id) >= max_queries:
                raise PolicyError(
                    "the release has as many queries as max_queries of the policy allows; query larger "
                    "marginals, or the party's owner raises the limit"
                )
            self._releases.spend(query.release_id, Fraction(spent) + rho)
            last = self._answers.last_link(query.release_id, terms)
            entry = entry_of(query, rho, delta)
            link = next_link(last, entry)
            self._event("charged", query.release_id, link, query.query_id)
            signed = replace(entry, signature=sign(link))
            entry = LedgerEntry(**vars(signed), noise_key=noise_key, link=link)
            self._answers.add(query, entry)
        return entry

    def charged_entry(self, query: Asked, data_digest: str) -> LedgerEntry:
        """The entry of a query that was charged before.

        Args:
            query: the query.
            data_digest: digest of the rows that it will be answered from.

        Raises:
            ProtocolError: the query was not charged, or its id was used for another query or other data.
        """
        release = self.release(query.release_id)
        _check_data(release.data_digest, data_digest)
        with self._lock:
            entry = self._answers.find(query)
        if entry is None:
            raise ProtocolError("the query is not charged at this party yet; charge it before it is answered")
        return entry

    def bind(self, release_id: str, kind: str, of: str, digest: str) -> str:
        """Keeps what a secret of a release hides, unless that is kept already; see `BindingStore`.

        Returns:
            The digest that is kept.

        Raises:
            ProtocolError: the release is closed.
        """
        with self._transaction():
            self._releases.check_open(release_id)
            return self._bindings.add(release_id, kind, of, digest)

    def place(self, release_id: str, placement: Placement) -> None:
        """Stores the result of an alignment; repeating it has no effect.

        Raises:
            ProtocolError: the release is unknown or closed, or its rows were placed otherwise before.
        """
        with self._transaction():
            self._releases.check_open(release_id)
            self._placements.put(release_id, placement)

    def certify(self, claim: Claim) -> tuple[list[Entry], bytes, Mark]:
        """Closes a release with its certificate. Repeating the same certificate has no effect.

        Returns:
            All entries of the release, the link of the last one, and the mark of the certificate.

        Raises:
            ProtocolError: the release is unknown or abandoned, or closed with another certificate.
            BudgetError: the certificate states a lower cost than was charged.
        """
        with self._transaction(erases=True):
            state = self._releases.state(claim.release_id)
            row = self._releases.find(claim.release_id, "terms, spent, certificate")
            assert row is not None, "a release with a state has a row"
            terms, spent, certificate = row
            if float(Fraction(spent)) > claim.zcdp_rho_spent:
                raise BudgetError("the certificate states a lower cost than this party charged; fix it")
            if state == ABANDONED:
                raise refusal_of_closed(ABANDONED)
            if certificate not in (None, claim.certificate):
                raise ProtocolError("another certificate of this release is signed already; use that one")
            if state == OPEN:
                self._close(claim.release_id, CERTIFIED, claim.certificate)
            entries = self._answers.entries(claim.release_id)
            link = self._answers.last_link(claim.release_id, terms)
            mark = self._releases.closing_mark(claim.release_id)
        return entries, link, mark

    def abandon(self, release_id: str) -> None:
        """Closes a release without a certificate; a release that is closed already stays as it is.

        Raises:
            ProtocolError: it was not accepted.
            PartyUnavailable: another process reads the file, so the keys may still be in its log; repeat
                this.
        """
        with self._transaction(erases=True):
            if self._releases.state(release_id) == OPEN:
                self._close(release_id, ABANDONED, None)

    def check_writable(self) -> None:
        """Returns only if something can be written now: the format's number, as it is."""
        with self._transaction():
            (number,) = self._database.execute("PRAGMA user_version").fetchone()
            self._database.execute(f"PRAGMA user_version = {number}")

    def hold_restored(self) -> None:
        """Holds a ledger that comes from a backup, and counts in full what its open releases were granted.

        What they spent since the backup is unknown. They are abandoned, since the backup has no keys of them.
        """
        with self._transaction(erases=True):
            for release_id in sorted(self._releases.all_open()):
                (granted,) = self._releases.open(release_id, "granted")
                self._releases.spend(release_id, Fraction(granted))
                self._costs.count_in_full(release_id)
                self._close(release_id, ABANDONED, None)
            self._releases.note_restored(self._event("restored", "", b""))

    def recount(self, counted: Fraction, reason: str, delta: Fraction = Fraction(0)) -> None:
        """Counts a budget as spent by releases that the backup did not contain, and ends the hold.

        Args:
            counted: what they spent, or were granted, zCDP.
            reason: how the operator knows.
            delta: the same of labels.

        Raises:
            DataError: the ledger is not held.
        """
        with self._transaction():
            if not self._releases.is_held():
                raise DataError("expected a ledger that was restored and not counted yet, got another one")
            digest = hashlib.sha256(f"{counted} {delta} {reason}".encode()).digest()
            self._event("recounted", "", digest)
            self._costs.recount(self._releases.recount(counted, reason), delta)

    def handed_over(self) -> None:
        """Notes that a hand-over of the identity states whether the ledger was recounted."""
        with self._transaction():
            self._releases.handed_over()

    def _close(self, release_id: str, state: str, certificate: bytes | None) -> None:
        """Closes a release and erases its keys, in the current transaction."""
        mark = self._event(state, release_id, certificate or b"")
        self._releases.close(release_id, mark, certificate)
        self._answers.erase(release_id)
        self._bindings.erase(release_id)

    def _event(self, event: str, release_id: str, digest: bytes, query_id: str | None = None) -> Mark:
        """Appends an event."""
        mark = self._history.append(event, release_id, digest)
        self._times.add(mark, release_id, query_id)
        return mark

    @contextlib.contextmanager
    def _transaction(self, *, erases: bool = False) -> Iterator[None]:
        """Holds the lock and a transaction that writes.

        Args:
            erases: whether the write-ahead log, which still contains what was erased, is emptied afterwards.

        Raises:
            PartyUnavailable: it cannot be emptied, since another process reads the file.
        """
        with self._lock:
            with self._database:
                self._database.execute("BEGIN IMMEDIATE")
                yield
            if erases:
                self._truncate()

    def _truncate(self) -> None:
        row = self._database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        if row is not None and row[0]:
            raise PartyUnavailable(
                "the release is closed, but another process reads the ledger, so that its log still contains "
                "erased keys; ask again"
            )


def _check_data(accepted: str, current: str) -> None:
    if accepted != current:
        raise ProtocolError("the party's data changed after it accepted the release; start a new release")
