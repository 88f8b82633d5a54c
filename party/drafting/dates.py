"""Drafts the entry of a column of dates, timestamps or times of day."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...common.data.attributes.clock import BEHIND_HOURS, FORMATS, NUMBERS, PADDED_NUMBERS, Clock
from ...common.data.attributes.durations import LEFT_OUT, duration_text, form_of, seconds_in
from ...common.data.attributes.granularity import Granularity, longest, usual_unit
from ...common.data.attributes.numeric import AUTO
from ...common.data.binning.rhythm import TimesCounted
from ...common.forms.date_formats import unit_of
from ...common.forms.day_names import Days
from ...common.forms.month_names import Months
from ..sources.cells import ZONED
from .date_formats import (
    ISO_8601,
    SHORT,
    Written,
    as_written,
    formats_of,
    formats_together,
    in_several_formats,
    is_usual,
    looks_like_a_date,
    time_in,
    zone_in,
    zone_of,
)
from .numbers import FAR, find_atoms, likely_range
from .profile import Profile

_CLOCK = re.compile(
    r"(?P<hour>[0-9]{1,4})(?P<middle>[:h])[0-9]{2}(?P<second>:[0-9]{2}(?P<fraction>\.[0-9]{3}([0-9]{3})?)?)?"
    rf"(?P<half> ?([AP]M|[ap]m|[AP][.]M[.]|[ap][.] ?m[.])|{'|'.join(BEHIND_HOURS)})?"
)

INTERVAL = "INTERVAL"
"""DuckDB's type of durations."""

_CLOCK_OF_INTERVAL = re.compile("(?P<hour>[0-9]{1,4}):[0-9]{2}(?P<end>:[0-9]{2}([.][0-9]{1,6})?)")

_OF_FOUR_DIGITS = re.compile("([01][0-9]|2[0-3])[0-5][0-9]")

_HOURS = 6
"""Whole numbers of fewer hundreds may be years."""

_HALF_HOURS = 48
"""Multiples of 50 have so few values of less than 2400, none of them with more than 59 minutes."""

_READ = 0.99
"""Share of the rows that a format has to read; the others count as missing."""

_FIRST_SEEN = 2000
"""Of the different texts in the order of the rows, at least half of so many have to look like dates."""

_FEW_WORDS = 5
"""So few different texts may stand in more of the rows."""

_OF_WORDS = 0.95
"""They are at most this share of the rows."""

_LEAST_USUAL = 0.1
"""Share of the rows whose years have to be usual ones; others may be such as 9999."""


_OUTSIDE_RANGE = 0.02
"""Times are near to the others that lie at most this part of their range from them."""

_FEW_TIMES = 10
"""Fewer different times may be such as 10:15 and 12:30 by chance."""

_DATES_READ = 20_000
"""Of more different dates than this, some are read."""


@dataclass(frozen=True, eq=False)
class _Reading:
    """The texts of a column, read in one format.

    Attributes:
        format: as of `datetime.strptime`.
        months: the names of months; none for those in English.
        days: those of days of the week.
        also: formats in which other texts are.
        times: the times that were read, in local time or in UTC.
        rows: number of rows of each.
        unread: texts that cannot be read, and their number of rows.
        zone: IANA name of their time zone; empty if they name none.
        offsets: number of their different offsets from UTC.
        timed: whether they are timestamps; otherwise dates.
    """

    format: str
    months: Months
    days: Days
    times: list[datetime]
    rows: list[int]
    unread: dict[str, int]
    zone: str
    offsets: int
    timed: bool
    also: tuple[str, ...] = ()


