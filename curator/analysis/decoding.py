"""Fast decoding of large synthetic tables, block by block, into data frames, Arrow tables and text.

The values of a code that has only one are looked up; those of bins are drawn, as a release draws them. What
is written equals what `releasing/frames` and `releasing/row_values` make of the same values.
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

from ...common.data.attribute import Attribute
from ...common.data.dates import DateAttribute, TimeAttribute, bins_of
from ...common.data.domain import Clique, Domain
from ...common.data.numeric import NumericAttribute
from ...common.data.rules.order import AtMost, Sum
from ...common.data.rules.plain import numbers as as_numbers
from ...common.data.rules.values import drawn_together
from ...common.data.table import Table
from ...common.data.unmodelled import Identifier
from ...common.formulas import as_text
from ..releasing.csv_writing import cells, header, joined
from ..releasing.frames import typed_column
from ..releasing.row_values import spelled_column
from ..releasing.spreadsheets import with_apostrophes
from .conditions import Condition

Counts = Mapping[str, NDArray[np.int64]]
Mask = NDArray[np.bool_]
Column = NDArray[Any]

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
            if attribute.name not in self.together and _one_value_each(attribute)
        )

    def drawn(self, table: Table, rng: np.random.Generator) -> dict[str, Column]:
        """Values of the attributes that are not `single`, drawn from the bins of each row."""
        codes = dict(zip(table.domain.names, table.columns, strict=True))
        names = [name for name in self.domain if name not in self.single]
        values = {name: self._values(name, codes[name], rng) for name in names}

        def draw(name: str, rows: NDArray[np.int64]) -> Column:
            return self._values(name, codes[name][rows], rng)

        return drawn_together(self.domain, codes, values, draw) if self.together else values

    def kept(self, values: Mapping[str, Column]) -> Mask | None:
        """The rows whose related values meet the condition; None if that needs no check."""
        names = [name for name in self.condition.allowed if name in self.together]
        checked = [name for name in names if bins_of(self.domain[name]) is not None]
        if not checked:
            return None
        held = [self.condition.holds(name, self._numbers(name, values[name])) for name in checked]
        return np.asarray(np.logical_and.reduce(held))

    def frame(self, table: Table, values: Mapping[str, Column], first: int) -> pd.DataFrame:
        """Rows with the types of their columns.

        Args:
            table: the codes.
            values: as `drawn` gives them.
            first: number of the first row, from 1, for identifiers.
        """

        def column(name: str) -> Any:
            if name in self.single:
                known = self._typed[name]
                return pd.Series(known.array.take(table.column(name)), dtype=known.dtype)
            return typed_column(self.domain, name, self._given(name, values, table, first))

        return pd.DataFrame({name: column(name) for name in self.domain.columns})

    def arrow(self, table: Table, values: Mapping[str, Column], first: int) -> pa.Table:
        """The same rows as Arrow writes them to Parquet; categories are dictionaries."""

        def column(name: str) -> pa.Array:
            if name in self.single:
                return _looked_up(self._arrow[name], table.column(name))
            series = typed_column(self.domain, name, self._given(name, values, table, first))
            return pa.Array.from_pandas(series)

        return pa.table([column(name) for name in self.domain.columns], names=list(self.domain.columns))

    def lines(
        self, table: Table, values: Mapping[str, Column], first: int, spreadsheet_safe: bool
    ) -> memoryview:
        """The same rows as lines of a CSV file."""
        parts = [self._text(part, table, values, first, spreadsheet_safe) for part in self._runs]
        return joined(parts, alone=len(self.domain.columns) == 1)

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
        written = spelled_column(self.domain, part[0], self._given(part[0], values, table, first))
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
        if bins is None or name in self.together or name not in self.condition.allowed:
            return attribute.decode(codes, rng, counts)
        missing = codes >= bins.spread.size
        cells = np.where(missing, 0, codes).astype(np.int64)
        numbers = self._in_ranges(name, bins, cells, rng)
        assert isinstance(attribute, (NumericAttribute, DateAttribute))
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
        numbers = bins.spread.shortened(numbers, cells)
        # A number next to an end can be rounded beyond it.
        low, high = ranges[place].T
        found: NDArray[np.float64] = np.clip(numbers, low, high)
        return found

    def _numbers(self, name: str, values: Column) -> NDArray[np.float64]:
        attribute = self.domain[name]
        if isinstance(attribute, DateAttribute):
            found = np.full(len(values), np.nan)
            known = ~np.isnat(values)
            found[known] = attribute.moments.counted(values[known])
            return found
        return as_numbers(values.astype(np.float64))

    def _given(self, name: str, values: Mapping[str, Column], table: Table, first: int) -> Column:
        for column in self.domain.unmodelled:
            if isinstance(column, Identifier) and column.name == name:
                return column.drawn(table.record_count, first)
        return values[name]

    def _looked(self, make: Callable[[str, Column], Any]) -> dict[str, Any]:
        rng = np.random.default_rng(0)
        return {
            name: make(name, self.domain[name].decode(np.arange(self.domain[name].size), rng))
            for name in self.single
        }

    @cached_property
    def _typed(self) -> dict[str, pd.Series]:
        return self._looked(lambda name, values: typed_column(self.domain, name, values))

    @cached_property
    def _arrow(self) -> dict[str, pa.Array]:
        return {name: pa.Array.from_pandas(series) for name, series in self._typed.items()}

    @cached_property
    def _texts(self) -> dict[bool, dict[Clique, pa.Array]]:
        """The texts of all combinations of each run of columns."""

        def made(safe: bool) -> dict[Clique, pa.Array]:
            known = self._looked(lambda name, values: _cells(spelled_column(self.domain, name, values), safe))
            runs = [run for run in self._runs if run[0] in self.single]
            return {run: _combined([known[name] for name in run]) for run in runs}

        return {safe: made(safe) for safe in (False, True)}


def _combined(columns: Sequence[pa.Array]) -> pa.Array:
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
