"""Normalisations: how an identifier is written before it is compared, the same at every party.

Each is a function of one text alone. Its name stands in signed terms, so what it does must never change:
another rule gets another name.
"""

from __future__ import annotations

import datetime
import re
import unicodedata
from collections.abc import Callable, Mapping

_WRITTEN_OUT = str.maketrans(
    {"æ": "ae", "œ": "oe", "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "ħ": "h", "ŧ": "t", "ı": "i"}
)
"""Letters of Latin alphabets that Unicode does not decompose."""
_MARKS_OF_LETTERS = (0, 7, 8, 9)
"""Combining classes of marks without which another letter is read: vowel signs, nukta, voicing, virama."""
_NOT_IN_TEXT = re.compile(r"[^a-z0-9]")
_YEAR_FIRST = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})(?:[T ][\d:.+Z-]*)?|(\d{4})(\d{2})(\d{2})", re.ASCII)
_YEAR_LAST = re.compile(r"(\d{1,2})([./-])(\d{1,2})\2(\d{4})", re.ASCII)
_DIGITS = re.compile(r"\d+", re.ASCII)
_SOUNDS = {
    letter: str(code)
    for code, letters in enumerate(("bfpv", "cgjkqsxz", "dt", "l", "mn", "r"), start=1)
    for letter in letters
}
_SOUNDEX_DIGITS = 3


def exact(value: str) -> str:
    """The text without white space around it."""
    return value.strip()


def text(value: str) -> str:
    """Letters and digits in lower case, without accents, punctuation and white space.

    "Müller-Lüdenscheid" becomes "mullerludenscheid", and not "muellerluedenscheid".

    Source: Unicode Standard Annex 15, compatibility decomposition (NFKD).
    """
    if value.isascii():
        return _NOT_IN_TEXT.sub("", value.lower())
    folded = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", value).casefold())
    return "".join(filter(_is_kept, folded.translate(_WRITTEN_OUT)))


def digits(value: str) -> str:
    """The decimal digits of any script, as 0 to 9; leading zeros stay."""
    if value.isascii():
        return "".join(_DIGITS.findall(value))
    return "".join(str(unicodedata.decimal(character)) for character in value if character.isdecimal())


def date(value: str) -> str:
    """A day as yyyy-mm-dd, from yyyy-mm-dd or yyyymmdd; a time of the day after it is left out."""
    found = _YEAR_FIRST.fullmatch(_plain(value))
    return _day(found[1] or found[4], found[2] or found[5], found[3] or found[6]) if found else ""


def date_dmy(value: str) -> str:
    """As `date`, and from day, month and year in this order, between dots, slashes or hyphens."""
    found = _YEAR_LAST.fullmatch(_plain(value))
    return _day(found[4], found[3], found[1]) if found else date(value)


def date_mdy(value: str) -> str:
    """As `date`, and from month, day and year in this order, between dots, slashes or hyphens."""
    found = _YEAR_LAST.fullmatch(_plain(value))
    return _day(found[4], found[1], found[3]) if found else date(value)


def year(value: str) -> str:
    """The year of a date in any order, or a year alone: the only number of four digits, or from yyyymmdd."""
    numbers: list[str] = _DIGITS.findall(_plain(value))
    if len(numbers) == 1 and len(numbers[0]) == 8:
        return numbers[0][:4]
    years = [number for number in numbers if len(number) == 4]
    return years[0] if len(years) == 1 else ""


def soundex(value: str) -> str:
    """American Soundex, a letter and three digits, of the letters a to z of `text`.

    Source: National Archives, "Soundex System" (General Information Leaflet 55): letters of one code that are
    adjacent, or have only h or w between them, count once; a vowel between them separates them.
    """
    letters = [letter for letter in text(value) if "a" <= letter <= "z"]
    if not letters:
        return ""
    codes, last = "", _SOUNDS.get(letters[0])
    for letter in letters[1:]:
        code = _SOUNDS.get(letter)
        if code is not None and code != last:
            codes += code
        if letter not in "hw":
            last = code
    return letters[0].upper() + codes[:_SOUNDEX_DIGITS].ljust(_SOUNDEX_DIGITS, "0")


def initial(value: str) -> str:
    """The first letter or digit of `text`."""
    return text(value)[:1]


NORMALISATIONS: Mapping[str, Callable[[str], str]] = {
    "exact": exact,
    "text": text,
    "digits": digits,
    "date": date,
    "date-dmy": date_dmy,
    "date-mdy": date_mdy,
    "year": year,
    "soundex": soundex,
    "initial": initial,
}
"""Functions by the names that plans give them. Each returns an empty text where nothing is left."""


def _is_kept(character: str) -> bool:
    if character.isalnum():
        return True
    is_mark = unicodedata.category(character).startswith("M")
    return is_mark and unicodedata.combining(character) in _MARKS_OF_LETTERS


def _plain(value: str) -> str:
    return unicodedata.normalize("NFKC", value).strip()


def _day(year: str, month: str, day: str) -> str:
    """An empty text if there is no such day."""
    try:
        return datetime.date(int(year), int(month), int(day)).isoformat()
    except ValueError:
        return ""
