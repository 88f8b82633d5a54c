"""The public description of related tables: a tree, whose root has one row a person."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...common.data.attributes.attribute import Attribute
from ...common.data.attributes.categorical import CategoricalAttribute, Category
from ...common.data.attributes.dates import GapAttribute, TimeAttribute, bins_of, numbers_of_units, with_name
from ...common.data.attributes.numeric import NumericAttribute
from ...common.data.attributes.unmodelled import WHOLE_NUMBERS, Computed, Identifier
from ...common.data.domain import Domain
from ...common.data.related.steps import FIRST, NONE, Steps
from ...common.data.rules.condition import Condition
from ...common.data.rules.impossible import Impossible
from ..results.keys import Joined
from ..results.raw_frames import raw
from .groups import column_of_groups, even_groups
from .kin import Kin
from .summaries import Summary

_Listed = tuple[Attribute, list[Category]]
"""Some categories of an attribute."""


@dataclass(frozen=True)
class Column:
    """A column of the records that a release models.

    Attributes:
        attribute: its name and codes.
        table: of which table; that of the records, or one above it.
        source: name of the column there.
        before: whether it is of the row before, among those of one parent.
        series: whether it is of the last earlier row of the same series in place of the row before.
        groups: if only groups of its codes are told apart, the group of each code; else None.
    """

    attribute: Attribute
    table: str
    source: str
    before: bool = False
    groups: tuple[int, ...] | None = None
    series: bool = False

    def of(self, codes: NDArray[np.integer]) -> NDArray[np.int64]:
        """Its codes, from those of the source."""
        return codes.astype(np.int64) if self.groups is None else np.array(self.groups)[codes]


@dataclass(frozen=True)
class Family:
    """Related tables.

    Attributes:
        tables: the root first, each after its parent.
    """

    tables: tuple[Kin, ...]

    def with_table(self, changed: Kin) -> Family:
        """These tables with one of them changed."""
        return Family(tuple(changed if table.name == changed.name else table for table in self.tables))

    @property
    def root(self) -> Kin:
        """The table of people."""
        return self.tables[0]

    def __contains__(self, name: str) -> bool:
        return name in self._by_name

    def __getitem__(self, name: str) -> Kin:
        return self._by_name[name]

    @cached_property
    def _by_name(self) -> dict[str, Kin]:
        return {table.name: table for table in self.tables}

    def key_columns(self, name: str) -> dict[str, Identifier]:
        """The columns of a table that name its rows or those above, each with the names that these are."""
        table = self[name]
        found = {table.key: table.names} if table.key else {}
        found |= {table.foreign: self[table.parent].names} if table.foreign else {}
        found |= {one: Identifier(one, WHOLE_NUMBERS) for one in table.counts}
        for one, (name_above, of) in table.repeats.items():
            above = self[name_above]
            if of in (above.key, *above.counts):
                found[one] = above.names if of == above.key else Identifier(one, WHOLE_NUMBERS)
        return found

    def joined_keys(self) -> Iterator[Joined]:
        """The keys that are made of several columns."""
        for table in self.tables[1:]:
            above = self[table.parent]
            if above.joins:
                held = {said: column for column, said in table.repeats.items()}
                # Of people the last one is the key.
                held[above.name, above.key] = table.foreign
                columns = (held[self._first_said(above, column)] for column in above.joins)
                yield Joined(table.name, table.foreign, tuple(columns))
                yield Joined(above.name, above.key, above.joins)

    def _first_said(self, table: Kin, column: str) -> tuple[str, str]:
        """The table of which a column is, and its name there, where that of a table may repeat it."""
        key = (table.parent, self[table.parent].key) if column == table.foreign else (table.name, column)
        return table.repeats.get(column, key)

    def children(self, name: str) -> tuple[Kin, ...]:
        """The tables whose rows belong to those of a table."""
        return tuple(table for table in self.tables if table.parent == name)

    def said_of(self, name: str) -> tuple[str, ...]:
        """The columns of a table that say something of its rows below, also those that no table shows."""
        return tuple(one.name for child in self.children(name) for one in child.summaries)

    def above(self, name: str) -> tuple[Kin, ...]:
        """The tables above a table, the root first."""
        found: list[Kin] = []
        while name := self[name].parent:
            found.insert(0, self[name])
        return tuple(found)

    def own(self, name: str) -> tuple[Attribute, ...]:
        """The attributes of a table's rows: columns, what they say of rows below, their place in order."""
        table = self[name]
        held = () if table.domain is None else table.domain.attributes
        places = [one for child in self.children(name) for one in child.places]
        said = [one for child in self.children(name) for _, one in self.summaries_in_release(child.name)]
        return (*held, *places, *said, *(() if table.steps is None else (table.steps.attribute,)))

    def shown_attributes(self, name: str) -> tuple[Attribute, ...]:
        """The attributes of a synthetic table: columns but keys, the order, what it says of rows below."""
        table = self[name]
        hidden = {*self.numbers(name), *(one.name for one in table.ends)}
        held = () if table.domain is None else table.domain.attributes
        when = () if table.steps is None else (table.steps.when,)
        said = [
            one
            for child in self.children(name)
            for _, one in self.summaries_in_release(child.name)
            if one.name in table.columns
        ]
        own = (*(one for one in held if one.name not in hidden), *when, *table.ends, *said)
        return (*own, *self._repeated_attributes(name))

    def _repeated_attributes(self, name: str) -> Iterator[Attribute]:
        """The attributes of columns that repeat what the row above is, if its release holds it."""
        for column, (above, of) in self[name].repeats.items():
            shown = (one for one in self.shown_attributes(above) if one.name == of)
            yield from (with_name(one, column) for one in shown)

    def repeated_followers(self, name: str) -> Iterator[Computed]:
        """The columns of a table that repeat one of the row above that is computed."""
        for column, (above, of) in self[name].repeats.items():
            domain = self[above].domain
            for one in () if domain is None else domain.followers:
                if one.name == of and not one.measured:
                    yield replace(one, attribute=with_name(one.attribute, column))

    def summarised_columns(self, name: str) -> dict[str, Attribute]:
        """The columns of a table of which summaries can speak by codes: all but ends."""
        table = self[name]
        ends = {one.name for one in table.ends}
        held = () if table.domain is None else table.domain.attributes
        return {one.name: one for one in held if one.name not in ends}

    def summaries_in_release(self, name: str) -> tuple[tuple[Summary, Attribute], ...]:
        """The summaries of a table that its release holds, with the columns of the parent that they are."""
        table = self[name]
        above = self[table.parent].domain if table.summaries else None
        number = None if above is None else above[number_name(name)]
        assert number is None or isinstance(number, NumericAttribute)
        own = self.summarised_columns(name)
        found = [(one, one.attribute(own.get(one.column), number, table.steps)) for one in table.summaries]
        return tuple((summary, attribute) for summary, attribute in found if attribute is not None)

    def counted_attributes(self, name: str) -> tuple[Attribute, ...]:
        """The attributes of a table's records that are counted and not drawn: the value of the order."""
        steps = self[name].steps
        return () if steps is None else (steps.when,)

    def numbers(self, name: str) -> tuple[str, ...]:
        """The columns of a table that number the rows of its children."""
        return tuple(map(number_name, (child.name for child in self.children(name))))

    def columns(self, name: str) -> tuple[Column, ...]:
        """The columns of a table's records: of tables above, of the row before, then its own.

        After these, records have the columns that are `counted_attributes`.
        """
        found: list[Column] = []
        taken = {attribute.name for attribute in (*self.own(name), *self.counted_attributes(name))}
        places = {one.name for table in (*self.above(name), self[name]) for one in table.places}
        for above in self.above(name):
            numbers = self.numbers(above.name)
            others = {one.name for child in self.children(above.name) for one in child.places} - places
            for attribute in self.own(above.name):
                if attribute.name in others or (self[name].alone and attribute.name == number_name(name)):
                    continue
                named = _free(attribute.name, above.name, taken)
                groups = above.groups.get(attribute.name)
                if attribute.name in numbers:
                    classes = classes_of(attribute)
                    least = int(classes.min())
                    sized = CategoricalAttribute(named, class_names(int(classes.max()))[least:])
                    groups = tuple((classes - least).tolist())
                    found.append(Column(sized, above.name, attribute.name, groups=groups))
                elif above.steps is None or attribute.name != above.steps.attribute.name:
                    # A gap after another column is known by itself.
                    plain = groups is None and not isinstance(attribute, GapAttribute)
                    codes = groups or tuple(range(attribute.size))
                    known = (
                        with_name(attribute, named) if plain else column_of_groups(attribute, codes, named)
                    )
                    found.append(Column(known, above.name, attribute.name, groups=groups))
        if self[name].parent and not self[name].alone:
            for attribute in self.own(name):
                named = _free(f"previous_{attribute.name}", name, taken)
                groups = self._groups_before(name, attribute)
                known = column_of_groups(attribute, groups or tuple(range(attribute.size)), named, NONE)
                series = bool(self[name].series) and attribute.name not in self.series_columns(name)
                found.append(Column(known, name, attribute.name, True, groups, series))
        found += (Column(attribute, name, attribute.name) for attribute in self.own(name))
        return tuple(found)

    def series_columns(self, name: str) -> tuple[str, ...]:
        """The columns of a table's rows that say which rows are one series, and where they are in order.

        Of these a record has the value of the row before; of others that of the last row of its series.
        """
        steps = self[name].steps
        return (self[name].series, *(() if steps is None else (steps.attribute.name,)))

    def _groups_before(self, name: str, attribute: Attribute) -> tuple[int, ...] | None:
        steps = self[name].steps
        if steps is not None and attribute.name == steps.attribute.name:
            return steps.groups
        return None if bins_of(attribute) is None else even_groups(attribute)

    def has_order(self, name: str, attribute: Attribute) -> bool:
        """Whether codes of a column of a table have an order; places end with that of no rows."""
        named = {*self.numbers(name), *(one.name for child in self.children(name) for one in child.places)}
        return bins_of(attribute) is not None or attribute.name in named

    def drawn_columns(self, name: str) -> frozenset[str]:
        """The columns of a table's records that rows get when they are drawn."""
        return frozenset(attribute.name for attribute in self.own(name))

    def record(self, name: str) -> Domain:
        """The domain of a table's records.

        A first row, and no other, has none before it, and so has the first one of a series. Rows keep to the
        rules of their table.
        """
        columns = self.columns(name)
        none: list[Category] = [NONE]
        first, later = (
            [(one.attribute, none) for one in columns if one.before and one.series is series]
            for series in (False, True)
        )
        steps, own = self[name].steps, self[name].domain
        if steps is not None and first:
            first.insert(0, (steps.attribute, [FIRST]))
        kept = () if own is None else own.rules
        attributes = (*(column.attribute for column in columns), *self.counted_attributes(name))
        between = self._between_rows(name)
        none_before = (*together(first), *together(later), *_both(first, later))
        return Domain(attributes, rules=(*kept, *between, *none_before))

    def _between_rows(self, name: str) -> Iterator[Impossible]:
        """Rules that no row has less than the one before where columns rise, or the same where it is once."""
        table = self[name]
        own = {one.name: one for one in self.own(name)}
        for column in self.columns(name):
            attribute = own.get(column.source) if column.before else None
            same, rises, once = (column.source in listed for listed in (table.same, table.rising, table.once))
            if attribute is None or not (same or rises or (once and column.groups is None)):
                continue
            assert isinstance(column.attribute, CategoricalAttribute)
            groups = column.groups or tuple(range(attribute.size))
            for group, before in enumerate(column.attribute.categories[: max(groups) + 1]):
                least = groups.index(group)
                last = least + groups.count(group) - 1
                found = _others(attribute, least, last) if same else [_less(attribute, least, rises, once)]
                for condition in filter(None, found):
                    yield Impossible((Condition(column.attribute.name, (before,)), condition))


