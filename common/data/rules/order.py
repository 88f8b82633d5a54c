"""Inequalities, sums and products of numbers and dates."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...errors import DataError
from ...later import np
from ..attributes.dates import GapAttribute
from .plain import extent, nearest_unit, numbers, on_lattice, round_to_unit, unit_of
from .rule import Codes, Mask, Rule, check_columns

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..domain import Clique, Domain

SUM_ROUNDING = 1e-9
"""Largest difference of a sum, relative to its parts, that is taken as rounding."""

_LAST_DECIMAL = 6
"""Numbers of more decimals are not taken as rounded."""


@dataclass(frozen=True)
class AtMost(Rule):
    """Numbers or dates that never decrease from one column to the next; missing values are left out.

    In a domain file: `{"at_most": ["start", "end"]}`. Values are drawn together, so that they obey it within
    a bin too.
    """

    names: tuple[str, ...]

    @property
    def columns(self) -> Clique:
        """The columns, in the order of their values."""
        return self.names

    def check(self, domain: Domain) -> None:
        """See `Rule.check`."""
        check_columns(domain, self.names, 2)
        check_numbers(domain, self.names)

    def forbids(self, domain: Domain, codes: Mapping[str, Codes]) -> Mask:
        """See `Rule.forbids`."""
        reached = [extent(domain[name])[codes[name]] for name in self.names]
        found = np.zeros(np.broadcast_shapes(*(one.shape[:-1] for one in reached)), dtype=np.bool_)
        for later, upper in enumerate(reached):
            for lower in reached[:later]:
                found |= lower[..., 0] > upper[..., 1]
        return found

    def broken(self, columns: Mapping[str, NDArray[Any]]) -> Mask:
        """See `Rule.broken`."""
        found = np.stack([numbers(columns[name]) for name in self.names])
        before = np.fmax.accumulate(found, axis=0)[:-1]
        return np.asarray(np.any(before > found[1:], axis=0))

    def to_json(self) -> dict[str, Any]:
        """See `Rule.to_json`."""
        return {"at_most": list(self.names)}

    @property
    def parts(self) -> tuple[Rule, ...]:
        """A rule for each pair."""
        return tuple(AtMost(pair) for pair in itertools.combinations(self.names, 2))


@dataclass(frozen=True)
class Sum(Rule):
    """A column that is the sum of others; it is computed from them. Rows with a missing value are left out.

    In a domain file: `{"sum": "total", "of": ["part", "rest"]}`.
    """

    total: str
    addends: tuple[str, ...]

    @property
    def columns(self) -> Clique:
        """The total, then its parts."""
        return (self.total, *self.addends)

    def check(self, domain: Domain) -> None:
        """See `Rule.check`."""
        check_columns(domain, self.columns, 3)
        check_numbers(domain, self.columns)

    @staticmethod
    def of_parts(parts: NDArray[np.float64]) -> NDArray[np.float64]:
        """The totals of parts of shape (parts, N), shape (N,)."""
        found: NDArray[np.float64] = parts.sum(axis=0)
        return found

    def to_column(self, domain: Domain, totals: NDArray[np.float64]) -> NDArray[np.float64]:
        """Totals of parts as the column may hold them."""
        return round_to_unit(domain[self.total], totals)

    def forbids(self, domain: Domain, codes: Mapping[str, Codes]) -> Mask:
        """See `Rule.forbids`."""
        low, high = self._reach(domain, codes)
        total = extent(domain[self.total])[codes[self.total]]
        # Between bins of any numbers there is no room for differences of rounding.
        exact = all(on_lattice(domain[name]) for name in self.columns)
        slack = (SUM_ROUNDING if exact else 0.0) * np.maximum(np.abs(low), np.abs(high))
        slack = slack + self._unit_of_total(domain) / 2
        found: Mask = (total[..., 1] < low - slack) | (total[..., 0] > high + slack)
        return found

    def broken(self, columns: Mapping[str, NDArray[Any]]) -> Mask:
        """See `Rule.broken`; differences of rounding are no break."""
        total = numbers(columns[self.total])
        parts = np.stack([numbers(columns[name]) for name in self.addends])
        found: Mask = np.abs(total - parts.sum(axis=0)) > SUM_ROUNDING * np.abs(parts).sum(axis=0)
        return found

    def to_json(self) -> dict[str, Any]:
        """See `Rule.to_json`."""
        return {"sum": self.total, "of": list(self.addends)}

    def dependent(self, domain: Domain, codes: Mapping[str, Codes]) -> dict[str, Codes]:
        """The total's code, moved to the nearest that the parts can add up to."""
        low, high = self._reach(domain, codes)
        reached = extent(domain[self.total])
        numbered = np.flatnonzero(~np.isnan(reached[:, 0]))
        first = np.minimum(np.searchsorted(reached[numbered, 1], low), len(numbered) - 1)
        last = np.maximum(np.searchsorted(reached[numbered, 0], high, side="right") - 1, 0)
        now = codes[self.total]
        nearest = numbered[np.clip(np.searchsorted(numbered, now), first, np.maximum(first, last))]
        missing = np.isnan(low) | np.isnan(reached[now, 0])
        return {self.total: np.where(missing, now, nearest)}

    def _unit_of_total(self, domain: Domain) -> float:
        """To what totals are rounded; 0 if they are not."""
        return 0.0

    def _reach(
        self, domain: Domain, codes: Mapping[str, Codes]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The least and the largest total of the parts; NaN if one is missing."""
        shape = np.broadcast_shapes(*(codes[name].shape for name in self.addends))
        low, high = np.zeros(shape), np.zeros(shape)
        for name in self.addends:
            reached = extent(domain[name])[codes[name]]
            low, high = low + reached[..., 0], high + reached[..., 1]
        return low, high


@dataclass(frozen=True)
class Product(Sum):
    """A column that is the product of others, rounded as the column is; otherwise as `Sum`.

    In a domain file: `{"product": "amount", "of": ["quantity", "price"]}`.
    """

    @staticmethod
    def of_parts(parts: NDArray[np.float64]) -> NDArray[np.float64]:
        """The products of parts of shape (parts, N), shape (N,)."""
        found: NDArray[np.float64] = parts.prod(axis=0)
        return found

    def to_column(self, domain: Domain, totals: NDArray[np.float64]) -> NDArray[np.float64]:
        """Products to the nearest multiple of the column's unit."""
        return nearest_unit(domain[self.total], totals)

    def broken(self, columns: Mapping[str, NDArray[Any]]) -> Mask:
        """See `Rule.broken`; products are rounded to as many decimals as any of the column has."""
        total = numbers(columns[self.total])
        found = self.of_parts(np.stack([numbers(columns[name]) for name in self.addends]))
        unit = _unit_shown(total[~np.isnan(total)])
        result: Mask = np.abs(total - found) > (0.5 + 1e-6) * unit + SUM_ROUNDING * np.abs(found)
        return result

    def to_json(self) -> dict[str, Any]:
        """See `Rule.to_json`."""
        return {"product": self.total, "of": list(self.addends)}

    def _unit_of_total(self, domain: Domain) -> float:
        return unit_of(domain[self.total])

    def _reach(
        self, domain: Domain, codes: Mapping[str, Codes]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        shape = np.broadcast_shapes(*(codes[name].shape for name in self.addends))
        low, high = np.ones(shape), np.ones(shape)
        for name in self.addends:
            reached = extent(domain[name])[codes[name]]
            ends = np.stack([one * reached[..., side] for one in (low, high) for side in (0, 1)])
            low, high = ends.min(axis=0), ends.max(axis=0)
        return low, high


def _unit_shown(found: NDArray[np.float64]) -> float:
    """The unit of the last decimal that any of some numbers has; 0 if they have many."""
    for decimals in range(_LAST_DECIMAL + 1):
        if np.allclose(found, np.round(found, decimals), rtol=1e-12, atol=1e-9):
            return float(10.0**-decimals)
    return 0.0


def totals_in_order(rules: Iterable[Rule]) -> list[Sum]:
    """The rules of totals, those of parts before those of what they are parts of.

    Raises:
        DataError: a column is the total of two rules, or a part of itself.
    """
    left, found = {rule: rule.total for rule in rules if isinstance(rule, Sum)}, list[Sum]()
    named = [*left.values()]
    if twice := [name for name in named if named.count(name) > 1]:
        raise DataError(
            f"rules: expected one rule of the total {twice[0]!r}, got several, which rows could hardly obey "
            "together; leave all but one out"
        )
    while left:
        ready = [rule for rule in left if not {*left.values()}.intersection(rule.addends)]
        if not ready:
            raise DataError(
                f"rules: expected totals of other columns, got {next(iter(left.values()))!r} as a part of "
                "itself; leave a rule out"
            )
        found += ready
        left = {rule: total for rule, total in left.items() if rule not in ready}
    return found


def check_numbers(domain: Domain, names: tuple[str, ...]) -> None:
    """Raises DataError if a column has no numbers to compare or add."""
    for name in names:
        if isinstance(domain[name], GapAttribute):
            raise DataError(
                f"rules: {name!r} is counted from another column, and is not compared or added; leave it out"
            )
        if np.isnan(extent(domain[name])).all():
            raise DataError(f"rules: {name!r} has no numbers or dates; declare it as numeric or as a date")
