"""Measurements through real parties and messages have the stated noise."""

import functools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table
from dpmosaic.common.data.view import View
from dpmosaic.common.errors import BudgetError, DataError, PolicyError
from dpmosaic.common.privacy.cost import Adjacency, gaussian_cost, gaussian_sigma
from dpmosaic.curator.measurers.federation import FederationMeasurer
from dpmosaic.curator.measurers.measurer import Query
from dpmosaic.curator.parties.federation import connect
from support.parties import cut, policy_for, random_table, started
from support.terms import RELEASE_ID, terms_of

pytestmark = pytest.mark.slow

DOMAIN = Domain.coded({"a": 2, "b": 3, "c": 2, "d": 4})
RECORDS = 40
SPLITS = {
    "one party": [("a", "b", "c", "d")],
    "two parties": [("a", "b"), ("c", "d")],
    "three parties": [("a",), ("b", "d"), ("c",)],
}


def real_table():
    return random_table(DOMAIN, RECORDS)


def measurer(
    groups,
    granted,
    *,
    protocol="indicator",
    adjacency=Adjacency.ZERO_OUT,
    grid=None,
    table=None,
    **options,
):
    table = table or real_table()
    grid = grid or [(RECORDS // 2, groups)] * 2
    policy = policy_for(protocol, adjacency, float(granted))
    federation = connect(table.domain, started(cut(table, grid), policy, RandomStream.from_seed(5)))
    terms = terms_of(RELEASE_ID, protocol, adjacency, float(granted), federation.partition)
    federation.accept(terms)
    return FederationMeasurer(federation, terms, granted, **options)


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("record_wise", [False, True])
def test_measurements_are_unbiased_and_deviate_as_stated(split, record_wise):
    """Over 400 measurements; each of the twelve assertions fails for a correct program with p < 1e-5.

    The mean of a cell is within 5.5 of its deviations (24 cells); the mean square over 9,600 cells, whose
    products of noise have heavier tails than a Gaussian, within 15 %.
    """
    runs, clique = 400, ("a", "b", "d")
    rho = Fraction(2)
    source = measurer(SPLITS[split], rho * runs, record_wise=record_wise)
    found = source.measure([Query(View(clique), rho, "test")] * runs)
    errors = np.array([m.values for m in found]) - real_table().marginal(clique)
    sigma = found[0].sigma
    assert sigma == pytest.approx(source.expected_sigma(View(clique), rho))
    assert np.all(np.abs(errors.mean(axis=0)) < 5.5 * errors.std(axis=0) / math.sqrt(runs))
    assert (errors**2).mean() == pytest.approx(sigma**2, rel=0.15)
    assert found[0].gaussian == (split == "one party" and not record_wise)


BOXES = (
    ((0, 2), (0, 1), (0, 4)),
    ((0, 1), (1, 3), (0, 4)),
    ((1, 2), (1, 3), (0, 2)),
    ((1, 2), (1, 3), (2, 4)),
)
"""Of 8, 8, 4 and 4 cells of (a, b, d): all of them, so that deviations stated as a mean can be checked."""


@pytest.mark.parametrize(
    ("split", "record_wise"),
    [("one party", False), ("one party", True), ("two parties", False), ("three parties", False)],
)
def test_sums_over_boxes_are_unbiased_and_deviate_as_stated(split, record_wise):
    """Over 400 measurements; each of the eight assertions fails for a correct program with p < 1e-5.

    The mean of a box is within 5.5 of its deviations (4 boxes); the mean square over 1,600 sums, whose
    products of noise have heavier tails than a Gaussian, within 20 %.
    """
    runs, clique = 400, ("a", "b", "d")
    rho = Fraction(2)
    source = measurer(SPLITS[split], rho * runs, record_wise=record_wise)
    query = Query(View(clique, boxes=BOXES), rho, "test")
    found = source.measure([query] * runs)
    counts = real_table().marginal(clique).reshape(2, 3, 4)
    exact = [block.sum() for block in (counts[:, 0], counts[0, 1:], counts[1, 1:, :2], counts[1, 1:, 2:])]
    errors = np.array([m.values for m in found]) - exact
    assert {(m.clique, m.view.boxes, m.values.shape) for m in found} == {(clique, BOXES, (4,))}
    assert np.all(np.abs(errors.mean(axis=0)) < 5.5 * errors.std(axis=0) / math.sqrt(runs))
    assert (errors**2).mean() == pytest.approx(found[0].sigma ** 2, rel=0.2)
    assert found[0].gaussian == (split == "one party" and not record_wise)


def test_a_box_has_cost_and_noise_of_a_cell_if_a_party_sums_before_adding_noise():
    source = measurer(SPLITS["one party"], Fraction(1))
    rho = Fraction(1, 4)
    cells, sums = source.measure(
        [Query(View(("a", "b", "d"), boxes=boxes), rho, "test") for boxes in [(), BOXES]]
    )
    assert (cells.values.shape, sums.values.shape) == ((24,), (4,))
    assert sums.sigma == cells.sigma
    assert sums.zcdp_rho == cells.zcdp_rho


@pytest.mark.parametrize(
    ("boxes", "reason"),
    [
        ((((0, 2),),), "for each attribute"),
        ((((0, 2), (0, 4)),), "non-empty range"),
        ((((0, 1), (0, 2)), ((0, 2), (1, 2))), "box 1: it overlaps another box"),
    ],
)
def test_refuses_invalid_boxes_before_charging_any_query(boxes, reason):
    source = measurer(SPLITS["two parties"], Fraction(1))
    queries = [
        Query(View(("a",)), Fraction(1, 4), "x"),
        Query(View(("a", "b"), boxes=boxes), Fraction(1, 4), "x"),
    ]
    with pytest.raises(DataError, match=reason):
        source.measure(queries)
    assert source.accountant.charges == ()


def projected(values, shape):
    """The projection on arrays that sum to zero along every axis, as a matrix product."""
    return functools.reduce(np.kron, [np.eye(n) - 1 / n for n in shape]) @ values


@pytest.mark.parametrize("protocol", ["trusted", "indicator"])
@pytest.mark.parametrize("adjacency", [Adjacency.ZERO_OUT, Adjacency.REPLACE_ONE])
@pytest.mark.parametrize("clique", [("b",), ("a", "d"), ("a", "b", "d"), ("a", "b", "c", "d")])
def test_charges_only_the_interaction_if_one_party_of_each_slice_holds_the_clique(
    protocol, adjacency, clique, ledgers
):
    rho, shape = Fraction(10**9), DOMAIN.shape(clique)
    grid = "1x1" if protocol == "trusted" else None
    source = measurer(SPLITS["one party"], 10 * rho, protocol=protocol, adjacency=adjacency, grid=grid)
    (found,) = source.measure([Query(View(clique, interaction=True), rho, "test")])
    exact = projected(real_table().marginal(clique), shape)
    np.testing.assert_allclose(found.values, exact, atol=0.01)
    assert found.view.interaction
    (charge,) = source.accountant.charges
    sigma = gaussian_sigma(rho, adjacency, shape)
    assert charge.zcdp_rho == gaussian_cost(sigma, adjacency, shape) <= rho
    assert (charge.sigmas, charge.interaction) == (((sigma,),) * len(ledgers), shape)
    assert [ledger.cost_of(RELEASE_ID) for ledger in ledgers] == [charge.zcdp_rho] * len(ledgers)


@pytest.mark.parametrize("protocol", ["trusted", "indicator"])
def test_an_interaction_has_the_noise_of_cells_of_the_stated_deviation_projected(protocol):
    """Chi-square over the 6 dimensions of each of 200 projections, two-sided at p < 1e-6; two tests."""
    runs, clique, rho = 200, ("a", "b", "d"), Fraction(2)
    grid = "1x1" if protocol == "trusted" else None
    source = measurer(SPLITS["one party"], rho * runs, protocol=protocol, grid=grid)
    found = source.measure([Query(View(clique, interaction=True), rho, "test")] * runs)
    stated, shape = found[0].sigma, DOMAIN.shape(clique)
    assert stated == source.expected_sigma(View(clique, interaction=True), rho)
    slices = 1 if protocol == "trusted" else 2
    # D of (2, 3, 4) is a quarter: a quarter of the variance 1 / (2 rho) of a cell, in each slice.
    assert stated == pytest.approx(math.sqrt(slices / 16), rel=1e-4)
    errors = np.array([m.values for m in found]) - projected(real_table().marginal(clique), shape)
    below = stats.chi2.cdf(np.sum(errors**2) / stated**2, 6 * runs)
    assert 5e-7 < below < 1 - 5e-7


HOLDERS = {
    "two parties": {"groups": SPLITS["two parties"]},
    "three parties": {"groups": SPLITS["three parties"]},
    "every record": {"groups": SPLITS["one party"], "record_wise": True},
    "one party of one slice": {
        "groups": None,
        "grid": (((RECORDS - 9, (("a", "b"), ("c", "d"))), (9, (DOMAIN.names,)))),
    },
}


@pytest.mark.parametrize("holders", HOLDERS)
def test_charges_and_projects_the_marginal_if_several_parties_hold_the_clique(holders, ledgers):
    options = dict(HOLDERS[holders])
    groups, rho, clique = options.pop("groups"), Fraction(10**9), ("a", "b", "d")
    source = measurer(groups, rho * 10, **options)
    first, second = source.measure(
        [Query(View(clique, interaction=kind), rho, "test") for kind in (True, False)]
    )
    exact = projected(real_table().marginal(clique), DOMAIN.shape(clique))
    np.testing.assert_allclose(first.values, exact, atol=0.01)
    assert (first.view.interaction, second.view.interaction) == (True, False)
    assert (first.sigma, first.zcdp_rho, first.gaussian) == (second.sigma, second.zcdp_rho, False)
    interaction, marginal = source.accountant.charges
    assert interaction == marginal
    assert interaction.interaction == ()
    # Each party is charged twice, for the noise of all parties of its slice.
    costs = [
        sum(2 * gaussian_cost(sigma, Adjacency.ZERO_OUT) for sigma in sigmas)
        for sigmas, members in zip(interaction.sigmas, source._federation.slices, strict=True)
        for _ in members
    ]
    assert [ledger.cost_of(RELEASE_ID) for ledger in ledgers] == costs
    assert source.expected_sigma(View(clique, interaction=True), rho) == source.expected_sigma(
        View(clique), rho
    )


def test_the_interaction_of_a_noisy_marginal_of_indicators_is_its_projection():
    """The same query in two releases from the same seeds: the results differ only by the projection."""
    clique = ("a", "b", "d")
    marginal, interaction = (
        measurer(SPLITS["two parties"], Fraction(1)).measure(
            [Query(View(clique, interaction=kind), Fraction(1, 2), "test")]
        )[0]
        for kind in (False, True)
    )
    np.testing.assert_allclose(
        interaction.values, projected(marginal.values, DOMAIN.shape(clique)), atol=1e-9
    )


def test_refuses_a_query_for_both_boxes_and_an_interaction():
    with pytest.raises(ValueError, match="not of both"):
        Query(View(("a", "b", "d"), boxes=BOXES, interaction=True), Fraction(1), "test")


def test_refuses_the_interaction_of_an_attribute_of_one_value_uncharged():
    domain = Domain.coded({"a": 2, "b": 3, "c": 1, "d": 4})
    table = Table.from_codes(domain, np.zeros((RECORDS, 4), int))
    source = measurer([DOMAIN.names], Fraction(1), table=table)
    with pytest.raises(BudgetError, match="measure the whole marginal"):
        source.measure([Query(View(("a", "c"), interaction=True), Fraction(1, 2), "test")])
    assert source.accountant.charges == ()


def test_adds_noise_to_sums_within_one_party_and_to_every_record_across_parties():
    source = measurer(SPLITS["two parties"], Fraction(1))
    inside = source.expected_sigma(View(("a", "b")), Fraction(1, 4))
    across = source.expected_sigma(View(("a", "c")), Fraction(1, 4))
    assert inside == pytest.approx(math.sqrt(2 * 2), rel=1e-3)  # two slices, variance 1 / (2 rho) = 2 each
    assert across > 5 * inside


def test_cells_are_in_domain_order_for_any_holders():
    source = measurer([("a", "d"), ("b", "c")], Fraction(10**10))
    (found,) = source.measure([Query(View(("a", "b", "d")), Fraction(10**9), "test")])
    assert np.allclose(found.values, real_table().marginal(("a", "b", "d")), atol=0.01)


def test_a_ragged_grid_measures_each_slice_its_own_way():
    grid = (
        (RECORDS - 1, (("a",), ("b",), ("c", "d"))),
        (1, (("a", "b", "c", "d"),)),
    )
    source = measurer(None, Fraction(10**10), grid=grid)
    (found,) = source.measure([Query(View(("a", "b")), Fraction(10**9), "test")])
    assert np.allclose(found.values, real_table().marginal(("a", "b")), atol=0.01)
    assert [len(sigmas) for sigmas in source.accountant.charges[0].sigmas] == [2, 1]


@pytest.mark.parametrize("adjacency", [Adjacency.ZERO_OUT, Adjacency.REPLACE_ONE])
def test_the_accountant_charges_the_cost_of_the_added_noise(adjacency):
    source = measurer(SPLITS["two parties"], Fraction(1), adjacency=adjacency)
    source.measure([Query(View(("a", "c")), Fraction(1, 3), "test")])
    (charge,) = source.accountant.charges
    for sigmas in charge.sigmas:
        assert sum(gaussian_cost(sigma, adjacency) for sigma in sigmas) <= charge.zcdp_rho <= Fraction(1, 3)
    assert float(charge.zcdp_rho) == pytest.approx(1 / 3)


def test_refuses_queries_that_together_exceed_the_grant_uncharged():
    source = measurer(SPLITS["one party"], Fraction(1))
    with pytest.raises(BudgetError):
        source.measure([Query(View(("a",)), Fraction(1, 2), "x"), Query(View(("b",)), Fraction(3, 4), "x")])
    assert source.accountant.spent == 0
    assert source.accountant.charges == ()


def test_replace_one_adds_more_noise_to_measurements():
    zero_out = measurer(SPLITS["one party"], Fraction(1)).expected_sigma(View(("a",)), Fraction(1, 2))
    replace = measurer(SPLITS["one party"], Fraction(1), adjacency=Adjacency.REPLACE_ONE)
    assert replace.expected_sigma(View(("a",)), Fraction(1, 2)) == pytest.approx(
        zero_out * math.sqrt(2), rel=1e-4
    )


def test_every_party_refuses_a_protocol_of_simulations():
    with pytest.raises(PolicyError, match="no party takes part"):
        measurer(SPLITS["one party"], Fraction(1), protocol="theorem")
