"""Capabilities that a mechanism needs beyond measuring are refused if a measurer lacks them."""

import numpy as np
import pytest

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table
from dpmosaic.common.errors import BudgetError, DataError
from dpmosaic.common.privacy.budget import Budget
from dpmosaic.common.privacy.cost import Adjacency
from dpmosaic.curator.measurers.capabilities import (
    HoldsRecords,
    ShowsMarginals,
    ShowsRecords,
    holding_records,
    showing_marginals,
    showing_records,
)
from support.measurers import Bare

TABLE = Table.from_codes(Domain.coded({"a": 2}), np.array([[0], [1], [1]]))


class Holding(Bare, HoldsRecords):
    adjacency, budget = Adjacency.ZERO_OUT, Budget(1.0, 1e-9)

    def records(self, *charges):
        self.charge(*charges)
        return TABLE


class Showing(Holding, ShowsRecords, ShowsMarginals):
    def records_unpaid(self, why):
        self.not_private = why
        return TABLE

    def exact(self, clique):
        return TABLE.marginal(clique)


def test_returns_a_measurer_with_the_capability():
    holding, showing = Holding(), Showing()
    assert holding_records(holding, "x") is holding
    assert showing_records(showing) is showing
    assert showing_marginals(showing) is showing


def test_refuses_records_of_parties():
    with pytest.raises(DataError, match=r"mechanism x: expected the records in one place.*use 'trusted'"):
        holding_records(Bare(), "x")


def test_refuses_records_under_an_adjacency_without_an_analysis_of_sampling():
    measurer = Holding()
    measurer.adjacency = Adjacency.REPLACE_ONE
    with pytest.raises(BudgetError, match="mechanism x: expected the adjacency 'zero-out'"):
        holding_records(measurer, "x")


@pytest.mark.parametrize("kind", [Bare, Holding])
def test_refuses_records_without_a_charge(kind):
    measurer = kind()
    with pytest.raises(DataError, match=r"reads records without a charge.*or the variant 'default'"):
        showing_records(measurer)
    assert measurer.not_private is None


@pytest.mark.parametrize("kind", [Bare, Holding])
def test_refuses_exact_marginals(kind):
    measurer = kind()
    with pytest.raises(DataError, match=r"reads exact marginals.*use the protocol 'theorem'"):
        showing_marginals(measurer)
    assert measurer.accountant.charges == ()
