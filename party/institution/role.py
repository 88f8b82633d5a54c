"""What a party and a dealer have in common: accepted releases, and calls that either may refuse."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Generic, Protocol, TypeVar

from ...common.canonical.terms import decode_terms, terms_digest
from ...common.crypto.identity import Identity
from ...common.crypto.randomness import FreshKeys
from ...common.errors import MosaicError, PolicyError, ProtocolError
from ...common.history import START, Mark
from ...common.messages import (
    Acceptance,
    DealRequest,
    Delivery,
    DeliveryKind,
    Introduction,
    MultiplyRequest,
    OpeningRequest,
    PartyDescription,
    Remaining,
    Unmasked,
    Unmasking,
    Verdict,
)
from ...common.processes.workers import NONE, Workers
from ...common.promises.acceptance import accept
from ...common.promises.statement import Claim, Statement, state
from ...common.queries import MarginalQuery, ScoreQuery
from ...common.terms import ReleaseTerms
from ..accounts.active import Releases
from ..accounts.ledger import Ledger
from ..policies.allowance import Processors
from ..policies.quotas import Taken
from .institution import Rules, caught

MAX_TERMS_BYTES = 1 << 20
"""Largest terms; more than 100 slices of 200 attributes."""


Refusals = Callable[[Sequence[Taken]], Iterator[MosaicError]]
"""Yields every reason to refuse terms, given what all earlier releases take."""


class Introduced(Protocol):
    """Answers in one accepted release, after it received the other participants."""

    def introduce(self, introduction: Introduction) -> None:
        """Receives the acceptances of the other participants."""

    def prepare_scores(self, query: ScoreQuery) -> None:
        """Begins a score query."""


Active = TypeVar("Active", bound=Introduced)
"""What answers in one release, such as an `Answerer`."""


class Role(ABC, Generic[Active]):
    """Answers a curator's calls: keeps releases in its ledger, and refuses by default all other steps.

    Args:
        identity: long-term key.
        rules: limits, and who is trusted.
        ledger: its ledger.
        keys: source of keys and salts; `fresh_key` in every release.
        data_digest: digest of the data that releases are accepted for; empty without data.
        workers: compute beside the current thread.
    """

    def __init__(
        self,
        identity: Identity,
        rules: Rules[Any],
        ledger: Ledger,
        keys: FreshKeys,
        data_digest: str,
        workers: Workers = NONE,
    ) -> None:
        self._identity = identity
        self._rules = rules
        self._ledger = ledger
        self._keys = keys
        self._digest = data_digest
        most = rules.policy.max_active_releases
        self._releases = Releases(ledger, self._begin, self._check_running, most)
        self._workers = workers
        self._processors: dict[str, Processors] = {}

    @abstractmethod
    def _begin(self, terms: ReleaseTerms) -> Active:
        """What answers in an accepted release."""

    @abstractmethod
    def _admission(self, terms: ReleaseTerms, curator: bytes) -> Refusals:
        """Looks up what a decision on new terms needs.

        Args:
            terms: the terms.
            curator: identity of the curator that signed them; empty if any is accepted.

        Returns:
            Yields every reason to refuse the terms, given what all earlier releases take; called
            within a transaction of the ledger.
        """

    @abstractmethod
    def describe(self) -> PartyDescription:
        """Public facts."""

    def accept(
        self, encoded: bytes, signature: bytes = b"", caller: bytes = b"", seen: Mark = START
    ) -> Acceptance:
        """Accepts a release if the policy allows it; repeating the same terms has no effect.

        Args:
            encoded: canonical bytes of the terms, as received.
            signature: the curator's signature over these bytes; verified before they are decoded.
            caller: identity of the curator that sent them; see `check_caller`.
            seen: mark of this ledger that the curator has seen last.

        Raises:
            ProtocolError: the bytes are too many or not terms, the release id was used for other terms, the
                release is closed, or the ledger was restored from an old copy.
            PolicyError: the caller is not a pinned curator, did not sign them, or the policy does not allow
                them.
        """
        terms, curator = self._signed_terms(encoded, signature, caller, seen)
        check = self._admission(terms, curator)

        def admit(taken: Sequence[Taken]) -> None:
            for refusal in check(taken):
                raise refusal
            self._rules.check_date(terms)
            self._rules.check_approved(terms, curator, signature)

        fresh = self._keys() if self._ledger.curator(terms.release_id) is None else b""
        release = self._ledger.reserve(terms, self._digest, fresh, admit, signature, curator)
        self._releases.add(terms)
        return accept(terms_digest(terms), self._identity, release.secret, self._ledger.mark())

    def review(
        self, encoded: bytes, signature: bytes = b"", caller: bytes = b"", seen: Mark = START
    ) -> Verdict:
        """What `accept` would say to these terms, with every reason to refuse them; changes nothing.

        A release that was accepted already is not refused for its own reservation. Nobody is asked to decide.

        Args:
            encoded: see `accept`.
            signature: see `accept`.
            caller: see `accept`.
            seen: see `accept`.

        Raises:
            ProtocolError: see `accept`.
            PolicyError: the caller is not a pinned curator or did not sign the terms, or they were denied.
        """
        terms, curator = self._signed_terms(encoded, signature, caller, seen)
        refusals: tuple[MosaicError, ...] = ()
        if self._ledger.curator(terms.release_id) is None:
            check = self._admission(terms, curator)
            refusals = (
                *check(self._ledger.list_taken()),
                *caught(lambda: self._rules.check_date(terms)),
                *caught(self._ledger.check_not_held),
            )
        return Verdict(refusals, self._rules.by_hand)

    def check_caller(self, release_id: str, caller: bytes) -> None:
        """Refuses a call of a release from another curator than the one that signed its terms.

        Args:
            release_id: id of a release; one that was not accepted is refused later.
            caller: identity of the curator, as the transport knows it; empty if it knows none.

        Raises:
            PolicyError: the caller is another curator.
        """
        if self._ledger.curator(release_id) not in (None, b"", caller):
            raise _not_the_curator()

    def check_peer(self, delivery: Delivery, peer: bytes) -> None:
        """Refuses a delivery by another party, unless it is an opening that this party made.

        Args:
            delivery: header of the message.
            peer: identity of the other party, as the transport knows it.

        Raises:
            PolicyError: it is another kind of message, or the plan has another party at the sender's place.
            ProtocolError: the release was not accepted, or is closed.
        """
        roster = decode_terms(self._ledger.release(delivery.release_id).terms).plan.roster
        sent = roster[delivery.sender].identity if delivery.sender < len(roster) else None
        if delivery.kind is not DeliveryKind.OPENING or sent != peer:
            raise PolicyError(
                "another party may only deliver openings that it made itself; all else passes the curator"
            )

    def introduce(self, introduction: Introduction) -> None:
        """Receives the acceptances of the other participants of an accepted release."""
        self._releases.of(introduction.release_id).introduce(introduction)

    def open(self, request: OpeningRequest) -> Iterator[bytes]:
        """Sealed frames for another participant; refuses by default."""
        raise self._no_part("opens nothing")

    def deal(self, request: DealRequest) -> Iterator[bytes]:
        """Frames of dealt randomness, sealed for a party; refuses by default."""
        raise self._no_part("deals nothing")

    def deliver(self, delivery: Delivery, chunks: Iterable[bytes]) -> None:
        """Stores what another participant sends; refuses by default."""
        raise self._no_part("takes no deliveries")

    def align(self, release_id: str, owner: int) -> Iterator[bytes]:
        """The frames of a token of each row; refuses by default."""
        raise self._no_part("aligns no rows")

    def multiply(self, request: MultiplyRequest) -> None:
        """Computes shares of products; refuses by default."""
        raise self._no_part("multiplies no shares")

    def charge(self, query: MarginalQuery) -> bytes:
        """Charges a query and signs the charge; refuses by default."""
        raise self._no_part("charges nothing")

    def answer(
        self, query: MarginalQuery, charges: Sequence[bytes] = (), before: Sequence[int] = ()
    ) -> Iterator[bytes]:
        """The frames of a noisy answer; refuses by default."""
        raise self._no_part("answers no queries")

    def agree(self, remaining: Remaining) -> bytes:
        """Signs who is in an answer; refuses by default."""
        raise self._no_part("answers no queries")

    def unmask(self, asked: Unmasking) -> Unmasked:
        """Tells masks of a sum; refuses by default."""
        raise self._no_part("answers no queries")

    def prepare_scores(self, query: ScoreQuery) -> None:
        """Begins a score query; a party charges it before anything for it is computed."""
        self._releases.of(query.release_id).prepare_scores(query)

    def answer_scores(self, query: ScoreQuery) -> Iterator[bytes]:
        """The frames of noisy scores; refuses by default."""
        raise self._no_part("answers no scores")

    def certify(self, claim: Claim) -> Statement:
        """Signs a certificate that states at least the charged cost, and all entries of the release."""
        self._rules.check_running(claim.release_id)
        entries, link, mark = self._ledger.certify(claim)
        self._releases.drop_closed()
        return state(self._identity, entries, link, claim, mark)

    def abandon(self, release_id: str) -> None:
        """Closes a release without a certificate; has no effect if it was not accepted or is closed already.

        Its keys are erased, and what it did not spend is no longer reserved.
        """
        if self._ledger.curator(release_id) is not None:
            self._ledger.abandon(release_id)
            self._releases.drop_closed()

    def count_time(self, release_id: str) -> AbstractContextManager[None]:
        """Counts what the current thread computes meanwhile for an accepted release."""
        known = self._processors.get(release_id)
        return nullcontext() if known is None else known.count_time()

    def _signed_terms(
        self, encoded: bytes, signature: bytes, caller: bytes, seen: Mark
    ) -> tuple[ReleaseTerms, bytes]:
        """Terms that a pinned curator signed and sent, and its identity; see `accept`."""
        if len(encoded) > MAX_TERMS_BYTES:
            raise ProtocolError("expected terms of at most 1 MiB, got more; plan fewer parties or attributes")
        curator = self._rules.signer(encoded, signature)
        if curator not in (b"", caller):
            raise _not_the_curator()
        self._ledger.check_contains(seen)
        terms = decode_terms(encoded)
        self._rules.check_running(terms.release_id)
        return terms, curator

    def _check_running(self, release_id: str) -> None:
        """Refuses every message of a release that was denied, or that used up its time to compute."""
        self._rules.check_running(release_id)
        if release_id in self._processors:
            self._processors[release_id].check()

    def _processors_of(self, release_id: str) -> Processors:
        """The seconds computed for a release, from its first message on."""
        limit = self._rules.policy.max_cpu_seconds
        return self._processors.setdefault(release_id, Processors(limit, workers=self._workers))

    def _no_part(self, what: str) -> ProtocolError:
        kind = type(self).__name__.lower()
        return ProtocolError(f"a {kind} {what}; compare the plan of the release")


def _not_the_curator() -> PolicyError:
    return PolicyError(
        "the call is not from the curator that signed the terms of the release; only that curator may ask, "
        "certify or abandon it"
    )
