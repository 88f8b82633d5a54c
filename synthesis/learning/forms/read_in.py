"""Which forms of numbers are read in each notation, and which of them show that it is this one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ....common.forms.notation import LAKHS, Notation
from ....common.forms.spelling import POINTED, TYPED, UNKNOWN
from .forms import (
    CODE,
    DECIMALS,
    EITHER,
    EXPONENTS,
    FORMS,
    LAST_NOTATIONS,
    NEWEST_NOTATIONS,
    NOTATIONS,
    PADDED,
    PLACES,
    RARE_NOTATIONS,
    Form,
)

KNOWN = {
    notation: Notation(notation)
    for notation in (*NOTATIONS, *RARE_NOTATIONS, *EXPONENTS, *LAST_NOTATIONS, POINTED, *NEWEST_NOTATIONS)
}
"""The notations that a column can have; the first of several that read the same numbers is chosen."""


_UNLISTED = -1
"""In place of one of the following features: a unit that is not listed."""


def _features(name: str) -> tuple[str, str, bool, str, bool]:
    """The sign and the mark of a notation, whether it has a decimal comma, its exponent, and a bare point."""
    known = KNOWN[name]
    return known.sign, known.mark, known.decimal_comma, known.exponent, known.has_bare_point


def _is_read(known: Notation, name: str) -> bool | None:
    """Whether numbers in another notation are read in one; None if whole ones are.

    Small numbers have no mark, and positive ones no sign; whole ones no point, and perhaps nothing around.
    """
    if name == EITHER:
        by_comma = known.mark in (",", LAKHS) or (known.decimal_comma and known.mark in ("", "."))
        return by_comma and not any(known.around)
    other = KNOWN[name]
    if _is_by_comma(known, other):
        return True
    marks = ("", ",", LAKHS) if known.mark == LAKHS else ("", known.mark)
    if other.mark not in marks or other.sign not in ("", "+", known.sign):
        return False
    if other.around != known.around and not _is_alike(known, other):
        return None if name == "{}" else False
    if known.exponent and not other.exponent:
        return None
    return other.decimal_comma == known.decimal_comma or None


def _is_by_comma(known: Notation, other: Notation) -> bool:
    """Whether the comma that one notation takes for one between thousands divides a fraction of another's."""
    if not known.decimal_comma or known.mark not in ("", ".") or other.mark != "," or other.decimal_comma:
        return False
    return any(known.around) and (other.around == known.around or _is_alike(known, other))


def _is_alike(known: Notation, other: Notation) -> bool:
    """Whether what is around numbers is the same but for blanks, or on the side of a unit not listed."""
    typed = [tuple(part.translate(TYPED) for part in one.around) for one in (known, other)]
    sides = [tuple(map(bool, one.around)) for one in (known, other)]
    return typed[0] == typed[1] or (UNKNOWN in known.pattern and sides[0] == sides[1])


def _read_in(notation: str) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    known = KNOWN[notation]
    whole = {0: 0, 3: 0} if known.mark == "." else {0: 0}
    found = []
    for name, places in _BY_NOTATION.items():
        read = _is_read(known, name)
        by_comma = read and known.decimal_comma and (name == EITHER or _is_by_comma(known, KNOWN[name]))
        for place in places if read is not False else ():
            decimals = FORMS[place].detail if read else whole.get(FORMS[place].detail)
            if by_comma:
                decimals = 3 if not FORMS[place].detail else None
            if name in EXPONENTS and notation not in EXPONENTS:
                decimals = DECIMALS + 1
            if decimals is not None:
                # Only other programs write 1.0 for 1.
                found.append((place, decimals if notation == "{}" else abs(decimals)))
    places, decimals = np.array(found, dtype=np.intp).T
    return places, decimals


def _shown_by(notation: str) -> list[NDArray[np.intp]]:
    features = _features(notation)
    # What is around a number is shown by most of them, and so are the marks between thousands.
    shown: tuple[str | bool, ...] = features[:1] if any(KNOWN[notation].around) else features
    return [
        np.array([place for place in READ_IN[notation][0] if _shows(FORMS[place].name, which, feature)])
        for which, feature in (*enumerate(shown), (_UNLISTED, UNKNOWN in notation))
        if feature
    ]


def _shows(name: str, which: int, feature: str | bool) -> bool:
    """Whether numbers show a feature of their notation; a comma before three digits shows either kind."""
    if which == _UNLISTED:
        return UNKNOWN in name
    return which == 2 or feature == "," if name == EITHER else _features(name)[which] == feature


_BY_NOTATION: dict[str, list[int]] = {}
for _one in FORMS:
    if _one.family == "number":
        _BY_NOTATION.setdefault(_one.name, []).append(PLACES[_one])

READ_IN = {notation: _read_in(notation) for notation in KNOWN} | {
    notation: (np.array([PLACES[Form("number", "{}")], PLACES[Form(CODE, notation)]]), np.zeros(2, np.intp))
    for notation in PADDED.values()
}
"""Notation -> the places of forms whose numbers are read in it, and the decimals as which they count."""

SHOWN_BY = {notation: _shown_by(notation) for notation in KNOWN}
"""Notation -> for each thing that sets it apart, the places of the forms that show it."""
