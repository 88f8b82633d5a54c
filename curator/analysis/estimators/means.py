"""Means and proportions, of all rows or of groups, and differences between two groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....common.errors import DataError
from ..conditions import Where
from ..intervals import INFERRED, MEASURED, NOTHING_KNOWN, fieller, within
from ..published import Published
from ..totals import Totals
from . import ratios
from .estimates import Errors, Estimates, Target
from .influence import RealTable
from .places import Places
from .ratios import Ratio
from .selection import Mask, bounds_of, levels_of, numbers_of, rows_at, rows_where, rows_with
from .unseen import reach_of_mean, wider, withheld

Array = NDArray[np.float64]

UNBOUNDED = "no interval: the noise is too large for a group of this size"
CONSTANT = (
    "no interval: all rows of the release agree, which says nothing of rows that it lacks; a query answers it"
)
EMPTY = "no estimate: the corrected number of records of the group is not positive"

MEANS_GROUPS = 200
"""Largest number of groups of one estimate."""


def mean(
    published: Published,
    column: str,
    where: Where | None = None,
    by: str | Sequence[str] | None = None,
    *,
    of: str = Target.POPULATION.value,
    level: float = 0.95,
) -> Estimates:
    """The mean of a column over the rows in which it is not missing.

    Args:
        published: the release.
        column: a column of numbers, or of true and false.
        where: which rows count: column -> a value, a list of values, a closed range (low, high), or None for
            missing; or such conditions as text (see `conditions`). By default all.
        by: one estimate for each combination of values of these columns.
        of: "population" or "table", see `Target`.
        level: share of intervals that are to contain the value.

    Raises:
        DataError: an argument does not fit the release.
    """
    names = _names_of(by)
    places = Places.of(published, (column, *names), where)
    return _means(published, places, column, column, numbers_of(places, column), where, names, of, level)


def proportion(
    published: Published,
    column: str,
    value: Any,
    where: Where | None = None,
    by: str | Sequence[str] | None = None,
    *,
    of: str = Target.POPULATION.value,
    level: float = 0.95,
) -> Estimates:
    """The share of rows with a value, among those in which the column is not missing.

    Args:
        published: the release.
        column: any column.
        value: a value, a list of values, a closed range (low, high), or None for missing values, whose share
            is that among all rows.
        where: see `mean`.
        by: see `mean`.
        of: see `mean`.
        level: see `mean`.

    Raises:
        DataError: an argument does not fit the release.
    """
    names = _names_of(by)
    places = Places.of(published, (column, *names), where)
    values, name = _indicator(places, column, value)
    return _means(published, places, name, column, values, where, names, of, level)


def difference(
    published: Published,
    column: str,
    between: tuple[str, Any, Any],
    value: Any = ...,
    where: Where | None = None,
    *,
    of: str = Target.POPULATION.value,
    level: float = 0.95,
) -> Estimates:
    """The difference of the means, or of the shares of a value, of two groups.

    Args:
        published: the release.
        column: a column of numbers, or any if a value is given.
        between: a column, and the values of the two groups: the first group's mean less the second's.
        value: see `proportion`; by default means are compared.
        where: see `mean`.
        of: see `mean`.
        level: see `mean`.

    Raises:
        DataError: an argument does not fit the release.
    """
    target = Target.parse(of)
    if len(between) != 3:
        raise DataError(f"between: expected a column and two values, got {len(between)}; give all three")
    group, first, second = between
    places = Places.of(published, (column, group), where)
    if value is ...:
        values, name = numbers_of(places, column), column
    else:
        values, name = _indicator(places, column, value)
    selected = rows_where(places, where)
    chosen = selected.rows & ~np.isnan(values)
    groups = [rows_with(places, group, wanted) & chosen for wanted in (first, second)]
    if not all((mask & places.own).any() for mask in groups):
        raise DataError(
            f"between: expected two groups of column {group!r} that occur in the release, got one without "
            "rows; choose other groups"
        )
    columns = (column, group, *selected.columns)
    found = _Groups.of(places, columns, values, groups)
    one, other = found.ratios(target, level)
    # Of each ratio, the influence of a record on it: its error is linear in that of the sums.
    step = found.steps([one.value, other.value])
    across = step.T @ found.totals.covariance(target is Target.POPULATION) @ step
    correlation = across[0, 1] / np.sqrt(across[0, 0] * across[1, 1]) if across.diagonal().all() else 0.0
    made = ratios.difference(one, other, float(correlation))
    apart = step @ np.array([1.0, -1.0])
    reach = found.totals.reach_of(np.nan_to_num(apart)[None])
    note = found.note(made, bool(found.varies.all()))
    before = found.released[0] - found.released[1]
    less = more = 0.0
    if value is ...:
        note = note or withheld(published, (column,))
    for mask, sign in zip(groups, (1, -1), strict=True):
        held, rows = values[mask & places.own], published.rows.record_count
        by = reach_of_mean(published, column, held, rows, (group, *selected.columns), value is not ...)
        less, more = less + by[::sign][0], more + by[::sign][1]
    low, high = (made.low - less, made.high + more) if not note else (np.nan, np.nan)
    estimates = Estimates(
        (f"{name}: {group}={first} - {group}={second}",),
        np.array([before + made.value]),
        np.array([before + low]),
        np.array([before + high]),
        np.array([before]),
        Errors.of(found.totals, apart[None]),
        reach,
        (note,),
        target,
        level,
    )
    least, most = bounds_of(published.domain, column) if value is ... else (0.0, 1.0)
    return _possible(estimates, least - most, most - least)


def _possible(found: Estimates, least: float, most: float) -> Estimates:
    """Estimates and intervals within what is possible; without intervals that say nothing."""
    low, high, nothing = within(found.low, found.high, least, most)
    notes = tuple(
        NOTHING_KNOWN if none else note or (INFERRED if np.isfinite(end) and reach < MEASURED else "")
        for none, note, end, reach in zip(nothing, found.notes, low, found.reach, strict=True)
    )
    estimate = np.clip(found.estimate, least, most)
    return replace(found, estimate=estimate, low=low, high=high, notes=notes)


class _Groups:
    """Means of groups as ratios of sums over the real table, relative to those of the release.

    Attributes:
        released: the group's means in the release, shape (g,).
        varies: whether values of a group differ in the release, shape (g,).
        totals: sums over each group of values less its mean in the release; then numbers of records.
    """

    def __init__(self, released: Array, varies: Mask, totals: Totals) -> None:
        self.released, self.varies, self.totals = released, varies, totals

    @classmethod
    def of(cls, places: Places, columns: Sequence[str], values: Array, groups: Sequence[Mask]) -> _Groups:
        filled = np.nan_to_num(values)
        held = [filled[mask & places.own] for mask in groups]
        released = np.array([each.mean() for each in held])
        tops = [np.where(mask, filled - mean, 0.0) for mask, mean in zip(groups, released, strict=True)]
        functions = np.column_stack([*tops, *(mask.astype(np.float64) for mask in groups)])
        varies = np.array([bool(np.ptp(each) > 0) for each in held])
        return cls(released, varies, RealTable(places, columns).totals(functions))

    def ratios(self, of: Target, level: float) -> list[Ratio]:
        """The means of the groups less those of the release."""
        g = len(self.released)
        pairs = np.column_stack([np.arange(g), g + np.arange(g)])
        tops, bottoms = self.totals.values[pairs].T
        errors = self.totals.covariance(of is Target.POPULATION)[pairs[:, :, None], pairs[:, None, :]]
        values = np.divide(tops, bottoms, out=np.full(g, np.nan), where=bottoms > 0)
        ends = fieller(tops, bottoms, errors, level)
        return [Ratio(*map(float, each)) for each in zip(values, *ends, strict=True)]

    def steps(self, values: Sequence[float]) -> Array:
        """The derivative of each group's mean by the sums, shape (2 g, g), at given ratios."""
        g = len(self.released)
        step = np.zeros((2 * g, g))
        for i, value in enumerate(values):
            bottom = self.totals.values[g + i]
            step[i, i], step[g + i, i] = 1 / bottom, -value / bottom
        return step

    def note(self, ratio: Ratio, varies: bool) -> str:
        """Why an estimate has no interval; "" if it has one."""
        if not np.isfinite(ratio.value):
            return EMPTY
        if not varies:
            return CONSTANT
        return "" if np.isfinite(ratio.low) and np.isfinite(ratio.high) else UNBOUNDED


