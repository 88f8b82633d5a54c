"""Inequalities, sums and products of numbers and dates."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...errors import DataError
from ...later import np
from ..attributes.dates import GapAttribute
from ..attributes.numeric import is_number
from .plain import (
    extent,
    nearest_codes,
    nearest_unit,
    numbers,
    on_lattice,
    plain,
    round_to_unit,
    unit_of,
    with_numbers,
)
from .rule import Codes, Computing, Mask, Rule, check_columns

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

    def broken(self, columns: Mapping[str, NDArray[Any]], domain: Domain) -> Mask:
        """See `Rule.broken`."""
        found = np.stack([numbers(columns[name]) for name in self.names])
        before = np.fmax.accumulate(found, axis=0)[:-1]
        return np.asarray(np.any(before > found[1:], axis=0))

    def to_json(self) -> dict[str, Any]:
        """See `Rule.to_json`."""
        return {"at_most": list(self.names)}

    @property
    def of_values(self) -> bool:
        """See `Rule.of_values`."""
        return True

    @property
    def parts(self) -> tuple[Rule, ...]:
        """A rule for each pair."""
        return tuple(AtMost(pair) for pair in itertools.combinations(self.names, 2))


@dataclass(frozen=True)
class Sum(Computing):
    """A column that is the sum of others; it is computed from them. Rows with a missing value are left out.

    In a domain file: `{"sum": "total", "of": ["part", "rest"]}`; a part may be a number too, as 1900 in
    `{"sum": "year", "of": ["year_short", 1900]}`.
    """

    total: str
    addends: tuple[str | float, ...]

    @property
    def columns(self) -> Clique:
        """The total, then its parts that are columns."""
        return (self.total, *(part for part in self.addends if isinstance(part, str)))

    @property
    def result(self) -> str:
        """The total."""
        return self.total

    def check(self, domain: Domain) -> None:
        """See `Rule.check`."""
        check_columns(domain, self.columns, 2)
        if len(self.addends) < 2 or not all(map(self._is_part, self.addends)):
            raise DataError(
                f"rules: expected two or more parts of {self.total!r}, columns or finite numbers, none of "
                "them 0 in a product; fix the rule"
            )
        check_numbers(domain, self.columns)

    def parts_in(self, columns: Mapping[str, NDArray[Any]]) -> NDArray[np.float64]:
        """The parts of plain values, shape (parts, N)."""
        shape = columns[self.total].shape
        return np.stack(
            [
                numbers(columns[part]) if isinstance(part, str) else np.full(shape, float(part))
                for part in self.addends
            ]
        )

    def compute(self, domain: Domain, values: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
        """See `Computing`."""
        found = {name: plain(domain[name], values[name]) for name in self.columns}
        total = self.of_parts(self.parts_in(found))
        known = ~np.isnan(total) & ~np.isnan(numbers(found[self.total]))
        return with_numbers(domain[self.total], values[self.total], known, self.to_column(domain, total))

    @staticmethod
    def _is_part(part: object) -> bool:
        return isinstance(part, str) or is_number(part)

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

    def broken(self, columns: Mapping[str, NDArray[Any]], domain: Domain) -> Mask:
        """See `Rule.broken`; differences of rounding are no break."""
        total = numbers(columns[self.total])
        parts = self.parts_in(columns)
        found: Mask = np.abs(total - parts.sum(axis=0)) > SUM_ROUNDING * np.abs(parts).sum(axis=0)
        return found

    def to_json(self) -> dict[str, Any]:
        """See `Rule.to_json`."""
        return {"sum": self.total, "of": list(self.addends)}

    def dependent(self, domain: Domain, codes: Mapping[str, Codes]) -> dict[str, Codes]:
        """The total's code, moved to the nearest that the parts can add up to."""
        reach = self._reach(domain, codes)
        return {self.total: nearest_codes(domain[self.total], codes[self.total], *reach)}

    def _unit_of_total(self, domain: Domain) -> float:
        """To what totals are rounded; 0 if they are not."""
        return 0.0

    def _reach(
        self, domain: Domain, codes: Mapping[str, Codes]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The least and the largest total of the parts; NaN if one is missing."""
        shape = np.broadcast_shapes(*(codes[name].shape for name in self.sources))
        low, high = np.zeros(shape), np.zeros(shape)
        for part in self.addends:
            reached = _reach_of_part(domain, codes, part)
            low, high = low + reached[..., 0], high + reached[..., 1]
        return low, high


@dataclass(frozen=True)
class Product(Sum):
    """A column that is the product of others, rounded as the column is; otherwise as `Sum`.

    In a domain file: `{"product": "amount", "of": ["quantity", "price"]}`, or with a number
    `{"product": "hours", "of": ["days", 24]}`.
    """

    @staticmethod
    def of_parts(parts: NDArray[np.float64]) -> NDArray[np.float64]:
        """The products of parts of shape (parts, N), shape (N,)."""
        found: NDArray[np.float64] = parts.prod(axis=0)
        return found

    def to_column(self, domain: Domain, totals: NDArray[np.float64]) -> NDArray[np.float64]:
        """Products to the nearest multiple of the column's unit."""
        return nearest_unit(domain[self.total], totals)

    def broken(self, columns: Mapping[str, NDArray[Any]], domain: Domain) -> Mask:
        """See `Rule.broken`; products are rounded to as many decimals as any of the column has."""
        total = numbers(columns[self.total])
        found = self.of_parts(self.parts_in(columns))
        unit = unit_shown(total[~np.isnan(total)])
        result: Mask = np.abs(total - found) > (0.5 + 1e-6) * unit + SUM_ROUNDING * np.abs(found)
        return result

    def to_json(self) -> dict[str, Any]:
        """See `Rule.to_json`."""
        return {"product": self.total, "of": list(self.addends)}

    @staticmethod
    def _is_part(part: object) -> bool:
        return isinstance(part, str) or (is_number(part) and part != 0)

    def _unit_of_total(self, domain: Domain) -> float:
        return unit_of(domain[self.total])

    def _reach(
        self, domain: Domain, codes: Mapping[str, Codes]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        shape = np.broadcast_shapes(*(codes[name].shape for name in self.sources))
        low, high = np.ones(shape), np.ones(shape)
        for part in self.addends:
            reached = _reach_of_part(domain, codes, part)
            ends = np.stack([one * reached[..., side] for one in (low, high) for side in (0, 1)])
            low, high = ends.min(axis=0), ends.max(axis=0)
        return low, high


def _reach_of_part(domain: Domain, codes: Mapping[str, Codes], part: str | float) -> NDArray[np.float64]:
    """The least and the largest number of a part; shape (..., 2)."""
    return extent(domain[part])[codes[part]] if isinstance(part, str) else np.full(2, float(part))


def unit_shown(found: NDArray[np.float64]) -> float:
    """The unit of the last decimal that any of some numbers has; 0 if they have many."""
    for decimals in range(_LAST_DECIMAL + 1):
        if np.allclose(found, np.round(found, decimals), rtol=1e-12, atol=1e-9):
            return float(10.0**-decimals)
    return 0.0


def check_numbers(domain: Domain, names: tuple[str, ...]) -> None:
    """Raises DataError if a column has no numbers to compare or add."""
    for name in names:
        if isinstance(domain[name], GapAttribute):
            raise DataError(
                f"rules: {name!r} is counted from another column, and is not compared or added; leave it out"
            )
        if np.isnan(extent(domain[name])).all():
            raise DataError(f"rules: {name!r} has no numbers or dates; declare it as numeric or as a date")
