"""ABSyn: score every pair once, select all pairs in one batch, measure them, make them agree, fit.

Source: Jia et al., "ABSyn: An Accurate Differentially Private Data Synthesis Scheme With Adaptive Selection
and Batch Processes", Algorithm 2. `variant="paper"` follows its text, which is private but spends more than
it must. The default differs (docs/adr/0015):

- A pair's R-score is its distance from the product of the noisy one-way marginals, which are public by then,
  and not of the exact ones: its sensitivity is 1, not 4.
- epsilon is converted to rho exactly, and one-way marginals share their budget by number of cells.
- What selected pairs tell of another is a share of what it has in common, not a number to subtract
  (`cr_scores`).
- The model is fitted as a whole.

In both variants attributes in no selected pair share in the measuring budget, as in the authors' program; the
paper's text leaves them the tenth that one-way marginals get.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import partial
from typing import Any, Literal

import numpy as np

from ....common.crypto.randomness import RandomStream
from ....common.data.domain import Clique
from ....common.data.workload import Workload
from ....common.errors import DataError
from ....common.measurement import Measurement
from ....common.privacy.budget import Budget
from ...measurers.measurer import Measurer, Query
from ...pgm.estimation import estimate
from ...pgm.estimator import Estimator
from ...pgm.model import MarkovRandomField
from ...pgm.parallel import estimate_in_parallel
from ..independent import one_way_marginals
from ..parts.allocation import EXPECTED_L1, check_smallest, measure_split
from ..parts.bounds import ErrorBound, ScoredDistance, error_bounds, weighted_average
from ..parts.consistency import consistent
from ..parts.fitted import FittedModel, Progress, Report
from ..parts.scoring import check_scores
from .batch_selection import Candidates, select_batch

PAPERS_SENSITIVITY = 4
"""Of an R-score against the product of exact one-way marginals (section VI.B)."""


@dataclass(frozen=True)
class ABSyn:
    """Adaptive selection in a batch; all pairs of attributes matter alike, whatever the workload.

    Attributes:
        variant: "default", or "paper" for the text.
        one_way: share of the budget for one-way marginals.
        scores: share of the budget for the R-scores of all pairs; the rest measures.
        max_clique_cells: tau; pairs that would make a larger clique are not selected.
        max_model_mb: limit of the model's size.
        estimator: "exact" fits the whole model, "parallel" its cliques apart from each other (Algorithm 4).
    """

    variant: Literal["default", "paper"] = "default"
    one_way: float = 0.1
    scores: float = 0.1
    max_clique_cells: int = 1_000_000
    max_model_mb: float = 32.0
    estimator: Literal["exact", "parallel"] = "exact"

    def __post_init__(self) -> None:
        if self.variant not in ("default", "paper"):
            raise DataError(f"variant: expected 'default' or 'paper', got {self.variant!r}")
        if self.estimator not in ("exact", "parallel"):
            raise DataError(f"estimator: expected 'exact' or 'parallel', got {self.estimator!r}")
        for name in ("one_way", "scores"):
            if not 0 < getattr(self, name) < 1:
                raise DataError(f"{name}: expected a share in (0, 1), got {getattr(self, name)}")
        if self.one_way + self.scores >= 1:
            raise DataError("one_way and scores leave nothing to measure pairs with; lower them")
        if self.max_clique_cells < 4 or not self.max_model_mb > 0:
            raise DataError("expected max_clique_cells >= 4 and max_model_mb > 0")

    @classmethod
    def of_the_paper(cls) -> ABSyn:
        """The parameters of the paper (section VI.B), and its parallel fits."""
        return cls(variant="paper", estimator="parallel")

    @property
    def name(self) -> str:
        """As on the command line."""
        return "absyn"

    @property
    def paper(self) -> bool:
        """Whether the paper's text is followed."""
        return self.variant == "paper"

    def granted(self, budget: Budget) -> Fraction:
        """Exact for the default, Gaussian alone; the paper's conversion (Theorem 4) for its variant."""
        return budget.granted_by_bun_steinke() if self.paper else budget.granted(gaussian_only=True)

    def describe(self) -> dict[str, Any]:
        """Name, variant and parameters, for the certificate."""
        return {"name": self.name, **asdict(self)}

    def run(
        self, measurer: Measurer, workload: Workload, stream: RandomStream, report: Report
    ) -> FittedModel:
        """Spends the whole grant; see `Mechanism.run`.

        Raises:
            DataError: the protocol gives no exact distances; nothing has been measured.
            ModelError: the smallest pair makes too large a model; nothing has been measured.
        """
        return _Run(self, measurer, workload, stream, report).run()


