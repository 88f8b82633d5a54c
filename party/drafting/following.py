"""Drafts dates that come after those of another column, as gaps to them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice, permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...common.data.attributes.attribute import Attribute
from ...common.data.attributes.dates import GAP_KEYS, DateAttribute
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

_MOST_DATE_COLUMNS = 30
"""Gaps are looked for among so many columns of dates, the first ones."""

_MIDDLE = (0.1, 0.9)
"""Between these quantiles is the spread of dates and gaps."""

Numbers = NDArray[np.int64]


def following_dates(
    entries: Mapping[str, Any], attributes: Mapping[str, Attribute], cells: Mapping[str, NDArray[Any]]
) -> dict[str, dict[str, Any]]:
    """Entries of dates that are never before those of another column, and mostly near to them.

    Args:
        entries: as drafted, by name.
        attributes: of these entries.
        cells: raw values of a sample of the rows, shape (N,) for each attribute.

    Returns:
        The new entry of each such column: its gap to the column to which it is nearest.
    """
    # A date of many rows, such as 9999-12-31, stands for something else.
    dates = (
        a for a in attributes.values() if isinstance(a, DateAttribute) and not (a.units.atoms or a.texts)
    )
    chosen = {
        one.name: one for one in islice(dates, _MOST_DATE_COLUMNS) if one.moments.to_json()["type"] != "clock"
    }
    times = {
        name: one.moments.read(name, blank_texts(cells[name], one.missing))[0] for name, one in chosen.items()
    }
    found = sorted(_candidates(chosen, times), key=lambda one: one[0])
    after: dict[str, str] = {}
    drafted = {}
    for _, name, other in found:
        if name not in after and name not in _before(other, after):
            after[name] = other
            drafted[name] = _entry(chosen[name], entries[name], chosen[other], times)
    return drafted


def _candidates(
    dates: Mapping[str, DateAttribute], times: Mapping[str, Times]
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
        spread = float(np.ptp(np.quantile(gaps, _MIDDLE)))
        if (
            (gaps >= 0).mean() >= _SHARE_FOLLOWING
            and 0 < np.ptp(units)
            and spread <= _NARROW_GAPS * _spread(units)
        ):
            yield spread, name, other


def _spread(units: Numbers) -> float:
    return float(np.ptp(np.quantile(units, _MIDDLE)))


def _before(name: str, after: Mapping[str, str]) -> set[str]:
    """A column, and all that it comes after."""
    found = {name}
    while name in after:
        name = after[name]
        found.add(name)
    return found


def _entry(
    attribute: DateAttribute, entry: Mapping[str, Any], other: DateAttribute, times: Mapping[str, Times]
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
