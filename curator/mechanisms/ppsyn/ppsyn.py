"""PPSyn: measure the marginal that improves the model most for its cost, over boxes instead of cells.

Source: Zhang, Deng and Yin, "Partition-based differentially private synthetic data generation",
    Algorithms 1 and 2.

The paper computes partitions, required budgets and scores from the table's exact marginals, and releases
them: that is not private. `variant="paper"` follows it in simulation (`ppsyn_text.py`). In the default all
three are public:

- A partition follows from the noisy one-way marginals (`Blur`): the finer, the more it shows of how the
  table deviates from the model. By how much it does is a noisy score, of sensitivity 1 whatever the number
  of cells.
- A partition of k boxes that hides a share h of the contribution C needs rho = k^2 / pi (eta C - h C)^2, so
  the one that needs least is the same for every C. A marginal measured before is measured over smaller
  boxes.
- Inside a box the model keeps the shape that all other measurements give it, instead of a uniform one.
- Scores for all candidates cost as much as one for each: a round selects as many as it can afford.
- What is left in the end measures everything once more that the model is made of, each over the boxes that
  promise the smallest error (Theorem 3).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
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
from ...pgm.junction_tree import TreeGrowth
from ...pgm.model import MarkovRandomField
from ..independent import one_way_marginals
from ..parts.allocation import EXPECTED_L1, allocate, check_smallest
from ..parts.bounds import ScoredDistance, error_bounds, weighted_average
from ..parts.fitted import FittedModel, Progress, Report, Round
from ..parts.scoring import (
    DRAFT,
    FINAL,
    SELECTED_BY,
    check_scores,
    measurable_cliques,
    rounds_of,
    score_against,
)
from .paper import TextRun
from .partition_choice import Partitioned
from .partitions import Blur, sequence_of


@dataclass(frozen=True)
class PPSyn:
    """Partitioned marginals, by contribution for each unit of budget.

    Attributes:
        variant: "default", or "paper" for the text of Algorithms 1 to 4, which only a simulation can run.
        eta: the share of a marginal's contribution that noise and partition may take.
        one_way: share of the budget for one-way marginals.
        scores: share of the budget to select by.
        rounds: T; in the paper's variant a round selects one marginal, and there may be more rounds.
        maxsize: candidates with more cells are dropped.
        max_model_mb: limit of the model's size; grows to this with the rounds.
    """

    variant: Literal["default", "paper"] = "default"
    eta: float = 0.7
    one_way: float = 0.1
    scores: float = 0.05
    rounds: int = 4
    maxsize: int = 10_000
    max_model_mb: float = 32.0

    def __post_init__(self) -> None:
        if self.variant not in ("default", "paper"):
            raise DataError(f"variant: expected 'default' or 'paper', got {self.variant!r}")
        if not 0 < self.eta <= 1:
            raise DataError(f"eta: expected a share in (0, 1], got {self.eta}")
        for name in ("one_way", "scores"):
            if not 0 < getattr(self, name) < 1:
                raise DataError(f"{name}: expected a share in (0, 1), got {getattr(self, name)}")
        if self.one_way + self.scores >= 1:
            raise DataError("one_way and scores leave nothing for the rounds; lower them")
        if self.rounds < 1 or self.maxsize < 1 or not self.max_model_mb > 0:
            raise DataError("expected rounds >= 1, maxsize >= 1 and max_model_mb > 0")

    @classmethod
    def of_the_paper(cls) -> PPSyn:
        """The shares of Algorithm 1; T is not given in the paper."""
        return cls(variant="paper", scores=0.1, rounds=50)

    @property
    def name(self) -> str:
        """As on the command line."""
        return "ppsyn"

    def granted(self, budget: Budget) -> Fraction:
        """Exact for the default, Gaussian alone; zCDP for the paper's exponential mechanism."""
        return budget.granted(gaussian_only=self.variant == "default")

    def describe(self) -> dict[str, Any]:
        """Name, variant and parameters, for the certificate."""
        return {"name": self.name, **asdict(self)}

    def run(
        self, measurer: Measurer, workload: Workload, stream: RandomStream, report: Report
    ) -> FittedModel:
        """Spends the whole grant; see `Mechanism.run`.

        Raises:
            DataError: the protocol gives no scores (the paper's variant: no exact marginals), or no
                candidate is small enough; nothing has been charged.
            ModelError: the smallest candidate makes too large a model; nothing has been charged.
        """
        if self.variant == "default":
            check_scores(measurer, self.name)
        candidates = workload.refined(measurer.domain, self.maxsize)
        check_smallest(measurer.domain, candidates.cliques, self.max_model_mb)
        if self.variant == "paper":
            shares = Fraction(self.one_way), Fraction(self.scores) / self.rounds
            return TextRun(measurer, candidates, self.eta, shares, self.max_model_mb, stream, report).run()
        return _Run(self, measurer, candidates, report).run()


