"""Rows of a table, drawn for given rows of the tables above: one after the other, then adjusted to pairs."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ....common.data.domain import Clique
from ....common.data.related.rows import Rows, last_of_series
from ....common.privacy.cost import WEIGHT_PARTS
from ..rows import drawn_weights, known_columns, with_columns
from ..shape import Column, Family
from .conditional import Conditional, with_margin
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
    return _begin_stages(family, name, rows, blank, model, (), rng)


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
    return _begin_stages(family, name, rows, rows[name], model, measured, rng)


def _begin_stages(
    family: Family,
    name: str,
    rows: Mapping[str, Rows],
    held: Rows,
    model: Model,
    timed: Sequence[Clique],
    rng: np.random.Generator,
) -> Callable[[], Rows]:
    """Draws all columns; of a table with series those first that say which rows are one, then the others.

    Args:
        family: the tables.
        name: the table.
        rows: see `begin`.
        held: the rows, of which columns that are drawn may hold anything.
        model: of the table's records.
        timed: pairs with the value of the order; see `_Drawing.of`.
        rng: draws rows.
    """
    steps, table = family[name].steps, family[name]
    own = [one.name for one in family.own(name)]
    if timed and steps is not None:
        own.remove(steps.attribute.name)
    told = family.series_columns(name) if table.series and not table.alone else ()
    stages = [[one for one in own if (one in told) is first] for first in (True, False)]
    # Sweeps change the first rows most, so these are not those of the first parents.
    order = np.argsort(rng.permutation(held.parents)[held.parent], kind="stable")
    drawing: _Drawing | None = None
    for sources in filter(None, stages):
        if drawing is not None:
            drawing.adjust(order)
            held = drawing.rows
        later = set(own) - set(sources) if drawing is None else set()
        drawing = _Drawing.of(family, name, rows, held, model, sources, later, timed)
        drawing.start(rng)
    assert drawing is not None
    last, counted = drawing, {one.name for one in family.counted_attributes(name)}

    def finish() -> Rows:
        last.adjust(order)
        found = last.rows
        return replace(found, codes={one: codes for one, codes in found.codes.items() if one not in counted})

    return finish


@dataclass(frozen=True, eq=False)
class _Drawing:
    """The records of a table while its own columns are drawn.

    Attributes:
        columns: of the records.
        sizes: number of codes of each.
        codes: shape (rows, columns).
        weights: of each row, shape (rows,).
        held: the rows without what is drawn here.
        last: place of the row before of which a row knows the columns that are drawn, shape (rows,): of its
            parent, or of its series; -1 for none.
        series: whether it is that of its series.
        free: places of the columns that are drawn.
        steps: place of the column of the order, and its number of codes of first rows; None without one.
        pairs: estimates of pairs with a column that is drawn, by their places.
    """

    columns: tuple[Column, ...]
    sizes: tuple[int, ...]
    codes: NDArray[np.int32]
    weights: Numbers
    held: Rows
    last: NDArray[np.int64]
    series: bool
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
        sources: Sequence[str],
        later: Collection[str],
        timed: Sequence[Clique] = (),
    ) -> _Drawing:
        """The records of rows whose columns are not drawn yet.

        Args:
            family: the tables.
            name: the table.
            rows: of the tables above it.
            held: its rows.
            model: of the table's records.
            sources: its columns that are drawn.
            later: its columns that are drawn later.
            timed: pairs with the value of the order, if rows have it: then the order is not drawn any more.
        """
        every = {**rows, name: held}
        columns, found = (known_columns if timed else Family.columns)(family, name), family[name].steps
        columns = tuple(one for one in columns if one.table != name or one.source not in later)
        names = tuple(column.attribute.name for column in columns)
        known = with_columns(family, name, columns, every)
        codes = np.empty((len(held), len(names)), dtype=np.int32)
        for place, one in enumerate(names):
            codes[:, place] = known.column(one)
        sizes = tuple(column.attribute.size for column in columns)
        steps = None
        if found is not None and found.attribute.name in sources:
            steps = names.index(found.attribute.name), 1
        own = [k for k, column in enumerate(columns) if not column.before and column.table == name]
        free = tuple(k for k in own if columns[k].source in sources)
        series = any(column.series for column in columns)
        if series:
            last = last_of_series(held.parent, held.codes[family[name].series])
        else:
            last = np.where(held.first, -1, np.arange(len(held)) - 1)
        weights = drawn_weights(family, name, every) / WEIGHT_PARTS
        drawing = cls(columns, sizes, codes, weights, held, last, series, free, steps, {})
        unknown = {one.name for one in family.counted_attributes(name)}
        told = {k for k in own if columns[k].source in family.series_columns(name)} if series else set()
        previous = {*drawing.before.values()}
        pairs = [
            (a, b)
            for a, b in itertools.combinations(range(len(names)), 2)
            if ({a, b}.intersection(free) or (told.intersection((a, b)) and previous.intersection((a, b))))
            and (unknown.isdisjoint((names[a], names[b])) or (names[a], names[b]) in timed)
        ]
        drawing._estimate(model, names, pairs)
        return drawing

    @cached_property
    def first(self) -> NDArray[np.bool_]:
        """Which rows have none before, shape (rows,)."""
        return self.last < 0

    @cached_property
    def next(self) -> NDArray[np.int64]:
        """Place of the row of which a row is the one before, shape (rows,); -1 for none."""
        found = np.full(len(self.last), -1, dtype=np.int64)
        later = np.flatnonzero(~self.first)
        found[self.last[later]] = later
        return found

    @property
    def before(self) -> dict[int, int]:
        """For each of these, the place of the column of the row before; empty if there is none before."""
        named = {column.source: k for k, column in enumerate(self.columns) if column.before}
        return {k: named[self.columns[k].source] for k in self.free if named}

    @property
    def rows(self) -> Rows:
        """The rows with what was drawn."""
        drawn = {self.columns[place].source: self.codes[:, place].astype(np.int64) for place in self.free}
        return replace(self.held, codes={**self.held.codes, **drawn})

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
                if place not in free or self._is_step(place):
                    table = with_margin(table, axis, self._margin(place, table.sum(axis=1 - axis)))
            self.pairs[a, b] = table

    def _is_step(self, place: int) -> bool:
        """Whether a column is that of steps, whose first code first rows have, and no others."""
        return self.steps is not None and place == self.steps[0]

    def _margin(self, place: int, estimate: Numbers) -> Numbers:
        """The sums of weights of a column that is not drawn, or of steps, of which first rows are known."""
        first = self.weights[self.first].sum()
        later = self.weights.sum() - first
        if self._is_step(place):
            return np.append(first, estimate[1:] * (later / max(estimate[1:].sum(), 1e-300)))
        if place not in self.before.values():
            return np.bincount(self.codes[:, place], self.weights, self.sizes[place]).astype(np.float64)
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
        first = self.weights[self.first].sum()
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
        first = self.first
        held = self.weights[first], self.sizes[given]
        starts = np.bincount(self.codes[first, given], *held).astype(np.float64)
        inner = self._sum_by_group(before, self.pair(given, own))
        if self.series:
            return np.column_stack([with_margin(inner, 0, self._margin(given, starts) - starts), starts])
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
        at, before = np.flatnonzero(self.first), self.before
        for nth in itertools.count(1):
            codes = self.codes[at]
            for one in drawn:
                low, high = self._bounds(one.column, nth > 1)
                codes[:, one.column] = one.draw(codes, low, high, rng)
            self.codes[at] = codes
            on = self.next[at] >= 0
            if not on.any():
                return
            at, codes = self.next[at[on]], codes[on]
            for own, place in before.items():
                self.codes[at, place] = self.columns[place].of(codes[:, own])

    def adjust(self, order: NDArray[np.int64]) -> None:
        """Changes columns until pairs are as estimated.

        Args:
            order: places of the rows, in that in which sweeps go through them.
        """
        free = []
        for place in self.free:
            (low, high), (later, end) = self._bounds(place, False), self._bounds(place, True)
            first = self.first[order]
            bounds = (np.where(first, *both).astype(np.int32) for both in ((low, later), (high, end)))
            before = self.before.get(place, -1)
            groups = np.arange(self.sizes[place])
            groups = groups if before < 0 else self.columns[before].of(groups)
            free.append(Free(place, before, groups, *bounds))
        pairs = [Pair(a, b, self._counts(a, b) - wanted) for (a, b), wanted in self.pairs.items()]
        codes, weights = np.ascontiguousarray(self.codes[order]), self.weights[order]
        places = np.append(np.argsort(order), -1)
        following = places[self.next[order]]
        for _ in range(_PEOPLE_SWEEPS):
            if not sweep(codes, weights, following, free, pairs):
                break
        self.codes[order] = codes

    def _counts(self, a: int, b: int) -> Numbers:
        cells = self.codes[:, a].astype(np.int64) * self.sizes[b] + self.codes[:, b]
        counts = np.bincount(cells, self.weights, self.sizes[a] * self.sizes[b]).astype(np.float64)
        return counts.reshape(self.sizes[a], self.sizes[b])
