"""Drafts which columns rise from row to row of a row above, and which have each value once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....common.data.attributes.attribute import Attribute
from ....common.data.attributes.categorical import CategoricalAttribute
from ....common.data.attributes.dates import BinnedTimes
from ....common.data.attributes.numeric import NumericAttribute
from ....common.data.related.courses import can_rise
from ....common.data.values import blank_texts, read_numbers, text_of
from ...sources.source import Queried
from ..profile import Rows

_SAMPLE = 100_000
"""Courses are looked for in about so many rows, of each row above all or none."""

_KEPT = 0.999
"""Share of neighbouring rows that do not fall, or of rows with a value that no other one has."""

_FEWEST, _LEAST_CHANGING = 20, 0.01
"""Least number and share of neighbouring rows that differ, so that a column rises and is not constant."""

Numbers = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Related:
    """Rows of a table, those of one row above beside each other.

    Attributes:
        parent: number of the row above of each, never decreasing, shape (N,).
        cells: of each column as texts, None where they are missing, shape (N,) each.
    """

    parent: NDArray[np.int64]
    cells: Mapping[str, NDArray[np.object_]]

    @classmethod
    def of(cls, source: Queried, foreign: str, columns: Sequence[str]) -> Related:
        """A sample of the rows of a table.

        Args:
            source: of the table.
            foreign: its column that holds the key of the row above.
            columns: which it has.
        """
        rows = Rows.of(source, {foreign, *columns})
        with rows.connection:
            cells = rows.sample(_SAMPLE, foreign)
        _, parent = np.unique([str(one) for one in cells[foreign]], return_inverse=True)
        return cls(parent, cells).in_order()

    def in_order(self, order: BinnedTimes | None = None, count: str = "") -> Related:
        """The rows in their order.

        Args:
            order: the dates by which they are in order; None for none.
            count: column that counts rows, by which they are in order where dates do not tell.
        """
        keys: list[NDArray[Any]] = [read_numbers(count, self.cells[count])[0]] if count else []
        if order is not None:
            texts = blank_texts(self.cells[order.name], order.missing)
            keys.append(order.moments.read(order.name, texts)[0].astype(np.int64))
        places = np.lexsort((*keys, self.parent))
        return Related(self.parent[places], {name: found[places] for name, found in self.cells.items()})

    def first_rows(self, count: int) -> Related:
        """About so many rows, of each row above all or none."""
        if len(self.parent) <= count:
            return self
        end = int(np.searchsorted(self.parent, self.parent[count]))
        return Related(self.parent[:end], {name: found[:end] for name, found in self.cells.items()})

    def share_of_equals(self, name: str) -> float:
        """The share of neighbouring rows of one row above that have the same cell in a column."""
        cells = self.cells[name]
        inside = np.diff(self.parent) == 0
        return float((cells[1:] == cells[:-1])[inside].mean()) if inside.any() else 0.0

    def is_same(self, name: str) -> bool:
        """Whether nearly all neighbouring rows of one row above have the same cell, and not by chance."""
        cells = self.cells[name]
        inside, apart = np.diff(self.parent) == 0, cells[1:] != cells[:-1]
        by_chance = inside.sum() * (apart[~inside].mean() if not inside.all() else 0.0)
        return bool(by_chance >= _FEWEST and self.share_of_equals(name) >= _KEPT)

    def never_falls(self, values: Numbers) -> bool:
        """Whether nearly no row has less than the one before; NaN is compared with nothing."""
        apart = np.diff(values)[np.diff(self.parent) == 0]
        apart = apart[~np.isnan(apart)]
        return bool(len(apart) and (apart >= 0).mean() >= _KEPT)

    def rises(self, values: Numbers) -> bool:
        """Whether nearly no row has less than the one before, and some have more."""
        apart = np.diff(values)[np.diff(self.parent) == 0]
        changing = int((apart > 0).sum())
        return changing >= max(_FEWEST, _LEAST_CHANGING * len(apart)) and self.never_falls(values)

    def is_once(self, codes: NDArray[np.int64]) -> bool:
        """Whether nearly no two rows of a row above have the same code, though chance would give some."""
        numbers = np.bincount(self.parent)
        shares = np.bincount(codes) / max(len(codes), 1)
        by_chance = float((numbers * (numbers - 1) / 2).sum() * (shares**2).sum())
        named = self.parent * (int(codes.max(initial=0)) + 1) + codes
        return by_chance >= _FEWEST and len(np.unique(named)) >= _KEPT * len(named)

    def in_course(self, codes: NDArray[np.int64], size: int) -> NDArray[np.int64]:
        """Codes in the order of the place that they have on average among the rows above, shape (size,)."""
        starts = np.flatnonzero(np.diff(self.parent, prepend=-1))
        numbers = np.diff(np.append(starts, len(codes)))
        place = (np.arange(len(codes)) - np.repeat(starts, numbers)) / np.repeat(
            np.maximum(numbers, 1), numbers
        )
        counts = np.bincount(codes, minlength=size)
        mean = np.bincount(codes, place, size) / np.maximum(counts, 1)
        found: NDArray[np.int64] = np.argsort(np.where(counts > 0, mean, 1.0), kind="stable")
        return found


@dataclass(frozen=True)
class Courses:
    """What was found of columns.

    Attributes:
        rising: columns of which no row has less than the one before = their categories in order; none of
            numbers.
        once: columns of categories, keys or the order of which no two rows of a row above have the same.
        same: columns that are the same in all rows of a row above.
    """

    rising: Mapping[str, tuple[Any, ...]]
    once: tuple[str, ...]
    same: tuple[str, ...]


def courses_of(
    found: Related, attributes: Mapping[str, Attribute], ordered: bool, others: Sequence[str] = ()
) -> Courses:
    """The columns that rise, and those that have each value once.

    Args:
        found: rows in their order.
        attributes: their columns as drafted.
        ordered: whether the order means something.
        others: columns that may have each value once: the order, and keys of tables that are not above.
    """
    rising: dict[str, tuple[Any, ...]] = {}
    once, same = [name for name in others if found.is_once(_places(found.cells[name]))], []
    for name, attribute in attributes.items():
        if can_rise(attribute) and found.is_same(name):
            same.append(name)
        elif isinstance(attribute, NumericAttribute) and ordered and not attribute.texts:
            if found.rises(attribute.numbers(found.cells[name])):
                rising[name] = ()
        elif isinstance(attribute, CategoricalAttribute):
            codes, known = _codes(attribute, found.cells[name])
            if not known:
                continue
            if found.is_once(codes):
                once.append(name)
            course = found.in_course(codes, attribute.size)
            if ordered and found.rises(np.argsort(course)[codes].astype(np.float64)):
                rising[name] = tuple(attribute.categories[code] for code in course.tolist())
    return Courses(rising, tuple(once), tuple(same))


def with_categories(entries: Mapping[str, Any], found: Courses) -> dict[str, Any]:
    """Entries of a domain that list categories that rise in their order."""
    changed = dict(entries)
    for name, categories in found.rising.items():
        if categories:
            held = entries[name] if isinstance(entries[name], Mapping) else {"type": "categorical"}
            changed[name] = {**held, "categories": [*categories]}
    return changed


def _places(cells: NDArray[np.object_]) -> NDArray[np.int64]:
    """A number of each different cell, shape (N,)."""
    found: NDArray[np.int64] = np.unique([str(cell) for cell in cells], return_inverse=True)[1]
    return found


def _codes(attribute: CategoricalAttribute, cells: NDArray[np.object_]) -> tuple[NDArray[np.int64], bool]:
    """The place of each cell among the categories, and whether all cells have one."""
    places = {text_of(category): place for place, category in enumerate(attribute.categories)}
    found = np.array([places.get("" if cell is None else str(cell).strip(), -1) for cell in cells])
    return np.maximum(found, 0), bool((found >= 0).all())
