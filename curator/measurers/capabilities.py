"""Capabilities that some mechanisms need beyond measuring; only the simulator's measurers have them.

In a release between parties no record leaves its party. Mechanisms that work on records, and variants that
follow a paper's text, request their capability here and are refused before anything is charged.
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
    """A measurer that holds the table and gives its records to mechanisms that add their own noise.

    Attributes:
        adjacency: which tables are neighbours.
        budget: budget behind the grant; some steps are charged by it, at one Rényi order.
    """

    adjacency: Adjacency
    budget: Budget

    @abstractmethod
    def records(self, *charges: Charge) -> Table:
        """Charges and returns the table, to be used only for the charged steps.

        Raises:
            BudgetError: the charges exceed what is left; nothing is charged or returned.
        """


class ShowsRecords(HoldsRecords):
    """A measurer that also returns records without a charge, which makes the result not private."""

    @abstractmethod
    def records_unpaid(self, why: str) -> Table:
        """Returns the table for an uncharged step of a paper, and labels the release as not private.

        Args:
            why: reason, appended to "NOT DIFFERENTIALLY PRIVATE as stated: ".
        """


class ShowsMarginals(Measurer):
    """A measurer that returns exact marginals, which makes the result not private."""

    @abstractmethod
    def exact(self, clique: Clique) -> NDArray[np.int64]:
        """Returns the exact marginal, and labels the result as made from exact marginals."""


def holding_records(measurer: Measurer, mechanism: str) -> HoldsRecords:
    """The measurer, if it can return records.

    Raises:
        DataError: the protocol leaves records with the parties; names the protocol to use.
        BudgetError: the privacy analysis of the mechanism's sampling does not cover the adjacency.
    """
    if not isinstance(measurer, HoldsRecords):
        raise DataError(
            f"mechanism {mechanism}: expected the records in one place, got a protocol that leaves "
            "them with the parties; use 'trusted' with `dpmosaic simulate`, or choose another mechanism"
        )
    if measurer.adjacency is not Adjacency.ZERO_OUT:
        raise BudgetError(
            f"mechanism {mechanism}: expected the adjacency 'zero-out', for which its sampling is accounted, "
            f"got {measurer.adjacency.value!r}; choose 'zero-out' or another mechanism"
        )
    return measurer


def showing_records(measurer: Measurer) -> ShowsRecords:
    """The measurer, if it returns records without a charge, as a paper's variant needs.

    Raises:
        DataError: the measurer returns no records without a charge.
    """
    if not isinstance(measurer, ShowsRecords):
        raise DataError(
            "this variant reads records without a charge, which only a simulation allows; use 'trusted' with "
            "`dpmosaic simulate`, whose result is no release, or the variant 'default'"
        )
    return measurer


def showing_marginals(measurer: Measurer) -> ShowsMarginals:
    """The measurer, if it returns exact marginals, as a paper's variant needs; only simulations do.

    Raises:
        DataError: the measurer returns no exact marginals.
    """
    if not isinstance(measurer, ShowsMarginals):
        raise DataError(
            "this variant reads exact marginals, which only a simulation has; use the protocol 'theorem', "
            "whose result is no release, or the variant 'default'"
        )
    return measurer
