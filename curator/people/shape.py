"""The public description of related tables: a tree, whose root has one row a person."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...common.data.attributes.attribute import Attribute
from ...common.data.attributes.categorical import CategoricalAttribute, CodedAttribute
from ...common.data.attributes.dates import bins_of
from ...common.data.domain import Domain
from ..results.storage import Storage
from .steps import Steps
from .summaries import AnyOf

NONE = "none"
"""The category of what comes before a first row."""


@dataclass(frozen=True)
class Kin:
    """A table and what it belongs to.

    Attributes:
        name: of the table.
        domain: of its own columns, without keys and without the column of the order.
        key: column that names its rows; empty if it has none.
        parent: name of the table to whose rows its rows belong; empty for the root.
        foreign: its column that holds the parent's key; empty for the root.
        ordered: whether the order of the rows of a parent means something.
        steps: where in time, or on another scale, they are; None if there is no such column.
        within: columns of the parent between which the order lies; empty for no bound.
        summaries: what a row of the parent says of its rows of this table.
        evened: up to how many rows of a parent all count the same.
        columns: all columns of the table, in order; empty if it is not released.
        storage: how the columns of a data frame are stored.
    """

    name: str
    domain: Domain | None
    key: str = ""
    parent: str = ""
    foreign: str = ""
    ordered: bool = False
    steps: Steps | None = None
    within: tuple[str, str] = ("", "")
    summaries: tuple[AnyOf, ...] = ()
    evened: int = 1
    columns: tuple[str, ...] = ()
    storage: Mapping[str, Storage] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """The table as JSON values."""
        return {
            "name": self.name,
            "domain": None if self.domain is None else self.domain.to_json(),
            "key": self.key,
            "parent": self.parent,
            "foreign": self.foreign,
            "ordered": self.ordered,
            "when": None if self.steps is None else Domain((self.steps.when,)).to_json(),
            "within": list(self.within),
            "summaries": [summary.to_json() for summary in self.summaries],
            "evened": self.evened,
            "columns": list(self.columns),
            "storage": {name: storage.value for name, storage in self.storage.items()},
        }

    @classmethod
    def from_json(cls, form: Mapping[str, Any]) -> Kin:
        """Reads a table.

        Raises:
            DataError: a domain is damaged.
            KeyError: an entry is missing.
        """
        return cls(
            name=form["name"],
            domain=None if form["domain"] is None else Domain.from_json(form["domain"]),
            key=form["key"],
            parent=form["parent"],
            foreign=form["foreign"],
            ordered=form["ordered"],
            steps=None
            if form["when"] is None
            else Steps(Domain.from_json(form["when"]).attributes[0], bool(form["within"][0])),
            within=(form["within"][0], form["within"][1]),
            summaries=tuple(map(AnyOf.from_json, form["summaries"])),
            evened=form["evened"],
            columns=tuple(form["columns"]),
            storage={name: Storage(storage) for name, storage in form["storage"].items()},
        )


@dataclass(frozen=True)
class Column:
    """A column of the records that a release models.

    Attributes:
        attribute: its name and codes.
        table: of which table; that of the records, or one above it.
        source: name of the column there.
        before: whether it is of the row before, among those of one parent.
        classes: for numbers of rows in a table above: the class of each code; else None.
    """

    attribute: Attribute
    table: str
    source: str
    before: bool = False
    classes: tuple[int, ...] | None = None

    @property
    def own(self) -> bool:
        """Whether rows get its value when they are drawn."""
        return not self.before and self.classes is None


@dataclass(frozen=True)
class Family:
    """Related tables.

    Attributes:
        tables: the root first, each after its parent.
    """

    tables: tuple[Kin, ...]

    def with_table(self, changed: Kin) -> Family:
        """These tables with one of them changed."""
        return Family(tuple(changed if table.name == changed.name else table for table in self.tables))

    @property
    def root(self) -> Kin:
        """The table of people."""
        return self.tables[0]

    def __getitem__(self, name: str) -> Kin:
        return self._named[name]

    @cached_property
    def _named(self) -> dict[str, Kin]:
        return {table.name: table for table in self.tables}

    def children(self, name: str) -> tuple[Kin, ...]:
        """The tables whose rows belong to those of a table."""
        return tuple(table for table in self.tables if table.parent == name)

    def above(self, name: str) -> tuple[Kin, ...]:
        """The tables above a table, the root first."""
        found: list[Kin] = []
        while name := self[name].parent:
            found.insert(0, self[name])
        return tuple(found)

    def own(self, name: str) -> tuple[Attribute, ...]:
        """The attributes of a table's rows: its columns, with numbers of rows, and their place in order."""
        table = self[name]
        held = () if table.domain is None else table.domain.attributes
        return (*held, *(() if table.steps is None else (table.steps.attribute,)))

    def numbers(self, name: str) -> tuple[str, ...]:
        """The columns of a table that number the rows of its children."""
        return tuple(map(number_name, (child.name for child in self.children(name))))

    def columns(self, name: str) -> tuple[Column, ...]:
        """The columns of a table's records: of tables above, of the row before, then its own."""
        found: list[Column] = []
        taken = {attribute.name for attribute in self.own(name)}
        for above in self.above(name):
            numbers = self.numbers(above.name)
            for attribute in self.own(above.name):
                named = _free(attribute.name, above.name, taken)
                if attribute.name in numbers:
                    classes = tuple(classes_of(attribute).tolist())
                    sized = CategoricalAttribute(named, class_names(max(classes)))
                    found.append(Column(sized, above.name, attribute.name, classes=classes))
                elif above.steps is None or attribute.name != above.steps.attribute.name:
                    found.append(Column(_renamed(attribute, named), above.name, attribute.name))
        if self[name].parent:
            for attribute in self.own(name):
                named = _free(f"previous_{attribute.name}", name, taken)
                found.append(Column(_with_none(attribute, named), name, attribute.name, before=True))
        found += (Column(attribute, name, attribute.name) for attribute in self.own(name))
        return tuple(found)

    def record(self, name: str) -> Domain:
        """The domain of a table's records."""
        return Domain(tuple(column.attribute for column in self.columns(name)))


