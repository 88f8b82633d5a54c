"""A dealer's part in one accepted release: it deals, and with two parties it helps to evaluate scores."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ...common.dealing.dealing import Dealing
from ...common.errors import ProtocolError
from ...common.messages import DealRequest, Delivery, Introduction, OpeningRequest
from ...common.protocols.masked.plan import MaskedPlan
from ...common.queries import ScoreQuery
from ..accounts.accepted import AcceptedRelease
from ..policies.allowance import MB, Processors, Quota
from ..policies.dealt import check_dealt, deal_within
from .policy import DealerPolicy

_SCORES = "scores"


class DealtRelease:
    """Deals the randomness of one release; after a restart the same again, from the secret in the ledger.

    Args:
        release: the release in the ledger.
        plan: plan of the release.
        name: name of the dealer.
        policy: limits of the dealer.
        processors: seconds of its steps.
    """

    def __init__(
        self,
        release: AcceptedRelease,
        plan: MaskedPlan,
        name: str,
        policy: DealerPolicy,
        processors: Processors,
    ) -> None:
        self._release = release
        self._plan = plan
        self._name = name
        self._policy = policy
        self._processors = processors
        self._memory = Quota(policy.max_memory_mb * MB, "max_memory_mb")
        self._dealing: Dealing | None = None

    def introduce(self, introduction: Introduction) -> None:
        """Receives and verifies the acceptances of all participants."""
        dealing = self._dealing_of(introduction)
        self._release.introduce(introduction)
        self._dealing = self._dealing or dealing

    def deal(self, request: DealRequest) -> Iterator[bytes]:
        """Frames of dealt randomness, sealed for a party.

        Raises:
            ProtocolError: the request does not fit the plan, or the participants are not introduced.
            PolicyError: the products are larger than the policy allows, or the time to compute is used up.
        """
        size = check_dealt(self._plan, request, self._policy.check_cells)
        return deal_within(self._memory.during(size), self._introduced_dealing(), request, self._processors)

    def prepare_scores(self, query: ScoreQuery) -> None:
        """Begins a score query as evaluator 0, in a release of two parties.

        Raises:
            ProtocolError: the plan names another evaluator, or an attribute is unknown.
            DataError: groups do not fit.
            PolicyError: the query needs more memory than the policy allows.
        """
        domain = self._plan.domain
        for view in query.views:
            if not view.is_of(domain):
                raise ProtocolError(
                    "expected attributes that can be queried, in domain order; compare the plan"
                )
            self._plan.check_view(view)
        for each in query.cells(domain):
            self._policy.check_cells(each)
        self._memory.reserve({_SCORES: query.shape(self._plan).evaluated_bytes})
        self._introduced_dealing().scores.prepare(query)

    def open(self, request: OpeningRequest) -> Iterator[bytes]:
        """Frames of a step of a score query, sealed for another evaluator."""
        return self._introduced_dealing().open(request)

    def deliver(self, delivery: Delivery, chunks: Iterable[bytes]) -> None:
        """Stores what an evaluator of scores receives."""
        self._introduced_dealing().deliver(delivery, chunks)

    def _introduced_dealing(self) -> Dealing:
        """What deals; after a restart, from the introduction in the ledger."""
        if self._dealing is None:
            self._dealing = self._dealing_of(self._release.introduction())
        return self._dealing

    def _dealing_of(self, introduction: Introduction) -> Dealing:
        release, names = self._release, [entry.name for entry in self._plan.participants]
        if self._name not in names:
            raise ProtocolError(
                "the release was accepted under another name of this dealer; start a new release"
            )
        place = names.index(self._name)
        ranges = self._processors.map
        return Dealing(
            release.terms,
            place,
            release.secret(),
            introduction.acceptances,
            release.keys,
            release.binding,
            ranges,
        )
