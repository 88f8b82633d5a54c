"""PrivBayes: a Bayesian network by noisy scores of pairs, noisy tables for it, and rows drawn from these.

Source: Bao et al., "Synthetic data generation with differential privacy via Bayesian networks" (2021), which
describes the entry to the NIST challenge of 2018. `variant="paper"` follows its text where the seam to
protocols lets it. What differs, and why, is in docs/adr/0014-privbayes-over-parties.md; in short:

- A score is half the L1 distance of a pair's marginal from the product of noisy one-way marginals, in place
  of the exact product: sensitivity 1/2 in place of 2, and parties compute it in shares. In both variants.
- The record count is public here, so nothing is paid for a noisy one.
- The one-way marginals that scores refer to are paid for, so they take part in making tables consistent.
- What sampling alone adds to a score is known, and taken off.
- A parent joins a table if it says more than the noise that its cells bring.
- The tables' budget is split by number of cells.
- Tables are made consistent first and freed of negative counts then, and this again, not the other way.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import pdtr

from ....common.crypto.randomness import RandomStream
from ....common.data.domain import Clique
from ....common.data.workload import Workload
from ....common.errors import DataError
from ....common.measurement import Measurement
from ....common.privacy.budget import Budget
from ...measurers.measurer import Measurer, Query
from ..independent import one_way_marginals
from ..parts.allocation import EXPECTED_L1, allocate, measurable, measure_split
from ..parts.bounds import ErrorBound, ScoredDistance, error_bounds, weighted_average
from ..parts.fitted import FittedModel, Progress, Report
from .ap_pairs import LessNoise, Network, NetworkSearch, Objective, PaperObjective
from .levels import Levels, Node, Nodes, names
from .network import BayesianNetwork, Drawing, Step, head_steps
from .table_consistency import NoisyTable, consistent, consistent_and_nonnegative, cut, nonnegative

LARGEST_COUNTED_CELLS = 2**22
"""Parties count single cells before they add up boxes: no table has more of them."""


@dataclass(frozen=True)
class PrivBayes:
    """A Bayesian network whose rows can be drawn without replacement.

    Attributes:
        variant: "default", or "paper" for the paper's own text.
        network_share: share of the budget for learning the network (beta_1 + beta_2).
        noises_per_cell: a table is small enough if its average count is at least so many times the noise.
        group: an attribute of more than group^2 codes gets versions in which `group` codes are one.
        drawing: "without-replacement" (section 3.3) or "with-replacement" (section 2.3).
        consistency: whether tables are made consistent (section 3.2) or taken as they are (section 3.3.1).
    """

    variant: Literal["default", "paper"] = "default"
    network_share: float = 0.2
    noises_per_cell: float = 4.0
    group: int = 8
    drawing: Drawing = "without-replacement"
    consistency: bool = True

    def __post_init__(self) -> None:
        if self.variant not in ("default", "paper"):
            raise DataError(f"variant: expected 'default' or 'paper', got {self.variant!r}")
        if self.drawing not in ("without-replacement", "with-replacement"):
            raise DataError(
                f"drawing: expected 'without-replacement' or 'with-replacement', got {self.drawing!r}"
            )
        if not 0 < self.network_share < 1:
            raise DataError(f"network_share: expected a share in (0, 1), got {self.network_share}")
        if not 0 < self.noises_per_cell < math.inf or self.group < 2:
            raise DataError("expected noises_per_cell > 0 and group >= 2")

    @classmethod
    def of_the_paper(cls) -> PrivBayes:
        """The paper's text, with the shares that it states."""
        return cls(variant="paper")

    @property
    def name(self) -> str:
        """As on the command line."""
        return "privbayes"

    @property
    def paper(self) -> bool:
        """Whether the paper's text is followed."""
        return self.variant == "paper"

    def granted(self, budget: Budget) -> Fraction:
        """Gaussian noise and post-processing alone: the exact calibration (Lemma 2.1)."""
        return budget.granted(gaussian_only=True)

    def describe(self) -> dict[str, Any]:
        """Name, variant and parameters, for the certificate."""
        return {"name": self.name, **asdict(self)}

    def run(
        self, measurer: Measurer, workload: Workload, stream: RandomStream, report: Report
    ) -> FittedModel:
        """Spends the whole grant; the workload only says what error bounds are wanted for."""
        return _Run(self, measurer, workload, report).run()


