"""The columns of several related tables in one domain, by joint names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..attributes.attribute import Attribute
from ..attributes.dates import GapAttribute, TimeAttribute
from ..domain import Domain


def joint_name(table: str, column: str) -> str:
    """The name of a column among those of all tables."""
    return f"{table}.{column}"


def joint_domain(domains: Mapping[str, Domain]) -> Domain:
    """The columns of all tables in one domain; rules are left to each table's own.

    Args:
        domains: table -> its domain.
    """
    return Domain(tuple(_named(table, one) for table, held in domains.items() for one in held.attributes))


def _named(table: str, attribute: Attribute) -> Attribute:
    changed: dict[str, Any] = {"name": joint_name(table, attribute.name)}
    if isinstance(attribute, TimeAttribute):
        changed["units"] = replace(attribute.units, name=changed["name"])
    if isinstance(attribute, GapAttribute):
        changed["other"] = joint_name(table, attribute.other)
    return replace(attribute, **changed)  # type: ignore[type-var]
