"""Drafts the entry of a column of texts: dates, identifiers, booleans, categories or free text."""

from __future__ import annotations

import re
from collections import Counter
from datetime import date, datetime
from typing import Any

import numpy as np

from ...common.data.numeric import AUTO
from .cells import ZONED
from .profile import Profile

FEW = 50
"""A column of at most this many different texts gets a list of categories."""

OTHER = "other"

_SAMPLE = 2000
"""Number of texts from which a kind is guessed, before all are looked at."""

_DATES_READ = 20_000
"""Of more different dates than this, some are read."""

_DATES = (
    *("%Y-%m-%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%Y/%m/%d", "%d-%m-%Y", "%m-%d-%Y", "%Y%m%d"),
    *("%d-%b-%Y", "%d %b %Y", "%b %d, %Y", "%d %B %Y", "%B %d, %Y"),
)
_MONTHS = ("%Y-%m", "%b-%Y", "%m/%Y", "%B %Y", "%b %Y")
_TIMES = (
    *("%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M", "%d.%m.%Y %H:%M:%S"),
    *("%d.%m.%Y %H:%M", "%d/%m/%Y %H:%M:%S", "%d/%m/%Y %H:%M", "%m/%d/%Y %H:%M:%S", "%m/%d/%Y %H:%M"),
    *("%Y-%m-%d %H:%M:%S.%f", "%Y-%m-%dT%H:%M:%S.%f", "%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%d %H:%M:%S%z"),
)
_ISO = ("%Y-%m-%d", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S.%f", "%Y-%m-%dT%H:%M:%S.%f")
_LOOKS_LIKE_A_DATE = re.compile(r"[0-9A-Za-z]{1,9}([-./ ,T:+]+[0-9A-Za-z]{1,9})+|[0-9]{8}")

TRUE_FALSE = (
    *(("true", "false"), ("yes", "no"), ("y", "n"), ("t", "f")),
    *(("ja", "nein"), ("j", "n"), ("oui", "non"), ("o", "n"), ("sí", "no"), ("si", "no"), ("sim", "não")),
)

_COUNTED = re.compile(r"([^0-9{}]*)([0-9]{1,18})([^0-9{}]*)")
"""A text with one number in it, such as P-000123."""


def draft_date(profile: Profile) -> tuple[dict[str, Any] | None, list[str]]:
    """Drafts the entry of a column whose texts are all dates or timestamps; None if they are not.

    Args:
        profile: of the column.

    Returns:
        The entry, and remarks for the owner.
    """
    if profile.kind == "DATE" or profile.kind.startswith("TIMESTAMP"):
        return _typed(profile), []
    if not all(_LOOKS_LIKE_A_DATE.fullmatch(text) for text in profile.texts[:_SAMPLE]):
        return None, []
    texts = _some(profile)
    if not texts or not all(_LOOKS_LIKE_A_DATE.fullmatch(text) for text in texts):
        return None, []
    found: list[tuple[str, list[datetime]]] = []
    for pattern in (*_DATES, *_TIMES, *_MONTHS):
        if _read(texts[:20], pattern) and (times := _read(texts, pattern)):
            found.append((pattern, times))
    if not found:
        return None, []
    pattern, times = found[0]
    remarks = []
    if len(found) > 1:
        remarks.append(f"its dates can be read in {len(found)} formats; check the first, {pattern}")
    return _moments(profile, pattern, times), remarks


def draft_boolean(profile: Profile) -> dict[str, Any] | None:
    """Drafts the entry of a column with two values such as yes and no; None if it has others.

    Texts are written as they were; a column of booleans has none.
    """
    if profile.distinct != 2:
        return None
    spelled = {text.casefold(): text for text in profile.texts}
    for pair in TRUE_FALSE:
        if set(spelled) == set(pair):
            entry: dict[str, Any] = {"type": "boolean", "nullable": profile.nullable}
            true, false = (spelled[word] for word in pair)
            return entry if profile.kind == "BOOLEAN" else entry | {"true": [true], "false": [false]}
    return None


def draft_identifier(profile: Profile) -> dict[str, Any] | None:
    """Drafts the entry of a column that names the records; None if it does not.

    It does if nearly every value differs, and the values are short texts of one shape, or whole numbers that
    count the rows or stand in a column whose name ends in id.
    """
    if not profile.unique or profile.nullable or profile.distinct <= FEW:
        return None
    if not len(profile.words):
        numbers = profile.numbers
        start = numbers[0]
        counting = start in (0, 1) and np.array_equal(numbers, np.arange(start, start + len(numbers)))
        named = re.search(r"(^|[_ .-])(id|uuid|key|nr|no)$|Id$|ID$", profile.name)
        if not np.all(numbers == np.floor(numbers)) or not (counting or named):
            return None
        return {"type": "identifier", "pattern": "{:d}"}
    texts = profile.texts[:_SAMPLE].tolist()
    if max(map(len, texts)) > 64 or any(" " in text.strip() for text in texts):
        return None
    return {"type": "identifier", "pattern": _pattern(profile.name, texts)}


def is_free_text(profile: Profile) -> bool:
    """Whether a column of many different texts holds sentences, names or notes."""
    lengths = np.array([len(text) for text in profile.texts[:_SAMPLE]])
    return bool(lengths.mean() > 50) or (profile.distinct > 0.5 * profile.filled)


def draft_texts(profile: Profile) -> tuple[dict[str, Any], list[str]]:
    """Drafts the entry of a column of texts that is none of the other kinds.

    Returns:
        Categories for few texts, open categories for many, or dropped text; and remarks for the owner.
    """
    if profile.distinct <= FEW:
        listed = sorted(profile.texts, key=natural)
        return {"type": "categorical", "categories": [""] * profile.nullable + listed}, []
    if is_free_text(profile):
        return {"type": "text", "drop": True}, ["free text, which no release can hold; it is left out"]
    other = OTHER if OTHER not in profile.texts else f"({OTHER})"
    listed = [""] * profile.nullable + [other]
    return {"type": "categorical", "categories": listed, "other": other, "open": True}, [
        "many categories, which a release finds under differential privacy; list those that are public"
    ]


def natural(text: str) -> tuple[list[tuple[str, int]], str]:
    """A key that sorts "9 years" before "10 years"."""
    parts = re.findall(r"([^0-9]*)([0-9]*)", text.casefold())
    return [(words, int(digits or -1)) for words, digits in parts], text


def _read(texts: list[str], pattern: str) -> list[datetime]:
    """The dates in texts; empty if one of them is not in this format, or lies outside of 1800 to 2200."""
    times = []
    for text in texts:
        try:
            time = datetime.strptime(text, pattern)
        except ValueError:
            return []
        if not 1800 <= time.year <= 2200:
            return []
        times.append(time.replace(tzinfo=None))
    return times


def _some(profile: Profile) -> list[str]:
    """All texts, or some, in order: ISO dates among them begin with the first and end with the last."""
    texts = sorted(profile.texts.tolist())
    return texts[:: max(1, len(texts) // _DATES_READ)] + texts[-1:]


def _typed(profile: Profile) -> dict[str, Any] | None:
    """The entry of a column of DuckDB's dates or timestamps; None if it has none of a usual year."""
    pattern = "%Y-%m-%d" if profile.kind == "DATE" else "%Y-%m-%d %H:%M:%S"
    times = [time for text in _some(profile) for time in _read([text[:19]], pattern)]
    if not times:
        return None
    entry = _moments(profile, pattern, times)
    entry.pop("format", None)
    if any("." in text for text in profile.texts):
        entry["granularity"] = "microsecond"
    return entry | ({"timezone": "UTC"} if profile.kind == ZONED else {})


def _moments(profile: Profile, pattern: str, times: list[datetime]) -> dict[str, Any]:
    """Bounds are whole years around the dates."""
    years = min(times).year, max(times).year
    entry: dict[str, Any] = {
        "type": "timestamp" if pattern in _TIMES else "date",
        "min": date(years[0], 1, 1).isoformat(),
        "max": date(years[1], 12, 31).isoformat(),
        "bins": AUTO,
        "nullable": profile.nullable,
    }
    if pattern in _TIMES:
        entry["min"], entry["max"] = f"{entry['min']}T00:00:00", f"{entry['max']}T23:59:59"
        entry |= _granularity(times)
    elif pattern in _MONTHS:
        entry["granularity"] = "month"
    if pattern not in _ISO:
        entry["format"] = pattern
    if pattern.endswith(("Z", "%z")):
        entry["timezone"] = "UTC"
    return entry


def _granularity(times: list[datetime]) -> dict[str, str]:
    if any(time.microsecond % 1000 for time in times):
        return {"granularity": "microsecond"}
    if any(time.microsecond for time in times):
        return {"granularity": "millisecond"}
    if any(time.second for time in times):
        return {}
    if any(time.minute for time in times):
        return {"granularity": "minute"}
    return {"granularity": "hour" if any(time.hour for time in times) else "day"}


def _pattern(name: str, texts: list[str]) -> str:
    """A pattern of new names in the shape of the old ones."""
    shapes = Counter(
        (match[1], len(match[2]) if match[2].startswith("0") else 0, match[3])
        for text in texts
        if (match := _COUNTED.fullmatch(text))
    )
    if not shapes:
        return re.sub(r"[{}]", "", name) + "-{:06d}"
    around = Counter((before, after) for before, _, after in shapes)
    before, after = max(around, key=lambda pair: sum(n for s, n in shapes.items() if (s[0], s[2]) == pair))
    width = max(width for (first, width, last) in shapes if (first, last) == (before, after))
    return f"{before}{{:0{width}d}}{after}" if width else f"{before}{{:d}}{after}"
