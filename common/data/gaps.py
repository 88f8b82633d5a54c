"""Columns that come after another one: as raw columns of gaps for encoding, and as times after decoding."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from ..errors import DataError
from .attributes.clock import Clock
from .attributes.dates import GapAttribute, TimeAttribute
from .values import RawColumn, column_named

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .domain import Domain


def gaps_of(domain: Domain) -> dict[str, GapAttribute]:
    """The attributes that come after others, by name."""
    return {one.name: one for one in domain.attributes if isinstance(one, GapAttribute)}


def gaps_after(order: str, domain: Domain) -> tuple[GapAttribute, ...]:
    """The attributes that come after one, directly or by others, each after the one that it counts from."""
    found: list[GapAttribute] = []
    names = {order}
    while ready := [one for one in gaps_of(domain).values() if one.other in names and one.name not in names]:
        found += ready
        names |= {one.name for one in ready}
    return tuple(found)


def check_together(domain: Domain, names: Collection[str], who: str = "the domain") -> None:
    """Refuses columns of which one comes after a column that is not among them.

    Args:
        domain: of all columns.
        names: the columns that are together.
        who: has them.

    Raises:
        DataError: the other column is missing, or holds no dates; or columns come after each other in a ring.
    """
    after = {name: one.other for name, one in gaps_of(domain).items()}
    for name in (name for name in names if name in after):
        seen = {name}
        while (other := after.get(name)) is not None:
            if other not in names:
                raise DataError(
                    f"attribute {name!r} comes after {other!r}, which {who} does not have; keep both columns "
                    f"together, or declare {name!r} with min and max"
                )
            held = domain[other]
            timed = isinstance(held, TimeAttribute) and not isinstance(held.moments, Clock)
            if other in seen or not timed or held.texts:
                raise DataError(
                    f"attribute {name!r}: after: expected a column of dates or timestamps, without texts, "
                    f"that does not come after {name!r} itself; name another"
                )
            seen.add(other)
            name = other


def readable(domain: Domain, columns: Mapping[str, RawColumn], name: str) -> RawColumn:
    """A raw column as its attribute reads it: gaps, if it comes after another.

    Args:
        domain: of the columns.
        columns: raw columns by name, shape (N,) each.
        name: of the column.

    Raises:
        DataError: it is not there, or the column that it comes after is not.
    """
    attribute, cells = domain[name], column_named(columns, name)
    if not isinstance(attribute, GapAttribute):
        return cells
    return attribute.between(cells, other_of(domain, attribute), column_named(columns, attribute.other))


def other_of(domain: Domain, attribute: GapAttribute) -> TimeAttribute:
    """The column that another one comes after; domain files without it are refused."""
    other = domain[attribute.other]
    assert isinstance(other, TimeAttribute), "the domain was checked"
    return other


def with_times(domain: Domain, values: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Decoded values with times in place of gaps.

    Args:
        domain: of the columns.
        values: as attributes decode them, shape (N,) each.

    Raises:
        DataError: a column is there without the one that it comes after.
    """
    check_together(domain, values, "the table")
    found = dict(values)
    waiting = {name: one for name, one in gaps_of(domain).items() if name in values}
    while waiting:
        ready = {name: one for name, one in waiting.items() if one.other not in waiting}
        for name, one in ready.items():
            found[name] = one.after(found[name], found[one.other])
            del waiting[name]
    return found
