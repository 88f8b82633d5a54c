"""Drafts the entry of a column of dates, timestamps, times of day, or calendar weeks and quarters."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

import numpy as np

from ...common.data.numeric import AUTO
from .cells import ZONED
from .numbers import FAR, find_atoms, likely_range
from .profile import Profile

_DAYS = (
    *("%Y-%m-%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%Y/%m/%d", "%d-%m-%Y", "%m-%d-%Y", "%Y.%m.%d"),
    *("%d-%b-%Y", "%d %b %Y", "%b %d, %Y", "%d %B %Y", "%B %d, %Y", "%d%b%Y", "%d/%b/%Y"),
    *("%d.%m.%y", "%d/%m/%y", "%m/%d/%y", "%d-%b-%y"),
)
_MONTHS = ("%Y-%m", "%Y/%m", "%m/%Y", "%b-%Y", "%b %Y", "%B %Y", "%b-%y", "%Ym%m", "%YM%m")
_OF_DIGITS = ("%Y%m%d", "%Y%m", "%Y%m%d%H%M%S")
_WITH_WEEKDAYS = ("%a %b %d %H:%M:%S %Y", "%a %b %d %H:%M:%S %z %Y", "%a, %d %b %Y %H:%M:%S %z")
_CLOCKS = ("%H:%M:%S", "%H:%M", "%I:%M:%S %p", "%I:%M %p", "%I:%M:%S%p", "%I:%M%p")
_ISO_8601 = ""
"""The format of whatever `datetime.fromisoformat` reads."""

_SHORT = (
    *(_ISO_8601, "%Y-%m-%d", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S.%f", "%Y-%m-%dT%H:%M:%S.%f"),
    *("%Y-%m-%dT%H:%M:%S%z", "%Y-%m-%dT%H:%M:%S.%f%z", "%Y-%m-%dT%H:%M:%S.%fZ"),
)
"""Formats that an entry need not name."""

_LOOKS_LIKE_A_DATE = re.compile(
    r"[0-9A-Za-z]{1,9}([-./ ,T:+]+[0-9A-Za-z]{1,9})+|[0-9]{6}([0-9]{2}){0,4}|[0-9]{4}[mM][0-9]{2}"
    r"|[0-9]{2}[A-Za-z]{3}[0-9]{4}"
)
_TIME_OF_DAY = re.compile(
    r".*[0-9](?P<between>[ T])[0-9]{1,2}:[0-9]{2}(?P<second>:[0-9]{2})?(?P<fraction>[.][0-9]{1,6})?"
    r"(?P<half> ?[AaPp][Mm])?(?P<zone>Z| UTC| ?[-+][0-9]{2}:?[0-9]{2})?"
)
"""A date and a time of day behind it."""

_LOOKS_LIKE_A_CLOCK = re.compile(r"[0-9]{1,2}:[0-9]{2}(:[0-9]{2})?( ?[AaPp][Mm])?")

_READ = 0.99
"""Share of the rows that a format has to read; the others count as missing."""

_TRIED = 100
"""Number of texts on which every format is tried; those that read nine in ten are tried on all."""

_DATES_READ = 20_000
"""Of more different dates than this, some are read."""


@dataclass(frozen=True, eq=False)
class _Reading:
    """The texts of a column, read in one format.

    Attributes:
        format: as of `datetime.strptime`.
        times: the times that were read, in local time or in UTC.
        rows: number of rows of each.
        unread: number of rows that cannot be read.
        zone: IANA name of their time zone; empty if they name none.
        timed: whether they are timestamps; otherwise dates.
    """

    format: str
    times: list[datetime]
    rows: list[int]
    unread: int
    zone: str
    timed: bool


def draft_date(profile: Profile) -> tuple[dict[str, Any] | None, list[str]]:
    """Drafts the entry of a column whose texts are nearly all dates or timestamps; None if they are not.

    Args:
        profile: of the column.

    Returns:
        The entry, and remarks for the owner.
    """
    if profile.kind == "DATE" or profile.kind.startswith("TIMESTAMP"):
        return _typed(profile)
    texts, rows = _some(profile)
    if not texts:
        return None, []
    found = [one for form in _formats(texts) if (one := _read(texts, rows, form)) is not None]
    if not found:
        return None, []
    best = min(found, key=lambda one: one.unread)
    alike = [one for one in found if one.unread == best.unread and one.format != _ISO_8601]
    remarks = []
    if len(alike) > 1:
        remarks.append(f"its dates can be read in {len(alike)} formats; check the first, {best.format}")
    if "%y" in best.format:
        remarks.append("its years have two digits, and are read as 1969 to 2068; check them")
    if best.zone == "UTC" and ("%z" in best.format or not best.format):
        remarks.append('its times are read in UTC; name their "timezone", such as Europe/Berlin')
    entry, far = _moments(profile, best)
    if best.unread:
        entry |= {"nullable": True, "unreadable": "missing"}
        remarks.append(
            f"{best.unread} of {profile.rows} rows hold no date in this format; they count as missing"
        )
    return entry, [*remarks, *far]


def draft_clock(profile: Profile) -> dict[str, Any] | None:
    """Drafts the entry of a column of times of day, as timestamps of one day; None if they are none."""
    texts = profile.texts.tolist()
    if not texts or not all(_LOOKS_LIKE_A_CLOCK.fullmatch(text) for text in texts):
        return None
    for form in _CLOCKS:
        times = [time for text in texts if (time := _time(text, form)) is not None]
        if len(times) == len(texts):
            day = {"type": "timestamp", "min": "1900-01-01T00:00:00", "max": "1900-01-01T23:59:59"}
            more = {"bins": AUTO, "nullable": profile.nullable, "format": form}
            return day | more | _granularity(times)
    return None


def draft_calendar(profile: Profile) -> dict[str, Any] | None:
    """Drafts the entry of a column of weeks or quarters, as categories of whole years; None if none."""
    texts = profile.texts.tolist()
    for shape, count in ((r"([0-9]{4})(-?W)([0-9]{2})", 53), (r"([0-9]{4})([- ]?Q)([1-4])", 4)):
        found = [re.fullmatch(shape, text) for text in texts]
        if not texts or not all(found) or len({one[2] for one in found if one}) > 1:
            continue
        between, width = found[0][2], len(found[0][3])  # type: ignore[index]
        years = sorted(int(one[1]) for one in found if one)
        if years[-1] - years[0] >= 100:
            return None
        listed = [
            f"{year}{between}{number:0{width}d}"
            for year in range(years[0], years[-1] + 1)
            for number in range(1, _last(year, count) + 1)
        ]
        if set(texts) <= set(listed):
            return {"type": "categorical", "categories": [""] * profile.nullable + listed, "ordered": True}
    return None


def _last(year: int, count: int) -> int:
    """The number of weeks (as of ISO 8601) or quarters of a year."""
    return date(year, 12, 28).isocalendar().week if count == 53 else count


def _some(profile: Profile) -> tuple[list[str], list[int]]:
    """Texts and their rows, or some of them; none if too many do not look like dates.

    They are in order: ISO dates begin with the first and end with the last.
    """
    order = np.argsort(profile.texts, kind="stable")
    step = max(1, len(order) // _DATES_READ)
    picked = np.unique(np.append(order[::step], order[-1:]))
    texts, rows = profile.texts[picked].tolist(), profile.counts[picked].tolist()
    odd = sum(n for text, n in zip(texts, rows, strict=True) if not _LOOKS_LIKE_A_DATE.fullmatch(text))
    return (texts, rows) if odd <= (1 - _READ) * sum(rows) else ([], [])


def _formats(texts: Sequence[str]) -> list[str]:
    """Formats that read nine in ten of some texts."""
    tried = texts[:: max(1, len(texts) // _TRIED)]
    clocks = dict.fromkeys(_clock_of(text) for text in tried[:3])
    dated = (*_MONTHS, *(_OF_DIGITS if len(texts) > 2 else ())) if "" in clocks else _WITH_WEEKDAYS
    forms = (*(day + clock for clock in clocks for day in _DAYS), *dated, _ISO_8601)
    first = [form for form in forms if any(_time(text, form) is not None for text in tried[:3])]
    return [
        form for form in first if sum(_time(text, form) is not None for text in tried) >= 0.9 * len(tried)
    ]


def _clock_of(text: str) -> str:
    """The format of the time of day behind a date; empty if there is none."""
    match = _TIME_OF_DAY.fullmatch(text)
    if match is None:
        return ""
    half, zone = match["half"] or "", match["zone"] or ""
    clock = ("%I:%M" if half else "%H:%M") + (":%S" if match["second"] else "")
    clock += (".%f" if match["fraction"] else "") + (" %p" if " " in half else "%p" if half else "")
    named = zone if zone in ("", "Z", " UTC") else " %z" if " " in zone else "%z"
    return f"{match['between']}{clock}{named}"


def _read(texts: Sequence[str], rows: Sequence[int], form: str) -> _Reading | None:
    """The texts in a format; None if it reads too few."""
    read = [(time, n) for text, n in zip(texts, rows, strict=True) if (time := _time(text, form)) is not None]
    unread, usual = sum(rows) - sum(n for _, n in read), sum(n for time, n in read if _is_usual(time))
    if unread > (1 - _READ) * sum(rows) or usual < 0.5 * sum(rows):
        return None
    offsets = {time.utcoffset() for time, _ in read}
    zone = "UTC" if form.endswith(("Z", " UTC")) else "" if offsets == {None} else _zone_of(offsets)
    if len(offsets) > 1:
        if None in offsets:
            return None
        read = [(time.astimezone(UTC), n) for time, n in read]
    times = [time.replace(tzinfo=None) for time, _ in read]
    timed = "%M" in form if form else any(len(text) > 10 for text in texts)
    return _Reading(form, times, [n for _, n in read], unread, zone, timed)


def _zone_of(offsets: set[timedelta | None]) -> str:
    """The zone of times that all have one offset of whole hours; otherwise UTC."""
    (offset, *others) = offsets
    hours = (offset or timedelta()) / timedelta(hours=1)
    if others or not hours.is_integer() or not -12 <= hours <= 14 or hours == 0:
        return "UTC"
    return f"Etc/GMT{-int(hours):+d}"


def _time(text: str, form: str) -> datetime | None:
    """The time in a text; None if it is not in this format, or digits alone would be of an unusual year."""
    try:
        time = datetime.strptime(text, form) if form else datetime.fromisoformat(text)
    except ValueError:
        return None
    # strftime writes years of fewer than four digits without zeros.
    return time if time.year >= 1000 and (form not in _OF_DIGITS or _is_usual(time)) else None


def _is_usual(time: datetime) -> bool:
    return 1800 <= time.year <= 2200


def _typed(profile: Profile) -> tuple[dict[str, Any] | None, list[str]]:
    """The entry of a column of DuckDB's dates or timestamps, and remarks; None if none is of a usual year."""
    form = "%Y-%m-%d" if profile.kind == "DATE" else "%Y-%m-%d %H:%M:%S"
    rows = profile.counts.tolist()
    read = [
        (time, n) for text, n in zip(profile.texts, rows, strict=True) if (time := _time(text[:19], form))
    ]
    if not any(_is_usual(time) for time, _ in read):
        return None, []
    times, counts = (list(part) for part in zip(*read, strict=True))
    entry, remarks = _moments(
        profile, _Reading(form, times, counts, 0, "UTC" if profile.kind == ZONED else "", "%M" in form)
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
    usual = np.array([_is_usual(time) for time in known])
    spread = ~own if (~own & usual).any() else usual
    low, high = likely_range((seconds[spread], counts[spread]))
    near = usual & (seconds >= low) & (seconds <= high)
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
    elif reading.format in (*_MONTHS, "%Y%m"):
        entry["granularity"] = "month"
    atoms = [time for time, one in zip(known, own & ~near, strict=True) if one]
    if atoms:
        entry["atoms"] = [(time if reading.timed else time.date()).isoformat() for time in atoms]
    if reading.format not in _SHORT:
        entry["format"] = reading.format
    remarks = [FAR] if (~near & ~own).any() else []
    return entry | ({"timezone": reading.zone} if reading.zone else {}), remarks


def _granularity(times: Sequence[datetime]) -> dict[str, str]:
    if any(time.microsecond % 1000 for time in times):
        return {"granularity": "microsecond"}
    if any(time.microsecond for time in times):
        return {"granularity": "millisecond"}
    if any(time.second for time in times):
        return {}
    if any(time.minute for time in times):
        return {"granularity": "minute"}
    return {"granularity": "hour" if any(time.hour for time in times) else "day"}
