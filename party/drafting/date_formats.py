"""The formats in which tables write dates and timestamps, and how they are told apart."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from ...common.data.attributes.moments import format_time, short_fraction, time_in_format
from ...common.forms.date_formats import days_in, formats_in, months_in, short, written_together
from ...common.forms.date_lists import OFFSET, SHORT_DAY, SHORT_HOUR, SHORT_OFFSET
from ...common.forms.day_names import Days
from ...common.forms.month_names import Months
from ...common.forms.zone_names import ZONE_NAME, zone_named

_OF_DIGITS = {
    "%Y%m%d": 8,
    "%d%m%Y": 8,
    "%m%d%Y": 8,
    "%Y%m": 6,
    "%m.%Y": 7,
    "%Y%m%d%H%M": 12,
    "%Y%m%d%H%M%S": 14,
}
_OF_SIX_DIGITS = {"%y%m%d": 6, "%d%m%y": 6, "%m%d%y": 6}
_LENGTHS = {*_OF_DIGITS.values(), *_OF_SIX_DIGITS.values()} - {_OF_DIGITS["%m.%Y"]}
"""Formats without a mark, and how many digits they have: `strptime` reads fewer too."""

_MANY_DATES = 20
"""Six digits without a year of four are codes unless more texts than this are dates."""

ISO_8601 = ""
"""The format of whatever `datetime.fromisoformat` reads."""

SHORT = (
    *(ISO_8601, "%Y-%m-%d", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M:%S.%f"),
    *(f"%Y-%m-%dT%H:%M:%S{OFFSET}", f"%Y-%m-%dT%H:%M:%S.%f{OFFSET}"),
)
"""Formats that an entry need not name."""

_ISO_DAY = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIME_OF_DAY = re.compile(
    r"(?P<day>.*[0-9日])(?P<between>,? |T)[0-9]{1,2}:[0-9]{2}(?P<second>:[0-9]{2})?"
    r"(?P<fraction>[.][0-9]{1,6})?(?P<half> ?[AaPp][Mm])?(?P<zone>Z| UTC| GMT| ?[-+][0-9]{2}(:?[0-9]{2})?)?"
)
"""A date and a time of day behind it."""

_BETWEEN_HOURS = {
    **{4.5: "Asia/Kabul", 5.5: "Asia/Kolkata", 5.75: "Asia/Kathmandu", 6.5: "Asia/Yangon"},
    **{9.5: "Australia/Darwin"},
}
"""Distance from UTC in hours -> a time zone that has it all year."""

_UNREAD = 0.01
"""Share of texts that need not be read in any of several formats."""

_TRIED = 100
"""Number of texts on which every format is tried; those that read nine in ten are tried on all."""


Written = tuple[str, Months, Days]
"""A format, and the names of months and of days of the week that it writes; none for those in English."""


def looks_like_a_date(text: str) -> bool:
    """Whether a text has the shape of a date in some format."""
    of_digits = text.isascii() and text.isdigit() and len(text) in _LENGTHS
    return of_digits or _ISO_DAY.match(text) is not None or next(_formats_in(text), None) is not None


def formats_of(texts: Sequence[str]) -> list[Written]:
    """Formats that read nine in ten of some texts."""
    tried = _some([text for text in texts if looks_like_a_date(text)])
    digits = [form for form, least in ((_OF_DIGITS, 2), (_OF_SIX_DIGITS, _MANY_DATES)) if len(texts) > least]
    seen = (form for text in tried for form in _formats_in(text))
    forms = dict.fromkeys((*seen, *(form for forms in digits for form in forms), ISO_8601))
    written = dict.fromkeys(_with_names(form, tried) for form in forms)
    return [
        one for one in written if sum(time_in(text, *one) is not None for text in tried) >= 0.9 * len(tried)
    ]


def _formats_in(text: str) -> Iterator[str]:
    """The formats that a text has by its shape, perhaps one of a date with any time of day behind it."""
    yield from (form.replace("%P", "%p") for form in formats_in(text))
    match = _TIME_OF_DAY.fullmatch(text)
    if match is not None:
        half, zone = match["half"] or "", match["zone"] or ""
        clock = ("%I:%M" if half else "%H:%M") + (":%S" if match["second"] else "")
        clock += (".%f" if match["fraction"] else "") + (" %p" if " " in half else "%p" if half else "")
        length = len(zone.strip())
        offset = SHORT_OFFSET if length == len("+00") else OFFSET if ":" in zone else "%z"
        named = zone if zone[-1:] in ("", "Z", "C", "T") else zone[:-length] + offset
        yield from (f"{day}{match['between']}{clock}{named}" for day in formats_in(match["day"]))


def _with_names(form: str, texts: Sequence[str]) -> Written:
    if "%Z" in form:
        form = form.replace("%Z", zone_in(texts)[0])
    months = months_in(texts) if "%N" in form else ()
    days = days_in(texts) if "%K" in form else ()
    return form.replace("%N", "%b").replace("%K", "%a"), months, days


def zone_in(texts: Sequence[str]) -> tuple[str, str]:
    """The name of a time zone behind most texts, and none; or `%Z` and the zone whose names alternate."""
    return zone_named(Counter(found[0] for text in texts if (found := ZONE_NAME.search(text))))


def _some(texts: Sequence[str]) -> Sequence[str]:
    return texts[:: max(1, len(texts) // _TRIED)]


def as_written(form: str, texts: Sequence[str], months: Months = (), days: Days = ()) -> str:
    """The format that reads as `form` does, and writes most of some texts as they stand.

    Days and months, or hours, may have no leading zeros; a.m. and p.m. may be small; fractions may be zeros.
    """
    forms = [short(form, detail) for detail in range(SHORT_DAY + SHORT_HOUR + 1)]
    times = {text: time for text in _some(texts) if (time := time_in(text, form, months, days)) is not None}
    forms += [one.replace("%p", "%P") for one in forms]
    forms += [
        one.replace("%f", zeros) for one in forms for zeros in ("0" * digits for digits in range(1, 10))
    ] + [one.replace("%f", f"%f{'0' * digits}") for one in forms for digits in (3, 6)]

    finest = math.gcd(*(time.microsecond for time in times.values()))

    def texts_kept(one: str) -> tuple[int, int]:
        whole = [text == format_time(time, one, months, days) for text, time in times.items()]
        # Milliseconds have three digits; zeros that all have may be written as they stand.
        short_ones = [
            text == format_time(time, short_fraction(time, one), months, days) for text, time in times.items()
        ]
        if finest and finest % 1000 == 0:
            return sum(short_ones), 0
        return sum(map(max, whole, short_ones)), sum(whole)

    return max(dict.fromkeys(forms), key=texts_kept)


def zone_of(offset: timedelta) -> str:
    """A time zone of this distance from UTC, today; UTC for a distance that no zone has."""
    hours = offset / timedelta(hours=1)
    if hours.is_integer() and hours and -12 <= hours <= 14:
        return f"Etc/GMT{-int(hours):+d}"
    return _BETWEEN_HOURS.get(hours, "UTC")


def formats_together(texts: Sequence[str]) -> tuple[str, ...]:
    """The formats of which nearly every text is in one, that of most first; none if some may be in two."""
    tried = _some(texts)
    left, found = tried, list[str]()
    while len(left) > _UNREAD * len(tried):
        seen = Counter(
            form
            for text in left
            for form in dict.fromkeys(_formats_in(text))
            if time_in(text, form) is not None
        )
        if not seen:
            return ()
        found.append(max(seen, key=seen.__getitem__))
        left = [text for text in left if time_in(text, found[-1]) is None]
    if len({"%H" in form for form in found}) != 1 or written_together(found[0], found[1:]) != tuple(
        found[1:]
    ):
        return ()
    return tuple(found)


def in_several_formats(texts: Sequence[str]) -> bool:
    """Whether every text, or nearly, is a date in one of several formats."""
    tried = _some(texts)
    read = [
        any(time_in(text, *_with_names(form, [text])) is not None for form in _formats_in(text))
        for text in tried
    ]
    return len(tried) > 2 and sum(read) >= (1 - _UNREAD) * len(tried)


def time_in(text: str, form: str, months: Months = (), days: Days = ()) -> datetime | None:
    """The time in a text; None if it is not in this format, or digits alone would be of an unusual year."""
    digits = _OF_DIGITS.get(form) or _OF_SIX_DIGITS.get(form)
    if digits is not None and len(text) != digits:
        return None
    try:
        time = time_in_format(text, form, months, days) if form else _time_of_iso(text)
    except ValueError:
        return None
    # strftime writes years of fewer than four digits without zeros.
    return time if time.year >= 1000 and (digits is None or is_usual(time)) else None


def _time_of_iso(text: str) -> datetime:
    if not _ISO_DAY.match(text):
        raise ValueError("a week, or digits alone")
    return datetime.fromisoformat(text)


def is_usual(time: datetime) -> bool:
    """Whether a date is of a year that is not likely to stand for something else, as 9999 is."""
    return 1800 <= time.year <= 2200
