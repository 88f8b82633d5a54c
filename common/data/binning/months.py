"""Days of months, and dates that lie whole months apart; dates are whole days since 1970 began."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...later import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Days = NDArray[np.int64]

CYCLE = 146_097
"""Days after which months, leap years and weeks are the same again: 400 years."""

DAYS_OF_MONTH = 30.436875
"""Days of a month on average."""

LAST = 0
"""Stands for the last day of a month, whatever its number."""


def days_of_months(days: Days) -> tuple[Days, Days]:
    """The number of each day in its month, and that of the last day of this month; each of shape (N,)."""
    dates = days.astype("datetime64[D]")
    months = dates.astype("datetime64[M]")
    begun = months.astype("datetime64[D]")
    lengths = (months + 1).astype("datetime64[D]") - begun
    return (dates - begun).astype(np.int64) + 1, lengths.astype(np.int64)


def months_later(days: Days, months: Days, wanted: Days) -> Days:
    """The days so many months later that have a number in their month, or its last one if it has fewer.

    Args:
        days: shape (N,).
        months: how many later, shape (N,).
        wanted: the number of the day, shape (N,).
    """
    later = days.astype("datetime64[D]").astype("datetime64[M]") + months
    begun = later.astype("datetime64[D]").astype(np.int64)
    length = (later + 1).astype("datetime64[D]").astype(np.int64) - begun
    found: Days = begun + np.minimum(wanted, length) - 1
    return found


def whole_months(days: Days, later: Days) -> Days:
    """How many months later others are, where it is a whole number of them, else 0; shape (N,).

    The last day of a month is a whole number of months from the last day of another one.
    """
    number, length = days_of_months(days)
    number_later, length_later = days_of_months(later)
    months = later.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64)
    months -= days.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64)
    both_last = (number == length) & (number_later == length_later)
    whole = both_last | (number_later == np.minimum(number, length_later))
    found: Days = np.where(whole, months, 0)
    return found
