"""The units of which dates, timestamps and times of day are whole numbers."""

from __future__ import annotations

import enum
import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from ...later import np

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Granularity(enum.StrEnum):
    """The unit of which dates or timestamps are whole numbers; finer detail of a value is left out."""

    MICROSECOND = "microsecond"
    MILLISECOND = "millisecond"
    SECOND = "second"
    FIVE_SECONDS = "5 seconds"
    TEN_SECONDS = "10 seconds"
    FIFTEEN_SECONDS = "15 seconds"
    THIRTY_SECONDS = "30 seconds"
    MINUTE = "minute"
    FIVE_MINUTES = "5 minutes"
    TEN_MINUTES = "10 minutes"
    FIFTEEN_MINUTES = "15 minutes"
    THIRTY_MINUTES = "30 minutes"
    HOUR = "hour"
    THREE_HOURS = "3 hours"
    SIX_HOURS = "6 hours"
    TWELVE_HOURS = "12 hours"
    DAY = "day"
    WEEK = "week"
    MONTH = "month"
    QUARTER = "quarter"
    YEAR = "year"

    @property
    def plural(self) -> str:
        """What whole numbers of it are called."""
        return f"times {self}" if self[0].isdigit() else f"{self}s"

    @property
    def numbers(self) -> tuple[str, int, int]:
        """NumPy's unit, how many of them make one of these, and how many lie before 1970 in the same one."""
        if self in _UNITS:
            return _UNITS[self]
        number, unit = self.split()
        return _UNITS[Granularity(unit.removesuffix("s"))][0], int(number), 0

    @property
    def seconds(self) -> float:
        """The length of one in seconds; infinite of months and longer ones."""
        unit, step, _ = self.numbers
        return step * _LENGTHS.get(unit, math.inf)

    def begins(self, times: NDArray[np.datetime64]) -> NDArray[np.bool_]:
        """Whether one begins at each time of `datetime64`, which is none longer than a day."""
        unit, step, _ = self.numbers
        found: NDArray[np.bool_] = times == times.astype(f"datetime64[{step}{unit}]")
        return found


_UNITS: Mapping[Granularity, tuple[str, int, int]] = {
    Granularity.MICROSECOND: ("us", 1, 0),
    Granularity.MILLISECOND: ("ms", 1, 0),
    Granularity.SECOND: ("s", 1, 0),
    Granularity.MINUTE: ("m", 1, 0),
    Granularity.HOUR: ("h", 1, 0),
    Granularity.DAY: ("D", 1, 0),
    Granularity.WEEK: ("D", 7, 3),  # 1970-01-01 was a Thursday; weeks begin on Mondays.
    Granularity.MONTH: ("M", 1, 0),
    Granularity.QUARTER: ("M", 3, 0),
    Granularity.YEAR: ("Y", 1, 0),
}

_LENGTHS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0, "D": 86400.0}
"""Seconds of NumPy's units, of which none differ."""

_ALL = tuple(Granularity)

OF_DATES = _ALL[_ALL.index(Granularity.DAY) :]
"""Granularities of dates; timestamps have all."""

OF_TIMES = _ALL[_ALL.index(Granularity.DAY) :: -1]
"""A day and all shorter ones, the longest first."""


def usual_unit(*, timed: bool) -> Granularity:
    """What timestamps, or dates, are counted in where nothing is said."""
    return Granularity.SECOND if timed else Granularity.DAY


def families() -> dict[Granularity, tuple[Granularity, ...]]:
    """A day and each shorter unit with the numbers of it that are units too, the longest first."""
    return {
        unit: tuple(one for one in OF_TIMES if one.numbers[0] == unit.numbers[0])
        for unit in OF_TIMES
        if unit in _UNITS
    }


def longest(fits: Callable[[Granularity], bool]) -> Granularity:
    """The longest of a day and all shorter units that fits; the shortest if none does."""
    return next(filter(fits, OF_TIMES), OF_TIMES[-1])
