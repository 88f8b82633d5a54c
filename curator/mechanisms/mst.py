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
from ..pgm.fitting.estimation import estimate
from .mechanism import GaussianMechanism
from .parts.allocation import check_smallest, measure_split, measure_step
from .parts.bounds import ScoredDistance
from .parts.ending import averages_of, ended
from .parts.fitted import FittedModel, Progress, Report, Round
from .parts.parameters import Positive, Share, check_parameters
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
        domain, records = measurer.domain, measurer.record_count
        one_way, *others = steps = self.steps(measurer, workload)
        check_smallest(domain, one_way.cliques, self.max_model_mb)
        measured = measure_step(measurer, one_way)
        report(Progress("one-way marginals", (), 0, measurer.accountant.spent_share))
        model = independent = estimate(domain, measured, total=records)
        scored: dict[Clique, ScoredDistance] = {}
        rounds: list[Round] = []
        pairs: tuple[Clique, ...] = ()
        if others:
            scores, tree = others
            pairs = scores.cliques
            budget = scores.budget(measurer.granted)
            scored = score_against(measurer, independent, pairs, budget, scores.name)
            report(Progress("scores", (), 0, measurer.accountant.spent_share))
            chosen = spanning_tree(domain, scored, self.max_model_mb) or one_way.cliques
            cells = [domain.cells(clique) for clique in chosen]
            found = measure_split(measurer, chosen, cells, measurer.accountant.remaining, tree.name)
            measured += found
            model = estimate(domain, measured, total=records, warm_start=independent)
            rounds = rounds_of(found, independent, model, judged=True)
            report(Progress("tree", (), len(rounds), measurer.accountant.spent_share))
        averages = averages_of(measurer, dict.fromkeys((*workload.cliques, *pairs)), measured)
        selection = SELECTED_BY if others else ""
        return ended(
            measurer,
            steps,
            model,
            measured,
            averages=averages,
            scored=scored,
            rounds=rounds,
            selection=selection,
        )


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
