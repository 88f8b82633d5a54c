"""Dates and timestamps: how a column writes them, and the units in which they are counted."""

from __future__ import annotations

import re
import zoneinfo
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta, timezone
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from ...errors import DataError
from ...forms.date_formats import DOTTED
from ...forms.date_lists import OFFSET, SHORT_OFFSET
from ...forms.zone_names import ZONE_NAME
from ...later import np
from ..binning.rhythm import Pace, Rhythm
from ..values import RawColumn, text_of
from .attribute import check_pattern
from .granularity import OF_DATES, Granularity, usual_unit

if TYPE_CHECKING:
    from numpy.typing import NDArray

Times: TypeAlias = "NDArray[np.datetime64]"
"""Points of local time, datetime64[D] of dates and datetime64[us] of timestamps; NaT is a missing value."""


_EARLIEST, _LATEST = "0002-01-01", "9998-12-31"

_NAMED, _NAMED_DAY = re.compile("%[bB]"), re.compile("%[aA]")
_NAME = re.compile(r"[^\W\d_]{1,20}[.]?")
_ORDINAL = re.compile(r"\b([0-9]{1,2})(?:st|nd|rd|th)\b")
_DOTTED_HALF = re.compile("%(::p|:[pP])")


@dataclass(frozen=True)
class Moments:
    """What a column of dates or timestamps means.

    Timestamps with a time zone are read and counted in its local time: the hour that comes twice in autumn
    is one hour, and a value in the hour that is left out in spring is written as one an hour later.

    Attributes:
        timed: whether it holds timestamps; otherwise dates.
        granularity: see `Granularity`.
        format: how text is read and written, as of `datetime.strptime`; empty for ISO 8601. `%-d` and `%-m`
            write days and months, and `%-H` and `%-I` hours, without a leading zero; `%P` writes am and pm,
            `%:p` a.m., `%:P` A.M. and `%::p` a. m.,
            `Q%q` and `T%q` quarters, `%Z` the names of a zone, as CET and CEST, `%:z` distances from UTC
            as +02:00, and `%:::z` as +02 or +05:30, `%o` days as in French, of which the first is 1er, `%O`
            as in English, such as 2nd, and `%G-W%V` weeks.
        timezone: IANA name of the time zone of timestamps; empty if they have none.
        months: the names that `%b` and `%B` stand for, from that of January on; empty for those in English.
        days: those that `%a` and `%A` stand for, from that of Monday on.
        also: other formats that are read, each if none before it reads a text.
        rhythm: when in a week and in a day they are; None if evenly.
    """

    timed: bool
    granularity: Granularity
    format: str = ""
    timezone: str = ""
    months: tuple[str, ...] = ()
    days: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    rhythm: Rhythm | None = None

    def to_json(self) -> dict[str, Any]:
        """The keys of an entry in a domain file; those only that are not the default."""
        usual = usual_unit(timed=self.timed)
        form: dict[str, Any] = {"granularity": "" if self.granularity is usual else self.granularity.value}
        form |= {"format": self.format, "timezone": self.timezone}
        form |= {"months": list(self.months), "days": list(self.days), "also": list(self.also)}
        form["rhythm"] = {} if self.rhythm is None else self.rhythm.to_json()
        return {"type": "timestamp" if self.timed else "date"} | {k: v for k, v in form.items() if v}

    def check(self, name: str) -> None:
        """Raises DataError if the attribute `name` cannot have these."""
        if not self.timed and self.granularity not in OF_DATES:
            raise DataError(
                f"attribute {name!r}: the granularity of dates is one of {', '.join(OF_DATES)}; fix the "
                'domain, or choose the type "timestamp"'
            )
        for form in (self.format, *self.also):
            check_pattern(form)
            if isinstance(form, str) and re.search(r"%[^%A-Za-z]*[0-9]", form):
                raise DataError(
                    f"attribute {name!r}: expected a format without widths of its parts; fix the domain"
                )
        self._check_rhythm(name)
        self._check_names(name, "months are twelve", self.months, 12, _NAMED, "%b or %B")
        self._check_names(name, "days are seven", self.days, 7, _NAMED_DAY, "%a or %A")
        if not isinstance(self.timezone, str):
            raise DataError(f"attribute {name!r}: timezone is text; fix the domain")
        if self.timezone:
            try:
                zoneinfo.ZoneInfo(self.timezone)
            except (ValueError, OSError, zoneinfo.ZoneInfoNotFoundError):
                raise DataError(
                    f"attribute {name!r}: unknown timezone; name one such as Europe/Berlin"
                ) from None

    def _check_rhythm(self, name: str) -> None:
        """Raises DataError if the attribute `name` cannot have its rhythm."""
        if self.rhythm is None:
            return
        if problem := self.rhythm.problem():
            raise DataError(f"attribute {name!r}: {problem}; fix the domain")
        if self.granularity.seconds > self.rhythm.finest:
            raise DataError(
                f"attribute {name!r}: a rhythm of its parts needs a finer granularity than a "
                f"{self.granularity}; take them out, or choose another granularity"
            )

    @property
    def pace(self) -> Pace | None:
        """Its rhythm in units of the granularity."""
        return None if self.rhythm is None else Pace(self.rhythm, self.granularity.seconds)

    def _check_names(
        self, name: str, are: str, names: Sequence[str], number: int, written: re.Pattern[str], codes: str
    ) -> None:
        """Raises DataError if the format of the attribute `name` cannot have these names."""
        different = len({one.casefold() for one in names})
        if names and (not len(names) == different == number or not written.search(self.format)):
            raise DataError(
                f"attribute {name!r}: {are} different names, of a format with {codes}; fix the domain"
            )
        if not all(_NAME.fullmatch(one) for one in names):
            raise DataError(
                f"attribute {name!r}: names of {are.split()[0]} are letters, with a full stop or none; fix "
                "the domain"
            )

    def check_format(self, name: str, units: NDArray[np.int64]) -> None:
        """Raises DataError if a value that is written in the format is read as another.

        Args:
            name: of the attribute.
            units: some of its values.
        """
        times = self.at(units)
        if self.timezone:
            # A time that the zone leaves out in spring is written as a later one.
            times = times[self.local(self.instants(times)) == times]
        try:
            again, unreadable = self.read(name, self.texts_of(times))
        # A part that is named twice is an error of the regular expression that Python makes of a format.
        except (ValueError, re.error):
            unreadable = np.ones(1, dtype=np.bool_)
        if unreadable.any() or not np.array_equal(again, times):
            raise DataError(
                f"attribute {name!r}: a value of this granularity that is written in the format cannot be "
                "read back; complete the format, for example with a year of four digits, %Y"
            )

    def read(self, name: str, values: RawColumn) -> tuple[Times, NDArray[np.bool_]]:
        """Reads a column.

        Args:
            name: of the column, for messages.
            values: shape (N,): datetime64 in local time, dates and datetimes of Python or pandas, or text.

        Returns:
            Local times, datetime64[us], NaT for a missing value; and whether each cell is neither missing nor
            a value of this kind.

        Raises:
            DataError: the array has another shape.
        """
        array = values if isinstance(values, np.ndarray) else np.asarray(values, dtype=object)
        if array.ndim != 1:
            raise DataError(
                f"column {name!r}: expected one value per row, found an array of shape {array.shape}"
            )
        missing, cells = np.ma.getmaskarray(array), np.ma.getdata(array)
        if cells.dtype.kind == "M":
            times = cells.astype("datetime64[us]")
            times[missing] = np.datetime64("NaT")
            return times, np.zeros(len(cells), dtype=np.bool_)
        rows = [cell if isinstance(cell, (date, np.datetime64)) else text_of(cell) for cell in cells.tolist()]
        places = {cell: place for place, cell in enumerate(dict.fromkeys(rows))}
        position = np.fromiter(map(places.__getitem__, rows), dtype=np.int64, count=len(rows))
        empty = np.array([text_of(cell) == "" for cell in places], dtype=np.bool_)
        known = [None if blank else self._time(cell) for cell, blank in zip(places, empty, strict=True)]
        unreadable = np.array([time is None for time in known], dtype=np.bool_) & ~empty
        found = self._in_local_time(known)[position]
        found[missing] = np.datetime64("NaT")
        return found, unreadable[position] & ~missing

    def texts_of(self, times: Times) -> NDArray[Any]:
        """The times as text in the format; None for NaT.

        Args:
            times: local times, as `at` gives them.
        """
        known, position = np.unique(times, return_inverse=True)
        instants = self.instants(known)
        known = self.local(instants)
        if self.format:
            whole = self.granularity is Granularity.MILLISECOND
            formatted = [
                _format_time(time, self.format, self._zone, whole, self.months, self.days)
                for time in known.tolist()
            ]
            texts = np.array(formatted, dtype=object)
        else:
            texts = np.datetime_as_string(known, unit=self._written_unit).astype(object)
            if self.timezone:
                texts += _offsets(known - instants)
        texts[np.isnat(known)] = None
        written: NDArray[Any] = texts[position]
        return written

    def unit_numbers(self, times: Times) -> NDArray[np.int64]:
        """The number of each time in units of the granularity, 0 in 1970; there is no NaT among them."""
        unit, step, before = self.granularity.numbers
        return (times.astype(f"datetime64[{unit}]").astype(np.int64) + before) // step

    def at(self, units: NDArray[np.int64]) -> Times:
        """The local time at which each unit begins."""
        unit, step, before = self.granularity.numbers
        begun = (units * step - before).astype(f"datetime64[{unit}]")
        return begun.astype("datetime64[us]" if self.timed else "datetime64[D]")

    def instants(self, times: Times) -> Times:
        """Local times in UTC; those themselves if there is no time zone."""
        zone = self._zone
        if zone is None:
            return times
        return _shift_zone(times, lambda time: time.replace(tzinfo=zone).astimezone(UTC).replace(tzinfo=None))

    def local(self, instants: Times) -> Times:
        """Times in UTC in local time; those themselves if there is no time zone."""
        zone = self._zone
        if zone is None:
            return instants
        return _shift_zone(
            instants, lambda time: time.replace(tzinfo=UTC).astimezone(zone).replace(tzinfo=None)
        )

    def bound(self, name: str, text: object) -> int:
        """The unit of a date or timestamp in a domain file, in ISO 8601.

        Raises:
            DataError: it is none.
        """
        time = replace(self, format="")._time(text) if isinstance(text, str) else None
        if time is None:
            raise DataError(
                f"attribute {name!r}: expected dates or timestamps in ISO 8601, such as 2020-12-31 or "
                "2020-12-31T23:59:59; fix the domain"
            )
        return int(self.unit_numbers(self._in_local_time([time]))[0])

    def bound_text(self, unit: int) -> str:
        """The text of a unit in a domain file; `bound` reads it."""
        return str(
            np.datetime_as_string(self.at(np.array([unit], dtype=np.int64)), unit=self._written_unit)[0]
        )

    @property
    def of_digits(self) -> bool:
        """Whether the format writes whole numbers, such as 20201231."""
        return bool(self.format) and not re.sub("%[YmdHMS]", "", self.format) and self.format[:2] == "%Y"

    @property
    def _written_unit(self) -> Literal["us", "ms", "s", "D"]:
        if not self.timed:
            return "D"
        match self.granularity:
            case Granularity.MICROSECOND:
                return "us"
            case Granularity.MILLISECOND:
                return "ms"
        return "s"

    def _time(self, cell: object) -> datetime | None:
        """The time in a cell; None if it is neither a date nor a timestamp, or has a time zone unasked."""
        if isinstance(cell, str):
            read = (self._time_of(cell, form) for form in (self.format, *self.also))
            time = next((one for one in read if one is not None), None)
        elif isinstance(cell, datetime):
            time = cell
        elif isinstance(cell, date):
            time = datetime(cell.year, cell.month, cell.day)
        else:
            time = self._time_of(str(cell), "")
        return time if time is None or time.tzinfo is None or self.timezone else None

    def _time_of(self, text: str, form: str) -> datetime | None:
        """The time in a text of a format; None if it is in another one."""
        try:
            if not form:
                return datetime.fromisoformat(text.strip())
            text = text.strip()
            text = text.removesuffix(".0") if self.of_digits else text
            return time_in_format(text, form, self.months, self.days)
        except ValueError:
            return None

    def _in_local_time(self, times: Sequence[datetime | None]) -> Times:
        """Times without a time zone as they are, others in local time."""
        aware = np.array([time is not None and time.tzinfo is not None for time in times], dtype=np.bool_)
        plain = [time if time is None or time.tzinfo is None else _in_utc(time) for time in times]
        local = np.array(plain, dtype="datetime64[us]")
        local[aware] = self.local(local[aware])
        return local

    @property
    def _zone(self) -> zoneinfo.ZoneInfo | None:
        return zoneinfo.ZoneInfo(self.timezone) if self.timezone else None


