"""What is assumed of the records beyond learned bounds, of which a release states only how many there may be.

Values beyond a bound lie, on average, one standard deviation of the column away from it, as in a tail that
falls exponentially, or as far as the bound is from the outermost twentieth of the records if that is more. A
column on a logarithmic scale has a tail of which no such thing can be said.
"""

from __future__ import annotations

import numpy as np

from ...common.data.attributes.numeric import NumericAttribute
from ...common.data.binning.scale import Scale
from ..certificates.unseen import Unseen

OUTER = 0.05
"""Share of the records that are the outermost at an end."""


def distances(bins: NumericAttribute, deviation: float, low: float, high: float) -> tuple[float, float]:
    """How far values below and above the bounds lie from them.

    Args:
        bins: of the column.
        deviation: standard deviation of its values.
        low: above the outermost of the records at the lower end.
        high: below those at the upper end.
    """
    unit, (least, most) = bins.unit or 0.0, bins.ends
    return max(unit, deviation, low - least), max(unit, deviation, most - high)


def no_interval(bins: NumericAttribute, one: Unseen) -> str:
    """Why sums and means of a column have no interval; empty if they have."""
    records = one.below + one.above
    if bins.scale is Scale.LINEAR or not records:
        return ""
    low, high = bins.written(np.array(bins.ends))
    return (
        f"no interval: up to {records:,.0f} records may lie beyond {low:,.6g} to {high:,.6g}, between which "
        f"the release found {one.name!r}, and count at these bounds; give bounds in a domain"
    )
