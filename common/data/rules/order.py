"""Inequalities and sums of numbers and dates."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...errors import DataError
from ...later import np
from ..attributes.dates import GapAttribute
from .plain import extent, numbers, on_lattice
from .rule import Codes, Mask, Rule, check_columns

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..domain import Clique, Domain

SUM_ROUNDING = 1e-9
"""Largest difference of a sum, relative to its parts, that is taken as rounding."""


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

    def forbids(self, domain: Domain, codes: Mapping[str, Codes]) -> Mask:
        """See `Rule.forbids`."""
        low, high = self._reach_of_sums(domain, codes)
        total = extent(domain[self.total])[codes[self.total]]
        # Between bins of any numbers there is no room for differences of rounding.
        exact = all(on_lattice(domain[name]) for name in self.columns)
        slack = (SUM_ROUNDING if exact else 0.0) * np.maximum(np.abs(low), np.abs(high))
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
        low, high = self._reach_of_sums(domain, codes)
        reached = extent(domain[self.total])
        numbered = np.flatnonzero(~np.isnan(reached[:, 0]))
        first = np.minimum(np.searchsorted(reached[numbered, 1], low), len(numbered) - 1)
        last = np.maximum(np.searchsorted(reached[numbered, 0], high, side="right") - 1, 0)
        now = codes[self.total]
        nearest = numbered[np.clip(np.searchsorted(numbered, now), first, np.maximum(first, last))]
        missing = np.isnan(low) | np.isnan(reached[now, 0])
        return {self.total: np.where(missing, now, nearest)}

    def _reach_of_sums(
        self, domain: Domain, codes: Mapping[str, Codes]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The least and the largest sum of the parts; NaN if one is missing."""
        shape = np.broadcast_shapes(*(codes[name].shape for name in self.addends))
        low, high = np.zeros(shape), np.zeros(shape)
        for name in self.addends:
            reached = extent(domain[name])[codes[name]]
            low, high = low + reached[..., 0], high + reached[..., 1]
        return low, high


def check_numbers(domain: Domain, names: tuple[str, ...]) -> None:
    """Raises DataError if a column has no numbers to compare or add."""
    for name in names:
        if isinstance(domain[name], GapAttribute):
            raise DataError(
                f"rules: {name!r} is counted from another column, and is not compared or added; leave it out"
            )
        if np.isnan(extent(domain[name])).all():
            raise DataError(f"rules: {name!r} has no numbers or dates; declare it as numeric or as a date")