def time_in_format(
    text: str, form: str, months: tuple[str, ...] = (), days: tuple[str, ...] = ()
) -> datetime:
    """The time in a text of a format; see `Moments`.

    Raises:
        ValueError: there is none.
    """
    if days:
        text, form = _with_monday(text, days), _NAMED_DAY.sub("%a", form)
    if months:
        text, form = _with_number(text, months), _NAMED.sub("%m", form)
    if "%o" in form:
        text, form = re.sub(r"\b1er\b", "1", text), form.replace("%o", "%d")
    if "%O" in form:
        text, form = _ORDINAL.sub(r"\1", text), form.replace("%O", "%d")
    if _DOTTED_HALF.search(form) is not None:
        text, form = DOTTED.sub(r"\g<half>\g<last>", text), _DOTTED_HALF.sub("%p", form)
    if "%f" in form and "%f0" not in form:
        # Some programs write seven or nine digits.
        text = re.sub("(?<=[.,][0-9]{6})[0-9]{1,3}", "", text)
    if SHORT_OFFSET in form:
        text = re.sub("[-+][0-9]{2}$", r"\g<0>:00", text)
    if "%V" in form and "%u" not in form:
        text, form = f"{text} 1", f"{form} %u"
    if "%q" in form:
        text = re.sub("([QT])([1-4])", lambda one: f"{one[1]}{3 * int(one[2]) - 2:02d}", text)
    if "%Z" in form:
        text = ZONE_NAME.sub("UTC", text)
    form = form.replace("%-", "%").replace("%P", "%p").replace("%q", "%m")
    return datetime.strptime(text, re.sub("%:+z", "%z", form))


