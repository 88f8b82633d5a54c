"""The formats in which tables write dates and timestamps, by how usual they are; see `date_formats`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import product

SHORT_DAY, SHORT_HOUR = 1, 2
"""Details, which add up; 0 where every part has two digits."""

_DAYS = (
    *("%Y-%m-%d", "%d.%m.%Y", "%d.%m.%y", "%Y/%m/%d", "a/b/%Y", "a/b/%y", "a-b-%Y"),
    *("%d-%b-%Y", "%d-%b-%y", "%d %b %Y", "%b %d, %Y", "%B %d, %Y"),
)
_TIMES = ("%H:%M", "%H:%M:%S", "%H:%M:%S.%f", "%I:%M %p", "%I:%M:%S %p")

_NAMED = (
    *("%d %b %Y", "%d. %b %Y", "%d-%b-%Y", "%d-%b-%y", "%d/%b/%Y", "%d%b%Y", "%d%b%y", "%d de %b de %Y"),
    *("%b %d, %Y", "%b %d %Y", "%Y-%b-%d", "%b-%y", "%b-%Y", "%b %Y", "%b %y", "%b/%Y", "%b/%y", "%b de %Y"),
    *("%d %b %y", "%d. %b %y", "%Y %b", "%Y-%b"),
)
"""Dates with the name of a month, of any kind."""

_NAMED_STAMPS = (
    *("%d%b%Y:%H:%M:%S", "%d%b%Y:%H:%M:%S.%f", "%d%b%y:%H:%M:%S", "%d/%b/%Y:%H:%M:%S %z"),
    *("%d %b %Y %H:%M", "%d %b %Y %H:%M:%S", "%d. %b %Y %H:%M", "%d. %b %Y, %H:%M", "%d-%b-%Y %H:%M:%S"),
    *("%b %d %Y %I:%M%p", "%b %d, %Y, %I:%M:%S %p"),
    *("%d %b %Y, %H:%M", "%d %b %Y, %H:%M:%S", "%d %b %Y %I:%M %p", "%d %b %Y, %I:%M %p", "%d-%b-%Y %H:%M"),
    *("%d-%b-%y %H:%M", "%d-%b-%Y %I:%M %p", "%b %d, %Y %H:%M", "%b %d, %Y %H:%M:%S", "%b %d, %Y, %H:%M"),
    *("%b %d, %Y %I:%M %p", "%b %d, %Y, %I:%M %p", "%b %d, %Y at %I:%M %p", "%b %d, %Y %I:%M:%S %p"),
)

OF_YEAR = "\6"
"""What the shape of a part of a year in digits, and a year, begins with, such as 03/2021 or 2021Q1."""

OFFSET, SHORT_OFFSET = "%:z", "%:::z"
"""Distances from UTC as in ISO 8601, such as +02:00, and as short as they can be, such as +02 and +05:30;
%z is +0200."""

_SECONDS = ("%H:%M:%S", "%H:%M:%S.%f")

PARTS_OF_YEAR = (
    "(0?[1-9]|1[0-2])/(19|20)[0-9]{2}|[0-9]{4}[-/mM](0[1-9]|1[0-2])|(19|20)[0-9]{2}-[0-3][0-9]{2}"
    "|(19|20)[0-9]{2}[- ]?[QT][1-4]|[QT][1-4][-/ ](19|20)[0-9]{2}"
)
"""What is one: 2021-13 and 2021/22 are of no month, and 2021-400 is no day of a year."""

_DAY, _MONTH = "(0?[1-9]|[12][0-9]|3[01])", "(0?[1-9]|1[0-2])"
_TWO, _FOUR = "[0-9]{2}", "[0-9]{4}"
OF_DIGITS_ALONE = rf"[0-9]{{1,2}}([-./])[0-9]{{1,2}}[-./]({_FOUR}|{_TWO})"
DAYS_OF_DIGITS = "|".join(
    f"{first}{mark}{second}{mark}{third}"
    for mark in ("-", "[.]", "/")
    for first, second, third in (
        *((_DAY, _MONTH, f"({_FOUR}|{_TWO})"), (_MONTH, _DAY, f"({_FOUR}|{_TWO})"), (_TWO, _MONTH, _DAY)),
    )
)
"""Three numbers that may be a date, and those that are one in some order."""

_RARE_DAYS = (
    *("%Y.%m.%d", "%Y年%m月%d日", "%Y년 %m월 %d일", "%Y. %m. %d.", "%d. %m. %Y"),
    *("%a, %d %b %Y", "%a %d %b %Y", "%a, %b %d, %Y", "%a %b %d %Y", "%A, %B %d, %Y", "%A, %d %B %Y"),
    *("%a %Y-%m-%d", "%o %N %Y"),
    *("%m/%Y", "%YQ%q", "%Y-Q%q", "%Y Q%q", "Q%q-%Y", "Q%q/%Y", "Q%q %Y"),
    *("a-b-%y", "%A %d %B %Y", "%a %d.%m.%Y", "%a, %d.%m.%Y", "%Y/%m", "%Ym%m", "%YM%m", "%Y-%j"),
    *(
        "%G-W%V",
        "%GW%V",
        "%G W%V",
        "W%V %G",
        "W%V-%G",
        "W%V/%G",
        "KW %V/%G",
        "KW%V/%G",
        "KW%V %G",
        "KW %V %G",
    ),
    *("%G-KW%V", "%G/KW%V", "%G KW%V", "%G-W%V-%u"),
)
_RARE_STAMPS = (
    *("%Y.%m.%d %H:%M", "%Y.%m.%d %H:%M:%S", "%Y年%m月%d日 %H:%M", "%Y. %m. %d. %H:%M"),
    *("a/b/%Y %I:%M %P", "a/b/%Y %I:%M:%S %P", "a/b/%Y %I:%M%p", "a/b/%Y %Hh%M", "a-b-%Y %Hh%M"),
    *("a/b/%Y, %H:%M", "a/b/%Y, %H:%M:%S", "a/b/%Y, %I:%M %p", "a/b/%Y, %I:%M:%S %p"),
    *("%d.%m.%Y, %H:%M", "%d.%m.%Y, %H:%M:%S", "%d. %m. %Y %H:%M"),
    *("%Y-%m-%d %H:%M UTC", "%Y-%m-%d %H:%M:%S UTC", "%Y-%m-%d %H:%M:%S.%f UTC"),
    *("%Y-%m-%d %H:%M:%S %z", "%Y-%m-%d %H:%M:%S.%f %z"),
    *("%a, %d %b %Y %H:%M:%S GMT", "%a, %d %b %Y %H:%M:%S %z", "%a %b %d %H:%M:%S %Y"),
    *(
        "%a %b %d %H:%M:%S UTC %Y",
        "%a %b %d %H:%M:%S %z %Y",
        "a/b/%y, %H:%M",
        "a/b/%y, %H:%M:%S",
        "a/b/%y, %I:%M %p",
    ),
    *("%d.%m.%y, %H:%M", "%d.%m.%y, %H:%M:%S", "%d.%m.%Y %H:%M Uhr", "%d.%m.%Y, %H:%M Uhr", "a-b-%y %H:%M"),
)

_LATE_DAYS = (
    *("%YT%q", "%Y-T%q", "%Y T%q", "T%q-%Y", "T%q/%Y", "T%q %Y"),
    *("S%V/%G", "S%V-%G", "S%V %G", "%G-S%V", "%GS%V"),
)
"""Quarters and weeks in French."""

_NAMED_DAYS = (
    *(
        f"%K{gap}{day}"
        for gap in (" ", ", ", ". ", "., ")
        for day in ("%d.%m.%Y", "%d.%m.%y", "%d/%m/%Y", "%d-%m-%Y", "%Y-%m-%d", "%d. %N %Y", "%d %N %Y")
    ),
    *("%K, den %d. %N %Y", "%K %o %N %Y", "%K, %d de %N de %Y", "%K %d de %N de %Y", "%A, %d. %B %Y"),
    *("%K, %d.%m.%Y %H:%M", "%K %d.%m.%Y %H:%M", "%K, %d.%m.%Y, %H:%M", "%K, %d. %N %Y %H:%M"),
    *("%K %d/%m/%Y %H:%M", "%K %d %N %Y %H:%M"),
)
"""Dates and timestamps with days of the week in other languages."""

_LAST_STAMPS = (
    *("%Y%m%dT%H%M%SZ", "%Y%m%dT%H%M%S", "%Y%m%dT%H%MZ", "%Y%m%dT%H%M"),
    *(f"{day} {time} GMT" for day in ("%Y-%m-%d", "a/b/%Y", "%d.%m.%Y") for time in ("%H:%M", "%H:%M:%S")),
    *(f"{day} {time} UTC" for day in ("a/b/%Y", "%d.%m.%Y") for time in ("%H:%M", "%H:%M:%S")),
    *(f"%Y-%m-%d{gap}{time}{zone}" for gap in " T" for time in _SECONDS for zone in ("%z", SHORT_OFFSET)),
    *(f"%Y-%m-%d{gap}%H:%M:%S,%f{zone}" for gap in " T" for zone in ("", "Z")),
    *("%Y-%m-%d_%H-%M-%S", "%Y-%m-%d %H-%M-%S", "%Y-%m-%d_%H:%M:%S", "%Y%m%d_%H%M%S", "%Y%m%d %H%M%S"),
    *(f"a/b/{year} %I:%M{half}" for year, half in (("%y", "%P"), ("%y", "%p"), ("%y", " %P"), ("%Y", "%P"))),
    *(f"%Y-%m-%d {time} {OFFSET}" for time in _SECONDS),
    *(f"%d-{month}-%y %I.%M.%S{fraction} %p" for month in ("%b", "%N") for fraction in (".%f", "")),
)
"""Timestamps in the short form of ISO 8601, of Greenwich, and of databases, logs and names of files."""

_LATE_STAMPS = (
    *(f"{day} {time} %Z" for day in ("%Y-%m-%d", "a/b/%Y", "%d.%m.%Y") for time in ("%H:%M", "%H:%M:%S")),
    *("%Y-%m-%d %H:%M:%S.%f %Z", "a/b/%Y %I:%M %p %Z", "a/b/%Y %I:%M:%S %p %Z", "%d %b %Y %H:%M:%S %Z"),
    *("%a %b %d %H:%M:%S %Z %Y", "%a, %d %b %Y %H:%M:%S %Z"),
)

_ORDINAL_DAYS = (
    *(
        "%O %B %Y",
        "%B %O, %Y",
        "%B %O %Y",
        "%O of %B %Y",
        "%O of %B, %Y",
        "%O %B, %Y",
        "%O-%B-%Y",
        "%O %B %y",
    ),
    *("%A %O %B %Y", "%A, %O %B %Y", "%A, %B %O, %Y", "%A %B %O, %Y"),
)
_ORDINAL_STAMPS = (
    *("%B %O %Y, %I:%M:%S %P", "%B %O, %Y %I:%M %p", "%B %O, %Y, %I:%M %p", "%B %O, %Y at %I:%M %p"),
    *("%O %B %Y %H:%M", "%O %B %Y, %H:%M", "%O %B %Y %I:%M %p"),
)
"""Dates with days as in English, such as 2nd."""

_WRAPPED = (
    *("%d %N %Y г.", "%d %N %Y г", "%d %N %Y года", "%d.%m.%Y г.", "%d.%m.%Y г"),
    *("[%d/%b/%Y:%H:%M:%S %z]", "[%d/%b/%Y:%H:%M:%S", "%d/%b/%Y:%H:%M:%S", "[%Y-%m-%d %H:%M:%S]"),
)
"""Dates with a word for year behind them, and timestamps of logs of web servers in brackets."""

_DIVIDED_STAMPS = (
    *(f"a/b/%Y{gap}{time}" for gap in (" - ", " at ", " à ") for time in ("%H:%M", "%H:%M:%S")),
    *(
        "%d.%m.%Y um %H:%M Uhr",
        "%d.%m.%Y - %H:%M",
        "%d.%m.%Y %H.%M",
        "%d.%m.%Y kl. %H.%M",
        "%Y-%m-%d - %H:%M",
    ),
    *("%Y年%m月%d日 %H时%M分", "%a %b %d %Y %H:%M:%S %Z", "%Y_%m_%d", "%Y.%m.%d."),
)
"""Timestamps with a word or a dash before the time of day, of JavaScript, and dates of names of files."""

_DOTTED_STAMPS = tuple(
    f"a/b/%Y{gap}{time} {half}"
    for gap in (" ", ", ")
    for time in ("%I:%M", "%I:%M:%S")
    for half in ("%:p", "%:P", "%::p")
)
"""Timestamps with a.m., A.M. and, as in Spanish, a. m."""

_LAST_OF_PROGRAMS = (
    *(
        f"%d/{month}/{year} {time}"
        for month in ("%b", "%N")
        for year in ("%y", "%Y")
        for time in ("%I:%M %p", "%H:%M", "%H:%M:%S")
    ),
    *(f"{day} {time}" for day in ("%b %d %Y", "%d %b %y") for time in ("%H:%M", "%H:%M:%S", "%I:%M %p")),
    *("a-b-%y %H:%M:%S", "a-b-%y %I:%M %p", "%b %d, %Y, %H:%M:%S", "%Y%m%d %H:%M", "%Y%m%d %H:%M:%S"),
    *("%Y-%m-%d, %H:%M", "%Y-%m-%d, %H:%M:%S", "%Y/%m/%d, %H:%M", "%Y/%m/%d, %H:%M:%S"),
)
"""Timestamps of trackers of issues, such as 21/Dec/22 3:45 PM, and others of which each part is known."""

_TWO_DIGITS = re.compile("%Y-?%m|%Y/%m$|%Y[mM]|%d%[bBN]|%d %b %Y %H:%M:%S [G%]|^\\[")
"""Dates whose days and months always have two digits: those of ISO 8601, SAS and mail."""


def _usual() -> Iterator[str]:
    for day in _DAYS:
        gaps, zones = ((" ", "T"), ("", "Z", OFFSET)) if day.startswith("%Y") else ((" ",), ("",))
        yield day
        yield from ("".join((day, gap, time, zone)) for time, gap, zone in product(_TIMES, gaps, zones))
    yield "%Y-%m"


def _rare() -> Iterator[str]:
    yield from (*_RARE_DAYS, *_RARE_STAMPS)
    for form in (*_NAMED, *_NAMED_STAMPS):
        yield from (form.replace("%b", name) for name in ("%b", "%B", "%N"))


def with_details(forms: Iterable[str]) -> Iterator[tuple[str, int]]:
    """The formats with the details that each can have."""
    for form in forms:
        days = (0,) if _TWO_DIGITS.search(form) or not re.search("%[dm]|a.b", form) else (0, SHORT_DAY)
        # Where minutes follow at once, 0100 alone would be 0:10 or 1:00.
        hours = (0, SHORT_HOUR) if re.search("%[HI](?!%M)", form) else (0,)
        yield from ((form, day + hour) for day, hour in product(days, hours))


USUAL_FORMATS = tuple(with_details(_usual()))
"""Formats with their details."""

RARE_FORMATS = tuple(dict.fromkeys(with_details(_rare())))
"""Others."""

LATE_FORMATS = tuple(with_details((*_LATE_DAYS, *_LATE_STAMPS)))
"""Later ones; see `forms.FIRST` of learning."""

LAST_FORMATS = tuple(with_details((*_NAMED_DAYS, *_LAST_STAMPS)))
"""The last ones."""


def _newest() -> Iterator[str]:
    for form in (*_ORDINAL_DAYS, *_ORDINAL_STAMPS):
        names = product(dict.fromkeys(("%A" * ("%A" in form), "%a" * ("%A" in form))), ("%B", "%b"))
        yield from (form.replace("%A", day).replace("%B", month) for day, month in names)
    yield from (*_WRAPPED, *_DIVIDED_STAMPS, *_DOTTED_STAMPS, *_LAST_OF_PROGRAMS)


NEWEST_FORMATS = tuple(dict.fromkeys(with_details(_newest())))
"""Those that came after them."""
