"""The sections `[tables.NAME]` of a policy: where each of several tables lives, and what binds them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...common.data.attributes.attribute import Attribute
from ...common.data.attributes.categorical import CategoricalAttribute
from ...common.data.domain import Domain
from ...common.data.related.joint import joint_domain
from ...common.data.related.stated import StatedTable, without_public
from ...common.errors import DataError
from ..names import POLICY

if TYPE_CHECKING:
    from ..sources.source import Source


@dataclass(frozen=True)
class TableSettings(StatedTable):
    """One of the related tables of a party."""

    _source: Mapping[str, Any]
    _folder: Path

    def check(self, file: str) -> None:
        """Refuses what does not hold together.

        Raises:
            DataError: see `StatedTable.check`; or nothing names its people.
        """
        if not self.keys:
            raise DataError(
                f"{file}: [tables.{self.name}]: expected key or belongs_to, which name its people, got none; "
                "add one"
            )
        super().check(file)

    @property
    def drop_incomplete(self) -> bool:
        """Whether rows without a key, a parent, a value of the order or a public key are left out."""
        return bool(self._source.get("drop_incomplete"))

    @property
    def with_strays(self) -> Domain | None:
        """The domain with two more codes in columns that refer to public tables: for no key, and for another.

        None of keys alone.
        """
        if self.domain is None or not self.references:
            return self.domain
        return replace(
            self.domain,
            attributes=tuple(
                _with_strays(one) if one.name in self.references else one for one in self.domain.attributes
            ),
        )

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
    of_people, public = without_public(POLICY, sections, ())
    waiting = {
        name: TableSettings.read(POLICY, name, section, folder, public, _source=section, _folder=folder)
        for name, section in of_people.items()
    }
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


def _with_strays(attribute: Attribute) -> CategoricalAttribute:
    """A column of keys with one more code for a missing one, and one for any other."""
    assert isinstance(attribute, CategoricalAttribute), "keys are categories"
    other = "other"
    while other in attribute.codes:
        other += "_"
    return replace(attribute, categories=(*attribute.categories, "", other), other=other)


def domain_of_tables(tables: tuple[TableSettings, ...]) -> Domain:
    """The columns of all tables of a party, by joint names.

    Raises:
        DataError: there is none.
    """
    held = {one.name: one.domain for one in tables if one.domain is not None}
    if not held:
        raise DataError(f"{POLICY}: expected a table with a domain, got keys alone; add one")
    return joint_domain(held)
