"""One institution: its rows, its policy, its ledger, and the answers that these allow."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from fractions import Fraction

import numpy as np

from ..common.crypto.identity import Identity, verify
from ..common.crypto.randomness import KEY_BYTES, RandomStream
from ..common.data.boxes import box_labels, box_sums
from ..common.data.domain import Clique, Domain
from ..common.errors import DeliveriesLost, PolicyError, ProtocolError
from ..common.messages import (
    PROTOCOL_VERSION,
    Acceptance,
    AnswerForm,
    Delivery,
    DeliveryKind,
    Introduction,
    MarginalQuery,
    MultiplyRequest,
    OpeningRequest,
    PartyDescription,
    ReleaseTerms,
    ScoreQuery,
)
from ..common.privacy.cost import gaussian_cost, grid_of, score_cost
from ..common.privacy.noise import TAIL_SIGMAS
from ..common.protocols.indicator import noisy_histogram, noisy_indicators
from ..common.statement import ENTRY, TERMS, Claim, Statement, state
from ..common.version import __version__
from ..common.wire.codec import (
    decode_introduction,
    decode_terms,
    encode_answer,
    encode_introduction,
    encode_terms,
    query_digest,
)
from .answerers import peers
from .answerers.masked import MaskedSession
from .answerers.scores import LocalScores, ScoreRun, SharedScores
from .ledger import Ledger, LedgerRelease
from .policy import Policy
from .sources.source import Source

_FORMS = {
    "trusted": {AnswerForm.HISTOGRAM},
    "indicator": {AnswerForm.HISTOGRAM, AnswerForm.RECORD_WISE},
    "masked": {AnswerForm.SHARE},
}


class Party:
    """Answers a curator's queries within its policy, each charged to its own ledger before noise is drawn.

    Args:
        name: as the federation knows it.
        source: where its rows live.
        domain: of its attributes.
        policy: what its institution allows.
        ledger: what it granted and answered before.
        keys: where noise keys come from; `RandomStream.from_os()` in every release.
        identity: its long-term key.
        known: names and public keys of the parties that its institution knows; for `masked`.
        curators: identities of the curators whose signature terms need; None where any will do (simulations).
        approve: refuses a new release that the policy allows, by raising, where a person has to approve it.
    """

    def __init__(
        self,
        name: str,
        source: Source,
        domain: Domain,
        policy: Policy,
        ledger: Ledger,
        keys: RandomStream,
        identity: Identity,
        known: Mapping[str, bytes] | None = None,
        approve: Callable[[ReleaseTerms], None] | None = None,
        curators: Collection[bytes] | None = None,
    ) -> None:
        self._name = name
        self._table = source.read(domain)
        self._policy = policy
        self._ledger = ledger
        self._keys = keys
        self._identity = identity
        self._known = known or {}
        self._approve = approve
        self._curators = curators
        self._digest = self._table.digest()
        self._sessions: dict[str, MaskedSession] = {}
        self._scores: dict[tuple[str, str], ScoreRun] = {}

    def describe(self) -> PartyDescription:
        """What others may know of the party."""
        return PartyDescription(
            name=self._name,
            protocol_version=PROTOCOL_VERSION,
            software_version=__version__,
            domain=self._table.domain,
            record_count=self._table.record_count,
            protocols=tuple(sorted(self._policy.protocols)),
            identity=self._identity.public,
        )

    def accept(self, terms: ReleaseTerms, signature: bytes = b"") -> Acceptance:
        """Reserves the release's budget, if the policy allows; the same terms again change nothing.

        Args:
            terms: of the release.
            signature: the curator's, over the encoded terms.
        """
        if self._curators is not None and not any(
            _is_signed(curator, terms, signature) for curator in self._curators
        ):
            raise PolicyError("the terms are not signed by a curator that is pinned here; send it its card")
        if terms.protocol not in _FORMS:
            raise PolicyError(
                f"no party takes part in the protocol {terms.protocol!r}; use one of {sorted(_FORMS)}"
            )

        def admit(reserved: Fraction) -> None:
            self._policy.check_terms(terms, self._table.record_count, reserved)
            if terms.masked is not None:
                peers.check_plan(terms.masked, self._name, self._table, self._identity.public, self._known)
            if self._approve is not None:
                self._approve(terms)

        release = self._ledger.reserve(terms, self._digest, self._fresh_key(), admit, signature)
        return peers.accept(terms, self._identity, release.secret)

    def introduce(self, introduction: Introduction) -> None:
        """Learns who else takes part in an accepted release, and its own masks."""
        release = self._ledger.release(introduction.release_id)
        session = self._introduced(release, introduction)
        self._ledger.introduce(introduction.release_id, encode_introduction(introduction))
        self._sessions.setdefault(introduction.release_id, session)

    def open(self, request: OpeningRequest) -> Iterator[bytes]:
        """Sealed frames for another party: a matrix without its mask, or a step of a score query."""
        if request.query_id:
            return self._run(request.release_id, request.query_id).open(request.step, request.recipient)
        return self._session(request.release_id).open(request.chain, request.recipient)

    def deliver(self, delivery: Delivery, chunks: Iterable[bytes]) -> None:
        """Keeps what another party opened for this one, what the dealer dealt, or references."""
        if delivery.query_id:
            self._run(delivery.release_id, delivery.query_id).deliver(delivery, chunks)
            return
        session = self._session(delivery.release_id)
        if delivery.kind is DeliveryKind.DEALT_PRODUCT:
            self._policy.check_cells(session.cells(delivery.chain))
        session.deliver(delivery, chunks)

    def multiply(self, request: MultiplyRequest) -> None:
        """Computes shares of products, from what was delivered."""
        session = self._session(request.release_id)
        for chain in request.chains:
            self._policy.check_cells(session.cells(chain))
        session.multiply(request.chains)

    def answer(self, query: MarginalQuery) -> Iterator[bytes]:
        """The frames of a noisy answer; the cost is computed here, from the noise that is added here.

        Raises:
            ProtocolError: an unknown release, attribute or form, or an id used for something else.
            PolicyError: the policy does not allow it.
            BudgetError: the release's grant does not cover it.
        """
        accepted = decode_terms(self._ledger.release(query.release_id).terms)
        if query.form not in _FORMS[accepted.protocol]:
            raise ProtocolError(
                f"the protocol {accepted.protocol!r} has no answers of the form {query.form.name}"
            )
        shape = self._checked(accepted, query.clique)
        if query.boxes:
            box_labels(shape, query.boxes)
        interaction = shape if query.interaction else ()
        match query.form:
            case AnswerForm.SHARE:
                return self._masked_share(query, accepted, interaction)
            case AnswerForm.HISTOGRAM:
                stream = self._charged(query, accepted, interaction)
                counts = noisy_histogram(
                    self._table, query.clique, query.sigma, stream, query.boxes, query.interaction
                )
                # A difference counts a record once, and adds up the noise of 2^k cells.
                words = _word_bytes(self._table.record_count, query.sigma, cells=1 << len(interaction))
                return encode_answer([counts], words)
            case AnswerForm.RECORD_WISE:
                if query.boxes or query.interaction:
                    raise ProtocolError(
                        "indicator vectors have neither boxes nor interactions; ask for single cells"
                    )
                stream = self._charged(query, accepted)
                blocks = noisy_indicators(self._table, query.clique, query.sigma, stream)
                return encode_answer(blocks, _word_bytes(1, query.sigma))

    def prepare_scores(self, query: ScoreQuery) -> None:
        """Charges a score query, before anything of it is opened; the same again charges nothing."""
        accepted = decode_terms(self._ledger.release(query.release_id).terms)
        for clique in query.cliques:
            self._checked(accepted, clique)
        run: ScoreRun
        if accepted.masked and len(accepted.masked.roster) > 1:
            run = SharedScores(self._session(query.release_id), query)
        elif accepted.protocol in ("masked", "trusted"):
            run = LocalScores(self._table, query)
        else:
            raise ProtocolError(f"the protocol {accepted.protocol!r} has no scores; measure marginals")
        self._charged(query, accepted)
        self._ledger.bind(query, run.bound())
        self._scores.setdefault((query.release_id, query.query_id), run)

    def answer_scores(self, query: ScoreQuery) -> Iterator[bytes]:
        """The frames of noisy scores, or of a masked share of them, once everything was delivered."""
        run = self._run(query.release_id, query.query_id)
        accepted = decode_terms(self._ledger.release(query.release_id).terms)
        stream = self._charged(query, accepted)
        self._ledger.bind(query, run.bound())
        return encode_answer([run.answer(stream)], run.word_bytes)

    def certify(self, claim: Claim) -> Statement:
        """Signs a certificate that does not say less than was charged, and all entries of the release."""
        entries, link = self._ledger.certify(claim)
        return state(self._identity, entries, link, claim)

    def _checked(self, accepted: ReleaseTerms, clique: Clique) -> tuple[int, ...]:
        """The shape of a clique that may be asked for."""
        domain = accepted.masked.domain if accepted.masked else self._table.domain
        unknown = [name for name in clique if name not in domain.names]
        if unknown or domain.canonical(clique) != clique:
            raise ProtocolError(
                "expected attributes that can be asked for, in domain order; compare the plan"
            )
        self._policy.check_cells(domain.cells(clique))
        return domain.shape(clique)

    def _masked_share(
        self, query: MarginalQuery, accepted: ReleaseTerms, interaction: tuple[int, ...]
    ) -> Iterator[bytes]:
        session = self._session(query.release_id)
        ring = session.plan.ring
        if not ring.holds(session.plan.largest(query.sigma, interaction=interaction)):
            raise ProtocolError("the answer could overflow the plan's ring; plan a release with 64 bits")
        share = session.share(query.clique)
        if query.boxes:
            share = box_sums(share, session.plan.domain.shape(query.clique), query.boxes)
        stream = self._charged(query, accepted, interaction)
        self._ledger.bind(query, {"share": hashlib.sha256(share.data).hexdigest()})
        answer = session.answer(query_digest(query), query.sigma, share, stream, interaction)
        return encode_answer([answer], ring.word_bytes)

    def _charged(
        self,
        query: MarginalQuery | ScoreQuery,
        accepted: ReleaseTerms,
        interaction: tuple[int, ...] = (),
    ) -> RandomStream:
        """The stream of the query's noise, once its cost is on disk."""
        if isinstance(query, ScoreQuery):
            cost = score_cost(query.sigma, accepted.adjacency, len(query.cliques))
        else:
            cost = gaussian_cost(query.sigma, accepted.adjacency, interaction)
        entry = self._ledger.charge(query, cost, self._digest, self._fresh_key(), self._sign)
        return RandomStream(entry.noise_key)

    def _run(self, release_id: str, query_id: str) -> ScoreRun:
        if (release_id, query_id) not in self._scores:
            raise DeliveriesLost("the score query was not prepared at this party; prepare it first")
        return self._scores[release_id, query_id]

    def _session(self, release_id: str) -> MaskedSession:
        """The party's part in a masked release; what was delivered to it does not outlive the process."""
        if release_id not in self._sessions:
            release = self._ledger.release(release_id)
            if release.introduction is None:
                raise ProtocolError("the release's parties are not known to each other; introduce them first")
            introduction = decode_introduction(release.introduction)
            self._sessions[release_id] = self._introduced(release, introduction)
        return self._sessions[release_id]

    def _introduced(self, release: LedgerRelease, introduction: Introduction) -> MaskedSession:
        """The party's part in a release, once every acceptance in the introduction is verified."""
        if release.data_digest != self._digest:
            raise ProtocolError("the party's data changed after it accepted the release; start a new release")
        terms = decode_terms(release.terms)
        return MaskedSession(self._table, terms, self._name, release.secret, introduction, self._keys)

    def _sign(self, link: bytes) -> bytes:
        return self._identity.sign(ENTRY, link)

    def _fresh_key(self) -> bytes:
        return self._keys.bytes(KEY_BYTES).tobytes()


def _is_signed(curator: bytes, terms: ReleaseTerms, signature: bytes) -> bool:
    try:
        verify(curator, TERMS, encode_terms(terms), signature)
    except ProtocolError:
        return False
    return True


def _word_bytes(largest_count: int, sigma: float, cells: int = 1) -> int:
    """Bytes that hold every count with the noise of so many cells, which ends at a fixed number of sigmas."""
    largest = grid_of(sigma) * (largest_count + cells * (TAIL_SIGMAS + 1) * sigma)
    return 4 if largest < np.iinfo(np.int32).max else 8