class _Run:
    """One run."""

    def __init__(self, config: PrivBayes, measurer: Measurer, workload: Workload, report: Report) -> None:
        self._config = config
        self._measurer = measurer
        self._domain = measurer.domain
        self._levels = Levels(measurer.domain, config.group)
        self._workload = workload
        self._report = report
        self._granted = measurer.accountant.remaining
        self._records = float(measurer.record_count)
        self._taken: list[Measurement] = []
        self._tables: list[tuple[Nodes, Measurement]] = []
        self._scored: dict[Clique, ScoredDistance] = {}

    def run(self) -> FittedModel:
        """Sections 2.1, 2.2 and 3.2; rows are drawn by whoever has the model."""
        share = self._granted * Fraction(self._config.network_share)
        one_way = one_way_marginals(self._measurer, share / 2)
        self._take([((Node(found.clique[0], 0),), found) for found in one_way])
        self._tell("one-way marginals")
        scores = self._scores(one_way, share / 2)
        self._tell("scores")
        network = self._network(scores)
        self._measure(network)
        self._tell("tables")
        model = self._model(network)
        return FittedModel(
            model,
            tuple(self._taken),
            (),
            self._bounds(model),
            "exact L1 distances with noise"
            if self._measurer.scores_exactly
            else "L1 distances estimated from noisy marginals",
        )

    def _scores(self, one_way: list[Measurement], budget: Fraction) -> dict[frozenset[str], float]:
        """Algorithm 1: a noisy score for each pair of attributes."""
        sizes = dict(zip(self._domain.names, self._domain.sizes, strict=True))
        pairs = [pair for pair in combinations(self._domain.names, 2) if min(sizes[n] for n in pair) > 1]
        pairs = [
            pair
            for pair in pairs
            if self._domain.cells(pair) <= LARGEST_COUNTED_CELLS
            and math.isfinite(self._measurer.expected_sigma(pair, budget))
        ]
        if self._config.paper:
            # Evenly over the scores and the number of records.
            count = budget / (len(pairs) + 1)
            self._count_records(count)
            budget -= count
        if not pairs:
            return {}
        shares = {}
        for measurement in one_way:
            values = nonnegative(NoisyTable((), measurement.values, 1.0)).values
            total = values.sum()
            shares[measurement.clique[0]] = (
                values / total if total > 0 else np.full(values.size, 1 / values.size)
            )
        expected = {(a, b): self._records * np.outer(shares[a], shares[b]).ravel() for a, b in pairs}
        if self._measurer.scores_exactly:
            distances = self._scored_distances(expected, budget)
        else:
            distances = self._estimated_distances(expected, budget)
        if not self._config.paper:
            # Marginals that were measured are no rounded references.
            rounded = self._measurer.scores_exactly
            for pair in distances:
                distances[pair] -= _sampling(expected[pair], rounded)
        return {frozenset(pair): distance / 2 for pair, distance in distances.items()}

    def _count_records(self, budget: Fraction) -> None:
        """The paper's noisy n, as the sum of one attribute's cells."""
        name = min(self._domain.names, key=lambda name: self._domain[name].size)
        box = ((0, self._domain[name].size),)
        (found,) = self._measurer.measure([Query((name,), budget, "records", (box,))])
        self._taken.append(found)
        self._records = max(1.0, float(found.values[0]))

    def _scored_distances(
        self, expected: Mapping[tuple[str, str], NDArray[np.float64]], budget: Fraction
    ) -> dict[tuple[str, str], float]:
        references = {pair: np.rint(values).astype(np.int64) for pair, values in expected.items()}
        scores = self._measurer.score(list(references), references.values(), budget, "scores")
        found = dict(zip(references, scores.values.tolist(), strict=True))
        self._scored = {
            pair: ScoredDistance(distance, scores.sigma, references[pair]) for pair, distance in found.items()
        }
        return found

    def _estimated_distances(
        self, expected: Mapping[tuple[str, str], NDArray[np.float64]], budget: Fraction
    ) -> dict[tuple[str, str], float]:
        """Where nobody scores: from noisy marginals, less what their noise adds; they are tables too."""
        pairs = list(expected)
        pairs = [pairs[place] for place in measurable(self._measurer, pairs, budget)]
        cells = [self._domain.cells(pair) for pair in pairs]
        measured = measure_split(self._measurer, pairs, cells, budget, "candidates")
        self._take([((Node(a, 0), Node(b, 0)), found) for (a, b), found in zip(pairs, measured, strict=True)])
        return {
            pair: float(np.abs(found.values - expected[pair]).sum())
            - EXPECTED_L1 * found.sigma * found.values.size
            for pair, found in zip(pairs, measured, strict=True)
        }

    def _network(self, scores: Mapping[frozenset[str], float]) -> Network:
        """Section 2.1.2."""
        # The paper's pessimistic assumption: a table for every attribute.
        tables = sum(1 + self._levels.coarsest(name) for name in self._domain)
        part = self._measurer.accountant.remaining / (tables if self._config.paper else len(self._domain))

        def fits(nodes: Nodes) -> bool:
            clique = names(nodes)
            if self._domain.cells(clique) > LARGEST_COUNTED_CELLS:
                return False
            noise = self._config.noises_per_cell * self._measurer.expected_sigma(clique, part)
            return self._levels.cells(nodes) * noise <= self._records

        objective: Objective
        if self._config.paper:
            objective = PaperObjective(self._levels, scores)
        else:
            # Of a single attribute: what is noisier than that does not fit.
            sigma = self._measurer.expected_sigma(self._domain.names[:1], part)
            objective = LessNoise(self._levels, scores, sigma)
        return NetworkSearch(self._levels, fits, objective, self._config.paper).run()

    def _measure(self, network: Network) -> None:
        """Algorithm 4: noisy counts for the head and every pair."""
        tables = list(dict.fromkeys(network.tables(self._levels)))
        sizes = [1.0 if self._config.paper else float(self._levels.cells(nodes)) for nodes in tables]
        parts = allocate(self._measurer.accountant.remaining, sizes)
        queries = [
            Query(names(nodes), rho, "tables", self._levels.boxes(nodes))
            for nodes, rho in zip(tables, parts, strict=True)
        ]
        measured = self._measurer.measure(queries)
        self._tables += zip(tables, measured, strict=True)
        self._taken += measured

    def _take(self, measured: Sequence[tuple[Nodes, Measurement]]) -> None:
        """What served to learn the network tells of its tables too; the paper leaves that out."""
        self._taken += [measurement for _, measurement in measured]
        if not self._config.paper:
            self._tables += measured

    def _model(self, network: Network) -> BayesianNetwork:
        """Section 3.2, and the conditional distributions of section 2.2."""
        tables = [NoisyTable(nodes, m.values, m.sigma**2) for nodes, m in self._tables]
        if self._config.paper or not self._config.consistency:
            tables = [cut(table, self._records) for table in tables]
            if self._config.consistency:
                tables = consistent(self._levels, tables, None)
        else:
            tables = consistent_and_nonnegative(self._levels, tables, self._records)
        # The last measurement of the same nodes is the network's own.
        values = {table.nodes: table.values for table in tables}
        head, *others = network.tables(self._levels)
        steps = head_steps(self._levels, network.head, head, values[head])
        for (child, _), nodes in zip(network.pairs, others, strict=True):
            steps.append(Step.of(self._levels, child, nodes, values[nodes]))
        return BayesianNetwork(self._levels, tuple(steps), self._records, self._config.drawing)

    def _bounds(self, model: BayesianNetwork) -> tuple[ErrorBound, ...]:
        """Bounds for the workload's marginals that were scored or lie in a table of single cells."""
        cells = [measurement for _, measurement in self._tables if not measurement.boxes]
        averages = {c: weighted_average(self._domain, c, cells) for c in self._workload.cliques}
        return error_bounds(
            model,
            {clique: average for clique, average in averages.items() if average is not None},
            [measurement.clique for measurement in cells],
            self._measurer.record_count,
            scored={c: self._scored[c] for c in self._workload.cliques if c in self._scored},
        )

    def _tell(self, step: str) -> None:
        accountant = self._measurer.accountant
        self._report(Progress(step, (), 0, accountant.spent_share))


def _sampling(expected: NDArray[np.float64], rounded: bool) -> float:
    """Expected L1 distance of Poisson counts from their means, or from these rounded to whole numbers.

    So far from independence is a table whose attributes are independent: the records that it happens to have.
    """
    reference = np.rint(expected) if rounded else expected
    below = np.floor(reference)
    # E|X - r| = m - r + 2 E max(0, r - X), and k P(X = k) = m P(X = k - 1).
    short = reference * pdtr(below, expected) - expected * np.where(below > 0, pdtr(below - 1, expected), 0.0)
    return float((expected - reference + 2 * short).sum())
