"""Tables that everybody may see: their rows are released as they are, and others may hold their keys."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import pandas as pd

from ...common.data.attributes.categorical import CategoricalAttribute
from ...common.data.domain import Domain
from ...common.errors import DataError
from ...common.forms.nearest import hint
from ...curator.results.keys import keys_as_texts
from ...simulations.tables.frames import Source
from .frames import frame_of, with_texts
from .tables import Relations, check_table_names, index_of_keys, parent_and_key


@dataclass(frozen=True, eq=False)
class PublicTables:
    """The public ones among some tables.

    Attributes:
        frames: their rows.
        references: of other tables, the columns that hold keys of theirs, which are the categories.
        relations: those that are left, of the other tables.
    """

    frames: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    references: Mapping[str, tuple[CategoricalAttribute, ...]] = field(default_factory=dict)
    relations: Relations = field(default_factory=dict)

    @classmethod
    def of(cls, data: Mapping[str, Source], relations: Relations, public: Collection[str]) -> PublicTables:
        """Parts relations to public tables from others.

        Args:
            data: all tables by name.
            relations: which belong to which, those to public tables among them.
            public: names of the public ones.

        Raises:
            DataError: there is no such table, it belongs to another, or its key is missing or stands twice.
        """
        check_table_names(data)
        if unknown := [name for name in public if name not in data]:
            raise DataError(
                f"public: expected names of tables, got {unknown[0]!r}{hint(unknown[0], data)}; fix it"
            )
        if below := [name for name in public if name in relations]:
            raise DataError(
                f"public: expected tables that belong to no other, got {below[0]!r}, whose rows are of "
                "people; leave it out"
            )
        frames = {name: with_texts(*frame_of(name, data[name])) for name in public}
        rest: dict[str, dict[str, str]] = {}
        references: dict[str, tuple[CategoricalAttribute, ...]] = {}
        for name, stated in relations.items():
            for column, other in stated.items():
                parent, key = parent_and_key(other, column, data)
                if parent not in frames:
                    rest.setdefault(name, {})[column] = other
                    continue
                found = _reference(column, parent, key, frames[parent])
                references[name] = (*references.get(name, ()), found)
        return cls(frames, references, rest)

    def check(self, domains: Mapping[str, Domain]) -> None:
        """Refuses domains of other tables that describe their keys.

        Raises:
            DataError: one does.
        """
        for name, references in self.references.items():
            for one in references:
                if name in domains and one.name in domains[name]:
                    raise DataError(
                        f"{name}: expected a domain without {one.name!r}, whose values are keys of a public "
                        "table, found it there; take it out"
                    )


def _reference(column: str, parent: str, key: str, rows: pd.DataFrame) -> CategoricalAttribute:
    """A column that holds keys of a public table.

    Raises:
        DataError: the table has no such key, or fewer than two rows.
    """
    if key not in rows.columns:
        raise DataError(
            f"{parent}: expected the column {key!r}, found none{hint(key, map(str, rows.columns))}; fix the "
            "relations"
        )
    index_of_keys(parent, key, keys_as_texts(rows[key]))
    cells = rows[key].tolist()
    whole = all(isinstance(cell, float) and cell.is_integer() for cell in cells)
    return CategoricalAttribute(column, tuple(map(int, cells) if whole else cells))
