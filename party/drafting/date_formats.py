"""The formats in which tables write dates and timestamps, and how they are told apart."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, timedelta

from ...common.data.attributes.moments import format_time, time_in_format

_DAYS = (
    *("%Y-%m-%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%Y/%m/%d", "%d-%m-%Y", "%m-%d-%Y", "%Y.%m.%d"),
    *("%d-%b-%Y", "%d %b %Y", "%b %d, %Y", "%d %B %Y", "%B %d, %Y", "%d%b%Y", "%d/%b/%Y"),
    *("%b %d %Y", "%B %d %Y"),
    *("%d.%m.%y", "%d/%m/%y", "%m/%d/%y", "%d-%m-%y", "%m-%d-%y", "%d-%b-%y", "%d %b %y"),
    *("%y-%m-%d", "%y/%m/%d", "%y.%m.%d", "%Y年%m月%d日"),
)
MONTHS = ("%Y-%m", "%Y/%m", "%m/%Y", "%b-%Y", "%b %Y", "%B %Y", "%b-%y", "%Ym%m", "%YM%m", "%Y %b")
QUARTERS = ("%YQ%q", "%Y-Q%q", "%Y Q%q", "Q%q %Y", "Q%q/%Y", "Q%q-%Y")
_OF_DIGITS = {"%Y%m%d": 8, "%d%m%Y": 8, "%Y%m": 6, "%Y%m%d%H%M": 12, "%Y%m%d%H%M%S": 14}
_OF_SIX_DIGITS = {"%y%m%d": 6, "%d%m%y": 6}
"""Formats without a mark, and how many digits they have: `strptime` reads fewer too."""

_MANY_DATES = 20
"""Six digits without a year of four are codes unless more texts than this are dates."""

_WITH_WEEKDAYS = (
    *("%a, %d %b %Y", "%a %d %b %Y", "%a, %b %d, %Y", "%a %b %d %Y", "%A, %B %d, %Y", "%A, %d %B %Y"),
    "%a %Y-%m-%d",
    *("%a %b %d %H:%M:%S %Y", "%a %b %d %H:%M:%S %z %Y", "%a, %d %b %Y %H:%M:%S %z"),
)
ISO_8601 = ""
"""The format of whatever `datetime.fromisoformat` reads."""

SHORT = (
    *(ISO_8601, "%Y-%m-%d", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S.%f", "%Y-%m-%dT%H:%M:%S.%f"),
    *("%Y-%m-%dT%H:%M:%S%z", "%Y-%m-%dT%H:%M:%S.%f%z", "%Y-%m-%dT%H:%M:%S.%fZ"),
)
"""Formats that an entry need not name."""

LOOKS_LIKE_A_DATE = re.compile(
    r"[0-9A-Za-z]{1,9}([-./ ,:+]+[0-9A-Za-z]{1,9})+|[0-9]{6}([0-9]{2}){0,4}|[0-9]{4}([mM][0-9]{2}|Q[1-4])"
    r"|[0-9]{2}[A-Za-z]{3}[0-9]{4}|[0-9]{4}年[0-9]{1,2}月[0-9]{1,2}日( [0-9:]{4,8})?"
)
_TIME_OF_DAY = re.compile(
    r".*[0-9日](?P<between>[ T])[0-9]{1,2}:[0-9]{2}(?P<second>:[0-9]{2})?(?P<fraction>[.][0-9]{1,6})?"
    r"(?P<half> ?[AaPp][Mm])?(?P<zone>Z| UTC| ?[-+][0-9]{2}:?[0-9]{2})?"
)
"""A date and a time of day behind it."""

_BETWEEN_HOURS = {
    **{4.5: "Asia/Kabul", 5.5: "Asia/Kolkata", 5.75: "Asia/Kathmandu", 6.5: "Asia/Yangon"},
    **{9.5: "Australia/Darwin"},
}
"""Distance from UTC in hours -> a time zone that has it all year."""

_TRIED = 100
"""Number of texts on which every format is tried; those that read nine in ten are tried on all."""


def formats_of(texts: Sequence[str]) -> list[str]:
    """Formats that read nine in ten of some texts."""
    tried = _some([text for text in texts if LOOKS_LIKE_A_DATE.fullmatch(text)])
    clocks = dict.fromkeys(_clock_of(text) for text in tried[:3])
    digits = [form for form, least in ((_OF_DIGITS, 2), (_OF_SIX_DIGITS, _MANY_DATES)) if len(texts) > least]
    dated = (*MONTHS, *QUARTERS, *(form for forms in digits for form in forms), *_WITH_WEEKDAYS)
    forms = (*(day + clock for clock in clocks for day in _DAYS), *dated, ISO_8601)
    first = [form for form in forms if any(time_in(text, form) is not None for text in tried[:3])]
    return [
        form for form in first if sum(time_in(text, form) is not None for text in tried) >= 0.9 * len(tried)
    ]


def _some(texts: Sequence[str]) -> Sequence[str]:
    return texts[:: max(1, len(texts) // _TRIED)]


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


def as_written(form: str, texts: Sequence[str]) -> str:
    """The format that reads as `form` does, and writes most of some texts as they stand.

    Days and months, or hours, may have no leading zeros; a.m. and p.m. may be small.
    """
    days = form.replace("%d", "%-d").replace("%m", "%-m")
    hours = form.replace("%H", "%-H").replace("%I", "%-I")
    both = days.replace("%H", "%-H").replace("%I", "%-I")
    times = {text: time for text in _some(texts) if (time := time_in(text, form)) is not None}
    small = [one.replace("%p", "%P") for one in (form, days, hours, both)]
    return max(
        dict.fromkeys((form, days, hours, both, *small)),
        key=lambda one: sum(format_time(time, one) == text for text, time in times.items()),
    )


def zone_of(offset: timedelta) -> str:
    """A time zone of this distance from UTC, today; UTC for a distance that no zone has."""
    hours = offset / timedelta(hours=1)
    if hours.is_integer() and hours and -12 <= hours <= 14:
        return f"Etc/GMT{-int(hours):+d}"
    return _BETWEEN_HOURS.get(hours, "UTC")


def in_several_formats(texts: Sequence[str]) -> bool:
    """Whether every text, or nearly, is a date in one of several formats."""
    tried = _some(texts)
    read = [any(time_in(text, day + _clock_of(text)) is not None for day in _DAYS) for text in tried]
    return len(tried) > 2 and sum(read) >= 0.99 * len(tried)


def time_in(text: str, form: str) -> datetime | None:
    """The time in a text; None if it is not in this format, or digits alone would be of an unusual year."""
    digits = _OF_DIGITS.get(form) or _OF_SIX_DIGITS.get(form)
    if digits is not None and len(text) != digits:
        return None
    try:
        time = time_in_format(text, form) if form else _time_of_iso(text)
    except ValueError:
        return None
    # strftime writes years of fewer than four digits without zeros.
    return time if time.year >= 1000 and (digits is None or is_usual(time)) else None


def _time_of_iso(text: str) -> datetime:
    if not re.match("[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
        raise ValueError("a week, or digits alone")
    return datetime.fromisoformat(text)


def is_usual(time: datetime) -> bool:
    """Whether a date is of a year that is not likely to stand for something else, as 9999 is."""
    return 1800 <= time.year <= 2200
