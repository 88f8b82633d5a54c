"""A release and the real table in one domain, also where columns were learned and the table holds more."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from itertools import chain, count
from typing import TypeVar

from ...common.data.attributes.attribute import Attribute
from ...common.data.attributes.boolean import BooleanAttribute
from ...common.data.attributes.categorical import CategoricalAttribute
from ...common.data.attributes.dates import TimeAttribute
from ...common.data.attributes.numeric import NumericAttribute
from ...common.data.domain import Domain
from ...common.data.table import Table, code_dtype

_Measured = TypeVar("_Measured")


def comparable(domain: Domain, learned: Collection[str]) -> Domain:
    """A domain in which the real table has codes too, after those of the release: for what it does not hold.

    Of learned columns these are missing values, and categories that are not listed.

    Args:
        domain: of a release.
        learned: columns that a first step learned.
    """
    attributes = (_with_others(one) if one.name in learned else one for one in domain.attributes)
    return replace(domain, attributes=tuple(attributes)) if learned else domain


def moved_to(domain: Domain, table: Table) -> Table:
    """A table with the same codes in a domain that is `comparable` to its own."""
    columns = zip(domain.attributes, table.columns, strict=True)
    return Table(domain, tuple(column.astype(code_dtype(one.size)) for one, column in columns))


def of_same_codes(measured: Mapping[str, _Measured], domain: Domain, other: Domain) -> dict[str, _Measured]:
    """What is known of the columns that have the same codes in two domains."""
    return {name: one for name, one in measured.items() if domain[name].size == other[name].size}


def _with_others(attribute: Attribute) -> Attribute:
    if isinstance(attribute, TimeAttribute):
        return replace(attribute, units=replace(attribute.units, nullable=True))
    if isinstance(attribute, NumericAttribute | BooleanAttribute):
        return replace(attribute, nullable=True)
    if not isinstance(attribute, CategoricalAttribute):
        return attribute
    if "" not in attribute.codes:
        attribute = replace(attribute, categories=(*attribute.categories, ""))
    if attribute.other is not None:
        return attribute
    names = chain(["other"], (f"other {number}" for number in count(2)))
    other = next(name for name in names if name not in attribute.codes and name not in attribute.missing)
    return replace(attribute, categories=(*attribute.categories, other), other=other)
