"""Parts of dates, such as their months, counted as SQL does."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from ....common.data.attributes.attribute import Attribute
from ....common.data.attributes.clock import Clock
from ....common.data.attributes.date_parts import Part
from ....common.data.attributes.dates import DateAttribute
from ....common.data.attributes.granularity import Granularity
from ....common.data.attributes.moments import Times
from ....common.errors import DataError

MOST_STARTS = 2**16
"""Months, days or hours that a column may have for a query that asks them."""

_FIRST: Mapping[Part, int] = {Part.YEAR: 1970, Part.HOUR: 0}
"""The first number of a part, if it is not 1."""

_STEPS: Mapping[Part, tuple[str, Granularity]] = {
    Part.YEAR: ("Y", Granularity.YEAR),
    Part.QUARTER: ("M", Granularity.QUARTER),
    Part.MONTH: ("M", Granularity.MONTH),
    Part.DAY: ("D", Granularity.DAY),
    Part.WEEKDAY: ("D", Granularity.DAY),
    Part.HOUR: ("h", Granularity.TWELVE_HOURS),
}
"""NumPy's unit in which a part changes, and the coarsest granularity of dates that have the part."""


def number_of(part: Part, times: Times) -> NDArray[np.int64]:
    """The part of each time as SQL counts it: months from 1, days of the week from Monday, 1."""
    return part.of(times) + _FIRST.get(part, 1)


def starts_of(attribute: Attribute, part: Part) -> NDArray[np.int64]:
    """The units of a column at which a part may change; none of a column without dates.

    Raises:
        DataError: the dates do not have this part, or there are too many.
    """
    if not isinstance(attribute, DateAttribute):
        return np.zeros(0, dtype=np.int64)
    moments, ranks = attribute.moments, list(Granularity)
    unit, coarsest = _STEPS[part]
    granularity = moments.granularity
    weeks = granularity is Granularity.WEEK
    if (
        weeks
        or ranks.index(granularity) > ranks.index(coarsest)
        or (isinstance(moments, Clock) and unit != "h")
    ):
        held = "times of day" if isinstance(moments, Clock) else granularity.plural
        raise DataError(
            f"the column {attribute.name!r} holds {held}, which have no {part.value} of their own; ask "
            f"COUNT({attribute.name}) or compare it with dates"
        )
    ends = [attribute.units.minimum or 0, attribute.units.maximum or 0]
    first, last = moments.at(np.array(ends, dtype=np.int64)).astype(f"datetime64[{unit}]")
    if (last - first).astype(np.int64) > MOST_STARTS:
        raise DataError(
            f"the column {attribute.name!r} spans too many {part.value}s to tell them apart; ask for a "
            "coarser part, or compare it with dates"
        )
    begun = np.arange(first + 1, last + 1).astype(moments.at(np.zeros(1, dtype=np.int64)).dtype)
    return moments.unit_numbers(begun)