def _names_of(by: str | Sequence[str] | None) -> list[str]:
    return [by] if isinstance(by, str) else list(by or ())


def _means(
    published: Published,
    places: Places,
    name: str,
    column: str,
    values: Array,
    where: Where | None,
    names: Sequence[str],
    of: str,
    level: float,
) -> Estimates:
    target = Target.parse(of)
    selected = rows_where(places, where)
    chosen = selected.rows & ~np.isnan(values)
    if not (chosen & places.own).any():
        raise DataError("where: expected a condition that rows of the release satisfy, got none; relax it")
    groups = _groups_by(published, places, names, chosen)
    sums = _Groups.of(places, (column, *names, *selected.columns), values, [*groups.values()])
    made = sums.ratios(target, level)
    steps = sums.steps([ratio.value for ratio in made])
    reach = sums.totals.reach_of(np.nan_to_num(steps.T))
    notes = [sums.note(*each) for each in zip(made, sums.varies, strict=True)]
    ends = np.array(
        [[r.low, r.high] if not note else [np.nan] * 2 for r, note in zip(made, notes, strict=True)]
    )
    estimates = Estimates(
        tuple(groups) if names else (name,),
        np.array([ratio.value for ratio in made]) + sums.released,
        ends[:, 0] + sums.released,
        ends[:, 1] + sums.released,
        sums.released,
        Errors.of(sums.totals, steps.T),
        reach,
        tuple(notes),
        target,
        level,
    )
    shares = name != column
    selecting = (*names, *selected.columns)
    held = [mask[places.own] for mask in groups.values()]
    found = wider(published, estimates, column, values[places.own], held, selecting, shares=shares)
    return _possible(found, *((0.0, 1.0) if shares else bounds_of(published.domain, column)))


def _groups_by(published: Published, places: Places, names: Sequence[str], chosen: Mask) -> dict[str, Mask]:
    """The places of each combination of values that occurs in the release."""
    groups = {"": chosen}
    for name in names:
        levels = {level: rows_at(places, name, level) for level in levels_of(published, name)}
        groups = {
            f"{prefix}, {name}={level}" if prefix else f"{name}={level}": found
            for prefix, mask in groups.items()
            for level, rows in levels.items()
            if ((found := mask & rows) & places.own).any()
        }
        if len(groups) > MEANS_GROUPS:
            raise DataError(
                f"by: expected at most {MEANS_GROUPS} groups, got more; name columns with fewer values"
            )
    if not groups:
        raise DataError("by: expected a column with values in the release's rows, got none; name another")
    return groups


def _indicator(places: Places, column: str, value: Any) -> tuple[Array, str]:
    """Whether each row has a value, NaN where the column is missing; and a name of the share."""
    found = rows_with(places, column, value).astype(np.float64)
    if value is not None:
        found[places.frame[column].isna().to_numpy()] = np.nan
    return found, f"{column}={'missing' if value is None else value}"
