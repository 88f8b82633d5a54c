"""What a query costs: as parties charge it, from the query and the signed terms alone."""

from __future__ import annotations

import hashlib
from fractions import Fraction

from ..canonical.queries import encode_asked
from ..errors import ProtocolError
from ..messages import AlignmentQuery, AnswerForm, Asked, MarginalQuery, ReleaseTerms, ScoreQuery
from ..privacy.budget import AnswerKind
from ..privacy.cost import counting_cost, gaussian_cost, score_cost
from ..privacy.spending import Cost
from .statement import Entry


def kind_of(query: Asked) -> AnswerKind:
    """What the noise of a query is added to."""
    if isinstance(query, AlignmentQuery):
        return AnswerKind.ALIGNMENT
    if isinstance(query, ScoreQuery):
        return AnswerKind.SCORES
    if query.form is AnswerForm.LABELS:
        return AnswerKind.LABELS
    return AnswerKind.INTERACTION if query.view.interaction else AnswerKind.MARGINAL


def entry_of(query: Asked, zcdp_rho: Fraction, delta: Fraction) -> Entry:
    """The ledger entry of a query, which is not signed yet.

    Args:
        query: the query.
        zcdp_rho: its cost.
        delta: of labels, what they take of delta.
    """
    digest = hashlib.sha256(encode_asked(query)).digest()
    clique, groups = (query.clique, query.view.groups) if isinstance(query, MarginalQuery) else ((), ())
    counts = tuple(max(codes, default=-1) + 1 for codes in groups)
    return Entry(query.query_id, digest, kind_of(query), clique, counts, zcdp_rho, delta, b"")


def cost_of(query: Asked, terms: ReleaseTerms) -> Cost:
    """What a query costs a person, for the unit of its release.

    Raises:
        ProtocolError: it is for labels that the release does not look for.
        BudgetError: it cannot be charged, such as for too much or too little noise.
    """
    unit = terms.unit
    if isinstance(query, AlignmentQuery):
        return Cost(unit, counting_cost(query.sigma, unit))
    if isinstance(query, ScoreQuery):
        return Cost(unit, score_cost(query.sigma, unit, len(query.views)))
    # Several parties with noise of their own answer for the same records.
    shape = query.view.interaction_shape(terms.plan.domain)
    rho = sum((gaussian_cost(sigma, unit, shape) for sigma in query.sigmas), Fraction(0))
    if query.form is not AnswerForm.LABELS:
        return Cost(unit, rho)
    search = terms.purpose.labels
    if search is None:
        raise ProtocolError("the release looks for no labels; compare the plan")
    return Cost(unit, rho, Fraction(search.delta) / len(search.attributes))
