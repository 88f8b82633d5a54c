"""What a column holds, by the votes of its cells: post-processing of one noisy histogram of forms."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from .date_forms import OF_DIGITS, SHORT_DAY, SHORT_HOUR
from .forms import CODE, DECIMALS, EITHER, FORMS, MISSING, NOTATIONS, POINT_ZERO, SENTENCE, TEXT, Form
from .private_counts import Noisy

_SEEN = 4.0
"""A form is seen if its votes exceed so many deviations of their noise: there are several hundred forms."""

_OTHERS_SEEN = 5.0
"""Cells of another kind than their column's are seen from so many deviations on, whatever they are: in a
column without any, noise shows some once in 5,000 times."""

_MISSING_SEEN = 3.0
"""Missing values are seen from so many deviations on: they are one form, and usual. In a column without any,
noise shows some once in 700 times."""

_OF_ONE_KIND = 0.8
"""A column is of numbers, dates or words if so many of its votes are; other cells count as missing."""

_MAIN = 0.5
"""A column of many different texts is of numbers or dates if more than so many of its votes are."""

_SHORT = 0.1
"""Days, months or hours are written with one digit if so many dates show it."""

_MARKED = 0.02
"""Thousands are divided, or decimals have a comma, if so many numbers show it; most have to have a sign."""


@dataclass(frozen=True)
class Numbers:
    """A column of numbers.

    Attributes:
        notation: how they are written.
        decimals: digits after the point, at most; None for any.
        padded: whether all have as many, such as 1.50.
    """

    notation: str
    decimals: int | None
    padded: bool = False


@dataclass(frozen=True)
class Times:
    """A column of dates or timestamps.

    Attributes:
        format: as of `strptime`; a and b are a day and a month, in an order that the values show.
        detail: which parts may have one digit; see `date_forms`.
    """

    format: str
    detail: int = 0

    @property
    def timed(self) -> bool:
        """Whether it holds timestamps."""
        return "%H" in self.format or "%I" in self.format


@dataclass(frozen=True)
class Words:
    """A column of well-known words.

    Attributes:
        words: those that were seen.
    """

    words: tuple[str, ...]


@dataclass(frozen=True)
class Texts:
    """A column of other texts.

    Attributes:
        words: well-known words that were seen among them.
        sentences: whether most are long.
        coded: whether most are codes, whose beginnings have a meaning of their own.
    """

    words: tuple[str, ...]
    sentences: bool = False
    coded: bool = False


Kind = Numbers | Times | Words | Texts


@dataclass(frozen=True)
class Vote:
    """What the cells of a column voted for.

    Attributes:
        kind: the kind.
        missing: votes for no value, and for forms that the kind has not; in records, with noise.
        deviation: standard deviation of these.
        filled: votes for forms of the kind.
        others: those of `missing` that are for other forms.
        instead: of texts, the vote of a column of numbers or dates, if its different values are too many to
            be listed.
    """

    kind: Kind
    missing: float
    deviation: float
    filled: float
    others: float = 0.0
    instead: Vote | None = None

    def without(self, cells: float, deviation: float) -> Vote:
        """The vote as if cells that were counted otherwise had no value.

        Args:
            cells: so many, with noise.
            deviation: its standard deviation.
        """
        together = math.hypot(self.deviation, deviation)
        return replace(self, missing=self.missing + cells, filled=self.filled - cells, deviation=together)


def kind_voted(vote: Noisy, records: float) -> Vote:
    """The kind that most cells voted for.

    Args:
        vote: noisy number of cells of each form, shape (FORMS,).
        records: number of rows of the table.
    """
    votes = vote.above_noise(_SEEN)
    if not votes[_FILLED].any():
        missing = float(votes[_ONLY_MISSING])
        if missing > records / 2:
            return Vote(Texts(()), missing, vote.sigma, max(records - missing, 0.0))
        best = _FILLED[int(np.argmax(vote.values[_FILLED]))]
        votes[best] = max(vote.values[best], 0.0)
    votes = _without_digits(votes)
    missing = float(vote.values[_ONLY_MISSING])
    if missing <= _MISSING_SEEN * vote.sigma:
        missing = 0.0

    sure = np.where(votes > _OTHERS_SEEN * vote.sigma, votes, 0.0)

    def of(kind: Kind) -> Vote:
        others = max(0.0, float(sure[_FILLED].sum()) - _votes_for(kind, sure))
        known = max(_votes_for(kind, votes), records - missing - others, 0.0)
        return Vote(kind, missing + others, vote.sigma, known, others)

    clear = sure if sure[_FILLED].any() else votes
    most = _number_or_date(votes, clear, _OF_ONE_KIND)
    if most is not None:
        return of(most)
    found = of(_of_texts(votes, clear))
    main = _number_or_date(votes, clear, _MAIN)
    return found if main is None or isinstance(found.kind, Words) else replace(found, instead=of(main))


def _votes_for(kind: Kind, votes: NDArray[np.float64]) -> float:
    """The votes for forms that a kind has."""
    match kind:
        case Numbers():
            return float(_of_notation(kind.notation, votes).sum())
        case Times():
            return float(sum(votes[place] for place in _FAMILIES["date"] if FORMS[place].name == kind.format))
        case Words():
            return float(votes[_FAMILIES["word"]].sum())
    return float(votes[_FILLED].sum())


def _without_digits(votes: NDArray[np.float64]) -> NDArray[np.float64]:
    """The votes, in which dates of digits are whole numbers unless most cells are such dates."""
    digits = votes[_DIGITS].sum()
    if not digits or digits >= _OF_ONE_KIND * votes[_FILLED].sum():
        return votes
    known = votes.copy()
    known[_numbers_in("{}")[1]] += digits
    known[_DIGITS] = 0.0
    return known


def _number_or_date(votes: NDArray[np.float64], clear: NDArray[np.float64], least: float) -> Kind | None:
    """Numbers or dates; None if they have a smaller share of the clear votes.

    Args:
        votes: of all forms that are seen.
        clear: those that noise hardly makes, if there are any. A few votes for a comma or for decimals change
            how all numbers are written, so these are not enough to be seen.
        least: the share.
    """
    needed = least * clear[_FILLED].sum()
    numbers, dates = clear[_FAMILIES["number"]].sum(), clear[_FAMILIES["date"]].sum()
    if numbers > needed:
        return _numbers(_notation(votes, clear), votes, clear)
    return _times(votes) if dates > needed else None


def _times(votes: NDArray[np.float64]) -> Times:
    """Dates of the most frequent format."""
    places = _FAMILIES["date"]
    by_format: dict[str, float] = {}
    for place in places:
        by_format[FORMS[place].name] = by_format.get(FORMS[place].name, 0.0) + votes[place]
    best = max(by_format, key=lambda form: by_format[form])

    def shows(detail: int) -> bool:
        cast = [
            votes[place] for place in places if FORMS[place].name == best and FORMS[place].detail & detail
        ]
        return bool(sum(cast) > _SHORT * by_format[best])

    return Times(best, sum(one for one in (SHORT_DAY, SHORT_HOUR) if shows(one)))


def _of_texts(votes: NDArray[np.float64], clear: NDArray[np.float64]) -> Words | Texts:
    """Words or other texts; words alone if no other form is clear."""
    all_votes = votes[_FILLED].sum()
    families = {family: votes[places].sum() for family, places in _FAMILIES.items()}
    words = tuple(FORMS[place].name for place in _FAMILIES["word"] if votes[place] > 0)
    if words and not clear[_NO_WORD].any():
        return Words(words)
    sentences = votes[_ONLY_SENTENCE] > all_votes / 2
    return Texts(words, bool(sentences), bool(families[CODE] > all_votes / 2))


def _notation(votes: NDArray[np.float64], clear: NDArray[np.float64]) -> str:
    """The notation of most numbers, of those that enough of them show."""
    numbers, bare = votes[_FAMILIES["number"]].sum(), votes[_numbers_in("{}")].sum()

    def cast(notation: str) -> float:
        return float(_of_notation(notation, votes).sum())

    def is_shown(notation: str) -> bool:
        if notation == "{}":
            return True
        if not (notation.startswith("{") and notation.endswith("}")):
            return bool(numbers - bare > numbers / 2)
        own = clear[_numbers_in(notation)].sum()
        if notation in ("{:,}", "{,}"):
            own += clear[_numbers_in(EITHER)].sum()
        return bool(own > _MARKED * numbers)

    return max(filter(is_shown, NOTATIONS), key=cast)


def _of_notation(notation: str, votes: NDArray[np.float64]) -> NDArray[np.float64]:
    """The votes that are numbers in a notation, by decimals."""
    found = votes[_numbers_in(notation)].copy()
    for other in _READ_TOO[notation]:
        found += votes[_numbers_in(other)]
    for other in _WHOLE_TOO[notation]:
        found[1] += votes[_numbers_in(other)][1]
    return found


def _numbers(notation: str, votes: NDArray[np.float64], clear: NDArray[np.float64]) -> Numbers:
    def decimals_in(cast: NDArray[np.float64]) -> list[int]:
        found = _of_notation(notation, cast)
        return [decimals for decimals, number in zip(_DETAILS, found, strict=True) if number > 0]

    seen = decimals_in(clear) or decimals_in(votes)
    most = max(seen)
    if most > DECIMALS:
        return Numbers(notation, None)
    if most <= 0:
        return Numbers(notation, 0)
    return Numbers(notation, most, decimals_in(votes) == [most])


def _places(wanted: Callable[[Form], bool]) -> NDArray[np.intp]:
    return np.array([place for place, form in enumerate(FORMS) if wanted(form)], dtype=np.intp)


def _numbers_in(notation: str) -> NDArray[np.intp]:
    return _BY_NOTATION[notation]


def _by_notation(notations: Iterable[str]) -> dict[str, NDArray[np.intp]]:
    return {notation: _places(partial(_is_in, notation)) for notation in notations}


def _is_in(notation: str, form: Form) -> bool:
    return form.family == "number" and form.name == notation


def _is_of(family: str, form: Form) -> bool:
    return form.family == family


def _read_too(notation: str) -> list[str]:
    """The other notations whose numbers, whatever their decimals, are read in a notation."""
    found = []
    if mark := re.search(r"\{:\(?[,' ]\}|\{:\(\}", notation):
        # Numbers below a thousand have no mark, and positive ones no parentheses.
        found.append(notation.replace(mark[0], "{}"))
    if "{ ,}" in notation:
        found.append(notation.replace("{ ,}", "{,}"))
    if notation in ("{:,}", "{,}", "{:(,}"):
        found.append(EITHER)
    if notation == "{:(,}":
        found += ["{:,}", "{:(}"]
    return found


def _whole_too(notation: str) -> list[str]:
    """The other notations whose whole numbers are read in a notation: plain ones, and without decimals."""
    known = {notation, *_read_too(notation)}
    if "{}" in known:
        return []
    plain = re.sub(r"\{.*\}", "{}", notation)
    return sorted({"{}", plain, notation.replace("{ ,}", "{: }")} - known)


_DETAILS = tuple(range(POINT_ZERO, DECIMALS + 2))
_BY_NOTATION = _by_notation((*NOTATIONS, EITHER))
_READ_TOO = {notation: _read_too(notation) for notation in NOTATIONS}
_WHOLE_TOO = {notation: _whole_too(notation) for notation in NOTATIONS}
_FAMILIES = {
    family: _places(partial(_is_of, family)) for family in ("number", "date", "word", CODE, TEXT, SENTENCE)
}
_FILLED = _places(lambda form: form.family != MISSING)
_NO_WORD = _places(lambda form: form.family not in (MISSING, "word"))
_ONLY_MISSING = int(_places(lambda form: form.family == MISSING)[0])
_DIGITS = _places(lambda form: form.family == "date" and form.name in OF_DIGITS.values())
_ONLY_SENTENCE = int(_places(lambda form: form.family == SENTENCE)[0])
