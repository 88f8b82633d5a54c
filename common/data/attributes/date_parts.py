"""Attributes of dates and timestamps that are coded by parts, such as month and weekday."""

from __future__ import annotations

import enum
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ...errors import DataError
from ...later import np
from ..values import RawColumn
from .attribute import Reading, check_name
from .dates import TimeAttribute, numbers_of_units, read_units
from .granularity import Granularity
from .moments import Moments, Times

if TYPE_CHECKING:
    from numpy.typing import NDArray


_SLOTS_TRIED = 5000
"""Of so many slots, the format is tried."""


class Part(enum.StrEnum):
    """A part of a date or timestamp."""

    YEAR = "year"
    QUARTER = "quarter"
    MONTH = "month"
    DAY = "day"
    WEEKDAY = "weekday"
    HOUR = "hour"

    def of(self, times: Times) -> NDArray[np.int64]:
        """The part of each time."""
        match self:
            case Part.YEAR:
                return _whole(times, "Y")
            case Part.QUARTER:
                return _whole(times, "M") % 12 // 3
            case Part.MONTH:
                return _whole(times, "M") % 12
            case Part.DAY:
                month = times.astype("datetime64[M]")
                return _whole(times, "D") - _whole(month, "D")
            case Part.WEEKDAY:
                return (_whole(times, "D") + 3) % 7
            case Part.HOUR:
                return _whole(times, "h") % 24


@dataclass(frozen=True)
class DatePartsAttribute(TimeAttribute):
    """A column of dates or timestamps whose code says some parts: each combination within the bounds is one.

    Its units are slots: days, or hours if `HOUR` is among the parts. A value is drawn evenly from the slots
    that have the parts; what the parts do not say is lost.

    Attributes:
        parts: codes are in their order, by the first, then the second, and so on.
    """

    parts: tuple[Part, ...]

    def __post_init__(self) -> None:
        check_name(self.name)
        self.moments.check(self.name)
        known = list(Part) if self.moments.timed else [part for part in Part if part is not Part.HOUR]
        if not self.parts or len(set(self.parts)) < len(self.parts) or not set(self.parts) <= set(known):
            raise DataError(
                f"attribute {self.name!r}: parts are some of {', '.join(known)}, each once; fix the domain"
            )
        if self._values_per_slot is None:
            raise DataError(
                f"attribute {self.name!r}: with these parts the granularity is at most one "
                f"{slot_of(self.parts).value}; fix the domain"
            )
        slots = self.units.bins or 1
        samples = self._times_of_slots[np.linspace(0, slots - 1, min(slots, _SLOTS_TRIED)).astype(np.int64)]
        self.moments.check_format(self.name, self.moments.unit_numbers(samples))

    @property
    def size(self) -> int:
        """The number of combinations of parts, plus one for a missing value if nullable."""
        return int(self._combination.max()) + 1 + int(self.nullable)

    def read(self, values: RawColumn) -> Reading:
        """The combination of parts of each date or timestamp; the last code for a missing value."""
        reading = read_units(self.name, values, self.unit_moments, self.units)
        return replace(reading, codes=np.append(self._combination, self.size - 1)[reading.codes])

    def decode(
        self,
        codes: NDArray[np.integer[Any]],
        rng: np.random.Generator,
        counts: NDArray[np.integer[Any]] | None = None,
    ) -> Times:
        """A draw from the days or hours with the parts; datetime64[D] or datetime64[us], NaT if missing."""
        missing = codes == len(self._starts) - 1
        combinations = np.where(missing, 0, codes).astype(np.int64)
        first, beyond = self._starts[combinations], self._starts[combinations + 1]
        slots = np.argsort(self._combination, kind="stable")[rng.integers(first, beyond)]
        times = self._times_of_slots[slots]
        if self.moments.timed:
            units = self.moments.unit_numbers(times)
            times = self.moments.at(units + rng.integers(0, self._values_per_slot, len(units)))
        times[missing] = np.datetime64("NaT")
        return times

    def within(self, values: RawColumn) -> NDArray[np.float64] | None:
        """The days or hours since 1970 within the bounds; NaN for a missing value."""
        return self.units.within(numbers_of_units(self.name, values, self.unit_moments, self.units))

    def to_json(self) -> dict[str, Any]:
        """Bounds, parts and flags; the newer keys only where they are not the default."""
        form = self.units.to_json()
        for key in ("type", "integer", "bins"):
            del form[key]
        for key in ("min", "max"):
            form[key] = self.unit_moments.bound_text(form[key])
        form["parts"] = [part.value for part in self.parts]
        return self.moments.to_json() | form | ({} if self.reviewed else {"reviewed": False})

    @property
    def unit_moments(self) -> Moments:
        """The moments of the slots."""
        return replace(self.moments, granularity=slot_of(self.parts))

    @property
    def _values_per_slot(self) -> int | None:
        """How many values of the granularity a slot has; None if a value is longer than a slot."""
        day = np.zeros(1, dtype=np.int64)
        begins = replace(self.moments, timed=True)
        slots = replace(begins, granularity=slot_of(self.parts))
        between = begins.unit_numbers(slots.at(day + 1)) - begins.unit_numbers(slots.at(day))
        return int(between[0]) or None

    @cached_property
    def _times_of_slots(self) -> Times:
        first = int(self.units.minimum or 0)
        return self.unit_moments.at(first + np.arange(self.units.bins or 1, dtype=np.int64))

    @cached_property
    def _combination(self) -> NDArray[np.int64]:
        """The code of each slot."""
        number = np.zeros(len(self._times_of_slots), dtype=np.int64)
        for part in self.parts:
            values = part.of(self._times_of_slots)
            number = number * (int(np.ptp(values)) + 1) + values - values.min()
        return np.unique(number, return_inverse=True)[1].astype(np.int64)

    @cached_property
    def _starts(self) -> NDArray[np.int64]:
        """For each code, the number of slots with smaller codes; and the number of all slots."""
        return np.concatenate([[0], np.cumsum(np.bincount(self._combination))])


def slot_of(parts: tuple[Part, ...]) -> Granularity:
    """The unit of the slots of these parts: hours, or days if no part is shorter."""
    return Granularity.HOUR if Part.HOUR in parts else Granularity.DAY


def _whole(times: Times, unit: str) -> NDArray[np.int64]:
    """Whole units since 1970."""
    return times.astype(f"datetime64[{unit}]").astype(np.int64)
