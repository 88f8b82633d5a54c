"""Suggests rules of columns that follow from another one: parts of dates, steps, and times a number."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, permutations, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...common.data.attributes.attribute import Attribute
from ...common.data.attributes.boolean import BooleanAttribute
from ...common.data.attributes.categorical import CategoricalAttribute, Category
from ...common.data.attributes.dates import DateAttribute, TimeAttribute
from ...common.data.attributes.numeric import NumericAttribute
from ...common.data.domain import Domain
from ...common.data.rules.elapsed import ELAPSED, Elapsed, units_between
from ...common.data.rules.follows import PARTS, Follows, PartOf, StepsOf, part_of
from ...common.data.rules.order import Product, Sum, unit_shown
from ...common.data.values import number_or_nan, text_of
from ...common.errors import DataError
from .labels import Labels

Numbers = NDArray[np.float64]

LEAST_ROWS = 100
"""Fewer rows tell nothing."""

SHARE_KEEPING = 0.999
"""Share of the rows that keep a suggested rule."""

_ROWS_OF_EACH = 20
"""So many rows on average have each value that follows, and so many have another than the most frequent."""

_NAMED_PARTS = ("quarter", "weekday", "month", "hour", "day")
"""Parts that may have names; few first."""

_MOST_STEPS, _OF_CHANCE = 50, 0.25
"""Between so many steps at most, and so large a part of those that would be there by chance, values lie."""

_MOST_FOLLOWING = 64
"""Columns of so many values at most are looked at as steps."""

_MOST_SCALED, _LEAST_DIFFERENT, _DIGITS_OF_NUMBER = 50, 5, 6
"""Numbers times or plus a number are looked for among so many columns, of so many different numbers at least;
the number has so many digits at most."""

_SOME, _MOST_OF_THEM = 1_000, 0.9
"""So many rows tell most columns from those that follow: fewer than this share of them keep to it."""

_DATES_COMPARED, _MOST_OF_ONE_LENGTH = 10, 0.9
"""Times between dates are looked for among so many, and so large a share of them at most is the same."""


@dataclass(frozen=True, eq=False)
class _Column:
    """A column that may follow from others.

    Attributes:
        name: of it.
        labels: its cells as categories.
        numbers: each of the values as a number; NaN if it is none.
        said: each of the values as a domain lists it.
    """

    name: str
    labels: Labels
    numbers: Numbers
    said: tuple[Category, ...]

    @property
    def present(self) -> NDArray[np.bool_]:
        """The rows in which it is not missing."""
        return np.array([value is not None for value in self.labels.values], dtype=np.bool_)[
            self.labels.codes
        ]


def functions(
    attributes: Mapping[str, Attribute], cells: Mapping[str, NDArray[Any]], labels: Mapping[str, Labels]
) -> list[Follows]:
    """Columns that are parts of dates, or say between which steps a number or date lies.

    Of each column it is one rule, or several that it is the same part.

    Args:
        attributes: as drafted, by name.
        cells: raw values of a sample of the rows, shape (N,) for each attribute.
        labels: the same as categories.
    """
    times = {
        name: one.moments.read(name, cells[name])[0]
        for name, one in attributes.items()
        if isinstance(one, DateAttribute) and not one.texts
    }
    places: dict[str, NDArray[Any]] = {
        name: one.numbers(cells[name])
        for name, one in attributes.items()
        if isinstance(one, NumericAttribute) and not one.texts
    }
    sorted_ones = {name: _Sorted.of(found) for name, found in (places | times).items()}
    found = []
    for name, attribute in attributes.items():
        if isinstance(attribute, TimeAttribute) or attribute.texts:
            continue
        if attribute.open and not isinstance(attribute, NumericAttribute):
            continue
        numbers = np.array([number_or_nan(text or "") for text in labels[name].values])
        if isinstance(attribute, NumericAttribute):
            numbers = attribute.numbers(np.array(labels[name].values, dtype=object))
        column = _Column(name, labels[name], numbers, _as_listed(attribute, labels[name], numbers))
        steps = sorted(_steps(column, attributes, sorted_ones), key=lambda one: len(one.values))
        rules = [*_parts(column, times), *_named_parts(column, times), *steps]
        found += _alike([rule for rule in rules if _fits(rule, attributes)])
    order = {part: place for place, part in enumerate(PARTS)}
    return sorted(found, key=lambda one: order[one.part] if isinstance(one, PartOf) else len(order))


def elapsed_times(attributes: Mapping[str, Attribute], numbers: Mapping[str, Numbers]) -> Iterator[Elapsed]:
    """Columns that are the time from one date to another, such as an age or the length of a stay.

    Args:
        attributes: as drafted, by name.
        numbers: of those that have some, of dates seconds since 1970, NaN where they are missing.
    """
    dates = {name: one * 1e6 for name, one in numbers.items() if isinstance(attributes[name], TimeAttribute)}
    for name, found in numbers.items():
        known = found[~np.isnan(found)]
        if name in dates or len(known) < LEAST_ROWS or not np.all(known % 1 == 0):
            continue
        # What is the same in most rows is so by chance.
        if np.unique(known, return_counts=True)[1].max() > len(known) * _MOST_OF_ONE_LENGTH:
            continue
        for (begin, end), unit in product(permutations([*dates][:_DATES_COMPARED], 2), ELAPSED):
            if all(
                _keep(units_between(unit, dates[begin][some], dates[end][some]), found[some])
                for some in (slice(_SOME), slice(None))
            ):
                yield Elapsed(name, unit, begin, end)


def _keep(expected: Numbers, found: Numbers) -> bool:
    """Whether nearly all rows have what is expected of them."""
    known = ~np.isnan(expected) & ~np.isnan(found)
    return known.sum() >= LEAST_ROWS and bool((expected == found)[known].mean() >= SHARE_KEEPING)


def scalings(numbers: Mapping[str, Numbers], domain: Domain) -> Iterator[Sum]:
    """Columns that are another one times or plus a number; of those that say the same, the plainest."""
    numbers = {
        name: found
        for name, found in islice(numbers.items(), _MOST_SCALED)
        if len(np.unique(found[~np.isnan(found)][:_SOME])) >= _LEAST_DIFFERENT
    }
    found: list[tuple[float, Sum]] = []
    for name, other in permutations(numbers, 2):
        known = ~(np.isnan(numbers[name]) | np.isnan(numbers[other]))
        if known.sum() < LEAST_ROWS:
            continue
        total, part = numbers[name][known], numbers[other][known]
        heads = total[:_SOME], part[:_SOME]
        for kind, factor in ((Sum, _summand(*heads)), (Product, _factor_between(*heads))):
            if factor is None or factor == (1.0 if kind is Product else 0.0):
                continue
            rule = kind(name, (other, _whole(factor)))
            if (~rule.broken({name: total, other: part}, domain)).mean() >= SHARE_KEEPING:
                # Times 24 says the same as a 24th, and more than it without one for tiny numbers.
                found.append((len(f"{abs(factor):g}") + 100 * (abs(factor) < 1) + 10 * (factor < 0), rule))
    yield from (rule for _, rule in sorted(found, key=lambda one: one[0]))


def missing_together(rule: Follows, cells: Mapping[str, NDArray[Any]]) -> dict[str, Any] | None:
    """The rule that a column is missing where the one is that it follows from, and only there; or None.

    Args:
        rule: a column that follows.
        cells: for each column whether it is missing, shape (N,).
    """
    column, other = cells[rule.column], cells[rule.of]
    if other.sum() < _ROWS_OF_EACH or not np.array_equal(column, other):
        return None
    return {"null": rule.column, "when": {rule.of: [None]}, "only": True}


def _as_listed(attribute: Attribute, labels: Labels, numbers: Numbers) -> tuple[Category, ...]:
    """The values of a column as a domain lists them; see `_Column`."""
    listed: dict[str, Category] = {}
    if isinstance(attribute, CategoricalAttribute):
        listed = {text_of(one): one for one in attribute.categories}
    elif isinstance(attribute, BooleanAttribute):
        listed = {"false": False, "true": True}
    else:
        known = zip(labels.values, numbers.tolist(), strict=True)
        listed = {text: _whole(number) for text, number in known if text and np.isfinite(number)}
    return tuple(listed.get(text, text) if text else "" for text in labels.values)


def _alike(rules: Sequence[Follows]) -> list[Follows]:
    """The first rule, and those by which the column is the same part of other dates."""
    same = [rule for rule in rules if isinstance(rule, PartOf) and rule.same_part(rules[0])]
    return [*(same or rules[:1])]


def _fits(rule: Follows, attributes: Mapping[str, Attribute]) -> bool:
    try:
        Domain(tuple(attributes[name] for name in rule.columns), rules=(rule,))
    except DataError:
        return False
    return True


def _parts(column: _Column, times: Mapping[str, NDArray[Any]]) -> Iterator[PartOf]:
    """The dates of which it is a part, by its number."""
    held = column.numbers[column.labels.codes]
    if np.isnan(column.numbers).all():
        return
    for name, found in times.items():
        known = ~np.isnat(found) & column.present
        if known.sum() < LEAST_ROWS:
            continue
        for part in PARTS:
            if (part_of(part, found[known][:_SOME]) == held[known][:_SOME]).mean() < _MOST_OF_THEM:
                continue
            kept = (part_of(part, found[known]) == held[known]).mean()
            # No number is the year by chance.
            if kept >= SHARE_KEEPING and (part == "year" or _says_more(kept, column.labels.codes[known])):
                yield PartOf(column.name, name, part)


def _named_parts(column: _Column, times: Mapping[str, NDArray[Any]]) -> Iterator[PartOf]:
    """The dates of which it is the name of a part, or of several."""
    for name, found in times.items():
        known = ~np.isnat(found) & column.present
        codes = column.labels.codes[known]
        if known.sum() < LEAST_ROWS:
            continue
        for part in _NAMED_PARTS:
            if _most_frequent(part_of(part, found[known][:_SOME]), codes[:_SOME])[1] < _MOST_OF_THEM:
                continue
            values, position = np.unique(part_of(part, found[known]), return_inverse=True)
            apart = len(
                np.unique(found[known].astype("datetime64[h]" if part == "hour" else "datetime64[D]"))
            )
            # Of few dates, everything follows.
            if len(values) < 2 or len(codes) < _ROWS_OF_EACH * len(values) or apart < 2 * len(values):
                continue
            usual, kept = _most_frequent(position, codes)
            if kept >= SHARE_KEEPING and _says_more(kept, codes):
                named = (column.said[code] for code in usual.tolist())
                pairs = zip(map(str, values.tolist()), named, strict=True)
                yield PartOf(column.name, name, part, tuple(pairs))


def _says_more(kept: float, codes: NDArray[np.int64]) -> bool:
    """Whether so many rows do not keep to a function because nearly all have the same value."""
    usual = np.bincount(codes).max()
    others = len(codes) - int(usual)
    return others >= _ROWS_OF_EACH and 1 - kept < 0.05 * others / len(codes)


def _most_frequent(groups: NDArray[np.int64], codes: NDArray[np.int64]) -> tuple[NDArray[np.int64], float]:
    """The most frequent code of each group, and the share of the rows that have it."""
    size = int(codes.max()) + 1
    cells, counts = np.unique(groups * size + codes, return_counts=True)
    order = np.lexsort((-counts, cells // size))
    first = order[np.append(True, np.diff(cells[order] // size) > 0)]
    return cells[first] % size, float(counts[first].sum() / len(codes))


@dataclass(frozen=True, eq=False)
class _Sorted:
    """A column of numbers or times, in order.

    Attributes:
        rows: those in which it is known, increasing by it.
        values: the different ones, increasing.
        position: for each of these rows the place of its value.
    """

    rows: NDArray[np.int64]
    values: NDArray[Any]
    position: NDArray[np.int64]

    @classmethod
    def of(cls, found: NDArray[Any]) -> _Sorted:
        missing = np.isnat(found) if found.dtype.kind == "M" else ~np.isfinite(found)
        rows = np.flatnonzero(~missing)
        rows = rows[np.argsort(found[rows], kind="stable")]
        values, position = np.unique(found[rows], return_inverse=True)
        return cls(rows, values, position)

    @cached_property
    def some(self) -> NDArray[np.int64]:
        """So many of the rows that they soon tell most columns from those that follow."""
        return self.rows[:: max(1, len(self.rows) // _SOME)]


def _steps(
    column: _Column, attributes: Mapping[str, Attribute], sources: Mapping[str, _Sorted]
) -> Iterator[StepsOf]:
    """The numbers and dates between whose steps it says that they lie."""
    if not 1 < len(column.labels.values) <= _MOST_FOLLOWING:
        return
    known = column.present
    for name, one in sources.items():
        if name == column.name or _changes_often(column.labels.codes[one.some[known[one.some]]]):
            continue
        kept_rows = known[one.rows]
        codes, position = column.labels.codes[one.rows[kept_rows]], one.position[kept_rows]
        if len(codes) < LEAST_ROWS or _changes_often(codes):
            continue
        places, values = _runs(position, codes)
        if not 1 < len(values) <= min(_MOST_STEPS + 1, len(one.values) / 2, len(codes) / _ROWS_OF_EACH):
            continue
        if len(values) > 2 and len(values) > _OF_CHANCE * _runs_by_chance(position, codes):
            continue
        kept = float((values[np.searchsorted(places[1:], position, "right")] == codes).mean())
        if kept < SHARE_KEEPING or not _says_more(kept, codes):
            continue
        at = tuple(
            _between(one.values[place - 1], one.values[place], attributes[name])
            for place in places[1:].tolist()
        )
        yield StepsOf(column.name, name, at, tuple(column.said[code] for code in values.tolist()))


def _changes_often(codes: NDArray[np.int64]) -> bool:
    """Whether codes of rows in order change more often than between steps, beside exceptions."""
    exceptions = 2 + 4 * (1 - SHARE_KEEPING) * len(codes)
    return bool(np.count_nonzero(np.diff(codes)) > _MOST_STEPS + exceptions)


def _runs(
    position: NDArray[np.int64], codes: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The places of values from which on a code is the most frequent one, and these codes.

    A run of few rows whose code has another one with more is an exception.
    """
    used, group = np.unique(position, return_inverse=True)
    usual, _ = _most_frequent(group, codes)
    starts = np.append(True, usual[1:] != usual[:-1])
    run = np.cumsum(starts)[group] - 1
    rows = np.bincount(run)
    of = usual[starts]
    largest = np.zeros(int(of.max()) + 1, dtype=np.int64)
    np.maximum.at(largest, of, rows)
    kept = (rows >= _ROWS_OF_EACH) | (rows == largest[of])
    first, of = used[starts][kept], of[kept]
    changed = np.append(True, of[1:] != of[:-1])
    first = first[changed]
    first[:1] = 0
    return first, of[changed]


