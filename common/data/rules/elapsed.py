"""Columns that are the time from one date to another: ages in years, lengths in days or minutes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from ...errors import DataError
from ...later import np
from ..attributes.attribute import Attribute
from ..attributes.clock import Clock
from ..attributes.dates import GapAttribute, TimeAttribute
from ..attributes.granularity import Granularity
from .plain import extent, nearest_codes, numbers, plain, plain_dates, with_numbers
from .rule import Codes, Computing, Mask, check_columns

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..domain import Clique, Domain

Numbers: TypeAlias = "NDArray[np.float64]"

ELAPSED = ("years", "months", "days", "hours", "minutes")
"""Units of the time between two dates."""

_SECONDS = {"days": 86_400, "hours": 3600, "minutes": 60}
_MONTHS = {"years": 12, "months": 1}


def units_between(unit: str, low: Numbers, high: Numbers) -> Numbers:
    """Whole units from one time to another: years, months, hours, minutes that are over; days of a calendar.

    Args:
        unit: one of `ELAPSED`.
        low: microseconds since 1970, NaN where it is missing, shape (N,).
        high: likewise; after them or before.
    """
    known = ~np.isnan(low) & ~np.isnan(high)
    begun, ended = (_times(one, known) for one in (low, high))
    if unit in _MONTHS:
        first, last = (one.astype("datetime64[M]") for one in (begun, ended))
        earlier = ended - last.astype("datetime64[us]") < begun - first.astype("datetime64[us]")
        passed = (last - first).astype(np.int64) - earlier
        units = passed // _MONTHS[unit]
    elif unit == "days":
        units = (ended.astype("datetime64[D]") - begun.astype("datetime64[D]")).astype(np.int64)
    else:
        units = (ended - begun).astype(np.int64) // (_SECONDS[unit] * 1_000_000)
    return np.where(known, units, np.nan)


@dataclass(frozen=True)
class Elapsed(Computing):
    """A column that is the time from one date to another; rows with a missing value are left out.

    In a domain file: `{"years": "age", "from": "born", "to": "admitted"}`, or months, days, hours or minutes.
    """

    column: str
    unit: str
    begin: str
    end: str

    @property
    def columns(self) -> Clique:
        """The column, then the dates."""
        return (self.column, self.begin, self.end)

    @property
    def result(self) -> str:
        """See `Computing`."""
        return self.column

    def check(self, domain: Domain) -> None:
        """See `Rule.check`."""
        check_columns(domain, self.columns, 3)
        for name in (self.begin, self.end):
            held = domain[name]
            if not isinstance(held, TimeAttribute) or isinstance(held.moments, Clock):
                raise DataError(f"rules: {name!r} holds no dates; name the dates between which time goes by")
        reached = extent(domain[self.column])
        if isinstance(domain[self.column], TimeAttribute) or np.isnan(reached[:, 0]).all():
            raise DataError(
                f"rules: {self.column!r} holds no numbers, as a time between dates is; describe it so"
            )

    def forbids(self, domain: Domain, codes: Mapping[str, Codes]) -> Mask:
        """See `Rule.forbids`."""
        held = extent(domain[self.column])[codes[self.column]]
        low, high = self._reach(domain, codes)
        return np.asarray((held[..., 1] < low) | (held[..., 0] > high))

    def dependent(self, domain: Domain, codes: Mapping[str, Codes]) -> dict[str, Codes]:
        """The column's code, moved to the nearest that the dates can have between them."""
        reach = self._reach(domain, codes)
        return {self.column: nearest_codes(domain[self.column], codes[self.column], *reach)}

    def broken(self, columns: Mapping[str, NDArray[Any]], domain: Domain) -> Mask:
        """See `Rule.broken`; of what comes after another column, gaps alone tell no dates."""
        found = numbers(columns[self.column])
        if self.of_gaps(domain):
            return np.zeros(len(found), dtype=np.bool_)
        begun, ended = (self._clocks(domain[name], columns[name]) for name in (self.begin, self.end))
        return np.asarray(np.abs(found - units_between(self.unit, begun, ended)) > 0.5)

    def to_json(self) -> dict[str, Any]:
        """See `Rule.to_json`."""
        return {self.unit: self.column, "from": self.begin, "to": self.end}

    def compute(self, domain: Domain, values: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
        """See `Computing`."""
        begun, ended = (
            self._clocks(domain[name], plain_dates(domain[name], values[name]))
            for name in (self.begin, self.end)
        )
        attribute = domain[self.column]
        found = units_between(self.unit, begun, ended)
        known = ~np.isnan(found) & ~np.isnan(numbers(plain(attribute, values[self.column])))
        return with_numbers(attribute, values[self.column], known, found)

    def _clocks(self, attribute: Attribute, moments: Numbers) -> Numbers:
        """Microseconds in UTC, as those that the clocks of a column's zone show, by which days change."""
        zoned = isinstance(attribute, TimeAttribute) and attribute.moments.timezone
        if not zoned or self.unit in ("hours", "minutes"):
            return moments
        assert isinstance(attribute, TimeAttribute)
        known = ~np.isnan(moments)
        found = moments.copy()
        times = attribute.moments.local(_times(moments, known)[known])
        found[known] = times.astype("datetime64[us]").astype(np.int64)
        return found

    def of_gaps(self, domain: Domain) -> bool:
        """Whether a date is coded by how far it comes after another one."""
        return any(isinstance(domain[name], GapAttribute) for name in (self.begin, self.end))

    def _reach(self, domain: Domain, codes: Mapping[str, Codes]) -> tuple[Numbers, Numbers]:
        """The least and the largest number of units between the bins of dates; NaN where any may be."""
        shape = np.broadcast_shapes(codes[self.begin].shape, codes[self.end].shape)
        begin, end = domain[self.begin], domain[self.end]
        if isinstance(end, GapAttribute) and end.other == self.begin and self.unit == "days":
            if end.moments.granularity is Granularity.DAY:
                reached = np.broadcast_to(extent(end)[codes[self.end]], (*shape, 2))
                return reached[..., 0], reached[..., 1]
        # Of times with a zone, extents are instants, and years and days are those of its clocks.
        zoned = any(isinstance(one, TimeAttribute) and one.moments.timezone for one in (begin, end))
        if self.of_gaps(domain) or zoned:
            return np.full(shape, np.nan), np.full(shape, np.nan)
        begun, ended = (
            np.broadcast_to(extent(domain[name])[codes[name]], (*shape, 2)) for name in (self.begin, self.end)
        )
        least = units_between(self.unit, begun[..., 1], ended[..., 0])
        return least, units_between(self.unit, begun[..., 0], ended[..., 1])


def _times(moments: Numbers, known: Mask) -> NDArray[np.datetime64]:
    return np.where(known, moments, 0).astype(np.int64).astype("datetime64[us]")
