"""The forms of dates, timestamps, times of day and durations; see `forms` and `common.forms.date_formats`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ....common.data.attributes.clock import BEHIND_HOURS, DOTTED_HALVES, FORMATS, PADDED_NUMBERS, Clock
from ....common.data.attributes.durations import DURATIONS, form_of, parts_of, pattern_of
from ....common.forms.date_formats import DOTTED
from ....common.forms.date_lists import (
    DAYS_OF_DIGITS,
    LAST_FORMATS,
    LATE_FORMATS,
    NEWEST_FORMATS,
    OF_DIGITS_ALONE,
    OF_YEAR,
    PARTS_OF_YEAR,
    RARE_FORMATS,
    SHORT_DAY,
    SHORT_HOUR,
    USUAL_FORMATS,
    with_details,
)
from ....common.forms.zone_names import ZONE_NAME_SQL
from ....party.sources.sql import quote

_YEAR, _MONTH, _DAY = "(19|20)[0-9]{2}", "(0[1-9]|1[0-2])", "(0[1-9]|[12][0-9]|3[01])"
_MINUTE = "([01][0-9]|2[0-3])[0-5][0-9]"
_PATTERNS = {
    "\1": (8, f"{_YEAR}{_MONTH}{_DAY}([.]0)?"),
    "\2": (6, f"{_YEAR}{_MONTH}([.]0)?"),
    "\3": (14, f"{_YEAR}{_MONTH}{_DAY}([01][0-9]|2[0-3])([0-5][0-9]){{2}}([.]0)?"),
    "\7": (7, f"{_MONTH}[.]{_YEAR}"),
    "\b": (6, f"[1-9][.]{_YEAR}"),
    "\x12": (12, f"{_YEAR}{_MONTH}{_DAY}{_MINUTE}"),
}
"""Shape -> characters of its cells, without the point and the zero that a float writes; and these cells."""

_DAY_MONTH = f"({_DAY}{_MONTH}|{_MONTH}{_DAY})"
_PADDED_PATTERNS = {
    "\x0f": (8, f"{_DAY_MONTH}{_YEAR}"),
    "\x10": (6, f"{_DAY_MONTH}[0-9]{{2}}|[0-9]{{2}}{_MONTH}{_DAY}"),
    "\x11": (4, _MINUTE),
}
"""What a shape begins with -> characters of its cells, which may begin with a zero; and these cells."""

ZERO_FIRST = 4
"""The detail of cells that do; see `_PADDED_PATTERNS`."""

HOURS = "%H%M"
"""The format of times of day in four digits, such as 0930."""

MAYBE_CODES = ("ab%y", HOURS)
"""Formats of digits that few codes have by chance too."""

OF_DIGITS = {
    **{"\1": ("%Y%m%d", 0), "\2": ("%Y%m", 0), "\3": ("%Y%m%d%H%M%S", 0)},
    **{"\7": ("%m.%Y", 0), "\b": ("%m.%Y", SHORT_DAY), "\x12": ("%Y%m%d%H%M", 0)},
    **{
        begun + first: (form, detail)
        for begun, form in zip(_PADDED_PATTERNS, ("ab%Y", "ab%y", HOURS), strict=True)
        for first, detail in (("9", 0), ("0", ZERO_FIRST))
    },
}
"""Shape -> format and detail of dates that are numbers too, unless most cells of a column are such dates."""

PADDED_DATES = {OF_DIGITS[f"{begun}0"]: length for begun, (length, _) in _PADDED_PATTERNS.items()}
"""Formats and details of those with a zero in front -> their digits."""

NUMBER_DECIMALS = {"%m.%Y": 4}
"""Format -> the decimals of these numbers, if any."""

_OF_CLOCK = "\4"
"""What the shape of a time of day or a duration begins with, such as 8:30 or 130:05:59."""

_GAP = "[ \u00a0\u202f]?"
"""What may stand within a half of a day, as in a. m."""

_PART, _HALF = ":[0-5][0-9]", "(0?[1-9]|1[0-2])"
_CLOCK = (
    rf"[0-9]{{1,4}}({_PART}){{1,2}}|[0-9]{{1,2}}({_PART}){{2}}[.]([0-9]{{3}}){{1,2}}"
    rf"|{_HALF}({_PART}){{1,2}} ?([AP]M|[ap]m|[AP][.]M[.]|[ap][.]{_GAP}m[.])|[0-9]{{1,2}}h[0-5][0-9]"
    rf"|[0-9]{{1,2}}({_PART}){{1,2}}({'|'.join(BEHIND_HOURS)})"
)
_SHAPE_OF_CLOCK = re.compile(
    _OF_CLOCK + r"(?P<hours>[09]{1,4})(?P<middle>[:h])[09]{2}(?P<end>(?::[09]{2})?(?:\.[09]+)?)"
    rf"(?P<half>(?: ?[APap](?:[Mm]|[.]{_GAP}[Mm][.])|{'|'.join(BEHIND_HOURS)})?)"
)


def _clock_format(name: str) -> str:
    """The format of what a `Clock` calls so."""
    written = name.replace("H", "%I" if re.search("[Aa]([Mm]|[.] ?[Mm][.])$", name) else "%H", 1)
    for part, code in (
        *(("MM", "%M"), ("SS", "%S"), ("ffffff", "%f"), ("fff", "%L")),
        *(("AM", "%p"), ("am", "%P"), ("a.m.", "%:p"), ("A.M.", "%:P"), ("a. m.", "%::p")),
    ):
        written = written.replace(part, code, 1)
    return written


CLOCKS = {
    **{_clock_format(name): name for name in FORMATS if re.match("H[:h]", name) and ":00" not in name},
    **{name: name for name in DURATIONS},
    HOURS: PADDED_NUMBERS,
}
"""Format -> how a `Clock` calls it, of times of day and durations, which have no date."""


_LATE_CLOCKS = tuple(form for form in CLOCKS if form in DURATIONS or form.endswith(BEHIND_HOURS))
_DOTTED_CLOCKS = tuple(form for form, name in CLOCKS.items() if name.endswith(DOTTED_HALVES))
_PADDED_DIGITS = tuple(OF_DIGITS[begun + first] for begun in _PADDED_PATTERNS for first in "90")

DATES = (
    *USUAL_FORMATS,
    *(OF_DIGITS[shape] for shape in "\1\2\3"),
    *with_details(tuple(CLOCKS)[:2]),
)
"""Formats with their details."""

RARE_DATES = tuple(
    one
    for one in (*with_details(tuple(CLOCKS)[2:]), *RARE_FORMATS, OF_DIGITS["\7"], OF_DIGITS["\b"])
    if one not in DATES and one[0] not in (*_LATE_CLOCKS, *_DOTTED_CLOCKS, HOURS)
)
"""Others; see `forms.FIRST`."""

LATE_DATES = (*with_details(_LATE_CLOCKS), *LATE_FORMATS)
"""Later ones."""

LAST_DATES = (*LAST_FORMATS, *_PADDED_DIGITS, OF_DIGITS["\x12"])
"""The last ones."""

NEWEST_DATES = (*NEWEST_FORMATS, *with_details(_DOTTED_CLOCKS))
"""Those that came after them."""

_CLOCK_NAMED = {name: form for form, name in CLOCKS.items()}


def digits_sql(text: str) -> str:
    """The branches of an SQL expression that give dates of digits a shape of their own.

    Args:
        text: expression of the cell's text.
    """
    first = f"CASE WHEN starts_with({text}, '0') THEN '0' ELSE '9' END"
    alone = (
        f"WHEN length({text}) IN ({length}, {length + 2}) AND regexp_full_match({text}, {quote(pattern)}) "
        f"THEN chr({ord(shape)})"
        for shape, (length, pattern) in _PATTERNS.items()
    )
    padded = (
        f"WHEN length({text}) = {length} AND regexp_full_match({text}, {quote(pattern)}) "
        f"THEN chr({ord(begun)}) || {first}"
        for begun, (length, pattern) in _PADDED_PATTERNS.items()
    )
    return " ".join((*alone, *padded))


def clock_sql(text: str) -> str:
    """The branch of an SQL expression that gives times of day and durations a shape of their own."""
    matched = f"regexp_full_match({text}, {quote(_CLOCK)})"
    return f"WHEN {matched} THEN chr({ord(_OF_CLOCK)}) || translate({text}, '123456789', '999999999')"


def part_of_year_sql(text: str) -> str:
    """The branches of an SQL expression that give a shape to parts of a year, and to numbers of no date."""
    matched, numbers, day = (
        f"regexp_full_match({text}, {quote(pattern)})"
        for pattern in (PARTS_OF_YEAR, OF_DIGITS_ALONE, DAYS_OF_DIGITS)
    )
    shape = f"translate({text}, '123456789', '999999999')"
    return (
        f"WHEN {matched} THEN chr({ord(OF_YEAR)}) || {shape} "
        f"WHEN length({text}) BETWEEN 6 AND 10 AND {numbers} AND NOT {day} THEN 'x' || {shape}"
    )


def time_sql(text: str, form: str, months: Sequence[str] = (), days: Sequence[str] = ()) -> str:
    """The SQL expression of the date or time that a text in a format states; NULL if it states none.

    Args:
        text: expression of the cell's text.
        form: as of `Moments`, or one of `CLOCKS`.
        months: the names of months, if they are not in English.
        days: those of days of the week.
    """
    if form in DURATIONS:
        return _duration_sql(text, form)
    if form == HOURS:
        text = f"regexp_replace({text}, '^([0-9]{{2}})([0-9]{{2}})$', '\\1:\\2')"
    if form in CLOCKS:
        return _clock_time_sql(text)
    if form.startswith("%Y%m"):
        text = f"regexp_replace({text}, '[.]0$', '')"
    if "%o" in form:
        text, form = f"regexp_replace({text}, '^1er ', '1 ')", form.replace("%o", "%d")
    if "%O" in form:
        text, form = f"regexp_replace({text}, '([0-9])(st|nd|rd|th)', '\\1')", form.replace("%O", "%d")
    if re.search("%:+[pP]", form):
        text = f"regexp_replace({text}, {quote(DOTTED.pattern)}, '\\1\\3')"
    if "%f" in form:
        text = f"regexp_replace({text}, '([.,][0-9]{{6}})[0-9]{{1,3}}', '\\1')"
    if "%V" in form and "%u" not in form:
        text, form = f"{text} || ' 1'", f"{form} %u"
    letter = "T" if "T%q" in form else "Q"
    for quarter in range(1, 5) if "%q" in form else ():
        text = f"replace({text}, '{letter}{quarter}', '{letter}{3 * quarter - 2:02d}')"
    if "%Z" in form:
        text, form = f"regexp_replace({text}, {quote(ZONE_NAME_SQL)}, '\\2')", form.replace(" %Z", "")
    if days:
        name = quote(rf"(?i)^({'|'.join(map(re.escape, days))})([^\p{{L}}])")
        text = f"regexp_replace({text}, {name}, 'Mon\\2')"
    if months:
        text, form = _numbered_sql(text, months), re.sub("%[bB]", "%m", form)
    form = re.sub("%:*P|%:+p", "%p", re.sub("%:+z", "%z", form.replace("%q", "%m")))
    return f"try_strptime({text}, {quote(form)})"


def _numbered_sql(text: str, months: Sequence[str]) -> str:
    """The SQL expression of a text with the number of a month in place of its name."""
    longest_first = sorted(months, key=len, reverse=True)
    names = "|".join(re.escape(month) for month in longest_first)
    word = quote(rf"(?i)(^|[^\p{{L}}])({names})($|[^\p{{L}}])")
    listed = ", ".join(quote(month.lower()) for month in months)
    number = f"list_position([{listed}], lower(regexp_extract({text}, {word}, 2)))"
    return f"regexp_replace({text}, {word}, '\\1' || lpad({number}::VARCHAR, 2, '0') || '\\3')"


def _clock_time_sql(text: str) -> str:
    """The SQL expression of the time that a text of a clock states, from 1970 on; NULL if it states none."""
    parts = quote(
        r"^([0-9]{1,4})[:h]([0-5][0-9])(:([0-5][0-9])(\.([0-9]{3}|[0-9]{6}))?)?"
        rf"( ?([AaPp])([Mm]|[.]{_GAP}[Mm][.])|{'|'.join(BEHIND_HOURS)})?$"
    )
    half = f"lower(regexp_extract({text}, {parts}, 8))"
    hours, minutes, seconds = (
        f"try_cast(regexp_extract({text}, {parts}, {group}) AS BIGINT)" for group in (1, 2, 4)
    )
    fraction = f"coalesce(try_cast(rpad(regexp_extract({text}, {parts}, 6), 6, '0') AS BIGINT), 0)"
    hours = (
        f"CASE WHEN {half} = '' THEN {hours} WHEN {hours} BETWEEN 1 AND 12 "
        f"THEN {hours} % 12 + CASE {half} WHEN 'p' THEN 12 ELSE 0 END END"
    )
    return (
        f"make_timestamp(((({hours}) * 60 + {minutes}) * 60 + coalesce({seconds}, 0)) * 1000000 + {fraction})"
    )


def _duration_sql(text: str, form: str) -> str:
    """The SQL expression of the time that a duration states, from 1970 on; NULL if there is none."""
    pattern = quote(pattern_of(form))
    seconds = " + ".join(
        f"coalesce(try_cast(regexp_extract({text}, {pattern}, {group}) AS BIGINT), 0) * {unit}"
        for group, (_, unit) in enumerate(parts_of(form), start=1)
    )
    return f"CASE WHEN regexp_matches({text}, {pattern}) THEN make_timestamp(({seconds}) * 1000000) END"


def clock_in(shape: str) -> tuple[str, int] | None:
    """The format and the detail of cells of a shape; None if they are no times of day or durations."""
    match = _SHAPE_OF_CLOCK.fullmatch(shape)
    if match is None:
        duration = form_of(shape)
        return None if duration is None else (duration, 0)
    half = match["half"].replace("P", "A").replace("p", "a").replace("\u00a0", " ").replace("\u202f", " ")
    end = match["end"].replace("0", "9").replace(":99", ":SS").replace("9", "f")
    form = _CLOCK_NAMED[f"H{match['middle']}MM{end}{half}"]
    return form, SHORT_HOUR if len(match["hours"]) == 1 else 0


def clock_of(form: str, detail: int, *, seconds: bool) -> Clock:
    """What cells of one of `CLOCKS` are.

    Args:
        form: how they are written.
        detail: whether hours may have one digit.
        seconds: whether some are no whole minutes.
    """
    if form in DURATIONS or form == HOURS:
        return Clock.of(CLOCKS[form])
    written = CLOCKS[form] if seconds or ".f" in CLOCKS[form] else CLOCKS[form].replace("SS", "00")
    return Clock.of(written if detail & SHORT_HOUR else f"H{written}")
