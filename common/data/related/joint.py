"""The columns of several related tables in one domain, by joint names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ..attributes.attribute import Attribute
from ..attributes.dates import GapAttribute, with_name
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
    named = with_name(attribute, joint_name(table, attribute.name))
    if isinstance(named, GapAttribute):
        named = replace(named, other=joint_name(table, named.other))
    return named
