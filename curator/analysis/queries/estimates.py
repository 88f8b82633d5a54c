"""Estimates of sums and of ratios of sums, for each group, with their intervals."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...results.evidence import Evidence
from ..intervals import INFERRED, MEASURED, NOTHING_KNOWN, fieller, wald, within
from ..totals import Sums, Totals
from .axes import Axis
from .joint import Joint

Array = NDArray[np.float64]

NO_ROWS = "the release has no such rows"

NO_EVIDENCE = "no interval: the release has no file of its measurements, evidence.npz"

TOO_MANY = "no interval: too many groups of too many combinations; ask for fewer columns or groups"

TOO_FEW = "no interval: there are too few such rows against the noise"

_COMBINED_VALUES = 2**23
"""Values of functions at combinations that are computed at once."""

_MOST_AT_ONCE = 512

_INTERVAL_WORK = 2**25
"""Functions times combinations for which intervals are computed, at most: about a minute."""
"""Functions whose covariances are computed at once."""


@dataclass(frozen=True)
class Estimate:
    """An estimate of one number or date.

    Attributes:
        value: the estimate; NaN if there is none.
        low: lower end of the interval; NaN if there is none.
        high: upper end.
        note: why there is no estimate or no interval; empty otherwise.
    """

    value: Any
    low: Any = float("nan")
    high: Any = float("nan")
    note: str = ""

    def clip(self, least: float, most: float) -> Estimate:
        """The estimate and its interval within what is possible; without an interval that says nothing."""
        low, high, nothing = within(np.array([self.low]), np.array([self.high]), least, most)
        value = float(np.clip(self.value, least, most))
        return Estimate(value, float(low[0]), float(high[0]), NOTHING_KNOWN if nothing[0] else self.note)

    def as_values_of(self, axis: Axis) -> Estimate:
        """The same of a column's numbers, as values of the column."""
        value, low, high = (
            number if np.isnan(number) else axis.value_at(number)
            for number in (self.value, self.low, self.high)
        )
        return Estimate(value, low, high, self.note)


