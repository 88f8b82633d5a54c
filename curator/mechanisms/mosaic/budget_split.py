"""Measurements of interactions, and the budget split over them with the least predicted error of a workload.

The predicted L1 error of an interaction that is measured with noise of variance v in each cell is
sqrt(2 / pi) times the sum over cells of tau / sqrt(1 + tau^2 / v): the size of the interaction where the
noise is large, and the noise where that is small. The error of a marginal is the root of the sum of squares
over its interactions, the error of the workload the weighted sum over its marginals.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ....common.data.domain import Clique
from ....common.data.interactions import freedom
from ....common.data.view import View
from ....common.data.workload import Workload
from ....common.measurement import Measurement
from ...measurers.measurer import Measurer, Query
from ..parts.allocation import EXPECTED_L1, allocate
from ..parts.fitted import Progress, Report
from ..parts.steps import Step, by_name, measurable_as_interaction
from .components import DEVIATION_CLASSES, classes_of
from .knowledge import Knowledge, parts_of
from .settings import SETTINGS

Array = NDArray[np.float64]

_AMOUNTS = np.concatenate([[0.0], np.geomspace(1e-7, 1, 120)])
"""Grid of shares of the budget for one interaction."""


class Splitting:
    """Builds and solves split problems of a run.

    Args:
        measurer: knows the noise and the budget that is left.
        known: knows the interactions.
        workload: marginals to preserve, with weights.
    """

    def __init__(self, measurer: Measurer, known: Knowledge, workload: Workload) -> None:
        self._measurer = measurer
        self._known = known
        self._workload = workload

    def parts_and_gains(self, cliques: Sequence[Clique], total: float) -> tuple[Array, Array]:
        """The split of a budget over these interactions, and the gain of each if it is in the model."""
        return self._problem(cliques).split(total)

    def gains(self, cliques: Sequence[Clique], total: float, more: Sequence[Clique] = ()) -> Array:
        """The gain of each of these interactions, then of `more`, if it is in the model."""
        return self._problem(cliques, more, SETTINGS.weights[0]).split(total)[1]

    def shares_left(self, cliques: Sequence[Clique], parts: Array) -> dict[Clique, float]:
        """The predicted error of each of these interactions if it gets its part, as a share of its size."""
        problem = self._problem(cliques)
        return dict(zip(cliques, (problem.errors(parts) / problem.sizes()).tolist(), strict=True))

    def split(
        self, cliques: Sequence[Clique], total: float, more: Sequence[Clique] = ()
    ) -> tuple[Array, bool]:
        """The split of a budget over interactions of the workload and `more`.

        Args:
            cliques: interactions of the workload.
            total: budget, zCDP; positive.
            more: larger interactions. Each counts as a marginal of its own, as far as this raises the
                workload's predicted error by little (`tolerated`).

        Returns:
            The parts of `cliques`, then of `more`; and whether `more` has a part.
        """
        alone = self._problem(cliques)
        parts, _ = alone.split(total)
        largest = max((self._known.size(clique) for clique in more), default=0.0)
        exceeds = largest / self._measurer.record_count - SETTINGS.dominant
        tolerated = max(SETTINGS.tolerated, SETTINGS.for_dominant * exceeds)
        error = alone.error(parts)
        limit = max((1 + tolerated) * error, error + SETTINGS.of_sampling * self._sampling())
        for weight in SETTINGS.weights if more else ():
            both, _ = self._problem(cliques, more, weight).split(total)
            if alone.error(both[: len(cliques)]) <= limit:
                return both, True
        return np.append(parts, np.zeros(len(more))), False

    def _sampling(self) -> float:
        """Sampling error of the workload, as `error` counts it, if attributes were independent."""
        roots = {name: float(np.sqrt(shares).sum()) for name, shares in self._known.shares().items()}
        pairs = zip(self._workload.cliques, self._workload.weights, strict=True)
        cells = sum(weight * math.prod(roots.get(name, 1.0) for name in clique) for clique, weight in pairs)
        return EXPECTED_L1 * math.sqrt(self._measurer.record_count) * cells

    def _problem(
        self, cliques: Sequence[Clique], more: Sequence[Clique] = (), weight: float = 0.0
    ) -> SplitProblem:
        records = self._measurer.record_count
        every = [*cliques, *more]
        deviations, cells = (
            np.zeros((len(every), DEVIATION_CLASSES)),
            np.zeros((len(every), DEVIATION_CLASSES)),
        )
        precision, price = np.zeros(len(every)), np.zeros(len(every))
        left_out = np.full(len(every), np.nan)
        probe = self._measurer.accountant.remaining / len(every)
        for i, clique in enumerate(every):
            view = self._known.view(clique)
            shape = view.shape(self._known.domain)
            if len(clique) == 1:
                deviations[i], cells[i] = classes_of(self._known.levels(clique))
                precision[i] = self._known.precision(clique)
            else:
                effect = self._known.effects[view]
                deviations[i], cells[i] = effect.deviation_classes(records)
                if effect.earlier is not None:
                    left_out[i] = effect.size(records)
                precision[i] = 0.0 if effect.observed is None else 1 / effect.observed.variance
            sigma = self._measurer.expected_sigma(as_measured(self._measurer, view, probe), probe)
            left = SETTINGS.fitted_noise if len(clique) > 1 else 1.0
            price[i] = left * sigma**2 * freedom(shape) * float(probe)
        place = {clique: i for i, clique in enumerate(every)}
        marginals = [
            [place[part] for part in parts_of(clique) if part in place] for clique in self._workload.cliques
        ]
        marginals += [[place[clique]] for clique in more]
        weights = np.append(self._workload.weights, np.full(len(more), weight))
        return SplitProblem(
            deviations, cells, precision, price, interactions_of(marginals), weights, left_out
        )


@dataclass(frozen=True, eq=False)
class SplitProblem:
    """Interactions that may be measured, and a workload.

    Attributes:
        deviations: tau of the cells of each class, in counts, shape (interactions, classes).
        cells: number of cells of each class, shape (interactions, classes).
        known: inverse variance of a cell as measured so far, 0 if unmeasured; shape (interactions,).
        price: variance of a cell times the cost, in counts^2 rho, shape (interactions,).
        marginals: indices of each marginal's interactions, padded with -1; shape (marginals, any).
        weights: weights of the marginals, shape (marginals,).
        left_out: the L1 error of each interaction if it is left out, shape (interactions,); NaN, or None for
            all, where that is what is unknown of it.
    """

    deviations: Array
    cells: Array
    known: Array
    price: Array
    marginals: NDArray[np.int64]
    weights: Array
    left_out: Array | None = None

    def split(self, total: float) -> tuple[Array, Array]:
        """The budget split that minimises the predicted error of the workload.

        The problem is convex for fixed weights of the interactions. These depend on the errors, so it is
        solved by one Lagrange multiplier for each of a few reweightings.

        Args:
            total: budget to split, zCDP; positive.

        Returns:
            The parts, whose sum is at most the total, and the gain of each interaction if it is in the model:
            the weight of its marginals times the decrease of its predicted error. Both of shape
            (interactions,).
        """
        amounts = _AMOUNTS * total
        # A row for each amount: sums over classes and comparisons run along the interactions.
        errors = np.empty((len(amounts), len(self.price)))
        slopes = np.empty_like(errors)
        deviations, cells = np.ascontiguousarray(self.deviations.T), np.ascontiguousarray(self.cells.T)
        squares = deviations**2
        for amount, error, slope in zip(amounts, errors, slopes, strict=True):
            left = deviations / np.sqrt(1 + (self.known + amount / self.price) * squares)
            in_error = cells * left
            error[:] = EXPECTED_L1 * in_error.sum(axis=0)
            in_error *= left
            in_error *= left
            slope[:] = EXPECTED_L1 / 2 * in_error.sum(axis=0) / self.price
        importance = self._sum_by_interaction(np.ones_like(self.marginals, dtype=float))
        weights = importance
        for _reweighting in range(4):
            chosen = self._solve(slopes * weights, amounts, total)
            now = errors[chosen, np.arange(len(chosen))]
            weights = np.maximum(self._gradient(now), 0.05 * importance)
        parts = amounts[chosen]
        left_out = self.sizes()
        return parts * (total / max(float(parts.sum()), 1e-300)), importance * (left_out - now)

    def errors(self, parts: Array) -> Array:
        """The predicted L1 error of each interaction if it gets its part, both of shape (interactions,)."""
        precision = self.known + parts / self.price
        left = self.deviations / np.sqrt(1 + precision[:, None] * self.deviations**2)
        return np.asarray(EXPECTED_L1 * (self.cells * left).sum(axis=1))

    def sizes(self) -> Array:
        """The L1 error of each interaction if it is left out, shape (interactions,)."""
        unknown = EXPECTED_L1 * (self.cells * self.deviations).sum(axis=1)
        if self.left_out is None:
            return np.asarray(unknown)
        return np.where(np.isnan(self.left_out), unknown, self.left_out)

    def error(self, parts: Array) -> float:
        """The predicted error of the workload if each interaction gets its part, shape (interactions,)."""
        errors = self.errors(parts)
        of_each = np.where(self.marginals >= 0, errors[np.maximum(self.marginals, 0)], 0.0)
        return float(self.weights @ np.sqrt((of_each**2).sum(axis=1)))

    def _solve(self, slopes: Array, amounts: Array, total: float) -> NDArray[np.int64]:
        """Indices of the amounts at which all slopes are equal and the budget is spent.

        Args:
            slopes: shape (amounts, interactions).
            amounts: shape (amounts,), zCDP.
            total: budget, zCDP.
        """
        low, high = -80.0, 80.0
        for _ in range(60):
            middle = (low + high) / 2
            places = self._amounts_above(slopes, np.exp(middle))
            if amounts[places].sum() > total:
                low = middle
            else:
                high = middle
        return self._amounts_above(slopes, np.exp(high))

    def _amounts_above(self, slopes: Array, least: float) -> NDArray[np.int64]:
        """For each interaction, the index of the last amount whose slope is above `least`."""
        above = (slopes > least).sum(axis=0, dtype=np.uint8)  # There are fewer amounts than 256.
        return np.asarray(np.maximum(above, 1).astype(np.int64) - 1)

    def _gradient(self, errors: Array) -> Array:
        """The derivative of the workload's error with respect to each interaction's error."""
        inside = self.marginals >= 0
        of_each = np.where(inside, errors[np.maximum(self.marginals, 0)], 0.0)
        of_all = np.sqrt((of_each**2).sum(axis=1, keepdims=True))
        return self._sum_by_interaction(of_each / np.maximum(of_all, 1e-300))

    def _sum_by_interaction(self, shares: Array) -> Array:
        """For each interaction, the sum over its marginals of weight times share."""
        inside = self.marginals >= 0
        sums = np.zeros(len(self.price))
        np.add.at(sums, self.marginals[inside], (self.weights[:, None] * shares)[inside])
        return sums


def interactions_of(parts: Sequence[Sequence[int]]) -> NDArray[np.int64]:
    """Lists of indices as rows of one array, padded with -1."""
    rows = np.full((len(parts), max(map(len, parts))), -1, dtype=np.int64)
    for row, places in zip(rows, parts, strict=True):
        row[: len(places)] = places
    return rows


def as_measured(measurer: Measurer, view: View, zcdp_rho: Fraction) -> View:
    """A view as its interaction alone, if that can be measured and its sum is not needed.

    Args:
        measurer: measures it.
        view: of cells of codes or groups.
        zcdp_rho: cost of the measurement.
    """
    alone = measurable_as_interaction(view.shape(measurer.domain)) and not measurer.needs_sum(view, zcdp_rho)
    return replace(view, interaction=alone)


class Measuring:
    """Asks for interactions and hands the answers to what is known.

    Args:
        measurer: answers queries and charges them.
        known: knows how interactions are counted, and gets their measurements.
        steps: result of `Mosaic.steps`.
        report: called with the progress after every step.

    Attributes:
        measurer: as given.
        steps: by name.
        used: all measurements, in the order they were taken.
    """

    def __init__(self, measurer: Measurer, known: Knowledge, steps: tuple[Step, ...], report: Report) -> None:
        self.measurer = measurer
        self.steps = by_name(steps)
        self.used: list[Measurement] = []
        self._known = known
        self._report = report

    def budget(self, name: str) -> Fraction:
        """Budget of a step each time, zCDP."""
        return self.steps[name].budget(self.measurer.granted)

    def report_step(self, step: str, number: int) -> None:
        """Reports that a step was taken for this round."""
        self._report(Progress(step, (), number, self.measurer.accountant.spent_share))

    def take(self, name: str) -> list[Measurement]:
        """Runs a step that measures all its interactions at once."""
        step = self.steps[name]
        if not step.cliques:
            return []
        sizes = step.sizes_in(self.measurer.domain)
        return self.measure(step.cliques, allocate(self.budget(name), sizes), step.name)

    def measure(self, cliques: Sequence[Clique], parts: Sequence[Fraction], step: str) -> list[Measurement]:
        """Measures interactions, each for its part of the budget, zCDP."""
        views = [self._known.view(clique) for clique in cliques]
        queries = [
            Query(as_measured(self.measurer, view, rho), rho, step)
            for view, rho in zip(views, parts, strict=True)
        ]
        found = self.measurer.measure(queries)
        self._known.measure(found)
        self.used += found
        return found
