"""The one way of a synthetic table's rows out: as a data frame, as lines of CSV, as a table of Arrow.

The values of a code that has only one are looked up, and those of bins were drawn before: any number of rows
leaves block by block, and each text of a label is made once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ...common.data.attributes.attribute import Attribute
from ...common.data.attributes.dates import TimeAttribute, bins_of
from ...common.data.domain import Clique, Domain
from ...common.data.gaps import gaps_of
from ...common.data.rules.follows import Follows
from ...common.data.rules.values import related_by_values
from ...common.showing.formulas import as_text
from .columns.typed import typed_column
from .csv_files import cells, header, join_cells
from .frames import schema_of
from .row_values import Block, spelled_column
from .spreadsheets import with_apostrophes

Column = NDArray[Any]

_JOINED_COLUMNS = 16
"""Most columns whose texts are joined; numpy knows at most 64 axes."""

_MOST_COMBINED = 2**14
"""Most combinations of codes whose joined texts are kept."""


@dataclass(frozen=True, eq=False)
class RowForms:
    """The forms of decoded rows.

    Attributes:
        domain: domain of the tables.
        columns: names of the columns, in order.
    """

    domain: Domain
    columns: tuple[str, ...]

    @cached_property
    def together(self) -> frozenset[str]:
        """Attributes whose values rules relate, beyond their codes."""
        return frozenset(name for rule in related_by_values(self.domain) for name in rule.columns)

    @cached_property
    def following(self) -> frozenset[str]:
        """Attributes whose values come after others', these others, and what follows from gaps."""
        gaps = gaps_of(self.domain)
        rules = [rule for rule in self.domain.rules if isinstance(rule, Follows) and rule.of in gaps]
        found = {n for name, one in gaps.items() for n in (name, one.other)}
        return frozenset(found.union(rule.column for rule in rules))

    @cached_property
    def single(self) -> frozenset[str]:
        """Attributes whose codes have one value each, whatever the rest of the row."""
        replaced = {one.name for one in self.domain.followers}
        several = self.together | self.following | replaced
        return frozenset(
            one.name for one in self.domain.attributes if one.name not in several and _one_value_each(one)
        )

    def frame(self, block: Block) -> pd.DataFrame:
        """Rows with the types of their columns."""

        def column(name: str) -> Any:
            if name in self.single:
                known = self._typed_singles[name]
                return pd.Series(known.array.take(block.table.column(name)), dtype=known.dtype)
            return typed_column(self.domain, name, self._column_of(name, block))

        return pd.DataFrame({name: column(name) for name in self.columns})

    def arrow(self, block: Block) -> pa.Table:
        """The same rows as Arrow writes them to Parquet; categories are dictionaries."""

        def column(name: str) -> pa.Array:
            if name in self.single:
                return _looked_up(self._arrow[name], block.table.column(name))
            series = typed_column(self.domain, name, self._column_of(name, block))
            return pa.Array.from_pandas(series)

        return pa.table([column(name) for name in self.columns], names=[*self.columns])

    def typed_arrow(self, block: Block) -> pa.Table:
        """The same rows with the types that pandas reads, which no block decides."""
        return pa.Table.from_pandas(self.frame(block), self._schema, nthreads=1, preserve_index=False)

    @cached_property
    def _schema(self) -> pa.Schema:
        return schema_of(self.domain, self.columns)

    def lines(self, block: Block, spreadsheet_safe: bool) -> memoryview:
        """The same rows as lines of a CSV file."""
        parts = [self._text(part, block, spreadsheet_safe) for part in self._runs]
        return join_cells(parts, alone=len(self.columns) == 1)

    def header(self, spreadsheet_safe: bool) -> str:
        """The first line of a CSV file."""
        return header_of(self.columns, spreadsheet_safe)

    def _text(self, part: Clique, block: Block, spreadsheet_safe: bool) -> pa.Array:
        """The cells of a run of columns, joined by commas; null if it is one column without a value."""
        if part[0] in self.single:
            known = self._texts[spreadsheet_safe][part]
            return known.take(pa.array(block.table.cell_codes(part, 0, block.table.record_count)))
        return text_cells(self.domain, part[0], self._column_of(part[0], block), spreadsheet_safe)

    @cached_property
    def _runs(self) -> list[Clique]:
        """The columns in runs: a column by itself, or some whose texts have a table of all combinations."""
        runs: list[Clique] = []
        for name in self.columns:
            longer = (*runs[-1], name) if runs else ()
            if (
                0 < len(longer) <= _JOINED_COLUMNS
                and self.single.issuperset(longer)
                and self.domain.cells(longer) <= _MOST_COMBINED
            ):
                runs[-1] = longer
            else:
                runs.append((name,))
        return runs

    def _column_of(self, name: str, block: Block) -> Column:
        for column in self.domain.identifiers:
            if column.name == name:
                return column.draw(block.table.record_count, block.first)
        return block.values[name]

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
            known = self._map_single_values(lambda name, values: text_cells(self.domain, name, values, safe))
            runs = [run for run in self._runs if run[0] in self.single]
            return {run: _join_combinations([known[name] for name in run]) for run in runs}

        return {safe: texts_by_run(safe) for safe in (False, True)}


def header_of(columns: Sequence[str], spreadsheet_safe: bool) -> str:
    """The first line of a CSV file; see `text_cells`."""
    return header([*map(as_text, columns)] if spreadsheet_safe else columns)


def text_cells(domain: Domain | None, name: str, values: Column, spreadsheet_safe: bool) -> pa.Array:
    """The cells of a column of a CSV file, quoted where they need it; null for a missing value.

    Args:
        domain: of the table; None if it has none.
        name: of the column.
        values: see `spelled_column`.
        spreadsheet_safe: see `TableFile`.
    """
    written = values if domain is None else spelled_column(domain, name, values)
    return cells(with_apostrophes(written) if spreadsheet_safe else written)


def _join_combinations(columns: Sequence[pa.Array]) -> pa.Array:
    """The texts of all combinations, row-major, joined by commas."""
    if len(columns) == 1:
        return columns[0]
    places = np.unravel_index(np.arange(math.prod(map(len, columns))), tuple(map(len, columns)))
    parts = [column.take(pa.array(place)) for column, place in zip(columns, places, strict=True)]
    return pc.binary_join_element_wise(*parts, ",", null_handling="replace", null_replacement="")


def _looked_up(known: pa.Array, codes: NDArray[Any]) -> pa.Array:
    """The value of each code; texts as a dictionary, which Parquet writes without looking at each row."""
    if pa.types.is_string(known.type) or pa.types.is_large_string(known.type):
        distinct = known.dictionary_encode()
        indices = distinct.indices.take(pa.array(codes))
        return pa.DictionaryArray.from_arrays(indices, distinct.dictionary)
    return known.take(pa.array(codes))


def _one_value_each(attribute: Attribute) -> bool:
    bins = bins_of(attribute)
    if bins is None:
        return not isinstance(attribute, TimeAttribute)
    return bool(np.all(bins.reach[:, 0] == bins.reach[:, 1]))
