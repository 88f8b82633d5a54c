"""How many different values a column has in each group."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ....common.errors import DataError
from .axes import Axis, NumberAxis, Truth
from .estimates import Estimate, Grouped, sums
from .unseen import Change, unseen_of

LEAST_OF_A_VALUE = 0.5
"""A value is counted if the release has so many records of it."""

NOT_LISTED = "no interval: the table may have values that the release does not list"


def distinct(grouped: Grouped, axis: Axis, of: Truth, rows: Change) -> list[Estimate]:
    """The number of different values of a column in each group.

    The interval counts a value at its lower end if the interval of its rows is above zero, and at its upper
    end if that reaches one. These intervals hold together with the level (Bonferroni).

    Args:
        grouped: groups.
        axis: the column.
        of: rows that have a part, shape (m,); the column is not missing there.
        rows: by how much the number of rows of each group may change.

    Raises:
        DataError: the column is known by bins of several values.
    """
    if isinstance(axis, NumberAxis) and (axis.bins.reach[:, 0] < axis.bins.reach[:, 1]).any():
        raise DataError(
            f"the column {axis.name!r} is counted in bins, and which values occur inside of them is not known; "
            "ask COUNT(DISTINCT x) of a column of categories"
        )
    pieces = axis.codes[grouped.joint.pieces[axis.name]]
    codes = np.unique(axis.codes[~axis.missing])
    each = replace(grouped, level=1 - (1 - grouped.level) / len(codes))
    counts = [sums(each, (of & (pieces == code)).astype(np.float64), np.zeros(len(pieces))) for code in codes]
    obstacle = grouped.obstacle(len(codes))
    found = []
    for group in range(grouped.size):
        here = [by_group[group] for by_group in counts]
        value = sum(one.value >= LEAST_OF_A_VALUE for one in here)
        low = min(value, sum(bool(one.low > 0) for one in here))
        high = len(here) if grouped.population else max(value, sum(not one.high < 1 for one in here))
        hidden = unseen_of(grouped, axis.name) is not None or rows.less[group] + rows.more[group] > 0
        if note := obstacle or (NOT_LISTED if hidden else ""):
            found.append(Estimate(float(value), note=note))
        else:
            found.append(Estimate(float(value), float(low), float(high)))
    return found