def draft_date(profile: Profile) -> tuple[dict[str, Any] | None, list[str]]:
    """Drafts the entry of a column whose texts are nearly all dates or timestamps; None if they are not.

    Args:
        profile: of the column.

    Returns:
        The entry, and remarks for the owner.
    """
    if profile.kind == "DATE" or profile.kind.startswith("TIMESTAMP"):
        return _entry_of_times(profile)
    texts, rows = _some(profile)
    forms = formats_of(texts) if texts else []
    found = [one for form in forms if (one := _read(texts, rows, form)) is not None]
    if not found and texts:
        first, *also = formats_together(texts) or ("",)
        found = [one] if also and (one := _read(texts, rows, (first, (), ()), tuple(also))) else []
    if not found:
        if in_several_formats(texts):
            return {"type": "text", "drop": True}, [
                "its dates are written in several formats; it is left out until they are written in one"
            ]
        return None, []
    best = min(found, key=_doubt)
    alike = [one for one in found if one.unread == best.unread and one.format != ISO_8601]
    remarks = []
    if len(alike) > 1:
        remarks.append(f"its dates can be read in {len(alike)} formats; check the first, {best.format}")
    if "%y" in best.format:
        remarks.append("its years have two digits, and are read as 1969 to 2068; check them")
    if best.also:
        remarks.append(f"its dates are written in {1 + len(best.also)} formats, and come back in one")
    if best.offsets > 1:
        remarks.append('its times are read in UTC; name their "timezone", such as Europe/Berlin')
    entry, far = _moments(profile, best)
    remarks += far
    written = as_written(best.format, texts, best.months, best.days) if best.format else ISO_8601
    if written not in SHORT:
        entry["format"] = written
    often = {text for text, n in best.unread.items() if n > (1 - _READ) * sum(rows)}
    if often:
        entry["texts"] = sorted(often)
        remarks.append(
            f"{profile.rows_of(often)} of {profile.rows} rows hold a text beside the dates; check it"
        )
    if odd := sum(n for text, n in best.unread.items() if text not in often):
        entry |= {"nullable": True, "unreadable": "missing"}
        remarks.append(f"{odd} of {profile.rows} rows hold no date in this format; they count as missing")
    return entry, remarks


def _doubt(reading: _Reading) -> tuple[int, bool, int]:
    """How little speaks for a format: rows that it does not read, and a wide range of years of two digits."""
    short = "%y" in reading.format
    years = {time.year for time in reading.times} if short else {0}
    return sum(reading.unread.values()), short, max(years) - min(years)


def draft_clock(profile: Profile) -> dict[str, Any] | None:
    """Drafts the entry of a column of times of day or durations; None if they are none.

    Whole numbers are taken for hours and minutes, such as 930, if there are many and none has more than 59
    minutes.
    """
    more = {"bins": AUTO, "nullable": profile.nullable}
    texts = profile.texts.tolist()
    if profile.kind == INTERVAL:
        entry = _of_intervals(texts)
    else:
        entry = _of_texts(texts) if len(profile.words) else _of_numbers(profile)
    if entry is None:
        return None
    clock = Clock.of(entry["format"])
    times, _ = clock.read(profile.name, np.array(texts, dtype=object))
    clock = clock.by(_longest_unit(times[~np.isnat(times)]))
    return clock.to_json() | entry | more | _rhythm(times, profile.counts, clock.granularity, dated=False)


def _of_intervals(texts: Sequence[str]) -> dict[str, Any] | None:
    """DuckDB's intervals, as hours, minutes and seconds; None if some are negative or of months."""
    found = [_CLOCK_OF_INTERVAL.fullmatch(text) for text in texts]
    if not all(found):
        return None
    ends = "".join(one["end"] for one in found if one is not None)
    form = "HH:MM:SS.ffffff" if "." in ends else "HH:MM:SS" if ends.strip(":0") else "HH:MM"
    return _with_bounds(form, max(int(one["hour"]) for one in found if one is not None))