class _Run:
    """One run of the default."""

    def __init__(self, config: PPSyn, measurer: Measurer, workload: Workload, report: Report) -> None:
        self._config = config
        self._measurer = measurer
        self._domain = measurer.domain
        self._granted = measurer.accountant.remaining
        weights = dict(zip(workload.cliques, workload.weights, strict=True))
        self._weights = {c: weights[c] for c in measurable_cliques(measurer, workload.cliques) if weights[c]}
        self._report = report
        self._used: list[Measurement] = []
        self._rounds: list[Round] = []
        self._scored: dict[Clique, ScoredDistance] = {}

    def run(self) -> FittedModel:
        """Algorithm 1, several marginals in each round."""
        ways = one_way_marginals(self._measurer, self._granted * Fraction(self._config.one_way))
        self._used += ways
        self._tell("one-way marginals", 0)
        model = self._estimate(None)
        self._candidates = self._partitioned(model, ways)
        for number in range(1, self._config.rounds + 1):
            self._score(model)
            self._tell("scores", number)
            chosen = self._select(number)
            if chosen:
                model = self._measure(chosen, model)
                self._tell("round", number)
        model = self._measure_again(model)
        self._tell("last round", self._config.rounds)
        self._score(model)
        self._tell("scores", self._config.rounds)
        averages = {c: weighted_average(self._domain, c, self._used) for c in self._weights}
        bounds = error_bounds(
            model,
            {clique: average for clique, average in averages.items() if average is not None},
            [done.clique for done in self._rounds],
            self._measurer.record_count,
            scored=self._scored,
        )
        selection = f"{SELECTED_BY}, for each unit of budget"
        return FittedModel(model, tuple(self._used), tuple(self._rounds), bounds, selection)

    def _partitioned(
        self, model: MarkovRandomField, ways: Sequence[Measurement]
    ) -> dict[Clique, Partitioned]:
        """Partitions of every candidate from noisy one-way marginals; no code counts less than its noise."""
        masses = {}
        for way in ways:
            counts = np.maximum(model.marginal(way.clique), way.sigma)
            masses[way.clique[0]] = counts / counts.sum()
        return {
            clique: Partitioned(
                sequence_of(self._domain.shape(clique), Blur([masses[name] for name in clique])),
                self._domain.cells(clique),
                weight,
            )
            for clique, weight in self._weights.items()
        }

    def _score(self, model: MarkovRandomField) -> None:
        """Algorithm 2, line 2: noisy distances between table and model, where the model can answer."""
        scored = score_against(self._measurer, model, list(self._weights), self._score_budget())
        self._scored = scored or self._scored

    def _select(self, number: int) -> dict[Clique, tuple[int, Fraction]]:
        """Lines 3 to 6: the best scores for each unit of budget, as many as this round's part pays for.

        Returns:
            For each clique the number of its boxes, and its budget.
        """
        left = self._left() / (self._config.rounds + 2 - number)
        limit = self._config.max_model_mb * number / self._config.rounds
        # New ones: twice as many as in the round before. Early scores know little of what explains what.
        most = math.ceil(len(self._candidates) * 2 ** (number - 1) / (2**self._config.rounds - 1))
        offers: dict[Clique, tuple[float, int, Fraction]] = {}
        for clique, scored in self._scored.items():
            contribution = self._contribution(scored)
            if contribution > 0:
                known = self._candidates[clique]
                boxes, rho = self._required(clique, contribution)
                offers[clique] = known.weight * contribution / float(rho), boxes, rho
        chosen: dict[Clique, tuple[int, Fraction]] = {}
        promising = sorted(offers, key=lambda clique: -offers[clique][0])
        measured = self._measured()
        new = 0
        while True:
            promising = [c for c in promising if offers[c][2] <= left and (new < most or c in measured)]
            place = TreeGrowth(self._domain, [*measured, *chosen]).first_within(promising, limit)
            if place is None:
                return chosen
            clique = promising[place]
            _, boxes, rho = offers[clique]
            chosen[clique] = boxes, rho
            left -= rho
            new += clique not in measured
            # Those before it are too large beside the others, and no smaller once this one is chosen.
            promising = promising[place + 1 :]

    def _contribution(self, scored: ScoredDistance) -> float:
        """A score less the deviation of its noise, because the largest are chosen; at most 2 N records."""
        return min(scored.distance - scored.sigma, 2.0 * self._measurer.record_count)

    def _required(self, clique: Clique, contribution: float) -> tuple[int, Fraction]:
        """Algorithm 2, line 3: the partition that needs the least budget, and that budget."""
        boxes, root = self._candidates[clique].cheapest(self._config.eta)
        # One sum has noise of expected absolute value sqrt(unit / rho).
        unit = (EXPECTED_L1 * self._measurer.expected_sigma(clique, self._granted)) ** 2 * self._granted
        return boxes, Fraction(unit) * Fraction(root / contribution) ** 2

    def _measure(
        self, chosen: dict[Clique, tuple[int, Fraction]], before: MarkovRandomField
    ) -> MarkovRandomField:
        """Algorithm 1, lines 7 to 10."""
        queries = [self._query(clique, boxes, rho, "round") for clique, (boxes, rho) in chosen.items()]
        found = self._measurer.measure(queries)
        self._used += found
        for clique, (boxes, _) in chosen.items():
            known = self._candidates[clique]
            first = known.contribution or self._contribution(self._scored[clique])
            self._candidates[clique] = replace(known, boxes=max(known.boxes, boxes), contribution=first)
        model = self._estimate(before)
        self._rounds += rounds_of(found, before, model)
        return model

    def _query(self, clique: Clique, boxes: int, rho: Fraction, step: str) -> Query:
        known = self._candidates.get(clique)
        if known is None or boxes == known.cells:
            return Query(clique, rho, step)
        return Query(clique, rho, step, known.sequence.boxes(boxes))

    def _measure_again(self, model: MarkovRandomField) -> MarkovRandomField:
        """What is left, but for the last scores, goes to all that the model is made of."""
        measured = self._measured()
        left = self._left()
        counts: list[int] = [self._domain.cells(clique) for clique in measured]
        # Fewer boxes take a smaller part, which leaves others more; thrice is close to where it settles.
        for _ in range(3):
            for place, rho in enumerate(allocate(left, counts)):
                known = self._candidates.get(measured[place])
                if known and known.boxes:
                    sigma = self._measurer.expected_sigma(measured[place], rho)
                    counts[place] = known.finest_worth(EXPECTED_L1 * sigma)
        parts = allocate(left, counts)
        queries = [
            self._query(c, k, rho, "last round") for c, k, rho in zip(measured, counts, parts, strict=True)
        ]
        self._used += self._measurer.measure(queries)
        return self._estimate(model, FINAL)

    def _score_budget(self) -> Fraction:
        return self._granted * Fraction(self._config.scores) / (self._config.rounds + 1)

    def _left(self) -> Fraction:
        """What is left for marginals once the model has been scored for the last time."""
        return self._measurer.accountant.remaining - self._score_budget()

    def _measured(self) -> list[Clique]:
        return list(dict.fromkeys(measurement.clique for measurement in self._used))

    def _estimate(self, warm_start: MarkovRandomField | None, tolerance: float = DRAFT) -> MarkovRandomField:
        total = self._measurer.record_count
        return estimate(self._domain, self._used, total=total, warm_start=warm_start, tolerance=tolerance)

    def _tell(self, step: str, number: int) -> None:
        spent = self._measurer.accountant.spent_share
        self._report(Progress(step, (), number, spent))
