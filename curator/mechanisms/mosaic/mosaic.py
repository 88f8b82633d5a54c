"""Mosaic: measure interactions where the model lacks them, and believe them as far as their noise allows.

1. One-way marginals are measured for a tenth of the budget (`ONE_WAY`) and freed of noise (`denoising`). They
   make the first model.
2. In each of a few rounds (`ROUNDS`), all candidates are scored: noisy L1 distances between the table and the
   model, 3 % of the budget for all rounds together (`SCORES`). Candidates are the workload's marginals and
   their parts of two and more attributes, each once its own parts are measured. What a split of the remaining
   budget over everything would improve (`investment`) says which to take, best first, as long as the model
   stays within its size. Each is measured for a first time (`ROUND`), and the model is fitted again.
3. What is left measures everything once more, split so that the predicted error of the workload is least;
   and pairs that the model has no room for. Rows, once drawn, are brought to these, and to the workload's
   larger marginals as the model has them (`pgm/supplemented`).
4. Scores of the last model give the error bounds.

What is measured is never a whole marginal but its interaction (`common/data/interactions.py`): a record moves
it less, and the smaller marginals are measured by themselves. What is fitted are marginals again: the cells
that the model predicted before, brought to the margins as they are known now, plus the posterior mean of the
interaction (`effects`), each cell weighed by how well it is known. How cells vary together along an attribute
is learned from all interactions that it is in (`covariances`).

Where a protocol gives no scores, the interactions of all pairs that do not drown in noise are measured once
(`SURVEY`) in place of step 2.

All noise is Gaussian, so the budget is exact (Gaussian differential privacy); the rest is post-processing.

Source: rounds of scored candidates after RandDPGen and AIM; interactions as in ResidualPlanner; the rest is
    this project's (docs/mosaic.md has the evidence for each part).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ....common.crypto.randomness import RandomStream
from ....common.data.domain import Clique, Domain
from ....common.data.interactions import freedom, interaction
from ....common.data.workload import Workload
from ....common.errors import DataError
from ....common.measurement import Measurement
from ....common.privacy.cost import MAX_INTERACTION_SIZE
from ...measurers.measurer import Measurer, Query
from ...pgm.estimation import estimate
from ...pgm.junction_tree import TreeGrowth
from ...pgm.model import MarkovRandomField
from ...pgm.refinement import MAX_CELLS, MAX_LARGER_CELLS
from ...pgm.supplemented import SupplementedModel
from ..mechanism import GaussianMechanism
from ..parts.allocation import EXPECTED_L1, allocate, check_smallest, measurable
from ..parts.bounds import ScoredDistance, WeightedAverage, error_bounds
from ..parts.consistency import raked
from ..parts.fitted import FittedModel, Progress, Report, Round
from ..parts.released import ReleasedModel
from ..parts.scoring import DRAFT, FINAL, SELECTED_BY, measurable_cliques, rounds_of, score_against
from .budget_split import Outlay, interactions_of
from .covariances import has_shape, learned_axes
from .denoising import denoised
from .effects import LEAST_VARIANCE, Effect, Observed, typical_size
from .views import CLASSES, classes_of

ROUNDS = 4
ONE_WAY = 0.1
SCORES = 0.03
"""Share of the budget for all scores together: those of each round, and those of the last model."""

ROUND = 0.03
"""Share of the budget that measures in one round."""

SURVEY = 0.3
"""Share of the budget that measures all pairs where there are no scores."""

_MB_PER_S = 0.5
"""A model of so many MiB for each second: fits move a thousand times in all, in 2 ms for each MiB at most."""

_LEFT = 0.7
"""Share of the noise's variance in an interaction that is left once all marginals are fitted together."""

_LARGER = 4096
"""Rows are brought to no more marginals of three and more attributes; the model takes some ms for each."""

_LEAST_CELL = 1e-3
_LEAST_PART = 1e-6


