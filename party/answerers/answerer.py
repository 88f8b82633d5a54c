"""What a party does in a release that differs by protocol; a protocol's answerer says how."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar

from ...common.data.domain import Domain
from ...common.errors import ProtocolError
from ...common.messages import AnswerForm, Delivery, Introduction, MarginalQuery, ReleaseTerms, ScoreQuery
from ...common.protocols.masked.plan import Chain
from ..account import Account
from ..institution import Institution
from .scores import ScoreRun, ScoreRuns


class Answerer(ABC):
    """A party's part in one accepted release.

    The party asks it only for what its policy allows. Noise comes only from `Account.charge`. What a protocol
    has no use for is refused here.

    Args:
        institution: whose rows it answers from.
        account: of the release.
    """

    forms: ClassVar[frozenset[AnswerForm]]
    """The forms in which it answers marginal queries."""

    def __init__(self, institution: Institution, account: Account) -> None:
        self.institution = institution
        self.account = account
        self.scores = ScoreRuns(account)
        """The score queries under way."""

    @classmethod
    def check_terms(cls, terms: ReleaseTerms, institution: Institution) -> None:
        """Refuses a new release whose terms are wrong for this protocol; by default none is.

        Raises:
            ProtocolError: the terms say something else of the institution than is true.
            PolicyError: they name somebody whom it does not know.
        """
        return None

    @property
    def domain(self) -> Domain:
        """The attributes that may be asked for."""
        return self.institution.table.domain

    @abstractmethod
    def answer(self, query: MarginalQuery) -> Iterator[bytes]:
        """The frames of a noisy answer; charged when this returns.

        Args:
            query: of one of `forms`, whose clique and boxes fit the domain and the policy.

        Raises:
            ProtocolError: it does not fit the protocol.
            BudgetError: the release's grant does not cover it.
        """

    def score_run(self, query: ScoreQuery) -> ScoreRun:
        """The party's part in a score query, before it is charged; by default there is none.

        Raises:
            ProtocolError: the protocol has no scores, or something for them is missing.
        """
        raise ProtocolError(f"the protocol {self.account.terms.protocol!r} has no scores; measure marginals")

    def introduce(self, introduction: Introduction) -> None:
        """Learns who else takes part, and its own masks."""
        raise self._nothing_shared()

    def open(self, chain: Chain, recipient: int) -> Iterator[bytes]:
        """A matrix without its mask, in frames sealed for another party."""
        raise self._nothing_shared()

    def deliver(self, delivery: Delivery, chunks: Iterable[bytes]) -> None:
        """Keeps what another party opened for this one, or what the dealer dealt."""
        raise self._nothing_shared()

    def multiply(self, chains: Sequence[Chain]) -> None:
        """Computes shares of products, from what was delivered."""
        raise self._nothing_shared()

    def interaction_shape(self, query: MarginalQuery) -> tuple[int, ...]:
        """The shape of the marginal where its differences alone are asked for; else empty."""
        return self.domain.shape(query.clique) if query.interaction else ()

    def _nothing_shared(self) -> ProtocolError:
        return ProtocolError(
            f"a release by the protocol {self.account.terms.protocol!r} has no products; ask only for answers"
        )
