"""RandDPGen: select a marginal, measure it, estimate the distribution, and spend more when little is learned.

Source: Zhang et al., "High-dimensional Hybrid Partitioned Data Release under Differential Privacy",
Algorithm 2. `variant="paper"` follows its text; the default differs where the text wastes budget, and every
difference is named where it is made.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ...common.crypto.randomness import RandomStream
from ...common.domain import Clique
from ...common.errors import DataError, ModelError
from ...common.measurement import Measurement
from ...common.privacy.budget import Budget, Charge
from ...common.privacy.cost import exponential_cost
from ...common.workload import Workload
from ..measurers.measurer import Measurer, Query
from ..pgm.estimation import estimate
from ..pgm.junction_tree import JunctionTree, size_mb
from ..pgm.model import MarkovRandomField
from .bounds import error_bounds
from .independent import one_way_marginals
from .mechanism import FittedModel, Progress, Report, Round, allocate

_EXPECTED_L1 = math.sqrt(2 / math.pi)
"""Expected absolute value of a standard normal variable."""


@dataclass(frozen=True)
class RandDPGen:
    """The main mechanism for tables in pieces.

    Attributes:
        variant: "default", or "paper" for the text of Algorithm 2.
        alpha: share of the budget for noisy marginals of all candidates, to select by.
        beta: share of a round's budget that measures; in the paper's variant alone, where the rest pays for
            an exponential mechanism. Selecting from noisy marginals is post-processing, so the default
            measures with all of it.
        one_way: share of the budget for one-way marginals, from which the default starts; the paper starts
            from the uniform distribution.
        rounds_per_attribute: T = rounds_per_attribute * d bounds the number of rounds.
        maxsize: candidates with more cells are dropped (line 3).
        max_model_mb: limit of the model's size; grows to this with the budget used.
        allocation: split the first phase by number of "cells", which is what minimises the expected error,
            or by number of "attributes", as the paper's formula has it (line 4).
    """

    variant: Literal["default", "paper"] = "default"
    alpha: float = 0.1
    beta: float = 0.2
    one_way: float = 0.1
    rounds_per_attribute: int = 16
    maxsize: int = 10_000
    max_model_mb: float = 8.0
    allocation: Literal["cells", "attributes"] = "cells"

    def __post_init__(self) -> None:
        if self.variant not in ("default", "paper"):
            raise DataError(f"variant: expected 'default' or 'paper', got {self.variant!r}")
        if self.allocation not in ("cells", "attributes"):
            raise DataError(f"allocation: expected 'cells' or 'attributes', got {self.allocation!r}")
        for name in ("alpha", "beta", "one_way"):
            if not 0 < getattr(self, name) < 1:
                raise DataError(f"{name}: expected a share in (0, 1), got {getattr(self, name)}")
        first = self.alpha + (self.beta if self.paper else self.one_way)
        if first >= 1:
            raise DataError("alpha with beta or one_way leaves nothing for the rounds; lower them")
        if self.rounds_per_attribute < 1 or self.maxsize < 2 or self.max_model_mb <= 0:
            raise DataError("expected rounds_per_attribute >= 1, maxsize >= 2 and max_model_mb > 0")

    @property
    def name(self) -> str:
        """As on the command line."""
        return "randdpgen"

    @property
    def paper(self) -> bool:
        """Whether the paper's text is followed."""
        return self.variant == "paper"

    def granted(self, budget: Budget) -> Fraction:
        """Exact for the default, Gaussian alone; the paper's conversion (Theorem 5.1) for its variant."""
        return budget.granted_by_bun_steinke() if self.paper else budget.granted(gaussian_only=True)

    def describe(self) -> dict[str, Any]:
        """Name, variant and parameters, for the certificate."""
        return {"name": self.name, **asdict(self)}

    def run(
        self, measurer: Measurer, workload: Workload, stream: RandomStream, report: Report
    ) -> FittedModel:
        """Spends the whole grant; see `Mechanism.run`.

        Raises:
            DataError: no candidate is small enough.
        """
        return _Run(self, measurer, workload.refined(measurer.domain, self.maxsize), stream, report).run()


