"""The forms of dates, timestamps, times of day and durations; see `forms`.

A form is a format, in which a and b are a day and a month in an order that the values show, and %N is the
name of a month that is not `%b` or `%B`; and a detail: whether a day or month, or an hour, is seen to have
one digit.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from itertools import product

from ...common.data.attributes.clock import FORMATS, Clock
from ...common.forms.month_names import ENGLISH, ENGLISH_SHORT, NAMES
from ...party.sources.sql import quote

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
)
"""Dates with the name of a month, of any kind."""

_NAMED_STAMPS = (
    *("%d%b%Y:%H:%M:%S", "%d%b%Y:%H:%M:%S.%f", "%d%b%y:%H:%M:%S", "%d/%b/%Y:%H:%M:%S %z"),
    *("%d %b %Y %H:%M", "%d %b %Y %H:%M:%S", "%d. %b %Y %H:%M", "%d. %b %Y, %H:%M", "%d-%b-%Y %H:%M:%S"),
    *("%b %d %Y %I:%M%p", "%b %d, %Y, %I:%M:%S %p"),
)

_OF_YEAR = "\6"
"""What the shape of a month in digits or a quarter, and a year, begins with, such as 03/2021 or 2021Q1."""

_PARTS_OF_YEAR = "(0?[1-9]|1[0-2])/(19|20)[0-9]{2}|(19|20)[0-9]{2}[- ]?Q[1-4]|Q[1-4][-/ ](19|20)[0-9]{2}"

_RARE_DAYS = (
    *("%Y.%m.%d", "%Y年%m月%d日", "%Y년 %m월 %d일", "%Y. %m. %d.", "%d. %m. %Y"),
    *("%a, %d %b %Y", "%a %d %b %Y", "%a, %b %d, %Y", "%a %b %d %Y", "%A, %B %d, %Y", "%A, %d %B %Y"),
    *("%a %Y-%m-%d", "%o %N %Y"),
    *("%m/%Y", "%YQ%q", "%Y-Q%q", "%Y Q%q", "Q%q-%Y", "Q%q/%Y", "Q%q %Y"),
)
_RARE_STAMPS = (
    *("%Y.%m.%d %H:%M", "%Y.%m.%d %H:%M:%S", "%Y年%m月%d日 %H:%M", "%Y. %m. %d. %H:%M"),
    *("a/b/%Y %I:%M %P", "a/b/%Y %I:%M:%S %P", "a/b/%Y %I:%M%p", "a/b/%Y %Hh%M", "a-b-%Y %Hh%M"),
    *("a/b/%Y, %H:%M", "a/b/%Y, %H:%M:%S", "a/b/%Y, %I:%M %p", "a/b/%Y, %I:%M:%S %p"),
    *("%d.%m.%Y, %H:%M", "%d.%m.%Y, %H:%M:%S", "%d. %m. %Y %H:%M"),
    *("%Y-%m-%d %H:%M UTC", "%Y-%m-%d %H:%M:%S UTC", "%Y-%m-%d %H:%M:%S.%f UTC"),
    *("%Y-%m-%d %H:%M:%S %z", "%Y-%m-%d %H:%M:%S.%f %z"),
    *("%a, %d %b %Y %H:%M:%S GMT", "%a, %d %b %Y %H:%M:%S %z", "%a %b %d %H:%M:%S %Y"),
)

_TWO_DIGITS = re.compile("%Y-%m|%d%[bBN]|%d %b %Y %H:%M:%S [G%]")
"""Dates whose days and months always have two digits: those of ISO 8601, SAS and mail."""

_YEAR, _MONTH, _DAY = "(19|20)[0-9]{2}", "(0[1-9]|1[0-2])", "(0[1-9]|[12][0-9]|3[01])"
_PATTERNS = {
    "\1": (8, f"{_YEAR}{_MONTH}{_DAY}([.]0)?"),
    "\2": (6, f"{_YEAR}{_MONTH}([.]0)?"),
    "\3": (14, f"{_YEAR}{_MONTH}{_DAY}([01][0-9]|2[0-3])([0-5][0-9]){{2}}([.]0)?"),
    "\7": (7, f"{_MONTH}[.]{_YEAR}"),
    "\b": (6, f"[1-9][.]{_YEAR}"),
}
"""Shape -> characters of its cells, without the point and the zero that a float writes; and these cells."""

OF_DIGITS = {
    **{"\1": ("%Y%m%d", 0), "\2": ("%Y%m", 0), "\3": ("%Y%m%d%H%M%S", 0)},
    **{"\7": ("%m.%Y", 0), "\b": ("%m.%Y", SHORT_DAY)},
}
"""Shape -> format and detail of dates that are numbers too, unless most cells of a column are such dates."""

NUMBER_DECIMALS = {"%m.%Y": 4}
"""Format -> the decimals of these numbers, if any."""

_OF_CLOCK = "\4"
"""What the shape of a time of day or a duration begins with, such as 8:30 or 130:05:59."""

_PART, _HALF = ":[0-5][0-9]", "(0?[1-9]|1[0-2])"
_CLOCK = (
    rf"[0-9]{{1,4}}({_PART}){{1,2}}|[0-9]{{1,2}}({_PART}){{2}}[.]([0-9]{{3}}){{1,2}}"
    rf"|{_HALF}({_PART}){{1,2}} ?([AP]M|[ap]m)|[0-9]{{1,2}}h[0-5][0-9]"
)
_SHAPE_OF_CLOCK = re.compile(
    _OF_CLOCK + r"(?P<hours>[09]{1,4})(?P<middle>[:h])[09]{2}(?P<end>(?::[09]{2})?(?:\.[09]+)?)"
    r"(?P<half>(?: ?[APap][Mm])?)"
)


def _clock_format(name: str) -> str:
    """The format of what a `Clock` calls so."""
    written = name.replace("H", "%I" if name[-1] in "Mm" and name[-2] in "Aa" else "%H", 1)
    for part, code in (
        *(("MM", "%M"), ("SS", "%S"), ("ffffff", "%f"), ("fff", "%L")),
        *(("AM", "%p"), ("am", "%P")),
    ):
        written = written.replace(part, code, 1)
    return written


CLOCKS = {_clock_format(name): name for name in FORMATS if re.match("H[:h]", name) and ":00" not in name}
"""Format -> how a `Clock` calls it, of times of day and durations, which have no date."""


def _usual() -> Iterator[str]:
    for day in _DAYS:
        gaps, zones = ((" ", "T"), ("", "Z", "%z")) if day.startswith("%Y") else ((" ",), ("",))
        yield day
        yield from ("".join((day, gap, time, zone)) for time, gap, zone in product(_TIMES, gaps, zones))
    yield "%Y-%m"


def _rare() -> Iterator[str]:
    yield from (*_RARE_DAYS, *_RARE_STAMPS)
    for form in (*_NAMED, *_NAMED_STAMPS):
        yield from (form.replace("%b", name) for name in ("%b", "%B", "%N"))


def _with_details(forms: Iterable[str]) -> Iterator[tuple[str, int]]:
    """The formats with the details that each can have."""
    for form in forms:
        days = (0,) if _TWO_DIGITS.search(form) or not re.search("%[dm]|a.b", form) else (0, SHORT_DAY)
        hours = (0, SHORT_HOUR) if re.search("%[HI]", form) else (0,)
        yield from ((form, day + hour) for day, hour in product(days, hours))


DATES = (
    *_with_details(_usual()),
    *(OF_DIGITS[shape] for shape in "\1\2\3"),
    *_with_details(tuple(CLOCKS)[:2]),
)
"""Formats with their details."""

RARE_DATES = tuple(
    one
    for one in dict.fromkeys(
        (*_with_details(tuple(CLOCKS)[2:]), *_with_details(_rare()), OF_DIGITS["\7"], OF_DIGITS["\b"])
    )
    if one not in DATES
)
"""Others; see `forms.FIRST`."""

_CLOCK_NAMED = {name: form for form, name in CLOCKS.items()}

_WORDS = {
    **dict.fromkeys(NAMES, "%N"),
    **dict.fromkeys(ENGLISH.split(), "%B"),
    **dict.fromkeys(ENGLISH_SHORT.split(), "%b"),
    **{datetime(2001, 1, day).strftime(code): code for code in ("%A", "%a") for day in range(1, 8)},
    **{"AM": "%p", "PM": "%p", "am": "%P", "pm": "%P"},
}
"""Word -> the part of a format that writes it."""

_NAME_PLACES = {name: place for place, name in enumerate(NAMES)}

_FRACTION, _ZONE = (
    re.compile(r"(:[09]{2}[.])[09]{1,9}(?![09])"),
    re.compile("(?<=[09f ])[-+][09]{2}:?[09]{2}$"),
)
_WORD, _DIGITS = re.compile(r"(?<!%)[^\W\d_]+[.]?"), re.compile("[09]+")


def _key(shape: str) -> str:
    """The shape of dates, in which a run of digits is its length, and what is a name or a zone its code."""
    text = _FRACTION.sub(r"\1%f", shape)
    if ":" in text:
        text = _ZONE.sub("%z", text)
    return _DIGITS.sub(lambda run: str(len(run[0])), _WORD.sub(_code, text))


def _code(word: re.Match[str]) -> str:
    found = _WORDS.get(word[0])
    if found is None and word[0].endswith("."):
        return _WORDS.get(word[0][:-1], word[0][:-1]) + "."
    return found or word[0]


def name_in(text: str) -> int:
    """The place in `NAMES` of the first of these that a text has; their number if it has none."""
    for word in _WORD.finditer(text):
        for name in (word[0], word[0].removesuffix(".")):
            if name in _NAME_PLACES:
                return _NAME_PLACES[name]
    return len(NAMES)


def _keys_of(form: str, detail: int) -> Iterator[str]:
    """The keys of the shapes of cells in a format, of which a part has one digit if the detail says so."""
    day, hour = ("12" if detail & one else "2" for one in (SHORT_DAY, SHORT_HOUR))
    lengths = {"%Y": ("4",), **dict.fromkeys(("%y", "%M", "%S"), "2"), "%q": "1", "%o": ("1er",)}
    lengths |= {**dict.fromkeys(("%d", "%m", "a", "b"), day), **dict.fromkeys(("%H", "%I"), hour)}
    parts = re.split(r"(%.|(?<!%)[ab](?=[/-]))", form)
    for written in product(*(lengths.get(part, (part,)) for part in parts)):
        yield (_OF_YEAR if form == "%m/%Y" or "%q" in form else "") + "".join(written)


_FORMS: dict[str, tuple[str, int]] = {}
# One digit in either part shows that a part may have one; a name may be of several kinds, as May is.
for _names in ((), ("%B", "%b"), ("%N", "%b"), ("%N", "%B")):
    for _one in sorted((*DATES, *RARE_DATES), key=lambda form: form[1]):
        for _shape in _keys_of(*_one) if _one[0] not in CLOCKS and _one not in OF_DIGITS.values() else ():
            _FORMS.setdefault(_shape.replace(*_names) if _names else _shape, _one)
"""Key of a shape -> the format and the detail of its cells."""


def digits_sql(text: str) -> str:
    """The branches of an SQL expression that give dates of digits a shape of their own.

    Args:
        text: expression of the cell's text.
    """
    return " ".join(
        f"WHEN length({text}) IN ({length}, {length + 2}) AND regexp_full_match({text}, {quote(pattern)}) "
        f"THEN chr({ord(shape)})"
        for shape, (length, pattern) in _PATTERNS.items()
    )


def clock_sql(text: str) -> str:
    """The branch of an SQL expression that gives times of day and durations a shape of their own."""
    matched = f"regexp_full_match({text}, {quote(_CLOCK)})"
    return f"WHEN {matched} THEN chr({ord(_OF_CLOCK)}) || translate({text}, '123456789', '999999999')"


def part_of_year_sql(text: str) -> str:
    """The branch of an SQL expression that gives months and quarters of digits a shape of their own."""
    matched = f"regexp_full_match({text}, {quote(_PARTS_OF_YEAR)})"
    return f"WHEN {matched} THEN chr({ord(_OF_YEAR)}) || translate({text}, '123456789', '999999999')"


def time_sql(text: str, form: str, months: Sequence[str] = ()) -> str:
    """The SQL expression of the date or time that a text in a format states; NULL if it states none.

    Args:
        text: expression of the cell's text.
        form: as of `Moments`, or one of `CLOCKS`.
        months: the names of months, if they are not in English.
    """
    if form in CLOCKS:
        return _clock_time_sql(text)
    if form.startswith("%Y%m"):
        text = f"regexp_replace({text}, '[.]0$', '')"
    if "%o" in form:
        text, form = f"regexp_replace({text}, '^1er ', '1 ')", form.replace("%o", "%d")
    for quarter in range(1, 5) if "%q" in form else ():
        text = f"replace({text}, 'Q{quarter}', 'Q{3 * quarter - 2:02d}')"
    if months:
        text, form = _numbered_sql(text, months), re.sub("%[bB]", "%m", form)
    return f"try_strptime({text}, {quote(form.replace('%q', '%m').replace('%P', '%p'))})"


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
    parts = quote(r"^([0-9]{1,4})[:h]([0-5][0-9])(:([0-5][0-9])(\.([0-9]{3}|[0-9]{6}))?)?( ?([AaPp])[Mm])?$")
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


def clock_in(shape: str) -> tuple[str, int] | None:
    """The format and the detail of cells of a shape; None if they are no times of day or durations."""
    match = _SHAPE_OF_CLOCK.fullmatch(shape)
    if match is None:
        return None
    half = match["half"].replace("P", "A").replace("p", "a")
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
    written = CLOCKS[form] if seconds or ".f" in CLOCKS[form] else CLOCKS[form].replace("SS", "00")
    return Clock.of(written if detail & SHORT_HOUR else f"H{written}")


def date_in(shape: str) -> tuple[str, int] | None:
    """The format and the detail of cells of a shape; None if they are no dates."""
    return _FORMS.get(_key(shape))


def short(form: str, detail: int) -> str:
    """The format in which a day and month, or an hour, may have one digit."""
    if detail & SHORT_DAY:
        form = form.replace("%d", "%-d").replace("%m", "%-m")
    return form.replace("%H", "%-H").replace("%I", "%-I") if detail & SHORT_HOUR else form
