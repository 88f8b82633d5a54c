"""A measurer in one place that holds the table, which exists only in a simulation.

It returns records after a charge, and without a charge for variants of papers that charge nothing.
"""

from __future__ import annotations

from fractions import Fraction

from ...common.data.table import Table
from ...common.privacy.budget import Budget, Charge
from ...common.terms import ReleaseTerms
from ...curator.measurers.capabilities import ShowsRecords
from ...curator.measurers.federation import FederationMeasurer
from ...curator.parties.asking import Asking
from ...curator.parties.federation import Federation


class CentralMeasurer(FederationMeasurer, ShowsRecords):
    """Measures like `trusted`, and gives records to mechanisms that add their own noise.

    Args:
        federation: federation of one party.
        terms: terms of the release.
        granted: upper limit of all costs, zCDP.
        table: table of the party.
        budget: budget behind the grant; some steps are charged by it, at one Rényi order.
        asking: recalls answers.
    """

    def __init__(
        self,
        federation: Federation,
        terms: ReleaseTerms,
        granted: Fraction,
        table: Table,
        budget: Budget,
        asking: Asking | None = None,
    ) -> None:
        super().__init__(federation, terms, granted, asking=asking)
        self.adjacency = terms.spec.adjacency
        self.budget = budget
        self._records = table

    def records(self, *charges: Charge) -> Table:
        """Makes the charges and returns the table; see `HoldsRecords`."""
        if not charges:
            raise ValueError(
                "expected at least one charge for the records, got none; use records_unpaid with a reason"
            )
        self.charge(*charges)
        return self._records

    def records_unpaid(self, why: str) -> Table:
        """Labels the release as not private and returns the table; see `ShowsRecords`."""
        self.not_private = why
        return self._records
