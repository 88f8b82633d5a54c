"""Drafts which columns are computed from those of rows above, of the row before or after, and of rows below.

What one row says of itself is for rules; see `suggestions`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ....common.data.attributes.attribute import Attribute
from ....common.data.attributes.categorical import CategoricalAttribute, CodedAttribute
from ....common.data.attributes.clock import Clock
from ....common.data.attributes.dates import GAP_KEYS, GapAttribute, TimeAttribute
from ....common.data.attributes.numeric import NumericAttribute
from ....common.data.rules.elapsed import units_between
from ....common.data.rules.plain import unit_of
from ....common.data.values import blank_texts, read_numbers
from ...sources.source import FileSource
from ...sources.sql import as_name
from ..draft import Draft, as_object, attributes_of, unheld
from ..profile import Rows
from .courses import Related
from .drafted import Drafted
from .links import Kinship
from .rules_as_formulas import with_what_follows

_ROWS_SEEN = 20_000
"""Expressions are looked for in about so many rows."""

_AGREEING = 0.999
"""Share of the rows in which a column is what it seems to be."""

_FEWEST, _MOST_COMMON = 20, 0.9
"""Fewest rows that tell it from others, and the largest share of the commonest cell: else it is chance."""

_DAY_US = 86_400_000_000
"""Microseconds."""

_MOST_COLUMNS = 60
"""Expressions are looked for among so many columns of numbers and dates of a table, the first ones."""

Numbers = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Seen:
    """Rows of a table, as numbers.

    Attributes:
        numbers: of each column that has some: of dates microseconds since 1970, NaN where they are missing.
        dates: the columns of dates among them, each with whether it has times of day.
        units: of the others, of what they are multiples; 0 if of nothing.
    """

    numbers: Mapping[str, Numbers]
    dates: Mapping[str, bool]
    units: Mapping[str, float]

    @classmethod
    def of(cls, attributes: Mapping[str, Attribute], cells: Mapping[str, NDArray[np.object_]]) -> Seen:
        """Rows whose cells are texts, None where they are missing.

        Args:
            attributes: of the columns.
            cells: shape (N,) each.
        """
        numbers: dict[str, Numbers] = {}
        dates, units = {}, {}
        for name, attribute in attributes.items():
            if name not in cells or attribute.texts or len(numbers) == _MOST_COLUMNS:
                continue
            if isinstance(attribute, TimeAttribute):
                if not isinstance(attribute.moments, Clock):
                    texts = blank_texts(cells[name], attribute.missing)
                    times = attribute.moments.read(name, texts)[0].astype("datetime64[us]")
                    numbers[name] = np.where(np.isnat(times), np.nan, times.astype(np.int64))
                    dates[name] = attribute.moments.timed
            elif isinstance(attribute, NumericAttribute):
                numbers[name], units[name] = attribute.numbers(cells[name]), unit_of(attribute)
            elif isinstance(attribute, CategoricalAttribute | CodedAttribute):
                read, unreadable = read_numbers(name, np.array(["" if c is None else c for c in cells[name]]))
                if not unreadable.any() and not np.isnan(read).all():
                    numbers[name], units[name] = read, float(np.all(read[~np.isnan(read)] % 1 == 0))
        return cls(numbers, dates, units)

    def at(self, places: NDArray[np.integer]) -> Seen:
        """Some of the rows; -1 stands for none."""
        return Seen({name: self.number_at(name, places) for name in self.numbers}, self.dates, self.units)

    def number_at(self, name: str, places: NDArray[np.integer]) -> Numbers:
        """A column in some of the rows; -1 stands for none."""
        held = self.numbers[name]
        return np.where(places < 0, np.nan, held[places]) if len(held) else np.full(len(places), np.nan)

    def is_seen(self, name: str, found: Numbers, telling: NDArray[np.bool_] | None = None) -> bool:
        """Whether a column is what an expression gives, in nearly all rows, and not by chance.

        Args:
            name: of the column.
            found: what it gives, NaN for nothing, shape (N,).
            telling: the rows that tell this expression from simpler ones; all if None.
        """
        held = self.numbers[name]
        if name in self.dates and not self.dates[name]:
            found = np.floor(found / _DAY_US) * _DAY_US
        with np.errstate(invalid="ignore"):
            slack = (0.5 + 1e-6) * self.units.get(name, 0.0) + 1e-9 * np.abs(found)
            agree = (np.abs(held - found) <= slack) | (np.isnan(held) & np.isnan(found))
        known = held[~np.isnan(held) & (True if telling is None else telling)]
        shares = [agree.mean(), 1.0 if telling is None else agree[telling].mean()]
        if len(known) < _FEWEST or min(shares) < _AGREEING:
            return False
        return bool(np.unique(known, return_counts=True)[1].max() <= _MOST_COMMON * len(known))


_Needs: TypeAlias = dict[tuple[str, str], set[tuple[str, str]]]
"""Of columns that are computed, by table and name, the columns that they name."""


class Following(NamedTuple):
    """A column that is computed.

    Attributes:
        column: its name.
        formula: the expression.
        needs: the other columns that it names, each with its table; empty for the own one.
        measured: whether it names the column, too, which stays so where there is no neighbour.
    """

    column: str
    formula: str
    needs: tuple[tuple[str, str], ...]
    measured: bool = False

    def is_of(self, table: str) -> bool:
        """Whether it names a column of a table."""
        return any(of == table for of, _ in self.needs)


def with_formulas(
    drafts: Mapping[str, Drafted], kinship: Kinship, sources: Mapping[str, FileSource]
) -> dict[str, Drafted]:
    """The tables, whose domains say of columns that they are computed from rows above, beside or below them.

    A date by which rows of one table lie is not computed from those of another.

    Args:
        drafts: the tables.
        kinship: which belong to which.
        sources: of each.
    """
    needs: _Needs = {}
    changed = dict(drafts)
    for name, table in drafts.items():
        if table.draft is not None and table.has_domain:
            below = [one for one in drafts.values() if one.parent == name]
            found = (
                (seen, one)
                for seen, one in _candidates(table, drafts, kinship, sources)
                if not any(one.column in other.around and not one.is_of(other.name) for other in below)
            )
            entries = computed_entries(table.draft, found, (table.order,), name, needs)
            changed[name] = table.with_entries(entries)
    return changed


def computed_of_people(draft: Draft, rows: Related, order: str) -> dict[str, Any]:
    """The entries of columns that are computed, of a table of several rows a person.

    Args:
        draft: of the table, without columns that count rows.
        rows: of it, those of one person beside each other, in order.
        order: see `from_neighbours`.
    """
    rows = rows.first_rows(_ROWS_SEEN)
    seen = Seen.of(attributes_of(draft.entries), rows.cells)
    first = np.flatnonzero(np.diff(rows.parent, prepend=-1))
    same = {name: held for name, held in seen.numbers.items() if _is_one_of_each(held, first, rows.parent)}
    people = Seen(same, seen.dates, seen.units).at(first)
    below = [(people, one) for one in from_below(people, "", seen, rows.parent)]
    ages = [(seen, one) for one in from_above(seen, {}, order)]
    neighbours = [(seen, one) for one in from_neighbours(seen, rows.parent, order)]
    return computed_entries(draft, [*below, *ages, *neighbours], (order,))


def computed_entries(
    draft: Draft,
    found: Iterable[tuple[Seen, Following]],
    kept: Collection[str],
    table: str = "",
    needs: _Needs | None = None,
) -> dict[str, Any]:
    """The entries of columns of a table that are computed.

    Args:
        draft: of the table.
        found: what columns are, each with the rows in which it was seen; the first one counts.
        kept: columns that are not computed.
        table: its name.
        needs: what columns of other tables need; changed.
    """
    needs = {} if needs is None else needs
    attributes, computed = attributes_of(draft.entries), dict[str, Any]()
    others = {one.other for one in attributes.values() if isinstance(one, GapAttribute)}
    for seen, one in found:
        place, wanted = (table, one.column), {(of or table, name) for of, name in one.needs}
        # A release holds one column at least.
        left = len(attributes) - len(unheld(computed))
        spare = one.measured or left > 1
        if spare and one.column not in (*kept, *others, *computed) and not _reach(needs, wanted, place):
            needs[place] = wanted
            if one.measured:
                stated = {"computed": one.formula, "measured": True}
                computed[one.column] = as_object(draft.entries[one.column]) | stated
                continue
            numbers, is_date = seen.numbers[one.column], one.column in seen.dates
            entry = _plain_entry(draft.entries[one.column], numbers, is_date)
            # Without rows below a sum is nothing, where the column always holds something.
            adds_up = one.formula.startswith("sum(") and one.needs[0][0] and not entry.get("nullable", True)
            formula = f"coalesce({one.formula}, 0)" if adds_up else one.formula
            computed[one.column] = {**entry, "computed": formula}
    alone = {name: computed[name] for name in unheld(computed)}
    followed = with_what_follows(draft.entries, draft.suggested_rules, alone)
    return (computed | followed) if len(followed) < len(attributes) else computed


def _is_one_of_each(numbers: Numbers, first: NDArray[np.intp], parent: NDArray[np.int64]) -> bool:
    """Whether all rows of a person have the same number."""
    own = numbers[first][np.cumsum(np.diff(parent, prepend=-1) > 0) - 1]
    return bool(((numbers == own) | (np.isnan(numbers) & np.isnan(own))).mean() >= _AGREEING)


def _reach(needs: _Needs, begin: set[tuple[str, str]], end: tuple[str, str]) -> bool:
    """Whether columns need another one, directly or by others."""
    left, seen = [*begin], set[tuple[str, str]]()
    while left:
        one = left.pop()
        if one == end:
            return True
        if one not in seen:
            seen.add(one)
            left += needs.get(one, ())
    return False


def _candidates(
    table: Drafted, drafts: Mapping[str, Drafted], kinship: Kinship, sources: Mapping[str, FileSource]
) -> Iterator[tuple[Seen, Following]]:
    """What columns of a table are, each with the rows in which it was seen."""
    source, names = sources[table.name], [*table.attributes]
    for child in (one for one in drafts.values() if one.parent == table.name and one.draft is not None):
        assert child.belongs is not None
        link, held = child.belongs, [*child.attributes]
        below = Related.of(sources[child.name], link.foreign, held).first_rows(_ROWS_SEEN)
        first = np.flatnonzero(np.diff(below.parent, prepend=-1))
        rows = Rows.of(source, {link.key, *names})
        with rows.connection:
            cells = rows.cells_of_keys(link.key, below.cells[link.foreign][first])
        own = Seen.of(table.attributes, cells)
        for found in from_below(own, child.name, Seen.of(child.attributes, below.cells), below.parent):
            yield own, found
    if table.belongs is None:
        return
    order = table.dates.get(table.order)
    related = Related.of(source, table.belongs.foreign, [*names, *table.counts])
    related = related.in_order(order, next(iter(table.counts), "")).first_rows(_ROWS_SEEN)
    own, above = Seen.of(table.attributes, related.cells), dict[str, Seen]()
    keys, link = related.cells[table.belongs.foreign], table.belongs
    for name in kinship.above(table.name):
        other, next_link = drafts[name], kinship.belongs.get(name)
        wanted = {*other.attributes, *({next_link.foreign} if next_link else ())}
        if not wanted:
            break
        rows = Rows.of(sources[name], {link.key, *wanted})
        with rows.connection:
            cells = rows.cells_of_keys(link.key, keys)
        above[name] = Seen.of(other.attributes, cells)
        if next_link:
            keys, link = cells[next_link.foreign], next_link
    for found in (*from_above(own, above, table.order), *from_neighbours(own, related.parent, table.order)):
        yield own, found


def _plain_entry(entry: Any, numbers: Numbers, is_date: bool) -> dict[str, Any]:
    """The entry of a column that is computed: numbers and dates within plain bounds."""
    known = numbers[~np.isnan(numbers)]
    if is_date:
        if "after" not in entry:
            return dict(entry)
        years = (
            np.array([known.min(), known.max()], dtype="datetime64[us]").astype("datetime64[Y]").astype(str)
        )
        kept = {key: held for key, held in entry.items() if key not in ("after", *GAP_KEYS)}
        return {**kept, "min": f"{years[0]}-01-01", "max": f"{years[1]}-12-31", "bins": "auto"}
    if isinstance(entry, dict) and entry["type"] == "numeric":
        return dict(entry)
    whole = bool(np.all(known % 1 == 0))
    low, high = (int(one) if whole else float(one) for one in (known.min(), known.max()))
    bounds = {"min": low, "max": high + (low == high), "bins": "auto"}
    missing = {"nullable": bool(np.isnan(numbers).any()), "integer": whole, "reviewed": False}
    return {"type": "numeric", **bounds, **missing}


def from_below(own: Seen, table: str, rows: Seen, parent: NDArray[np.int64]) -> Iterator[Following]:
    """Columns of a table that are the number of rows below, or a sum, mean, least or largest value of theirs.

    Args:
        own: the rows of the table that have rows below.
        table: name of that below; empty if its rows are those of the same table that stand together.
        rows: of it, those of one row above beside each other, in order.
        parent: the place of the row above of each, never decreasing, shape (N,).
    """
    size = len(next(iter(own.numbers.values()), ()))
    counts = np.bincount(parent, minlength=size)
    several, starts = counts > 1, np.searchsorted(parent, np.arange(size))
    for name in own.numbers:
        if name not in own.dates and own.is_seen(name, counts.astype(np.float64), several):
            yield Following(name, f"count({as_name(table)})" if table else "count(*) OVER ()", ())
    pairs = product(own.numbers, rows.numbers)
    alike = ((name, of) for name, of in pairs if _are_alike(own, rows, name, of) and (table or name != of))
    for name, of in alike:
        for function, value in _VALUES_OF_SEVERAL.items():
            if (function in ("sum", "avg") and name in own.dates) or not len(parent):
                continue
            if own.is_seen(name, value(rows.numbers[of], starts, counts), several):
                text = f"{as_name(table)}.{as_name(of)})" if table else f"{as_name(of)}) OVER ()"
                yield Following(name, f"{function}({text}", ((table, of),))


def from_above(own: Seen, above: Mapping[str, Seen], order: str) -> Iterator[Following]:
    """Columns that are the time from one date to another, such as ages in years.

    That between two dates of a row that are no order is for rules.

    Args:
        own: rows of a table.
        above: of each table above the row of each.
        order: the column of dates by which rows are in order; empty for none.
    """
    later = [("", name, own.numbers[name]) for name in own.dates]
    earlier = later + [(table, one, seen.numbers[one]) for table, seen in above.items() for one in seen.dates]
    for name in own.numbers:
        for (table, begin, low), (_, end, high) in product(earlier, later):
            if name in own.dates or (not table and (begin == end or order not in (begin, end))):
                continue
            for text, time in _TIMES.items():
                if own.is_seen(name, time(low, high)):
                    began = f"{as_name(table)}.{as_name(begin)}" if table else as_name(begin)
                    yield Following(
                        name, text.format(begin=began, end=as_name(end)), ((table, begin), ("", end))
                    )


def from_neighbours(own: Seen, parent: NDArray[np.int64], order: str) -> Iterator[Following]:
    """Columns that follow from the row before or the next one, or add up what rows say so far.

    Args:
        own: rows of a table, those of one row above beside each other, in order.
        parent: number of the row above of each, never decreasing, shape (N,).
        order: the column of dates by which they are in order; empty for none.
    """
    size = len(parent)
    inside = np.diff(parent, prepend=-1) == 0
    before = np.where(inside, np.arange(size) - 1, -1)
    after = np.append(np.where(inside[1:], np.arange(1, size), -1), -1)[:size]
    for name, of in product(own.numbers, own.numbers):
        if name == of or not _are_alike(own, own, name, of) or name == order:
            continue
        quoted = as_name(of)
        if name not in own.dates:
            sums = np.cumsum(own.numbers[of])
            sums = sums - np.append(0.0, sums)[np.flatnonzero(~inside)[np.cumsum(~inside) - 1]]
            if own.is_seen(name, sums, inside):
                text = f"sum({quoted}) OVER (ROWS UNBOUNDED PRECEDING)"
                yield Following(name, text, (("", of),))
        for places, function, steps in ((before, "lag", (0,)), (after, "lead", (0, 1))):
            for days in steps if name in own.dates else (0,):
                there = own.number_at(of, places) - days * _DAY_US
                text = f"{function}({quoted})" + (f" - {days}" if days else "")
                ended, found, measured = _with_ends(own, name, there, places < 0, text, of)
                if own.is_seen(name, found, places >= 0):
                    yield Following(name, ended, (("", of),), measured)
    if order:
        gaps = (own.numbers[order] - own.number_at(order, before)) / _DAY_US
        text = f"date_diff('day', lag({as_name(order)}), {as_name(order)})"
        for name in own.numbers:
            if name not in own.dates:
                ended, found, measured = _with_ends(own, name, np.round(gaps), before < 0, text, "")
                if own.is_seen(name, found, before >= 0):
                    yield Following(name, ended, (("", order),), measured)


def _with_ends(
    own: Seen, name: str, found: Numbers, ends: NDArray[np.bool_], text: str, of: str
) -> tuple[str, Numbers, bool]:
    """An expression with what it gives without a neighbour: nothing, what nearly all have there, or its own.

    Args:
        own: the rows.
        name: of the column.
        found: what the expression gives.
        ends: which rows have no neighbour.
        text: the expression.
        of: the date that it takes from the neighbour, if a row's own is never before its own; else no matter.

    Returns:
        The expression, its values, and whether it names its column.
    """
    held = own.numbers[name]
    known = held[ends & ~np.isnan(held)]
    if not len(known):
        return text, found, False
    values, counts = np.unique(known, return_counts=True)
    value = values[counts.argmax()]
    if counts.max() < _AGREEING * ends.sum():
        last = as_name(name)
        if name in own.dates and of and np.nanmean(held[ends] >= own.numbers[of][ends]) >= _AGREEING:
            last = f"greatest({last}, {as_name(of)})"
        return f"coalesce({text}, {last})", np.where(ends, held, found), True
    said = f"{value:g}"
    if name in own.dates:
        time = str(np.datetime64(int(value), "us")).removesuffix(".000000")
        said = f"TIMESTAMP '{time}'" if own.dates[name] else f"DATE '{time[:10]}'"
    return f"coalesce({text}, {said})", np.where(ends, value, found), False


def _are_alike(own: Seen, other: Seen, name: str, of: str) -> bool:
    """Whether both columns are dates, or both numbers."""
    return (name in own.dates) == (of in other.dates)


def _sums(numbers: Numbers, starts: NDArray[np.intp], counts: NDArray[np.int64]) -> Numbers:
    known = np.append(0.0, np.cumsum(np.nan_to_num(numbers)))
    seen = np.append(0, np.cumsum(~np.isnan(numbers)))
    found = known[starts + counts] - known[starts]
    return np.where(seen[starts + counts] > seen[starts], found, np.nan)


def _means(numbers: Numbers, starts: NDArray[np.intp], counts: NDArray[np.int64]) -> Numbers:
    seen = np.append(0, np.cumsum(~np.isnan(numbers)))
    with np.errstate(invalid="ignore", divide="ignore"):
        found: Numbers = _sums(numbers, starts, counts) / (seen[starts + counts] - seen[starts])
    return found


def _extreme(by: np.ufunc) -> Callable[[Numbers, NDArray[np.intp], NDArray[np.int64]], Numbers]:
    def reduce(numbers: Numbers, starts: NDArray[np.intp], counts: NDArray[np.int64]) -> Numbers:
        found: Numbers = np.full(len(starts), np.nan)
        some = counts > 0
        found[some] = by.reduceat(numbers, starts[some])
        return found

    return reduce


_VALUES_OF_SEVERAL: Mapping[str, Callable[[Numbers, NDArray[np.intp], NDArray[np.int64]], Numbers]] = {
    "sum": _sums,
    "max": _extreme(np.fmax),
    "min": _extreme(np.fmin),
    "avg": _means,
}
"""Functions of SQL of the values of several rows: values, where those of each row above begin, how many."""


def _calendar_years(low: Numbers, high: Numbers) -> Numbers:
    apart = (_years(high) - _years(low)).astype(np.int64)
    return np.where(np.isnan(low) | np.isnan(high), np.nan, apart)


def _years(numbers: Numbers) -> NDArray[np.datetime64]:
    return np.nan_to_num(numbers).astype(np.int64).astype("datetime64[us]").astype("datetime64[Y]")


_TIMES: Mapping[str, Callable[[Numbers, Numbers], Numbers]] = {
    "date_diff('day', {begin}, {end})": partial(units_between, "days"),
    "date_sub('year', {begin}, {end})": partial(units_between, "years"),
    "date_diff('year', {begin}, {end})": _calendar_years,
    "date_diff('day', {begin}, {end}) + 1": lambda low, high: units_between("days", low, high) + 1,
    "date_diff('second', {begin}, {end}) / 86400": lambda low, high: (high - low) / _DAY_US,
    "date_diff('second', {begin}, {end}) / 3600": lambda low, high: (high - low) * 24 / _DAY_US,
    "date_diff('second', {begin}, {end}) / 60": lambda low, high: (high - low) * 1440 / _DAY_US,
    "date_sub('hour', {begin}, {end})": partial(units_between, "hours"),
    "date_sub('minute', {begin}, {end})": partial(units_between, "minutes"),
}
"""Expressions for the time from one date to another."""
