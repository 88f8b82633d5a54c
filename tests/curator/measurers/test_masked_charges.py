"""Charges of the curator and of all parties for masked answers, and refusals without a charge."""

import math
from fractions import Fraction

import pytest

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.view import View
from dpmosaic.common.errors import BudgetError, DataError
from dpmosaic.common.privacy.cost import Adjacency, gaussian_cost, gaussian_sigma
from dpmosaic.curator.measurers.measurer import Query
from support.grids import CLIQUES, GRIDS, release, table_of
from support.parties import Link
from support.terms import RELEASE_ID

TWO_VALUES_AT_LEAST = [clique for clique in CLIQUES if "e" not in clique]
BOXES = (((0, 1), (0, 3)), ((1, 2), (0, 1)), ((1, 2), (1, 2)))
"""Of the clique b, d: one record may lie in none."""


def test_refuses_overlapping_boxes_uncharged():
    measurer = release()
    with pytest.raises(DataError, match="disjoint"):
        measurer.measure([Query(View(("b", "d"), boxes=(BOXES[0], BOXES[0])), Fraction(1, 2), "test")])
    assert measurer.accountant.spent == 0


@pytest.mark.parametrize("adjacency", [Adjacency.ZERO_OUT, Adjacency.REPLACE_ONE])
@pytest.mark.parametrize("grid", ["1x1", "2x2", GRIDS["1x4"]], ids=["1x1", "2x2", "1x4"])
def test_every_ledger_charges_exactly_what_the_accountant_charges(ledgers, grid, adjacency):
    measurer = release(grid, adjacency=adjacency)
    rhos = [Fraction(1, 7), Fraction(1, 3), Fraction(1, 1000)]
    for rho, clique in zip(rhos, [("a",), ("b", "d"), ("a", "b", "c", "d")], strict=True):
        measurer.measure([Query(View(clique), rho, "test")])
        spent = measurer.accountant.spent
        assert [ledger.cost_of(RELEASE_ID) for ledger in ledgers] == [spent] * len(ledgers)
    costs = [gaussian_cost(gaussian_sigma(rho, adjacency), adjacency) for rho in rhos]
    assert [charge.zcdp_rho for charge in measurer.accountant.charges] == costs
    assert all(cost <= rho for cost, rho in zip(costs, rhos, strict=True))


def test_a_charge_names_the_one_noise_variable_that_hides_a_record_in_each_slice():
    measurer = release("2x2")
    measurer.measure([Query(View(("a", "d")), Fraction(1, 3), "step")])
    sigma = gaussian_sigma(Fraction(1, 3), Adjacency.ZERO_OUT)
    (charge,) = measurer.accountant.charges
    assert (charge.step, charge.clique, charge.sigmas) == ("step", ("a", "d"), ((sigma,), (sigma,)))


HUGE = Domain.coded({"x": 10_000, "y": 10_000, "z": 2})


def test_refuses_a_clique_whose_openings_exceed_the_limit_uncharged_and_unasked(ledgers, monkeypatch):
    measurer = release("1x2", table=table_of(HUGE, records=30))
    monkeypatch.setattr(Link, "call", None)
    with pytest.raises(DataError, match="x, y, z needs an opening of more than 4 GiB"):
        measurer.measure(
            [Query(View(("z",)), Fraction(1, 4), "test"), Query(View(HUGE.names), Fraction(1, 4), "test")]
        )
    assert measurer.accountant.charges == ()
    assert [ledger.cost_of(RELEASE_ID) for ledger in ledgers] == [0, 0]


def test_the_expected_noise_is_infinite_if_openings_exceed_the_limit():
    measurer = release("1x2", table=table_of(HUGE, records=30))
    assert measurer.expected_sigma(View(HUGE.names), Fraction(1, 4)) == math.inf
    # A clique within one party needs no opening, so its size does not matter.
    assert measurer.expected_sigma(View(("x", "y")), Fraction(1, 4)) < 3
    assert measurer.expected_sigma(View(("y", "z")), Fraction(1, 4)) < 3


def test_refuses_a_batch_that_exceeds_the_budget_and_asks_no_party(ledgers, monkeypatch):
    measurer = release("2x2")
    monkeypatch.setattr(Link, "call", None)
    with pytest.raises(BudgetError, match="more than is left"):
        measurer.measure(
            [Query(View(("a", "d")), Fraction(1, 2), "x"), Query(View(("b",)), Fraction(3, 4), "x")]
        )
    assert measurer.accountant.charges == ()
    assert measurer.accountant.spent == 0
    assert [ledger.cost_of(RELEASE_ID) for ledger in ledgers] == [0] * 4
