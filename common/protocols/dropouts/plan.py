"""What a release agrees on whose parties may drop out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ...errors import DataError
from ..masked.plan import MaskedPlan

MAY_DROP_OUT = "may_drop_out"
"""Name of the option."""


@dataclass(frozen=True)
class DropoutPlan(MaskedPlan):
    """Plan of a release that ends although some parties drop out for good, which all its parties sign.

    Every slice has one party. The noise of each suffices when others have dropped out, of those that remain
    some collude.

    Attributes:
        may_drop_out: number of parties that may drop out, at least 1.
    """

    may_drop_out: int = field(kw_only=True)

    def __post_init__(self) -> None:
        if self.may_drop_out < 1:
            raise DataError(f"{MAY_DROP_OUT}: expected at least 1, got {self.may_drop_out}; leave it out")
        needed = 2 * self.may_drop_out + self.tolerated + 1
        if len(self.roster) < needed:
            raise DataError(
                f"{MAY_DROP_OUT}: expected at least {needed} parties (twice as many as may drop out, those "
                f"that may collude, and one), got {len(self.roster)}; let fewer drop out or collude"
            )
        if len({entry.slice for entry in self.roster}) < len(self.roster):
            raise DataError(
                f"{MAY_DROP_OUT}: expected one party in each slice, since the columns of a party that drops "
                "out cannot be replaced, got a slice of several; leave it out"
            )
        super().__post_init__()
        if (self.alignment, self.chosen, self.related) != (None, None, None):
            raise DataError(
                f"{MAY_DROP_OUT}: expected a release of one table, without alignment and chosen codes, got "
                "another; leave it out, or state all codes in the domain"
            )
        if self.evaluators or self.dealers or self.check:
            raise DataError(
                f"{MAY_DROP_OUT}: expected no evaluators, dealers and check of openings; leave check out"
            )

    @property
    def options(self) -> Mapping[str, Any]:
        """See `Partition.options`."""
        return {**super().options, MAY_DROP_OUT: self.may_drop_out}

    @property
    def fewest_parties(self) -> int:
        """See `MaskedPlan.fewest_parties`; also the number of parties that together restore a key."""
        return len(self.roster) - self.may_drop_out