def number_name(child: str) -> str:
    """The column of the number of rows of a table that belong to a row of its parent."""
    return f"number_of_{child}"


def bounds_of(
    table: Kin, parents: pd.DataFrame | None, parent: NDArray[np.int64]
) -> tuple[NDArray[np.float64] | None, NDArray[np.float64] | None]:
    """Between what the order of rows lies, shape (N,) each; None for no bound.

    Args:
        table: the table.
        parents: rows of its parent; None if that is not released.
        parent: row of the parent of each row, shape (N,).
    """
    steps = table.steps
    if steps is None or parents is None:
        return None, None
    low, high = (
        steps.numbers(parents[name], end)[parent] if name else None
        for name, end in zip(table.within, steps.units.ends, strict=True)
    )
    return low, high


def classes_of(number: Attribute) -> NDArray[np.int64]:
    """The class of each code of a number of rows: none, 1, 2 to 3, 4 to 7 and so on."""
    found = bins_of(number)
    assert found is not None
    starts = np.maximum(found.reach[:, 0], 0)
    classes = np.where(starts < 1, 0, np.floor(np.log2(np.maximum(starts, 1))) + 1).astype(np.int64)
    return np.append(classes, 0) if found.nullable else classes


def class_names(most: int) -> tuple[str, ...]:
    """Names of the classes of numbers of rows."""
    return ("0", "1", *(f"{2**k} to {2 ** (k + 1) - 1}" for k in range(1, most)))


def _free(wanted: str, table: str, taken: set[str]) -> str:
    """A name that no other column has; it is taken."""
    name = wanted if wanted not in taken else f"{table}_{wanted}"
    while name in taken:
        name += "_"
    taken.add(name)
    return name


def _renamed(attribute: Attribute, name: str) -> Attribute:
    return replace(attribute, name=name)  # type: ignore[type-var]


def _with_none(attribute: Attribute, name: str) -> Attribute:
    """An attribute with one more code, the last, for a first row, which has none before."""
    if isinstance(attribute, CategoricalAttribute) and NONE not in attribute.codes:
        return replace(attribute, name=name, categories=(*attribute.categories, NONE), open=False)
    return CodedAttribute(name, attribute.size + 1)