class _Run:
    """One run of Algorithm 2."""

    def __init__(
        self, config: RandDPGen, measurer: Measurer, workload: Workload, stream: RandomStream, report: Report
    ) -> None:
        self.config = config
        self.measurer = measurer
        self.domain = measurer.domain
        self.workload = workload
        self.weights = np.array(workload.overlap_weights())
        self.cells = np.array([self.domain.cells(clique) for clique in workload.cliques], dtype=float)
        self.rng = stream.generator()
        self.report = report
        self.used: list[Measurement] = []
        self.candidates: list[Measurement] = []
        self.rounds: list[Round] = []

    def run(self) -> FittedModel:
        """Lines 1 to 19."""
        self._check_smallest()
        granted = self.measurer.accountant.remaining
        if not self.config.paper:
            self.used += one_way_marginals(self.measurer, granted * Fraction(self.config.one_way))
            self._tell("one-way marginals")
        self._measure_candidates(granted * Fraction(self.config.alpha))
        self._tell("candidates")
        model = self._estimate(None)
        cost = self.measurer.accountant.remaining / (self.config.rounds_per_attribute * len(self.domain))
        last = False
        while not last:
            left = self.measurer.accountant.remaining
            last = left <= 2 * cost
            cost = left if last else cost
            index = self._select(model, cost, last)
            if index is None:
                cost *= 4
                continue
            model = self._round(index, cost, model)
            cost *= 4 if self.rounds[-1].annealed else 1
        measured = (*self.used, *self.candidates)
        selected = [done.clique for done in self.rounds]
        bounds = error_bounds(model, self.workload.cliques, measured, selected, self.measurer.record_count)
        return FittedModel(model, measured, tuple(self.rounds), bounds)

    def _check_smallest(self) -> None:
        smallest = self.workload.cliques[int(self.cells.argmin())]
        needed = size_mb(self.domain, [smallest])
        if needed > self.config.max_model_mb:
            raise ModelError(
                f"the smallest model takes {needed:.1f} MB, max_model_mb is {self.config.max_model_mb}; "
                "raise it or use fewer bins"
            )

    def _measure_candidates(self, budget: Fraction) -> None:
        """Lines 3 and 4: noisy marginals of all candidates, to select by."""
        by_cells = self.config.allocation == "cells"
        sizes = self.cells if by_cells else [len(clique) for clique in self.workload.cliques]
        parts = allocate(budget, sizes)
        queries = [Query(c, rho, "candidates") for c, rho in zip(self.workload.cliques, parts, strict=True)]
        self.candidates = self.measurer.measure(queries)

    def _measuring_share(self, cost: Fraction) -> Fraction:
        """The part of a round's budget that measures (line 10)."""
        if not self.config.paper:
            return cost
        return cost * Fraction(self.config.beta) / (1 - Fraction(self.config.alpha))

    def _scores(self, model: MarkovRandomField, cost: Fraction) -> NDArray[np.float64]:
        """What measuring each candidate is expected to improve, in records of L1 error (line 9)."""
        rho = self._measuring_share(cost)
        sigmas = np.array([self.measurer.expected_sigma(clique, rho) for clique in self.workload.cliques])
        noise = np.array([candidate.sigma for candidate in self.candidates])
        estimates = model.marginals(self.workload.cliques)
        distances = np.array(
            [np.abs(c.values - m).sum() for c, m in zip(self.candidates, estimates, strict=True)]
        )
        return self.weights * (distances - _EXPECTED_L1 * np.hypot(sigmas, noise) * self.cells)

    def _select(self, model: MarkovRandomField, cost: Fraction, last: bool) -> int | None:
        """Lines 8 and 9: the candidate to measure, among those that leave the model small enough.

        Returns:
            Its place in the workload; None where nothing is worth this round's budget, which the default
            finds out for free.
        """
        scores = self._scores(model, cost)
        if self.config.paper:
            rho = cost - self._measuring_share(cost)
            epsilon = math.sqrt(8 * rho)
            charge = Charge("select", (), exponential_cost(epsilon * (1 - 2.0**-40)))
            self.measurer.accountant = self.measurer.accountant.charge(charge)
            # The text divides by the score's sensitivity, Algorithm 2 does not: line 9 is followed here.
            scores = epsilon / 2 * scores + self.rng.gumbel(size=len(scores))
        elif scores.max() <= 0 and not last:
            return None
        limit = self.config.max_model_mb * (1.0 if last else self._spent_after(cost))
        measured = [measurement.clique for measurement in self.used]
        for index in np.argsort(-scores):
            clique = self.workload.cliques[index]
            if model.tree.home(clique) is not None or size_mb(self.domain, [*measured, clique]) <= limit:
                return int(index)
        return None

    def _round(self, index: int, cost: Fraction, before: MarkovRandomField) -> MarkovRandomField:
        """Lines 10 to 16: measure, estimate, and decide whether the next round gets more."""
        clique = self.workload.cliques[index]
        query = Query(clique, self._measuring_share(cost), "round")
        (measurement,) = self.measurer.measure([query])
        self.used.append(measurement)
        model = self._estimate(before)
        learned = float(np.abs(model.marginal(clique) - before.marginal(clique)).sum())
        threshold = _EXPECTED_L1 * measurement.sigma * self.cells[index]
        done = Round(clique, measurement.sigma, float(cost), learned, learned <= threshold, model.size_mb)
        self.rounds.append(done)
        self._tell("round", clique)
        return model

    def _estimate(self, warm_start: MarkovRandomField | None) -> MarkovRandomField:
        """Line 11; the default also fits the candidates inside the model's cliques: they are paid for."""
        measurements = list(self.used)
        if not self.config.paper:
            tree = JunctionTree.build(self.domain, [measurement.clique for measurement in self.used])
            measurements += [found for found in self.candidates if tree.home(found.clique) is not None]
        return estimate(self.domain, measurements, total=self.measurer.record_count, warm_start=warm_start)

    def _spent_after(self, cost: Fraction) -> float:
        accountant = self.measurer.accountant
        return float((accountant.spent + cost) / accountant.granted)

    def _tell(self, step: str, clique: Clique = ()) -> None:
        spent = float(self.measurer.accountant.spent / self.measurer.accountant.granted)
        self.report(Progress(step, clique, len(self.rounds), spent))
