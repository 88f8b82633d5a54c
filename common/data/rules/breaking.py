"""Which rows of a table break the rules of its domain, by their raw values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ..attributes.attribute import ABSENT
from ..attributes.categorical import CategoricalAttribute
from ..values import RawColumn
from .determines import Determines
from .impossible import NullWhen
from .plain import absent_codes, plain
from .rule import Mask

if TYPE_CHECKING:
    from ..domain import Domain


def broken(domain: Domain, columns: Mapping[str, RawColumn]) -> tuple[Mask, ...]:
    """For each rule of a domain whether each row breaks it.

    Args:
        domain: of the columns.
        columns: raw values of at least the rules' columns, shape (N,) each.

    Returns:
        Shape (N,) for each rule.
    """
    names = {name for rule in domain.rules for name in rule.columns}
    values = {name: plain(domain[name], columns[name]) for name in names}
    found = [rule.broken(values, domain) for rule in domain.rules]
    for rule, rows in zip(domain.rules, found, strict=True):
        attribute = domain[rule.columns[0]]
        if isinstance(rule, Determines) and isinstance(attribute, CategoricalAttribute) and attribute.other:
            # Many values share this category, and each determines its own.
            rows &= values[attribute.name] != attribute.other
        if isinstance(rule, (Determines, NullWhen)):
            dependent = domain[rule.columns[isinstance(rule, Determines)]]
            if absent_codes(dependent).any():
                rows &= values[dependent.name] != ABSENT
    return tuple(found)
