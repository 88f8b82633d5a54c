"""Codes that a release chose: bins of numbers and categories, coarser than those of the domain file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError
from .attribute import Attribute
from .categorical import CategoricalAttribute
from .domain import Domain
from .table import Table, code_dtype


@dataclass(frozen=True)
class Coding:
    """The chosen codes of the open attributes of a domain (`Domain.open`); public.

    Attributes:
        runs: of numbers and dates, by name: the first code of each run of codes that are merged, increasing
            from 0.
        labels: for open categories, by name: the chosen categories, beside those of the domain.
    """

    runs: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def domain(self, domain: Domain) -> Domain:
        """The domain with the chosen codes.

        Raises:
            DataError: the choice is for another domain.
        """
        return replace(domain, attributes=tuple(map(self._chosen, domain.attributes)))

    def table(self, table: Table) -> Table:
        """The rows of a table of the open domain with the chosen codes.

        Raises:
            DataError: the choice is for another domain, or the table lacks the texts of open categories.
        """
        domain = self.domain(table.domain)
        columns = [
            self._codes(table, chosen, column).astype(code_dtype(chosen.size))
            for chosen, column in zip(domain.attributes, table.columns, strict=True)
        ]
        return Table(domain, tuple(columns))

    def _codes(self, table: Table, chosen: Attribute, column: NDArray[Any]) -> NDArray[Any]:
        name = chosen.name
        if name in self.runs:
            merged: NDArray[np.int64] = merged_codes(table.domain[name], self.runs[name])[column]
            return merged
        if name not in self.labels:
            return column
        if name not in table.texts:
            raise DataError(
                f"attribute {name!r}: expected the texts of its open categories beside its codes, found "
                "codes alone; read the table from its source"
            )
        return table.texts[name].encoded(chosen)

    def _chosen(self, attribute: Attribute) -> Attribute:
        if attribute.name in self.runs:
            return attribute.merged(merged_codes(attribute, self.runs[attribute.name]))
        if isinstance(attribute, CategoricalAttribute) and attribute.name in self.labels:
            known = (*attribute.categories, *self.labels[attribute.name])
            return replace(attribute, categories=known, open=False)
        return attribute


def merged_codes(attribute: Attribute, firsts: tuple[int, ...]) -> NDArray[np.int64]:
    """The new code of each code of an attribute, shape (size,).

    Args:
        attribute: the open attribute.
        firsts: the first code of each run, increasing from 0.

    Raises:
        DataError: these are no runs of its codes.
    """
    if not firsts or firsts[0] or firsts[-1] >= attribute.size or any(np.diff(firsts) <= 0):
        raise DataError(
            f"attribute {attribute.name!r}: the chosen bins are for another domain; choose them again"
        )
    starts = np.zeros(attribute.size, dtype=np.int64)
    starts[list(firsts[1:])] = 1
    return np.cumsum(starts)
