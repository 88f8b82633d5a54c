"""Related tables as they are compared: the real ones, or the synthetic ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...common.data.attributes.attribute import Attribute
from ...common.data.domain import Domain
from ...common.data.values import text_of
from ...common.errors import DataError
from ...common.forms.nearest import hint
from ...curator.people.kin import Kin
from ...curator.people.shape import Family, bounds_of
from ...curator.people.summaries import Summary
from ...curator.results.comparable import with_codes_for_all
from ...curator.results.keys import keys_as_texts, with_joined_keys
from ...curator.results.raw_frames import cells_of

Numbers = NDArray[np.float64]
Places = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Side:
    """The real tables, or the synthetic ones.

    Attributes:
        family: what they are.
        frames: by name, with texts as keys; people that are not released stand apart from their rows.
    """

    family: Family
    frames: Mapping[str, pd.DataFrame]

    @classmethod
    def of(cls, family: Family, tables: Mapping[str, pd.DataFrame]) -> Side:
        """Tables, of which parents need not say anything of their rows yet.

        Raises:
            DataError: a column is missing, or a key of a parent stands twice.
        """
        tables = with_joined_keys(tables, family.joined_keys())
        found: dict[str, pd.DataFrame] = {}
        for table in reversed(family.tables):
            rows = tables[table.name] if table.columns else found.pop(table.name)
            said = {
                one.name
                for child in family.children(table.name)
                for one, _ in family.summaries_in_release(child.name)
            }
            names = [one.name for one in family.shown_attributes(table.name) if one.name not in said]
            keys = [key for key in (table.key, table.foreign) if key]
            if lacking := [name for name in (*keys, *names) if name not in rows.columns]:
                raise DataError(
                    f"{table.name}: expected the column {lacking[0]!r}, found none"
                    f"{hint(lacking[0], map(str, rows.columns))}; fix the table"
                )
            if table.parent and not family[table.parent].columns:
                people = rows.drop_duplicates(table.foreign)
                found[table.parent] = people.rename(columns={table.foreign: family[table.parent].key})
            rows = rows[[*keys, *names, *(one for one in said if one in rows.columns)]].reset_index(drop=True)
            found[table.name] = rows.assign(**{key: keys_as_texts(rows[key]) for key in keys})
            if table.key and not found[table.name][table.key].is_unique:
                raise DataError(f"{table.name}: expected each key once, found one twice; drop such rows")
        side = cls(family, found)
        for table in family.tables[1:]:
            for summary, _ in family.summaries_in_release(table.name):
                if summary.name not in found[table.parent].columns and family[table.parent].columns:
                    said_of = side.says(table, summary).to_numpy()
                    found[table.parent] = found[table.parent].assign(**{summary.name: said_of})
        return side

    def line(self, table: Kin) -> Line:
        """The rows of a table, those of one parent beside each other."""
        rows, parents = self.frames[table.name], self.frames[table.parent]
        parent = pd.Index(parents[self.family[table.parent].key]).get_indexer(pd.Index(rows[table.foreign]))
        values = (
            np.zeros(len(rows)) if table.steps is None else self._values(table.name, table.steps.when.name)
        )
        at = np.flatnonzero(parent >= 0)
        at = at[np.lexsort((values[at], parent[at]))]
        parent, values = parent[at].astype(np.int64), values[at]
        low, high = bounds_of(table, parents, parent)
        return Line(rows.iloc[at], parent, values, low, high)

    def says(self, table: Kin, summary: Summary) -> pd.Series:
        """What the rows of a table are, as their parents say it."""
        line = self.line(table)
        return summary.of(line.rows, line.parent, len(self.frames[table.parent]), line.times)

    def compared(self, name: str) -> pd.DataFrame:
        """The columns of a table but keys: numbers on the scale of their column, others as texts."""
        rows, shown = self.frames[name], self.family.shown_attributes(name)
        found = {one.name: compared_values(rows, shown, one.name) for one in shown}
        return pd.DataFrame(found, index=rows.index)

    @cached_property
    def with_keys(self) -> dict[str, pd.DataFrame]:
        """All tables with keys, and columns as `compared`."""
        found = {}
        for table in self.family.tables:
            keys = [key for key in (table.key, table.foreign) if key]
            found[table.name] = self.frames[table.name][keys].join(self.compared(table.name))
        return found

    def _values(self, name: str, order: str) -> Numbers:
        """Where the rows of a table are on the scale of their order, shape (N,)."""
        domain = Domain(self.family.shown_attributes(name))
        found = domain[order].within(cells_of(domain, self.frames[name], order))
        assert found is not None
        return np.where(np.isfinite(found), found, np.nanmin(found, initial=np.inf))


@dataclass(frozen=True, eq=False)
class Line:
    """Rows of a table that have a parent, those of one parent beside each other, in order.

    Attributes:
        rows: the rows.
        parent: row of the parent of each, never decreasing, shape (N,).
        values: where they are on the scale of their order, shape (N,).
        low: the beginning of their parent, if it is known, shape (N,).
        high: its end, if it is known, shape (N,).
    """

    rows: pd.DataFrame
    parent: Places
    values: Numbers
    low: Numbers | None
    high: Numbers | None

    @property
    def times(self) -> Numbers:
        """Where they are from the beginning of their parent on, shape (N,)."""
        return self.values if self.low is None else self.values - self.low


def compared_values(rows: pd.DataFrame, columns: Sequence[Attribute], name: str) -> NDArray[Any]:
    """A column: numbers on its scale, others as texts, also where the release holds no such value.

    Args:
        rows: of a table.
        columns: of the table, as the release has them.
        name: of the column.
    """
    domain = with_codes_for_all(columns)
    attribute, cells = domain[name], cells_of(domain, rows, name)
    numbers = attribute.within(cells)
    if numbers is not None:
        return numbers
    rng = np.random.default_rng(0)
    released = next(one for one in columns if one.name == name)
    values = released.decode(np.arange(released.size), rng).tolist()
    # What the release does not hold has the last codes.
    values += attribute.decode(np.arange(released.size, attribute.size), rng).tolist()
    texts = np.array([text_of(value) or None for value in values], dtype=object)
    return texts[attribute.encode(cells)]
