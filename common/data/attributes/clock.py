"""Times of day and durations: how a column writes hours, minutes and seconds."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from ...errors import DataError
from ...later import np
from ..values import RawColumn, text_of
from .moments import Granularity, Moments, Times

if TYPE_CHECKING:
    from numpy.typing import NDArray

NUMBERS = "HHMM"
"""The format of whole numbers, such as 930 for half past nine."""

FORMATS = (NUMBERS, "HH:MM", "HH:MM:SS", "H:MM", "H:MM:SS", "MM:SS")
"""How values are written. Hours of one H, and the first part of MM:SS, have as many digits as they need."""

_NUMBER = re.compile(r"(\d{0,4}?)(\d{1,2})(?:\.0*)?")
_PARTS = re.compile(r"(?:0 days )?(\d{1,6}):(\d\d)(?::(\d\d)(?:\.\d*)?)?")


@dataclass(frozen=True)
class Clock(Moments):
    """Hours, minutes and seconds since midnight, or of a duration; more than 24 hours too.

    They are counted as times since 1970 began. Seconds that the format does not write are left out.
    """

    @classmethod
    def of(cls, form: str) -> Clock:
        """What values in one of `FORMATS` are."""
        return cls(True, Granularity.SECOND if form.endswith("SS") else Granularity.MINUTE, form)

    def to_json(self) -> dict[str, str]:
        """The keys of an entry in a domain file."""
        return {"type": "clock", "format": self.format}

    def check(self, name: str) -> None:
        """Raises DataError if the attribute `name` cannot have these."""
        if self.format not in FORMATS:
            raise DataError(
                f"attribute {name!r}: the format of a clock is one of {', '.join(FORMATS)}; fix the domain"
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
        seconds = [self._seconds(cell) for cell in places]
        none = np.array([second is None for second in seconds], dtype=np.bool_)
        empty = np.array([cell == "" for cell in places], dtype=np.bool_)
        times = np.array([second or 0 for second in seconds], dtype="datetime64[s]").astype("datetime64[us]")
        times[none] = np.datetime64("NaT")
        found = times[position]
        found[missing] = np.datetime64("NaT")
        return found, (none & ~empty)[position] & ~missing

    def texts_of(self, times: Times) -> NDArray[Any]:
        """The times in the format, as text or whole numbers; None for NaT."""
        known = ~np.isnat(times)
        found = np.full(len(times), None, dtype=object)
        found[known] = [self._text(second) for second in _seconds_of(times[known]).tolist()]
        return found

    def bound(self, name: str, text: object) -> int:
        """The unit of a time in a domain file, in the format or as H:MM or H:MM:SS.

        Raises:
            DataError: it is none.
        """
        seconds = self._seconds(text)
        if seconds is None:
            raise DataError(
                f"attribute {name!r}: expected times such as {self._text(5400)!r}, or hours, minutes and "
                "seconds such as '1:30:00'; fix the domain"
            )
        return seconds // self._per_unit

    def bound_text(self, unit: int) -> str:
        """The text of a unit in a domain file; `bound` reads it."""
        return str(self._text(unit * self._per_unit))

    @property
    def _per_unit(self) -> int:
        return 1 if self.granularity is Granularity.SECOND else 60

    def _seconds(self, cell: object) -> int | None:
        """The seconds that a cell states; None if it states none."""
        if isinstance(cell, timedelta):
            return cell // timedelta(seconds=1) if cell >= timedelta(0) else None
        text = text_of(cell).strip()
        hours, minutes, seconds = 0, 0, 0
        if found := _PARTS.fullmatch(text):
            first, second, third = (int(part or 0) for part in found.groups())
            hours, minutes, seconds = first, second, third
            if self.format == "MM:SS" and found[3] is None:
                hours, minutes, seconds = first // 60, first % 60, second
        elif self.format == NUMBERS and (found := _NUMBER.fullmatch(text)):
            hours, minutes = int(found[1] or 0), int(found[2])
        else:
            return None
        return hours * 3600 + minutes * 60 + seconds if minutes < 60 and seconds < 60 else None

    def _text(self, seconds: int) -> str | int:
        minutes, second = divmod(seconds, 60)
        hours, minute = divmod(minutes, 60)
        match self.format:
            case "HHMM":
                return hours * 100 + minute
            case "MM:SS":
                return f"{minutes:02d}:{second:02d}"
        hour = f"{hours:02d}" if self.format.startswith("HH") else str(hours)
        return f"{hour}:{minute:02d}" + (f":{second:02d}" if self.format.endswith("SS") else "")


def _seconds_of(times: Times) -> NDArray[np.int64]:
    return times.astype("datetime64[s]").astype(np.int64)
