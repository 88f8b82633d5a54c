"""Interactions by the protocol `masked`, against the table itself."""

import functools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table
from dpmosaic.common.data.view import View
from dpmosaic.common.errors import BudgetError
from dpmosaic.common.privacy.cost import Adjacency, gaussian_cost, gaussian_sigma, grid_of
from dpmosaic.common.protocols.arithmetic.ring import Ring
from dpmosaic.curator.measurers.measurer import Query
from support.grids import (
    CLIQUES,
    DOMAIN,
    EXACT,
    EXACT_64,
    GRIDS,
    release,
    table_of,
)
from support.parties import Link, layout
from support.terms import RELEASE_ID

TWO_VALUES_AT_LEAST = [clique for clique in CLIQUES if "e" not in clique]


def projected(values, shape):
    """The projection on arrays that sum to zero along every axis, as a matrix product."""
    return functools.reduce(np.kron, [np.eye(n) - 1 / n for n in shape]) @ values


@pytest.mark.slow
@pytest.mark.parametrize(
    ("grid", "bits", "rho"),
    [*((name, 32, EXACT) for name in GRIDS), ("1x1", 64, EXACT_64), ("1x4", 64, EXACT_64)],
)
def test_every_interaction_is_exact_for_any_holders(grid, bits, rho):
    """Draws are bounded, and a projection at most doubles the bound for each attribute."""
    table = table_of()
    measurer = release(GRIDS[grid], rho * len(TWO_VALUES_AT_LEAST), table=table)
    assert measurer._plan.ring == Ring(bits)
    found = measurer.measure([Query(View(c, interaction=True), rho, "test") for c in TWO_VALUES_AT_LEAST])
    assert [one.clique for one in found] == TWO_VALUES_AT_LEAST
    for one in found:
        shape = DOMAIN.shape(one.clique)
        sigma = gaussian_sigma(rho, Adjacency.ZERO_OUT, shape)
        reach = 2 ** len(shape) * measurer._plan.noise.largest(sigma) / grid_of(sigma)
        assert reach < 1 / 2
        exact = projected(table.marginal(one.clique), shape)
        np.testing.assert_allclose(one.values, exact, atol=reach)
        assert one.view.interaction
        assert one.gaussian


@pytest.mark.parametrize(("parties", "tolerated"), [(1, 0), (2, 1), (4, 2)])
@pytest.mark.parametrize("adjacency", [Adjacency.ZERO_OUT, Adjacency.REPLACE_ONE])
def test_an_interaction_has_the_noise_of_cells_of_the_stated_deviation_projected(
    parties, tolerated, adjacency
):
    """Chi-square over the 9,998 dimensions of two projections, of a product between parties.

    Each of the 6 tests rejects at p < 1e-6, two-sided, and notices a deviation that is 7 % off.
    """
    table = table_of(Domain.coded({"x": 5_000, "y": 2}), records=30)
    grid = (layout(30, "x y"),) if parties == 2 else (layout(17, "x y"), layout(13, "x y"))
    measurer = release("1x1" if parties == 1 else grid, table=table, tolerated=tolerated, adjacency=adjacency)
    rho, clique = Fraction(1, 2), ("x", "y")
    found = measurer.measure([Query(View(clique, interaction=True), rho, "test")] * 2)
    sigma = gaussian_sigma(rho, adjacency, (5_000, 2))
    stated = found[0].sigma
    assert stated == measurer.expected_sigma(View(clique, interaction=True), rho)
    assert stated == pytest.approx(sigma * math.sqrt(parties / (parties - tolerated)), rel=1e-12)
    cells = table.marginal(clique).reshape(5_000, 2)
    exact = (cells - cells.mean(axis=0) - cells.mean(axis=1)[:, None] + cells.mean()).ravel()
    errors = np.concatenate([one.values - exact for one in found])
    assert abs(errors[:10_000].sum()) < 1e-6
    below = stats.chi2.cdf(np.sum(errors**2) / stated**2, 2 * 4_999)
    assert 5e-7 < below < 1 - 5e-7


@pytest.mark.parametrize("grid", ["1x1", "1x2", "2x1"])
def test_tables_with_one_interaction_open_to_the_same_words_from_the_same_seeds(grid):
    """One has all counts of x = 0 one higher and of x = 1 one lower, which changes only the marginal."""
    domain = Domain.coded({"x": 2, "y": 3})
    counts = np.array([[5, 1, 9], [7, 2, 4]])
    opened = {False: [], True: []}
    for cells in (counts, counts + np.array([[1], [-1]])):
        codes = np.repeat(np.indices((2, 3)).reshape(2, 6).T, cells.ravel(), axis=0)
        measurer = release(grid, table=Table.from_codes(domain, codes))
        for interaction, found in opened.items():
            query = Query(View(("x", "y"), interaction=interaction), Fraction(1, 4), "test")
            found.append(measurer.measure([query])[0].values.tolist())
    assert opened[True][0] == opened[True][1]
    assert opened[False][0] != opened[False][1]


@pytest.mark.parametrize(
    "query",
    [
        Query(View(("a", "b"), interaction=True), Fraction(1, 54 * 10**14), "more than the ring holds"),
        Query(View(("a", "e"), interaction=True), Fraction(1, 4), "one value"),
        Query(View(("a", "b"), interaction=True), Fraction(3, 4), "more than is left"),
    ],
    ids=lambda query: query.step,
)
def test_refuses_an_invalid_interaction_and_charges_or_asks_no_party(query, ledgers, monkeypatch):
    """The first one's noise would fit the ring in a cell, but not in a sum of four."""
    measurer = release("2x2")
    measurer._charge(Query(View(("a", "b")), Fraction(1, 54 * 10**14), "test"))
    monkeypatch.setattr(Link, "call", None)
    with pytest.raises(BudgetError):
        measurer.measure([Query(View(("b",)), Fraction(1, 2), "test"), query])
    assert measurer.accountant.charges == ()
    assert [ledger.cost_of(RELEASE_ID) for ledger in ledgers] == [0] * 4


@pytest.mark.parametrize("adjacency", [Adjacency.ZERO_OUT, Adjacency.REPLACE_ONE])
@pytest.mark.parametrize("grid", ["1x1", "2x2", GRIDS["1x4"]], ids=["1x1", "2x2", "1x4"])
def test_every_ledger_charges_an_interaction_like_the_accountant(ledgers, grid, adjacency):
    measurer = release(grid, adjacency=adjacency)
    cliques, rhos = [("b",), ("b", "d"), ("a", "b", "d")], [Fraction(1, 7), Fraction(1, 3), Fraction(1, 99)]
    charged = []
    for rho, clique in zip(rhos, cliques, strict=True):
        measurer.measure([Query(View(clique, interaction=True), rho, "test")])
        shape = DOMAIN.shape(clique)
        sigma = gaussian_sigma(rho, adjacency, shape)
        charged.append((gaussian_cost(sigma, adjacency, shape), sigma, shape))
        spent = measurer.accountant.spent
        assert [ledger.cost_of(RELEASE_ID) for ledger in ledgers] == [spent] * len(ledgers)
    found = [(c.zcdp_rho, c.sigmas[0][0], c.interaction) for c in measurer.accountant.charges]
    assert found == charged
    assert all(cost <= rho for (cost, _, _), rho in zip(charged, rhos, strict=True))
