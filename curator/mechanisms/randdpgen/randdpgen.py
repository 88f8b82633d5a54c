"""RandDPGen: select a marginal, measure it, estimate the distribution, and spend more when little is learned.

Source: Zhang et al., "High-dimensional Hybrid Partitioned Data Release under Differential Privacy",
Algorithm 2. `variant="paper"` follows its text. The default is private and spends less in vain:

- Selecting from noisy marginals is post-processing, so it costs nothing (the paper runs an exponential
  mechanism over them for most of every round's budget), and looking whether anything is worth a round's
  budget is free: where nothing is, the budget grows and nothing is measured.
- The candidates' noisy marginals are paid for, so they are fitted wherever the model's cliques contain them.
- It starts from one-way marginals, not from the uniform distribution.
- Candidates that their part of the budget could not measure are dropped (`measurable`).
- A candidate is judged by all that is known of its marginal, not by its first measurement alone.
- What is left for the last round measures everything once more that the model is made of, split by
  `allocate`, instead of one marginal.
- Budgets are split by number of cells, and the model's size has a limit.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ....common.crypto.randomness import RandomStream
from ....common.data.domain import Clique
from ....common.data.workload import Workload
from ....common.errors import DataError
from ....common.measurement import Measurement
from ....common.privacy.budget import Budget, Charge
from ....common.privacy.cost import exponential_cost
from ...measurers.measurer import Measurer, Query
from ...pgm.estimation import estimate
from ...pgm.junction_tree import JunctionTree, TreeGrowth
from ...pgm.model import MarkovRandomField
from ..independent import one_way_marginals
from ..parts.allocation import EXPECTED_L1, check_smallest, measurable, measure_split
from ..parts.bounds import WeightedAverage, error_bounds
from ..parts.fitted import FittedModel, Progress, Report, Round
from .by_scores import ScoredRun

_NOTHING = Fraction(0)


@dataclass(frozen=True)
class RandDPGen:
    """The main mechanism for tables in pieces.

    Attributes:
        variant: "default", or "paper" for the text of Algorithm 2.
        alpha: share of the budget for noisy marginals of all candidates, to select by.
        beta: share of a round's budget that measures; in the paper's variant alone, where most of the rest
            pays for an exponential mechanism.
        one_way: share of the budget for one-way marginals; in the default alone.
        rounds_per_attribute: T = rounds_per_attribute * d bounds the number of rounds.
        maxsize: candidates with more cells are dropped (line 3).
        max_model_mb: limit of the model's size; grows to this with the budget used.
        selection: by noisy "scores" of exact distances, in the default and where the measurer has them (then
            alpha and rounds_per_attribute do not count), or by noisy "marginals" of all candidates.
        allocation: split the first phase by number of "cells", which is what minimises the expected error,
            or by number of "attributes", as the paper's formula has it (line 4).
    """

    variant: Literal["default", "paper"] = "default"
    alpha: float = 0.3
    beta: float = 0.2
    one_way: float = 0.1
    rounds_per_attribute: int = 16
    maxsize: int = 10_000
    max_model_mb: float = 32.0
    selection: Literal["scores", "marginals"] = "scores"
    allocation: Literal["cells", "attributes"] = "cells"

    def __post_init__(self) -> None:
        if self.variant not in ("default", "paper"):
            raise DataError(f"variant: expected 'default' or 'paper', got {self.variant!r}")
        if self.selection not in ("scores", "marginals"):
            raise DataError(f"selection: expected 'scores' or 'marginals', got {self.selection!r}")
        if self.allocation not in ("cells", "attributes"):
            raise DataError(f"allocation: expected 'cells' or 'attributes', got {self.allocation!r}")
        for name in ("alpha", "beta", "one_way"):
            if not 0 < getattr(self, name) < 1:
                raise DataError(f"{name}: expected a share in (0, 1), got {getattr(self, name)}")
        first = self.alpha + (self.beta if self.paper else self.one_way)
        if first >= 1:
            raise DataError("alpha with beta or one_way leaves nothing for the rounds; lower them")
        if self.rounds_per_attribute < 1 or self.maxsize < 2 or not self.max_model_mb > 0:
            raise DataError("expected rounds_per_attribute >= 1, maxsize >= 2 and max_model_mb > 0")

    @classmethod
    def of_the_paper(cls) -> RandDPGen:
        """The parameters of the paper's experiments (section 6.1)."""
        return cls(variant="paper", alpha=0.1, beta=0.2, allocation="attributes")

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
        candidates = workload.refined(measurer.domain, self.maxsize)
        if not self.paper and self.selection == "scores" and measurer.scores_exactly:
            return ScoredRun(measurer, candidates, self.one_way, self.max_model_mb, report).run()
        return _Run(self, measurer, candidates, stream, report).run()