def _others(attribute: Attribute, least: int, last: int) -> Iterator[Condition]:
    """The conditions of all that has none of these neighbouring codes; arguments as of `_less`."""
    if isinstance(attribute, CategoricalAttribute):
        listed = (*attribute.categories[:least], *attribute.categories[last + 1 :])
        if listed:
            yield Condition(attribute.name, listed)
    elif isinstance(attribute, NumericAttribute) and last < len(attribute.cells):
        if least:
            yield Condition(attribute.name, compared=(("below", float(attribute.reach[least, 0])),))
        if last + 1 < len(attribute.cells):
            yield Condition(attribute.name, compared=(("at_least", float(attribute.reach[last + 1, 0])),))


def _less(attribute: Attribute, least: int, rises: bool, once: bool) -> Condition | None:
    """The condition of what cannot follow a row with this code or a larger one; None if all can.

    Args:
        attribute: the column.
        least: the code.
        rises: whether no row has less than the one before.
        once: whether none has the same, if the code stands for one value.
    """
    if isinstance(attribute, CategoricalAttribute):
        listed = attribute.categories[: least if rises else 0]
        listed = (*listed, *(attribute.categories[least : least + 1] if once else ()))
        return Condition(attribute.name, listed) if listed else None
    if isinstance(attribute, NumericAttribute) and least < len(attribute.cells) and least:
        return Condition(attribute.name, compared=(("below", float(attribute.reach[least, 0])),))
    return None


