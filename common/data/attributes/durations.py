"""Durations with a letter behind each number, such as PT2H30M and 2d 5h."""

from __future__ import annotations

import re
from functools import lru_cache

_ISO = ("PTnHnM", "PTnMnS", "PTnHnMnS", "PnDTnH", "PnDTnHnM", "PnDTnHnMnS")
_IN_LETTERS = ("nd nh", "nh nm", "nm ns", "nd nh nm", "nh nm ns", "nd nh nm ns")

DAYS_AND_CLOCK = "n days nn:nn:nn"
"""The format of timedeltas of pandas, and of intervals of PostgreSQL of days and more."""

LEFT_OUT = "PT[nH][nM][nS]"
"""The format of ISO 8601 in which parts that are zero are left out."""

DURATIONS = (
    *_ISO,
    LEFT_OUT,
    *_IN_LETTERS,
    *(form.replace(" ", "") for form in _IN_LETTERS),
    *("nh nnm", "nhnnm", "nh nmin", "nh nnmin", "nd nh nmin", "n h n min", "n d n h", "nmin ns", "n min n s"),
    "n Std. n Min.",
    DAYS_AND_CLOCK,
)
"""How durations are written: n is a number, nn one of two digits. What is in brackets is left out where it is
zero."""

_SECONDS = {"d": 24 * 3600, "h": 3600, "S": 3600, "m": 60, "M": 60, "s": 1}
"""First letter of a unit, of ISO 8601 in small letters -> its seconds; Std. are hours in German."""

_PART = re.compile(r"(?P<digits>nn?)(?P<unit> ?(?:min|Std[.]|Min[.]|[dhmsDHMS]))")


_DAYS_AND_CLOCK = re.compile("([0-9]{1,6}) days? ([0-9]{2}):([0-9]{2}):([0-9]{2})(?:[.][0-9]{1,9})?")


def form_of(text: str) -> str | None:
    """The format of a duration, of which each number has any digits; None if it is none.

    Where a part that is not the first has a zero in front, all have two digits.
    """
    form = re.sub("[0-9]+", "n", text)
    if _DAYS_AND_CLOCK.fullmatch(text):
        return DAYS_AND_CLOCK
    if re.search("[a-z] ?0[0-9]", text):
        two = _PART.sub(lambda part: ("n" if not part.start() else "nn") + part["unit"], form)
        return two if two in DURATIONS else None
    if form in ("PTnH", "PTnM", "PTnS", "PTnHnS"):
        return LEFT_OUT
    return form if form in DURATIONS else None


@lru_cache
def parts_of(form: str) -> tuple[tuple[str, int], ...]:
    """The units of a format as they are written, and the seconds of each."""
    if form == DAYS_AND_CLOCK:
        return ((" days ", 24 * 3600), (":", 3600), (":", 60), ("", 1))
    iso = form.startswith("P")
    return tuple(
        (part["unit"], _SECONDS[part["unit"].strip().lower()[0] if iso else part["unit"].strip()[0]])
        for part in _PART.finditer(form)
    )


@lru_cache
def pattern_of(form: str) -> str:
    """A regular expression of the durations in a format, with a group of each number; any may be left out."""
    if form == DAYS_AND_CLOCK:
        return f"^{_DAYS_AND_CLOCK.pattern}$"
    plain = form.replace("[", "").replace("]", "").replace("T", "T?")

    def group(part: re.Match[str]) -> str:
        return f"(?:([0-9]{{1,6}}){part['unit'].replace('.', '[.]')} ?)?"

    return f"^{re.sub(f'{_PART.pattern} ?', group, plain)}$"


def unit_of_durations(form: str) -> int:
    """The seconds of the smallest unit."""
    return parts_of(form)[-1][1]


@lru_cache
def durations_read_in(form: str) -> frozenset[str]:
    """The formats whose durations are read in one; of parts that all are written no other is."""
    units, spaced = {unit for unit, _ in parts_of(form)}, " " in form
    return frozenset(
        one
        for one in DURATIONS
        if one == form
        or (one.startswith("PT") and form == LEFT_OUT)
        or (
            not one.startswith("P")
            and (" " in one, "nn" in one) in ((spaced, False), (spaced, "nn" in form))
            and {unit for unit, _ in parts_of(one)} <= units
        )
    )


def seconds_in(text: str, form: str) -> int | None:
    """The seconds that a text states in a format; None if it states none."""
    match = re.match(pattern_of(form), text.strip())
    if match is None or not any(match.groups()):
        return None
    return sum(
        int(number or 0) * unit for number, (_, unit) in zip(match.groups(), parts_of(form), strict=True)
    )


def duration_text(seconds: int, form: str) -> str:
    """The text of a duration in a format."""
    left, text = seconds, form
    for written, unit in parts_of(form):
        number, left = divmod(left, unit)
        optional = re.compile(rf"\[n{re.escape(written)}\]")
        if optional.search(text):
            text = optional.sub(f"{number}{written}" if number else "", text, count=1)
        else:
            width = 2 if f"nn{written}" in text else 1
            text = text.replace("n" * width + written, f"{number:0{width}d}{written}", 1)
    return text if text != "PT" else "PT0S"
