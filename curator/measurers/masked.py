"""Marginals over the parties of a federation with the protocol `masked`: the curator sees only noisy sums."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ...common.canonical.queries import encode_asked
from ...common.data.domain import Clique
from ...common.data.grouping import Groups, with_last_code_apart
from ...common.data.view import View
from ...common.errors import BudgetError, DataError
from ...common.measurement import Measurement
from ...common.messages import Acceptance, AnswerRequest, Introduction
from ...common.privacy.budget import Charge
from ...common.privacy.cost import gaussian_cost, gaussian_sigma
from ...common.protocols.masked.bounds import AnswerBounds, marginal_bounds
from ...common.protocols.masked.plan import MAX_OPENING_BYTES
from ...common.protocols.masked.reveal import opened_sum
from ...common.protocols.scores.query import Integers
from ...common.queries import AnswerForm, MarginalQuery
from ...common.terms import ReleaseTerms
from ..parties.asking import Asking
from ..parties.federation import Federation
from .labels import LabelFinder
from .limits import is_too_large
from .measurer import Query, Scores
from .planning import LARGEST_OF_RECORDS, factor_of, masked_sigma, noisy_size, observers_of, scale_of
from .products import Products
from .scores import Batch, ScoringMeasurer, local_scores, score_charge, shared_scores, without_absent


class MaskedMeasurer(ScoringMeasurer):
    """Measures through shares that parties compute, mask and add noise to.

    Args:
        federation: the parties.
        terms: terms of the release.
        acceptances: signed acceptance of each party; empty if all answers are recalled, so that parties are
            not introduced.
        granted: upper limit of the costs of all queries together, zCDP.
        asking: recalls answers and retries.
    """

    def __init__(
        self,
        federation: Federation,
        terms: ReleaseTerms,
        acceptances: tuple[Acceptance, ...],
        granted: Fraction,
        asking: Asking | None = None,
    ) -> None:
        super().__init__(federation.domain, federation.record_count, granted)
        if terms.masked_plan is None:
            raise ValueError("the terms of a masked release have a masked plan")
        self._terms = terms
        self._plan = terms.masked_plan
        self._clients = [member.client for member in federation.members]
        self._release_id = terms.release_id
        self._unit = terms.unit
        self._participants = [*self._clients, *(d.client for d in federation.dealers_of(terms))]
        self._products = Products(self._release_id, self._plan, self._participants)
        self._sigmas: dict[tuple[Fraction, tuple[int, ...], float], float] = {}
        self._asked = 0
        self._asking = asking or Asking()
        self._finder = LabelFinder(federation, terms, self._asking)
        self._size = noisy_size(self._plan, self._unit)
        self.sampling = self._plan.sampling
        self.observers = observers_of(self._plan)
        if acceptances:
            self._introduce(acceptances)

    def _introduce(self, acceptances: tuple[Acceptance, ...]) -> None:
        introduction = Introduction(self._release_id, acceptances)
        for client in self._participants:
            self._asking.persist(partial(client.introduce, introduction), self._products.forget)
        # Slices whose rows differ in order are refused before anything is charged.
        for number in range(self._plan.slice_count):
            self._asking.persist(partial(self._products.begin, number), self._products.forget)

    def expected_sigma(self, view: View, zcdp_rho: Fraction) -> float:
        """Standard deviation of every cell; infinite if openings exceed their limit, or terms exclude it."""
        if is_too_large(self._terms, self.domain, view) or not self._plan.feasible(view):
            return math.inf
        # A mechanism asks for thousands of views of few shapes.
        key = zcdp_rho, view.interaction_shape(self.domain), factor_of(self._plan, view.clique)
        if key not in self._sigmas:
            self._sigmas[key] = masked_sigma(self._plan, self._unit, view, zcdp_rho)
        return self._sigmas[key] * self._factor_of(view)

    def is_sampled(self, clique: Clique) -> bool:
        """See `Measurer.is_sampled`."""
        return self._plan.is_sampled(clique)

    def measurable_groups(self, groups: Groups) -> Groups:
        """The groups with `absent` apart, where it is the last code; see `Measurer.measurable_groups`."""
        return tuple(map(with_last_code_apart, groups)) if self._plan.absent else groups

    def multiplied(self, view: View) -> Mapping[Hashable, int]:
        """See `Measurer.multiplied`."""
        return self._plan.multiplied(view)

    def _check(self, view: View) -> None:
        self._plan.check_view(view)

    @property
    def scores_exactly(self) -> bool:
        """Whether the plan names evaluators, or there is only one party."""
        return bool(self._plan.evaluators) or len(self._clients) == 1

    def score(
        self,
        views: Sequence[View],
        references: Iterable[Integers],
        zcdp_rho: Fraction,
        step: str,
    ) -> Scores:
        """Noisy L1 distances; see `Measurer.score`. Of sampled rows, references and distances are scaled."""
        factors = np.array([factor_of(self._plan, view.clique) for view in views])
        scaled = (
            reference if factor == 1 else np.rint(reference / factor).astype(np.int64)
            for reference, factor in zip(references, factors, strict=True)
        )
        scores = super().score(views, scaled, zcdp_rho, step)
        return Scores(scores.values * factors, scores.sigma * float(factors.max(initial=1.0)))

    def _references_as_counted(self, references: Iterable[Integers]) -> Iterable[Integers]:
        return map(without_absent, references) if self._plan.absent else references

    def _score_charge(self, views: Sequence[View], zcdp_rho: Fraction, step: str) -> Charge:
        for view in views:
            self._check_feasible(view)
        charge = score_charge(step, len(views), zcdp_rho, self._unit, self._plan.slice_count)
        self._check_noise(self._plan.largest(charge.sigmas[0][0], LARGEST_OF_RECORDS * self.record_count))
        return charge

    def _measure_scores(self, batch: Batch, sigma: float) -> NDArray[np.float64]:
        self._asked += 1
        query = batch.query(self._release_id, f"{self._asked:06d}", sigma)

        def ask_parties() -> NDArray[np.float64]:
            self._products.prepare(query.views_compared)
            if self._plan.evaluators:
                return shared_scores(self._participants, self._plan, query, batch.references)
            return local_scores(self._clients[0], query, batch.references, self._plan.parts)

        return self._asking.ask(query.query_id, encode_asked(query), ask_parties, self._products.forget)

    def _score_noise(self, sigma: float) -> float:
        return self._plan.noise.factor * sigma

    def _charge(self, query: Query) -> Charge:
        view = query.view
        self._check_feasible(view)
        shape = view.interaction_shape(self._plan.domain)
        sigma = scale_of(self._plan, gaussian_sigma(query.zcdp_rho, self._unit, shape), shape)
        self._check_noise(self._plan.largest(sigma, interaction=shape))
        # One noise variable hides a record, in any slice.
        sigmas = ((sigma,),) * self._plan.slice_count
        cost = gaussian_cost(sigma, self._unit, shape)
        counted = view.group_counts(self._plan.domain)
        return Charge(query.step, view.clique, cost, sigmas, interaction=shape, groups=counted)

    def _answers(self, queries: Sequence[Query], charges: Sequence[Charge]) -> list[Measurement]:
        asked = [self._marginal_query(query, charge) for query, charge in zip(queries, charges, strict=True)]
        new = [a for a in asked if not self._asking.knows(a.query_id, encode_asked(a))]
        self._asking.persist(lambda: self._products.prepare([a.view for a in new]), self._products.forget)
        for client in self._clients:
            for a in new:
                client.foresee("Answer", AnswerRequest(a))
        return [self._measurement(a, charge) for a, charge in zip(asked, charges, strict=True)]

    def _check_feasible(self, view: View) -> None:
        if self._plan.feasible(view):
            return
        names = ", ".join(view.clique)
        raise DataError(
            f"measuring {names} needs an opening of more than {MAX_OPENING_BYTES >> 30} GiB; "
            "choose a smaller marginal or a partition in which fewer parties hold it"
        )

    def _check_noise(self, largest: int) -> None:
        if not self._plan.ring.holds(largest):
            raise BudgetError(
                "expected noise that fits the plan's ring, got more; allot the query more budget"
            )

    def _answer(self, query: Query, charge: Charge) -> Measurement:
        return self._measurement(self._marginal_query(query, charge), charge)

    def _marginal_query(self, query: Query, charge: Charge) -> MarginalQuery:
        """The query to every party, under a new id."""
        self._asked += 1
        query_id = f"{self._asked:06d}"
        return MarginalQuery(self._release_id, query_id, AnswerForm.SHARE, query.view, charge.sigmas[0][0])

    def _measurement(self, asked: MarginalQuery, charge: Charge) -> Measurement:
        def open_counts() -> NDArray[np.float64]:
            self._products.prepare([view])
            opened = opened_sum(self._plan.ring, self._shares(asked))
            self._bounds(asked).check(opened)
            counts = view.received(opened / self._plan.noise.grid(asked.sigma), self.domain)
            counts = counts * self._factor(asked)
            return counts + self._absent(view) if self._plan.absent else counts

        view = asked.view
        sampling = self._plan.sampling if self._plan.is_sampled(asked.clique) else None
        counts = self._ask(asked, open_counts)
        total = self._factor(asked) * self._plan.noise.total_sigma(asked.sigma, self._parties_in(asked))
        if not view.boxes and not view.interaction and sampling is None:
            self._learn_size(view, counts, total)
        if sampling is not None:
            total = math.hypot(total, sampling.cell_sigma(view.size(self.domain)))
        rho = float(charge.zcdp_rho)
        return Measurement(view, counts, total, rho, sampled=self._counts_part(asked))

    def _ask(self, asked: MarginalQuery, step: Callable[[], NDArray[np.float64]]) -> NDArray[np.float64]:
        return self._asking.ask(asked.query_id, encode_asked(asked), step, self._products.forget)

    def _factor(self, asked: MarginalQuery) -> float:
        """What opened counts and their noise are multiplied by."""
        return factor_of(self._plan, asked.clique)

    def _parties_in(self, asked: MarginalQuery) -> int:
        """Number of parties whose noise is in an answer."""
        return len(self._clients)

    def _counts_part(self, asked: MarginalQuery) -> bool:
        """Whether an answer counts a part of the records."""
        return self._plan.is_sampled(asked.clique)

    def _bounds(self, asked: MarginalQuery) -> AnswerBounds:
        sampled = self._plan.is_sampled(asked.clique)
        return marginal_bounds(self._plan, asked.view, asked.sigma, sampled=sampled)

    def _absent(self, view: View) -> NDArray[np.float64]:
        """What the alignment adds to an answer: the people for whom all attributes of the clique are absent.

        The parties leave them out, since dummies are among them. Their number is noisy already.
        """
        cells = np.zeros(view.cells(self.domain))
        cells[-1] = self._plan.absent_count(view.clique)
        return view.of_cells(cells, self.domain)

    def _shares(self, asked: MarginalQuery) -> Iterator[NDArray[np.int64]]:
        words = asked.view.sent_count(self.domain)
        for client in self._clients:
            (answer,) = client.answer(asked, 1, words, 1)
            yield answer[0]
