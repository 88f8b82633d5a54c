"""Votes for forms that cells of several kinds have, as votes for the kind that all votes tell."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ..private_counts import Noisy
from .date_forms import HOURS, NUMBER_DECIMALS, OF_DIGITS, PADDED_DATES, ZERO_FIRST
from .forms import (
    BY_POINT,
    BY_POINT_ZERO,
    CODE,
    COMPARED,
    DASHED,
    FORMS,
    MISSING,
    NEGATIVE,
    PADDED,
    PAIRS,
    PLACES,
    POINT_ZERO,
    SENTENCE,
    TEXT,
    THOUSANDS_BY_POINT,
    WITHOUT_DASH,
    WITHOUT_SIGN,
    Form,
)

OF_ONE_KIND = 0.8
"""A column is of numbers, dates or words if so many of its votes are; other cells count as missing."""

SEEN = 4.0
"""A form is seen if its votes exceed so many deviations of their noise: there are some 2,600 forms."""

MARKED = 0.02
"""Thousands are divided, or decimals have a comma, if so many numbers show it; most have to have a sign."""

_ZERO_LAST_SEEN = 2.5
"""Points divide thousands if numbers with a zero as last digit exceed so many deviations: in a column of
whole numbers and of three decimals that never end with one, noise says so once in 160 times."""


def settle_votes(votes: NDArray[np.float64], vote: Noisy) -> NDArray[np.float64]:
    """The votes, of which each is for a form of one kind.

    Args:
        votes: of forms that are seen, others 0; shape (FORMS,).
        vote: noisy number of cells of each form.
    """
    return _without_digits(_without_dashes(_without_signs(_without_points(votes, vote))), vote)


def _without_points(votes: NDArray[np.float64], vote: Noisy) -> NDArray[np.float64]:
    """The votes, in which a point before three digits divides thousands or a fraction.

    It divides thousands if smaller numbers have no point, some that have one end with a zero, which fractions
    of several lengths do not, and hardly any has other decimals.
    """
    known = votes.copy()
    rows = votes[FAMILIES[BY_POINT]] + votes[FAMILIES[BY_POINT_ZERO]]
    # In the notation of most, so that one form is asked about.
    zero_last = float(vote.values[FAMILIES[BY_POINT_ZERO][int(np.argmax(rows))]])
    least = MARKED * rows.sum()
    thousands = votes[_FRACTIONS].sum() <= least < votes[_WHOLE].sum()
    thousands = thousands and zero_last > max(least, _ZERO_LAST_SEEN * vote.sigma)
    known[FAMILIES[BY_POINT]] = known[FAMILIES[BY_POINT_ZERO]] = 0.0
    for (name, by_thousands), shown in zip(THOUSANDS_BY_POINT.items(), rows.tolist(), strict=True):
        form = Form("number", by_thousands) if thousands else Form("number", name, 3)
        known[PLACES[form]] += shown
    if thousands:
        known[PLACES[Form("number", THOUSANDS_BY_POINT["{}"])]] += votes[_NEGATIVE_BY_POINT]
        known[_NEGATIVE_BY_POINT] = 0.0
    return known


def _without_signs(votes: NDArray[np.float64]) -> NDArray[np.float64]:
    """The votes, in which negative numbers are numbers like others."""
    known = votes.copy()
    for place, unsigned in WITHOUT_SIGN.items():
        known[unsigned] += votes[place]
        known[place] = 0.0
    return known


def _without_dashes(votes: NDArray[np.float64]) -> NDArray[np.float64]:
    """The votes, in which amounts with a dash in place of decimals are numbers with a unit if all have one.

    Beside others they are pairs of numbers: 25.- beside 12.50 says 25.00.
    """
    known, dashed = votes.copy(), votes[FAMILIES[DASHED]].sum()
    alone = dashed > OF_ONE_KIND * votes[FILLED].sum()
    for place, number in WITHOUT_DASH.items():
        known[number if alone else _PAIRED] += votes[place]
        known[place] = 0.0
    return known


def _without_digits(votes: NDArray[np.float64], vote: Noisy) -> NDArray[np.float64]:
    """The votes, in which dates of digits are numbers unless most cells are such dates.

    Times of four digits are numbers too unless some have a zero in front, since years have none.
    """
    known = votes.copy()
    if votes[_HOURS_ZERO_FIRST] <= MARKED * votes[_HOURS].sum():
        _count_as_numbers(known, _HOURS, vote)
    if known[_DIGITS].sum() < OF_ONE_KIND * known[FILLED].sum():
        _count_as_numbers(known, _DIGITS, vote)
    return known


def _count_as_numbers(votes: NDArray[np.float64], places: NDArray[np.intp], vote: Noisy) -> None:
    """Counts cells of dates of digits as the numbers or codes that they are too.

    Together they may be seen where neither is alone.
    """
    for number in {_AS_NUMBERS[place] for place in places.tolist()}:
        alike = [number, *(place for place in places.tolist() if _AS_NUMBERS[place] == number)]
        together = float(vote.values[alike].sum())
        seen = together > SEEN * vote.sigma * math.sqrt(len(alike))
        votes[number] = max(float(votes[alike].sum()), together if seen else 0.0)
    votes[places] = 0.0


def places_where(wanted: Callable[[Form], bool]) -> NDArray[np.intp]:
    """The places of the forms of a kind."""
    return np.array([place for place, form in enumerate(FORMS) if wanted(form)], dtype=np.intp)


def _is_of(family: str, form: Form) -> bool:
    return form.family == family


FAMILIES = {
    family: places_where(partial(_is_of, family))
    for family in (
        "number",
        NEGATIVE,
        COMPARED,
        DASHED,
        BY_POINT,
        BY_POINT_ZERO,
        "date",
        "word",
        CODE,
        TEXT,
        SENTENCE,
    )
}
"""Family of forms -> their places."""

FILLED = places_where(lambda form: form.family != MISSING)
"""The places of all forms but that of no value."""

_WHOLE = places_where(lambda form: form.family == "number" and form.detail == 0)
_FRACTIONS = places_where(lambda form: form.family == "number" and form.detail not in (0, POINT_ZERO))
_NEGATIVE_BY_POINT = PLACES[Form(NEGATIVE, "{}", 3)]
_DIGITS = places_where(lambda form: form.family == "date" and (form.name, form.detail) in OF_DIGITS.values())
_HOURS = places_where(lambda form: form.family == "date" and form.name == HOURS)
_PAIRED = PLACES[Form(CODE, PAIRS)]
_HOURS_ZERO_FIRST = PLACES[Form("date", HOURS, ZERO_FIRST)]


def _as_number(form: Form) -> Form:
    digits = PADDED_DATES.get((form.name, form.detail))
    return Form(CODE, PADDED[digits]) if digits else Form("number", "{}", NUMBER_DECIMALS.get(form.name, 0))


_AS_NUMBERS = {int(place): PLACES[_as_number(FORMS[place])] for place in _DIGITS}
"""Place of a form of such dates -> that of the same cells as numbers, or as codes with zeros in front."""
