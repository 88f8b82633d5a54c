"""MST: one-way marginals, and the pairs of a spanning tree of the attributes that depend most on each other.

Source: McKenna, Miklau and Sheldon, "Winning the NIST Contest: A scalable and general approach to
differentially private synthetic data" (2021), section 4.3. What differs, and why (ADR 13 has the figures):

- The paper picks the tree's edges one after the other by exponential mechanisms. Here all pairs are scored at
  once against the product of their noisy one-way marginals, and the tree is post-processing: it runs over
  parties too, and costs a tenth of the budget in place of a third.
- Budgets are split by number of cells (`allocate`).
- Rare values are not merged: the fit keeps what they count together with everything else.
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
from ..pgm.estimation import estimate
from ..pgm.junction_tree import size_mb
from .independent import one_way_marginals
from .mechanism import GaussianMechanism
from .parts.allocation import check_smallest, measure_split
from .parts.bounds import ScoredDistance, error_bounds, weighted_average
from .parts.fitted import FittedModel, Progress, Report
from .parts.scoring import SELECTED_BY, check_scores, measurable_cliques, round_of, score_against


@dataclass(frozen=True)
class MST(GaussianMechanism):
    """The mechanism that won the NIST contest of 2018, for any table.

    Attributes:
        one_way: share of the budget for one-way marginals.
        scores: share of the budget for scoring all pairs; what is left measures the tree's.
        max_model_mb: limit of the model's size; a pair that would pass it is left out of the tree.
    """

    name: ClassVar[str] = "mst"

    one_way: float = 0.3
    scores: float = 0.1
    max_model_mb: float = 32.0

    def __post_init__(self) -> None:
        for name in ("one_way", "scores"):
            if not 0 < getattr(self, name) < 1:
                raise DataError(f"{name}: expected a share in (0, 1), got {getattr(self, name)}")
        if self.one_way + self.scores >= 1:
            raise DataError("one_way and scores leave nothing for the pairs; lower them")
        if not self.max_model_mb > 0:
            raise DataError(f"max_model_mb: expected a positive number, got {self.max_model_mb}")

    def run(
        self, measurer: Measurer, workload: Workload, stream: RandomStream, report: Report
    ) -> FittedModel:
        """Spends the whole grant; see `Mechanism.run`.

        Raises:
            DataError: the protocol gives no scores; nothing was charged.
            ModelError: the one-way marginals alone make too large a model; nothing was charged.
        """
        check_scores(measurer, self.name)
        domain, records = measurer.domain, measurer.record_count
        check_smallest(domain, [(name,) for name in domain], self.max_model_mb)
        granted = measurer.accountant.remaining
        pairs = measurable_cliques(measurer, list(combinations(domain.names, 2)))
        # Where there is no pair to choose, one-way marginals get everything.
        measured = one_way_marginals(measurer, granted * Fraction(self.one_way) if pairs else granted)
        report(Progress("one-way marginals", (), 0, _spent(measurer)))
        independent = estimate(domain, measured, total=records)
        scored: dict[Clique, ScoredDistance] = {}
        model, rounds = independent, []
        if pairs:
            scored = score_against(measurer, independent, pairs, granted * Fraction(self.scores))
            report(Progress("scores", (), 0, _spent(measurer)))
            # All is left to the one-way marginals where no pair leaves the model small enough.
            tree = spanning_tree(domain, scored, self.max_model_mb) or [(name,) for name in domain]
            cells = [domain.cells(clique) for clique in tree]
            found = measure_split(measurer, tree, cells, measurer.accountant.remaining, "tree")
            measured += found
            model = estimate(domain, measured, total=records, warm_start=independent)
            rounds = [round_of(m, independent, model, Fraction(m.zcdp_rho)) for m in found]
            report(Progress("tree", (), len(rounds), _spent(measurer)))
        averages = {c: weighted_average(domain, c, measured) for c in (*workload.cliques, *pairs)}
        known = {clique: average for clique, average in averages.items() if average is not None}
        selected = [done.clique for done in rounds]
        bounds = error_bounds(model, known, selected, records, scored=scored)
        return FittedModel(model, tuple(measured), tuple(rounds), bounds, SELECTED_BY if pairs else "")


def spanning_tree(
    domain: Domain, scored: Mapping[Clique, ScoredDistance], max_model_mb: float
) -> list[Clique]:
    """The pairs of the spanning tree of largest distances (Kruskal), but those past the limit."""
    part = {name: name for name in domain}
    chosen: list[Clique] = []
    for pair in sorted(scored, key=lambda pair: -scored[pair].distance):
        one, other = part[pair[0]], part[pair[1]]
        if one != other and size_mb(domain, [*chosen, pair]) <= max_model_mb:
            chosen.append(pair)
            part = {name: one if root == other else root for name, root in part.items()}
    return chosen


def _spent(measurer: Measurer) -> float:
    return measurer.accountant.spent_share
