"""Marginals over the parties of a federation with the protocols `trusted` and `indicator`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ...common.canonical.queries import encode_asked
from ...common.data.domain import Clique
from ...common.data.view import View
from ...common.errors import DeliveriesLost
from ...common.measurement import Measurement
from ...common.messages import AnswerRequest
from ...common.privacy.budget import Charge
from ...common.privacy.cost import gaussian_cost, gaussian_sigma, grid_of
from ...common.protocols import indicator, registry
from ...common.queries import AnswerForm, MarginalQuery
from ...common.terms import ReleaseTerms
from ..parties.asking import Asking
from ..parties.federation import Federation, Member
from .labels import LabelFinder
from .limits import is_too_large
from .measurer import Query
from .scores import Batch, ScoringMeasurer, local_scores, score_charge


@dataclass(frozen=True, eq=False)
class _Share:
    """What one party of a slice answers: its part of the clique and the scale of its noise."""

    member: Member
    part: Clique
    sigma: float


class FederationMeasurer(ScoringMeasurer):
    """Measures through the parties of a federation.

    If one party of a slice holds the whole clique, it sends one noisy histogram. Otherwise each party that
    holds a part of it sends noisy indicator vectors for every record (RandDPGen, Algorithm 1). All parties of
    a slice charge what they answer together, also those that hold no part, before the first answers.

    Args:
        federation: the parties, which accepted the terms.
        terms: terms of the release.
        granted: upper limit of the costs of all queries together, zCDP.
        record_wise: follow the paper exactly: indicator vectors even if one party holds the clique.
        asking: recalls answers and retries.
    """

    def __init__(
        self,
        federation: Federation,
        terms: ReleaseTerms,
        granted: Fraction,
        *,
        record_wise: bool = False,
        asking: Asking | None = None,
    ) -> None:
        super().__init__(federation.domain, federation.record_count, granted)
        self._federation = federation
        self._protocol = registry.protocol_named(terms.spec.protocol)
        self._terms = terms
        self._release_id = terms.release_id
        self._unit = terms.unit
        self._record_wise = record_wise
        self._asked = 0
        self._sigmas: dict[tuple[tuple[int, ...], View, Fraction], float] = {}
        self._asking = asking or Asking()
        self._finder = LabelFinder(federation, terms, self._asking)

    def expected_sigma(self, view: View, zcdp_rho: Fraction) -> float:
        """Root mean square of the standard deviations of the view's values, from public facts only.

        Infinite if the terms exclude a marginal of this size.
        """
        if is_too_large(self._terms, self.domain, view):
            return math.inf
        query = Query(view, zcdp_rho, "")
        factor = self._factor_of(view)
        if self._record_wise or any(len(members) > 1 for members in self._federation.slices):
            return factor * self._sigma_of(query)
        # Each slice has its records in one place, so only the shape counts.
        key = (self.domain.shape(view.clique), replace(view, clique=()), zcdp_rho)
        if key not in self._sigmas:
            self._sigmas[key] = self._sigma_of(query)
        return factor * self._sigmas[key]

    def _sigma_of(self, query: Query) -> float:
        # If the curator adds up the cells of a box or of groups, their variances add up too.
        cells = query.view.cells_of_each(self.domain)
        variance = 0.0
        for members, records in zip(self._federation.slices, self._federation.record_counts, strict=True):
            shares = self._shares(members, query)
            variance += self._variance(shares, records) * (1 if self._sums_first(shares) else cells)
        return math.sqrt(variance)

    @property
    def scores_exactly(self) -> bool:
        """Whether one party holds the whole table."""
        return self._protocol.scores is registry.Scores.ALWAYS

    def _score_charge(self, views: Sequence[View], zcdp_rho: Fraction, step: str) -> Charge:
        return score_charge(step, len(views), zcdp_rho, self._unit, slices=1)

    def _measure_scores(self, batch: Batch, sigma: float) -> NDArray[np.float64]:
        self._asked += 1
        (member,) = self._federation.members
        query = batch.query(self._release_id, f"{self._asked:06d}", sigma)
        return self._asking.ask(
            query.query_id,
            encode_asked(query),
            lambda: local_scores(member.client, query, batch.references, self._unit.parts),
            _nothing_delivered,
        )

    def _charge(self, query: Query) -> Charge:
        slices = [self._shares(members, query) for members in self._federation.slices]
        shape = self._view(query).interaction_shape(self.domain)
        costs = [
            sum((gaussian_cost(s.sigma, self._unit, shape) for s in shares), Fraction(0)) for shares in slices
        ]
        sigmas = tuple(tuple(share.sigma for share in shares) for shares in slices)
        # One record lies in one slice: slices compose in parallel, and the most expensive one counts.
        counted: tuple[int, ...] = ()
        if any(map(self._sums_first, slices)):
            counted = query.view.group_counts(self.domain)
        return Charge(query.step, query.view.clique, max(costs), sigmas, interaction=shape, groups=counted)

    def _answers(self, queries: Sequence[Query], charges: Sequence[Charge]) -> list[Measurement]:
        for number, query in enumerate(queries, start=1):
            self._foresee(query, number)
        return super()._answers(queries, charges)

    def _foresee(self, query: Query, ahead: int) -> None:
        """Announces what parties by files will be asked, unless the answer is known.

        Args:
            query: a query to come.
            ahead: how many queries it is ahead of the last one.
        """
        slices = [self._shares(members, query) for members in self._federation.slices]
        if self._asking.knows(f"{self._asked + ahead:06d}", self._encode_query(slices, query, ahead)):
            return
        for members, shares in zip(self._federation.slices, slices, strict=True):
            if any(member.client.by_files for member in members):
                asked = self._marginal_query(shares, query, ahead)
                if len(members) > 1:
                    for member in members:
                        member.client.foresee("Charge", asked)
                else:
                    shares[0].member.client.foresee("Answer", AnswerRequest(asked))

    def _answer(self, query: Query, charge: Charge) -> Measurement:
        self._asked += 1
        federation = self._federation
        slices = [self._shares(members, query) for members in federation.slices]

        def sum_slices() -> NDArray[np.float64]:
            values = np.zeros(query.view.size(self.domain))
            for members, shares, records in zip(
                federation.slices, slices, federation.record_counts, strict=True
            ):
                values += self._slice_values(members, shares, query, records)
            return values

        described = self._encode_query(slices, query)
        values = self._asking.ask(f"{self._asked:06d}", described, sum_slices, _nothing_delivered)
        gaussian = all(self._sums_first(shares) for shares in slices)
        sigma = self._sigma_of(query)
        if not query.view.boxes and not self._view(query).interaction:
            self._learn_size(query.view, values, sigma)
        if query.view.interaction:
            values = query.view.of_cells(values, self.domain)
        rho = float(charge.zcdp_rho)
        return Measurement(query.view, values, sigma, rho, gaussian)

    def _encode_query(self, slices: Sequence[Sequence[_Share]], query: Query, ahead: int = 0) -> bytes:
        """All that the answer depends on; see `_foresee`."""
        # What the curator adds up decides the answer too.
        asked = (
            replace(self._marginal_query(shares, query, ahead), view=self._view(query)) for shares in slices
        )
        return b"".join(map(encode_asked, asked))

    def _shares(self, members: Sequence[Member], query: Query) -> list[_Share]:
        clique = query.view.clique
        parts = indicator.divide(clique, [member.attributes for member in members])
        allotted = {j: indicator.allocate(query.zcdp_rho, part, clique) for j, part in parts.items()}
        shape = self._view(query).interaction_shape(self.domain)
        return [_Share(members[j], part, self._sigma(allotted[j], shape)) for j, part in parts.items()]

    def _view(self, query: Query) -> View:
        """What is asked for: the interaction alone only if one party of every slice holds the clique."""
        whole = not self._record_wise and all(
            any(set(query.view.clique) <= set(member.attributes) for member in members)
            for members in self._federation.slices
        )
        return replace(query.view, interaction=query.view.interaction and whole)

    def _sigma(self, rho: Fraction, shape: tuple[int, ...]) -> float:
        """Scale of the noise that a party adds for this part of the budget."""
        return gaussian_sigma(rho, self._unit, shape)

    def _sums_first(self, shares: Sequence[_Share]) -> bool:
        return len(shares) == 1 and not self._record_wise

    def _variance(self, shares: Sequence[_Share], records: int) -> float:
        if self._sums_first(shares):
            return shares[0].sigma ** 2
        cells = [self.domain.cells(share.part) for share in shares]
        return indicator.product_variance(records, cells, [share.sigma for share in shares])

    def _slice_values(
        self, members: Sequence[Member], shares: Sequence[_Share], query: Query, records: int
    ) -> NDArray[np.float64]:
        """A slice's noisy cells, of codes or of groups, or sums over boxes, in counts."""
        asked = self._marginal_query(shares, query)
        charges = _charge_members(members, asked)
        sigmas = [share.sigma for share in shares]
        cells = [self.domain.cells(share.part) for share in shares]
        if self._sums_first(shares):
            words = asked.view.sent_count(self.domain)
            (counts,) = shares[0].member.client.answer(asked, 1, words, 1, charges)
            return asked.view.received(counts.ravel() / grid_of(sigmas[0], self._unit.parts), self.domain)
        rows = indicator.block_rows(cells)
        streams = [
            share.member.client.answer(asked, records, n, rows, charges)
            for share, n in zip(shares, cells, strict=True)
        ]
        product = np.zeros(cells)
        for blocks in zip(*streams, strict=True):
            product += indicator.multiply(blocks, sigmas)
        held = tuple(name for share in shares for name in share.part)
        axes = [held.index(name) for name in query.view.clique]
        values = product.reshape(self.domain.shape(held)).transpose(axes).ravel()
        return query.view.of_codes(values, self.domain)

    def _marginal_query(self, shares: Sequence[_Share], query: Query, ahead: int = 0) -> MarginalQuery:
        """The query to the parties of a slice, each of which derives its own part; see `_foresee`."""
        sums_first = self._sums_first(shares)
        form = AnswerForm.HISTOGRAM if sums_first else AnswerForm.RECORD_WISE
        sigma, *others = (share.sigma for share in shares)
        # Of indicator vectors, the curator adds up what the view asks for.
        view = self._view(query) if sums_first else View(query.view.clique)
        query_id = f"{self._asked + ahead:06d}"
        return MarginalQuery(self._release_id, query_id, form, view, sigma, tuple(others))


def _charge_members(members: Sequence[Member], asked: MarginalQuery) -> list[bytes]:
    """The signed charges of all parties of a slice; none if there is one, which charges as it answers."""
    return [member.client.charge(asked) for member in members] if len(members) > 1 else []


def _nothing_delivered(lost: DeliveriesLost) -> None:
    """No reset before a retry: these parties hold no state between queries."""
