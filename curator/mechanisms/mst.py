"""MST: one-way marginals, and the pairs of a maximum spanning tree of the attributes.

Source: McKenna, Miklau and Sheldon, "Winning the NIST Contest: A scalable and general approach to
differentially private synthetic data" (2021), section 4.3. What differs, and why (ADR 13 has the figures):

- The paper selects the tree's edges one after the other by exponential mechanisms. Here all pairs are scored
  at once against the product of their noisy one-way marginals, and the tree is post-processing. So it also
  runs over parties, and costs a tenth of the budget instead of a third.
- Budgets are split by number of cells (`allocate`).
- Rare values are not merged.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import ClassVar

from ...common.crypto.randomness import RandomStream
from ...common.data.domain import Clique, Domain
from ...common.data.workload import Workload
from ...common.errors import DataError
from ..measurers.measurer import Measurer
from .mechanism import GaussianMechanism
from .parts.allocation import check_smallest, measure_split, measure_step
from .parts.bounds import ScoredDistance
from .parts.fitted import FittedModel, Report
from .parts.parameters import Positive, Share, check_parameters
from .parts.run import Run
from .parts.scoring import SELECTED_BY, check_scores, measurable_cliques, rounds_of, score_against
from .parts.steps import Asks, PublicFacts, Step, one_way_step


@dataclass(frozen=True)
class MST(GaussianMechanism):
    """The winner of the NIST contest of 2018, generalised to any table.

    Attributes:
        one_way: share of the budget for one-way marginals.
        scores: share of the budget for scoring all pairs; the rest measures the pairs of the tree.
        max_model_mb: limit of the model's size; a pair that would exceed it is left out of the tree.
    """

    name: ClassVar[str] = "mst"

    one_way: Share = 0.3
    scores: Share = 0.1
    max_model_mb: Positive = 32.0

    def __post_init__(self) -> None:
        check_parameters(self)
        if self.one_way + self.scores >= 1:
            raise DataError("expected one_way + scores < 1, so that pairs get a share; lower them")

    def steps(self, facts: PublicFacts, workload: Workload) -> tuple[Step, ...]:
        """See `Mechanism.steps`; without pairs, one-way marginals get the whole budget.

        Raises:
            DataError: the protocol gives no scores.
        """
        check_scores(facts, self.name)
        pairs = tuple(measurable_cliques(facts, list(combinations(facts.domain.varied, 2))))
        if not pairs:
            return (one_way_step(facts.domain, Fraction(1)),)
        first, scores = Fraction(self.one_way), Fraction(self.scores)
        one_way = one_way_step(facts.domain, first)
        # One-way marginals are measured again where no pair keeps the model small enough.
        may = (*pairs, *one_way.cliques)
        rest = 1 - first - scores
        return (
            one_way,
            Step("scores", "Scores of all pairs", Asks.SCORES, scores, pairs),
            Step("tree", "Pairs of the spanning tree", Asks.MARGINALS, rest, may, at_once=len(facts.domain)),
        )

    def run(
        self, measurer: Measurer, workload: Workload, stream: RandomStream, report: Report
    ) -> FittedModel:
        """Spends the whole grant; see `Mechanism.run`.

        Raises:
            DataError: the protocol gives no scores; nothing was charged.
            ModelError: the one-way marginals already make too large a model; nothing was charged.
        """
        return _Run(self, measurer, workload, self.steps(measurer, workload), report).run()


class _Run(Run):
    """One run of MST."""

    def __init__(
        self, config: MST, measurer: Measurer, workload: Workload, steps: tuple[Step, ...], report: Report
    ) -> None:
        super().__init__(measurer, steps, report)
        self._max_model_mb = config.max_model_mb
        self._workload = workload

    def run(self) -> FittedModel:
        """Spends the grant."""
        one_way, wanted = self._named["one-way"], self._workload.cliques
        check_smallest(self._domain, one_way.cliques, self._max_model_mb)
        self._used += measure_step(self._measurer, one_way)
        self._tell("one-way marginals")
        independent = self._estimate(None)
        if "tree" not in self._named:
            return self._result(independent, wanted)
        pairs = self._named["scores"].cliques
        scored = score_against(self._measurer, independent, pairs, self._budget("scores"))
        self._tell("scores")
        chosen = spanning_tree(self._domain, scored, self._max_model_mb) or one_way.cliques
        cells = [self._domain.cells(clique) for clique in chosen]
        found = measure_split(self._measurer, chosen, cells, self._measurer.accountant.remaining, "tree")
        self._used += found
        model = self._estimate(independent)
        self._rounds += rounds_of(found, independent, model, judged=True)
        self._tell("tree")
        both = dict.fromkeys((*wanted, *pairs))
        return self._result(model, both, scored=scored, selection=SELECTED_BY)


def spanning_tree(
    domain: Domain, scored: Mapping[Clique, ScoredDistance], max_model_mb: float
) -> list[Clique]:
    """The pairs of the maximum spanning tree by distance (Kruskal), within the limit."""
    part = {name: name for name in domain}
    # The cliques of a forest are its pairs, and the attributes in none.
    alone, cells = set(domain.names), sum(domain.sizes)
    chosen: list[Clique] = []
    for pair in sorted(scored, key=lambda pair: -scored[pair].distance):
        one, other = part[pair[0]], part[pair[1]]
        more = domain.cells(pair) - sum(domain[name].size for name in alone.intersection(pair))
        if one != other and (cells + more) * 8 / 2**20 <= max_model_mb:
            chosen.append(pair)
            alone -= set(pair)
            cells += more
            part = {name: one if root == other else root for name, root in part.items()}
    return chosen
