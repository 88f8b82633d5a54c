"""The real rows as a release coded them: what a first step did not list counts as it counted there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...common.data.attributes.attribute import Attribute
from ...common.data.attributes.boolean import BooleanAttribute
from ...common.data.attributes.categorical import CategoricalAttribute
from ...common.data.attributes.dates import DateAttribute
from ...common.data.attributes.numeric import NumericAttribute
from ...common.data.domain import Domain
from ...common.data.table import Table, code_dtype
from ...common.data.values import text_of
from ...curator.certificates.unseen import Unseen
from ...party.drafting.profile import NOT_AVAILABLE
from ..learning.columns import OTHER

Read = Callable[[Domain], Table]
"""Reads rows in a domain."""


@dataclass(frozen=True, eq=False)
class RealRows:
    """Rows in the codes of a release, and in those in which the first step read them.

    Attributes:
        table: in the domain of the release.
        read: before what is not listed was counted as something else.
    """

    table: Table
    read: Table


def coded_as_released(domain: Domain, unseen: dict[str, Unseen], read: Read) -> RealRows:
    """Real rows in the codes of a release.

    Args:
        domain: of the release.
        unseen: what the first step that learned columns states of each of them.
        read: reads the rows in a domain.

    Raises:
        DataError: the rows do not fit the domain.
    """
    taken = [_taken(one, unseen.get(one.name)) for one in domain.attributes]
    rows = read(replace(domain, attributes=tuple(one for one, _ in taken)))
    columns = tuple(
        codes[column].astype(code_dtype(attribute.size))
        for attribute, (_, codes), column in zip(domain.attributes, taken, rows.columns, strict=True)
    )
    return RealRows(Table(domain, columns), rows)


def _taken(released: Attribute, unseen: Unseen | None) -> tuple[Attribute, NDArray[np.int64]]:
    """An attribute that reads every cell, and the code in the released one of each of its codes."""
    if unseen is None:
        return released, np.arange(released.size)
    match released:
        case NumericAttribute() if not released.nullable:
            more = replace(released, nullable=True, unreadable="missing")
            return more, np.append(np.arange(released.size), unseen.usual)
        case DateAttribute() if not released.units.nullable:
            units = replace(released.units, nullable=True, unreadable="missing")
            return replace(released, units=units), np.append(np.arange(released.size), unseen.usual)
        case CategoricalAttribute():
            listed = [one for one in released.categories if text_of(one) not in ("", OTHER)]
            known = {text_of(one): code for code, one in enumerate(released.categories)}
            numbers = not all(isinstance(one, str) for one in listed)
            blanks = tuple(text for text in NOT_AVAILABLE if text) if numbers else ()
        case BooleanAttribute():
            listed = [*released.false, *released.true]
            known = {text: 0 for text in released.false} | {text: 1 for text in released.true}
            known |= {"": 2} if released.nullable else {}
            blanks = ()
        case _:
            return released, np.arange(released.size)
    categories = ("", *listed, OTHER)
    prefixes = isinstance(released, CategoricalAttribute) and released.prefixes
    reading = CategoricalAttribute(released.name, categories, other=OTHER, prefixes=prefixes, missing=blanks)
    return reading, np.array([known.get(text_of(one), unseen.usual) for one in categories], dtype=np.int64)