@dataclass(frozen=True, eq=False)
class Grouped:
    """What estimates are computed from.

    Attributes:
        evidence: measurements; None if the release has none.
        joint: the joint distribution of the columns.
        groups: group of each combination of codes, shape (n,); -1 for none.
        size: the number of groups.
        level: of intervals.
        population: whether intervals are for the population of which the table is a sample.
    """

    evidence: Evidence | None
    joint: Joint
    groups: NDArray[np.int64]
    size: int
    level: float
    population: bool

    def obstacle(self, functions: int) -> str:
        """Why no intervals can be computed from so many functions of each group; empty if they can."""
        if self.evidence is None:
            return NO_EVIDENCE
        return TOO_MANY if self.size * functions * len(self.groups) > _INTERVAL_WORK else ""

    def sums(self, values: Array) -> Array:
        """The sum over each group of a function of pieces times records; shape (m,) to (groups,)."""
        return self._by_group(self.groups[self.joint.cells], values * self.joint.weights)

    def sums_of_means(self, values: Array) -> Array:
        """As `sums`, of a function of combinations of codes; shape (n,) to (groups,)."""
        return self._by_group(self.groups, values * self.joint.support.weights)

    def inside(self, one: Array, other: Array) -> Array:
        """The covariance of two functions of pieces within combinations of codes, summed over each group."""
        found = self.sums(one * other) - self.sums_of_means(self.joint.means(one) * self.joint.means(other))
        # What is left of rounding is no variance.
        scale = np.sqrt(self.sums(one**2) * self.sums(other**2))
        return np.where(np.abs(found) > 1e-12 * scale, found, 0.0)

    def _by_group(self, groups: NDArray[np.int64], values: Array) -> Array:
        kept = groups >= 0
        return np.bincount(groups[kept], values[kept], self.size).astype(np.float64)

    def chunks(self, functions: int) -> Iterator[NDArray[np.int64]]:
        """The groups, so many at once as memory allows with so many functions of each."""
        once = min(_COMBINED_VALUES // max(len(self.groups), 1), _MOST_AT_ONCE) // functions
        for start in range(0, self.size, max(once, 1)):
            yield np.arange(start, min(start + max(once, 1), self.size))

    def estimate_totals(self, values: Array, inside: Array) -> Totals:
        """The totals of functions of codes; `inside` is their covariance within, summed over records."""
        return self._real.totals(values, inside)

    @cached_property
    def _real(self) -> Sums:
        """Sums over the real table; they take longer to prepare than to estimate."""
        if self.evidence is None:
            raise ValueError("without evidence there are no estimates")
        return Sums.of(self.evidence, self.joint.support)


def reach_of(found: Totals) -> Array:
    """The reach of each function, as `Totals.reach`; 1 of one that is constant up to rounding."""
    varied = np.diag(found.sampling)
    constant = varied <= 1e-18 * found.released**2
    lacking: Array = np.where(constant, 0.0, np.diag(found.left) / np.where(constant, 1.0, varied))
    return np.clip(1 - lacking, 0, 1)


def sums(grouped: Grouped, values: Array, variances: Array) -> list[Estimate]:
    """The sum of a function over each group.

    Args:
        grouped: groups.
        values: mean of the function at each combination of pieces, shape (m,).
        variances: its variance there, shape (m,).
    """
    released, any_rows = grouped.sums(values), grouped.sums((values != 0) | (variances > 0)) > 0
    if obstacle := grouped.obstacle(1):
        return [Estimate(value, note=obstacle) for value in released.tolist()]
    inside = grouped.inside(values, values) + grouped.sums(variances)
    means, found = grouped.joint.means(values), []
    for groups in grouped.chunks(1):
        chosen = grouped.groups[:, None] == groups
        total = grouped.estimate_totals(chosen * means[:, None], np.diag(inside[groups]))
        low, high = wald(total.values, np.diag(total.covariance(grouped.population)), grouped.level)
        reach = reach_of(total)
        for place, group in enumerate(groups):
            if not any_rows[group]:
                found.append(Estimate(0.0, note=NO_ROWS))
            else:
                note = INFERRED if reach[place] < MEASURED else ""
                found.append(
                    Estimate(float(total.values[place]), float(low[place]), float(high[place]), note)
                )
    return found


def ratios(
    grouped: Grouped, values: Array, variances: Array, over: Array, *, common: bool = False
) -> list[Estimate]:
    """The ratio of the sums of two functions over each group, such as a mean.

    Args:
        grouped: groups.
        values: mean of the numerator at each combination of pieces, shape (m,).
        variances: its variance there, shape (m,).
        over: the denominator, shape (m,); not 0 where the numerator is not.
        common: whether the denominator is summed over all rows, not over the group.
    """
    joint = grouped.joint
    weight = np.full(grouped.size, over @ joint.weights) if common else grouped.sums(over)
    released = grouped.sums(values) / np.where(weight > 0, weight, np.nan)
    if obstacle := grouped.obstacle(2):
        return [Estimate(value, note=NO_ROWS if np.isnan(value) else obstacle) for value in released.tolist()]
    share = np.nan_to_num(released)
    means, denominators = joint.means(values), joint.means(over)
    below = grouped.inside(over, over)
    if common:
        below = np.full(grouped.size, over**2 @ joint.weights - denominators**2 @ joint.support.weights)
    between = grouped.inside(values, over) - share * below
    above = grouped.inside(values, values) + grouped.sums(variances) - 2 * share * between - share**2 * below
    found = []
    for groups in grouped.chunks(2):
        chosen = grouped.groups[:, None] == groups
        bottom = (
            np.broadcast_to(denominators[:, None], chosen.shape) if common else chosen * denominators[:, None]
        )
        # The numerator beyond the released share of the denominator: its reach is that of the ratio.
        top = chosen * means[:, None] - share[groups] * bottom
        blocks = [[above, between], [between, below]]
        inside = np.block([[np.diag(part[groups]) for part in row] for row in blocks])
        total = grouped.estimate_totals(np.hstack([top, bottom]), inside)
        count = len(groups)
        covariance = total.covariance(grouped.population).reshape(2, count, 2, count)
        covariances = np.stack([covariance[:, place, :, place] for place in range(count)])
        more, bottoms = total.values[:count], total.values[count:]
        reach = reach_of(total)
        low, high = fieller(more, bottoms, covariances, grouped.level)
        for place, group in enumerate(groups):
            if np.isnan(released[group]):
                found.append(Estimate(float("nan"), note=NO_ROWS))
            elif np.isnan(low[place]):
                found.append(Estimate(float(released[group]), note=TOO_FEW))
            else:
                middle = released[group] + more[place] / bottoms[place]
                low_end, high_end = released[group] + low[place], released[group] + high[place]
                note = INFERRED if reach[place] < MEASURED else ""
                found.append(Estimate(float(middle), float(low_end), float(high_end), note))
    return found
