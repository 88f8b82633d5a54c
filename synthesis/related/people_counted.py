"""The number of people of related tables: counted before all else, from the budget of all tables."""

from __future__ import annotations

from ..learning.asking import Rows

FIRST_COUNT, MOST_COUNTING = 0.005, 0.1
"""Shares of the whole budget for a first count, and for both together at most."""

_DEVIATION = 0.01
"""The standard deviation of the noise of both together that is wanted, as a share of the people."""


def second_rho(first: Rows, whole: float) -> float:
    """What a second count of people may cost, zCDP; zero if the first one says enough.

    Few people have more of the budget: their number is a factor of every number in all tables.

    Args:
        first: the first count.
        whole: budget of all tables, zCDP.
    """
    # Of the numbers that the first count may stand for, a small one.
    few = max(first.records - first.deviation, 1.0)
    lacking = (_DEVIATION * few) ** -2 - 1 / first.variance
    return min(max(lacking / 2, 0.0), (MOST_COUNTING - FIRST_COUNT) * whole)
