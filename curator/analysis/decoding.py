"""Values for the codes of rows that are drawn from a release, under a condition.

The values of a code that has only one are looked up later (`results.row_forms`); those of bins are drawn, as
a release draws them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...common.data.attributes.dates import DateAttribute, GapAttribute, bins_of
from ...common.data.attributes.numeric import NumericAttribute
from ...common.data.domain import Domain
from ...common.data.gaps import with_times
from ...common.data.rules.order import AtMost
from ...common.data.rules.plain import numbers as as_numbers
from ...common.data.rules.rule import components
from ...common.data.rules.values import after_times, drawn_together, out_of_order, related_by_values
from ...common.data.table import Table
from ..results.columns.formulas import with_followers
from ..results.row_forms import RowForms
from .conditions import Condition

Counts = Mapping[str, NDArray[np.int64]]
Mask = NDArray[np.bool_]
Column = NDArray[Any]

_ORDERLY_SHARE = 0.25
"""Rows are as frequent as they should be if at least this share of their values keeps the order."""

_DRAWS, _MOST_DRAWN = (8, 64), 2**21
"""Draws of values by which that share is estimated: fewest and most, and most in all rows of a block."""


@dataclass(frozen=True, eq=False)
class Decoder:
    """Values for the codes of a release.

    Attributes:
        condition: what rows are drawn under; numbers are drawn from the ranges that it allows.
        counts: records of each code, for every attribute, by which numbers are spread within bins.
    """

    condition: Condition
    counts: Counts

    @property
    def domain(self) -> Domain:
        """Domain of the tables."""
        return self.condition.domain

    @cached_property
    def forms(self) -> RowForms:
        """The forms in which rows leave."""
        return RowForms(self.domain, self.domain.columns)

    @cached_property
    def orders_within_bins(self) -> tuple[AtMost, ...]:
        """Inequalities between values that the condition takes from a part of their bins.

        No sum is about the same columns.
        """
        found: list[AtMost] = []
        for together in components(related_by_values(self.domain)):
            names = {name for rule in together for name in rule.columns}.intersection(self.condition.allowed)
            orders = [rule for rule in together if isinstance(rule, AtMost)]
            if len(orders) == len(together) and any(map(self._cuts, names)):
                found += orders
        return tuple(found)

    @cached_property
    def from_ranges(self) -> frozenset[str]:
        """Attributes of the condition whose numbers are drawn from its ranges."""
        names = {name for rule in self.orders_within_bins for name in rule.columns}
        allowed = (name for name in self.condition.allowed if bins_of(self.domain[name]) is not None)
        return frozenset(name for name in allowed if name in names or name not in self.forms.together)

    @property
    def least_share(self) -> float:
        """A share of the rows that `draw_values` keeps, to begin with."""
        return _ORDERLY_SHARE if self.orders_within_bins else 1.0

    def _cuts(self, name: str) -> bool:
        """Whether the condition takes a part of a bin."""
        weights = self.condition.weights(name, self.counts[name])
        return bool(np.any((weights > 0) & (weights < 1)))

    def draw_values(self, table: Table, rng: np.random.Generator) -> tuple[Table, dict[str, Column]]:
        """The rows that meet the condition, and values of the columns that are not `single`.

        Args:
            table: codes of rows whose codes the condition allows.
            rng: draws values from the bins of each row.
        """
        codes = dict(zip(table.domain.names, table.columns, strict=True))
        names = [name for name in self.domain if name not in self.forms.single]
        values = {name: self._values(name, codes[name], rng) for name in names}
        if self.orders_within_bins:
            # Rows shall be as frequent as values of their codes that keep the order fall into the ranges:
            # the share of values in the ranges that keep the order, over that of all values.
            kept = ~out_of_order(self.domain, self.orders_within_bins, values)
            kept &= rng.random(table.record_count) < _ORDERLY_SHARE / self._orderly(codes, rng)
            table, values = _select_rows(table, values, kept)
            codes = dict(zip(table.domain.names, table.columns, strict=True))

        def draw(name: str, rows: NDArray[np.int64]) -> Column:
            return self._values(name, codes[name][rows], rng)

        if self.forms.together:
            values = drawn_together(self.domain, codes, values, draw, self.counts, rng)
        held = [
            self.condition.holds(name, self._numbers(name, values[name]))
            for name in self.condition.allowed
            if name in self.forms.together and bins_of(self.domain[name]) is not None
        ]
        if held:
            table, values = _select_rows(table, values, np.logical_and.reduce(held))
        if self.forms.following:
            values = after_times(self.domain, with_times(self.domain, values))
        if self.domain.followers:
            alone = {name: self._values(name, table.column(name), rng) for name in self.forms.single}
            values = with_followers(self.domain, {**alone, **values}, table.record_count)
        return table, values

    def _orderly(self, codes: Mapping[str, Column], rng: np.random.Generator) -> NDArray[np.float64]:
        """The share of values of each row's codes that keep the order, whatever the condition; shape (N,)."""
        names = sorted({name for rule in self.orders_within_bins for name in rule.columns})
        rows = len(codes[names[0]])
        draws = int(np.clip(_MOST_DRAWN // max(rows, 1), *_DRAWS))
        found = np.ones(rows)
        for _ in range(draws):
            values = {name: self.domain[name].decode(codes[name], rng, self.counts[name]) for name in names}
            found += ~out_of_order(self.domain, self.orders_within_bins, values)
        return found / (draws + 1)

    def _values(self, name: str, codes: NDArray[Any], rng: np.random.Generator) -> Column:
        attribute, counts = self.domain[name], self.counts[name]
        bins = bins_of(attribute)
        if bins is None or name not in self.from_ranges:
            return attribute.decode(codes, rng, counts)
        missing = codes >= bins.spread.size
        cells = np.where(missing, 0, codes).astype(np.int64)
        numbers = self._in_ranges(name, bins, cells, rng)
        assert isinstance(attribute, (NumericAttribute, DateAttribute, GapAttribute))
        return attribute.of_codes(codes, numbers)

    def _in_ranges(
        self, name: str, bins: NumericAttribute, cells: NDArray[np.int64], rng: np.random.Generator
    ) -> NDArray[np.float64]:
        """Numbers of cells inside the ranges that the condition allows."""
        ranges = np.array(self.condition.allowed[name].ranges)
        if not len(ranges):  # All values are missing.
            return np.zeros(len(cells))
        shares = np.array(self.condition.ranks(name, self.counts[name]))
        ends = np.cumsum(shares[:, 1] - shares[:, 0], axis=0)
        reached = rng.random(len(cells)) * ends[-1][cells]
        place = np.minimum((reached >= ends[:, cells]).sum(axis=0), len(ranges) - 1)
        before = np.where(place > 0, ends[np.maximum(place - 1, 0), cells], 0.0)
        ranks = shares[place, 0, cells] + reached - before
        counts = self.counts[name][: bins.spread.size]
        numbers = bins.spread.shorten(bins.spread.at(cells, counts, ranks), cells, counts, rng)
        # A number next to an end can be rounded beyond it.
        low, high = ranges[place].T
        found: NDArray[np.float64] = np.clip(numbers, low, high)
        return found

    def _numbers(self, name: str, values: Column) -> NDArray[np.float64]:
        attribute = self.domain[name]
        if isinstance(attribute, DateAttribute):
            found = np.full(len(values), np.nan)
            known = ~np.isnat(values)
            found[known] = attribute.moments.unit_numbers(values[known])
            return found
        return as_numbers(values.astype(np.float64))


def _select_rows(table: Table, values: Mapping[str, Column], kept: Mask) -> tuple[Table, dict[str, Column]]:
    """Some of the rows."""
    return table.take(np.flatnonzero(kept)), {name: column[kept] for name, column in values.items()}
