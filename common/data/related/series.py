"""The column that says which rows of a parent are one series, such as the test of a measurement."""

from __future__ import annotations

from collections.abc import Sequence

from ...errors import DataError
from ...forms.nearest import hint
from ..attributes.dates import bins_of
from ..domain import Domain


def check_series(
    where: str, series: str, order: str | None, own: Sequence[str], domain: Domain | None
) -> None:
    """Refuses a column that says nothing of which rows are one series.

    Args:
        where: what states it, for errors.
        series: the column.
        order: column by which rows of a parent are in order; empty for that of the source, None for none.
        own: columns of the table but keys.
        domain: of these; None if it is not known.

    Raises:
        DataError: it is no such column, or rows have no order, or nothing is left that follows in a series.
    """
    if order is None:
        raise DataError(
            f"{where}: expected an order of the rows beside the series, got none; name it in order"
        )
    if series not in own:
        raise DataError(
            f"{where}: expected a column of the table but keys as the series, got "
            f"{series!r}{hint(series, own)}; fix it"
        )
    if series == order:
        raise DataError(
            f"{where}: expected a series by another column than the order, got {series!r}; such as the test "
            "of a measurement"
        )
    if not {*own} - {series, order}:
        raise DataError(f"{where}: expected a column beside order and series, got none; leave the series out")
    if domain is not None and series in domain.names and bins_of(domain[series]) is not None:
        raise DataError(
            f"{where}: expected a series by a column of categories, got numbers or dates in {series!r}; list "
            "its values as categories in the domain"
        )