def number_name(child: str) -> str:
    """The column of the number of rows of a table that belong to a row of its parent."""
    return f"number_of_{child}"


def names_above(name: str, parents: Mapping[str, str], columns: Callable[[str], Iterable[str]]) -> set[str]:
    """The columns of the tables above one, as a workload names them: `patients.sex`.

    Args:
        name: the table.
        parents: to which each table belongs; empty for none.
        columns: those of a table but keys, and those that say something of its rows below.
    """
    found: set[str] = set()
    while parent := parents[name]:
        found |= {f"{parent}.{column}" for column in (*columns(parent), number_name(name))}
        name = parent
    return found


def bounds_of(
    table: Kin, parents: pd.DataFrame | None, parent: NDArray[np.int64]
) -> tuple[NDArray[np.float64] | None, NDArray[np.float64] | None]:
    """Between what the order of rows lies, shape (N,) each; None for no bound.

    Args:
        table: the table.
        parents: rows of its parent; None if that is not released.
        parent: row of the parent of each row, shape (N,).
    """
    steps = table.steps
    if steps is None or parents is None:
        return None, None
    low, high = (
        numbers_on(steps, parents[name], end)[parent] if name else None
        for name, end in zip(table.within, steps.units.ends, strict=True)
    )
    return low, high


def beginnings_of(
    table: Kin, parents: pd.DataFrame | None, parent: NDArray[np.int64]
) -> NDArray[np.float64] | None:
    """From where first rows are counted, shape (N,); None if it is the scale of the order itself.

    Args:
        table: the table.
        parents: see `bounds_of`.
        parent: see `bounds_of`.
    """
    name = table.within[0] or table.near
    if table.steps is None or parents is None or not name:
        return None
    begun: NDArray[np.float64] = numbers_on(table.steps, parents[name], table.steps.units.ends[0])[parent]
    return begun


