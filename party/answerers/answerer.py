"""Base class of answerers: the steps of a party that depend on the protocol."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar

from ...common.data.domain import Domain
from ...common.data.rows import Rows
from ...common.data.view import View
from ...common.errors import PolicyError, ProtocolError
from ...common.messages import DealRequest, Delivery, Introduction, Remaining, Unmasked, Unmasking
from ...common.protocols.masked.plan import Chain
from ...common.queries import AnswerForm, MarginalQuery, ScoreQuery
from ...common.terms import ReleaseTerms
from ..accounts.account import Account
from ..institution.held import check_ready
from ..institution.institution import Institution
from .scores import LocalScores, ScoreRun, ScoreRuns


class Answerer(ABC):
    """A party's role in one accepted release.

    The party calls it only for what its policy allows. Noise comes only from `Account.charge`. The defaults
    here refuse steps that a protocol does not have.

    Args:
        institution: institution whose rows it answers from.
        account: account of the release.
    """

    forms: ClassVar[frozenset[AnswerForm]]
    """Forms of its answers to marginal queries."""

    def __init__(self, institution: Institution, account: Account) -> None:
        self.institution = institution
        self.account = account
        self.scores = ScoreRuns(account)
        """Score queries of the release."""

    @classmethod
    def check_terms(cls, terms: ReleaseTerms, institution: Institution) -> None:
        """Refuses a new release whose terms are invalid for this protocol; accepts all by default.

        Raises:
            ProtocolError: the terms do not match the institution.
            PolicyError: they name a party that is not pinned.
        """
        return None

    @property
    def domain(self) -> Domain:
        """Attributes that may be queried: those of the whole table."""
        return self.account.terms.plan.domain

    def charge(self, query: MarginalQuery) -> bytes:
        """Charges a query that all parties of the slice charge before any answers; refuses by default.

        Args:
            query: see `answer`.

        Returns:
            The party's signature over the entry in its ledger.

        Raises:
            ProtocolError: the query does not fit the protocol.
            BudgetError: the query exceeds the grant of the release.
        """
        raise ProtocolError(
            f"the protocol {self.account.terms.spec.protocol!r} charges when it answers; query the answer"
        )

    def key_points(self) -> Iterator[bytes]:
        """What the party publishes of the keys of its masks, where parties may drop out; else refuses."""
        raise self._nobody_drops_out()

    def agree(self, remaining: Remaining) -> bytes:
        """The party's signature over who is in an answer, where parties may drop out; else refuses."""
        raise self._nobody_drops_out()

    def unmask(self, asked: Unmasking) -> Unmasked:
        """The party's part of the masks of a sum, where parties may drop out; else refuses."""
        raise self._nobody_drops_out()

    def answer_without(self, query: MarginalQuery, before: Sequence[int]) -> Iterator[bytes]:
        """The frames of an answer after parties dropped out, where they may; else refuses.

        Args:
            query: see `answer`.
            before: their places in the roster.
        """
        raise self._nobody_drops_out()

    @abstractmethod
    def answer(self, query: MarginalQuery, charges: Sequence[bytes] = ()) -> Iterator[bytes]:
        """The frames of a noisy answer; the query is charged before this returns.

        Args:
            query: query of one of `forms`, with clique, boxes and groups checked against domain and policy.
            charges: what `charge` returned at each party of the slice, if the protocol charges jointly.

        Raises:
            ProtocolError: the query does not fit the protocol.
            BudgetError: the query exceeds the grant of the release.
        """

    def check_view(self, view: View) -> None:
        """Refuses a view that may not be queried.

        Raises:
            ProtocolError: an attribute is unknown, or they are in another order.
            PolicyError: it has too many cells.
        """
        domain = self.domain
        if not view.is_of(domain):
            raise ProtocolError("expected attributes that can be queried, in domain order; compare the plan")
        view.check(domain)
        cells = view.cells(domain)
        self.institution.rules.policy.check_cells(cells)
        if not self.account.terms.purpose.measures(view.clique, cells):
            raise PolicyError(
                "the query is for a larger marginal than the terms of its release allow; query a smaller "
                "one, or begin a release whose terms allow it"
            )

    def prepare_scores(self, query: ScoreQuery) -> None:
        """Charges a score query before anything for it is computed; a repeated query costs nothing.

        Raises:
            ProtocolError: an attribute is unknown, or the id was used before.
            DeliveriesLost: a product was not computed.
            PolicyError: a clique has too many cells, or all of them together need too much memory.
            BudgetError: it exceeds the grant of the release.
        """
        for view in query.views:
            self.check_view(view)
        check_ready(self.institution.table)
        self.scores.prepare(self._score_run(query))

    def _score_run(self, query: ScoreQuery) -> ScoreRun:
        """The party's run of a score query, created before the charge; local by default.

        Raises:
            ProtocolError: the protocol has no scores, or a product for them is missing.
        """
        return LocalScores(self._scored_rows(), query, self.account.terms.unit.parts)

    def _scored_rows(self) -> Rows:
        """The rows of a party that computes scores without others; refuses by default."""
        raise ProtocolError(
            f"the protocol {self.account.terms.spec.protocol!r} has no scores; measure marginals"
        )

    def introduce(self, introduction: Introduction) -> None:
        """Receives the other participants."""
        raise self._nothing_shared()

    def tokens(self, owner: int) -> Iterator[bytes]:
        """The frames of a token of each row of a party, after they are charged; refuses by default."""
        raise self._nothing_aligned()

    def pass_on(self, owner: int, recipient: int) -> Iterator[bytes]:
        """The points of a party's rows, in frames sealed for another party; refuses by default."""
        raise self._nothing_aligned()

    def order_tag(self, recipient: int) -> Iterator[bytes]:
        """A keyed digest of the order of the party's records, for another party."""
        raise self._nothing_shared()

    def open(self, chain: Chain, recipient: int, place: int = 0) -> Iterator[bytes]:
        """A range of the rows of a matrix minus its mask, in frames sealed for another party."""
        raise self._nothing_shared()

    def coins(self, chain: Chain, owner: int, recipient: int) -> Iterator[bytes]:
        """The coins by which another party proves its opening, in frames sealed for it or for a dealer."""
        raise self._nothing_shared()

    def prove(self, chain: Chain, recipient: int) -> Iterator[bytes]:
        """The proof that an opening is one-hot, in frames sealed for another party."""
        raise self._nothing_shared()

    def check(self, chain: Chain, recipient: int) -> Iterator[bytes]:
        """A part of the check of a dealt product, in frames sealed for another party."""
        raise self._nothing_shared()

    def deal(self, request: DealRequest) -> Iterator[bytes]:
        """Dealt randomness for a party of another slice, in frames sealed for it."""
        raise self._nothing_shared()

    def deliver(self, delivery: Delivery, chunks: Iterable[bytes]) -> None:
        """Stores an opening of another party, or a message of the dealer."""
        raise self._nothing_shared()

    def multiply(self, chains: Sequence[Chain]) -> None:
        """Computes shares of products from the deliveries."""
        raise self._nothing_shared()

    def _nobody_drops_out(self) -> ProtocolError:
        return ProtocolError("no party may drop out of the release, as its terms say; compare the plan")

    def _nothing_aligned(self) -> ProtocolError:
        return ProtocolError(
            f"the protocol {self.account.terms.spec.protocol!r} aligns no rows; start an alignment for that"
        )

    def _nothing_shared(self) -> ProtocolError:
        return ProtocolError(
            f"a release by the protocol {self.account.terms.spec.protocol!r} has no products; send only "
            "queries"
        )
