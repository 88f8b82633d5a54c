"""The protocol `masked` through real parties and real messages, against the table itself."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.view import View
from dpmosaic.common.privacy.cost import Adjacency, gaussian_sigma, grid_of
from dpmosaic.common.privacy.distributed import DistributedNoise
from dpmosaic.common.protocols.arithmetic.ring import Ring
from dpmosaic.curator.measurers.measurer import Query
from support.grids import CLIQUES, EXACT, EXACT_64, GRIDS, RECORDS, assert_exact, release, table_of
from support.parties import Link, layout

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(("bits", "rho"), [(32, EXACT), (64, EXACT_64)])
@pytest.mark.parametrize("grid", GRIDS.values(), ids=GRIDS)
def test_every_marginal_is_exact_for_any_holders(grid, bits, rho):
    table = table_of()
    measurer = release(grid, rho * len(CLIQUES), table=table)
    assert measurer._plan.ring == Ring(bits)
    assert measurer.record_count == RECORDS
    found = measurer.measure([Query(View(clique), rho, "test") for clique in CLIQUES])
    assert [one.clique for one in found] == CLIQUES
    for one in found:
        assert_exact(measurer, one, table)


def test_the_grids_have_cliques_inside_one_party_and_over_two_three_four_and_five():
    chains = {
        name: {len(release(grid)._plan.chain(View(clique), 0)) for clique in CLIQUES}
        for name, grid in GRIDS.items()
        if name in ("1x1", "1x2", "1x4", "parties of one attribute each")
    }
    assert chains == {
        "1x1": {1},
        "1x2": {1, 2},
        "1x4": {1, 2, 3, 4},
        "parties of one attribute each": {1, 2, 3, 4, 5},
    }


@pytest.mark.parametrize("grid", ["1x3", "2x2"])
def test_measures_an_attribute_of_ten_thousand_codes_alone_and_in_pairs(grid):
    domain = Domain.coded({"small": 3, "large": 10_000, "one": 1})
    table = table_of(domain, records=50)
    measurer = release(grid, EXACT * 3, table=table)
    cliques = [("large",), ("small", "large"), ("small", "large", "one")]
    for found in measurer.measure([Query(View(clique), EXACT, "test") for clique in cliques]):
        assert_exact(measurer, found, table)


def test_many_records_are_multiplied_in_many_blocks(monkeypatch):
    """Blocks of 64 KiB instead of 32 MiB: all roles agree on every word for other block boundaries."""
    monkeypatch.setattr("dpmosaic.common.protocols.masked.plan._MULTIPLIED_BYTES", 1 << 16)
    table = table_of(records=1000)
    grid = (layout(1000, "a be c d"),)
    measurer = release(grid, EXACT * 2, table=table)
    found = measurer.measure(
        [Query(View(clique), EXACT, "test") for clique in (("b", "d"), ("a", "b", "c", "d"))]
    )
    for one in found:
        assert_exact(measurer, one, table)


TWO_VALUES_AT_LEAST = [clique for clique in CLIQUES if "e" not in clique]
BOXES = (((0, 1), (0, 3)), ((1, 2), (0, 1)), ((1, 2), (1, 2)))
"""Of the clique b, d: one record may lie in none."""


@pytest.mark.parametrize("grid", ["1x1", "2x2", "1x4"])
def test_boxes_are_sums_of_the_cells_in_them(grid):
    table = table_of()
    measurer = release(grid, EXACT * 2, table=table)
    cells, boxes = measurer.measure(
        [Query(View(("b", "d")), EXACT, "test"), Query(View(("b", "d"), boxes=BOXES), EXACT, "test")]
    )
    assert boxes.view.boxes == BOXES
    assert boxes.sigma == cells.sigma
    exact = table.marginal(("b", "d")).reshape(3, 4)
    assert np.rint(boxes.values).tolist() == [exact[0, 0:3].sum(), exact[1, 0], exact[1, 1]]
    assert_exact(measurer, cells, table)


def test_opens_and_multiplies_products_only_once(monkeypatch):
    calls = []
    original = Link.call
    monkeypatch.setattr(
        Link,
        "call",
        lambda self, method, requests: calls.append(method) or original(self, method, requests),
    )
    measurer = release("2x2")
    query = Query(View(("a", "d")), Fraction(1, 8), "test")
    calls.clear()
    measurer.measure([query])
    assert sorted(set(calls)) == ["Answer", "Deliver", "Multiply", "Open"]
    calls.clear()
    measurer.measure([query, query])
    assert calls == ["Answer"] * 8


def test_the_same_query_under_a_new_id_has_fresh_noise():
    """The noise of two answers is independent: its covariance over 10,000 cells is within 5 deviations of 0.

    Fails for a correct program with p < 1e-6 over the choice of the seeds.
    """
    table = table_of(Domain.coded({"x": 10_000, "y": 2}))
    measurer = release("1x2", table=table)
    query = Query(View(("x",)), Fraction(1, 4), "test")
    first, second = (
        one.values - table.marginal(("x",))
        for one in [*measurer.measure([query]), *measurer.measure([query])]
    )
    assert (first != second).mean() > 0.99
    sigma = measurer.expected_sigma(View(("x",)), Fraction(1, 4))
    assert abs((first * second).mean()) < 5 * sigma**2 / math.sqrt(len(first))


COLLUSIONS = [(1, 0), (2, 0), (2, 1), (4, 0), (4, 1), (4, 2)]


@pytest.mark.parametrize(("parties", "tolerated"), COLLUSIONS)
@pytest.mark.parametrize("adjacency", [Adjacency.ZERO_OUT, Adjacency.REPLACE_ONE])
def test_noise_has_the_stated_deviation(parties, tolerated, adjacency):
    """Chi-square over 20,000 cells, half of them of a product between parties where there are several.

    Each of the 12 tests rejects at p < 1e-6, two-sided, and notices a deviation that is 5 % off.
    """
    table = table_of(Domain.coded({"x": 5_000, "y": 2}), records=30)
    grid = (layout(30, "x y"),) if parties == 2 else (layout(17, "x y"), layout(13, "x y"))
    measurer = release("1x1" if parties == 1 else grid, table=table, tolerated=tolerated, adjacency=adjacency)
    rho, clique = Fraction(1, 2), ("x", "y")
    found = measurer.measure([Query(View(clique), rho, "test")] * 2)
    sigma = gaussian_sigma(rho, adjacency)
    stated = found[0].sigma
    assert stated == measurer.expected_sigma(View(clique), rho)
    assert stated == pytest.approx(sigma * math.sqrt(parties / (parties - tolerated)), rel=1e-12)
    errors = np.concatenate([one.values - table.marginal(clique) for one in found])
    assert errors.size == 20_000
    below = stats.chi2.cdf(np.sum(errors**2) / stated**2, errors.size)
    assert 5e-7 < below < 1 - 5e-7
    assert abs(errors.mean()) < 5 * stated / math.sqrt(errors.size)


@pytest.mark.parametrize(("parties", "tolerated"), COLLUSIONS)
def test_t_colluding_parties_still_see_the_charged_noise(monkeypatch, parties, tolerated):
    """Chi-square over 10,000 cells of the noise of the other parties, two-sided at p < 1e-6; six tests."""
    drawn = []
    original = DistributedNoise.draw
    monkeypatch.setattr(DistributedNoise, "draw", lambda *args: drawn.append(original(*args)) or drawn[-1])
    table = table_of(Domain.coded({"x": 5_000, "y": 2}), records=30)
    grid = {1: "1x1", 2: "1x2", 4: "2x2"}[parties]
    measurer = release(grid, table=table, tolerated=tolerated)
    measurer.measure([Query(View(("x", "y")), Fraction(1, 2), "test")])
    sigma = gaussian_sigma(Fraction(1, 2), Adjacency.ZERO_OUT)
    assert len(drawn) == parties
    left = sum(drawn[tolerated:]) / grid_of(sigma)
    below = stats.chi2.cdf(np.sum(left**2) / sigma**2, left.size)
    assert 5e-7 < below < 1 - 5e-7