def _with_number(text: str, months: tuple[str, ...]) -> str:
    """A text with the numbers of months in place of their names."""
    places = _places(months)

    def number(word: re.Match[str]) -> str:
        name, stop = word[0].casefold(), ""
        if name not in places:
            name, stop = name.removesuffix("."), word[0][-1:]
        return f"{places[name]:02d}{stop}" if name in places else word[0]

    return _NAME.sub(number, text)


def _with_monday(text: str, days: tuple[str, ...]) -> str:
    """A text in which the first name of a day of the week is in English: dates do not follow from it."""
    places = _places(days)
    word = next(
        (word for word in _NAME.finditer(text) if word[0].removesuffix(".").casefold() in places), None
    )
    return (
        text
        if word is None
        else f"{text[: word.start()]}Mon{text[word.start() + len(word[0].removesuffix('.')) :]}"
    )


@lru_cache
def _places(months: tuple[str, ...]) -> Mapping[str, int]:
    return {month.casefold(): place for place, month in enumerate(months, start=1)}


def _shift_zone(times: Times, to: Callable[[datetime], datetime]) -> Times:
    """The times between UTC and local time, as the day or quarter of an hour in which each lies."""
    moved = times.copy()
    days, position = np.unique(times.astype("datetime64[D]"), return_inverse=True)
    shifts, steady = _shifts(days, to)[position], (_shifts(days, to) == _shifts(days + 1, to))[position]
    moved[steady] += shifts[steady]
    changing = times[~steady]
    # Time zones change at full quarters.
    quarters, position = np.unique(changing.astype("datetime64[15m]"), return_inverse=True)
    moved[~steady] += _shifts(quarters, to)[position]
    return moved


