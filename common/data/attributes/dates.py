"""Attributes of dates and timestamps: bins over whole units of time, or over the gap to another column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

from ...errors import DataError
from ...later import np
from ..binning.rhythm import Pace
from ..values import RawColumn, blank_texts, without_texts
from .attribute import Attribute, Reading, check_name, check_unread, even_places
from .moments import Moments, Times
from .numeric import NumericAttribute

if TYPE_CHECKING:
    from numpy.typing import NDArray

GAP_KEYS = ("min", "max", "bins", "edges", "scale", "atoms")
"""Keys of the bins of gaps in a domain file."""

_FIRST_SAMPLED, _LAST_SAMPLED = 0, 50
"""Years since 1970 whose first days a format of dates without bounds has to read back."""

_CALENDAR = ("0001-01-01T00:00:00", "9999-12-31T23:59:59")
"""The first and the last time that can be written."""

_DATES_TRIED = 100
"""Number of values on which a format is tried."""


@dataclass(frozen=True)
class TimeAttribute(Attribute):
    """A column of dates or timestamps.

    Attributes:
        name: name of the column.
        units: the bins and atoms, of whole numbers of units since 1970, and the policies.
        moments: what the values are, and how they are written.
        reviewed: see `Attribute`.
    """

    name: str
    units: NumericAttribute
    moments: Moments
    reviewed: bool = field(default=True, kw_only=True)

    @property
    def nullable(self) -> bool:
        """Whether there is a code for a missing value."""
        return self.units.nullable

    @property
    def missing(self) -> tuple[str, ...]:  # type: ignore[override]
        """Texts that stand for a missing value."""
        return self.units.missing

    @property
    def texts(self) -> tuple[str, ...]:  # type: ignore[override]
        """Texts that may stand in place of a time; see `NumericAttribute`."""
        return self.units.texts

    @property
    def unit_moments(self) -> Moments:
        """The moments whose units are those of `units`."""
        return self.moments

    def spelled(self, values: NDArray[Any]) -> NDArray[Any]:
        """Decoded values as text in the format; None if missing."""
        return values if self.texts else self.moments.texts_of(values)

    def with_absent(self) -> Self:
        """The same codes and an empty cell."""
        return replace(self, units=self.units.with_absent())


def with_name(attribute: Attribute, name: str) -> Attribute:
    """The same attribute under another name, which the units of times have too."""
    if isinstance(attribute, TimeAttribute):
        return replace(attribute, name=name, units=replace(attribute.units, name=name))
    return replace(attribute, name=name)  # type: ignore[type-var]


@dataclass(frozen=True)
class BinnedTimes(TimeAttribute):
    """A column of dates or timestamps whose codes are bins and atoms of whole units."""

    @property
    def size(self) -> int:
        """The number of bins and atoms, plus one for a missing value if nullable."""
        return self.units.size

    @property
    def open(self) -> bool:
        """Whether a release has to choose bins before it can measure pairs."""
        return self.units.open

    def merged(self, runs: NDArray[np.int64]) -> Self:
        """This attribute with its bins merged; see `NumericAttribute.merged`."""
        return replace(self, units=self.units.merged(runs))

    def _set_pace(self, pace: Pace | None) -> None:
        """Sets the pace of the units; as they are, they keep what they have computed."""
        if self.units.pace != pace:
            object.__setattr__(self, "units", replace(self.units, pace=pace))


@dataclass(frozen=True)
class DateAttribute(BinnedTimes):
    """A column of dates or timestamps, divided into bins of days, months, seconds or another unit."""

    def __post_init__(self) -> None:
        check_name(self.name)
        self.moments.check(self.name)
        self._set_pace(self.moments.pace)
        first, last = self.units.minimum, self.units.maximum
        if first is None or last is None:
            raise DataError(f"attribute {self.name!r}: expected min and max; fix the domain")
        samples = np.linspace(first, last, _DATES_TRIED).astype(np.int64)
        atoms = np.array(self.units.atoms, dtype=np.int64)
        self.moments.check_format(self.name, np.concatenate([samples, atoms]))
        check_unread(self.name, self.texts, self.foreign(self.texts))

    def foreign(self, texts: Sequence[str]) -> tuple[str, ...]:
        """Those of some texts that are not read as times, or as missing."""
        _, unread = self.moments.read(self.name, np.array(texts, dtype=object))
        return tuple(text for text, no_time in zip(texts, unread, strict=True) if no_time)

    def read(self, values: RawColumn) -> Reading:
        """The bin or atom of each date or timestamp, the code of each text; the last for a missing value."""
        return read_units(self.name, values, self.moments, self.units)

    def decode(
        self,
        codes: NDArray[np.integer[Any]],
        rng: np.random.Generator,
        counts: NDArray[np.integer[Any]] | None = None,
    ) -> NDArray[Any]:
        """A draw from each bin: datetime64[D] of dates, datetime64[us] of timestamps; NaT if missing.

        Where texts are listed, all values are texts; missing is None.
        """
        return self.of_codes(codes, self.units.draw(codes, rng, counts))

    def of_codes(self, codes: NDArray[np.integer[Any]], numbers: NDArray[np.float64]) -> NDArray[Any]:
        """Values as `decode` gives them; see `NumericAttribute.of_codes`."""
        beside = codes >= len(self.units.cells)
        times = self.of_numbers(np.where(beside, 0, numbers), beside)
        if not self.texts:
            return times
        # Clocks may be written as whole numbers.
        return self.units.with_texts(self.moments.texts_of(times).astype(str).astype(object), codes)

    def of_numbers(self, numbers: NDArray[np.float64], missing: NDArray[np.bool_]) -> Times:
        """Numbers of units as `decode` gives them where no texts are listed.

        Args:
            numbers: shape (N,).
            missing: which of them are missing values, shape (N,).
        """
        times = self.moments.at(numbers.astype(np.int64))
        times[missing] = np.datetime64("NaT")
        return times

    def within(self, values: RawColumn) -> NDArray[np.float64] | None:
        """The values in units since 1970, within the bounds or at an atom; NaN for a missing value."""
        return self.units.within(numbers_of_units(self.name, values, self.moments, self.units))

    def to_json(self) -> dict[str, Any]:
        """Bounds, bins and flags; keys only where they are not the default."""
        form = self.units.to_json()
        del form["type"], form["integer"]
        for key in {"min", "max"} & set(form):
            form[key] = self.moments.bound_text(form[key])
        for key in {"edges", "atoms"} & set(form):
            form[key] = list(map(self.moments.bound_text, form[key]))
        return self.moments.to_json() | form | ({} if self.reviewed else {"reviewed": False})


@dataclass(frozen=True)
class GapAttribute(BinnedTimes):
    """A column of dates or timestamps that come after those of another column, counted from them.

    Its units are those from the other column's value to this one's. The raw column that it reads is of
    these gaps, as `between` gives them (`gaps.readable`); `decode` gives gaps, of which `after` makes times.

    Attributes:
        other: name of the other column.
    """

    other: str

    def __post_init__(self) -> None:
        check_name(self.name)
        self.moments.check(self.name)
        self._set_pace(None)
        if self.units.minimum is None:
            raise DataError(f"attribute {self.name!r}: after: expected min and max; fix the domain")
        years = np.arange(_FIRST_SAMPLED, _LAST_SAMPLED).astype("datetime64[Y]").astype("datetime64[us]")
        self.moments.check_format(self.name, self.moments.unit_numbers(years))

    @property
    def difference(self) -> str:
        """What conditions and queries call the gap."""
        return f"{self.name} - {self.other}"

    @property
    def unit_name(self) -> str:
        """What is counted, such as days."""
        return self.moments.granularity.plural

    def between(self, values: RawColumn, other: TimeAttribute, others: RawColumn) -> NDArray[np.float64]:
        """The gaps between raw columns: NaN where either is missing, infinite where a value cannot be read.

        Args:
            values: of this column, shape (N,).
            other: the other column.
            others: its raw values, shape (N,).
        """
        numbers = numbers_of_units(self.name, values, self.moments, self.units)
        times, _ = other.moments.read(other.name, blank_texts(others, other.missing))
        known = ~np.isnat(times) & np.isfinite(numbers)
        numbers[known] -= self.moments.unit_numbers(times[known])
        numbers[np.isnat(times) & np.isfinite(numbers)] = np.nan
        return numbers

    def after(self, gaps: NDArray[np.float64], times: Times) -> Times:
        """The times that come these gaps after others, in their rhythm within bins; NaT if either is missing.

        Args:
            gaps: as `decode` gives them, shape (N,).
            times: values of the other column, shape (N,).
        """
        kind: Any = self.moments.at(np.zeros(1, dtype=np.int64)).dtype
        found = np.full(len(gaps), "NaT", dtype=kind)
        known = ~np.isnan(gaps) & ~np.isnat(times)
        begun, far, pace = self.moments.unit_numbers(times[known]), gaps[known], self.moments.pace
        if pace is not None:
            cells = np.searchsorted(self.units.cells[1:, 0], far, "right")
            least, most = self.units.reach[cells].T
            # Whole numbers alone would reach some of the times of a day and never others.
            inside = even_places(0, len(far)) - 0.5
            far = pace.in_rhythm(begun + far + inside, begun + least, begun + most) - begun
        units = begun + far.astype(np.int64)
        found[known] = np.clip(self.moments.at(units), *(np.array(_CALENDAR).astype(kind)))
        return found

    def read(self, values: RawColumn) -> Reading:
        """The bin or atom of each gap; the last code for a missing value."""
        return _with_reasons(self.units.read(values), _REASONS_OF_GAPS)

    def decode(
        self,
        codes: NDArray[np.integer[Any]],
        rng: np.random.Generator,
        counts: NDArray[np.integer[Any]] | None = None,
    ) -> NDArray[np.float64]:
        """A gap from each bin, in units; NaN if missing."""
        return self.of_codes(codes, self.units.draw(codes, rng, counts))

    def of_codes(self, codes: NDArray[np.integer[Any]], numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        """Gaps as `decode` gives them; see `NumericAttribute.of_codes`."""
        return self.of_numbers(numbers, codes >= len(self.units.cells))

    def of_numbers(self, numbers: NDArray[np.float64], missing: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Gaps as `decode` gives them; see `DateAttribute.of_numbers`."""
        return np.where(missing, np.nan, numbers)

    def within(self, values: RawColumn) -> NDArray[np.float64]:
        """The gaps within the bounds or at an atom; NaN for a missing value."""
        return self.units.within(values)

    def to_json(self) -> dict[str, Any]:
        """The other column with the bins of gaps, and flags; keys only where they are not the default."""
        form = self.units.to_json()
        gap = {key: form.pop(key) for key in GAP_KEYS if key in form}
        del form["type"], form["integer"]
        stated = {"after": {self.other: gap}} | form | ({} if self.reviewed else {"reviewed": False})
        return self.moments.to_json() | stated


