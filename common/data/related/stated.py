"""A table among related ones, as the section `[tables.NAME]` of a plan or a policy states it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from ...errors import DataError
from ...forms.several import TEXTS
from ...forms.tables import Key, MapOf
from ...forms.values import Text, Truth, whole
from ..attributes.attribute import Attribute
from ..attributes.categorical import CategoricalAttribute
from ..domain import Domain
from .steps import check_order

COLUMN = Text(".+", "the name of a column")

TABLE_KEYS: Mapping[str, Key] = {
    "domain": Key(Text(), "The domain file of its columns but keys; without one, it holds keys alone."),
    "key": Key(COLUMN, "The column that names its rows, to which those of other tables belong."),
    "belongs_to": Key(
        MapOf(COLUMN, some=True),
        'Column that holds the key of another table = that table: { id = "patients" }; also of public ones.',
    ),
    "order": Key(COLUMN, "The column by which rows of one parent are in order."),
    "public": Key(Truth(), "Whether everybody may see its rows as they are; others may refer to its key."),
}
"""The keys of a section."""


IMPLIED_KEYS: Mapping[str, Key] = {
    "same": Key(TEXTS, "Columns that are the same in all rows of a parent: numbers or categories."),
    "rising": Key(
        TEXTS, "Columns of which no row has less than the one before: numbers, or categories in their order."
    ),
    "once": Key(
        TEXTS, "Columns of which no two rows of a parent have the same: categories, or that of the order."
    ),
    "repeats": Key(
        MapOf(COLUMN),
        'Columns that repeat the row above = its table: { id = "patients", sex = "patients.gender" }.',
    ),
    "counts": Key(
        MapOf(whole(0, 1)),
        "Columns that count the rows of each parent = the first number, 0 or 1: { line = 1 } of an order.",
    ),
}
"""Keys of what columns have to do with other rows, which those who make a release state."""


def without_public(
    file: str, sections: Mapping[str, Mapping[str, Any]], allowed: Collection[str]
) -> tuple[dict[str, Mapping[str, Any]], dict[str, Mapping[str, Any]]]:
    """The sections of tables of people, and those of public tables.

    Args:
        file: what to call their file.
        sections: by name.
        allowed: keys that one of a public table may have beside `public`.

    Raises:
        DataError: a public table has another.
    """
    public = {name: section for name, section in sections.items() if section.get("public")}
    for name, section in public.items():
        if more := sorted({*section} - {"public", *allowed}):
            raise DataError(
                f"{file}: [tables.{name}]: expected no {more[0]} of a public table, whose rows "
                "belong to nobody, found it; take it out"
            )
    return {name: section for name, section in sections.items() if name not in public}, public


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
        references: its columns whose categories are keys of a public table = that table.
    """

    name: str
    domain: Domain | None
    key: str
    parent: str
    foreign: str
    order: str
    references: Mapping[str, str]

    @classmethod
    def read(
        cls,
        file: str,
        name: str,
        section: Mapping[str, Any],
        folder: Path,
        public: Collection[str] = (),
        **more: Any,
    ) -> Self:
        """A table, from its section.

        Args:
            file: what to call the file of the section.
            name: of the table.
            section: its keys.
            folder: where the path of its domain starts.
            public: names of the public tables.
            more: further fields of a kind of table.

        Raises:
            DataError: it names several parents; or see `check`.
        """
        stated = section.get("belongs_to", {})
        references = {column: other for column, other in stated.items() if other in public}
        belongs = {column: other for column, other in stated.items() if other not in public} or {"": ""}
        if len(belongs) != 1:
            raise DataError(
                f"{file}: [tables.{name}]: expected one column in belongs_to beside those of public tables, "
                "got several; name one parent, and make one column of a key of several"
            )
        ((foreign, parent),) = belongs.items()
        domain = Domain.load(folder / section["domain"]) if "domain" in section else None
        key, order = section.get("key", ""), section.get("order", "")
        made = cls(name, domain, key, parent, foreign, order, references, **more)
        made.check(file)
        return made

    def check(self, file: str) -> None:
        """Refuses what does not hold together.

        Args:
            file: what to call the file of its section.

        Raises:
            DataError: a column of keys is an attribute, or the order is none or has no steps; or the domain
                does not list the keys of a public table.
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
        for column, other in self.references.items():
            if domain is None or column not in domain.names or not _lists_keys(domain[column]):
                raise DataError(
                    f"{where}: expected the keys of the public table {other!r} in the domain, as the "
                    f"categories of {column!r}, and nothing else, found others; list them"
                )

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns of keys."""
        return tuple(dict.fromkeys(filter(None, (self.key, self.foreign))))


def _lists_keys(attribute: Attribute) -> bool:
    """Whether a column has listed categories alone, each of which may be a key."""
    if not isinstance(attribute, CategoricalAttribute) or "" in attribute.categories:
        return False
    return attribute.other is None and not (attribute.prefixes or attribute.nearest)