def _shifts(times: Times, to: Callable[[datetime], datetime]) -> NDArray[np.timedelta64]:
    """How far each time is moved; the first and last years of the calendar as their neighbours."""
    begun = np.clip(times.astype("datetime64[us]"), np.datetime64(_EARLIEST), np.datetime64(_LATEST))
    there = [None if time is None else to(time) for time in begun.tolist()]
    shifts: NDArray[np.timedelta64] = np.array(there, dtype="datetime64[us]") - begun
    return shifts


def _in_utc(time: datetime) -> datetime:
    try:
        return time.astimezone(UTC).replace(tzinfo=None)
    except OverflowError:
        return time.replace(tzinfo=None)


def _format_time(
    time: date | None,
    form: str,
    zone: zoneinfo.ZoneInfo | None,
    milliseconds: bool,
    months: tuple[str, ...],
    days: tuple[str, ...],
) -> str | None:
    """A time in a format, whose %f are three digits of whole milliseconds."""
    if time is None:
        return None
    if isinstance(time, datetime):
        time = time.replace(tzinfo=zone)
        form = short_fraction(time, form) if milliseconds else form
    return format_time(time, form, months, days)


def short_fraction(time: datetime, form: str) -> str:
    """A format with the three digits of a time's milliseconds in place of `%f`."""
    return form.replace("%f", f"{time.microsecond // 1000:03d}")


