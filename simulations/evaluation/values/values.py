"""A table with the numbers that stand in its file, beside its codes: not for publication."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....common.data.domain import Domain
from ....common.data.rules.breaking import broken
from ....common.data.table import Table, code_dtype
from ....common.data.values import RawColumn
from ....common.errors import DataError
from ....party.sources.source import open_source

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Values:
    """The rows of a table as codes, and its numbers as they are.

    Attributes:
        table: the rows as codes.
        numbers: name -> the numbers of each attribute that holds some, after its policy for values outside
            its bounds, shape (N,); NaN for a missing value.
        broken: for each rule of the domain, whether each row breaks it, shape (N,).
    """

    table: Table
    numbers: Mapping[str, Array]
    broken: tuple[NDArray[np.bool_], ...] = ()

    @classmethod
    def read(cls, path: str | Path, domain: Domain, *, header: bool | None = None) -> Values:
        """The columns of the domain in a CSV or Parquet file; see `open_source`.

        Raises:
            DataError: the file cannot be read, lacks a column or rows, or holds a value without a code.
        """
        return cls.of(domain, open_source(path, header=header).cells(domain))

    @classmethod
    def of(cls, domain: Domain, columns: Iterable[RawColumn]) -> Values:
        """Raw columns in domain order.

        Raises:
            DataError: a value has no code, or there is no row.
        """
        codes, numbers, ruled = [], {}, {}
        about = {name for rule in domain.rules for name in rule.columns}
        for attribute, cells in zip(domain.attributes, columns, strict=True):
            codes.append(attribute.encode(cells).astype(code_dtype(attribute.size)))
            found = attribute.within(cells)
            if found is not None:
                numbers[attribute.name] = found
            if attribute.name in about:
                ruled[attribute.name] = cells
        table = Table(domain, tuple(codes))
        if not table.record_count:
            raise DataError("a table without rows cannot be compared; give both tables records")
        return cls(table, numbers, broken(domain, ruled))

    def take(self, indices: NDArray[np.integer[Any]]) -> Values:
        """The rows at these indices, in this order."""
        numbers = {name: column[indices] for name, column in self.numbers.items()}
        return Values(self.table.take(indices), numbers, tuple(rows[indices] for rows in self.broken))

    @cached_property
    def cells(self) -> Mapping[str, NDArray[Any]]:
        """Every column: numbers as they are, and the codes of other attributes."""
        return {name: self.numbers.get(name, self.table.column(name)) for name in self.table.domain}
