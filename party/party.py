"""One institution: its rows, its policy, its ledger, and the answers that these allow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction

from ..common.canonical.terms import decode_terms
from ..common.crypto.randomness import KEY_BYTES, RandomStream
from ..common.data.boxes import box_labels
from ..common.data.domain import Clique
from ..common.errors import ProtocolError
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
from .acceptance import accept
from .account import Account
from .answerers.answerer import Answerer
from .answerers.catalogue import answerer_of
from .institution import Institution
from .ledger import Ledger
from .releases import Releases


class Party:
    """Answers a curator's queries within its policy, each charged to its own ledger before noise is drawn.

    How it answers is the protocol's, see `answerers`; how it charges, see `Account`.

    Args:
        institution: its rows, its identity and its rules.
        ledger: what it granted and answered before.
        keys: where noise keys come from; `RandomStream.from_os()` in every release.
    """

    def __init__(self, institution: Institution, ledger: Ledger, keys: RandomStream) -> None:
        self._institution = institution
        self._ledger = ledger
        self._keys = keys
        self._digest = institution.table.digest()
        self._releases = Releases(ledger, self._begin)

    def describe(self) -> PartyDescription:
        """What others may know of the party."""
        institution = self._institution
        return PartyDescription(
            name=institution.name,
            protocol_version=PROTOCOL_VERSION,
            software_version=__version__,
            domain=institution.table.domain,
            record_count=institution.table.record_count,
            protocols=tuple(sorted(institution.rules.policy.protocols)),
            identity=institution.identity.public,
        )

    def accept(self, encoded: bytes, signature: bytes = b"") -> Acceptance:
        """Reserves a release's budget, if the policy allows; the same terms again change nothing.

        Args:
            encoded: canonical bytes of the release's terms, as they came.
            signature: the curator's, over these bytes; verified before they are decoded.

        Raises:
            ProtocolError: the bytes are no terms, or the release id stands for others.
            PolicyError: no pinned curator signed them, or the policy does not allow them.
        """
        institution, rules = self._institution, self._institution.rules
        rules.check_signature(encoded, signature)
        terms = decode_terms(encoded)
        answerer = answerer_of(terms.protocol)

        def admit(reserved: Fraction) -> None:
            rules.policy.check_terms(terms, institution.table.record_count, reserved)
            answerer.check_terms(terms, institution)
            if rules.approve is not None:
                rules.approve(terms)

        fresh = self._keys.bytes(KEY_BYTES).tobytes()
        release = self._ledger.reserve(terms, self._digest, fresh, admit, signature)
        self._releases.add(terms)
        return accept(terms, institution.identity, release.secret)

    def introduce(self, introduction: Introduction) -> None:
        """Learns who else takes part in an accepted release, and its own masks."""
        self._releases.of(introduction.release_id).introduce(introduction)

    def open(self, request: OpeningRequest) -> Iterator[bytes]:
        """Sealed frames for another party: a matrix without its mask, or a step of a score query."""
        answerer = self._releases.of(request.release_id)
        if request.query_id:
            return answerer.scores.named(request.query_id).open(request.step, request.recipient)
        return answerer.open(request.chain, request.recipient)

    def deliver(self, delivery: Delivery, chunks: Iterable[bytes]) -> None:
        """Keeps what another party opened for this one, what the dealer dealt, or references."""
        answerer = self._releases.of(delivery.release_id)
        if delivery.query_id:
            answerer.scores.named(delivery.query_id).deliver(delivery, chunks)
        else:
            answerer.deliver(delivery, chunks)

    def multiply(self, request: MultiplyRequest) -> None:
        """Computes shares of products, from what was delivered."""
        self._releases.of(request.release_id).multiply(request.chains)

    def answer(self, query: MarginalQuery) -> Iterator[bytes]:
        """The frames of a noisy answer.

        Raises:
            ProtocolError: an unknown release, attribute or form, or an id used for something else.
            PolicyError: the policy does not allow it.
            BudgetError: the release's grant does not cover it.
        """
        answerer = self._releases.of(query.release_id)
        if query.form not in answerer.forms:
            raise ProtocolError(
                f"the protocol {answerer.account.terms.protocol!r} has no answers of the form "
                f"{query.form.name}; compare versions"
            )
        shape = self._checked(answerer, query.clique)
        if query.boxes:
            box_labels(shape, query.boxes)
        return answerer.answer(query)

    def prepare_scores(self, query: ScoreQuery) -> None:
        """Charges a score query, before anything of it is opened; the same again charges nothing."""
        answerer = self._releases.of(query.release_id)
        for clique in query.cliques:
            self._checked(answerer, clique)
        answerer.scores.prepare(query, answerer.score_run(query))

    def answer_scores(self, query: ScoreQuery) -> Iterator[bytes]:
        """The frames of noisy scores, or of a masked share of them, once everything was delivered."""
        return self._releases.of(query.release_id).scores.answer(query)

    def certify(self, claim: Claim) -> Statement:
        """Signs a certificate that does not say less than was charged, and all entries of the release."""
        entries, link = self._ledger.certify(claim)
        return state(self._institution.identity, entries, link, claim)

    def _begin(self, terms: ReleaseTerms) -> Answerer:
        """The answerer of a release that the ledger has."""
        institution = self._institution
        account = Account(terms, self._ledger, self._digest, institution.identity, self._keys)
        return answerer_of(terms.protocol)(institution, account)

    def _checked(self, answerer: Answerer, clique: Clique) -> tuple[int, ...]:
        """The shape of a clique that may be asked for."""
        domain = answerer.domain
        unknown = [name for name in clique if name not in domain.names]
        if unknown or domain.canonical(clique) != clique:
            raise ProtocolError(
                "expected attributes that can be asked for, in domain order; compare the plan"
            )
        self._institution.rules.policy.check_cells(domain.cells(clique))
        return domain.shape(clique)
