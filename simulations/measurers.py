"""A measurer in the one place that holds the table; only a simulation has such a place.

It hands out the records, once a step that works on them is charged, and without a charge for the text of
papers that charge nothing.
"""

from __future__ import annotations

from fractions import Fraction

from ..common.data.table import Table
from ..common.messages import ReleaseTerms
from ..common.privacy.budget import Budget, Charge
from ..curator.measurers.capabilities import ShowsRecords
from ..curator.measurers.federation import FederationMeasurer
from ..curator.parties.federation import Federation


class CentralMeasurer(FederationMeasurer, ShowsRecords):
    """Measures as `trusted` does, and lets a mechanism that adds its own noise see the records.

    Args:
        federation: the one party.
        terms: of the release.
        granted: upper limit of all costs, zCDP.
        table: the party's.
        budget: that the grant comes from; some steps are charged by it, at one Rényi order.
    """

    def __init__(
        self, federation: Federation, terms: ReleaseTerms, granted: Fraction, table: Table, budget: Budget
    ) -> None:
        super().__init__(federation, terms, granted)
        self.adjacency = terms.adjacency
        self.budget = budget
        self._records = table

    def records(self, *charges: Charge) -> Table:
        """The table, once these charges are made; see `HoldsRecords`."""
        if not charges:
            raise ValueError("records are handed out for a charge, or unpaid with a reason")
        self.charge(*charges)
        return self._records

    def records_unpaid(self, why: str) -> Table:
        """The table, and the label that the release is not private; see `ShowsRecords`."""
        self.not_private = why
        return self._records
