"""A run of PrivBayes' default variant; see `privbayes.py`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ....common.data.domain import Clique
from ....common.data.view import View
from ....common.data.workload import Workload
from ....common.measurement import Measurement
from ...measurers.measurer import Measurer, Query
from ..independent import one_way_marginals
from ..parts.allocation import EXPECTED_L1, allocate, measurable, measure_split
from ..parts.bounds import ScoredDistance
from ..parts.ending import averages_of
from ..parts.fitted import FittedModel, Report
from ..parts.run import Run
from ..parts.scoring import SELECTED_BY
from ..parts.steps import Asks, PublicFacts, Step, one_way_step
from .ap_pairs import Network, NetworkSearch, ScoresMinusNoise
from .levels import Levels, Node, Nodes, names
from .network import BayesianNetwork, DrawingStep, head_steps
from .scores import independent_counts, pairs_to_score, without_sampling
from .settings import PrivBayesSettings
from .table_consistency import NoisyTable, consistent_and_nonnegative, cut
from .threshold import Threshold

Array = NDArray[np.float64]

ESTIMATED_BY = "L1 distances estimated from noisy marginals"
"""The values by which pairs are selected if the protocol gives no scores, in words."""


class NetworkRun(Run):
    """One run of the default variant.

    Args:
        config: parameters of the mechanism.
        measurer: measurer of the tables, and of scores if it gives them.
        workload: marginals to compute error bounds for.
        report: called with the progress after every step.
    """

    def __init__(
        self, config: PrivBayesSettings, measurer: Measurer, workload: Workload, report: Report
    ) -> None:
        super().__init__(measurer, self.steps(config, measurer, workload), report)
        self._config = config
        self._levels = Levels(measurer.domain, config.group)
        self._workload = workload
        self._records = float(measurer.record_count)
        self._tables: list[tuple[Nodes, Measurement]] = []
        self._scored: dict[Clique, ScoredDistance] = {}

    @classmethod
    def steps(cls, config: PrivBayesSettings, facts: PublicFacts, workload: Workload) -> tuple[Step, ...]:
        """One-way marginals and pairs for the network, and the rest of the budget for its tables.

        The network is not known in advance, so the cliques of the step `tables` are those that are small
        enough, of few attributes where they are many (`Threshold.cliques`). A run may also measure tables of
        more attributes, which are not listed: forecasts of their noise do not cover these.
        """
        half = Fraction(config.network_share) / 2
        first = one_way_step(facts.domain, half)
        learning = (first, *cls._pair_steps(facts, half))
        left = 1 - sum((step.share for step in learning), Fraction(0))
        levels = Levels(facts.domain, config.group)
        part = left * facts.granted / cls._table_count(levels)
        threshold = Threshold(levels, facts, config.noises_per_cell, part, facts.record_count)
        cliques = (*first.cliques, *threshold.cliques(workload.cliques))
        # One table for each attribute, and one more for its finer codes.
        most = sum(2 if levels.coarsest(name) else 1 for name in facts.domain.names)
        tables = Step("tables", "Tables of the network", Asks.MARGINALS, left, cliques, at_once=most)
        return (*learning, tables)

    @classmethod
    def _pair_steps(cls, facts: PublicFacts, share: Fraction) -> tuple[Step, ...]:
        """Scores of pairs, or noisy marginals of pairs if the protocol gives no scores."""
        return pair_steps(facts, pairs_to_score(facts, facts.granted * share), share)

    @staticmethod
    def _table_count(levels: Levels) -> int:
        """Expected number of tables of the network."""
        return len(levels.domain)

    def run(self) -> FittedModel:
        """Sections 2.1, 2.2 and 3.2; rows are drawn from the model later."""
        one_way = one_way_marginals(self._measurer, self._budget("one-way"))
        self._take([((Node(found.clique[0], 0),), found) for found in one_way])
        self._tell("one-way marginals")
        scores = self._scores(one_way)
        self._tell("scores")
        network = self._network(scores)
        self._measure(network)
        self._tell("tables")
        return self._end(self._model(network))

    def _scores(self, one_way: Sequence[Measurement]) -> dict[frozenset[str], float]:
        """Algorithm 1: a noisy score for each pair of attributes."""
        step = self._named.get("scores") or self._named.get("candidates")
        if step is None:
            return {}
        expected = independent_counts(one_way, step.cliques, self._records)
        scored = step.asks is Asks.SCORES
        found = (self._scored_distances if scored else self._estimated_distances)(step, expected)
        # These references are not rounded, unlike those of scores.
        corrected = self._correct_for_sampling(found, expected, rounded=scored)
        return {frozenset(pair): distance / 2 for pair, distance in corrected.items()}

    def _correct_for_sampling(
        self, distances: Mapping[Clique, float], expected: Mapping[Clique, Array], rounded: bool
    ) -> Mapping[Clique, float]:
        """The distances minus the expected effect of sampling."""
        return without_sampling(distances, expected, rounded)

    def _scored_distances(self, step: Step, expected: Mapping[Clique, Array]) -> dict[Clique, float]:
        references = {pair: np.rint(values).astype(np.int64) for pair, values in expected.items()}
        budget = self._budget(step.name)
        scores = self._measurer.score([*map(View, references)], references.values(), budget, step.name)
        found = dict(zip(references, scores.values.tolist(), strict=True))
        self._scored = {
            pair: ScoredDistance(distance, scores.sigma, references[pair]) for pair, distance in found.items()
        }
        return found

    def _estimated_distances(self, step: Step, expected: Mapping[Clique, Array]) -> dict[Clique, float]:
        """Without scores: distances of noisy marginals, which are also tables, minus the effect of noise."""
        cells = [self._domain.cells(pair) for pair in step.cliques]
        measured = measure_split(self._measurer, step.cliques, cells, self._budget(step.name), step.name)
        self._take([((Node(found.clique[0], 0), Node(found.clique[1], 0)), found) for found in measured])
        return {
            found.clique: float(np.abs(found.values - expected[found.clique]).sum())
            - EXPECTED_L1 * found.sigma * found.values.size
            for found in measured
        }

    def _network(self, scores: Mapping[frozenset[str], float]) -> Network:
        """Section 2.1.2."""
        part = self._measurer.accountant.remaining / self._table_count(self._levels)

        threshold = Threshold(self._levels, self._measurer, self._config.noises_per_cell, part, self._records)
        return self._search(scores, threshold).run()

    def _search(self, scores: Mapping[frozenset[str], float], threshold: Threshold) -> NetworkSearch:
        # The noise of a single attribute; noisier tables do not fit.
        sigma = self._measurer.expected_sigma(View(self._domain.names[:1]), threshold.part)
        objective = ScoresMinusNoise(self._levels, scores, sigma)
        return NetworkSearch(self._levels, threshold.allows, objective, refine_with_parents=False)

    def _measure(self, network: Network) -> None:
        """Algorithm 4: noisy counts for the head and every pair."""
        tables = list(dict.fromkeys(network.tables(self._levels)))
        parts = allocate(self._measurer.accountant.remaining, self._sizes(tables))
        queries = [
            Query(View(names(nodes), boxes=self._levels.boxes(nodes)), rho, "tables")
            for nodes, rho in zip(tables, parts, strict=True)
        ]
        measured = self._measurer.measure(queries)
        self._tables += zip(tables, measured, strict=True)
        self._used += measured

    def _sizes(self, tables: Sequence[Nodes]) -> list[float]:
        """One number for each table, by which the budget is split."""
        return [float(self._levels.cells(nodes)) for nodes in tables]

    def _take(self, measured: Sequence[tuple[Nodes, Measurement]]) -> None:
        """Adds the measurements that the network was learned from to those of its tables."""
        self._used += [measurement for _, measurement in measured]
        self._tables += measured

    def _model(self, network: Network) -> BayesianNetwork:
        """Section 3.2, and the conditional distributions of section 2.2."""
        tables = self._make_consistent([NoisyTable(nodes, m.values, m.sigma**2) for nodes, m in self._tables])
        # The last measurement of the same nodes is that of the network's own table.
        values = {table.nodes: table.values for table in tables}
        head, *others = network.tables(self._levels)
        steps = head_steps(self._levels, network.head, head, values[head])
        for (child, _), nodes in zip(network.pairs, others, strict=True):
            steps.append(DrawingStep.of(self._levels, child, nodes, values[nodes]))
        return BayesianNetwork(self._levels, tuple(steps), self._records, self._config.drawing)

    def _make_consistent(self, tables: list[NoisyTable]) -> list[NoisyTable]:
        """Tables without negative counts, and consistent if so configured."""
        if self._config.consistency:
            return consistent_and_nonnegative(self._levels, tables, self._records)
        return [cut(table, self._records) for table in tables]

    def _end(self, model: BayesianNetwork) -> FittedModel:
        """The result, with bounds for the workload's marginals that were scored or lie in unboxed tables."""
        cells = [measurement for _, measurement in self._tables if not measurement.view.boxes]
        wanted = self._workload.cliques
        return self._result(
            model,
            averages=averages_of(self._measurer, wanted, cells),
            scored={clique: self._scored[clique] for clique in wanted if clique in self._scored},
            selected=[measurement.clique for measurement in cells],
            selection=SELECTED_BY if self._measurer.scores_exactly else ESTIMATED_BY,
        )


def pair_steps(facts: PublicFacts, pairs: Sequence[Clique], share: Fraction) -> tuple[Step, ...]:
    """The step that scores pairs, or the one that measures them if the protocol gives no scores.

    Args:
        facts: public facts of the table and the protocol.
        pairs: pairs to score; for measurements, those that noise would dominate are left out.
        share: share of the budget.

    Returns:
        One step; none without pairs.
    """
    asks, name, title = Asks.SCORES, "scores", "Scores of all pairs"
    if not facts.scores_exactly:
        asks, name, title = Asks.MARGINALS, "candidates", "Noisy marginals of all pairs, in place of scores"
        pairs = [pairs[place] for place in measurable(facts, pairs, facts.granted * share)]
    return (Step(name, title, asks, share, tuple(pairs), tuple(pairs)),) if pairs else ()
