"""A central measurer returns records after a charge, or labels the release."""

from fractions import Fraction

import numpy as np
import pytest

from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table
from dpmosaic.common.data.view import View
from dpmosaic.common.errors import BudgetError
from dpmosaic.common.privacy.budget import Budget, Charge
from dpmosaic.common.privacy.cost import Adjacency
from dpmosaic.curator.measurers.capabilities import holding_records, showing_records
from dpmosaic.curator.measurers.measurer import Query
from dpmosaic.curator.parties.federation import connect
from dpmosaic.simulations.parties.measurers import CentralMeasurer
from support.parties import policy_for, started
from support.terms import terms_of

TABLE = Table.from_codes(Domain.coded({"a": 2}), np.array([[0], [1], [1]]))


def central_measurer(adjacency=Adjacency.ZERO_OUT):
    links = started([[TABLE]], policy_for("trusted", adjacency), RandomStream.from_seed(1))
    federation = connect(TABLE.domain, links)
    terms = terms_of(protocol="trusted", adjacency=adjacency, plan=federation.partition)
    federation.accept(terms)
    return CentralMeasurer(federation, terms, Fraction(1), TABLE, Budget(1.0, 1e-9))


def test_returns_records_after_charging_them():
    measurer = central_measurer()
    charge = Charge("train", (), Fraction(1, 2))
    assert measurer.records(charge) is TABLE
    assert measurer.accountant.charges == (charge,)
    assert measurer.not_private is None


def test_refuses_records_that_cost_more_than_is_left():
    measurer = central_measurer()
    measurer.records(Charge("train", (), Fraction(1, 2)))
    with pytest.raises(BudgetError):
        measurer.records(Charge("select", (), Fraction(2, 3)))
    assert len(measurer.accountant.charges) == 1
    with pytest.raises(ValueError, match="expected at least one charge"):
        measurer.records()


def test_measures_like_the_parties_from_the_same_budget():
    measurer = central_measurer()
    measurer.measure([Query(View(("a",)), Fraction(1, 2), "one-way")])
    with pytest.raises(BudgetError):
        measurer.records(Charge("train", (), Fraction(2, 3)))


def test_uncharged_records_make_the_release_not_private():
    measurer = central_measurer()
    assert measurer.records_unpaid("it looks") is TABLE
    assert measurer.not_private == "it looks"
    assert measurer.accountant.spent == 0


def test_returns_records_only_under_zero_out():
    measurer = central_measurer()
    assert holding_records(measurer, "x") is measurer
    assert showing_records(measurer) is measurer
    with pytest.raises(BudgetError, match="expected the adjacency 'zero-out'"):
        holding_records(central_measurer(Adjacency.REPLACE_ONE), "x")
