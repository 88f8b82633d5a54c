"""The sections `[tables.NAME]` of a policy: where each of several tables lives, and what binds them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...common.data.domain import Domain
from ...common.data.related.joint import joint_domain
from ...common.data.related.steps import check_order
from ...common.errors import DataError
from ..names import POLICY

if TYPE_CHECKING:
    from ..sources.source import Source


@dataclass(frozen=True)
class TableSettings:
    """One of the related tables of a party.

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
    _source: Mapping[str, Any]
    _folder: Path

    @classmethod
    def of(cls, name: str, section: Mapping[str, Any], folder: Path) -> TableSettings:
        """A table, from its section.

        Raises:
            DataError: a column of keys is an attribute, or the order is none.
        """
        where, belongs = f"{POLICY}: [tables.{name}]", section.get("belongs_to", {"": ""})
        if len(belongs) != 1:
            raise DataError(f"{where}: expected one column in belongs_to, got several; name one parent")
        ((foreign, parent),) = belongs.items()
        domain = Domain.load(folder / section["domain"]) if "domain" in section else None
        made = cls(
            name,
            domain,
            section.get("key", ""),
            parent,
            foreign,
            section.get("order", ""),
            section,
            folder,
        )
        if not made.keys:
            raise DataError(f"{where}: expected key or belongs_to, which name its people, got none; add one")
        for column in made.keys:
            if domain is not None and column in domain:
                raise DataError(
                    f"{where}: column {column!r} identifies people and is an attribute of the domain, whose "
                    "values are released; take it out of one of the two"
                )
        if made.order:
            if domain is None or made.order not in domain.names:
                raise DataError(f"{where}: expected the order among the attributes of the domain; add it")
            check_order(domain[made.order])
        return made

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns of keys."""
        return tuple(dict.fromkeys(filter(None, (self.key, self.foreign))))

    def source(self) -> Source:
        """Where its rows live.

        Raises:
            DataError: none is named, or more than one, or it is not there.
        """
        from .source import source_of

        return source_of(self._source, self._folder)


def tables_of(sections: Mapping[str, Mapping[str, Any]], folder: Path) -> tuple[TableSettings, ...]:
    """The related tables of a party, each after the one that it belongs to.

    Raises:
        DataError: they are no tree, or a table below that of people belongs to one of another party.
    """
    waiting = {name: TableSettings.of(name, section, folder) for name, section in sections.items()}
    above = {one.parent for one in waiting.values()} - set(waiting)
    if len(above) != 1:
        raise DataError(
            f"{POLICY}: expected tables that all belong to one of people, directly or by others of them, got "
            "several such trees or a circle; name the parents in belongs_to"
        )
    found: list[TableSettings] = []
    while waiting:
        ready = [one for one in waiting.values() if one.parent not in waiting]
        if not ready:
            raise DataError(f"{POLICY}: expected tables that are a tree, got a circle; fix belongs_to")
        for one in ready:
            parent = next((other for other in found if other.name == one.parent), None)
            if parent is not None and not parent.key:
                raise DataError(
                    f"{POLICY}: [tables.{parent.name}]: expected a key, to which {one.name!r} belongs; add it"
                )
            found.append(waiting.pop(one.name))
    return tuple(found)


def domain_of_tables(tables: tuple[TableSettings, ...]) -> Domain:
    """The columns of all tables of a party, by joint names.

    Raises:
        DataError: there is none.
    """
    held = {one.name: one.domain for one in tables if one.domain is not None}
    if not held:
        raise DataError(f"{POLICY}: expected a table with a domain, got keys alone; add one")
    return joint_domain(held)