def _runs_by_chance(position: NDArray[np.int64], codes: NDArray[np.int64]) -> float:
    """How many runs there were if which code a value has did not depend on where it lies."""
    _, group = np.unique(position, return_inverse=True)
    usual, _ = _most_frequent(group, codes)
    shares = np.bincount(usual) / len(usual)
    return 1 + len(usual) * float(1 - (shares**2).sum())


def _between(low: Any, high: Any, attribute: Attribute) -> float | str:
    """A round number or date above one and not above another."""
    if isinstance(attribute, DateAttribute):
        for unit in ("Y", "M", "D", "h", "m", "s"):
            begun = high.astype(f"datetime64[{unit}]").astype("datetime64[us]")
            if begun > low:
                break
        else:
            begun = high
        text = str(begun.astype("datetime64[s]"))
        return text.removesuffix("T00:00:00")
    if low == 0 and isinstance(attribute, NumericAttribute) and attribute.unit is not None:
        # Whether it is above zero.
        return _whole(attribute.unit)
    return round_between(float(low), float(high))


def round_between(low: float, high: float) -> float:
    """The number of fewest digits above one and not above another; of several, the nearest to the middle."""
    for power in range(_power(max(abs(low), abs(high))) + 1, -16, -1):
        unit = 10.0**power
        # Quotients of decimal numbers may be a little less than whole.
        first, last = math.floor(low / unit + 1e-9) + 1, math.floor(high / unit + 1e-9)
        near = min(max(round((low + high) / 2 / unit), first), last)
        found = float(f"{near * unit:.15g}")
        if first <= last and low < found <= high:
            return _whole(found)
    return _whole(high)