def bins_of(attribute: Attribute) -> NumericAttribute | None:
    """The bins and atoms of numbers, of dates as whole units since 1970, or of gaps; None for other kinds."""
    match attribute:
        case NumericAttribute():
            return attribute
        case BinnedTimes():
            return attribute.units
    return None


def read_units(name: str, values: RawColumn, moments: Moments, units: NumericAttribute) -> Reading:
    """The code of each date or timestamp, in an attribute of whole units.

    Args:
        name: of the column.
        values: shape (N,); see `Moments.read`.
        moments: what the values are.
        units: the codes, and the policies.
    """
    numbers, listed = _read_units(name, values, moments, units)
    unread = np.zeros(len(numbers), dtype=np.bool_)
    return _with_reasons(units.reading_of(numbers, unread, listed), _REASONS)


def _with_reasons(reading: Reading, reasons: Mapping[str, tuple[str, str]]) -> Reading:
    """A reading of numbers, with the reasons of dates for what it refuses."""
    refused = {
        key: (reading.refused[of][0], reason)
        for key, (of, reason) in reasons.items()
        if of in reading.refused
    }
    return Reading(reading.codes, reading.counted, refused)


def numbers_of_units(
    name: str, values: RawColumn, moments: Moments, units: NumericAttribute
) -> NDArray[np.float64]:
    """Units since 1970; NaN for a missing value, infinite for one that cannot be read."""
    return _read_units(name, values, moments, units)[0]


