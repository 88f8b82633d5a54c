"""Costs that carry their unit, and what they come to together."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from ..errors import BudgetError
from .cost import ROWS_PER_PERSON, Adjacency, PrivacyUnit


@dataclass(frozen=True)
class Cost:
    """What an access to the data, or a release, costs the people of one unit.

    Attributes:
        unit: what differs between neighbouring tables.
        zcdp_rho: cost of the noise, zCDP.
        delta: probability with which a text that one person alone has is stated. It is that of an event, and
            adds up whatever the unit is.
    """

    unit: PrivacyUnit
    zcdp_rho: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        if self.zcdp_rho < 0 or self.delta < 0:
            raise ValueError("a cost cannot be negative")

    def __add__(self, other: Cost) -> Cost:
        """Both costs together.

        Raises:
            BudgetError: they are for different units, and a sum would be a cost for neither.
        """
        if self.unit != other.unit:
            raise BudgetError(
                f"expected costs for one unit, got {self.unit.phrase} and {other.unit.phrase}; plan both "
                f"releases with the same adjacency and {ROWS_PER_PERSON}"
            )
        return Cost(self.unit, self.zcdp_rho + other.zcdp_rho, self.delta + other.delta)

    def within(self, limit: Cost) -> bool:
        """Whether neither rho nor delta exceeds the limit's; a `BudgetError` if it is for another unit."""
        left = limit + Cost(self.unit)
        return self.zcdp_rho <= left.zcdp_rho and self.delta <= left.delta

    def bounded_in(self, unit: PrivacyUnit) -> Cost:
        """An upper bound of the same cost for another unit."""
        return Cost(unit, self.zcdp_rho * self.unit.factor_in(unit), self.delta)


def together(costs: Iterable[Cost], rows: int = 1) -> Cost:
    """What costs of any units come to for a person, in the strictest of their adjacencies.

    Args:
        costs: costs of releases of the same records.
        rows: number of rows of the person, or `ALL_ROWS`.
    """
    each = tuple(costs)
    replaced = any(one.unit.adjacency is Adjacency.REPLACE_ONE for one in each)
    unit = PrivacyUnit(Adjacency.REPLACE_ONE if replaced else Adjacency.ZERO_OUT, rows)
    return sum((one.bounded_in(unit) for one in each), Cost(unit))
