"""Reads the related tables of a party: their codes where they live, some rows at a time, sorted on disk."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...common.data.attributes.categorical import CategoricalAttribute
from ...common.data.domain import Domain
from ...common.data.related.rows import Rows
from ...common.data.related.steps import Steps, in_units
from ...common.data.table import Table, code_dtype
from ...common.errors import DataError
from ..counting.batches import code_batches
from ..counting.engines.names import code_of, other_of
from ..counting.identifiers import Identifiers
from ..counting.sorted_tables import FOREIGN, KEY, PARENT, SortedTables
from ..policies.domain import KEY as KEY_OF_PEOPLE
from ..policies.policy import Policy
from ..policies.tables import TableSettings, domain_of_tables
from .related import RelatedRows, TableRows

Columns = dict[str, NDArray[Any]]


def read_related(
    settings: Sequence[TableSettings], folder: Path | None = None, most_mb: int = Policy.max_disk_mb
) -> tuple[RelatedRows, Identifiers]:
    """The tables of a party, and what names their people.

    People are the rows of the table that belongs to no other; if the party has none, those who have rows.

    Args:
        settings: of each table, after that of the one that it belongs to.
        folder: where rows are sorted; None for that of temporary files.
        most_mb: most that these files may take, MiB.

    Raises:
        PolicyError: the rows need more than that.
        DataError: a key is missing or stands twice, a row belongs to none, an order has no value; or a table
            cannot be read.
    """
    with contextlib.closing(SortedTables(folder, most_mb)) as held:
        return _Reading(settings, held, folder).tables()


class _Reading:
    """Tables on their way into memory; arguments as of `read_related`."""

    def __init__(self, settings: Sequence[TableSettings], held: SortedTables, folder: Path | None) -> None:
        self._held = held
        self._tables = [_Reader(one, any(other.parent == one.name for other in settings)) for one in settings]
        self._numbers = {one.name: number for number, one in enumerate(settings)}
        self._root = next((one.name for one in settings if not one.parent), settings[0].parent)
        for number, table in enumerate(self._tables):
            held.add(number, table.batches(folder), table.condition)

    def tables(self) -> tuple[RelatedRows, Identifiers]:
        """The tables, sorted."""
        people = self._people()
        tables = {self._root: TableRows(Rows({}, np.arange(people), people))}
        for number, table in enumerate(self._tables):
            one = table.settings
            if one.parent:
                parents = len(tables[one.parent].rows)
                tables[one.name] = self._sort(number, table, parents)
            else:
                columns = self._held.columns(number, table.types)
                tables[one.name] = replace(tables[one.name], table=table.table(columns))
        settings = tuple(table.settings for table in self._tables)
        parents_of = {one.name: one.parent for one in settings}
        rows = RelatedRows(domain_of_tables(settings), people, tables, parents_of)
        return rows, Identifiers({KEY_OF_PEOPLE: self._held.keys(self._numbers[self._root])})

    def _people(self) -> int:
        """Numbers the people, and returns how many there are."""
        if self._root in self._numbers:
            known = self._held.number_keys(self._numbers[self._root])
        else:
            below = [number for number, one in enumerate(self._tables) if one.settings.parent == self._root]
            self._numbers[self._root] = len(self._tables)
            known = self._held.number_parents(len(self._tables), below)
        if not known:
            raise _wrong_key(self._root)
        return self._held.count_keys(self._numbers[self._root])

    def _sort(self, number: int, table: _Reader, parents: int) -> TableRows:
        """A table below another one.

        Raises:
            DataError: a row belongs to none, or a key is missing or stands twice.
        """
        one = table.settings
        order = "" if table.steps is None else table.order_column
        if not self._held.sort(number, self._numbers[one.parent], order, one.drop_incomplete):
            raise DataError(
                f"[tables.{one.name}]: expected in {one.foreign!r} a key of {one.parent!r} in every row, "
                "found a row without one; add their parents, or leave such rows out by drop_incomplete"
            )
        if table.has_children and not self._held.number_keys(number):
            raise _wrong_key(one.name)
        kind = np.dtype(np.int32 if parents <= np.iinfo(np.int32).max else np.int64)
        columns = self._held.columns(number, {PARENT: kind, **table.types})
        rows = Rows({}, columns.pop(PARENT), parents)
        return TableRows(rows, table.table(columns), one.order, table.times(columns))


@dataclass(frozen=True, eq=False)
class _Reader:
    """How a table is read.

    Attributes:
        settings: of the table.
        has_children: whether rows of another table belong to its rows.
    """

    settings: TableSettings
    has_children: bool

    @cached_property
    def fine(self) -> Domain | None:
        """The columns, that of the order with a code for each of its units; None of keys alone.

        Columns that refer to public tables have codes for what is no key of them.
        """
        domain, order = self.settings.with_strays, self.settings.order
        if domain is None or not order:
            return domain
        return replace(
            domain, attributes=tuple(in_units(one) if one.name == order else one for one in domain.attributes)
        )

    @property
    def steps(self) -> Steps | None:
        """The fine order; None of a table without."""
        return None if self.fine is None or not self.settings.order else Steps(self.fine[self.settings.order])

    @property
    def order_column(self) -> str:
        """The column of the codes of the order."""
        assert self.fine is not None, "an order is an attribute"
        return code_of(self.fine.position(self.settings.order))

    @property
    def types(self) -> dict[str, np.dtype[Any]]:
        """How the codes of each column are held."""
        attributes = () if self.fine is None else self.fine.attributes
        return {code_of(place): code_dtype(one.size) for place, one in enumerate(attributes)}

    def batches(self, folder: Path | None) -> Iterator[Columns]:
        """Codes and texts of keys, of some rows after the other.

        Raises:
            DataError: the table cannot be read, or a row has no value of the order, or no public key.
        """
        keys = self.settings.keys
        any_text = CategoricalAttribute(keys[0], ("other",), other="other")
        domain = Domain((any_text,)) if self.fine is None else self.fine
        renamed = self._names_of_keys
        for batch in code_batches(self.settings.source(), domain, keys, folder):
            if not self.settings.drop_incomplete:
                self._check_order(batch)
                self._check_references(batch)
            yield {renamed.get(name, name): cells for name, cells in batch.items()}

    @property
    def condition(self) -> str:
        """Which rows are kept of those that were read, as a condition in SQL."""
        if not self.settings.drop_incomplete:
            return "true"
        bound = [f"{name} <> ''" for name in self._names_of_keys.values()]
        if self.steps is not None:
            bound.append(f"{self.order_column} < {len(self.steps.units.cells)}")
        bound += [f"{column} < {size}" for column, size in self._references.values()]
        return " AND ".join(bound)

    @property
    def _references(self) -> dict[str, tuple[str, int]]:
        """Of columns that refer to public tables, that of their codes, and how many of these are keys."""
        domain = self.settings.domain
        if domain is None:
            return {}
        return {
            name: (code_of(domain.position(name)), domain[name].size) for name in self.settings.references
        }

    @property
    def _names_of_keys(self) -> dict[str, str]:
        """Names of the columns of keys as they are read, and as they are sorted."""
        keys = self.settings.keys
        return {other_of(place): (KEY, FOREIGN)[name != self.settings.key] for place, name in enumerate(keys)}

    def _check_order(self, batch: Columns) -> None:
        if self.steps is not None and (batch[self.order_column] >= len(self.steps.units.cells)).any():
            raise DataError(
                f"[tables.{self.settings.name}]: expected a value of the order in every row, found a row "
                "without; leave such rows out by drop_incomplete, or order by another column"
            )

    def _check_references(self, batch: Columns) -> None:
        for name, (column, size) in self._references.items():
            if (batch[column] >= size).any():
                raise DataError(
                    f"[tables.{self.settings.name}]: expected in {name!r} a key of the public table "
                    f"{self.settings.references[name]!r} in every row, found a row without; have it added "
                    "there, or leave such rows out by drop_incomplete"
                )

    def table(self, columns: Columns) -> Table | None:
        """The table; None of keys alone."""
        domain, order = self.settings.domain, self.settings.order
        if domain is None:
            return None
        codes = {name: columns[code_of(place)] for place, name in enumerate(domain.names)}
        if self.steps is not None:
            coarse = np.searchsorted(
                Steps(domain[order]).units.cells[1:, 0], self.steps.units.cells[:, 0], "right"
            )
            codes[order] = coarse.astype(code_dtype(domain[order].size))[codes[order]]
        return Table.from_codes(domain, codes)

    def times(self, columns: Columns) -> NDArray[np.float64] | None:
        """The values of the order; None of a table without."""
        if self.steps is None:
            return None
        return self.steps.units.cells[:, 0].astype(np.float64)[columns[self.order_column]]


def _wrong_key(table: str) -> DataError:
    return DataError(
        f"[tables.{table}]: expected a key in every row, and each once, found another; make it a table of "
        "one row a key"
    )