def _read_units(
    name: str, values: RawColumn, moments: Moments, units: NumericAttribute
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """As `numbers_of_units`; and the place of each listed text, negative where none stands."""
    others, listed = without_texts(values, units.missing, units.texts)
    times, unreadable = moments.read(name, others)
    numbers = np.full(len(times), np.nan)
    known = ~np.isnat(times)
    numbers[known] = moments.unit_numbers(times[known])
    numbers[unreadable] = np.inf
    return numbers, listed


_REASONS = {
    "unreadable": (
        "infinite",
        "expected a date or timestamp in the format of the domain (ISO 8601 if it names none), found "
        "something else; fix the row, or the format or timezone in the domain",
    ),
    "outside": (
        "outside",
        "expected a date or timestamp within the bounds, found another; fix the row or the domain",
    ),
    "empty": (
        "empty",
        "expected a date or timestamp, found a missing value; declare the attribute nullable or fix the row",
    ),
}
"""Key of `REFUSED` -> the key that an attribute of numbers has for it, and the reason."""

_REASONS_OF_GAPS = _REASONS | {
    "outside": (
        "outside",
        "expected a date or timestamp within the bounds after the other column's, found another; fix the row "
        "or the domain",
    ),
    "empty": (
        "empty",
        "expected a date or timestamp, and one in the column that it comes after, found a missing value; "
        "declare the attribute nullable or fix the row",
    ),
}
