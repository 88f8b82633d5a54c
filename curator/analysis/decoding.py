"""Fast decoding of large synthetic tables, block by block, into data frames, Arrow tables and text.

The values of a code that has only one are looked up; those of bins are drawn, as a release draws them. What
is written equals what `results/frames` and `results/row_values` make of the same values.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ...common.data.attributes.attribute import Attribute
from ...common.data.attributes.dates import DateAttribute, GapAttribute, TimeAttribute, bins_of
from ...common.data.attributes.numeric import NumericAttribute
from ...common.data.attributes.unmodelled import Identifier
from ...common.data.domain import Clique, Domain
from ...common.data.gaps import gaps_of, with_times
from ...common.data.rules.order import AtMost, Sum
from ...common.data.rules.plain import numbers as as_numbers
from ...common.data.rules.rule import components
from ...common.data.rules.values import drawn_together, out_of_order
from ...common.data.table import Table
from ...common.showing.formulas import as_text
from ..results.csv_files import cells, header, join_cells
from ..results.frames import typed_column
from ..results.row_values import spelled_column
from ..results.spreadsheets import with_apostrophes
from .conditions import Condition

Counts = Mapping[str, NDArray[np.int64]]
Mask = NDArray[np.bool_]
Column = NDArray[Any]

_ORDERLY_SHARE = 0.25
"""Rows are as frequent as they should be if at least this share of their values keeps the order."""

_DRAWS, _MOST_DRAWN = (8, 64), 2**21
"""Draws of values by which that share is estimated: fewest and most, and most in all rows of a block."""

_MOST_COMBINED = 2**14
"""Most combinations of codes whose joined texts are kept."""


@dataclass(frozen=True, eq=False)
class Decoder:
    """Values for the codes of a release.

    Attributes:
        condition: what rows are drawn under; numbers are drawn from the ranges that it allows.
        counts: records of each code, for every attribute, by which numbers are spread within bins.
    """

    condition: Condition
    counts: Counts

    @property
    def domain(self) -> Domain:
        """Domain of the tables."""
        return self.condition.domain

    @cached_property
    def together(self) -> frozenset[str]:
        """Attributes whose values rules relate, beyond their codes."""
        rules = [rule for rule in self.domain.rules if isinstance(rule, (AtMost, Sum))]
        return frozenset(name for rule in rules for name in rule.columns)

    @cached_property
    def single(self) -> frozenset[str]:
        """Attributes whose codes have one value each."""
        return frozenset(
            attribute.name
            for attribute in self.domain.attributes
            if attribute.name not in self.together | self.following and _one_value_each(attribute)
        )

    @cached_property
    def following(self) -> frozenset[str]:
        """Attributes whose values come after others', and these others."""
        return frozenset(n for name, one in gaps_of(self.domain).items() for n in (name, one.other))

    @cached_property
    def orders_within_bins(self) -> tuple[AtMost, ...]:
        """Inequalities between values that the condition takes from a part of their bins.

        No sum is about the same columns.
        """
        ruled = [rule for rule in self.domain.rules if isinstance(rule, (AtMost, Sum))]
        found: list[AtMost] = []
        for together in components(ruled):
            names = {name for rule in together for name in rule.columns}.intersection(self.condition.allowed)
            orders = [rule for rule in together if isinstance(rule, AtMost)]
            if len(orders) == len(together) and any(map(self._cuts, names)):
                found += orders
        return tuple(found)

    @cached_property
    def from_ranges(self) -> frozenset[str]:
        """Attributes of the condition whose numbers are drawn from its ranges."""
        names = {name for rule in self.orders_within_bins for name in rule.columns}
        allowed = (name for name in self.condition.allowed if bins_of(self.domain[name]) is not None)
        return frozenset(name for name in allowed if name in names or name not in self.together)

    @property
    def least_share(self) -> float:
        """A share of the rows that `draw_values` keeps, to begin with."""
        return _ORDERLY_SHARE if self.orders_within_bins else 1.0

    def _cuts(self, name: str) -> bool:
        """Whether the condition takes a part of a bin."""
        weights = self.condition.weights(name, self.counts[name])
        return bool(np.any((weights > 0) & (weights < 1)))

    def draw_values(self, table: Table, rng: np.random.Generator) -> tuple[Table, dict[str, Column]]:
        """The rows that meet the condition, and values of the attributes that are not `single`.

        Args:
            table: codes of rows whose codes the condition allows.
            rng: draws values from the bins of each row.
        """
        codes = dict(zip(table.domain.names, table.columns, strict=True))
        names = [name for name in self.domain if name not in self.single]
        values = {name: self._values(name, codes[name], rng) for name in names}
        if self.orders_within_bins:
            # Rows shall be as frequent as values of their codes that keep the order fall into the ranges:
            # the share of values in the ranges that keep the order, over that of all values.
            kept = ~out_of_order(self.domain, self.orders_within_bins, values)
            kept &= rng.random(table.record_count) < _ORDERLY_SHARE / self._orderly(codes, rng)
            table, values = _select_rows(table, values, kept)
            codes = dict(zip(table.domain.names, table.columns, strict=True))

        def draw(name: str, rows: NDArray[np.int64]) -> Column:
            return self._values(name, codes[name][rows], rng)

        if self.together:
            values = drawn_together(self.domain, codes, values, draw)
        held = [
            self.condition.holds(name, self._numbers(name, values[name]))
            for name in self.condition.allowed
            if name in self.together and bins_of(self.domain[name]) is not None
        ]
        if held:
            table, values = _select_rows(table, values, np.logical_and.reduce(held))
        return table, with_times(self.domain, values) if self.following else values

    def _orderly(self, codes: Mapping[str, Column], rng: np.random.Generator) -> NDArray[np.float64]:
        """The share of values of each row's codes that keep the order, whatever the condition; shape (N,)."""
        names = sorted({name for rule in self.orders_within_bins for name in rule.columns})
        rows = len(codes[names[0]])
        draws = int(np.clip(_MOST_DRAWN // max(rows, 1), *_DRAWS))
        found = np.ones(rows)
        for _ in range(draws):
            values = {name: self.domain[name].decode(codes[name], rng, self.counts[name]) for name in names}
            found += ~out_of_order(self.domain, self.orders_within_bins, values)
        return found / (draws + 1)

    def frame(self, table: Table, values: Mapping[str, Column], first: int) -> pd.DataFrame:
        """Rows with the types of their columns.

        Args:
            table: the codes.
            values: as `draw_values` gives them.
            first: number of the first row, from 1, for identifiers.
        """

        def column(name: str) -> Any:
            if name in self.single:
                known = self._typed_singles[name]
                return pd.Series(known.array.take(table.column(name)), dtype=known.dtype)
            return typed_column(self.domain, name, self._column_of(name, values, table, first))

        return pd.DataFrame({name: column(name) for name in self.domain.columns})

    def arrow(self, table: Table, values: Mapping[str, Column], first: int) -> pa.Table:
        """The same rows as Arrow writes them to Parquet; categories are dictionaries."""

        def column(name: str) -> pa.Array:
            if name in self.single:
                return _looked_up(self._arrow[name], table.column(name))
            series = typed_column(self.domain, name, self._column_of(name, values, table, first))
            return pa.Array.from_pandas(series)

        return pa.table([column(name) for name in self.domain.columns], names=list(self.domain.columns))

    def lines(
        self, table: Table, values: Mapping[str, Column], first: int, spreadsheet_safe: bool
    ) -> memoryview:
        """The same rows as lines of a CSV file."""
        parts = [self._text(part, table, values, first, spreadsheet_safe) for part in self._runs]
        return join_cells(parts, alone=len(self.domain.columns) == 1)

    def header(self, spreadsheet_safe: bool) -> str:
        """The first line of a CSV file."""
        return header([*map(as_text, self.domain.columns)] if spreadsheet_safe else self.domain.columns)

    def _text(
        self, part: Clique, table: Table, values: Mapping[str, Column], first: int, spreadsheet_safe: bool
    ) -> pa.Array:
        """The cells of a run of columns, joined by commas; null if it is one column without a value."""
        if part[0] in self.single:
            known = self._texts[spreadsheet_safe][part]
            return known.take(pa.array(table.cell_codes(part, 0, table.record_count)))
        written = spelled_column(self.domain, part[0], self._column_of(part[0], values, table, first))
        return _cells(written, spreadsheet_safe)

    @cached_property
    def _runs(self) -> list[Clique]:
        """The columns in runs: a column by itself, or some whose texts have a table of all combinations."""
        runs: list[Clique] = []
        for name in self.domain.columns:
            longer = (*runs[-1], name) if runs else ()
            if longer and self.single.issuperset(longer) and self.domain.cells(longer) <= _MOST_COMBINED:
                runs[-1] = longer
            else:
                runs.append((name,))
        return runs

    def _values(self, name: str, codes: NDArray[Any], rng: np.random.Generator) -> Column:
        attribute, counts = self.domain[name], self.counts[name]
        bins = bins_of(attribute)
        if bins is None or name not in self.from_ranges:
            return attribute.decode(codes, rng, counts)
        missing = codes >= bins.spread.size
        cells = np.where(missing, 0, codes).astype(np.int64)
        numbers = self._in_ranges(name, bins, cells, rng)
        assert isinstance(attribute, (NumericAttribute, DateAttribute, GapAttribute))
        return attribute.of_numbers(numbers, missing)

    def _in_ranges(
        self, name: str, bins: NumericAttribute, cells: NDArray[np.int64], rng: np.random.Generator
    ) -> NDArray[np.float64]:
        """Numbers of cells inside the ranges that the condition allows."""
        ranges = np.array(self.condition.allowed[name].ranges)
        if not len(ranges):  # All values are missing.
            return np.zeros(len(cells))
        shares = np.array(self.condition.ranks(name, self.counts[name]))
        ends = np.cumsum(shares[:, 1] - shares[:, 0], axis=0)
        reached = rng.random(len(cells)) * ends[-1][cells]
        place = np.minimum((reached >= ends[:, cells]).sum(axis=0), len(ranges) - 1)
        before = np.where(place > 0, ends[np.maximum(place - 1, 0), cells], 0.0)
        ranks = shares[place, 0, cells] + reached - before
        numbers = bins.spread.at(cells, self.counts[name][: bins.spread.size], ranks)
        numbers = bins.spread.shorten(numbers, cells)
        # A number next to an end can be rounded beyond it.
        low, high = ranges[place].T
        found: NDArray[np.float64] = np.clip(numbers, low, high)
        return found

    def _numbers(self, name: str, values: Column) -> NDArray[np.float64]:
        attribute = self.domain[name]
        if isinstance(attribute, DateAttribute):
            found = np.full(len(values), np.nan)
            known = ~np.isnat(values)
            found[known] = attribute.moments.unit_numbers(values[known])
            return found
        return as_numbers(values.astype(np.float64))

    def _column_of(self, name: str, values: Mapping[str, Column], table: Table, first: int) -> Column:
        for column in self.domain.unmodelled:
            if isinstance(column, Identifier) and column.name == name:
                return column.draw(table.record_count, first)
        return values[name]

    def _map_single_values(self, make: Callable[[str, Column], Any]) -> dict[str, Any]:
        rng = np.random.default_rng(0)
        return {
            name: make(name, self.domain[name].decode(np.arange(self.domain[name].size), rng))
            for name in self.single
        }

    @cached_property
    def _typed_singles(self) -> dict[str, pd.Series]:
        return self._map_single_values(lambda name, values: typed_column(self.domain, name, values))

    @cached_property
    def _arrow(self) -> dict[str, pa.Array]:
        return {name: pa.Array.from_pandas(series) for name, series in self._typed_singles.items()}

    @cached_property
    def _texts(self) -> dict[bool, dict[Clique, pa.Array]]:
        """The texts of all combinations of each run of columns."""

        def texts_by_run(safe: bool) -> dict[Clique, pa.Array]:
            known = self._map_single_values(
                lambda name, values: _cells(spelled_column(self.domain, name, values), safe)
            )
            runs = [run for run in self._runs if run[0] in self.single]
            return {run: _join_combinations([known[name] for name in run]) for run in runs}

        return {safe: texts_by_run(safe) for safe in (False, True)}


def _select_rows(table: Table, values: Mapping[str, Column], kept: Mask) -> tuple[Table, dict[str, Column]]:
    """Some of the rows."""
    return table.take(np.flatnonzero(kept)), {name: column[kept] for name, column in values.items()}


def _join_combinations(columns: Sequence[pa.Array]) -> pa.Array:
    """The texts of all combinations, row-major, joined by commas."""
    if len(columns) == 1:
        return columns[0]
    places = np.unravel_index(np.arange(math.prod(map(len, columns))), tuple(map(len, columns)))
    parts = [column.take(pa.array(place)) for column, place in zip(columns, places, strict=True)]
    return pc.binary_join_element_wise(*parts, ",", null_handling="replace", null_replacement="")


def _one_value_each(attribute: Attribute) -> bool:
    bins = bins_of(attribute)
    if bins is None:
        return not isinstance(attribute, TimeAttribute)
    return bool(np.all(bins.reach[:, 0] == bins.reach[:, 1]))


def _looked_up(known: pa.Array, codes: NDArray[Any]) -> pa.Array:
    """The value of each code; texts as a dictionary, which Parquet writes without looking at each row."""
    if pa.types.is_string(known.type) or pa.types.is_large_string(known.type):
        distinct = known.dictionary_encode()
        indices = distinct.indices.take(pa.array(codes))
        return pa.DictionaryArray.from_arrays(indices, distinct.dictionary)
    return known.take(pa.array(codes))


def _cells(values: Column, spreadsheet_safe: bool) -> pa.Array:
    """Cells of a CSV file, quoted where they need it; null for a missing value."""
    if spreadsheet_safe:
        values = with_apostrophes({"": values})[""]
    return cells(values)
