"""Columns of which no row of a parent has less than the one before, or no two rows the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ...errors import DataError
from ...forms.nearest import hint
from ..attributes.attribute import Attribute
from ..attributes.categorical import CategoricalAttribute
from ..attributes.numeric import NumericAttribute
from ..domain import Domain


def check_rising(
    where: str, column: str, order: str | None, own: Sequence[str], domain: Domain | None
) -> None:
    """Refuses a column that cannot rise from row to row.

    Args:
        where: what states it, for errors.
        column: the column.
        order: column by which rows of a parent are in order; empty for that of the source, None for none.
        own: columns of the table but keys.
        domain: of these; None if it is not known yet.

    Raises:
        DataError: it is no column, rows have no order or are in order by it, or it holds something else.
    """
    attribute = _attribute(where, column, own, domain)
    if order is None or column == order or (domain is not None and not can_rise(attribute)):
        raise DataError(
            f"{where}: expected a column of numbers, or of categories that a domain lists, of rows that are "
            f"in order by another one, got {column!r}; describe it in a domain, and name the order"
        )


def check_same(where: str, column: str, order: str | None, own: Sequence[str], domain: Domain | None) -> None:
    """Refuses a column that cannot be the same in all rows; arguments as of `check_rising`.

    Raises:
        DataError: it is no column, or that of the order, or holds something else than numbers or categories.
    """
    attribute = _attribute(where, column, own, domain)
    if column == order or (domain is not None and not can_rise(attribute)):
        raise DataError(
            f"{where}: expected a column of numbers, or of categories that a domain lists, other than the "
            f"order, got {column!r}; leave it out"
        )


def check_once(where: str, column: str, order: str | None, own: Sequence[str], domain: Domain | None) -> None:
    """Refuses a column that cannot have each value once; arguments as of `check_rising`.

    Raises:
        DataError: it is no column, or one of numbers or dates that is not the order.
    """
    attribute = _attribute(where, column, own, domain)
    if column != order and domain is not None and not can_be_once(attribute):
        raise DataError(
            f"{where}: expected a column of categories that a domain lists, or that of the order, got "
            f"{column!r}; leave it out, or list its categories"
        )


CHECKS: Mapping[str, Callable[[str, str, str | None, Sequence[str], Domain | None], None]] = {
    "same": check_same,
    "rising": check_rising,
    "once": check_once,
}
"""What refuses a column of each kind of course."""


def can_rise(attribute: Attribute | None) -> bool:
    """Whether codes of a column have an order: numbers, or categories whose order somebody states."""
    numbers = isinstance(attribute, NumericAttribute) and not attribute.texts
    return numbers or isinstance(attribute, CategoricalAttribute)


def can_be_once(attribute: Attribute | None) -> bool:
    """Whether each code of a column is one value."""
    return isinstance(attribute, CategoricalAttribute)


def _attribute(where: str, column: str, own: Sequence[str], domain: Domain | None) -> Attribute | None:
    if column not in own:
        raise DataError(
            f"{where}: expected a column of the table but keys, got {column!r}{hint(column, own)}; fix it"
        )
    return domain[column] if domain is not None and column in domain.names else None
