"""PrivBayes by the text of its paper, as far as the interface to protocols permits.

Source: Bao et al., "Synthetic data generation with differential privacy via Bayesian networks" (2021); the
differences from the default are listed in `privbayes.py` and docs/adr/0014-privbayes-over-parties.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from ....common.data.domain import Clique, Domain
from ....common.data.view import View
from ....common.measurement import Measurement
from ...measurers.measurer import Query
from ..parts.steps import Asks, PublicFacts, Step
from .ap_pairs import NetworkSearch, PaperObjective
from .levels import Levels, Nodes
from .run import Array, NetworkRun, pair_steps
from .scores import pairs_to_score
from .table_consistency import NoisyTable, consistent, cut
from .threshold import Threshold


class PaperRun(NetworkRun):
    """One run of the paper's variant; arguments as for `NetworkRun`."""

    @classmethod
    def _pair_steps(cls, facts: PublicFacts, share: Fraction) -> tuple[Step, ...]:
        """Scores, and the number of records with the same share as each score."""
        pairs = pairs_to_score(facts, facts.granted * share)
        count = share / (len(pairs) + 1)
        clique = _smallest(facts.domain)
        records = Step("records", "Number of records", Asks.MARGINALS, count, (clique,), (clique,))
        return (records, *pair_steps(facts, pairs, share - count))

    @staticmethod
    def _table_count(levels: Levels) -> int:
        """The paper's pessimistic assumption: one table for every level of every attribute."""
        return sum(1 + levels.coarsest(name) for name in levels.domain)

    def _scores(self, one_way: Sequence[Measurement]) -> dict[frozenset[str], float]:
        self._count_records()
        return super()._scores(one_way)

    def _count_records(self) -> None:
        """The paper's noisy n, as the sum of one attribute's cells."""
        clique = _smallest(self._domain)
        box = ((0, self._domain.cells(clique)),)
        (found,) = self._measurer.measure(
            [Query(View(clique, boxes=(box,)), self._budget("records"), "records")]
        )
        self._used.append(found)
        self._records = max(1.0, float(found.values[0]))

    def _correct_for_sampling(
        self, distances: Mapping[Clique, float], expected: Mapping[Clique, Array], rounded: bool
    ) -> Mapping[Clique, float]:
        """The distances without correction."""
        return distances

    def _search(self, scores: Mapping[frozenset[str], float], threshold: Threshold) -> NetworkSearch:
        objective = PaperObjective(self._levels, scores)
        return NetworkSearch(self._levels, threshold.allows, objective, refine_with_parents=True)

    def _sizes(self, tables: Sequence[Nodes]) -> list[float]:
        """Evenly."""
        return [1.0] * len(tables)

    def _take(self, measured: Sequence[tuple[Nodes, Measurement]]) -> None:
        """Keeps only the measurements of the network's own tables."""
        self._used += [measurement for _, measurement in measured]

    def _make_consistent(self, tables: list[NoisyTable]) -> list[NoisyTable]:
        """First removes negative counts, then makes tables consistent, which makes new negative counts."""
        tables = [cut(table, self._records) for table in tables]
        return consistent(self._levels, tables, None) if self._config.consistency else tables


def _smallest(domain: Domain) -> Clique:
    """The attribute with the fewest values."""
    return (min(domain.names, key=lambda name: domain[name].size),)
