"""Times of day and durations: how a column writes hours, minutes and seconds."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from ...errors import DataError
from ...later import np
from ..values import RawColumn, text_of
from .durations import DURATIONS, duration_text, seconds_in, unit_of_durations
from .granularity import OF_TIMES, Granularity
from .moments import Moments, Times

if TYPE_CHECKING:
    from numpy.typing import NDArray

NUMBERS = "HHMM"
"""The format of whole numbers, such as 930 for half past nine."""

PADDED_NUMBERS = "0HMM"
"""That of four digits, such as 0930."""

_HALVES = (" AM", "AM", " am", "am")

DOTTED_HALVES = (" a.m.", "a.m.", " A.M.", "A.M.", " a. m.", "a. m.")
"""Halves of a day with full stops, as those before noon are written."""

BEHIND_HOURS = (" Uhr", " h", " hrs")
"""What stands behind times of day."""

FORMATS = (
    *(NUMBERS, "HH:MM", "HH:MM:SS", "HH:MM:00", "H:MM", "H:MM:SS", "H:MM:00", "MM:SS"),
    *(f"{hour}:MM:SS.{fraction}" for hour in ("HH", "H") for fraction in ("fff", "ffffff")),
    *(f"{hour}:MM{end}{half}" for hour in ("HH", "H") for end in ("", ":SS", ":00") for half in _HALVES),
    *("HHhMM", "HhMM"),
    *(f"{hour}:MM{end}{word}" for hour in ("HH", "H") for end in ("", ":SS", ":00") for word in BEHIND_HOURS),
    *DURATIONS,
    PADDED_NUMBERS,
    *(
        f"{hour}:MM{end}{half}"
        for hour in ("HH", "H")
        for end in ("", ":SS", ":00")
        for half in DOTTED_HALVES
    ),
)
"""How values are written. Hours of one H, and the first part of MM:SS, have as many digits as they need; with
:00 values are whole minutes; with AM, am, a.m. and so on hours are those of a.m. and p.m. An h stands as in
14h05. Durations have a letter behind each number."""

_AFTER_NOON = str.maketrans("Aa", "Pp")

_BASIC = 8
"""So many of these are named in a message."""

_NUMBER = re.compile(r"(\d{0,4}?)(\d{1,2})(?:\.0*)?")
_PARTS = re.compile(
    r"(?:0 days )?(?P<first>\d{1,6})[:h](?P<second>\d\d)(?::(?P<third>\d\d)(?:\.(?P<fraction>\d*))?)?"
    rf"(?P<half>[ \u202f]?[AaPp]([Mm]|[.][ \u00a0\u202f]?[Mm][.]))?(?:{'|'.join(BEHIND_HOURS)})?"
)

_OF_DURATIONS = {1: Granularity.SECOND, 60: Granularity.MINUTE, 3600: Granularity.HOUR}
"""Seconds of the smallest unit of durations -> what they are counted in."""


@dataclass(frozen=True)
class Clock(Moments):
    """Hours, minutes and seconds since midnight, or of a duration; more than 24 hours too.

    They are counted as times since 1970 began. What the format does not write is left out, and so is what is
    finer than the granularity.
    """

    @classmethod
    def of(cls, form: str) -> Clock:
        """What values in one of `FORMATS` are."""
        if form in DURATIONS:
            return cls(True, _OF_DURATIONS[unit_of_durations(form)], form)
        fraction = form.count("f")
        if fraction:
            return cls(True, Granularity.MICROSECOND if fraction > 3 else Granularity.MILLISECOND, form)
        return cls(True, Granularity.SECOND if "SS" in form else Granularity.MINUTE, form)

    def to_json(self) -> dict[str, Any]:
        """The keys of an entry in a domain file; a granularity that is not that of the format."""
        form: dict[str, Any] = {"type": "clock", "format": self.format}
        if self.granularity is not self._units[-1]:
            form["granularity"] = self.granularity.value
        return form if self.rhythm is None else form | {"rhythm": self.rhythm.to_json()}

    def by(self, granularity: Granularity) -> Clock:
        """The same values as whole numbers of a unit; as they are if the format has no finer one."""
        return replace(self, granularity=granularity) if granularity in self._units else self

    def check(self, name: str) -> None:
        """Raises DataError if the attribute `name` cannot have these."""
        self._check_rhythm(name)
        if self.rhythm is not None and (self.rhythm.weekdays or self.rhythm.monthdays or self.rhythm.gaps):
            raise DataError(
                f"attribute {name!r}: times of day have no weekdays, monthdays or gaps; take them out of the "
                "rhythm"
            )
        if self.format not in FORMATS:
            raise DataError(
                f"attribute {name!r}: the format of a clock is one of {', '.join(FORMATS[:_BASIC])}, with "
                ".fff or .ffffff behind seconds, or AM, am, a.m. or a blank and one of these, or Uhr, or "
                "HHhMM, HhMM or 0HMM, or of durations such as PTnHnM and nd nh; fix the domain"
            )
        *coarser, usual = self._units
        if self.granularity not in self._units:
            raise DataError(
                f"attribute {name!r}: expected the granularity {usual} or one of {', '.join(coarser)}; "
                "fix the domain"
            )

    def read(self, name: str, values: RawColumn) -> tuple[Times, NDArray[np.bool_]]:
        """Reads a column; see `Moments.read`.

        Args:
            name: of the column, for messages.
            values: shape (N,): text, times and timedeltas of Python, with `NUMBERS` whole numbers; or
                datetime64 as this returns it.
        """
        cells = np.ma.getdata(values)
        if cells.dtype.kind == "M":
            return super().read(name, values)
        if cells.dtype.kind == "m":
            cells = cells.astype("timedelta64[us]")
        missing = np.ma.getmaskarray(values) if isinstance(values, np.ndarray) else np.zeros(len(cells), bool)
        rows = [cell if isinstance(cell, timedelta) else text_of(cell) for cell in cells.tolist()]
        places = {cell: place for place, cell in enumerate(dict.fromkeys(rows))}
        position = np.fromiter(map(places.__getitem__, rows), dtype=np.int64, count=len(rows))
        read = [self._microseconds(cell) for cell in places]
        none = np.array([one is None for one in read], dtype=np.bool_)
        empty = np.array([cell == "" for cell in places], dtype=np.bool_)
        times = np.array([one or 0 for one in read], dtype="datetime64[us]")
        times[none] = np.datetime64("NaT")
        found = times[position]
        found[missing] = np.datetime64("NaT")
        return found, (none & ~empty)[position] & ~missing

    def texts_of(self, times: Times) -> NDArray[Any]:
        """The times in the format, as text or whole numbers; None for NaT."""
        known = ~np.isnat(times)
        found = np.full(len(times), None, dtype=object)
        found[known] = [
            self._text(one) for one in times[known].astype("datetime64[us]").astype(np.int64).tolist()
        ]
        return found

    def bound(self, name: str, text: object) -> int:
        """The unit of a time in a domain file, in the format or as H:MM or H:MM:SS.

        Raises:
            DataError: it is none.
        """
        read = self._microseconds(text)
        if read is None:
            raise DataError(
                f"attribute {name!r}: expected times such as {self._text(5400 * 10**6)!r}, or hours, minutes "
                "and seconds such as '1:30:00'; fix the domain"
            )
        return read // self._per_unit

    def bound_text(self, unit: int) -> str:
        """The text of a unit in a domain file; `bound` reads it."""
        return str(self._text(unit * self._per_unit))

    @property
    def has_halves(self) -> bool:
        """Whether hours are those of a.m. and p.m., so that there is no time after one day."""
        return self.format.endswith((*_HALVES, *DOTTED_HALVES))

    @property
    def _units(self) -> tuple[Granularity, ...]:
        """Units of less than a day of which values may be whole numbers, down to that of the format."""
        return OF_TIMES[1 : 1 + OF_TIMES.index(Clock.of(self.format).granularity)]

    @property
    def _per_unit(self) -> int:
        return round(self.granularity.seconds * 10**6)

    def _microseconds(self, cell: object) -> int | None:
        """The microseconds that a cell states; None if it states none."""
        if isinstance(cell, timedelta):
            return cell // timedelta(microseconds=1) if cell >= timedelta(0) else None
        text = text_of(cell).strip()
        if self.format in DURATIONS and (whole := seconds_in(text, self.format)) is not None:
            return whole * 10**6
        hours, minutes, seconds, fraction = 0, 0, 0, ""
        if found := _PARTS.fullmatch(text):
            first, second, third = (int(found[part] or 0) for part in ("first", "second", "third"))
            hours, minutes, seconds, fraction = first, second, third, found["fraction"] or ""
            if found["half"]:
                if not 1 <= hours <= 12:
                    return None
                hours = hours % 12 + (12 if found["half"].strip()[0] in "Pp" else 0)
            if self.format == "MM:SS" and found["third"] is None:
                hours, minutes, seconds = first // 60, first % 60, second
        elif self.format in (NUMBERS, PADDED_NUMBERS) and (found := _NUMBER.fullmatch(text)):
            hours, minutes = int(found[1] or 0), int(found[2])
        else:
            return None
        whole = hours * 3600 + minutes * 60 + seconds
        return whole * 10**6 + int(f"{fraction:0<6.6}") if minutes < 60 and seconds < 60 else None

    def _text(self, microseconds: int) -> str | int:
        seconds, fraction = divmod(microseconds, 10**6)
        if self.format in DURATIONS:
            return duration_text(seconds, self.format)
        minutes, second = divmod(seconds, 60)
        hours, minute = divmod(minutes, 60)
        match self.format:
            case "HHMM":
                return hours * 100 + minute
            case "0HMM":
                return f"{hours:02d}{minute:02d}"
            case "MM:SS":
                return f"{minutes:02d}:{second:02d}"
        form, half = self.format, next((word for word in BEHIND_HOURS if self.format.endswith(word)), "")
        form = form.removesuffix(half)
        if self.has_halves:
            # The longest first: a blank may stand before it.
            half = max(filter(form.endswith, (*_HALVES, *DOTTED_HALVES)), key=len)
            form = form.removesuffix(half)
            half = half.translate(_AFTER_NOON) if hours % 24 >= 12 else half
            hours = (hours - 1) % 12 + 1
        hour = f"{hours:02d}" if form.startswith("HH") else str(hours)
        middle = "h" if "h" in form else ":"
        end = f":{second:02d}" if "SS" in form else ":00" if form.endswith("00") else ""
        end += f".{fraction:06d}"[: 1 + form.count("f")] if "f" in form else ""
        return f"{hour}{middle}{minute:02d}{end}{half}"