class _Run:
    """One run of Algorithm 2."""

    def __init__(
        self, config: RandDPGen, measurer: Measurer, workload: Workload, stream: RandomStream, report: Report
    ) -> None:
        self.config = config
        self.measurer = measurer
        self.domain = measurer.domain
        self.granted = measurer.accountant.remaining
        self.first_phase = self.granted * Fraction(config.alpha)
        kept = list(range(len(workload)))
        if not config.paper:
            kept = measurable(measurer, workload.cliques, self.first_phase)
        self.cliques = [workload.cliques[i] for i in kept]
        self.weights = np.array(workload.overlap_weights())[kept]
        self.cells = np.array([self.domain.cells(clique) for clique in self.cliques], dtype=float)
        self.having: dict[str, list[int]] = {name: [] for name in self.domain}
        for i, clique in enumerate(self.cliques):
            for name in clique:
                self.having[name].append(i)
        self.rng = stream.generator()
        self.report = report
        self.used: list[Measurement] = []
        self.candidates: list[Measurement] = []
        nothing = WeightedAverage(np.zeros(1), math.inf, True)
        self.averages = [nothing] * len(self.cliques)
        self.rounds: list[Round] = []

    def run(self) -> FittedModel:
        """Lines 1 to 19."""
        check_smallest(self.domain, self.cliques, self.config.max_model_mb)
        if not self.config.paper:
            self._use(one_way_marginals(self.measurer, self.granted * Fraction(self.config.one_way)))
            self._tell("one-way marginals")
        first = self._estimate(None)
        self._measure_candidates()
        self._tell("candidates")
        model = self._estimate(first)
        cost = self.measurer.accountant.remaining / (self.config.rounds_per_attribute * len(self.domain))
        last = False
        while not last:
            left = self.measurer.accountant.remaining
            last = left <= 2 * cost
            if last and not self.config.paper:
                model = self._measure_again(left, model)
                break
            cost = left if last else cost
            index = self._select(model, cost)
            if index is None:
                cost *= 4
                continue
            model = self._round(index, cost, model)
            cost *= 4 if self.rounds[-1].annealed else 1
        measured = (*self.used, *self.candidates)
        selected = [done.clique for done in self.rounds]
        known = dict(zip(self.cliques, self.averages, strict=True))
        bounds = error_bounds(
            model, known, selected, self.measurer.record_count, first=first, candidates=self.candidates
        )
        return FittedModel(
            model, measured, tuple(self.rounds), bounds, "L1 distances estimated from noisy marginals"
        )

    def _measure_candidates(self) -> None:
        """Lines 3 and 4: noisy marginals of all candidates, to select by."""
        by_cells = self.config.allocation == "cells"
        sizes = self.cells.tolist() if by_cells else [len(clique) for clique in self.cliques]
        self.candidates = measure_split(self.measurer, self.cliques, sizes, self.first_phase, "candidates")
        self._learn(self.candidates)

    def _measuring_share(self, cost: Fraction) -> Fraction:
        """The part of a round's budget that measures (line 10)."""
        if not self.config.paper:
            return cost
        return cost * Fraction(self.config.beta) / (1 - Fraction(self.config.alpha))

    def _scores(self, model: MarkovRandomField, cost: Fraction) -> NDArray[np.float64]:
        """What measuring each candidate is expected to improve, in records of L1 error (line 9).

        The distance between the model's marginal and the noisy one, less what its noise adds to that, and
        no further than two marginals can be apart; less what the new measurement would leave. The paper
        takes one square root over both variances and has no such limit, so that the noisiest candidate wins.
        """
        rho = self._measuring_share(cost)
        new = np.array([self.measurer.expected_sigma(clique, rho) for clique in self.cliques])
        known = np.array([average.sigma for average in self.averages])
        found = model.l1_distances(self.cliques, [average.values for average in self.averages])
        distances = np.array([-math.inf if distance is None else distance for distance in found])
        if self.config.paper:
            gains = distances - EXPECTED_L1 * np.hypot(new, known) * self.cells
        else:
            left = EXPECTED_L1 / np.hypot(1 / new, 1 / known) * self.cells
            furthest = 2 * self.measurer.record_count
            gains = np.minimum(distances - EXPECTED_L1 * known * self.cells, furthest) - left
        scores: NDArray[np.float64] = self.weights * gains
        return scores

    def _select(self, model: MarkovRandomField, cost: Fraction) -> int | None:
        """Lines 8 and 9: the best candidate among those that leave the model small enough.

        Returns:
            Its place in the workload; None where nothing is worth this round's budget.
        """
        scores = self._scores(model, cost)
        if self.config.paper:
            scores = self._exponential(scores, cost - self._measuring_share(cost))
        limit = self.config.max_model_mb * self._spent_share(cost)
        measured = [measurement.clique for measurement in self.used]
        least = -math.inf if self.config.paper else 0.0
        promising = [int(index) for index in np.argsort(-scores) if scores[index] > least]
        cliques = [self.cliques[index] for index in promising]
        inside = (k for k, clique in enumerate(cliques) if model.tree.home(clique) is not None)
        # The first that the model has room for, inside one of its cliques or beside them.
        held = next(inside, len(cliques))
        place = TreeGrowth(self.domain, measured).first_within(cliques[:held], limit)
        place = held if place is None else place
        return promising[place] if place < len(promising) else None

    def _exponential(self, scores: NDArray[np.float64], rho: Fraction) -> NDArray[np.float64]:
        """Scores whose largest is the exponential mechanism's choice (line 9), by the Gumbel maximum.

        The paper's text divides by the score's sensitivity, its Algorithm 2 does not; here neither.
        """
        epsilon = math.sqrt(8 * rho) * (1 - 2.0**-40)
        charge = Charge("select", (), exponential_cost(epsilon))
        self.measurer.accountant = self.measurer.accountant.charge(charge)
        return epsilon / 2 * scores + self.rng.gumbel(size=len(scores))

    def _round(self, index: int, cost: Fraction, before: MarkovRandomField) -> MarkovRandomField:
        """Lines 10 to 16: measure, estimate, and decide whether the next round gets more."""
        clique = self.cliques[index]
        query = Query(clique, self._measuring_share(cost), "round")
        (measurement,) = self.measurer.measure([query])
        self._use([measurement])
        model = self._estimate(before)
        learned = float(np.abs(model.marginal(clique) - before.marginal(clique)).sum())
        threshold = float(EXPECTED_L1 * measurement.sigma * self.cells[index])
        done = Round(clique, measurement.sigma, float(cost), learned, learned <= threshold, model.size_mb)
        self.rounds.append(done)
        self._tell("round", clique)
        return model

    def _measure_again(self, left: Fraction, model: MarkovRandomField) -> MarkovRandomField:
        """The last round of the default: the rest goes to all that the model is made of."""
        cliques = list(dict.fromkeys(measurement.clique for measurement in self.used))
        sizes = [self.domain.cells(clique) for clique in cliques]
        self._use(measure_split(self.measurer, cliques, sizes, left, "last round"))
        model = self._estimate(model)
        self._tell("last round")
        return model

    def _use(self, measurements: Sequence[Measurement]) -> None:
        """Takes measurements into the model."""
        self.used += measurements
        self._learn(measurements)

    def _learn(self, measurements: Sequence[Measurement]) -> None:
        """Takes measurements into what is known of the candidates that they contain."""
        for measurement in measurements:
            for i in self._inside(measurement.clique):
                average = self.averages[i]
                self.averages[i] = average.with_measurement(self.domain, self.cliques[i], measurement)

    def _inside(self, clique: Clique) -> list[int]:
        """The candidates that a clique contains, by counting how many of its attributes each has."""
        common = Counter(i for name in clique for i in self.having[name])
        return [i for i, attributes in common.items() if attributes == len(self.cliques[i])]

    def _estimate(self, warm_start: MarkovRandomField | None) -> MarkovRandomField:
        """Line 11; the default also fits the candidates inside the model's cliques: they are paid for."""
        measurements = list(self.used)
        if not self.config.paper:
            tree = JunctionTree.build(self.domain, [measurement.clique for measurement in self.used])
            measurements += [found for found in self.candidates if tree.home(found.clique) is not None]
        return estimate(self.domain, measurements, total=self.measurer.record_count, warm_start=warm_start)

    def _spent_share(self, cost: Fraction = _NOTHING) -> float:
        """Share of the budget spent once this is spent too."""
        accountant = self.measurer.accountant
        return float((accountant.spent + cost) / accountant.granted)

    def _tell(self, step: str, clique: Clique = ()) -> None:
        self.report(Progress(step, clique, len(self.rounds), self._spent_share()))
