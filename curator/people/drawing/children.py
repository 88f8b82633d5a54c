"""Rows of a table, drawn for given rows of the tables above: one after the other, then adjusted to pairs."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ....common.data.domain import Clique
from ....common.data.related.rows import Rows
from ....common.privacy.cost import WEIGHT_PARTS
from ..rows import known_columns, with_columns
from ..shape import Column, Family
from .conditional import Conditional
from .sweeps import Free, Pair, sweep

Numbers = NDArray[np.float64]

_PEOPLE_SWEEPS = 4


class Model(Protocol):
    """A released model of records."""

    def marginals_within_limits(self, cliques: Sequence[Clique]) -> Sequence[Numbers | None]:
        """Marginals, None for those that need too large a table."""
        ...


def begin(
    family: Family,
    name: str,
    rows: Mapping[str, Rows],
    model: Model,
    numbers: NDArray[np.int64],
    rng: np.random.Generator,
) -> Callable[[], Rows]:
    """Rows of a table, for the rows of the tables above it; begun here, finished by a call in any thread.

    Each row is drawn given the rows above it and the one before it, column by column. By the call, columns
    are changed until the pairs of all rows, with their weights, are as in the model (`sweeps`).

    Args:
        family: the tables.
        name: the table.
        rows: of the tables above it.
        model: of the table's records.
        numbers: number of rows of each row of the parent.
        rng: draws rows.
    """
    parent = np.repeat(np.arange(len(numbers)), numbers)
    own = [attribute.name for attribute in family.own(name)]
    blank = Rows({source: np.zeros(len(parent), dtype=np.int64) for source in own}, parent, len(numbers))
    if not len(parent):
        return lambda: blank
    drawing = _Drawing.of(family, name, rows, blank, model)
    drawing.start(rng)

    def finish() -> Rows:
        drawing.adjust()
        return Rows({source: drawing.codes_of(source) for source in own}, parent, len(numbers))

    return finish


def begin_given_times(
    family: Family,
    name: str,
    rows: Mapping[str, Rows],
    model: Model,
    measured: Sequence[Clique],
    rng: np.random.Generator,
) -> Callable[[], Rows]:
    """Drawn rows whose columns are drawn anew, given the value of the order, and adjusted to its pairs, too.

    The values stay, and so does what lies between rows. Begun here, finished by a call in any thread.

    Args:
        family: the tables.
        name: a table with a column of the order.
        rows: of the tables above it, and of it, with codes of the values of the order.
        model: of the table's records.
        measured: the pairs with the value of the order that the release knows.
        rng: draws rows.
    """
    held = rows[name]
    drawing = _Drawing.of(family, name, rows, held, model, measured)
    drawing.start(rng)

    def finish() -> Rows:
        drawing.adjust()
        changed = {source: drawing.codes_of(source) for source in drawing.sources}
        counted = {one.name for one in family.counted_attributes(name)}
        kept = {one: codes for one, codes in held.codes.items() if one not in counted}
        return replace(held, codes={**kept, **changed})

    return finish


@dataclass(frozen=True, eq=False)
class _Drawing:
    """The records of a table while its own columns are drawn.

    Attributes:
        columns: of the records.
        sizes: number of codes of each.
        codes: shape (rows, columns).
        weights: of each row, shape (rows,).
        held: which row belongs to which parent.
        free: places of the columns that are drawn.
        steps: place of the column of the order, and its number of codes of first rows; None without one.
        pairs: estimates of pairs with a column that is drawn, by their places.
    """

    columns: tuple[Column, ...]
    sizes: tuple[int, ...]
    codes: NDArray[np.int32]
    weights: Numbers
    held: Rows
    free: tuple[int, ...]
    steps: tuple[int, int] | None
    pairs: dict[tuple[int, int], Numbers]

    @classmethod
    def of(
        cls,
        family: Family,
        name: str,
        rows: Mapping[str, Rows],
        held: Rows,
        model: Model,
        timed: Sequence[Clique] = (),
    ) -> _Drawing:
        """The records of rows whose own columns are not drawn yet.

        Args:
            family: the tables.
            name: the table.
            rows: of the tables above it.
            held: its rows.
            model: of the table's records.
            timed: pairs with the value of the order, if rows have it: then the order is not drawn any more.
        """
        every = {**rows, name: held}
        columns, found = (known_columns if timed else Family.columns)(family, name), family[name].steps
        names = tuple(column.attribute.name for column in columns)
        known = with_columns(family, name, columns, every)
        codes = np.empty((len(held), len(names)), dtype=np.int32)
        for place, one in enumerate(names):
            codes[:, place] = known.column(one)
        sizes = tuple(column.attribute.size for column in columns)
        own = [one.name for one in family.own(name)]
        steps = None
        if found is not None and timed:
            own.remove(found.attribute.name)
        elif found is not None:
            steps = names.index(found.attribute.name), 1
        free = tuple(k for k, c in enumerate(columns) if not c.before and c.table == name and c.source in own)
        assert known.weights is not None
        drawing = cls(columns, sizes, codes, known.weights / WEIGHT_PARTS, held, free, steps, {})
        unknown = {one.name for one in family.counted_attributes(name)}
        pairs = [
            (a, b)
            for a, b in itertools.combinations(range(len(names)), 2)
            if {a, b}.intersection(free)
            and (unknown.isdisjoint((names[a], names[b])) or (names[a], names[b]) in timed)
        ]
        drawing._estimate(model, names, pairs)
        return drawing

    @property
    def before(self) -> dict[int, int]:
        """For each of these, the place of the column of the row before; empty if there is none before."""
        named = {column.source: k for k, column in enumerate(self.columns) if column.before}
        return {k: named[self.columns[k].source] for k in self.free if named}

    @property
    def sources(self) -> list[str]:
        """The columns that are drawn."""
        return [self.columns[place].source for place in self.free]

    def codes_of(self, source: str) -> NDArray[np.int64]:
        """The drawn codes of a column."""
        (place,) = (k for k in self.free if self.columns[k].source == source)
        return self.codes[:, place].astype(np.int64)

    def _estimate(self, model: Model, names: Clique, places: Sequence[tuple[int, int]]) -> None:
        """The model's pairs of columns that are drawn, for what is above and before the rows."""
        free = {*self.free}
        found = model.marginals_within_limits([(names[a], names[b]) for a, b in places])
        for (a, b), cells in zip(places, found, strict=True):
            if cells is None:
                continue
            table = np.maximum(cells.reshape(self.sizes[a], self.sizes[b]), 0)
            table *= self.weights.sum() / max(table.sum(), 1e-300)
            for axis, place in enumerate((a, b)):
                if place not in free:
                    table = _with_margin(table, axis, self._margin(place, table.sum(axis=1 - axis)))
            self.pairs[a, b] = table

    def _margin(self, place: int, estimate: Numbers) -> Numbers:
        """The sums of weights of a column that is not drawn."""
        if place not in self.before.values():
            return np.bincount(self.codes[:, place], self.weights, self.sizes[place]).astype(np.float64)
        first = self.weights[self.held.first].sum()
        later = self.weights.sum() - first
        return np.append(estimate[:-1] * (later / max(estimate[:-1].sum(), 1e-300)), first)

    def pair(self, a: int, b: int) -> Numbers:
        """The pair of any two columns, shape (codes of one, codes of other)."""
        if a > b:
            return self.pair(b, a).T
        if (a, b) in self.pairs:
            return self.pairs[a, b]
        owner = {before: own for own, before in self.before.items()}
        one, other = a in owner, b in owner
        if not one and not other:
            return self._counts(a, b)
        if not one:
            return self._pair_with_previous(a, b, owner[b])
        if not other:
            return self._pair_with_previous(b, a, owner[a]).T
        # What lies before a row are two columns of one row.
        first = self.weights[self.held.first].sum()
        found = np.zeros((self.sizes[a], self.sizes[b]))
        inner = self._sum_by_group(b, self._sum_by_group(a, self.pair(owner[a], owner[b]).T).T)
        found[:-1, :-1] = inner * ((self.weights.sum() - first) / max(inner.sum(), 1e-300))
        found[-1, -1] = first
        return found

    def _sum_by_group(self, before: int, table: Numbers) -> Numbers:
        """A table whose second axis is a column, in its groups as the next row knows them."""
        found = np.zeros((len(table), self.sizes[before] - 1))
        np.add.at(found.T, self.columns[before].of(np.arange(table.shape[1])), table.T)
        return found

    def _pair_with_previous(self, given: int, before: int, own: int) -> Numbers:
        """The pair of a column above and one before: as that of the row itself, if there is a row before."""
        first = self.held.first
        starts = np.bincount(self.codes[first, given], self.weights[first], self.sizes[given])
        inner = self._sum_by_group(before, self.pair(given, own))
        later = (self.weights.sum() - starts.sum()) / max(inner.sum(), 1e-300)
        return np.column_stack([inner * later, starts])

    def _bounds(self, place: int, later: bool) -> tuple[int, int]:
        """The first code that a row may take, and the one after the last."""
        if self.steps is None or place != self.steps[0]:
            return 0, self.sizes[place]
        return (self.steps[1], self.sizes[place]) if later else (0, self.steps[1])

    def start(self, rng: np.random.Generator) -> None:
        """Draws all first rows, then all second ones, and so on."""
        drawn: list[Conditional] = []
        given = [k for k in range(len(self.columns)) if k not in self.free]
        for place in self.free:
            others = [*given, *(one.column for one in drawn)]
            drawn.append(Conditional.of(place, others, self.before.get(place), self.sizes, self.pair))
        at, left = np.flatnonzero(self.held.first), self.held.numbers[self.held.numbers > 0]
        before = self.before
        for nth in itertools.count(1):
            codes = self.codes[at]
            for one in drawn:
                low, high = self._bounds(one.column, nth > 1)
                codes[:, one.column] = one.draw(codes, low, high, rng)
            self.codes[at] = codes
            on = left > nth
            if not on.any():
                return
            at, left, codes = at[on] + 1, left[on], codes[on]
            for own, place in before.items():
                self.codes[at, place] = self.columns[place].of(codes[:, own])

    def adjust(self) -> None:
        """Changes columns until pairs are as estimated."""
        first = self.held.first
        free = []
        for place in self.free:
            (low, high), (later, end) = self._bounds(place, False), self._bounds(place, True)
            bounds = (np.where(first, *both).astype(np.int32) for both in ((low, later), (high, end)))
            before = self.before.get(place, -1)
            groups = np.arange(self.sizes[place])
            groups = groups if before < 0 else self.columns[before].of(groups)
            free.append(Free(place, before, groups, *bounds))
        pairs = [Pair(a, b, self._counts(a, b) - wanted) for (a, b), wanted in self.pairs.items()]
        following = np.append(~first[1:], False)
        for _ in range(_PEOPLE_SWEEPS):
            if not sweep(self.codes, self.weights, following, free, pairs):
                return

    def _counts(self, a: int, b: int) -> Numbers:
        cells = self.codes[:, a].astype(np.int64) * self.sizes[b] + self.codes[:, b]
        counts = np.bincount(cells, self.weights, self.sizes[a] * self.sizes[b]).astype(np.float64)
        return counts.reshape(self.sizes[a], self.sizes[b])


def _with_margin(table: Numbers, axis: int, margin: Numbers) -> Numbers:
    """A table that is scaled along an axis to these sums."""
    now = table.sum(axis=1 - axis)
    factor = np.divide(margin, now, out=np.zeros_like(now), where=now > 0)
    scaled: Numbers = table * np.expand_dims(factor, 1 - axis)
    return scaled
