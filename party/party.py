"""One institution: its rows, its policy, its ledger, and the answers that they allow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from fractions import Fraction

from ..common.acceptance import accept
from ..common.canonical.terms import decode_terms, terms_digest
from ..common.crypto.randomness import FreshKeys
from ..common.data.boxes import box_labels
from ..common.data.domain import Clique
from ..common.errors import PolicyError, ProtocolError
from ..common.history import START, Mark
from ..common.messages import (
    PROTOCOL_VERSION,
    Acceptance,
    Delivery,
    Introduction,
    MarginalQuery,
    MultiplyRequest,
    OpeningRequest,
    PartyDescription,
    ReleaseTerms,
    ScoreQuery,
)
from ..common.statement import Claim, Statement, state
from ..common.version import __version__
from .account import Account
from .allowance import Allowance, Processors
from .answerers.answerer import Answerer
from .answerers.catalogue import answerer_of
from .institution import Institution
from .ledger import Ledger
from .releases import Releases

MAX_TERMS_BYTES = 1 << 20
"""Largest terms; more than 100 slices of 200 attributes."""


class Party:
    """Answers a curator's queries within its policy, each charged to its ledger before noise is drawn.

    The answers depend on the protocol, see `answerers`; for the charges see `Account`.

    Args:
        institution: rows, identity and rules of the institution.
        ledger: ledger of the party.
        keys: source of noise keys and salts; `fresh_key` in every release.
    """

    def __init__(self, institution: Institution, ledger: Ledger, keys: FreshKeys) -> None:
        self._institution = institution
        self._ledger = ledger
        self._keys = keys
        self._digest = institution.digest()
        policy = institution.rules.policy
        self._releases = Releases(ledger, self._begin, self._check_running, policy.max_active_releases)
        self._processors: dict[str, Processors] = {}

    def describe(self) -> PartyDescription:
        """Public facts about the party."""
        institution, policy = self._institution, self._institution.rules.policy
        return PartyDescription(
            name=institution.name,
            protocol_version=PROTOCOL_VERSION,
            software_version=__version__,
            domain=institution.table.domain,
            # Alignments hide the number of rows.
            record_count=None if policy.max_alignment_rho else institution.table.record_count,
            protocols=tuple(sorted(policy.protocols)),
            identity=institution.identity.public,
            alignments=self._ledger.placements(self._digest),
            identifiers=institution.identifiers.names,
        )

    def accept(
        self, encoded: bytes, signature: bytes = b"", caller: bytes = b"", seen: Mark = START
    ) -> Acceptance:
        """Reserves the budget of a release if the policy allows it; repeating the same terms has no effect.

        Args:
            encoded: canonical bytes of the terms, as received.
            signature: the curator's signature over these bytes; verified before they are decoded.
            caller: identity of the curator that sent them; see `check_caller`.
            seen: mark of this party's ledger that the curator has seen last.

        Raises:
            ProtocolError: the bytes are too many or not terms, the release id was used for other terms, the
                release is closed, or the ledger was restored from an old copy.
            PolicyError: the caller is not a pinned curator, did not sign them, or the policy does not allow
                them.
        """
        if len(encoded) > MAX_TERMS_BYTES:
            raise ProtocolError("expected terms of at most 1 MiB, got more; plan fewer parties or attributes")
        institution, rules = self._institution, self._institution.rules
        curator = rules.signer(encoded, signature)
        if curator not in (b"", caller):
            raise _not_the_curator()
        self._ledger.check_contains(seen)
        terms = decode_terms(encoded)
        rules.check_running(terms.release_id)
        answerer, stated = answerer_of(terms.protocol), terms.plan.alignment
        aligned = None if stated is None else self._ledger.alignment(stated.alignment_id, self._digest)

        def admit(reserved: Fraction) -> None:
            rules.policy.check_terms(terms, institution.table.record_count, reserved)
            if terms.aligning is None:
                # First, since the refusal of another number of rows would show the number, which is private.
                institution.check_alignment(terms, aligned)
            institution.check_partition(terms.plan, aligned)
            institution.check_keys(terms)
            answerer.check_terms(terms, institution)
            rules.check_approved(terms, curator, signature)

        fresh = self._keys() if self._ledger.curator(terms.release_id) is None else b""
        release = self._ledger.reserve(terms, self._digest, fresh, admit, signature, curator)
        self._releases.add(terms)
        return accept(terms_digest(terms), institution.identity, release.secret, self._ledger.mark())

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

    def introduce(self, introduction: Introduction) -> None:
        """Receives the other participants of an accepted release and the seed of the party's masks."""
        self._releases.of(introduction.release_id).introduce(introduction)

    def open(self, request: OpeningRequest) -> Iterator[bytes]:
        """Frames for another party: a matrix minus its mask, its proof, a step of scores, a tag or points."""
        answerer = self._releases.of(request.release_id)
        if request.query_id:
            return answerer.scores.open(request.query_id, request.step, request.recipient)
        if request.record_order:
            return answerer.order_tag(request.recipient)
        if request.coins:
            return answerer.prove(request.chain, request.recipient, request.coins)
        if request.step:
            return answerer.pass_on(request.step - 1, request.recipient)
        return answerer.open(request.chain, request.recipient)

    def deliver(self, delivery: Delivery, chunks: Iterable[bytes]) -> None:
        """Stores what another party or the dealer sends, references, or the positions of rows."""
        answerer = self._releases.of(delivery.release_id)
        if delivery.query_id:
            answerer.scores.deliver(delivery, chunks)
        else:
            answerer.deliver(delivery, chunks)

    def align(self, release_id: str, owner: int) -> Iterator[bytes]:
        """The frames of a token of each row, to align rows: charged before anything is computed.

        Args:
            release_id: id of an accepted release.
            owner: index in the roster of the party whose rows are asked for.

        Raises:
            ProtocolError: the release is unknown, or aligns no rows.
            DeliveriesLost: the key of the tokens was not delivered.
            BudgetError: it exceeds the grant of the release.
        """
        return self._releases.of(release_id).tokens(owner)

    def multiply(self, request: MultiplyRequest) -> None:
        """Computes shares of products from the deliveries."""
        self._releases.of(request.release_id).multiply(request.chains)

    def charge(self, query: MarginalQuery) -> bytes:
        """Charges a query that all parties of the slice charge before any answers; see `Answerer.charge`.

        Returns:
            The party's signature over the entry in its ledger.

        Raises:
            ProtocolError: the release, an attribute or the form is unknown, or the id was used before.
            PolicyError: the policy does not allow it.
            BudgetError: it exceeds the grant of the release.
        """
        return self._asked(query).charge(query)

    def answer(self, query: MarginalQuery, charges: Sequence[bytes] = ()) -> Iterator[bytes]:
        """The frames of a noisy answer.

        Args:
            query: query to answer.
            charges: what `charge` returned at each party of the slice; empty if the party charges alone.

        Raises:
            ProtocolError: see `charge`; or a charge is missing or not signed by its party.
            PolicyError: the policy does not allow it.
            BudgetError: it exceeds the grant of the release.
        """
        return self._asked(query).answer(query, charges)

    def prepare_scores(self, query: ScoreQuery) -> None:
        """Charges a score query before anything for it is computed; a repeated query costs nothing.

        Raises:
            ProtocolError: the release or an attribute is unknown, or the id was used before.
            DeliveriesLost: a product was not computed.
            PolicyError: a clique has too many cells, or all of them together need too much memory.
            BudgetError: it exceeds the grant of the release.
        """
        answerer = self._releases.of(query.release_id)
        for clique in query.cliques:
            self._checked(answerer, clique)
        answerer.scores.prepare(query, answerer.score_run(query))

    def answer_scores(self, query: ScoreQuery) -> Iterator[bytes]:
        """The frames of noisy scores, or of a masked share of them, after all deliveries."""
        return self._releases.of(query.release_id).scores.answer(query)

    def certify(self, claim: Claim) -> Statement:
        """Signs a certificate that states at least the charged cost, and all entries of the release."""
        self._institution.rules.check_running(claim.release_id)
        entries, link, mark = self._ledger.certify(claim)
        self._releases.drop_closed()
        return state(self._institution.identity, entries, link, claim, mark)

    def abandon(self, release_id: str) -> None:
        """Closes a release without a certificate; has no effect if it was not accepted or is closed already.

        Its keys are erased, and what it did not spend is no longer reserved.
        """
        if self._ledger.curator(release_id) is not None:
            self._ledger.abandon(release_id)
            self._releases.drop_closed()

    def counted(self, release_id: str) -> AbstractContextManager[None]:
        """Counts what the current thread computes meanwhile for an accepted release."""
        known = self._processors.get(release_id)
        return nullcontext() if known is None else known.counted()

    def _check_running(self, release_id: str) -> None:
        """Refuses every message of a release that was denied, or that used up its time to compute."""
        self._institution.rules.check_running(release_id)
        if release_id in self._processors:
            self._processors[release_id].check()

    def _begin(self, terms: ReleaseTerms) -> Answerer:
        """The answerer of an accepted release."""
        institution = self._institution
        policy = institution.rules.policy
        processors = self._processors.setdefault(terms.release_id, Processors(policy.max_cpu_seconds))
        account = Account(
            terms,
            self._ledger,
            self._digest,
            institution.identity,
            self._keys,
            Allowance.of(policy, processors),
        )
        return answerer_of(terms.protocol)(institution, account)

    def _asked(self, query: MarginalQuery) -> Answerer:
        """The answerer of a query, if the query is allowed."""
        answerer = self._releases.of(query.release_id)
        if query.form not in answerer.forms:
            raise ProtocolError(
                f"the protocol {answerer.account.terms.protocol!r} has no answers of the form "
                f"{query.form.name}; compare versions"
            )
        shape = self._checked(answerer, query.clique)
        if query.boxes:
            box_labels(shape, query.boxes)
        return answerer

    def _checked(self, answerer: Answerer, clique: Clique) -> tuple[int, ...]:
        """The shape of a clique, if it may be queried."""
        domain = answerer.domain
        if not set(domain.names).issuperset(clique) or domain.canonical(clique) != clique:
            raise ProtocolError("expected attributes that can be queried, in domain order; compare the plan")
        self._institution.rules.policy.check_cells(domain.cells(clique))
        return domain.shape(clique)


def _not_the_curator() -> PolicyError:
    return PolicyError(
        "the call is not from the curator that signed the terms of the release; only that curator may ask, "
        "certify or abandon it"
    )
