"""The forms of dates, timestamps, times of day and durations; see `forms`.

A form is a format, in which a and b are a day and a month in an order that the values show, and a detail:
whether a day or month, or an hour, is seen to have one digit.
"""

from __future__ import annotations

import re

from ...common.data.attributes.clock import Clock
from ...party.sources.sql import quote

SHORT_DAY, SHORT_HOUR = 1, 2
"""Details, which add up; 0 where every part has two digits."""

_DATES = {
    r"D{4}-D{2}-D{2}": "%Y-%m-%d",
    r"D{1,2}\.D{1,2}\.D{4}": "%d.%m.%Y",
    r"D{1,2}\.D{1,2}\.D{2}": "%d.%m.%y",
    r"D{4}/D{1,2}/D{1,2}": "%Y/%m/%d",
    r"D{1,2}/D{1,2}/D{4}": "a/b/%Y",
    r"D{1,2}/D{1,2}/D{2}": "a/b/%y",
    r"D{1,2}-D{1,2}-D{4}": "a-b-%Y",
    r"D{1,2}-[A-Z][a-z]{2}-D{4}": "%d-%b-%Y",
    r"D{1,2}-[A-Z][a-z]{2}-D{2}": "%d-%b-%y",
    r"D{1,2} [A-Z][a-z]{2} D{4}": "%d %b %Y",
    r"[A-Z][a-z]{2} D{1,2}, D{4}": "%b %d, %Y",
    r"[A-Z][a-z]{3,8} D{1,2}, D{4}": "%B %d, %Y",
    r"D{4}-D{2}": "%Y-%m",
}

_TIMES = {
    r"D{1,2}:D{2}": "%H:%M",
    r"D{1,2}:D{2}:D{2}": "%H:%M:%S",
    r"D{1,2}:D{2}:D{2}\.D{1,9}": "%H:%M:%S.%f",
    r"D{1,2}:D{2} ?[AP]M": "%I:%M %p",
    r"D{1,2}:D{2}:D{2} ?[AP]M": "%I:%M:%S %p",
}
_ZONES = {"": "", "Z": "Z", r"[-+]D{2}:?D{2}": "%z"}

_YEAR, _MONTH, _DAY = "(19|20)[0-9]{2}", "(0[1-9]|1[0-2])", "(0[1-9]|[12][0-9]|3[01])"
OF_DIGITS = {"\1": "%Y%m%d", "\2": "%Y%m", "\3": "%Y%m%d%H%M%S"}
"""Shape -> format of dates that are whole numbers, unless most cells of a column are such dates."""

_PATTERNS = {
    "%Y%m%d": f"{_YEAR}{_MONTH}{_DAY}([.]0)?",
    "%Y%m": f"{_YEAR}{_MONTH}([.]0)?",
    "%Y%m%d%H%M%S": f"{_YEAR}{_MONTH}{_DAY}([01][0-9]|2[0-3])([0-5][0-9]){{2}}([.]0)?",
}
"""A float writes a point and a zero."""

_OF_CLOCK = "\4"
"""What the shape of a time of day or a duration begins with, such as 8:30 or 130:05:59."""

_CLOCK = "[0-9]{1,4}(:[0-5][0-9]){1,2}"
_SHAPE_OF_CLOCK = re.compile(_OF_CLOCK + "[09]{1,4}(:[09]{2}){1,2}")


def _formats() -> tuple[tuple[re.Pattern[str], str], ...]:
    found = []
    for shape, date in _DATES.items():
        found.append((f"(?P<date>{shape})", date))
        for time, clock in _TIMES.items():
            for gap in (" ", "T"):
                for zone, mark in _ZONES.items():
                    if date == "%Y-%m" or (gap + zone != " " and not date.startswith("%Y")):
                        continue
                    written = f"(?P<date>{shape}){gap}(?P<time>{time}){zone}"
                    found.append((written, f"{date}{gap}{clock}{mark}"))
    return tuple((re.compile(shape.replace("D", "[09]")), form) for shape, form in found)


_FORMATS = _formats()

CLOCKS = {"%H:%M": "H:MM", "%H:%M:%S": "H:MM:SS"}
"""Format -> how a `Clock` calls it, of times of day and durations, which have no date."""


def _details(pattern: str, form: str) -> tuple[int, ...]:
    """The details that a form can have."""
    days = (0, SHORT_DAY) if "[09]{1,2}" in pattern.partition("(?P<time>")[0] else (0,)
    hours = (0, SHORT_HOUR) if "%H" in form or "%I" in form else (0,)
    return tuple(day + hour for day in days for hour in hours)


DATES = tuple(
    dict.fromkeys(
        [
            *((form, detail) for pattern, form in _FORMATS for detail in _details(pattern.pattern, form)),
            *((form, 0) for form in OF_DIGITS.values()),
            *((form, hour) for form in CLOCKS for hour in (0, SHORT_HOUR)),
        ]
    )
)
"""All formats with their details."""


def digits_sql(text: str) -> str:
    """The branches of an SQL expression that give dates of digits a shape of their own.

    Args:
        text: expression of the cell's text.
    """
    return " ".join(
        f"WHEN regexp_full_match({text}, {quote(_PATTERNS[form])}) THEN chr({ord(shape)})"
        for shape, form in OF_DIGITS.items()
    )


def clock_sql(text: str) -> str:
    """The branch of an SQL expression that gives times of day and durations a shape of their own."""
    matched = f"regexp_full_match({text}, {quote(_CLOCK)})"
    return f"WHEN {matched} THEN chr({ord(_OF_CLOCK)}) || translate({text}, '123456789', '999999999')"


def clock_time_sql(text: str) -> str:
    """The SQL expression of the time that a text of a clock states, from 1970 on; NULL if it states none."""
    parts = quote("^([0-9]{1,4}):([0-5][0-9])(:([0-5][0-9]))?$")
    hours, minutes, seconds = (
        f"try_cast(regexp_extract({text}, {parts}, {group}) AS BIGINT)" for group in (1, 2, 4)
    )
    return f"make_timestamp((({hours} * 60 + {minutes}) * 60 + coalesce({seconds}, 0)) * 1000000)"


def clock_in(shape: str) -> tuple[str, int] | None:
    """The format and the detail of cells of a shape; None if they are no times of day or durations."""
    if not _SHAPE_OF_CLOCK.fullmatch(shape):
        return None
    hours, *parts = shape.removeprefix(_OF_CLOCK).split(":")
    return tuple(CLOCKS)[len(parts) - 1], SHORT_HOUR if len(hours) == 1 else 0


def clock_of(form: str, detail: int) -> Clock | None:
    """What cells of a format are; None if it has a date."""
    if form not in CLOCKS:
        return None
    return Clock.of(CLOCKS[form] if detail & SHORT_HOUR else f"H{CLOCKS[form]}")


def date_in(shape: str) -> tuple[str, int] | None:
    """The format and the detail of cells of a shape; None if they are no dates."""
    for pattern, form in _FORMATS:
        match = pattern.fullmatch(shape)
        if match is not None:
            parts = match.groupdict()
            day = SHORT_DAY if re.search(r"(?<![09])[09](?![09])", parts["date"]) else 0
            hour = SHORT_HOUR if re.match(r"[09]:", parts.get("time") or "") else 0
            return form, day + hour
    return None


def short(form: str, detail: int) -> str:
    """The format in which a day and month, or an hour, may have one digit."""
    if detail & SHORT_DAY:
        form = form.replace("%d", "%-d").replace("%m", "%-m")
    return form.replace("%H", "%-H").replace("%I", "%-I") if detail & SHORT_HOUR else form
