"""Queries that parties charge: what each asks for, its kind, what ledgers enter of it, what it costs."""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from .crypto.randomness import KEY_BYTES
from .data.domain import Clique, Domain
from .data.view import ComparedView, View
from .errors import ProtocolError
from .privacy.budget import AnswerKind
from .privacy.cost import counting_cost, counting_sigma, gaussian_cost, score_cost
from .privacy.spending import Cost
from .protocols.alignment.plan import ALIGNMENT
from .protocols.masked.plan import MaskedPlan
from .protocols.scores.query import score_shape
from .protocols.scores.shape import ScoreShape
from .terms import ReleaseTerms

MAX_QUERY_ID = 256
"""Largest number of characters of a query's id."""


class AnswerForm(enum.Enum):
    """Form of an answer; the value is its number on the wire."""

    HISTOGRAM = 1
    RECORD_WISE = 2
    SHARE = 3
    LABELS = 4


@dataclass(frozen=True)
class MarginalQuery:
    """One query to one party.

    Attributes:
        release_id: id of an accepted release.
        query_id: unique within the release; the same query with the same id gets the same answer.
        form: one histogram, one indicator vector per record, a masked share of one histogram, or the labels
            of an open category.
        view: what is asked for, of attributes of the whole table; of an interaction, the differences that
            determine it.
        sigma: scale of the noise, in counts.
        other_sigmas: with RECORD_WISE, if several parties of the slice hold a part of the clique: `sigma` is
            that of the first one in the roster, these are those of the others.
    """

    named: ClassVar[str] = "marginal query"

    release_id: str
    query_id: str
    form: AnswerForm
    view: View
    sigma: float
    other_sigmas: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if not 0 < len(self.query_id) <= MAX_QUERY_ID or not self.view.clique:
            raise ValueError(
                f"a query needs an id of 1 to {MAX_QUERY_ID} characters and at least one attribute"
            )
        if not all(0 < sigma < math.inf for sigma in self.sigmas):
            raise ValueError("the sigma of a query must be a positive finite number")
        if self.form is AnswerForm.LABELS and not (len(self.view.clique) == 1 and self.view.is_plain):
            raise ValueError("a query for labels is for one attribute")
        if self.other_sigmas and self.form is not AnswerForm.RECORD_WISE:
            raise ValueError("only a query for indicator vectors has several sigmas")

    @property
    def sigmas(self) -> tuple[float, ...]:
        """The scales of the noise of all parties of the slice that hold a part, in the roster's order."""
        return (self.sigma, *self.other_sigmas)

    @property
    def clique(self) -> Clique:
        """The attributes that the query is for."""
        return self.view.clique

    @property
    def kind(self) -> AnswerKind:
        """What its noise is added to."""
        if self.form is AnswerForm.LABELS:
            return AnswerKind.LABELS
        return AnswerKind.INTERACTION if self.view.interaction else AnswerKind.MARGINAL

    @property
    def entered(self) -> View:
        """What a ledger's entry says of it: its attributes, and how many groups of codes."""
        return self.view

    def cost(self, terms: ReleaseTerms) -> Cost:
        """What it costs a person, for the unit of its release.

        Raises:
            ProtocolError: it is for labels that the release does not look for.
            BudgetError: it cannot be charged, such as for too much or too little noise.
        """
        # Several parties with noise of their own answer for the same records.
        shape = self.view.interaction_shape(terms.plan.domain)
        rho = sum((gaussian_cost(sigma, terms.unit, shape) for sigma in self.sigmas), Fraction(0))
        if self.form is not AnswerForm.LABELS:
            return Cost(terms.unit, rho)
        search = terms.purpose.labels
        if search is None:
            raise ProtocolError("the release looks for no labels; compare the plan")
        return Cost(terms.unit, rho, Fraction(search.delta) / len(search.attributes))


