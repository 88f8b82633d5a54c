"""Rank correlations of the ordered columns of a table."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...common.data.attributes.attribute import Attribute
from ...common.data.attributes.boolean import BooleanAttribute
from ...common.data.attributes.categorical import CategoricalAttribute
from ...common.data.attributes.dates import bins_of
from ...common.data.table import Table


def ordered_columns(table: Table) -> list[str]:
    """The columns whose codes have an order: numbers, dates, booleans and ordered categories."""
    return [name for name in table.domain if _count_ordered(table.domain[name]) > 1]


def rank_correlations(table: Table, names: list[str]) -> NDArray[np.float64]:
    """Spearman's correlation of each pair of columns, of bins; rows with a missing value count in no pair.

    Args:
        table: the table.
        names: of `ordered_columns`.

    Returns:
        Shape (columns, columns); 0 where a column has one value only.
    """
    ranks = np.zeros((len(names), table.record_count))
    known = np.zeros_like(ranks)
    for place, name in enumerate(names):
        codes, size = table.column(name), _count_ordered(table.domain[name])
        present = codes < size
        counts = np.bincount(codes[present], minlength=size)[:size]
        middles = np.cumsum(counts) - counts / 2
        known[place] = present
        own = np.append(middles, 0.0)[np.minimum(codes, size)]
        ranks[place] = np.where(present, own - own[present].mean() if present.any() else 0.0, 0.0)
    products = ranks @ ranks.T
    # The deviations of a pair are those of the rows that have both values.
    squares = (ranks**2) @ known.T
    scale = np.sqrt(squares * squares.T)
    found: NDArray[np.float64] = np.divide(products, scale, out=np.zeros_like(products), where=scale > 0)
    return found


def _count_ordered(attribute: Attribute) -> int:
    """How many codes of an attribute are in an order; all but that of a missing value, which is the last."""
    bins = bins_of(attribute)
    if bins is not None:
        return len(bins.cells)
    if isinstance(attribute, BooleanAttribute):
        return 2
    ordered = isinstance(attribute, CategoricalAttribute) and attribute.ordered
    return attribute.size if ordered and "" not in attribute.categories else 0  # type: ignore[attr-defined]
