"""Answers under the protocol `masked`: masked shares of noisy counts and scores."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ....common.canonical.queries import query_digest
from ....common.data.people import PeopleRows
from ....common.data.rows import Rows
from ....common.dealing.dealing import Dealing
from ....common.dealing.evaluator import Resharing
from ....common.errors import PolicyError, ProtocolError
from ....common.messages import (
    DealRequest,
    Delivery,
    DeliveryKind,
    Introduction,
    Remaining,
    Unmasked,
    Unmasking,
)
from ....common.protocols.masked.plan import Chain, MaskedPlan
from ....common.queries import AnswerForm, MarginalQuery, ScoreQuery
from ....common.terms import ReleaseTerms
from ....common.wire.streams import encode_answer
from ...accounts.account import Account
from ...institution.held import bytes_on_disk, place_rows
from ...institution.institution import Institution
from ...policies.allowance import MB
from ...policies.dealt import check_dealt, deal_within
from ..answerer import Answerer
from ..scores import ScoreRun
from .scores import SharedScores
from .session import MaskedSession

_CODES = "codes"
"""What the bytes of codes on disk are reserved for."""


class MaskedAnswerer(Answerer):
    """Answers with masked shares, which only together reveal a noisy sum.

    Deliveries are lost when the process ends.

    Args:
        institution: see `Answerer`.
        account: see `Answerer`.
    """

    forms = frozenset({AnswerForm.SHARE})

    def __init__(self, institution: Institution, account: Account) -> None:
        super().__init__(institution, account)
        self._session: MaskedSession | None = None
        self._dealing: Dealing | None = None

    @classmethod
    def check_terms(cls, terms: ReleaseTerms, institution: Institution) -> None:
        """Refuses a release whose codes of rows do not fit into what it may have on disk.

        Raises:
            PolicyError: they do not.
        """
        plan = _plan(terms)
        number = plan.roster[_place(plan, institution)].slice
        needed, allowed = bytes_on_disk(institution.table, plan, number), institution.rules.policy.max_disk_mb
        if needed > allowed * MB:
            raise PolicyError(
                f"the release reads single rows, whose codes need up to {-(-needed // MB)} MiB on the "
                f"party's disk; max_disk_mb of its policy allows {allowed}: its owner raises the limit, or "
                "fewer attributes are named in its domain"
            )

    def introduce(self, introduction: Introduction) -> None:
        """Receives and verifies the acceptances of all parties."""
        session = self._session_of(introduction)
        self.account.introduce(introduction)
        self._session = self._session or session

    def order_tag(self, recipient: int) -> Iterator[bytes]:
        """A keyed digest of the order of the party's records, for another party of the slice."""
        return self._introduced_session().order_tag(recipient)

    def open(self, chain: Chain, recipient: int, place: int = 0) -> Iterator[bytes]:
        """A range of the rows of a matrix minus its mask, in frames sealed for another party of the slice."""
        session = self._introduced_session()
        self.institution.rules.policy.check_cells(session.cells(chain, parts=1))
        return session.open(chain, recipient, place)

    def coins(self, chain: Chain, owner: int, recipient: int) -> Iterator[bytes]:
        """The coins for the proof of an opening, in frames sealed for its owner or for a dealer."""
        return self._introduced_session().coins(chain, owner, recipient)

    def prove(self, chain: Chain, recipient: int) -> Iterator[bytes]:
        """The proof that an opening is one-hot, in frames sealed for another party of the slice."""
        session = self._introduced_session()
        self.institution.rules.policy.check_cells(session.cells(chain, parts=1))
        return session.prove(chain, recipient)

    def check(self, chain: Chain, recipient: int) -> Iterator[bytes]:
        """A part of the check of a dealt product, in frames sealed for another party of the slice."""
        session = self._introduced_session()
        self.institution.rules.policy.check_cells(session.cells(chain))
        return session.check(chain, recipient)

    def deal(self, request: DealRequest) -> Iterator[bytes]:
        """Dealt randomness for a party of another slice, in frames sealed for it.

        Raises:
            ProtocolError: the plan does not name this party as a dealer of that slice.
        """
        size = check_dealt(_plan(self.account.terms), request, self.institution.rules.policy.check_cells)
        allowance = self.account.allowance
        return deal_within(allowance.memory.during(size), self._own_dealing(), request, allowance.processors)

    def _own_dealing(self) -> Dealing:
        """What this party deals for other slices."""
        if self._dealing is None:
            account = self.account
            self._dealing = Dealing(
                account.terms,
                self._place(),
                account.secret(),
                account.introduction().acceptances,
                account.keys,
                account.binding,
                account.allowance.processors.map,
            )
        return self._dealing

    def deliver(self, delivery: Delivery, chunks: Iterable[bytes]) -> None:
        """Stores an opening of another party, or a message of the dealer."""
        if delivery.kind is DeliveryKind.COINS and delivery.step != self._place():
            self._own_dealing().deliver(delivery, chunks)
            return
        session = self._introduced_session()
        policy, chain = self.institution.rules.policy, delivery.chain
        if delivery.kind in (DeliveryKind.OPENING, DeliveryKind.PROOF):
            policy.check_cells(session.cells(chain, parts=1, holder=delivery.sender))
        elif delivery.kind is DeliveryKind.ATTESTATION:
            policy.check_cells(session.cells(chain, parts=1, holder=delivery.owner))
        elif delivery.kind in (DeliveryKind.DEALT_ROWS, DeliveryKind.DEALT_CHECK, DeliveryKind.CHECK):
            policy.check_cells(session.cells(chain))
        elif delivery.kind is DeliveryKind.DEALT_PRODUCTS:
            for product in delivery.chains:
                policy.check_cells(session.cells(product))
        session.deliver(delivery, chunks)

    def multiply(self, chains: Sequence[Chain]) -> None:
        """Computes shares of products from the deliveries."""
        session = self._introduced_session()
        for chain in dict.fromkeys(chains):
            self.institution.rules.policy.check_cells(session.cells(chain))
        session.multiply(chains)

    def key_points(self) -> Iterator[bytes]:
        """What the party publishes of the keys of its masks; see `Dropouts.points`."""
        return self._introduced_session().dropouts.points()

    def agree(self, remaining: Remaining) -> bytes:
        """The party's signature over who is in an answer; see `Dropouts.agree`."""
        return self._introduced_session().dropouts.agree(remaining)

    def unmask(self, asked: Unmasking) -> Unmasked:
        """The party's part of the masks that hide a sum; see `Dropouts.unmask`."""
        return self._introduced_session().dropouts.unmask(asked)

    def answer(self, query: MarginalQuery, charges: Sequence[bytes] = ()) -> Iterator[bytes]:
        """The frames of this party's share plus its noise and its mask; see `Answerer.answer`."""
        return self._answer(query, ())

    def answer_without(self, query: MarginalQuery, before: Sequence[int]) -> Iterator[bytes]:
        """The same after parties dropped out; see `Answerer.answer_without`."""
        return self._answer(query, before)

    def _answer(self, query: MarginalQuery, before: Sequence[int]) -> Iterator[bytes]:
        session = self._introduced_session()
        plan, ring, view = session.plan, session.plan.ring, query.view
        if not ring.holds(plan.largest(query.sigma, interaction=view.interaction_shape(plan.domain))):
            raise ProtocolError("the answer could overflow the plan's ring; plan a release with 64 bits")
        session.check_before(query_digest(query), before)
        share = session.share(view)
        stream = self.account.charge(query)
        answer = session.answer(query_digest(query), query.sigma, share, stream, view, before)
        return encode_answer([self.account.bind_answer(query, answer)], ring.word_bytes)

    def _score_run(self, query: ScoreQuery) -> ScoreRun:
        """Scores computed with the other parties, or locally by a single party."""
        plan = _plan(self.account.terms)
        if len(plan.roster) > 1:
            session = self._introduced_session()
            return SharedScores(session, Resharing(plan, query, session.me, session.peers))
        for view in query.views:
            plan.check_view(view)
        return super()._score_run(query)

    def _scored_rows(self) -> Rows:
        return self._rows()

    def _introduced_session(self) -> MaskedSession:
        """The session; after a restart, created from the introduction in the ledger."""
        if self._session is None:
            self._session = self._session_of(self.account.introduction())
        return self._session

    def _session_of(self, introduction: Introduction) -> MaskedSession:
        account, institution = self.account, self.institution
        return MaskedSession(
            self._rows(),
            account.terms,
            self._place(),
            account.secret(),
            introduction,
            institution.order,
            account.keys,
            account.binding,
            account.allowance,
            account.sign_remaining,
        )

    def _place(self) -> int:
        """The index of the party in the roster."""
        return _place(_plan(self.account.terms), self.institution)

    def _rows(self) -> Rows:
        """The rows of the release; attributes that are not in its plan cannot be queried."""
        plan, own = _plan(self.account.terms), self._place()
        on_disk = bytes_on_disk(self.institution.table, plan, plan.roster[own].slice)
        self.account.allowance.disk.reserve({_CODES: on_disk})
        held = self.institution.table.project(plan.roster[own].attributes)
        if isinstance(held, PeopleRows):
            held = held.in_parts(plan.parts_of[own])
        if plan.alignment is None:
            return held
        alignment_id = plan.alignment.alignment_id
        domain = plan.domain.project(held.domain)
        return place_rows(held, alignment_id, self.account.placement(alignment_id), domain, plan.absent)


def _place(plan: MaskedPlan, institution: Institution) -> int:
    names = [entry.name for entry in plan.roster]
    if institution.name not in names:
        raise ProtocolError("the release was accepted under another name of this party; start a new release")
    return names.index(institution.name)


def _plan(terms: ReleaseTerms) -> MaskedPlan:
    assert terms.masked_plan is not None, "terms of this protocol contain a plan"
    return terms.masked_plan
