"""How many different values a column has in each group."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ....common.errors import DataError
from ..intervals import wald
from .axes import Axis, NumberAxis, Truth
from .estimates import Estimate, Grouped
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
            f"the column {axis.name!r} is counted in bins, and which values occur inside of them is not "
            "known; ask COUNT(DISTINCT x) of a column of categories"
        )
    codes = np.unique(axis.codes[~axis.missing])
    return [_distinct(grouped, axis, of, codes, group, rows) for group in range(grouped.size)]


def _distinct(
    grouped: Grouped, axis: Axis, of: Truth, codes: NDArray[np.int64], group: int, rows: Change
) -> Estimate:
    joint = grouped.joint
    here = of & (grouped.groups[joint.cells] == group)
    held = np.bincount(axis.codes[joint.pieces[axis.name]][here], joint.weights[here], codes.max() + 1)[codes]
    value = float((held >= LEAST_OF_A_VALUE).sum())
    hidden = unseen_of(grouped, axis.name) is not None or rows.less[group] + rows.more[group] > 0
    if note := grouped.obstacle(len(codes)) or (NOT_LISTED if hidden else ""):
        return Estimate(value, note=note)
    each = (here[:, None] & (axis.codes[joint.pieces[axis.name]][:, None] == codes)).astype(np.float64)
    means = joint.means(each)
    inside = each.T @ joint.weights - (means**2).T @ joint.support.weights
    total = grouped.estimate_totals(means, np.diag(np.maximum(inside, 0.0)))
    level = 1 - (1 - grouped.level) / len(codes)
    low, high = wald(total.values, np.diag(total.covariance(grouped.population)), level)
    least, most = float((low > 0).sum()), float((high >= 1).sum())
    # A value that no record of the table has may be one of the population.
    most = float(len(codes)) if grouped.population else max(value, most)
    return Estimate(value, min(value, least), most)
