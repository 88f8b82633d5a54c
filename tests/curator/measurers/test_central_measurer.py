"""The place that holds the table hands records out for a charge alone."""

from fractions import Fraction

import numpy as np
import pytest
from support.parties import policy_for, started

from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table
from dpmosaic.common.errors import BudgetError, DataError
from dpmosaic.common.messages import PROTOCOL_VERSION, ReleaseTerms
from dpmosaic.common.privacy.budget import Budget, Charge
from dpmosaic.common.privacy.cost import Adjacency
from dpmosaic.curator.measurers.central import CentralMeasurer, central
from dpmosaic.curator.measurers.federation import FederationMeasurer
from dpmosaic.curator.measurers.measurer import Query
from dpmosaic.curator.parties.federation import connect

TABLE = Table.from_codes(Domain.coded({"a": 2}), np.array([[0], [1], [1]]))


def terms_and_federation(adjacency):
    links = started([[TABLE]], policy_for("trusted", adjacency), RandomStream.from_seed(1))
    federation = connect(TABLE.domain, links)
    terms = ReleaseTerms("r", PROTOCOL_VERSION, "trusted", adjacency, 1.0, None)
    federation.accept(terms)
    return federation, terms


def central_measurer(adjacency=Adjacency.ZERO_OUT):
    return CentralMeasurer(*terms_and_federation(adjacency), Fraction(1), TABLE, Budget(1.0, 1e-9))


def test_records_are_handed_out_once_they_are_charged():
    measurer = central_measurer()
    charge = Charge("train", (), Fraction(1, 2))
    assert measurer.records(charge) is TABLE
    assert measurer.accountant.charges == (charge,)
    assert measurer.not_private is None


def test_records_that_cost_more_than_is_left_are_not_handed_out():
    measurer = central_measurer()
    measurer.records(Charge("train", (), Fraction(1, 2)))
    with pytest.raises(BudgetError):
        measurer.records(Charge("select", (), Fraction(2, 3)))
    assert len(measurer.accountant.charges) == 1
    with pytest.raises(ValueError, match="for a charge"):
        measurer.records()


def test_it_measures_as_the_parties_do_from_the_same_budget():
    measurer = central_measurer()
    measurer.measure([Query(("a",), Fraction(1, 2), "one-way")])
    with pytest.raises(BudgetError):
        measurer.records(Charge("train", (), Fraction(2, 3)))


def test_what_a_stopped_run_measured_is_charged_again():
    measurer = central_measurer()
    measurer.charge_again([Charge("one-way", ("a",), Fraction(1, 4))])
    assert measurer.accountant.spent == Fraction(1, 4)
    with pytest.raises(BudgetError):
        measurer.charge_again([Charge("one-way", ("a",), Fraction(4, 5))])


def test_records_that_nobody_pays_for_make_the_release_not_private():
    measurer = central_measurer()
    assert measurer.records_unpaid("it looks") is TABLE
    assert measurer.not_private == "it looks"
    assert measurer.accountant.spent == 0


def test_a_mechanism_gets_no_records_of_parties_and_none_under_another_adjacency():
    parties = FederationMeasurer(*terms_and_federation(Adjacency.ZERO_OUT), Fraction(1))
    with pytest.raises(DataError, match="mechanism x: expected the records in one place"):
        central(parties, "x")
    with pytest.raises(BudgetError, match="expected the adjacency 'zero-out'"):
        central(central_measurer(Adjacency.REPLACE_ONE), "x")
    measurer = central_measurer()
    assert central(measurer, "x") is measurer