def format_time(time: date, form: str, months: tuple[str, ...] = (), days: tuple[str, ...] = ()) -> str:
    """A time in a format; see `Moments`."""
    if days:
        form = _NAMED_DAY.sub(days[time.weekday()], form)
    if months:
        form = _NAMED.sub(months[time.month - 1], form)
    if isinstance(time, datetime):
        form = form.replace("%P", "am" if time.hour < 12 else "pm")
        form = _DOTTED_HALF.sub(partial(_dotted_half, time.hour), form)
    form = form.replace("%q", str((time.month + 2) // 3)).replace("%O", _ordinal(time.day))
    form = form.replace("%o", "1er" if time.day == 1 else str(time.day))
    if "%:" in form:
        offset = re.sub("(?<=..)(?=..$)", ":", time.strftime("%z")[:5])
        form = form.replace(SHORT_OFFSET, offset.removesuffix(":00")).replace(OFFSET, offset)
    if time.year < 1000:
        # Only some systems write four digits of such years.
        year = f"{time.year:04d}"
        form = re.sub("%(.)", lambda part: year if part[1] == "Y" else part[0], form)
    return time.strftime(form)


def _dotted_half(hour: int, part: re.Match[str]) -> str:
    letter = "a" if hour < 12 else "p"
    return {"%:p": f"{letter}.m.", "%:P": f"{letter.upper()}.M."}.get(part[0], f"{letter}. m.")


def _ordinal(number: int) -> str:
    """The number of a day as in English, such as 2nd."""
    teens = 10 < number < 20
    return f"{number}{'th' if teens else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"


def _offsets(shifts: NDArray[np.timedelta64]) -> NDArray[Any]:
    """Differences from UTC as in ISO 8601, such as +01:00."""
    known, position = np.unique(shifts, return_inverse=True)
    zones = [timezone(shift or timedelta()) for shift in known.tolist()]
    texts = [datetime(2000, 1, 1, tzinfo=zone).isoformat()[19:] for zone in zones]
    written: NDArray[Any] = np.array(texts, dtype=object)[position]
    return written
