"""Times to events of people: the real curve, the synthetic one, and the band that the release states."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from ...common.data.attributes.categorical import CategoricalAttribute
from ...common.data.attributes.numeric import NumericAttribute
from ...common.data.values import text_of
from ...common.errors import DataError
from ...common.forms.nearest import hint
from ...curator.people.kin import Kin
from ...curator.people.release import PeopleRelease
from ...curator.people.shape import Family, bounds_of
from ...curator.people.summaries import TimeTo
from .people_sides import Line, Numbers, Side, compared_values
from .survival import Band, Curve, curve, distance

_EVENTS = 10
"""Values of a column, the most frequent ones, of which the time to the first is compared."""

_NOT_SEEN = ("", "0", "false", "no")
"""Of a status: nothing has happened."""


@dataclass(frozen=True)
class Survival:
    """A time to an event.

    Attributes:
        table: whose rows are followed.
        event: what happens, in words.
        events: to how many real and synthetic rows it happened.
        distance: of the curves of Kaplan and Meier (`survival.distance`).
        curves: the real one and the synthetic one.
        band: where the release says that the real one is; None if it has none for it.
    """

    table: str
    event: str
    events: tuple[int, int]
    distance: float
    curves: tuple[Curve, Curve] = field(repr=False)
    band: Band | None = field(default=None, repr=False)

    @property
    def in_band(self) -> bool | None:
        """Whether the real curve is in its band; None without one."""
        return None if self.band is None else self.band.holds(self.curves[0])


def times_to_rows(release: PeopleRelease, sides: tuple[Side, Side]) -> Iterator[Survival]:
    """The times to the first row with a value, from the beginning of the parent on."""
    family = release.family
    for table in family.tables[1:]:
        if table.steps is None:
            continue
        lines = [side.line(table) for side in sides]
        sizes = [len(side.frames[table.parent]) for side in sides]
        ends = [_ends(table, side, line) for side, line in zip(sides, lines, strict=True)]
        for event in _events(family, table, lines[0]):
            curves = []
            for line, size, end in zip(lines, sizes, ends, strict=True):
                first = event.of(line.rows, line.parent, size, line.times).to_numpy()
                seen = first <= end
                curves.append(curve(np.where(seen, first, end), seen))
            yield _between(
                table.parent, f"{table.name}: {event.name}", curves, _band_of_rows(release, table, event)
            )


def _band_of_rows(release: PeopleRelease, table: Kin, event: TimeTo) -> Band | None:
    """The band of a summary of people who are followed up to the end that they have."""
    said = {one for one, _ in release.family.summaries_in_release(table.name)}
    low, high = table.within
    if event not in said or table.parent != release.family.root.name or low or not high:
        return None
    return _bands(release, event.name, until=high).get("all")


def _ends(table: Kin, side: Side, line: Line) -> Numbers:
    """Up to when each parent is followed: to its end, or without one to its last row; NaN if it has none."""
    parents = side.frames[table.parent]
    low, high = bounds_of(table, parents, np.arange(len(parents)))
    if high is None:
        high = np.full(len(parents), np.nan)
        high[line.parent] = line.values
    return high if low is None else high - low


def _events(family: Family, table: Kin, real: Line) -> Iterator[TimeTo]:
    """What is waited for: what a parent says of its rows, and each frequent value of a column."""
    yield from (one for one, _ in family.summaries_in_release(table.name) if isinstance(one, TimeTo))
    for attribute in family.shown_attributes(table.name):
        if isinstance(attribute, CategoricalAttribute):
            cells = compared_values(real.rows, (attribute,), attribute.name)
            counts = pd.Series(cells).value_counts()
            for value in counts.index[:_EVENTS]:
                yield TimeTo(f"{attribute.name} {value}", attribute.name, (str(value),))


def times_of_people(
    release: PeopleRelease, sides: tuple[Side, Side], follow: tuple[str, str, str]
) -> Iterator[Survival]:
    """Times and states that people have themselves.

    Args:
        release: the release.
        sides: the real tables and its own.
        follow: see `evaluate_people`.

    Raises:
        DataError: a column is missing, or holds no times.
    """
    until, state, by = follow
    root = release.family.root.name
    frames = [side.compared(root) for side in sides]
    for name in filter(None, follow):
        if name not in frames[0]:
            known = list(map(str, frames[0].columns))
            raise DataError(f"follow: expected a column of {root!r}, got {name!r}{hint(name, known)}; fix it")
    if not pd.api.types.is_numeric_dtype(frames[0][until]):
        raise DataError(f"follow: expected a column of numbers or dates, got {until!r}; name another")
    bands = _bands(release, until, by, event=(state, _seen_values(release, state)))
    groups = [None] if not by else frames[0][by].value_counts().index[:_EVENTS].tolist()
    for group in groups:
        curves = []
        for rows in frames:
            some = rows if group is None else rows[rows[by] == group]
            seen = ~some[state].map(text_of).str.casefold().isin(_NOT_SEEN).to_numpy()
            curves.append(curve(some[until].to_numpy(np.float64), seen))
        apart = "" if group is None else f", {by} {text_of(group)}"
        band = bands.get("all" if group is None else text_of(group).casefold())
        yield _between(root, f"{state} by {until}{apart}", curves, band)


def _seen_values(release: PeopleRelease, state: str) -> list[Any]:
    """The values of a column of people that say that it happened; none of numbers in bins."""
    root = release.releases.get(release.family.root.name)
    if root is None or state not in root.domain.names or isinstance(root.domain[state], NumericAttribute):
        return []
    attribute = root.domain[state]
    values = attribute.decode(np.arange(attribute.size), np.random.default_rng(0)).tolist()
    return [value for value in values if text_of(value).casefold() not in _NOT_SEEN]


def _bands(release: PeopleRelease, time: str, by: str = "", **ends: Any) -> Mapping[str, Band]:
    """The bands of curves by groups, or that of "all"; none where the release knows too little for one."""
    try:
        found = release.survival(time, by=by or None, of="table", **ends).frame
    except DataError:
        return {}
    known = found[np.isfinite(found["band_low"]) & np.isfinite(found["band_high"])]
    return {
        str(name).removeprefix(f"{by}=").casefold(): Band(
            *(rows[one].to_numpy(np.float64) for one in ("time", "band_low", "band_high"))
        )
        for name, rows in known.groupby("group")
    }


def _between(table: str, event: str, curves: list[Curve], band: Band | None) -> Survival:
    real, synthetic = curves
    return Survival(
        table, event, (real.events, synthetic.events), distance(real, synthetic), (real, synthetic), band
    )