def _of_numbers(profile: Profile) -> dict[str, Any] | None:
    numbers = profile.values[0]
    if len(np.unique(numbers // 100)) < _HOURS or not 0 <= numbers[0] <= numbers[-1] <= 2400:
        return None
    if len(numbers) <= _HALF_HOURS or np.any((numbers % 100 >= 60) | (numbers != np.floor(numbers))):
        return None
    return _with_bounds(NUMBERS, int(numbers[-1]) // 100)


def _of_texts(texts: Sequence[str]) -> dict[str, Any] | None:
    if len(texts) > _HALF_HOURS and all(map(_OF_FOUR_DIGITS.fullmatch, texts)):
        return _with_bounds(PADDED_NUMBERS, 0)
    found = [match for match in map(_CLOCK.fullmatch, texts) if match is not None]
    ends = {
        (one["middle"], len(one["second"] or ""), (one["half"] or "").replace("P", "A").replace("p", "a"))
        for one in found
    }
    if len(found) < len(texts) or len(ends) != 1:
        return _of_durations(texts)
    [(middle, second, half)] = ends
    hour = "HH" if all(len(one["hour"]) > 1 for one in found) else "H"
    form = f"{hour}{middle}MM{':SS.ffffff'[:second]}{half}"
    if second and all((one["second"] or "") == ":00" for one in found):
        form = form.replace("SS", "00")
    if form not in FORMATS or Clock.of(form).read("", np.array(texts, dtype=object))[1].any():
        return None
    return _with_bounds(form, max(int(one["hour"]) for one in found))


def _of_durations(texts: Sequence[str]) -> dict[str, Any] | None:
    """Durations with letters, in the format of most that reads all and writes most as they stand."""
    forms = {form for text in texts if (form := form_of(text))}
    forms |= {LEFT_OUT} if any(form.startswith("PT") for form in forms) else set()

    def texts_kept(form: str) -> int:
        return sum(duration_text(seconds_in(text, form) or 0, form) == text for text in texts)

    read = [form for form in sorted(forms) if all(seconds_in(text, form) is not None for text in texts)]
    if not read:
        return None
    best = max(read, key=texts_kept)
    longest = max(seconds_in(text, best) or 0 for text in texts)
    return _with_bounds(best, longest // 3600)


def _with_bounds(form: str, hours: int) -> dict[str, Any]:
    """A day, or as many whole hours as durations have."""
    longer = {"max": f"{hours + 1 if form != NUMBERS else hours}:00"} if hours > 23 else {}
    return {"type": "clock", "format": form, **longer}


def _some(profile: Profile) -> tuple[list[str], list[int]]:
    """Texts and their rows, or some of them; none if too many do not look like dates.

    They are in order: ISO dates begin with the first and end with the last.
    """
    first = profile.texts[:_FIRST_SEEN]
    if sum(not looks_like_a_date(text) for text in first) > 0.5 * len(first):
        return [], []
    rows_of = dict(zip(profile.texts.tolist(), profile.counts.tolist(), strict=True))
    step = max(1, len(rows_of) // _DATES_READ)
    texts = sorted({*list(rows_of)[::step], *([min(rows_of), max(rows_of)] if rows_of else [])})
    rows = [rows_of[text] for text in texts]
    odd = {text: n for text, n in zip(texts, rows, strict=True) if not looks_like_a_date(text)}
    return ([], []) if _too_many(odd, sum(rows)) else (texts, rows)


def _too_many(odd: Mapping[str, int], rows: int) -> bool:
    """Whether texts are more than a few rows, or a few texts of nearly all rows such as "open"."""
    return sum(odd.values()) > (_OF_WORDS if len(odd) <= _FEW_WORDS else 1 - _READ) * rows


def _read(
    texts: Sequence[str], rows: Sequence[int], written: Written, also: tuple[str, ...] = ()
) -> _Reading | None:
    """The texts in a format, or in others beside it; None if these read too few."""
    form, months, days = written
    found = [time_in(text, *written) for text in texts]
    for other in also:
        found = [time or time_in(text, other) for text, time in zip(texts, found, strict=True)]
    read = [(time, n) for time, n in zip(found, rows, strict=True) if time is not None]
    unread = {text: n for text, time, n in zip(texts, found, rows, strict=True) if time is None}
    usual = sum(n for time, n in read if is_usual(time))
    if _too_many(unread, sum(rows)) or usual < _LEAST_USUAL * sum(n for _, n in read):
        return None
    offsets = {time.utcoffset() for time, _ in read}
    zone = "UTC" if re.search("%[SMf]Z$| UTC$| GMT$", form) or len(offsets) > 1 else ""
    if len(offsets) == 1 and (offset := next(iter(offsets))) is not None:
        zone = zone_of(offset)
    if "%Z" in form:
        zone = zone_in(texts)[1]
    if len(offsets) > 1:
        if None in offsets:
            return None
        read = [(time.astimezone(UTC), n) for time, n in read]
    times = [time.replace(tzinfo=None) for time, _ in read]
    timed = "%M" in form if form else any(len(text) > 10 for text in texts)
    return _Reading(form, months, days, times, [n for _, n in read], unread, zone, len(offsets), timed, also)


def _entry_of_times(profile: Profile) -> tuple[dict[str, Any] | None, list[str]]:
    """The entry of a column of DuckDB's dates or timestamps, and remarks; None if none is of a usual year."""
    form = "%Y-%m-%d" if profile.kind == "DATE" else "%Y-%m-%d %H:%M:%S"
    rows = profile.counts.tolist()
    read = [
        (time, n) for text, n in zip(profile.texts, rows, strict=True) if (time := time_in(text[:19], form))
    ]
    if not any(is_usual(time) for time, _ in read):
        return None, []
    times, counts = (list(part) for part in zip(*read, strict=True))
    entry, remarks = _moments(
        profile,
        _Reading(form, (), (), times, counts, {}, "UTC" if profile.kind == ZONED else "", 1, "%M" in form),
    )
    entry.pop("format", None)
    if any("." in text for text in profile.texts):
        entry["granularity"] = "microsecond"
    return entry, remarks


def _moments(profile: Profile, reading: _Reading) -> tuple[dict[str, Any], list[str]]:
    """The entry of these times, and remarks: whole years around them, without the few far from all others."""
    known = sorted(set(reading.times))
    place = {time: number for number, time in enumerate(known)}
    counts = np.bincount([place[time] for time in reading.times], reading.rows).astype(np.int64)
    seconds = np.array([(time - known[0]).total_seconds() for time in known])
    own = np.isin(seconds, find_atoms((seconds, counts)))
    usual = np.array([is_usual(time) for time in known])
    spread = ~own if (~own & usual).any() else usual
    low, high = likely_range((seconds[spread], counts[spread]))
    # One that many have, at an end, such as a first day of a month, is a date like the others.
    beside = _OUTSIDE_RANGE * (high - low)
    near = usual & (seconds >= low - beside) & (seconds <= high + beside)
    years = [time.year for time, kept in zip(known, near, strict=True) if kept]
    entry: dict[str, Any] = {
        "type": "timestamp" if reading.timed else "date",
        "min": date(min(years), 1, 1).isoformat(),
        "max": date(max(years), 12, 31).isoformat(),
        "bins": AUTO,
        "nullable": profile.nullable,
    }
    if reading.timed:
        entry["min"], entry["max"] = f"{entry['min']}T00:00:00", f"{entry['max']}T23:59:59"
        entry |= _granularity(reading.times)
    elif reading.format and (unit := unit_of(reading.format)) != "day":
        entry["granularity"] = unit
    unit = entry.get("granularity", usual_unit(timed=reading.timed))
    entry |= _rhythm(np.array(known, dtype="datetime64[us]")[near], counts[near], unit)
    # The same in all rows, such as the day of a dump, which no other time of its year is.
    same = len(known) == 1
    atoms = [time for time, one in zip(known, own & ~near, strict=True) if one or same]
    if atoms:
        entry["atoms"] = [(time if reading.timed else time.date()).isoformat() for time in atoms]
    if reading.months:
        entry["months"] = list(reading.months)
    if reading.also:
        entry["also"] = list(reading.also)
    if reading.days:
        entry["days"] = list(reading.days)
    remarks = [FAR] if (~near & ~own).any() else []
    return entry | ({"timezone": reading.zone} if reading.zone else {}), remarks


def _rhythm(
    times: NDArray[np.datetime64], rows: NDArray[np.int64], granularity: str, dated: bool = True
) -> dict[str, Any]:
    """When in a week and in a day times are, unless they come evenly."""
    known = ~np.isnat(times)
    found = TimesCounted.of(times[known], rows[known]).rhythm(Granularity(granularity).seconds, dated=dated)
    return {} if found is None else {"rhythm": found.to_json()}


def _granularity(times: Sequence[datetime]) -> dict[str, str]:
    found = _longest_unit(np.array(times, dtype="datetime64[us]"))
    return {} if found is Granularity.SECOND else {"granularity": found.value}


def _longest_unit(times: NDArray[np.datetime64]) -> Granularity:
    """The longest unit, of at most a day, of which all times are whole numbers; of few times a simple one."""
    simple = len(np.unique(times)) < _FEW_TIMES
    return longest(lambda unit: not (simple and unit.numbers[1] > 1) and bool(unit.begins(times).all()))
