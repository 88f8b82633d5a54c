"""A release and the real table in one domain, also where columns were learned and the table holds more."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from itertools import chain, count
from typing import TypeVar

from ...common.data.attributes.attribute import Attribute
from ...common.data.attributes.boolean import BooleanAttribute
from ...common.data.attributes.categorical import CategoricalAttribute, Category
from ...common.data.attributes.dates import TimeAttribute
from ...common.data.attributes.numeric import NumericAttribute
from ...common.data.domain import Domain
from ...common.data.table import Table, code_dtype
from ...common.data.values import NOT_AVAILABLE, text_of

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


def with_codes_for_all(attributes: Iterable[Attribute]) -> Domain:
    """A domain of columns in which the real table has codes, whatever it holds."""
    return Domain(tuple(map(_with_others, attributes)))


def moved_to(domain: Domain, table: Table) -> Table:
    """A table with the same codes in a domain that is `comparable` to its own."""
    columns = zip(domain.attributes, table.columns, strict=True)
    return Table(domain, tuple(column.astype(code_dtype(one.size)) for one, column in columns))


def of_same_codes(measured: Mapping[str, _Measured], domain: Domain, other: Domain) -> dict[str, _Measured]:
    """What is known of the columns that have the same codes in two domains."""
    return {name: one for name, one in measured.items() if domain[name].size == other[name].size}


def _with_others(attribute: Attribute) -> Attribute:
    if isinstance(attribute, TimeAttribute):
        return replace(attribute, units=replace(attribute.units, nullable=True, unreadable="missing"))
    if isinstance(attribute, NumericAttribute):
        return replace(attribute, nullable=True, unreadable="missing")
    if isinstance(attribute, BooleanAttribute):
        attribute = CategoricalAttribute(attribute.name, _words(attribute), missing=attribute.missing)
    if not isinstance(attribute, CategoricalAttribute):
        return attribute
    if "" not in attribute.codes:
        attribute = replace(attribute, categories=(*attribute.categories, ""))
    blank = {text for text in NOT_AVAILABLE if text and text not in attribute.codes}
    attribute = replace(attribute, missing=tuple(sorted(blank | set(attribute.missing))))
    if attribute.other is not None:
        return attribute
    names = chain(["other"], (f"other {number}" for number in count(2)))
    other = next(name for name in names if name not in attribute.codes and name not in attribute.missing)
    return replace(attribute, categories=(*attribute.categories, other), other=other)


def _words(attribute: BooleanAttribute) -> tuple[Category, ...]:
    """The categories of the codes of booleans: as words if they have some of their own."""
    words = tuple(map(text_of, (*attribute.false[:1], *attribute.true[:1])))
    plain = {word.casefold() for word in words} <= {"false", "true"}
    return (*((False, True) if plain else words), *([""] if attribute.nullable else []))