@dataclass(frozen=True)
class Mosaic(GaussianMechanism):
    """The mechanism to take without thinking.

    Attributes:
        max_model_mb: limit of the junction tree's size; grows to this with the rounds.
        time_limit: seconds that fitting may take on two cores; lowers the model's limit to what can be
            fitted in them. It counts work and not the clock, so that a release that is taken up again goes
            the same way.
    """

    name: ClassVar[str] = "mosaic"

    max_model_mb: float = 16.0
    time_limit: float | None = None

    def __post_init__(self) -> None:
        for key, value in (("max_model_mb", self.max_model_mb), ("time_limit", self.time_limit)):
            if value is not None and not 0 < value < math.inf:
                raise DataError(f"{key}: expected a positive number, got {value}")

    @property
    def model_limit_mb(self) -> float:
        """The smaller of both limits."""
        limit = math.inf if self.time_limit is None else self.time_limit * _MB_PER_S
        return min(self.max_model_mb, limit)

    def run(
        self, measurer: Measurer, workload: Workload, stream: RandomStream, report: Report
    ) -> FittedModel:
        """Spends the whole grant; see `Mechanism.run`.

        Raises:
            ModelError: the smallest candidate makes too large a model; nothing has been measured.
        """
        return _Run(measurer, workload, self.model_limit_mb, report).run()


def candidates(domain: Domain, workload: Workload, max_model_mb: float) -> list[Clique]:
    """The workload's marginals and their parts, of two and more attributes, that a model can hold."""
    return [
        part
        for part in workload.closed().cliques
        if len(part) > 1 and domain.cells(part) <= max_model_mb * 2**17 and alone(domain.shape(part))
    ]


def alone(shape: Sequence[int]) -> bool:
    """Whether an interaction of this shape can be measured alone, not as part of the whole marginal."""
    return all(2 <= n <= MAX_INTERACTION_SIZE for n in shape)


