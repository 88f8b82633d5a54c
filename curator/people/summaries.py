"""What the row of a parent says of its rows: whether any of them has one of some values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...common.data.attributes.attribute import Attribute
from ...common.data.attributes.boolean import BooleanAttribute
from ...common.data.values import text_of

Codes = NDArray[np.int64]


@dataclass(frozen=True)
class AnyOf:
    """Whether a parent has a row with one of some values.

    Attributes:
        name: of the column of the parent that says so.
        column: of the rows.
        values: of that column, as texts.
    """

    name: str
    column: str
    values: tuple[str, ...]

    @property
    def attribute(self) -> BooleanAttribute:
        """The column of the parent."""
        return BooleanAttribute(self.name)

    def of(self, rows: pd.DataFrame, parent: Codes, parents: int) -> NDArray[np.bool_]:
        """What it says of each parent, shape (parents,).

        Args:
            rows: the rows.
            parent: row of the parent of each, shape (N,).
            parents: number of rows of the parent table.
        """
        texts = rows[self.column].map(lambda cell: "" if cell is None else text_of(cell).strip())
        found = np.zeros(parents, dtype=np.bool_)
        found[parent[texts.isin(self.values).to_numpy()]] = True
        return found

    def codes(self, attribute: Attribute) -> Codes:
        """The codes of the values; none of a value that the release did not find."""
        reading = attribute.read(np.array(self.values, dtype=object))
        refused = [bad for bad, _ in reading.refused.values()]
        known = ~np.logical_or.reduce(refused) if refused else np.ones(len(self.values), dtype=np.bool_)
        return np.unique(reading.codes[known])

    def to_json(self) -> dict[str, Any]:
        """The statement as JSON values."""
        return {"name": self.name, "column": self.column, "values": list(self.values)}

    @classmethod
    def from_json(cls, form: Mapping[str, Any]) -> AnyOf:
        """Reads a statement."""
        return cls(form["name"], form["column"], tuple(form["values"]))
