"""What the row of a parent says of its rows: of values, numbers, times, of the first one and the last."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...common.data.attributes.attribute import Attribute
from ...common.data.attributes.boolean import BooleanAttribute
from ...common.data.attributes.categorical import CategoricalAttribute, CodedAttribute
from ...common.data.attributes.dates import DateAttribute
from ...common.data.attributes.numeric import NumericAttribute
from ...common.data.domain import Domain
from ...common.data.related.steps import Steps
from ...common.data.values import text_of
from ...common.errors import DataError
from ..results.columns.formulas import neighbour_of

Codes = NDArray[np.int64]
Numbers = NDArray[np.float64]

_MOST_TIME_BINS = 48
"""Most bins of a time."""


@dataclass(frozen=True)
class Summary(ABC):
    """A column of a parent that follows from its rows of another table.

    Attributes:
        name: of the column.
        column: of the rows, of which it speaks.
        values: of that column, as texts; empty if it speaks of any.
    """

    what: ClassVar[str]
    """What it says, as relations name it."""
    of_values: ClassVar[bool] = True
    """Whether it speaks of some values of the column."""

    name: str
    column: str
    values: tuple[str, ...] = ()

    @abstractmethod
    def attribute(
        self, held: Attribute | None, number: NumericAttribute | None, steps: Steps | None
    ) -> Attribute | None:
        """The column of the parent; None if the release does not hold what it follows from.

        Args:
            held: the column of the rows, as it is released.
            number: the number of rows.
            steps: the order of the rows.
        """

    @abstractmethod
    def of(self, rows: pd.DataFrame, parent: Codes, parents: int, times: Numbers | None) -> pd.Series:
        """What it says of each parent, shape (parents,).

        Args:
            rows: the rows, those of one parent beside each other, in order.
            parent: row of the parent of each, never decreasing, shape (N,).
            parents: number of rows of the parent table.
            times: of the rows, from the beginning of their parent, shape (N,), if they have some.
        """

    def least(self, said: Codes, attribute: Attribute) -> Codes:
        """The least number of rows of parents of which it says so, shape (parents,).

        Args:
            said: codes of the column of the parent, shape (parents,).
            attribute: this column.
        """
        return (said < attribute.size - 1).astype(np.int64)

    def rows_with_values(self, rows: pd.DataFrame) -> NDArray[np.bool_]:
        """Which rows have one of the values, shape (N,)."""
        cells = rows[self.column]
        if pd.api.types.is_object_dtype(cells.dtype):
            # 1, 1.0 and True are equal, and some cells cannot be compared: each is read by itself.
            return np.array([text_of(cell).strip() in self.values for cell in cells.tolist()], dtype=np.bool_)
        codes, known = pd.factorize(cells)
        named = np.array([text_of(cell).strip() in self.values for cell in known], dtype=np.bool_)
        missing = "" in self.values
        found: NDArray[np.bool_] = np.append(named, missing)[codes]
        return found

    def codes(self, attribute: Attribute) -> Codes:
        """The codes of the values; none of a value that the release did not find."""
        reading = attribute.read(np.array(self.values, dtype=object))
        refused = [bad for bad, _ in reading.refused.values()]
        known = ~np.logical_or.reduce(refused) if refused else np.ones(len(self.values), dtype=np.bool_)
        return np.unique(reading.codes[known])

    def to_json(self) -> dict[str, Any]:
        """The statement as JSON values."""
        return {"what": self.what, "name": self.name, "column": self.column, "values": list(self.values)}


class AnyOf(Summary):
    """Whether a parent has a row with one of some values."""

    what = "any"

    def attribute(
        self, held: Attribute | None, number: NumericAttribute | None, steps: Steps | None
    ) -> BooleanAttribute:
        """See `Summary.attribute`."""
        return BooleanAttribute(self.name)

    def of(self, rows: pd.DataFrame, parent: Codes, parents: int, times: Numbers | None) -> pd.Series:
        """See `Summary.of`: booleans."""
        return pd.Series(np.bincount(parent[self.rows_with_values(rows)], minlength=parents) > 0)

    def least(self, said: Codes, attribute: Attribute) -> Codes:
        """See `Summary.least`."""
        return said


class CountOf(Summary):
    """How many rows of a parent have one of some values."""

    what = "count"

    def attribute(
        self, held: Attribute | None, number: NumericAttribute | None, steps: Steps | None
    ) -> NumericAttribute | None:
        """See `Summary.attribute`: with the bins of the number of all rows, of which these are a part."""
        return None if number is None else replace(number, name=self.name)

    def of(self, rows: pd.DataFrame, parent: Codes, parents: int, times: Numbers | None) -> pd.Series:
        """See `Summary.of`: whole numbers."""
        return pd.Series(np.bincount(parent[self.rows_with_values(rows)], minlength=parents))

    def least(self, said: Codes, attribute: Attribute) -> Codes:
        """See `Summary.least`."""
        return bounds_of_count(said, attribute)[0]


class EndOf(Summary):
    """What one row of a parent holds in a column; nothing if it has no rows."""

    of_values = False

    def attribute(
        self, held: Attribute | None, number: NumericAttribute | None, steps: Steps | None
    ) -> Attribute | None:
        """See `Summary.attribute`: that of the rows, which may be missing too. Codes are the same."""
        match held:
            case CategoricalAttribute():
                none = () if "" in held.categories else ("",)
                return replace(held, name=self.name, categories=(*held.categories, *none))
            case CodedAttribute():
                return NumericAttribute(self.name, 0, held.n - 1, held.n, nullable=True, integer=True)
            case NumericAttribute() | BooleanAttribute():
                return replace(held, name=self.name, nullable=True)
            case DateAttribute():
                units = replace(held.units, name=self.name, nullable=True)
                return replace(held, name=self.name, units=units)
        return None

    def of(self, rows: pd.DataFrame, parent: Codes, parents: int, times: Numbers | None) -> pd.Series:
        """See `Summary.of`: cells of the column."""
        held = self.rows(parent)
        cells = rows[self.column].iloc[held]
        cells.index = pd.Index(parent[held])
        return cells.reindex(range(parents))

    def codes_from(self, held: Codes, parent: Codes, parents: int, attribute: Attribute) -> Codes:
        """The codes of what it says of each parent, shape (parents,).

        They are those of the rows, so that a cell is read once, as the column of the rows reads it.

        Args:
            held: codes of the rows, shape (N,).
            parent: see `Summary.of`.
            parents: see there.
            attribute: the column of the parent.
        """
        found = np.full(parents, none_of(attribute), dtype=np.int64)
        places = self.rows(parent)
        found[parent[places]] = held[places]
        return found

    @staticmethod
    @abstractmethod
    def rows(parent: Codes) -> NDArray[np.intp]:
        """Of each parent with rows, the place of the row of which it speaks."""


def none_of(attribute: Attribute) -> int:
    """The code that the column of the first or last row has for parents without rows."""
    if isinstance(attribute, CategoricalAttribute):
        return attribute.categories.index("")
    return attribute.size - 1


class FirstOf(EndOf):
    """What the first row of a parent holds in a column."""

    what = "first"

    @staticmethod
    def rows(parent: Codes) -> NDArray[np.intp]:
        """See `EndOf.rows`."""
        return np.flatnonzero(np.append(True, parent[1:] != parent[:-1])[: len(parent)])


class LastOf(EndOf):
    """What the last row of a parent holds in a column."""

    what = "last"

    @staticmethod
    def rows(parent: Codes) -> NDArray[np.intp]:
        """See `EndOf.rows`."""
        return np.flatnonzero(np.append(parent[1:] != parent[:-1], True)[: len(parent)])


class TimeTo(Summary):
    """When a parent's first row with one of some values is, from its beginning on; missing if there is none.

    With the time up to which a parent was followed in place of missing ones, it is what the estimator of
    Kaplan and Meier takes.
    """

    what = "time"

    def attribute(
        self, held: Attribute | None, number: NumericAttribute | None, steps: Steps | None
    ) -> NumericAttribute | None:
        """See `Summary.attribute`: in units of the order, such as days."""
        if steps is None:
            return None
        ends = steps.firsts
        edges = ends[np.linspace(0, len(ends) - 1, min(len(ends), _MOST_TIME_BINS + 1)).astype(int)].tolist()
        whole = steps.units.integer
        unit = steps.units.multiple_of
        return NumericAttribute(
            self.name,
            edges[0],
            edges[-1],
            len(edges) - 1,
            nullable=True,
            integer=whole,
            edges=tuple(edges),
            multiple_of=unit,
        )

    def of(self, rows: pd.DataFrame, parent: Codes, parents: int, times: Numbers | None) -> pd.Series:
        """See `Summary.of`: times, NaN for none."""
        found = np.full(parents, np.nan)
        if times is not None:
            places = np.flatnonzero(self.rows_with_values(rows))
            first = places[FirstOf.rows(parent[places])]
            found[parent[first]] = times[first]
        return pd.Series(found)


SUMMARIES: Mapping[str, type[Summary]] = {one.what: one for one in (AnyOf, CountOf, FirstOf, LastOf, TimeTo)}
"""All kinds, by what they say."""


def bounds_of_count(said: Codes, attribute: Attribute) -> tuple[Codes, Codes]:
    """The least and the largest number in the bin of each code, shape (N,) each."""
    assert isinstance(attribute, NumericAttribute)
    low, high = attribute.reach[said].T
    return np.ceil(low).astype(np.int64), np.floor(high).astype(np.int64)


def summary_of(name: str, stated: Mapping[str, Any]) -> Summary:
    """A summary as relations state it: `{code = ["I63"]}`, or `{what = "first", column = "code"}`.

    Args:
        name: of the new column.
        stated: one column and its values, for whether any row has one; or `what`, `column` and `values`.

    Raises:
        DataError: it is neither.
    """
    if len(stated) == 1 and "what" not in stated:
        ((column, values),) = stated.items()
        return AnyOf(name, column, _texts(values))
    kind = SUMMARIES.get(str(stated.get("what")))
    wanted = {"what", "column", *(("values",) if kind is None or kind.of_values else ())}
    if kind is None or stated.keys() != wanted or not isinstance(stated["column"], str):
        raise DataError(
            f"summary {name!r}: expected one column with its values, or what is one of "
            f"{', '.join(SUMMARIES)} with a column, and values for any, count and time; got another; fix it"
        )
    return kind(name, stated["column"], _texts(stated.get("values", ())))


def end_summaries(table: str, domain: Domain | None) -> tuple[Summary, ...]:
    """What the first or last rows of parents hold in columns that all others have from their neighbour.

    The parent knows it, and no table shows it.

    Args:
        table: whose rows are in order.
        domain: of the table; None if it is not known.
    """
    found = []
    for one in () if domain is None else domain.followers:
        if one.measured and (end := neighbour_of(one.formula)):
            found.append(SUMMARIES[end](f"{end}_{one.name}_of_{table}", one.name))
    return tuple(found)


def _texts(values: Any) -> tuple[str, ...]:
    listed: Iterable[Any] = [values] if isinstance(values, (str, int, float, bool)) else values
    return tuple(map(text_of, listed))
