"""Variances and standard deviations: means of squared distances from an estimated mean."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .axes import Axis, Truth
from .estimates import NO_ROWS, Estimate, Grouped, ratios

_FOURTH_MOMENT = 9 / 5
"""Fourth moment of values that are spread evenly, by their squared variance."""


def variances(grouped: Grouped, axis: Axis, of: Truth) -> list[Estimate]:
    """The variance of a column in each group, with divisor n - 1.

    With a constant c, the variance is the mean of (x - c)^2 minus the square of how far c is from the mean.
    The estimated mean of the group is c; its interval bounds that square, by which the lower end is smaller.

    Args:
        grouped: groups.
        axis: the column.
        of: rows that have a part, shape (m,); the column is not missing there.
    """
    joint, pieces = grouped.joint, grouped.joint.pieces[axis.name]
    numbers, inside = (np.where(of, values[pieces], 0.0) for values in (axis.numbers, axis.variances))
    counted = of.astype(np.float64)
    means = ratios(grouped, numbers, inside, counted)
    centre = np.nan_to_num(np.array([each.value for each in means]))[grouped.groups[joint.cells]]
    distance = np.where(of, numbers - centre, 0.0)
    squares = distance**2 + inside
    spread = 4 * distance**2 * inside + (_FOURTH_MOMENT - 1) * inside**2
    found = []
    for each, mean, rows in zip(
        ratios(grouped, squares, spread, counted), means, grouped.sums(counted), strict=True
    ):
        if rows <= 1:
            found.append(Estimate(float("nan"), note=NO_ROWS))
            continue
        away, scale = max(mean.high - mean.value, mean.value - mean.low) ** 2, rows / (rows - 1)
        low, high = max(0.0, each.low - away) * scale, each.high * scale
        if np.isnan(each.low) or np.isnan(away):
            low = high = float("nan")
        found.append(Estimate(max(0.0, each.value) * scale, low, high, each.note or mean.note))
    return found


def deviations(found: list[Estimate]) -> list[Estimate]:
    """Standard deviations of variances."""
    return [
        replace(each, value=np.sqrt(each.value), low=np.sqrt(each.low), high=np.sqrt(each.high))
        for each in found
    ]
