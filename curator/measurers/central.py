"""A measurer in the one place that holds the table: it hands out records too, once that is charged."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from ...common.data.table import Table
from ...common.errors import BudgetError, DataError
from ...common.messages import ReleaseTerms
from ...common.privacy.budget import Budget, Charge
from ...common.privacy.cost import Adjacency
from ..parties.federation import Federation
from .federation import FederationMeasurer
from .measurer import Measurer


class CentralMeasurer(FederationMeasurer):
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
        """The table, for steps that cost what is charged here and for nothing else.

        Raises:
            BudgetError: they cost more than is left; nothing is charged and nothing handed out.
        """
        if not charges:
            raise ValueError("records are handed out for a charge, or unpaid with a reason")
        self.accountant = self.accountant.charge(*charges)
        return self._records

    def charge_again(self, charges: Sequence[Charge]) -> None:
        """Charges what a run that stopped had measured, and this one goes on from; measures nothing.

        Raises:
            BudgetError: they cost more than is left; nothing is charged.
        """
        self.accountant = self.accountant.charge(*charges)

    def records_unpaid(self, why: str) -> Table:
        """The table, for a paper's step that nobody pays for: the release is labelled as not private.

        Args:
            why: it is not, after "NOT DIFFERENTIALLY PRIVATE as stated: ".
        """
        self.not_private = why
        return self._records


def central(measurer: Measurer, mechanism: str) -> CentralMeasurer:
    """The measurer of a mechanism that needs records.

    Raises:
        DataError: the protocol leaves records where they are; names the one that does not.
        BudgetError: neighbouring tables are other ones than sampling was analysed for.
    """
    if not isinstance(measurer, CentralMeasurer):
        raise DataError(
            f"mechanism {mechanism}: expected the records in one place, got a protocol that leaves "
            "them with the parties; use 'trusted' with `dpmosaic simulate`, or choose another mechanism"
        )
    if measurer.adjacency is not Adjacency.ZERO_OUT:
        raise BudgetError(
            f"mechanism {mechanism}: expected the adjacency 'zero-out', for which its sampling is accounted, "
            f"got {measurer.adjacency.value!r}"
        )
    return measurer
