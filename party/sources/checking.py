"""Compares a party's own rows with a domain: all faults at once, for the owner of the rows only."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from ...common.data.attributes.attribute import CENSUS, REFUSED, Attribute
from ...common.data.domain import Domain
from ...common.data.gaps import gaps_of
from ...common.data.rules.breaking import broken
from ...common.data.values import RawColumn
from ...common.errors import DataError
from .source import Queried

PRIVATE = (
    "These counts were read from the private rows, without any privacy: they are for the owner of the rows, "
    "and are to be shown to nobody else."
)


@dataclass(frozen=True)
class Finding:
    """Something that the owner of rows should know of them.

    Attributes:
        where: name of a column, or names of the columns of a rule.
        what: in words.
        rows: number of rows; 0 for what concerns the column as a whole.
        refused: whether the rows cannot be encoded because of it.
        warned: whether its owner should decide on it, although the party answers.
    """

    where: str
    what: str
    rows: int
    refused: bool
    warned: bool = False

    @property
    def verdict(self) -> str:
        """What to do, in one word: FIX, DECIDE, or nothing."""
        return "FIX" if self.refused else "DECIDE" if self.warned else ""


def check_rows(source: Queried, domain: Domain, used: Collection[str] = ()) -> Iterator[Finding]:
    """All faults of rows against a domain, what its policies change, and how often its rules are broken.

    Args:
        source: the rows.
        domain: what the rows should hold.
        used: columns that are used for something else, such as a key.

    Raises:
        DataError: the file cannot be read.
    """
    held = set(source.columns())
    unknown = held.difference(domain.names, used, (column.name for column in domain.unmodelled))
    if unknown:
        names = ", ".join(name for name in source.columns() if name in unknown)
        yield Finding(names, "columns that the domain does not name; they are left out", 0, False)
    for name in domain.names:
        if name not in held:
            yield Finding(name, "the domain names this column, and the file has none of this name", 0, True)
    gaps = gaps_of(domain)
    known = [n for n in domain.names if n in held and (n not in gaps or gaps[n].other in held)]
    if not known:
        return
    held_domain = domain.project(known)
    ruled = {name for rule in held_domain.rules for name in rule.columns}
    read: dict[str, RawColumn] = {}
    for name, cells in zip(known, source.cells(held_domain), strict=True):
        yield from _census(domain[name], cells)
        if name in ruled:
            read[name] = cells
    for rule, rows in zip(held_domain.rules, broken(held_domain, read), strict=True):
        if rows.any():
            what = f"rows that break rule {domain.rules.index(rule) + 1}"
            yield Finding(", ".join(rule.columns), what, int(rows.sum()), False)


def _census(attribute: Attribute, cells: RawColumn) -> Iterator[Finding]:
    try:
        counts = attribute.census(cells)
    except DataError as fault:
        yield Finding(attribute.name, str(fault), 0, True)
        return
    for key, rows in counts.items():
        yield Finding(attribute.name, CENSUS[key], rows, key in REFUSED)