def _whole(number: float) -> float:
    return int(number) if float(number).is_integer() else number


def _power(number: float) -> int:
    return math.floor(math.log10(number)) if number > 0 else 0


def _summand(total: Numbers, part: Numbers) -> float | None:
    """What is added to a part, if it is the same nearly everywhere."""
    between = np.round(total - part, 9)
    values, counts = np.unique(between, return_counts=True)
    place = int(counts.argmax())
    return float(values[place]) if counts[place] >= SHARE_KEEPING * len(between) else None


def _factor_between(total: Numbers, part: Numbers) -> float | None:
    """By what a part is multiplied, of few digits, if it is the same nearly everywhere but for rounding."""
    known = part != 0
    if not known.any():
        return None
    total, part = total[known], part[known]
    half = 0.5 * unit_shown(total) * (1 + 1e-6) + 1e-9 * np.abs(total)
    ends = np.sort(np.stack([(total - half) / part, (total + half) / part]), axis=0)
    low, high = float(np.quantile(ends[0], SHARE_KEEPING)), float(np.quantile(ends[1], 1 - SHARE_KEEPING))
    if not low <= high:
        return None
    found = round_between(np.nextafter(low, -np.inf), high)
    digits = f"{abs(found):.15g}".replace(".", "").strip("0")
    return found if found and len(digits) <= _DIGITS_OF_NUMBER else None
