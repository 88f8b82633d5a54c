"""Drafts what dates come after: those of another column, as gaps to them, or of the table above."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice, permutations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...common.data.attributes.attribute import Attribute
from ...common.data.attributes.dates import GAP_KEYS, BinnedTimes, DateAttribute, GapAttribute
from ...common.data.attributes.moments import Times
from ...common.data.values import blank_texts
from ...common.forms.notation import PLAIN
from .numbers import draft_number
from .profile import Profile

_FEWEST_WITH_BOTH = 20
"""Fewer rows with both dates tell nothing."""

_SHARE_FOLLOWING = 0.999
"""Share of these rows in which the one is not before the other."""

_BOTH = 0.99
"""Share of the rows with the later date that have the other one."""

_NARROW_GAPS = 0.5
"""Gaps spread at most so much as the dates do: then they say more of a row."""

_NARROWER = 0.8
"""First rows after a date of the row above spread at most so much as they do by themselves."""

_NARROWEST_GAPS = 0.05
"""If they spread no more than this, one date may be before the other or after it."""

_MOST_DATE_COLUMNS = 30
"""Gaps are looked for among so many columns of dates, the first ones."""

_MIDDLE = (0.1, 0.9)
"""Between these quantiles is the spread of dates and gaps."""

Numbers = NDArray[np.int64]


def following_dates(
    entries: Mapping[str, Any], attributes: Mapping[str, Attribute], cells: Mapping[str, NDArray[Any]]
) -> dict[str, dict[str, Any]]:
    """Entries of dates that are never before those of another column and mostly near to them, or very near.

    Args:
        entries: as drafted, by name.
        attributes: of these entries.
        cells: raw values of a sample of the rows, shape (N,) for each attribute.

    Returns:
        The new entry of each such column: its gap to the column to which it is nearest.
    """
    chosen = dates_of(attributes)
    times = {name: _times(one, cells[name]) for name, one in chosen.items()}
    found = sorted(_candidates(chosen, times), key=lambda one: one[0])
    after: dict[str, str] = {}
    drafted = {}
    for _, name, other in found:
        if name not in after and name not in all_before(other, after):
            after[name] = other
            drafted[name] = _entry(chosen[name], entries[name], chosen[other], times)
    return drafted


def dates_of(attributes: Mapping[str, Attribute]) -> dict[str, BinnedTimes]:
    """Those of dates and timestamps, the first ones."""
    # A date of many rows, such as 9999-12-31, stands for something else.
    dates = (
        one
        for one in attributes.values()
        if isinstance(one, GapAttribute) or (isinstance(one, DateAttribute) and not one.units.atoms)
    )
    plain = (one for one in dates if not one.units.texts and one.moments.to_json()["type"] != "clock")
    return {one.name: one for one in islice(plain, _MOST_DATE_COLUMNS)}


class Around(NamedTuple):
    """Columns of the table above by which the dates of its rows lie; each empty if there is none.

    Attributes:
        low: the last one before them.
        high: the first one after them.
        near: one from which first rows are counted, before or after it, if `low` is empty.
    """

    low: str = ""
    high: str = ""
    near: str = ""


NOWHERE = Around()


def columns_around(
    order: BinnedTimes,
    when: NDArray[Any],
    parent: NDArray[Any],
    above: Mapping[str, BinnedTimes],
    others: Mapping[str, NDArray[Any]],
) -> Around:
    """By which columns of the table above dates lie in nearly all rows.

    Of several the nearest. The one before them is in nearly all rows, and mostly near to the first row of its
    own row: one from which these are as far as from each other says little of when they are. One that may
    be after them, too, is very near.

    Args:
        order: the dates.
        when: their raw values in a sample of rows, shape (N,).
        parent: the key of the row above of each, shape (N,).
        above: columns of the table above.
        others: their raw values in the row above of each, shape (N,) for each.
    """
    counted = order.moments.unit_numbers
    times = _times(order, when)
    known = ~np.isnat(times)
    _, place = np.unique([str(one) for one in parent], return_inverse=True)
    in_order = np.lexsort((times, ~known, place))
    first = np.zeros(len(times), dtype=np.bool_)
    first[in_order[np.append(True, np.diff(place[in_order]) > 0)[: len(times)]]] = True
    low: dict[str, float] = {}
    high: dict[str, float] = {}
    near: dict[str, float] = {}
    for name, one in above.items():
        other = _times(one, others[name])
        both = known & ~np.isnat(other)
        # The day on which all rows above were written says nothing of when theirs are.
        if both.sum() < _FEWEST_WITH_BOTH or _spread(counted(other[both])) == 0:
            continue
        units = counted(times[both])
        gaps = units - counted(other[both])
        begins = first[both]
        spread, whole = _spread(gaps[begins]), _spread(units[begins])
        held = both.sum() >= _BOTH * known.sum() and begins.sum() >= _FEWEST_WITH_BOTH
        if held and spread <= _NARROWER * whole and (gaps >= 0).mean() >= _SHARE_FOLLOWING:
            low[name] = float(np.median(gaps))
        elif (gaps <= 0).mean() >= _SHARE_FOLLOWING:
            high[name] = float(np.median(-gaps))
        elif held and spread <= _NARROWEST_GAPS * whole:
            near[name] = spread
    found = [min(one, key=one.__getitem__, default="") for one in (low, high, near)]
    return Around(found[0], found[1], "" if found[0] else found[2])


def _times(attribute: BinnedTimes, cells: NDArray[Any]) -> Times:
    return attribute.moments.read(attribute.name, blank_texts(cells, attribute.missing))[0]


def _candidates(
    dates: Mapping[str, BinnedTimes], times: Mapping[str, Times]
) -> Iterator[tuple[float, str, str]]:
    """Columns that come after others, with how far their gaps spread."""
    for other, name in permutations(dates, 2):
        later = ~np.isnat(times[name])
        both = later & ~np.isnat(times[other])
        if both.sum() < max(_FEWEST_WITH_BOTH, _BOTH * later.sum()):
            continue
        counted = dates[name].moments.unit_numbers
        units = counted(times[name][both])
        gaps = units - counted(times[other][both])
        spread, whole = _spread(gaps), _spread(units)
        follows = (gaps >= 0).mean() >= _SHARE_FOLLOWING and spread <= _NARROW_GAPS * whole
        near = spread <= _NARROWEST_GAPS * whole and np.median(gaps) >= 0
        if np.ptp(units) > 0 and (follows or near):
            yield spread, name, other


def _spread(units: Numbers) -> float:
    return float(np.ptp(np.quantile(units, _MIDDLE)))


def all_before(name: str, after: Mapping[str, str]) -> set[str]:
    """A column, and all that it comes after."""
    found = {name}
    while name in after:
        name = after[name]
        found.add(name)
    return found


def _entry(
    attribute: BinnedTimes, entry: Mapping[str, Any], other: BinnedTimes, times: Mapping[str, Times]
) -> dict[str, Any]:
    later, first = times[attribute.name], times[other.name]
    both = ~np.isnat(later) & ~np.isnat(first)
    gaps = attribute.moments.unit_numbers(later[both]) - attribute.moments.unit_numbers(first[both])
    values, counts = np.unique(gaps, return_counts=True)
    texts = values.astype(str).astype(object)
    profile = Profile(
        attribute.name, "BIGINT", len(later), texts, counts, values.astype(np.float64), PLAIN.pattern
    )
    drafted, _ = draft_number(profile)
    kept = {key: value for key, value in entry.items() if key not in GAP_KEYS}
    gap = {key: drafted[key] for key in GAP_KEYS if key in drafted}
    kind = {"type": kept.pop("type"), "after": {other.name: gap}}
    return kind | kept | {"nullable": attribute.nullable or other.nullable}
