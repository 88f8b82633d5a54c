"""What a column holds, by the votes of its cells: post-processing of one noisy histogram of forms."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from ...common.data.attributes.durations import DURATIONS, LEFT_OUT, durations_read_in
from ...common.forms.date_formats import written_together
from ...common.forms.date_lists import OFFSET, SHORT_DAY, SHORT_HOUR
from ...common.forms.spelling import UNKNOWN
from .forms.ambiguous import FAMILIES, FILLED, MARKED, OF_ONE_KIND, SEEN, places_where, settle_votes
from .forms.date_forms import MAYBE_CODES
from .forms.forms import (
    CODE,
    CODES,
    COMPARED,
    DECIMALS,
    FORMS,
    MISSING,
    NEGATIVE,
    PADDED,
    PAIRS,
    PLACES,
    POINT_ZERO,
    SENTENCE,
    SEVERAL,
    TEXT,
    Form,
)
from .forms.read_in import KNOWN, READ_IN, SHOWN_BY
from .kind import Kind, Numbers, Texts, Times, Words
from .private_counts import Noisy

_OTHERS_SEEN = 5.0
"""Cells of another kind than their column's are seen from so many deviations on, whatever they are: in a
column without any, noise shows some once in 2,000 times."""

_CODES_SEEN = 3.2
"""Codes that stand for answers that there are not are each seen from so many deviations on, if all that are
exceed 5 deviations of their sum: in a column without any, noise shows some once in 2,000 times."""

_MISSING_SEEN = 3.0
"""Missing values are seen from so many deviations on: they are one form, and usual. In a column without any,
noise shows some once in 700 times."""

_MAIN = 0.5
"""A column of many different texts is of numbers or dates if more than so many of its votes are."""

_BESIDE_TEXTS = 0.05
"""It may be so if more than so many votes are, and all others are for texts without digits."""

_POINTED = 0.2
"""Numbers below one begin with their point if so many numbers show it."""

_SHORT = 0.1
"""Days, months or hours are written with one digit if so many dates show it."""


@dataclass(frozen=True)
class Vote:
    """What the cells of a column voted for.

    Attributes:
        kind: the kind.
        missing: votes for no value, and for forms that the kind has not; in records, with noise.
        deviation: standard deviation of these.
        filled: votes for forms of the kind.
        others: those of `missing` that are for other forms.
        units: decimals -> those of `others` that are for numbers with something behind them, where most have
            nothing.
        instead: of texts, the vote of a column of numbers or dates, if its different values are too many to
            be listed; of numbers with a unit, that of a column of texts, if they have no unit in common.
    """

    kind: Kind
    missing: float
    deviation: float
    filled: float
    others: float = 0.0
    units: Mapping[int, float] = field(default_factory=dict)
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
    votes = vote.above_noise(SEEN)
    if records - float(vote.values[_ONLY_MISSING]) < _OTHERS_SEEN * vote.sigma:
        # Where nearly all cells are missing, what is seen may be noise.
        votes[FILLED] = vote.above_noise(_OTHERS_SEEN)[FILLED]
    if not votes[FILLED].any():
        missing = float(votes[_ONLY_MISSING])
        if missing > records / 2:
            return Vote(Texts(()), missing, vote.sigma, max(records - missing, 0.0))
        best = FILLED[int(np.argmax(vote.values[FILLED]))]
        votes[best] = max(vote.values[best], 0.0)
    votes = settle_votes(votes, vote)
    missing = float(vote.values[_ONLY_MISSING])
    if missing <= _MISSING_SEEN * vote.sigma:
        missing = 0.0

    sure = np.where(votes > _OTHERS_SEEN * vote.sigma, votes, 0.0)

    def of(kind: Kind) -> Vote:
        others = max(0.0, float(sure[FILLED].sum()) - _votes_for(kind, sure))
        known = max(_votes_for(kind, votes), records - missing - others, 0.0)
        units: dict[int, float] = {}
        for place in _BEHIND.get(kind.notation, ()) if isinstance(kind, Numbers) else ():
            if sure[place] > 0:
                units[FORMS[place].detail] = units.get(FORMS[place].detail, 0.0) + float(sure[place])
        return Vote(_with_signs(kind, vote), missing + others, vote.sigma, known, others, units)

    clear = sure if sure[FILLED].any() else votes
    most = _number_or_date(votes, clear, OF_ONE_KIND)
    codes = isinstance(most, Times) and most.format in MAYBE_CODES
    if most is not None and not codes and not is_of_unknown_unit(most):
        return of(most)
    found = of(_of_texts(votes, clear))
    if most is not None and not codes:
        return replace(of(most), instead=found)
    main = most or _number_or_date(votes, clear, _MAIN) or _of_padded(clear)
    if main is None and not clear[_WITH_OTHER_DIGITS].any():
        main = _number_or_date(votes, clear, _BESIDE_TEXTS)
    if main is None or isinstance(found.kind, Words) or is_of_unknown_unit(main):
        return found
    return replace(found, instead=of(main))


def is_of_unknown_unit(kind: Kind) -> bool:
    """Whether a column is of numbers with a unit or a currency that is no part of their form."""
    return isinstance(kind, Numbers) and UNKNOWN in kind.notation


def _votes_for(kind: Kind, votes: NDArray[np.float64]) -> float:
    """The votes for forms that a kind has."""
    match kind:
        case Numbers():
            return float(_of_notation(kind.notation, votes).sum())
        case Times():
            known = formats_read_in(kind.format).union(*map(formats_read_in, kind.also))
            return float(sum(votes[place] for place in FAMILIES["date"] if FORMS[place].name in known))
        case Words():
            return float(votes[FAMILIES["word"]].sum())
    return float(votes[FILLED].sum())


def _with_signs(kind: Kind, vote: Noisy) -> Kind:
    """Numbers of which negative ones are seen, or codes alone that stand for answers that there are not."""
    if not isinstance(kind, Numbers):
        return kind
    negative = vote.values[FAMILIES[NEGATIVE]] / vote.sigma
    named = np.array([FORMS[place].name in CODES for place in FAMILIES[NEGATIVE]])
    # Other notations with a sign are those of columns that show it.
    sign = KNOWN[kind.notation].sign if kind.notation in KNOWN else ""
    if sign not in ("", "+") or (negative[~named] > _OTHERS_SEEN).any():
        return replace(kind, signed=True)
    seen = named & (negative > _CODES_SEEN)
    if kind.notation != "{}" or negative[seen].sum() <= _OTHERS_SEEN * math.sqrt(seen.sum()):
        return kind
    codes = {float(FORMS[place].name) for place in FAMILIES[NEGATIVE][seen]}
    return replace(kind, codes=tuple(sorted(codes)))


def _number_or_date(votes: NDArray[np.float64], clear: NDArray[np.float64], least: float) -> Kind | None:
    """Numbers or dates; None if they have a smaller share of the clear votes.

    Args:
        votes: of all forms that are seen.
        clear: those that noise hardly makes, if there are any. A few votes for a comma or for decimals change
            how all numbers are written, so these are not enough to be seen.
        least: the share.
    """
    needed = least * clear[FILLED].sum()
    numbers, dates = clear[FAMILIES["number"]].sum(), clear[FAMILIES["date"]].sum()
    compared = clear[FAMILIES[COMPARED]].sum()
    if numbers > 0 and numbers + compared > needed:
        kind = _numbers(_notation(votes, clear), votes, clear)
        # Others, such as 2A among 13 and 75, are none of this column.
        held = _of_notation(kind.notation, clear).sum() + compared > needed
        return kind if held or is_of_unknown_unit(kind) else None
    return _times(votes, clear) if dates > needed else None


def _times(votes: NDArray[np.float64], clear: NDArray[np.float64]) -> Times:
    """Dates in the format that reads most of them, of those that enough of them show; and clear others."""
    cast = {FORMS[place]: float(votes[place]) for place in FAMILIES["date"] if votes[place] > 0}

    def rows(names: set[str], detail: int = -1) -> float:
        return sum(
            n for form, n in cast.items() if form.name in names and (detail < 0 or form.detail & detail)
        )

    shown = [form.name for form in cast if rows({form.name}) > MARKED * rows(formats_read_in(form.name))]
    # Cells that leave out parts that are zero may each be in another format.
    shown += [LEFT_OUT] * any(form.startswith("PT") for form in shown)
    best = max(shown, key=lambda name: rows(formats_read_in(name)))
    sure = {FORMS[place].name for place in FAMILIES["date"] if clear[place] > 0}
    beside = written_together(best, [name for name in dict.fromkeys(shown) if name in sure])
    # No time is made up for dates without one: a column of both is one of dates.
    days = [name for name in (best, *beside) if not Times(name).timed]
    if days and rows({*days}) > (1 - OF_ONE_KIND) * rows({best, *beside}):
        best, beside = max(days, key=lambda name: rows({name})), (best, *beside)
    else:
        beside = tuple(name for name in beside if name not in days)
    read = formats_read_in(best)
    detail = sum(one for one in (SHORT_DAY, SHORT_HOUR) if rows(read, one) > _SHORT * rows(read))
    # May is the whole name of a month and its short one.
    known = {name: formats_read_in(name) - {name} for name in (best, *beside)}
    also = tuple(name for name in beside if name != best and not any(name in more for more in known.values()))
    return Times(best, detail, also=also)


def formats_read_in(form: str) -> set[str]:
    """The formats whose cells are read in one.

    May is the whole name of a month and its short one, and some names are those of other languages too; where
    the first is written 1er other days are as usual; a Z among distances from UTC is one of them; 201012 is a
    month, and a day of a year of two digits.
    """
    if form in DURATIONS:
        return {*durations_read_in(form)}
    if form == "ab%y":
        return {form, "%Y%m"}
    named = [form, *(form.replace(*one) for one in (("%B", "%b"), ("%N", "%b"), ("%N", "%B")))]
    named += [one.replace("%K", "%a") for one in named]
    named += [one.replace("%o", "%d") for one in named]
    return {*named, *([f"{form.removesuffix(OFFSET)}Z"] if form.endswith(OFFSET) else [])}


def _of_texts(votes: NDArray[np.float64], clear: NDArray[np.float64]) -> Words | Texts:
    """Words or other texts; words alone if no other form is clear."""
    all_votes = votes[FILLED].sum()
    families = {family: votes[places].sum() for family, places in FAMILIES.items()}
    words = tuple(FORMS[place].name for place in FAMILIES["word"] if votes[place] > 0)
    if words and not clear[_NO_WORD].any():
        return Words(words)
    sentences = votes[_ONLY_SENTENCE] > all_votes / 2
    several, pairs = (votes[PLACES[Form(CODE, name)]] for name in (SEVERAL, PAIRS))
    coded = families[CODE] - several - pairs + votes[_ATTACHED].sum()
    return Texts(words, bool(sentences), bool(coded > all_votes / 2), bool(pairs > all_votes / 2))


def _notation(votes: NDArray[np.float64], clear: NDArray[np.float64]) -> str:
    """The notation of most numbers, of those that enough of them show."""
    numbers, bare = votes[FAMILIES["number"]].sum(), votes[_PLAIN_NUMBERS].sum()

    def cast(notation: str) -> tuple[float, int]:
        # A plus is read everywhere.
        return float(_of_notation(notation, votes).sum()), len(SHOWN_BY[notation])

    def is_shown(notation: str) -> bool:
        known = KNOWN[notation]
        if (any(known.around) or known.exponent) and numbers - bare <= numbers / 2:
            return False
        least = _POINTED if known.has_bare_point else MARKED
        return all(clear[places].sum() > least * numbers for places in SHOWN_BY[notation])

    return max(filter(is_shown, KNOWN), key=cast)


def _of_notation(notation: str, votes: NDArray[np.float64]) -> NDArray[np.float64]:
    """The votes that are numbers in a notation, by decimals."""
    places, decimals = READ_IN[notation]
    return np.bincount(decimals - POINT_ZERO, votes[places], len(_DETAILS)).astype(np.float64)


def _numbers(notation: str, votes: NDArray[np.float64], clear: NDArray[np.float64]) -> Numbers:
    def decimals_in(cast: NDArray[np.float64]) -> list[int]:
        found = _of_notation(notation, cast)
        return [decimals for decimals, number in zip(_DETAILS, found, strict=True) if number > 0]

    seen = decimals_in(clear) or decimals_in(votes)
    most = max(seen)
    with_point, without = _of_notation(notation, clear)[[0, -POINT_ZERO]]
    bare = bool(without > with_point) and notation == "{}"
    if most > DECIMALS:
        return Numbers(notation, None, bare=bare)
    if most <= 0:
        return Numbers(_zeros_in_front(clear) if notation == "{}" else notation, 0, bare=bare)
    return Numbers(notation, most, seen == [most], bare)


def _of_padded(clear: NDArray[np.float64]) -> Numbers | None:
    """Numbers of one length with zeros in front, such as postal codes; None if most cells are no such."""
    notation = _zeros_in_front(clear)
    if notation == "{}" or clear[READ_IN[notation][0]].sum() < OF_ONE_KIND * clear[FILLED].sum():
        return None
    return Numbers(notation, 0)


def _zeros_in_front(clear: NDArray[np.float64]) -> str:
    """The notation of whole numbers: with zeros in front if enough of them show it, all of one length."""
    codes = np.array([clear[PLACES[Form(CODE, notation)]] for notation in PADDED.values()])
    enough = codes.max() > max(MARKED * clear[_PLAIN_NUMBERS].sum(), OF_ONE_KIND * codes.sum())
    return list(PADDED.values())[int(np.argmax(codes))] if enough else "{}"


_DETAILS = tuple(range(POINT_ZERO, DECIMALS + 2))
_PLAIN_NUMBERS = places_where(lambda form: form.family == "number" and form.name == "{}")
_NO_WORD = places_where(lambda form: form.family not in (MISSING, "word"))
_ONLY_MISSING = int(places_where(lambda form: form.family == MISSING)[0])
_ATTACHED = places_where(
    lambda form: form.family == "number" and UNKNOWN in form.name and " " not in form.name.replace("{ ", "")
)
_BEHIND = {
    notation: [
        place
        for one in {notation, "{}"}
        for blank in ("", " ")
        for place in FAMILIES["number"]
        if FORMS[place].name == f"{one}{blank}{UNKNOWN}"
    ]
    for notation in ("{}", "{:,}", "{,}")
}
"""Notation -> the places of the same numbers, or whole ones, with something behind them."""
_WITH_OTHER_DIGITS = places_where(
    lambda form: form.family not in (MISSING, TEXT, "word", "number", "date", COMPARED)
)
_ONLY_SENTENCE = int(places_where(lambda form: form.family == SENTENCE)[0])
