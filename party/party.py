"""One institution: its rows, its policy, its ledger, and the answers that they allow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ..common.crypto.randomness import FreshKeys
from ..common.errors import MosaicError, ProtocolError
from ..common.federation.protocol_versions import NEWEST, OLDEST
from ..common.messages import (
    DealRequest,
    Delivery,
    DeliveryKind,
    MultiplyRequest,
    OpeningRequest,
    PartyDescription,
    Remaining,
    Unmasked,
    Unmasking,
)
from ..common.processes.workers import NONE, Workers
from ..common.queries import AnswerForm, Asked, MarginalQuery
from ..common.terms import ReleaseTerms
from ..common.version import __version__
from .accounts.account import Account
from .accounts.ledger import Ledger
from .answerers.answerer import Answerer
from .answerers.catalogue import answerer_of
from .answerers.labels import LabelAnswers, check_search
from .institution.choice import check_choice
from .institution.held import check_ready
from .institution.institution import Institution, caught
from .institution.role import Refusals, Role
from .policies.allowance import Allowance
from .policies.quotas import Asking, Taken


class Party(Role[Answerer]):
    """Answers a curator's queries within its policy, each charged to its ledger before noise is drawn.

    The answers depend on the protocol, see `answerers`; for the charges see `Account`.

    Args:
        institution: rows, identity and rules of the institution.
        ledger: ledger of the party.
        keys: source of noise keys and salts; `fresh_key` in every release.
        workers: compute beside the current thread.
    """

    def __init__(
        self, institution: Institution, ledger: Ledger, keys: FreshKeys, workers: Workers = NONE
    ) -> None:
        digest = institution.digest()
        super().__init__(institution.identity, institution.rules, ledger, keys, digest, workers)
        self._institution = institution

    def describe(self) -> PartyDescription:
        """Public facts about the party."""
        institution, policy = self._institution, self._institution.rules.policy
        return PartyDescription(
            name=institution.name,
            protocol_version=OLDEST,
            software_version=__version__,
            domain=institution.table.domain,
            # Alignments hide the number of rows.
            record_count=None if policy.max_alignment_rho else institution.record_count,
            protocols=tuple(sorted(policy.protocols)),
            identity=institution.identity.public,
            alignments=self._ledger.placements(self._digest),
            identifiers=institution.identifiers.names,
            max_cells=policy.max_cells,
            newest_protocol=NEWEST,
        )

    def open(self, request: OpeningRequest) -> Iterator[bytes]:
        """Frames for another party: a matrix minus its mask, its proof, a step of scores, a tag or points."""
        answerer = self._releases.of(request.release_id)
        match request.kind:
            case DeliveryKind.SCORE_STEP:
                return answerer.scores.open(request.query_id, request.step, request.recipient)
            case DeliveryKind.RECORD_ORDER:
                return answerer.order_tag(request.recipient)
            case DeliveryKind.PROOF:
                return answerer.prove(request.chain, request.recipient)
            case DeliveryKind.COINS:
                return answerer.coins(request.chain, request.step, request.recipient)
            case DeliveryKind.CHECK:
                return answerer.check(request.chain, request.recipient)
            case DeliveryKind.ALIGNMENT_POINTS:
                return answerer.pass_on(request.step, request.recipient)
            case DeliveryKind.KEY_POINTS:
                return answerer.key_points()
            case DeliveryKind.OPENING | DeliveryKind.ALIGNMENT_KEY:
                return answerer.open(request.chain, request.recipient, request.step)
            case _:
                raise ProtocolError("expected a kind of message that parties send; compare versions")

    def deal(self, request: DealRequest) -> Iterator[bytes]:
        """Frames of dealt randomness for a party of another slice, sealed for it."""
        return self._releases.of(request.release_id).deal(request)

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
        if query.form is AnswerForm.LABELS:
            return self._labels(query).charge(query)
        return self._answerer_of(query).charge(query)

    def answer(
        self, query: MarginalQuery, charges: Sequence[bytes] = (), before: Sequence[int] = ()
    ) -> Iterator[bytes]:
        """The frames of a noisy answer.

        Args:
            query: query to answer.
            charges: what `charge` returned at each party of the slice; empty if the party charges alone.
            before: places of the parties that have dropped out, where they may.

        Raises:
            ProtocolError: see `charge`; or a charge is missing or not signed by its party.
            PolicyError: the policy does not allow it.
            BudgetError: it exceeds the grant of the release.
        """
        if query.form is AnswerForm.LABELS:
            return self._labels(query).answer(query, charges)
        answerer = self._answerer_of(query)
        return answerer.answer_without(query, before) if before else answerer.answer(query, charges)

    def agree(self, remaining: Remaining) -> bytes:
        """Signs who is in an answer, where parties may drop out; see `Answerer.agree`."""
        return self._releases.of(remaining.release_id).agree(remaining)

    def unmask(self, asked: Unmasking) -> Unmasked:
        """The party's part of the masks of a sum, where parties may drop out; see `Answerer.unmask`."""
        return self._releases.of(asked.remaining.release_id).unmask(asked)

    def answer_scores(self, query: Asked) -> Iterator[bytes]:
        """The frames of noisy scores, or of a masked share of them, after all deliveries."""
        return self._releases.of(query.release_id).scores.answer(query)

    def _admission(self, terms: ReleaseTerms, curator: bytes) -> Refusals:
        self._institution.check_related(terms.plan)
        institution = self._institution.without_records.with_chosen_codes(terms.plan)
        answerer, stated = answerer_of(terms.spec.protocol), terms.plan.alignment
        chosen = terms.plan.chosen
        choice = None if chosen is None else self._ledger.certified_release(chosen.release_id)
        aligned = None if stated is None else self._ledger.alignment(stated.alignment_id, self._digest)
        # Not within the ledger's transaction: an engine may take its time.
        unready = tuple(caught(lambda: check_ready(institution.table)))

        def check(taken: Sequence[Taken]) -> Iterator[MosaicError]:
            rules = institution.rules
            asking = Asking(curator, rules.name_of(curator))
            yield from rules.policy.refusals(terms, institution.record_count, taken, asking)
            if terms.aligning is None:
                for refusal in caught(lambda: institution.check_alignment(terms, aligned)):
                    yield refusal
                    # The refusal of another number of rows would show the number, which is private.
                    return
            for refusal in caught(lambda: institution.check_partition(terms.plan, aligned)):
                yield refusal
                # What follows is about this party's place in the plan.
                return
            if chosen is not None:
                yield from caught(lambda: check_choice(terms, chosen, choice))
            if terms.masked_plan is not None:
                masked = terms.masked_plan
                yield from caught(lambda: institution.check_dealers(masked, curator))
            yield from caught(lambda: institution.check_keys(terms))
            yield from caught(lambda: institution.check_reviewed(terms))
            yield from caught(lambda: check_search(terms, institution))
            yield from caught(lambda: answerer.check_terms(terms, institution))
            yield from unready

        return check

    def _begin(self, terms: ReleaseTerms) -> Answerer:
        """The answerer of an accepted release."""
        institution = self._institution.with_chosen_codes(terms.plan).with_check(
            lambda: self._check_open(terms.release_id)
        )
        policy = institution.rules.policy
        allowance = Allowance.of(policy, self._processors_of(terms.release_id))
        account = Account(terms, self._ledger, self._digest, institution.identity, self._keys, allowance)
        return answerer_of(terms.spec.protocol)(institution, account)

    def _check_open(self, release_id: str) -> None:
        """Refuses to go on counting for a release that was denied, ended or used up its time."""
        self._check_running(release_id)
        self._ledger.release(release_id)

    def _labels(self, query: MarginalQuery) -> LabelAnswers:
        """The answers about labels of a query's release."""
        answerer = self._releases.of(query.release_id)
        check_ready(answerer.institution.table)
        return LabelAnswers(answerer.institution, answerer.account)

    def _answerer_of(self, query: MarginalQuery) -> Answerer:
        """The answerer of a query, if the query is allowed."""
        answerer = self._releases.of(query.release_id)
        if query.form not in answerer.forms:
            raise ProtocolError(
                f"the protocol {answerer.account.terms.spec.protocol!r} has no answers of the form "
                f"{query.form.name}; compare versions"
            )
        answerer.check_view(query.view)
        check_ready(answerer.institution.table)
        return answerer