def numbers_on(steps: Steps, column: pd.Series, missing: float) -> NDArray[np.float64]:
    """The cells of a column on the scale of an order, shape (N,).

    Args:
        steps: the order.
        column: numbers, dates or timestamps, as the order.
        missing: stands for a cell without a value.
    """
    cells = raw(steps.when, column)
    if isinstance(steps.when, TimeAttribute):
        found = numbers_of_units(str(column.name), cells, steps.when.moments, steps.units)
    else:
        found = steps.units.numbers(cells)
    return np.where(np.isfinite(found), found, missing)


def classes_of(number: Attribute) -> NDArray[np.int64]:
    """The class of each code of a number of rows: none, 1, 2 to 3, 4 to 7 and so on."""
    found = bins_of(number)
    assert found is not None
    starts = found.reach[:, 0]
    return np.where(starts < 1, 0, np.floor(np.log2(np.maximum(starts, 1))) + 1).astype(np.int64)


def class_names(most: int) -> tuple[str, ...]:
    """Names of the classes of numbers of rows."""
    return ("0", "1", *(f"{2**k} to {2 ** (k + 1) - 1}" for k in range(1, most)))


def _free(wanted: str, table: str, taken: set[str]) -> str:
    """A name that no other column has; it is taken."""
    name = wanted if wanted not in taken else f"{table}_{wanted}"
    while name in taken:
        name += "_"
    taken.add(name)
    return name


def together(sets: Sequence[_Listed]) -> Iterator[Impossible]:
    """Rules that a row has a category of the first set if and only if it has one of each other one."""
    for attribute, listed in sets[1:]:
        anchor, wanted = sets[0]
        for one, other in ((wanted, _rest(attribute, listed)), (_rest(anchor, wanted), listed)):
            if one and other:
                yield Impossible(
                    (Condition(anchor.name, tuple(one)), Condition(attribute.name, tuple(other)))
                )


def _both(first: Sequence[_Listed], later: Sequence[_Listed]) -> Iterator[Impossible]:
    """Rules that a first row is the first one of its series."""
    for anchor, wanted in first[:1]:
        for attribute, listed in later:
            if other := _rest(attribute, listed):
                yield Impossible(
                    (Condition(anchor.name, tuple(wanted)), Condition(attribute.name, tuple(other)))
                )


def _rest(attribute: Attribute, listed: Sequence[Category]) -> list[Category]:
    assert isinstance(attribute, CategoricalAttribute)
    return [category for category in attribute.categories if category not in listed]
