"""Tables that everybody may see: their rows are released as they are, and others may hold their keys."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import pandas as pd

from ...common.data.attributes.categorical import CategoricalAttribute
from ...common.data.domain import Domain
from ...common.errors import DataError
from ...common.forms.nearest import hint
from ...curator.results.keys import check_listed, reference_to
from ...curator.results.other_files import with_plain_cells, with_types
from ...simulations.tables.arrow_tables import ArrowTable
from ...simulations.tables.frames import Source
from .frames import frame_of, with_texts
from .links import Relations, parent_and_key
from .tables import Raw, check_table_names


@dataclass(frozen=True, eq=False)
class PublicTables:
    """The public ones among some tables.

    Attributes:
        frames: their rows.
        references: of other tables, the columns that hold keys of theirs, which are the categories.
        targets: of these columns, the public table of each.
        keys: the column of keys of each public table to which others refer.
        relations: those that are left, of the other tables.
    """

    frames: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    references: Mapping[str, tuple[CategoricalAttribute, ...]] = field(default_factory=dict)
    targets: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    keys: Mapping[str, str] = field(default_factory=dict)
    relations: Relations = field(default_factory=dict)

    @classmethod
    def of(cls, data: Mapping[str, Source], relations: Relations, public: Collection[str]) -> PublicTables:
        """Parts relations to public tables from others.

        Args:
            data: all tables by name.
            relations: which belong to which, those to public tables among them.
            public: names of the public ones.

        Raises:
            DataError: there is no such table, it belongs to another, its key is missing or stands twice, or
                others refer to several keys of it.
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
        frames = {name: _frame(name, data[name]) for name in public}
        rest: dict[str, dict[str, str]] = {}
        references: dict[str, tuple[CategoricalAttribute, ...]] = {}
        targets: dict[str, dict[str, str]] = {}
        keys: dict[str, str] = {}
        for name, stated in relations.items():
            for column, other in stated.items():
                parent, key = parent_and_key(other, column, data)
                if parent not in frames:
                    rest.setdefault(name, {})[column] = other
                    continue
                found = reference_to(column, parent, key, frames[parent])
                references[name] = (*references.get(name, ()), found)
                targets.setdefault(name, {})[column] = parent
                if keys.setdefault(parent, key) != key:
                    raise DataError(
                        f"relations: expected one key of the table {parent!r}, got several; name one"
                    )
        return cls(frames, references, targets, keys, rest)

    def listed_in(self, domains: Mapping[str, Domain]) -> PublicTables:
        """With the columns that hold their keys as domains of other tables describe them, where these do.

        Raises:
            DataError: a domain lists what is no key.
        """
        found = dict(self.references)
        for name, references in self.references.items():
            if domain := domains.get(name):
                found[name] = tuple(
                    check_listed(name, domain[one.name], one) if one.name in domain else one
                    for one in references
                )
        return replace(self, references=found)

    def complete(self, domains: Mapping[str, Domain]) -> dict[str, Domain]:
        """The domains with all columns that hold keys."""
        found = dict(domains)
        for name, references in self.references.items():
            held = found.get(name)
            more = tuple(one for one in references if held is None or one.name not in held)
            if more:
                attributes = more if held is None else (*held.attributes, *more)
                found[name] = Domain(more) if held is None else replace(held, attributes=attributes)
        return found


def _frame(name: str, data: Source) -> pd.DataFrame:
    """The rows of a public table; cells of a file of texts have types as far as they are written the same."""
    rows = with_plain_cells(with_texts(*frame_of(name, data)))
    return rows if isinstance(data, ArrowTable) else with_types(rows, exactly=True)


def without_described(tables: Sequence[Raw], domains: Mapping[str, Domain]) -> tuple[Raw, ...]:
    """The tables with those columns of keys alone that their domains leave out."""
    found = []
    for raw in tables:
        known = domains.get(raw.name, ())
        found.append(replace(raw, references=tuple(one for one in raw.references if one.name not in known)))
    return tuple(found)
