"""Columns of a table that a spreadsheet would run as formulas; see `common.showing.formulas`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...common.data.attributes.attribute import Attribute
from ...common.data.attributes.boolean import BooleanAttribute
from ...common.data.attributes.categorical import CategoricalAttribute
from ...common.data.attributes.dates import TimeAttribute
from ...common.data.attributes.unmodelled import Computed, Identifier, Unmodelled
from ...common.data.domain import Domain
from ...common.showing.formulas import as_text, from_text, is_formula

if TYPE_CHECKING:
    import pandas as pd


def attributes_like_formulas(domain: Domain) -> tuple[str, ...]:
    """Columns whose name or one of whose labels begins like a formula, in domain order.

    Numbers are not formulas, nor is text that reads as a number, such as "-5".
    """
    found = columns_like_formulas((*domain.unmodelled, *domain.attributes))
    return tuple(name for name in domain.columns if name in found)


def columns_like_formulas(columns: Iterable[Attribute | Unmodelled]) -> tuple[str, ...]:
    """The names of those of which the name or a label begins like a formula."""
    return tuple(one.name for one in columns if any(map(is_formula, (one.name, *_labels(one)))))


def with_apostrophes(cells: NDArray[Any]) -> NDArray[Any]:
    """The cells of a column, as they would be written, with an apostrophe before text like a formula."""
    if cells.dtype.kind != "O":
        return cells
    safe = np.empty(len(cells), dtype=object)
    safe[:] = [as_text(cell) if isinstance(cell, str) else cell for cell in cells.tolist()]
    return safe


def without_apostrophes(rows: pd.DataFrame, columns: Iterable[Attribute | Unmodelled] = ()) -> pd.DataFrame:
    """The texts before apostrophes were written before them and before names.

    Args:
        rows: the table; cells that are no texts stay as they are.
        columns: those of a table of which nobody knows whether it has apostrophes: a label or name that is
            listed with its own keeps it, so that other rows stay as they are.
    """
    import pandas as pd

    kept = {column.name: set(_labels(column)) for column in columns}
    names = {name: name if name in kept else from_text(name) for name in rows.columns}

    def plain(name: str, cell: Any) -> Any:
        return cell if not isinstance(cell, str) or cell in kept.get(name, ()) else from_text(cell)

    return pd.DataFrame({name: rows[held].map(lambda c, n=name: plain(n, c)) for held, name in names.items()})


def _labels(column: Attribute | Unmodelled) -> tuple[str, ...]:
    match column:
        case CategoricalAttribute():
            labels: tuple[object, ...] = column.categories
        case BooleanAttribute():
            labels = (*column.false, *column.true)
        case Identifier():
            labels = (*column.draw(1),)
        case Computed():
            labels = _labels(column.attribute)
        case TimeAttribute():
            labels = (*column.texts, column.moments.format or "")
        case Attribute():
            labels = column.texts
        case _:
            labels = ()
    return tuple(label for label in labels if isinstance(label, str))
