"""The formats in which tables write dates and timestamps: one list, for drafted domains and learned ones.

A format is one of `Moments`, in which a and b are a day and a month in an order that the values show, and %N
is the name of a month that is not `%b` or `%B`, and %K that of a day of the week that is not `%a` or `%A`.
Its detail is whether a day or month, or an hour, is seen to have one digit. The format of a cell follows from
its shape: the cell with every digit 1 to 9 written as 9.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from itertools import product

from .date_lists import (
    LAST_FORMATS,
    LATE_FORMATS,
    NEWEST_FORMATS,
    OF_YEAR,
    OFFSET,
    RARE_FORMATS,
    SHORT_DAY,
    SHORT_HOUR,
    SHORT_OFFSET,
    USUAL_FORMATS,
)
from .day_names import DAY_NAMES, WEEKS, Days
from .month_names import CALENDARS, ENGLISH, ENGLISH_SHORT, NAMES, Months
from .zone_names import DISTANCE, ZONE_NAMES

_AS_NINES = str.maketrans("12345678", "9" * 8)

_WORDS = {
    **dict.fromkeys(DAY_NAMES, "%K"),
    **dict.fromkeys(NAMES, "%N"),
    **dict.fromkeys(ENGLISH.split(), "%B"),
    **dict.fromkeys(ENGLISH_SHORT.split(), "%b"),
    **{datetime(2001, 1, day).strftime(code): code for code in ("%A", "%a") for day in range(1, 8)},
    **{"AM": "%p", "PM": "%p", "am": "%P", "pm": "%P"},
    **dict.fromkeys(ZONE_NAMES, "%Z"),
}
"""Word -> the part of a format that writes it."""


_FRACTION, _ZONE = (
    re.compile(r"([:.][09]{2}[:.][09]{2}[.,])[09]{1,9}(?![09])"),
    re.compile("(?<=[09f ])[-+][09]{2}(?P<more>(?P<colon>:?)[09]{2})?(?=]?$| [09]{4}$)"),
)
DOTTED = re.compile("(?P<half>[AaPp])[.](?P<blank>[ \u00a0\u202f]?)(?P<last>[Mm])[.]")
"""Halves of a day with full stops, such as a.m. and, as in Spanish, a. m."""
_ORDINAL = re.compile(r"(?<=[09])(st|nd|rd|th)\b")
_WORD, _DIGITS = re.compile(r"(?<!%)[^\W\d_]+[.]?"), re.compile("[09]+")


def _key(shape: str) -> str:
    """The shape of dates, in which a run of digits is its length, and what is a name or a zone its code."""
    text = DISTANCE.sub("%Z", _ORDINAL.sub("%O", shape))
    text = DOTTED.sub(_dotted_half, _FRACTION.sub(r"\1%f", text))
    if ":" in text:
        text = _ZONE.sub(_offset, text)
    return _DIGITS.sub(lambda run: str(len(run[0])), _WORD.sub(_code, text))


def _offset(zone: re.Match[str]) -> str:
    return SHORT_OFFSET if not zone["more"] else OFFSET if zone["colon"] else "%z"


def _dotted_half(half: re.Match[str]) -> str:
    return "%::p" if half["blank"] else "%:P" if half["last"] == "M" else "%:p"


def _code(word: re.Match[str]) -> str:
    found = _WORDS.get(word[0])
    if found is None and word[0].endswith("."):
        return _WORDS.get(word[0][:-1], word[0][:-1]) + "."
    return found or word[0]


def month_in(text: str) -> int:
    """The place in `NAMES` of the last of these that a text has; their number if it has none."""
    return _place_in(_MONTH_PLACES, reversed(_WORD.findall(text)))


def day_in(text: str) -> int:
    """The place in `DAY_NAMES` of the first of these that a text has; their number if it has none."""
    return _place_in(_DAY_PLACES, _WORD.findall(text))


_MONTH_PLACES, _DAY_PLACES = (
    {name: place for place, name in enumerate(names)} for names in (NAMES, DAY_NAMES)
)


def _place_in(places: Mapping[str, int], words: Iterable[str]) -> int:
    """The place of the first of some words that has one."""
    for word in words:
        for name in (word, word.removesuffix(".")):
            if name in places:
                return places[name]
    return len(places)


_PARTED = ("%m/%Y", "%Y-%m", "%Y/%m", "%Ym%m", "%YM%m", "%Y-%j")


def _keys_of(form: str, detail: int) -> Iterator[str]:
    """The keys of the shapes of cells in a format, of which a part has one digit if the detail says so."""
    day, hour = ("12" if detail & one else "2" for one in (SHORT_DAY, SHORT_HOUR))
    lengths = {"%Y": ("4",), **dict.fromkeys(("%y", "%M", "%S"), "2"), "%q": "1"}
    lengths |= {"%o": ("1er",), "%O": ("1%O", "2%O")}
    lengths |= {**dict.fromkeys(("%d", "%m", "a", "b"), day), **dict.fromkeys(("%H", "%I"), hour)}
    lengths |= {"%G": ("4",), "%V": ("2",), "%u": ("1",), "%j": ("3",)}
    if detail & SHORT_DAY and re.match("a.b.%y", form):
        # A year of two digits may be in front.
        lengths["%y"] = "12"
    parts = re.split(r"(%.|(?<!%)[ab](?=[/-]))", form)
    for written in product(*(lengths.get(part, (part,)) for part in parts)):
        if re.match("1[-/][12][-/]1", "".join(written)):
            # Of three numbers one is a year, which has two digits: 1-0-1 says when a drug is taken.
            continue
        yield (OF_YEAR if form in _PARTED or "%q" in form else "") + _key_of_parts(written)


def _key_of_parts(parts: Iterable[str]) -> str:
    """The key of these parts, in which numbers one after the other are one run of digits."""
    joined = [""]
    for part in filter(None, parts):
        if joined[-1].isdigit() and part.isdigit():
            joined[-1] = str(int(joined[-1]) + int(part))
        else:
            joined.append(part)
    return "".join(joined)


_FORMS: dict[str, tuple[str, int]] = {}
# One digit in either part shows that a part may have one; a name may be of several kinds, as May and mar are.
_ALIKE = (("%B", "%b"), ("%N", "%b"), ("%N", "%B"), ("%K", "%a"), ("%K", "%N"), ("%K", "%b"))
for _names in ((), *_ALIKE):
    for _one in sorted(
        (*USUAL_FORMATS, *RARE_FORMATS, *LATE_FORMATS, *LAST_FORMATS, *NEWEST_FORMATS),
        key=lambda form: form[1],
    ):
        for _shape in _keys_of(*_one):
            _FORMS.setdefault(_shape.replace(*_names) if _names else _shape, _one)
"""Key of a shape -> the format and the detail of its cells."""


_WITH_A_YEAR = re.compile(
    r"(%Y([-/.])%m\2%d|%d[-/. ]%[mbB][-/. ]%Y|%d[.] %[bB] %Y|%[bB] %d, %Y|(a[-/]b|%m[-/]%d)[-/]%Y)"
    r"([ T]%H:%M(:%S)?)?"
)
"""Formats with a year of four digits, of which no text is in two."""


def written_together(form: str, others: Iterable[str]) -> tuple[str, ...]:
    """Those of other formats in which dates may stand beside a format, since each text is in one of them."""
    certain = _WITH_A_YEAR.fullmatch(form) is not None
    beside = [one for one in others if certain and one != form and _WITH_A_YEAR.fullmatch(one)]
    # Each order of day and month would have to be found alone.
    ordered = [one for one in (form, *beside) if re.match("a|%[dm][-/]%[dm]", one)]
    return tuple(one for one in beside if one not in ordered[1:])


@lru_cache(maxsize=1 << 14)
def date_in(shape: str) -> tuple[str, int] | None:
    """The format and the detail of cells of a shape; None if they are no dates."""
    return _FORMS.get(_key(shape))


def short(form: str, detail: int) -> str:
    """The format in which a day and month, or an hour, may have one digit."""
    if detail & SHORT_DAY:
        form = form.replace("%d", "%-d").replace("%m", "%-m")
    return form.replace("%H", "%-H").replace("%I", "%-I") if detail & SHORT_HOUR else form


def readings(form: str) -> Iterator[str]:
    """The formats that one may stand for: with day and month, and a year of two digits, in every order."""
    if form.startswith("%d.%m.%y"):
        yield from (form, form.replace("%d.%m.%y", "%y.%m.%d"))
        return
    if not (ordered := re.match("a(.?)b", form)):
        yield form
        return
    mark, rest = ordered[1], form[ordered.end() :]
    yield from (f"%d{mark}%m{rest}", f"%m{mark}%d{rest}")
    if rest.startswith(f"{mark}%y"):
        yield f"%y{mark}%m{mark}%d{rest[3:]}"


def months_in(texts: Iterable[str]) -> Months:
    """The names of the months that most of some texts have."""
    rows = Counter(map(month_in, texts))
    return months_of([rows[place] for place in range(len(NAMES))])


def days_in(texts: Iterable[str]) -> Days:
    """The names of the days of the week that most of some texts have."""
    rows = Counter(map(day_in, texts))
    return days_of([rows[place] for place in range(len(DAY_NAMES))])


def months_of(rows: Sequence[float]) -> Months:
    """The names of the months that most rows have.

    Args:
        rows: of each of `NAMES`.
    """
    known = dict(zip(NAMES, rows, strict=True))
    return max(CALENDARS, key=lambda names: sum(known[month] for month in names))


def days_of(rows: Sequence[float]) -> Days:
    """The names of the days of the week that most rows have.

    Args:
        rows: of each of `DAY_NAMES`.
    """
    known = dict(zip(DAY_NAMES, rows, strict=True))
    return max(WEEKS, key=lambda names: sum(known[day] for day in names))


def formats_in(text: str) -> Iterator[str]:
    """The formats that a cell may be in."""
    shape = text.translate(_AS_NINES)
    for begun in ("", OF_YEAR):
        if (found := date_in(begun + shape)) is not None:
            yield from readings(found[0])


def has_offset(form: str) -> bool:
    """Whether dates in a format have a distance from UTC, in any of its forms."""
    return re.search("%:*z", form) is not None


def unit_of(form: str) -> str:
    """The unit of which dates in a format are whole numbers: quarter, month, week or day."""
    codes = {*re.findall("%.", form.replace("-", ""))}
    if codes & {"%d", "%o", "%O", "%j", "%u"}:
        return "day"
    return next((unit for code, unit in (("%q", "quarter"), ("%V", "week")) if code in codes), "month")
