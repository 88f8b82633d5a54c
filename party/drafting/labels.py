"""Columns of private rows as categories."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...common.data.attributes.attribute import Attribute
from ...common.data.attributes.boolean import BooleanAttribute
from ...common.data.rules.plain import plain
from ...common.data.values import text_of


@dataclass(frozen=True, eq=False)
class Labels:
    """A column of categories.

    Attributes:
        values: the different ones, as rules list them; None if missing.
        codes: for each row the place of its value, shape (N,).
    """

    values: tuple[Any, ...]
    codes: NDArray[np.int64]

    @property
    def counts(self) -> NDArray[np.int64]:
        """The number of rows of each value."""
        return np.bincount(self.codes, minlength=len(self.values))


def labels_of(cells: NDArray[Any], attribute: Attribute | None = None) -> Labels:
    """The cells of a column as categories; shape (N,).

    Args:
        cells: as texts, None where they are missing.
        attribute: of them, if rules may name them: those on yes and no say true and false.
    """
    if isinstance(attribute, BooleanAttribute):
        cells = plain(attribute, cells)
    texts = np.array([text_of(cell) for cell in cells.tolist()], dtype=object)
    values, codes = np.unique(texts, return_inverse=True)
    return Labels(tuple(value or None for value in values.tolist()), codes)