class _Run:
    """One run of Algorithm 2."""

    def __init__(
        self, config: ABSyn, measurer: Measurer, workload: Workload, stream: RandomStream, report: Report
    ) -> None:
        self._config = config
        self._measurer = measurer
        self._domain = measurer.domain
        self._granted = measurer.accountant.remaining
        self._workload = workload
        self._stream = stream
        self._report = report
        self._pairs: list[Clique] = [
            pair
            for pair in itertools.combinations(self._domain.names, 2)
            if math.isfinite(measurer.expected_sigma(pair, self._granted))
        ]

    def run(self) -> FittedModel:
        """Lines 6 to 14."""
        self._check()
        one_way = self._one_way()
        self._tell("one-way marginals")
        scored = self._r_scores(one_way)
        self._tell("scores")
        selected = self._select(scored)
        measurements = one_way + self._measure(selected)
        self._tell("measurements")
        model = self._fit(consistent(self._domain, measurements, self._measurer.record_count))
        bounds = self._bounds(model, measurements, selected, scored)
        return FittedModel(model, tuple(measurements), (), bounds, "exact L1 distances with noise")

    def _check(self) -> None:
        check_scores(self._measurer, "absyn")
        check_smallest(self._domain, self._pairs, self._config.max_model_mb)

    def _one_way(self) -> list[Measurement]:
        """Line 6; the paper gives every attribute the same."""
        budget = self._granted * Fraction(self._config.one_way)
        if not self._config.paper:
            return one_way_marginals(self._measurer, budget)
        part = budget / len(self._domain)
        return self._measurer.measure([Query((name,), part, "one-way") for name in self._domain])

    def _r_scores(self, one_way: Sequence[Measurement]) -> dict[Clique, ScoredDistance]:
        """Distances of all pairs from independence, in records (Algorithm 3, lines 5 to 8).

        Guarantee: the share `scores` of the grant. An L1 distance from a public table changes by 1 with a
        record. The paper's variant adds noise until it is that of a sensitivity of 4.
        """
        if not self._pairs:
            return {}
        independent = estimate(self._domain, one_way, total=self._measurer.record_count)
        references = [np.rint(m).astype(np.int64) for m in independent.marginals(self._pairs)]
        budget = self._granted * Fraction(self._config.scores)
        scores = self._measurer.score(self._pairs, references, budget, "scores")
        values, sigma = scores.values, scores.sigma
        if self._config.paper:
            more = sigma * math.sqrt(PAPERS_SENSITIVITY**2 - 1)
            values = values + more * self._stream.generator().standard_normal(len(values))
            sigma *= PAPERS_SENSITIVITY
        return {
            pair: ScoredDistance(float(value), sigma, reference)
            for pair, value, reference in zip(self._pairs, values, references, strict=True)
        }

    def _select(self, scored: Mapping[Clique, ScoredDistance]) -> list[Clique]:
        """Line 8."""
        left = self._measurer.accountant.remaining
        noise = {
            pair: EXPECTED_L1 * self._measurer.expected_sigma(pair, left) * self._domain.cells(pair)
            for pair in scored
        }
        distances = {pair: known.distance for pair, known in scored.items()}
        return select_batch(
            self._domain,
            Candidates(distances, noise, self._measurer.record_count),
            max_clique_cells=self._config.max_clique_cells,
            max_model_mb=self._config.max_model_mb,
            difference=self._config.paper,
        )

    def _measure(self, selected: Sequence[Clique]) -> list[Measurement]:
        """Lines 10 and 11: the selected pairs, and attributes that none of them holds."""
        held = set(itertools.chain(*selected))
        cliques = [*selected, *((name,) for name in self._domain if name not in held)]
        cells = [self._domain.cells(clique) for clique in cliques]
        return measure_split(self._measurer, cliques, cells, self._measurer.accountant.remaining, "measure")

    def _fit(self, measurements: Sequence[Measurement]) -> MarkovRandomField:
        """Line 14; the paper trains each maximal clique alone."""
        fit: Estimator = estimate
        if self._config.estimator == "parallel":
            fit = (
                partial(estimate_in_parallel, max_block_mb=0) if self._config.paper else estimate_in_parallel
            )
        return fit(self._domain, measurements, total=self._measurer.record_count)

    def _bounds(
        self,
        model: MarkovRandomField,
        measurements: Sequence[Measurement],
        selected: Sequence[Clique],
        scored: Mapping[Clique, ScoredDistance],
    ) -> tuple[ErrorBound, ...]:
        """For the workload's marginals that were measured, or scored against independence."""
        cliques = self._workload.cliques
        averages = {clique: weighted_average(self._domain, clique, measurements) for clique in cliques}
        return error_bounds(
            model,
            {clique: average for clique, average in averages.items() if average is not None},
            selected,
            self._measurer.record_count,
            scored={clique: scored[clique] for clique in cliques if clique in scored},
        )

    def _tell(self, step: str) -> None:
        accountant = self._measurer.accountant
        self._report(Progress(step, (), 0, accountant.spent_share))
