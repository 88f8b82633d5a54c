"""Scores over parties: the curator relays, and sees only one noisy number per clique."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ...common.data.view import View
from ...common.messages import Delivery, DeliveryKind, OpeningRequest
from ...common.privacy.budget import Charge
from ...common.privacy.cost import Neighbours, grid_of, score_cost, score_sigma
from ...common.protocols.masked.bounds import score_bounds
from ...common.protocols.masked.plan import MaskedPlan
from ...common.protocols.masked.reveal import opened_sum
from ...common.protocols.scores.query import Integers, references_digest
from ...common.queries import ScoreQuery
from ..parties.client import PartyClient
from .labels import LabelFinder
from .measurer import Measurer, Scores

_BATCH_CELLS = 1 << 19
"""Largest number of cells of a batch; bounds the memory of every role."""

_BATCH_LABELS = 1 << 18
"""Largest number of codes whose groups a batch states; bounds its message."""


@dataclass(frozen=True, eq=False)
class Batch:
    """Views that are scored together, and their concatenated references."""

    views: tuple[View, ...]
    references: Integers
    totals: tuple[int, ...]

    def query(self, release_id: str, query_id: str, sigma: float) -> ScoreQuery:
        """The query for all parties."""
        return ScoreQuery(
            release_id,
            query_id,
            self.views,
            sigma,
            references_digest([self.references]),
            int(self.references.max()),
            max(self.totals),
        )


def batches(views: Sequence[View], references: Iterable[Integers]) -> Iterator[Batch]:
    """Views and their references in batches; each reference is read when its batch is built."""
    together: list[tuple[View, Integers]] = []
    cells = labels = 0
    for view, reference in zip(views, references, strict=True):
        cells, labels = cells + reference.size, labels + _labels(view)
        if together and (cells > _BATCH_CELLS or labels > _BATCH_LABELS):
            yield _batch(together)
            together, cells, labels = [], reference.size, _labels(view)
        together.append((view, reference))
    if together:
        yield _batch(together)


def _labels(view: View) -> int:
    """Number of codes whose groups are stated."""
    return sum(map(len, view.groups))


def _batch(together: Sequence[tuple[View, Integers]]) -> Batch:
    views, references = zip(*together, strict=True)
    totals = tuple(int(reference.sum()) for reference in references)
    return Batch(views, np.concatenate(references), totals)


class ScoringMeasurer(Measurer):
    """A measurer over parties: it can score if `scores_exactly`, and find labels."""

    _finder: LabelFinder

    def find_labels(self, attribute: str, zcdp_rho: Fraction, step: str) -> tuple[str, ...]:
        """The frequent labels of an open category; see `Measurer.find_labels`."""
        charge = self._finder.charge(attribute, zcdp_rho, step)
        self.charge(charge)
        return self._finder.labels(charge)

    def score(
        self,
        views: Sequence[View],
        references: Iterable[Integers],
        zcdp_rho: Fraction,
        step: str,
    ) -> Scores:
        """Noisy L1 distances; see `Measurer.score`."""
        if not self.scores_exactly:
            return super().score(views, references, zcdp_rho, step)
        for view in views:
            self._check(view)
        charge = self._score_charge(views, zcdp_rho, step)
        self.charge(charge)
        sigma = charge.sigmas[0][0]
        together = batches(views, self._references_as_counted(references))
        values = [self._measure_scores(batch, sigma) for batch in together]
        return Scores(np.concatenate(values), self._score_noise(sigma))

    def _references_as_counted(self, references: Iterable[Integers]) -> Iterable[Integers]:
        """The references of what parties count."""
        return references

    @abstractmethod
    def _score_charge(self, views: Sequence[View], zcdp_rho: Fraction, step: str) -> Charge:
        """The exact cost of the scores of these views."""

    @abstractmethod
    def _measure_scores(self, batch: Batch, sigma: float) -> NDArray[np.float64]:
        """Measures charged scores, shape (views,)."""

    def _score_noise(self, sigma: float) -> float:
        """Standard deviation of the noise of a score that is charged at sigma."""
        return sigma


def without_absent(reference: Integers) -> Integers:
    """A reference for counts that leave out the people for whom all attributes are absent, the last cell."""
    return np.append(reference[:-1], 0)


def score_charge(step: str, count: int, rho: Fraction, adjacency: Neighbours, slices: int) -> Charge:
    """The charge of `count` scores at a total cost of at most rho.

    A record of any slice changes every score, so all noise variables count.
    """
    sigma = score_sigma(rho, adjacency, count)
    cost = score_cost(sigma, adjacency, count)
    return Charge(step, (), cost, ((sigma,) * count,) * slices, scores=True)


def local_scores(
    client: PartyClient, query: ScoreQuery, references: Integers, parts: int = 1
) -> NDArray[np.float64]:
    """Scores from the party that holds the whole table, shape (views,).

    Args:
        client: the party.
        query: the score query.
        references: references of the query.
        parts: parts of one in which the party counts (`PrivacyUnit.parts`).
    """
    client.prepare_scores(query)
    _send_references(client, query, references)
    return client.answer_scores(query, len(query.views)) / grid_of(query.sigma, parts)


def shared_scores(
    clients: Sequence[PartyClient], plan: MaskedPlan, query: ScoreQuery, references: Integers
) -> NDArray[np.float64]:
    """Scores from the evaluators of a masked release, shape (views,).

    Args:
        clients: clients by place: of the parties, which have computed all products that the views need,
            then of the dealer.
        plan: plan of the release.
        query: the score query.
        references: references of the query.
    """
    parties = range(len(plan.roster))
    for place in sorted({*parties, *plan.evaluators}):
        clients[place].prepare_scores(query)
    shape = query.shape(plan)
    assistant, one, two = plan.evaluators
    _send_references(clients[assistant], query, references)
    for place in parties:
        if place != assistant:
            _relay(clients, query, 0, place, assistant)
    if set(parties) - set(plan.evaluators):
        _relay(clients, query, 0, one, two)
    for number, step in enumerate(shape.steps, start=1):
        _relay(clients, query, number, plan.evaluators[step.sender], plan.evaluators[step.recipient])
    answers = (clients[place].answer_scores(query, len(query.views)) for place in parties)
    opened = opened_sum(plan.ring, answers)
    score_bounds(plan, query.sigma, query.largest_total).check(opened)
    return opened / plan.noise.grid(query.sigma)


def _send_references(client: PartyClient, query: ScoreQuery, references: Integers) -> None:
    delivery = Delivery(query.release_id, DeliveryKind.SCORE_REFERENCES, query_id=query.query_id)
    client.deliver(delivery, [references.astype("<i8")])


def _relay(clients: Sequence[PartyClient], query: ScoreQuery, step: int, sender: int, to: int) -> None:
    request = OpeningRequest(
        query.release_id, (), to, DeliveryKind.SCORE_STEP, query_id=query.query_id, step=step
    )
    clients[sender].relay(sender, request, clients[to])
