"""Learns what the columns of a raw table hold: post-processing of few noisy counts."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ...common.data.attributes.categorical import CategoricalAttribute
from ...common.data.attributes.unmodelled import Dropped, Identifier, Unmodelled
from ...common.data.domain import Domain
from ...common.forms.notation import OF_ONE_SIDE, WITH_FLAGS, Notation, tail_of
from ...common.forms.spelling import thousands_in
from .asking import PRESENT, Asking, Rows
from .cells import Cells
from .columns import OTHER, Column, categories
from .few_numbers import MOST_NUMBERS
from .forms.ambiguous import SEEN
from .forms.forms import DECIMALS, FIRST
from .kind import Numbers, Texts, Times, Words
from .kinds import Vote, is_of_unknown_unit, kind_voted
from .of_numbers import learned_numbers
from .of_texts import different_texts, is_many, learned_labels, learned_texts, learned_words
from .of_times import learned_times
from .private_counts import Noisy, PrivateCounts

_VOTES = 0.15
"""Share of the budget for the votes of all columns; the rest is shared by the columns."""

_UNITS = 0.05
"""Share of the budget, over the columns, for the units and currencies of those that have an unknown one."""

_ONE_UNIT = 0.95
"""Numbers have a unit if it is that of so many of them, as far as noise lets tell."""

_THOUSANDS = 0.5
"""Numbers are thousands, millions and more, or of several units, if so many of them are."""

_TAILS = (*"kKMBT", *(blank + word for word in OF_ONE_SIDE for blank in ("", " ")), WITH_FLAGS)
"""What may stand behind some numbers of a column that means no unit."""

_CODE_LETTER = re.compile("[A-Z]?")

_OTHER_UNITS_SEEN = 3.0
"""Cells of other units are seen from so many deviations on."""

_OTHERS_REMARKED = 0.01
"""Cells of another kind than their column are worth a remark if they are this share of the rows."""


_MOSTLY = 0.5
"""Texts that are not listed are worth a remark if they are in more than this share of the rows."""


@dataclass(frozen=True)
class Learned:
    """What was learned of a raw table.

    Attributes:
        columns: name -> column that is released, in order; bins of numbers are open.
        unmodelled: identifiers, and columns that are left out.
        lost: columns that are left out since too few records were seen anywhere.
        others: columns in many of whose cells stands something of another kind, which counts as missing.
        merged: columns of which most rows have a text that is not listed.
    """

    columns: Mapping[str, Column]
    unmodelled: tuple[Unmodelled, ...]
    lost: tuple[str, ...]
    others: tuple[str, ...] = ()
    merged: tuple[str, ...] = ()

    @property
    def reading(self) -> Domain:
        """The domain as which the table is read."""
        return Domain(tuple(column.reading for column in self.columns.values()), self.unmodelled)


def learn(cells: Cells, counts: PrivateCounts, rows: Rows, zcdp_rho: float, delta: float) -> Learned:
    """Learns all columns of a raw table.

    Args:
        cells: the table.
        counts: what counts its rows.
        rows: their number.
        zcdp_rho: what may be spent, with the choice of bins.
        delta: probability with which texts of single rows may be found, for all columns together.
    """
    names, records, kept = cells.names, rows.records, counts.left - zcdp_rho
    asked = {name: partial(cells.forms, name) for name in names if name not in cells.listed}
    voting = _VOTES * zcdp_rho / len(names)
    whole = zcdp_rho / len(names)
    described = learned_labels(cells, counts, rows, whole)
    forms = counts.histograms("forms", asked, voting, FIRST)
    votes = {name: kind_voted(vote, records) for name, vote in forms.items()}
    measured = [name for name, vote in votes.items() if is_of_unknown_unit(vote.kind)]
    perhaps = [name for name, vote in votes.items() if (vote.instead or vote).units]
    asked_of_units = len(measured) + len(perhaps)
    each = delta / max(1, sum(_takes_delta(vote) for vote in votes.values()) + asked_of_units)
    for name in measured:
        votes[name] = _with_unit(votes[name], cells, counts, name, _UNITS * whole, each)
    kinds = {name: vote.kind for name, vote in votes.items()}
    costly = [name for name, kind in kinds.items() if not isinstance(kind, Words)]
    left = (1 - _VOTES) * (zcdp_rho - whole * len(described)) - _UNITS * whole * asked_of_units
    asking = Asking(cells, counts, rows, left / max(1, len(costly)), kept)
    texts = {name: kind for name, kind in kinds.items() if isinstance(kind, Texts)}
    different = different_texts(asking, texts)
    many = {
        name: vote.instead
        for name, vote in votes.items()
        if name in texts
        and vote.instead is not None
        and _has_too_many(asking, vote.instead, different[name], each)
    }
    votes |= many
    for name in perhaps:
        if votes[name].units:
            votes[name] = _with_tails(votes[name], cells, counts, name, _UNITS * whole)
    kinds = {name: vote.kind for name, vote in votes.items()}
    texts = {name: kind for name, kind in texts.items() if name not in many}
    numbers = {name: kind for name, kind in kinds.items() if isinstance(kind, Numbers)}
    times = {name: kind for name, kind in kinds.items() if isinstance(kind, Times)}
    found: dict[str, Column | Unmodelled | None] = {**described}
    for name, kind in kinds.items():
        if isinstance(kind, Words):
            found[name] = learned_words(votes[name], forms[name], name, rows, voting)
    found |= learned_numbers(asking, numbers, votes, each)
    found |= learned_texts(asking, texts, votes, forms, different, each)
    # Last, since what times ask of each other follows what is left.
    found |= learned_times(asking, times, votes, each)
    lost = tuple(name for name in names if found[name] is None)
    others = tuple(
        name
        for name, vote in votes.items()
        if vote.others > _OTHERS_REMARKED * records and not _lists_texts(found[name])
    )
    if not any(isinstance(one, Column) for one in found.values()):
        # What was spent ends in a release, though one of nothing but the number of rows.
        nothing = np.zeros(0)
        return Learned({name: categories(name, (), nothing, False, True) for name in names}, (), names)
    return Learned(
        {name: one for name in names if isinstance(one := found[name], Column)},
        (
            *(one for name in names if isinstance(one := found[name], (Identifier, Dropped))),
            *map(Dropped, lost),
        ),
        lost,
        others,
        tuple(
            name for name, one in found.items() if isinstance(one, Column) and one.merged > _MOSTLY * records
        ),
    )


def _has_too_many(asking: Asking, vote: Vote, different: Noisy, delta: float) -> bool:
    """Whether a column that may be one of numbers or times has too many texts for a list of most of them.

    In doubt it is one of numbers: few numbers, and frequent texts beside them, are found there too. Few
    digits with zeros in front are found as texts alone, so that these are no numbers in doubt. Where most
    cells hold texts, these have to be few.
    """
    if vote.others > vote.filled:
        texts = float(different.values[0]) - PRESENT * different.sigma - vote.filled
        if texts > MOST_NUMBERS or not is_many(different):
            return False
    if not isinstance(vote.kind, Numbers):
        return is_many(different)
    doubt = 0.0 if Notation(vote.kind.notation).width else PRESENT
    most = float(different.values[0]) + doubt * different.sigma
    return most > MOST_NUMBERS or most * asking.counts.findable(asking.share, delta) > vote.filled


def _takes_delta(vote: Vote) -> bool:
    """Whether values of single rows may be found in a column, with a small probability."""
    return isinstance(vote.kind, (Numbers, Texts)) or vote.others > 0


def _lists_texts(one: Column | Unmodelled | None) -> bool:
    """Whether a column lists texts, so that those among its numbers are not missing."""
    if not isinstance(one, Column):
        return False
    if not isinstance(one.reading, CategoricalAttribute):
        return bool(one.reading.texts)
    return any(
        isinstance(category, str) for category in one.reading.categories if category not in ("", OTHER)
    )


def _with_unit(vote: Vote, cells: Cells, counts: PrivateCounts, name: str, rho: float, delta: float) -> Vote:
    """The vote of a column of numbers, in which the unit or currency of nearly all stands; or of texts.

    Args:
        vote: what its cells voted for, of an unknown unit.
        cells: the table.
        counts: what counts its rows.
        name: of the column.
        rho: cost of finding the unit, zCDP.
        delta: with which a unit of one row may be found.
    """
    kind = vote.kind
    assert isinstance(kind, Numbers)
    assert vote.instead is not None
    rows, sigma = _frequent_units(cells, counts, name, rho, delta)
    alike: dict[tuple[str, ...], float] = {}
    tail = tail_of([last for _, last in rows], beside=False)
    for around, count in rows.items():
        unit = around[0].strip(), tail or around[1].strip()
        alike[unit] = alike.get(unit, 0.0) + count
    known = max(alike.values(), default=0.0)
    least = _ONE_UNIT * vote.filled - PRESENT * math.hypot(vote.deviation, sigma)
    if not alike or known < least:
        return _by_magnitudes(vote, kind, alike) or _of_several_units(vote, alike)
    others, deviation = vote.filled - known, math.hypot(vote.deviation, sigma)
    if others > _OTHER_UNITS_SEEN * deviation:
        vote = replace(vote.without(others, sigma), others=vote.others + others)
    before, after = max(rows, key=rows.__getitem__)
    number = kind.notation.partition("{")[2].partition("}")[0]
    kind = replace(kind, notation=f"{before}{{{number}}}{tail or after}", signed=kind.signed or bool(tail))
    return replace(vote, kind=kind, instead=None)


def _frequent_units(
    cells: Cells, counts: PrivateCounts, name: str, rho: float, delta: float
) -> tuple[dict[tuple[str, str], float], float]:
    """What many numbers of a column have around them, with its noisy rows; and the deviation of these."""
    around, rows = cells.units(name)
    places, noisy = counts.frequent("units", name, lambda: rows, rho, delta)
    found = zip(places.tolist(), noisy.values.tolist(), strict=True)
    return {around[place]: count for place, count in found}, noisy.sigma


def _with_tails(vote: Vote, cells: Cells, counts: PrivateCounts, name: str, rho: float) -> Vote:
    """The vote of a column of numbers, some of which have something behind them.

    They are thousands and so on, such as 1.2K beside 411, are on the other side of an account, such as 5.00
    CR beside 3.00, or have a flag, such as 152 H beside 140.

    Args:
        vote: what its cells voted for: plain numbers, and some with something behind them.
        cells: the table.
        counts: what counts its rows.
        name: of the column.
        rho: cost of finding what is behind them, zCDP.
    """
    noisy = counts.histograms("behind numbers", {name: partial(_count_tails, cells, name)}, rho)[name]
    seen = noisy.above_noise(SEEN)[:-1]
    found, units = float(seen.sum()), sum(vote.units.values())
    kind, behind = vote.kind, [tail for tail, rows in zip(_TAILS, seen.tolist(), strict=True) if rows > 0]
    assert isinstance(kind, Numbers)
    others = float(noisy.values[-1]) > PRESENT * noisy.sigma
    if others or not behind or found < _ONE_UNIT * units - PRESENT * math.hypot(noisy.sigma, vote.deviation):
        return vote
    letter = thousands_in(behind, beside=True) if kind.notation == "{}" else ""
    tail = WITH_FLAGS if behind == [WITH_FLAGS] else tail_of(behind, beside=True)
    decimals = max(vote.units)
    if letter:
        kind = Numbers(f"{{:{letter}}}", decimals, len(vote.units) == 1, signed=kind.signed)
    elif tail:
        longer = kind.decimals is None or decimals > DECIMALS
        kind = replace(
            kind,
            notation=f"{kind.notation}{tail}",
            decimals=None if longer else max(decimals, kind.decimals or 0),
            # As programs write 12.0 beside 12.5.
            padded=kind.padded or (kind.decimals == 1 and not kind.bare),
            signed=kind.signed or tail.startswith("|"),
        )
    else:
        return vote
    return replace(
        vote.without(-units, noisy.sigma), kind=kind, others=max(0.0, vote.others - units), units={}
    )


def _count_tails(cells: Cells, name: str) -> NDArray[np.int64]:
    """The rows of a column with each of `_TAILS` behind a number, then with something else around one."""
    around, rows = cells.units(name)
    places = [_place_of_tail(last) if not first else len(_TAILS) for first, last in around]
    return np.bincount(places, rows, len(_TAILS) + 1).astype(np.int64)


def _place_of_tail(behind: str) -> int:
    tail = WITH_FLAGS if tail_of([behind], beside=True) == WITH_FLAGS else behind
    return _TAILS.index(tail) if tail in _TAILS else len(_TAILS)


def _of_several_units(vote: Vote, rows: Mapping[tuple[str, ...], float]) -> Vote:
    """The vote of a column of texts, which are numbers of several units, such as 3 mths beside 12y, or codes.

    Args:
        vote: what its cells voted for, of an unknown unit.
        rows: of what stands before and behind numbers, where many do.
    """
    texts = vote.instead
    assert texts is not None
    assert isinstance(vote.kind, Numbers)
    assert isinstance(texts.kind, Texts)
    # In codes there is one large letter beside digits.
    spaced = " " in vote.kind.notation.replace("{ ", "{")
    units = sum(n for around, n in rows.items() if spaced or not all(map(_CODE_LETTER.fullmatch, around)))
    return replace(texts, kind=replace(texts.kind, pairs=units > _THOUSANDS * vote.filled))


def _by_magnitudes(vote: Vote, kind: Numbers, rows: Mapping[tuple[str, ...], float]) -> Vote | None:
    """The vote of a column of thousands, millions and so on, such as 1.5K beside 2M; None if it holds others.

    Args:
        vote: what its cells voted for.
        kind: numbers of an unknown unit.
        rows: of what stands before and behind numbers, where many do.
    """
    before = {first for first, _ in rows}
    letter = thousands_in([last for _, last in rows], beside=True)
    if not letter or len(before) > 1 or sum(rows.values()) < _THOUSANDS * vote.filled:
        return None
    if Notation(kind.notation).mark or Notation(kind.notation).decimal_comma:
        return None
    return replace(vote, kind=replace(kind, notation=f"{before.pop()}{{:{letter}}}"), instead=None)
