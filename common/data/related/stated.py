"""A table among related ones, as the section `[tables.NAME]` of a plan or a policy states it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from ...errors import DataError
from ...forms.tables import Key, MapOf
from ...forms.values import Text
from ..domain import Domain
from .steps import check_order

COLUMN = Text(".+", "the name of a column")

TABLE_KEYS: Mapping[str, Key] = {
    "domain": Key(Text(), "The domain file of its columns but keys; without one, it holds keys alone."),
    "key": Key(COLUMN, "The column that names its rows, to which those of other tables belong."),
    "belongs_to": Key(
        MapOf(COLUMN, some=True),
        'Column that holds the key of another table = that table: { id = "patients" }.',
    ),
    "order": Key(COLUMN, "The column by which rows of one parent are in order."),
}
"""The keys of a section."""


@dataclass(frozen=True)
class StatedTable:
    """A table.

    Attributes:
        name: of the table, as plans name it.
        domain: of its columns but keys; None for a table of keys alone.
        key: column that names its rows; empty if nothing belongs to them.
        parent: the table to whose rows its rows belong; empty for that of people.
        foreign: its column that holds the parent's key; empty for that of people.
        order: column by which rows of a parent are in order; empty for the order of the source.
    """

    name: str
    domain: Domain | None
    key: str
    parent: str
    foreign: str
    order: str

    @classmethod
    def read(cls, file: str, name: str, section: Mapping[str, Any], folder: Path, **more: Any) -> Self:
        """A table, from its section.

        Args:
            file: what to call the file of the section.
            name: of the table.
            section: its keys.
            folder: where the path of its domain starts.
            more: further fields of a kind of table.

        Raises:
            DataError: it names several parents; or see `check`.
        """
        belongs = section.get("belongs_to", {"": ""})
        if len(belongs) != 1:
            raise DataError(
                f"{file}: [tables.{name}]: expected one column in belongs_to, got several; name one parent"
            )
        ((foreign, parent),) = belongs.items()
        domain = Domain.load(folder / section["domain"]) if "domain" in section else None
        key, order = section.get("key", ""), section.get("order", "")
        made = cls(name, domain, key, parent, foreign, order, **more)
        made.check(file)
        return made

    def check(self, file: str) -> None:
        """Refuses what does not hold together.

        Args:
            file: what to call the file of its section.

        Raises:
            DataError: a column of keys is an attribute, or the order is none or has no steps.
        """
        domain, where = self.domain, f"{file}: [tables.{self.name}]"
        for column in self.keys:
            if domain is not None and column in domain:
                raise DataError(
                    f"{where}: column {column!r} identifies people and is an attribute of the domain, whose "
                    "values are released; take it out of one of the two"
                )
        if self.order:
            if domain is None or self.order not in domain.names:
                raise DataError(f"{where}: expected the order among the attributes of the domain; add it")
            check_order(domain[self.order])

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns of keys."""
        return tuple(dict.fromkeys(filter(None, (self.key, self.foreign))))