@dataclass(frozen=True)
class ScoreQuery:
    """A query for noisy L1 distances of marginals to public references.

    Attributes:
        release_id: id of an accepted release.
        query_id: unique within the release, also among marginal queries.
        views: marginals of the whole table, of codes or of groups.
        sigma: scale of the noise of every score, in records.
        references: SHA-256 of the references, one clique after the other, as little-endian int64.
        largest_reference: upper bound of the absolute reference of a cell.
        largest_total: upper bound of the sum of a view's absolute references.
    """

    named: ClassVar[str] = "score query"
    kind: ClassVar[AnswerKind] = AnswerKind.SCORES
    entered: ClassVar[View] = View(())

    release_id: str
    query_id: str
    views: tuple[View, ...]
    sigma: float
    references: bytes
    largest_reference: int
    largest_total: int

    def __post_init__(self) -> None:
        asked = all(view.clique for view in self.views) and self.views
        if not 0 < len(self.query_id) <= MAX_QUERY_ID or not asked:
            raise ValueError(
                f"a score query needs an id of 1 to {MAX_QUERY_ID} characters and cliques of at least one "
                "attribute"
            )
        if len(self.references) != KEY_BYTES:
            raise ValueError(f"the digest of references must have {KEY_BYTES} bytes")
        if not 0 < self.sigma < math.inf:
            raise ValueError("the sigma of a query must be a positive finite number")
        if not 0 <= self.largest_reference <= self.largest_total < 1 << 62:
            raise ValueError("the bounds of a score query must be whole numbers, the total's the larger")
        if any(view.boxes or view.interaction for view in self.views):
            raise ValueError("a score query compares marginals, not boxes nor interactions")

    @property
    def views_compared(self) -> tuple[View, ...]:
        """The views as they are counted: of people, by weights that add up."""
        return tuple(ComparedView(view.clique, view.groups) for view in self.views)

    def cells(self, domain: Domain) -> tuple[int, ...]:
        """The number of cells of each marginal that is compared."""
        return tuple(view.cells(domain) for view in self.views)

    def shape(self, plan: MaskedPlan) -> ScoreShape:
        """How it is computed over the parties of a plan; see `score_shape`."""
        cells = self.cells(plan.domain)
        return score_shape(plan, cells, self.sigma, self.largest_reference, self.largest_total)

    def cost(self, terms: ReleaseTerms) -> Cost:
        """What it costs a person; see `MarginalQuery.cost`."""
        return Cost(terms.unit, score_cost(self.sigma, terms.unit, len(self.views)))


@dataclass(frozen=True)
class AlignmentQuery:
    """The only query of a release that aligns rows: the noise that hides how many people are where.

    Attributes:
        release_id: id of an accepted release.
        query_id: unique within the release.
        sigma: scale of the discrete Gaussian on whole numbers that hides each count, in people.
    """

    named: ClassVar[str] = "alignment query"
    kind: ClassVar[AnswerKind] = AnswerKind.ALIGNMENT
    entered: ClassVar[View] = View(())

    release_id: str
    query_id: str
    sigma: float

    def __post_init__(self) -> None:
        if not 0 < len(self.query_id) <= MAX_QUERY_ID or not 0 < self.sigma < math.inf:
            raise ValueError("a query needs an id of 1 to 256 characters and a positive finite sigma")

    def cost(self, terms: ReleaseTerms) -> Cost:
        """What it costs a person; see `MarginalQuery.cost`."""
        return Cost(terms.unit, counting_cost(self.sigma, terms.unit))


def alignment_query(terms: ReleaseTerms) -> AlignmentQuery:
    """The query of a release that aligns rows: the grant determines its noise."""
    sigma = counting_sigma(Fraction(terms.granted_rho), terms.unit)
    return AlignmentQuery(terms.release_id, ALIGNMENT, sigma)


Asked = MarginalQuery | ScoreQuery | AlignmentQuery
"""A query that parties charge: it says its name, its kind, what a ledger enters and what it costs."""
