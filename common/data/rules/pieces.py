"""The bins of a column of numbers or dates, divided where what follows from it changes; see `Follows`."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from ...later import np
from ..attributes.attribute import Attribute
from ..attributes.boolean import BooleanAttribute
from ..attributes.categorical import CategoricalAttribute, Category
from ..attributes.dates import DateAttribute, GapAttribute, TimeAttribute, bins_of
from ..attributes.numeric import NumericAttribute, is_number
from ..values import number_or_nan, text_of
from .plain import absent_codes, extent, numbers, texts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .rule import Mask


ANYTHING, NOWHERE = -1, -2
"""In place of the code of a value: it may have any, or none."""


class Classes(Protocol):
    """What `Follows` says of a function of numbers or dates; see there."""

    def classes(self, places: NDArray[Any]) -> NDArray[np.int64]:
        """A number for what the column is, shape (N,)."""
        ...

    def value(self, one: int) -> Category:
        """What the column is, by such a number."""
        ...

    def begins(self, attribute: Attribute) -> NDArray[np.float64]:
        """Numbers from which on its class may be another."""
        ...


@dataclass(frozen=True, eq=False)
class Pieces:
    """The bins of a column of numbers or dates, divided where what follows from it changes.

    Attributes:
        cells: bin of each piece, increasing, shape (p,).
        reach: the least and the largest number of each, shape (p, 2).
        classes: of each rule, shape (rules, p).
    """

    cells: NDArray[np.int64]
    reach: NDArray[np.float64]
    classes: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Targets:
    """What a column may be for each code of the one that it follows from.

    Attributes:
        size: number of its codes.
        pairs: code of the other one times the size, and its own; those that may be, increasing.
        any_of: codes of the other one for which it may be anything, shape (codes of the other one,).
        silent: its codes that stand for no value, shape (size,).
        codes: its code for each class of `classes`; negative if there is none.
        attribute: the column.
    """

    size: int
    pairs: NDArray[np.int64]
    any_of: Mask
    silent: Mask
    codes: NDArray[np.int64]
    attribute: Attribute

    def code_of(self, value: Category) -> int:
        """The code of a value; negative if there is none."""
        return code_of(self.attribute, value)

    def text_of(self, value: Category) -> str:
        """How the column says a value, as `plain` gives it; empty if it does not."""
        code = self.code_of(value)
        return texts(self.attribute)[code] if code >= 0 else ""


@functools.lru_cache(maxsize=64)
def pieces_of(attribute: Attribute, rules: tuple[Classes, ...]) -> Pieces:
    """The bins of a column, divided where one of the rules gives another class."""
    bins = bins_of(attribute)
    assert bins is not None
    reach = bins.reach
    begun = np.unique(np.concatenate([rule.begins(attribute) for rule in rules]))
    if bins.lattice is not None:
        begun = np.unique(bins.lattice.values(bins.lattice.first_from(begun)))
    at = np.searchsorted(reach[:, 0], begun, "right") - 1
    inside = (at >= 0) & (reach[at, 0] < begun) & (begun <= reach[at, 1])
    cells = np.concatenate([np.arange(len(reach)), at[inside]])
    low = np.concatenate([reach[:, 0], begun[inside]])
    order = np.lexsort((low, cells))
    cells, low = cells[order], low[order]
    classes = np.stack([rule.classes(_as_places(attribute, low)) for rule in rules])
    # Neighbours that differ in nothing are one piece.
    first = np.append(True, (cells[1:] != cells[:-1]) | (classes[:, 1:] != classes[:, :-1]).any(axis=0))
    cells, low, classes = cells[first], low[first], classes[:, first]
    beyond = np.append(low[1:], np.inf)
    if bins.lattice is None:
        before = np.nextafter(beyond, -np.inf)
    else:
        known = np.isfinite(beyond)
        before = np.full(len(beyond), np.inf)
        before[known] = bins.lattice.values(bins.lattice.first_from(beyond[known]) - 1)
    last = np.append(cells[1:] != cells[:-1], True)
    high = np.where(last, reach[cells, 1], np.minimum(before, reach[cells, 1]))
    return Pieces(cells, np.stack([low, np.maximum(low, high)], axis=1), classes)


@functools.lru_cache(maxsize=64)
def targets_of(rule: Classes, column: Attribute, of: Attribute) -> Targets:
    """What a column may be for each code of the one that it follows from."""
    silent = absent_codes(column)
    if isinstance(column, CategoricalAttribute | BooleanAttribute):
        silent = silent | (np.array(texts(column), dtype=object) == "")
    else:
        silent = silent | np.isnan(extent(column)[:, 0])
    if isinstance(of, GapAttribute):
        # The date itself is known when rows are drawn.
        free = np.ones(of.size, dtype=np.bool_)
        known = np.zeros(1, dtype=np.int64)
        return Targets(column.size, np.zeros(0, dtype=np.int64), free, silent, known, column)
    pieces = pieces_of(of, (rule,))
    wanted, position = np.unique(pieces.classes[0], return_inverse=True)
    codes = np.array([code_of(column, rule.value(one)) for one in wanted.tolist()], dtype=np.int64)
    each = codes[position]
    free = np.ones(of.size, dtype=np.bool_)
    free[pieces.cells] = False
    free[pieces.cells[each == ANYTHING]] = True
    pairs = np.unique((pieces.cells * column.size + each)[each >= 0])
    return Targets(column.size, pairs, free, silent, codes, column)


def places_of(attribute: Attribute, values: NDArray[Any]) -> tuple[NDArray[Any], Mask]:
    """Where plain values lie, local times of dates, without missing ones; and which rows these are, (N,)."""
    found = numbers(values)
    known = np.isfinite(found)
    if not isinstance(attribute, TimeAttribute):
        return found[known], known
    return attribute.moments.local(found[known].astype(np.int64).astype("datetime64[us]")), known


def _as_places(attribute: Attribute, found: NDArray[np.float64]) -> NDArray[Any]:
    """Numbers of the bins of a column as `places_of` gives them."""
    if not isinstance(attribute, DateAttribute):
        return found
    moments = attribute.moments
    times = moments.at(found.astype(np.int64)).astype("datetime64[us]")
    return moments.local(moments.instants(times))


@functools.lru_cache(maxsize=4096)
def code_of(attribute: Attribute, value: Category) -> int:
    """The code of a value; `ANYTHING` if it may be any, and `NOWHERE` if none."""
    text = text_of(value)
    if not text:
        return ANYTHING
    if isinstance(attribute, BooleanAttribute):
        return texts(attribute).index(text) if text in texts(attribute) else NOWHERE
    numeric = isinstance(attribute, NumericAttribute)
    cell: NDArray[Any] = np.array([number_in(value)]) if numeric else np.array([text], dtype=object)
    reading = attribute.read(cell)
    if any(rows.any() for rows, _ in reading.refused.values()):
        return ANYTHING if attribute.open else NOWHERE
    blank = any(rows.any() for key, rows in reading.counted.items() if key in ("missing", "blanked"))
    return ANYTHING if blank else int(reading.codes[0])


def number_in(value: Category) -> float:
    """The number that a value is; NaN if it is none."""
    return float(value) if is_number(value) else number_or_nan(text_of(value))