class _Run:
    def __init__(self, measurer: Measurer, workload: Workload, max_model_mb: float, report: Report) -> None:
        self._measurer = measurer
        self._domain = measurer.domain
        self._records = measurer.record_count
        self._granted = measurer.accountant.remaining
        self._workload = workload
        self._max_model_mb = max_model_mb
        self._report = report
        self._candidates = measurable_cliques(measurer, candidates(self._domain, workload, max_model_mb))
        self._ones: dict[Clique, Observed] = {}
        self._effects: dict[Clique, Effect] = {}
        self._denoised: dict[Clique, tuple[NDArray[np.float64], NDArray[np.float64]]] = {}
        self._chosen: list[Clique] = []
        self._used: list[Measurement] = []
        self._rounds: list[Round] = []

    def run(self) -> FittedModel:
        if self._candidates:
            check_smallest(self._domain, self._candidates, self._max_model_mb)
        self._measure_one_way()
        self._tell("one-way marginals", 0)
        draft = self._fit(None, DRAFT)
        model: ReleasedModel = draft
        scored: Mapping[Clique, ScoredDistance] = {}
        selection = ""
        if self._candidates:
            by_scores = self._measurer.scores_exactly
            selection = SELECTED_BY if by_scores else "noisy interactions of pairs"
            draft = self._rounds_by_scores(draft) if by_scores else self._survey(draft)
            model = self._measure_again(draft)
            self._tell("last round", ROUNDS)
            if by_scores:
                cliques = measurable_cliques(self._measurer, self._workload.cliques)
                rest = self._measurer.accountant.remaining
                scored = score_against(self._measurer, model, cliques, rest)
                self._tell("scores", ROUNDS)
        bounds = error_bounds(model, self._averages(), self._chosen, self._records, scored=scored)
        return FittedModel(model, tuple(self._used), tuple(self._rounds), bounds, selection)

    def _measure_one_way(self) -> None:
        cliques = [(name,) for name in self._domain if self._domain[name].size > 1]
        budget = self._granted * Fraction(ONE_WAY) if self._candidates else self._granted
        if cliques:
            self._measure(cliques, allocate(budget, [self._domain.cells(c) for c in cliques]), "one-way")

    def _rounds_by_scores(self, model: MarkovRandomField) -> MarkovRandomField:
        for number in range(1, ROUNDS + 1):
            self._score(model)
            self._tell("scores", number)
            # Twice as many as in the round before: early scores know little of what explains what.
            most = math.ceil(len(self._candidates) * 2 ** (number - 1) / (2**ROUNDS - 1))
            reserved = self._score_budget() * (ROUNDS + 1 - number)
            chosen = self._select(most, self._max_model_mb * number / ROUNDS, reserved)
            if chosen:
                self._chosen += chosen
                sizes = [self._domain.cells(c) * freedom(self._domain.shape(c)) for c in chosen]
                parts = allocate(self._granted * Fraction(ROUND), sizes)
                found = self._measure(chosen, parts, "round")
                after = self._fit(model, DRAFT)
                self._rounds += rounds_of(found, model, after)
                model = after
                self._tell("round", number)
        return model

    def _survey(self, model: MarkovRandomField) -> MarkovRandomField:
        """Measures all pairs that do not drown, for want of scores, and selects by what was measured."""
        budget = self._granted * Fraction(SURVEY)
        pairs = [c for c in self._candidates if len(c) == 2]
        pairs = [pairs[i] for i in measurable(self._measurer, pairs, budget)]
        for clique, cells in zip(pairs, model.marginals_within_limits(pairs), strict=True):
            if cells is not None:
                self._effects[clique] = Effect(self._domain.shape(clique), cells)
        asked = list(self._effects)
        parts = allocate(budget, [self._domain.cells(c) for c in asked]) if asked else []
        found = {m.clique: m for m in self._measure(asked, parts, "survey")} if asked else {}
        self._tell("survey", 1)
        self._chosen = self._select(len(asked), self._max_model_mb, Fraction(0))
        after = self._fit(model, DRAFT)
        self._rounds += rounds_of([found[clique] for clique in self._chosen], model, after)
        return after

    def _score(self, model: MarkovRandomField) -> None:
        """Scores every candidate that is not measured yet, once all its parts are."""
        known = {*self._chosen}
        wanted = [
            c
            for c in self._candidates
            if c not in known and all(part in known for part in _parts(c) if 1 < len(part) < len(c))
        ]
        scored = score_against(self._measurer, model, wanted, self._score_budget())
        smaller = {part for clique in scored for part in _parts(clique) if 1 < len(part) < len(clique)}
        errors = {part: self._effects[part].expected_error(self._records) for part in smaller}
        for one_way, (values, variances) in self._denoised.items():
            errors[one_way] = EXPECTED_L1 * float(np.sqrt(variances)[values > 0].sum())
        for clique, found in scored.items():
            blur = math.hypot(*(errors.get(part, 0.0) for part in _parts(clique)))
            score = found.reference.astype(float), found.distance, found.sigma, blur
            before = self._effects.get(clique)
            self._effects[clique] = (
                before.scored_again(*score) if before else Effect(self._domain.shape(clique), *score)
            )

    def _select(self, most: int, limit_mb: float, reserved: Fraction) -> list[Clique]:
        """The candidates that promise most, one after the other, as long as the model stays small enough."""
        total = float(self._measurer.accountant.remaining - reserved)
        cliques = [*self._ones, *self._effects]
        self._learn_sizes()
        _, gains = self._outlay(cliques).split(total)
        gain = dict(zip(cliques, gains, strict=True))
        before = {*self._chosen}
        others = [c for c in self._effects if c not in before and gain[c] > 0]
        promising = sorted(others, key=lambda c: -gain[c])
        chosen: list[Clique] = []
        while len(chosen) < most:
            growth = TreeGrowth(self._domain, [*self._ones, *self._chosen, *chosen])
            place = growth.first_within(promising, limit_mb)
            if place is None:
                break
            chosen.append(promising[place])
            # A model that is too large with a candidate is no smaller once others are in it.
            promising = promising[place + 1 :]
        return chosen

    def _measure_again(self, model: MarkovRandomField) -> ReleasedModel:
        """What is left, but for the last scores, goes where it improves the workload most.

        Pairs that the model has no room for are measured too, where that is worth it.
        """
        scores = self._score_budget() if self._measurer.scores_exactly else Fraction(0)
        left = self._measurer.accountant.remaining - scores
        budget = float(left) * (1 - 1e-9)
        self._learn_sizes()
        cliques = [*self._ones, *self._chosen, *self._others()]
        parts, _ = self._outlay(cliques).split(budget)
        paid = {
            clique: Fraction(float(part))
            for clique, part in zip(cliques, parts, strict=True)
            if part > _LEAST_PART * float(left)
        }
        if paid:
            self._measure(list(paid), list(paid.values()), "last round")
        return self._supplemented(self._fit(model, FINAL))

    def _others(self) -> list[Clique]:
        """The pairs that are not in the model, and that rows can be brought to."""
        inside = {*self._chosen}
        return [
            clique
            for clique in self._effects
            if clique not in inside and len(clique) == 2 and self._domain.cells(clique) <= MAX_CELLS
        ]

    def _supplemented(self, model: MarkovRandomField) -> ReleasedModel:
        """The model, and what was measured of pairs that are not in it."""
        measured = [clique for clique in self._others() if self._effects[clique].observed is not None]
        one_way = zip(self._ones, model.marginals(self._ones), strict=True)
        margins = {clique: np.maximum(marginal, _LEAST_CELL) for clique, marginal in one_way}
        pairs = {}
        for clique, cells in zip(measured, model.marginals_within_limits(measured), strict=True):
            if cells is not None:
                effect = replace(self._effects[clique], reference=np.maximum(cells, _LEAST_CELL))
                values, _ = effect.estimate(self._records)
                ones = [((axis,), margins[(name,)]) for axis, name in enumerate(clique)]
                found = raked(np.maximum(values, _LEAST_CELL), effect.shape, ones)
                # The least cells of many margins make more records than there are.
                pairs[clique] = found * (model.total / found.sum())
        larger = self._larger(pairs)
        return SupplementedModel(model, pairs, larger) if pairs or larger else model

    def _larger(self, pairs: Collection[Clique]) -> tuple[Clique, ...]:
        """The workload's marginals of three and more attributes that rows are brought to, small first."""
        sizes = {clique: self._domain.cells(clique) for clique in self._workload.cliques if len(clique) > 2}
        wanted = [
            clique
            for clique in sorted(sizes, key=sizes.__getitem__)
            if sizes[clique] <= MAX_CELLS
            and not any(pair in pairs for pair in itertools.combinations(clique, 2))
        ]
        held = itertools.accumulate(len(clique) * sizes[clique] for clique in wanted[:_LARGER])
        return tuple(itertools.compress(wanted, (cells <= MAX_LARGER_CELLS for cells in held)))

    def _measure(self, cliques: Sequence[Clique], parts: Sequence[Fraction], step: str) -> list[Measurement]:
        """Measures interactions and averages them with what was measured before."""
        queries = [
            Query(clique, rho, step, interaction=alone(self._domain.shape(clique)))
            for clique, rho in zip(cliques, parts, strict=True)
        ]
        found = self._measurer.measure(queries)
        for measurement in found:
            clique, shape = measurement.clique, self._domain.shape(measurement.clique)
            values = interaction(measurement.values, shape)
            variance = measurement.sigma**2 * freedom(shape)
            if len(clique) == 1:
                known = _averaged(self._ones.get(clique), values, variance)
                noisy = known.values + self._records / known.values.size
                self._ones[clique] = known
                self._denoised[clique] = denoised(noisy, known.variance, self._records)
            else:
                effect = self._effects[clique]
                observed = _averaged(effect.observed, values, variance)
                self._effects[clique] = replace(effect, observed=observed)
        self._used += found
        return found

    def _outlay(self, cliques: Sequence[Clique]) -> Outlay:
        """What is known of these interactions, for the workload."""
        deviations, cells = np.zeros((len(cliques), CLASSES)), np.zeros((len(cliques), CLASSES))
        known, price = np.zeros(len(cliques)), np.zeros(len(cliques))
        probe = self._measurer.accountant.remaining / len(cliques)
        for i, clique in enumerate(cliques):
            shape = self._domain.shape(clique)
            observed = self._ones.get(clique) or self._effects[clique].observed
            if len(clique) == 1:
                deviations[i, 0], cells[i, 0] = self._records, shape[0]
            else:
                deviations[i], cells[i] = classes_of(self._effects[clique].deviations(self._records))
            known[i] = 1 / observed.variance if observed else 0.0
            sigma = self._measurer.expected_sigma(clique, probe, interaction=alone(shape))
            left = _LEFT if len(clique) > 1 else 1.0
            price[i] = left * sigma**2 * freedom(shape) * float(probe)
        place = {clique: i for i, clique in enumerate(cliques)}
        marginals = interactions_of(
            [[place[part] for part in _parts(clique) if part in place] for clique in self._workload.cliques]
        )
        return Outlay(deviations, cells, known, price, marginals, np.array(self._workload.weights))

    def _fit(self, warm_start: MarkovRandomField | None, tolerance: float) -> MarkovRandomField:
        """Fits a model to the marginals as they are now believed to be."""
        self._learn_axes()
        self._learn_sizes()
        believed: dict[Clique, NDArray[np.float64]] = {}
        targets = []
        for clique, (values, variances) in self._denoised.items():
            sigmas = np.sqrt(np.maximum(variances, LEAST_VARIANCE * self._ones[clique].variance))
            believed[clique] = np.maximum(values, _LEAST_CELL)
            targets.append(_target(clique, values, sigmas))
        for clique in sorted(self._chosen, key=len):
            effect = self._effects[clique]
            margins = [
                (axes, believed[tuple(clique[axis] for axis in axes)])
                for axes in itertools.combinations(range(len(clique)), len(clique) - 1)
            ]
            effect = replace(effect, reference=raked(effect.reference, effect.shape, margins))
            self._effects[clique] = effect
            values, sigmas = effect.estimate(self._records)
            believed[clique] = np.maximum(values, _LEAST_CELL)
            targets.append(_target(clique, values, sigmas))
        return estimate(
            self._domain, targets, total=self._records, warm_start=warm_start, tolerance=tolerance
        )

    def _averages(self) -> dict[Clique, WeightedAverage]:
        """Unbiased estimates of the workload's marginals all of whose interactions are measured.

        Interactions are orthogonal, so the noise of their sum stretches no direction more than the noisiest
        of them does, spread over the cells: this is the sigma that bounds the L1 norm of the noise.
        """
        averages = {}
        gaussian = all(measurement.gaussian for measurement in self._used)
        known = {**self._ones, **{clique: effect.observed for clique, effect in self._effects.items()}}
        for clique in self._workload.cliques:
            parts = [part for part in _parts(clique) if min(self._domain.shape(part)) > 1]
            shape = self._domain.shape(clique)
            values, variance = np.full(shape, self._records / math.prod(shape)), 0.0
            for part in parts:
                observed = known.get(part)
                if observed is None:
                    break
                size = self._domain.cells(part)
                spread = [n if name in part else 1 for name, n in zip(clique, shape, strict=True)]
                share = size / math.prod(shape)
                values = values + observed.values.reshape(spread) * share
                noise = observed.variance / freedom(self._domain.shape(part))
                variance = max(variance, noise * share)
            else:
                if variance > 0:
                    averages[clique] = WeightedAverage(values.ravel(), math.sqrt(variance), gaussian)
        return averages

    def _learn_sizes(self) -> None:
        """What interactions of one size have in common: those in the model, and those that are left out."""
        inside = {*self._chosen}
        pools: dict[tuple[bool, int], list[Clique]] = {}
        # In order: sums of floats in the order of a set would differ from process to process.
        for clique in [*self._chosen, *(clique for clique in self._effects if clique not in inside)]:
            pools.setdefault((clique in inside, len(clique)), []).append(clique)
        for pool in pools.values():
            typical = typical_size([self._effects[clique] for clique in pool], self._records)
            for clique in pool:
                self._effects[clique] = replace(self._effects[clique], typical=typical)

    def _learn_axes(self) -> None:
        """How cells vary together along each attribute, from all that is measured."""
        measured = {
            clique: effect
            for clique, effect in self._effects.items()
            if effect.observed is not None and has_shape(effect)
        }
        axes = learned_axes(measured, self._records)
        for clique, effect in measured.items():
            self._effects[clique] = replace(effect, axes=tuple(axes[name] for name in clique))

    def _score_budget(self) -> Fraction:
        return self._granted * Fraction(SCORES) / (ROUNDS + 1)

    def _tell(self, step: str, number: int) -> None:
        accountant = self._measurer.accountant
        self._report(Progress(step, (), number, accountant.spent_share))


def _parts(clique: Clique) -> Iterator[Clique]:
    """The clique and every part of it, the small ones first."""
    return itertools.chain.from_iterable(
        itertools.combinations(clique, size) for size in range(1, len(clique) + 1)
    )


def _averaged(before: Observed | None, values: NDArray[np.float64], variance: float) -> Observed:
    return Observed(values, variance) if before is None else before.with_values(values, variance)


def _target(clique: Clique, values: NDArray[np.float64], sigmas: NDArray[np.float64]) -> Measurement:
    """A marginal as it is believed to be, for the fit."""
    return Measurement(clique, values, math.sqrt(float(np.mean(sigmas**2))), 0.0, sigmas=sigmas)
