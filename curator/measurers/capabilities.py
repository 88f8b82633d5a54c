"""What some mechanisms need of a measurer beyond measuring; only the simulator's measurers have it.

A release between parties leaves records where they are. Mechanisms that work on records, and variants that
follow a paper's text, ask here for what they need and are refused before anything is charged.
"""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
from numpy.typing import NDArray

from ...common.data.domain import Clique
from ...common.data.table import Table
from ...common.errors import BudgetError, DataError
from ...common.privacy.budget import Budget, Charge
from ...common.privacy.cost import Adjacency
from .measurer import Measurer


class HoldsRecords(Measurer):
    """A measurer in the place that holds the table: a mechanism that adds its own noise gets the records.

    Attributes:
        adjacency: which tables are neighbours.
        budget: that the grant comes from; some steps are charged by it, at one Rényi order.
    """

    adjacency: Adjacency
    budget: Budget

    @abstractmethod
    def records(self, *charges: Charge) -> Table:
        """The table, for steps that cost what is charged here and for nothing else.

        Raises:
            BudgetError: they cost more than is left; nothing is charged and nothing handed out.
        """


class ShowsRecords(HoldsRecords):
    """A measurer that hands out records without a charge too, which makes the result not private."""

    @abstractmethod
    def records_unpaid(self, why: str) -> Table:
        """The table, for a paper's step that is not charged: the release is labelled as not private.

        Args:
            why: the reason, as it follows "NOT DIFFERENTIALLY PRIVATE as stated: ".
        """


class ShowsMarginals(Measurer):
    """A measurer that shows exact marginals, which makes the result not private."""

    @abstractmethod
    def exact(self, clique: Clique) -> NDArray[np.int64]:
        """The exact marginal; from then on the result is labelled as made from some."""


def holding_records(measurer: Measurer, mechanism: str) -> HoldsRecords:
    """The measurer of a mechanism that needs records.

    Raises:
        DataError: the protocol leaves records with the parties; names the one that does not.
        BudgetError: the adjacency is not the one that the mechanism's sampling is analysed for.
    """
    if not isinstance(measurer, HoldsRecords):
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


def showing_records(measurer: Measurer) -> ShowsRecords:
    """The measurer of a paper's variant that reads records without a charge.

    Raises:
        DataError: the measurer hands out no records without a charge.
    """
    if not isinstance(measurer, ShowsRecords):
        raise DataError(
            "this variant reads records without a charge, which only a simulation allows; use 'trusted' with "
            "`dpmosaic simulate`, whose result is no release, or the variant 'default'"
        )
    return measurer


def showing_marginals(measurer: Measurer) -> ShowsMarginals:
    """The measurer of a paper's variant that reads exact marginals; no protocol between parties gives them.

    Raises:
        DataError: the measurer shows no exact marginals.
    """
    if not isinstance(measurer, ShowsMarginals):
        raise DataError(
            "this variant reads exact marginals, which only a simulation has; use the protocol 'theorem', "
            "whose result is no release, or the variant 'default'"
        )
    return measurer
