"""The protocol `masked` through real parties and real messages, against the table itself.

Counts are exact after rounding where the budget is so large that all noise together stays below half a count:
draws end at a fixed number of deviations, so that these checks have no false alarms at all.
"""

import functools
import itertools
import json
import math
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats
from support.parties import Link, layout, measurer_over, policy_for, random_table, started

from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table
from dpmosaic.common.errors import BudgetError, DataError
from dpmosaic.common.messages import PROTOCOL_VERSION, DeliveryKind, ReleaseTerms
from dpmosaic.common.privacy.cost import Adjacency, gaussian_cost, gaussian_sigma, grid_of
from dpmosaic.common.privacy.distributed import DistributedNoise
from dpmosaic.common.protocols.masked.ring import Ring
from dpmosaic.curator.measurers.masked import MaskedMeasurer
from dpmosaic.curator.measurers.measurer import Query
from dpmosaic.curator.parties.client import PartyClient
from dpmosaic.curator.parties.federation import connect
from dpmosaic.party.answerers.masked.openings import Openings
from dpmosaic.party.answerers.masked.session import MaskedSession

DOMAIN = Domain.coded({"a": 2, "b": 3, "c": 2, "d": 4, "e": 1})
CLIQUES = [c for size in range(1, 6) for c in itertools.combinations(DOMAIN.names, size)]
RECORDS = 60

EXACT = Fraction(10**7)
"""The cost of a query whose noise is far below half a count; 31 of them fit 32 bits for 60 records."""

EXACT_64 = 300 * EXACT
"""The same with noise so fine that its grid takes 64 bits."""

VECTORS = Path(__file__).parents[2] / "common" / "protocols" / "masked" / "vectors"


def table_of(domain=DOMAIN, records=RECORDS):
    return random_table(domain, records)


def release(grid="2x2", granted=Fraction(1), *, table=None, **options):
    """The measurer of a release over the parties of a grid."""
    return measurer_over(table or table_of(), grid, granted, **options)


GRIDS = {
    "1x1": "1x1",
    "1x2": "1x2",
    "2x2": "2x2",
    "3x3": "3x3",
    "1x4": ((layout(RECORDS, "ae c b d"),)),
    "parties of one attribute each": ((layout(RECORDS, "e d c b a"),)),
    "other splits and numbers of parties": (
        (layout(20, "abcde"), layout(15, "ac bde"), layout(18, "be d ac"), layout(7, "a b c d e"))
    ),
    "slices of one record": ((layout(1, "a bd ce"), layout(RECORDS - 2, "abd c e"), layout(1, "abcde"))),
}


def assert_exact(measurer, found, table):
    """All cells are the exact counts once rounded: the noise of all parties cannot reach half a count."""
    sigma = gaussian_sigma(Fraction(found.zcdp_rho), Adjacency.ZERO_OUT)
    assert measurer._plan.noise.largest(sigma) / grid_of(sigma) < 1 / 2
    assert np.rint(found.values).astype(int).tolist() == table.marginal(found.clique).tolist()


@pytest.mark.parametrize(("bits", "rho"), [(32, EXACT), (64, EXACT_64)])
@pytest.mark.parametrize("grid", GRIDS.values(), ids=GRIDS)
def test_every_marginal_is_exact_whoever_holds_its_attributes(grid, bits, rho):
    table = table_of()
    measurer = release(grid, rho * len(CLIQUES), table=table)
    assert measurer._plan.ring == Ring(bits)
    assert measurer.record_count == RECORDS
    found = measurer.measure([Query(clique, rho, "test") for clique in CLIQUES])
    assert [one.clique for one in found] == CLIQUES
    for one in found:
        assert_exact(measurer, one, table)


def test_the_grids_have_cliques_inside_one_party_and_over_two_three_four_and_five():
    chains = {
        name: {len(release(grid)._plan.chain(clique, 0)) for clique in CLIQUES}
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
def test_an_attribute_of_ten_thousand_codes_is_measured_alone_and_with_others(grid):
    domain = Domain.coded({"small": 3, "large": 10_000, "one": 1})
    table = table_of(domain, records=50)
    measurer = release(grid, EXACT * 3, table=table)
    cliques = [("large",), ("small", "large"), ("small", "large", "one")]
    for found in measurer.measure([Query(clique, EXACT, "test") for clique in cliques]):
        assert_exact(measurer, found, table)


def test_many_records_are_multiplied_in_many_blocks(monkeypatch):
    """Blocks of 64 KiB in place of 32 MiB: roles that cut rows at other places still agree on every word."""
    monkeypatch.setattr("dpmosaic.common.protocols.masked.plan._BLOCK_BYTES", 1 << 16)
    table = table_of(records=1000)
    grid = (layout(1000, "a be c d"),)
    measurer = release(grid, EXACT * 2, table=table)
    found = measurer.measure([Query(clique, EXACT, "test") for clique in (("b", "d"), ("a", "b", "c", "d"))])
    for one in found:
        assert_exact(measurer, one, table)


TWO_VALUES_AT_LEAST = [clique for clique in CLIQUES if "e" not in clique]


def projected(values, shape):
    """On what sums to zero along every axis, by the matrix."""
    return functools.reduce(np.kron, [np.eye(n) - 1 / n for n in shape]) @ values


@pytest.mark.parametrize(
    ("grid", "bits", "rho"),
    [*((name, 32, EXACT) for name in GRIDS), ("1x1", 64, EXACT_64), ("1x4", 64, EXACT_64)],
)
def test_every_interaction_is_that_of_the_marginal_whoever_holds_its_attributes(grid, bits, rho):
    """Draws end at a fixed number of deviations, and a projection at most doubles them for each attribute."""
    table = table_of()
    measurer = release(GRIDS[grid], rho * len(TWO_VALUES_AT_LEAST), table=table)
    assert measurer._plan.ring == Ring(bits)
    found = measurer.measure([Query(c, rho, "test", interaction=True) for c in TWO_VALUES_AT_LEAST])
    assert [one.clique for one in found] == TWO_VALUES_AT_LEAST
    for one in found:
        shape = DOMAIN.shape(one.clique)
        sigma = gaussian_sigma(rho, Adjacency.ZERO_OUT, shape)
        reach = 2 ** len(shape) * measurer._plan.noise.largest(sigma) / grid_of(sigma)
        assert reach < 1 / 2
        exact = projected(table.marginal(one.clique), shape)
        np.testing.assert_allclose(one.values, exact, atol=reach)
        assert one.interaction
        assert one.gaussian


@pytest.mark.parametrize(("parties", "tolerated"), [(1, 0), (2, 1), (4, 2)])
@pytest.mark.parametrize("adjacency", Adjacency)
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
    found = measurer.measure([Query(clique, rho, "test", interaction=True)] * 2)
    sigma = gaussian_sigma(rho, adjacency, (5_000, 2))
    stated = found[0].sigma
    assert stated == measurer.expected_sigma(clique, rho, interaction=True)
    assert stated == pytest.approx(sigma * math.sqrt(parties / (parties - tolerated)), rel=1e-12)
    cells = table.marginal(clique).reshape(5_000, 2)
    exact = (cells - cells.mean(axis=0) - cells.mean(axis=1)[:, None] + cells.mean()).ravel()
    errors = np.concatenate([one.values - exact for one in found])
    assert abs(errors[:10_000].sum()) < 1e-6
    below = stats.chi2.cdf(np.sum(errors**2) / stated**2, 2 * 4_999)
    assert 5e-7 < below < 1 - 5e-7


@pytest.mark.parametrize("grid", ["1x1", "1x2", "2x1"])
def test_tables_with_one_interaction_open_to_the_same_words_from_the_same_seeds(grid):
    """One has all counts of x = 0 one higher and of x = 1 one lower: that shows in the marginal alone."""
    domain = Domain.coded({"x": 2, "y": 3})
    counts = np.array([[5, 1, 9], [7, 2, 4]])
    opened = {False: [], True: []}
    for cells in (counts, counts + np.array([[1], [-1]])):
        codes = np.repeat(np.indices((2, 3)).reshape(2, 6).T, cells.ravel(), axis=0)
        measurer = release(grid, table=Table.from_codes(domain, codes))
        for interaction, found in opened.items():
            query = Query(("x", "y"), Fraction(1, 4), "test", interaction=interaction)
            found.append(measurer.measure([query])[0].values.tolist())
    assert opened[True][0] == opened[True][1]
    assert opened[False][0] != opened[False][1]


@pytest.mark.parametrize(
    "query",
    [
        Query(("a", "b"), Fraction(1, 54 * 10**14), "more than the ring holds", interaction=True),
        Query(("a", "e"), Fraction(1, 4), "one value", interaction=True),
        Query(("a", "b"), Fraction(3, 4), "more than is left", interaction=True),
    ],
    ids=lambda query: query.step,
)
def test_an_interaction_that_does_not_fit_is_refused_and_nobody_is_charged_or_asked(
    query, ledgers, monkeypatch
):
    """The first one's noise would fit the ring in a cell, but not in a sum of four."""
    measurer = release("2x2")
    measurer._charge(Query(("a", "b"), Fraction(1, 54 * 10**14), "test"))
    monkeypatch.setattr(Link, "call", None)
    with pytest.raises(BudgetError):
        measurer.measure([Query(("b",), Fraction(1, 2), "test"), query])
    assert measurer.accountant.charges == ()
    assert [ledger.spent("release") for ledger in ledgers] == [0] * 4


BOXES = (((0, 1), (0, 3)), ((1, 2), (0, 1)), ((1, 2), (1, 2)))
"""Of the clique b, d: one record may lie in none."""


@pytest.mark.parametrize("grid", ["1x1", "2x2", "1x4"])
def test_boxes_are_sums_of_the_cells_in_them(grid):
    table = table_of()
    measurer = release(grid, EXACT * 2, table=table)
    cells, boxes = measurer.measure(
        [Query(("b", "d"), EXACT, "test"), Query(("b", "d"), EXACT, "test", BOXES)]
    )
    assert boxes.boxes == BOXES
    assert boxes.sigma == cells.sigma
    exact = table.marginal(("b", "d")).reshape(3, 4)
    assert np.rint(boxes.values).tolist() == [exact[0, 0:3].sum(), exact[1, 0], exact[1, 1]]
    assert_exact(measurer, cells, table)


def test_boxes_that_meet_are_refused_before_anything_is_charged():
    measurer = release()
    with pytest.raises(DataError, match="disjoint"):
        measurer.measure([Query(("b", "d"), Fraction(1, 2), "test", (BOXES[0], BOXES[0]))])
    assert measurer.accountant.spent == 0


@pytest.mark.parametrize("grid", ["2x2", GRIDS["1x4"]], ids=["2x2", "1x4"])
def test_a_batch_of_queries_gives_the_shares_of_one_query_at_a_time(grid, monkeypatch):
    seeds = [RandomStream.from_seed(n).child_key() for n in range(len(release(grid)._clients))]
    queries = [Query(clique, Fraction(1, 62), "test") for clique in CLIQUES * 2]
    with monkeypatch.context() as patched:
        together = spied(patched, seeds)
        release(grid).measure(queries)
    with monkeypatch.context() as patched:
        apart = spied(patched, seeds)
        source = release(grid)
        for query in queries:
            source.measure([query])
    assert len(together.shares) == len(queries) * len(seeds)
    assert together.shares == apart.shares


def test_products_are_opened_and_multiplied_once_however_often_they_are_asked_for(monkeypatch):
    calls = []
    original = Link.call
    monkeypatch.setattr(
        Link,
        "call",
        lambda self, method, requests: calls.append(method) or original(self, method, requests),
    )
    measurer = release("2x2")
    query = Query(("a", "d"), Fraction(1, 8), "test")
    calls.clear()
    measurer.measure([query])
    assert sorted(set(calls)) == ["Answer", "Deliver", "Multiply", "Open"]
    calls.clear()
    measurer.measure([query, query])
    assert calls == ["Answer"] * 8


def test_the_same_question_under_a_new_id_has_fresh_noise():
    """The noise of two answers is independent: its covariance over 10,000 cells is within 5 deviations of 0.

    Fails for a correct program with p < 1e-6 over the choice of the seeds.
    """
    table = table_of(Domain.coded({"x": 10_000, "y": 2}))
    measurer = release("1x2", table=table)
    query = Query(("x",), Fraction(1, 4), "test")
    first, second = (
        one.values - table.marginal(("x",))
        for one in [*measurer.measure([query]), *measurer.measure([query])]
    )
    assert (first != second).mean() > 0.99
    sigma = measurer.expected_sigma(("x",), Fraction(1, 4))
    assert abs((first * second).mean()) < 5 * sigma**2 / math.sqrt(len(first))


COLLUSIONS = [(1, 0), (2, 0), (2, 1), (4, 0), (4, 1), (4, 2)]


@pytest.mark.parametrize(("parties", "tolerated"), COLLUSIONS)
@pytest.mark.parametrize("adjacency", Adjacency)
def test_noise_has_the_stated_deviation(parties, tolerated, adjacency):
    """Chi-square over 20,000 cells, half of them of a product between parties where there are several.

    Each of the 12 tests rejects at p < 1e-6, two-sided, and notices a deviation that is 5 % off.
    """
    table = table_of(Domain.coded({"x": 5_000, "y": 2}), records=30)
    grid = (layout(30, "x y"),) if parties == 2 else (layout(17, "x y"), layout(13, "x y"))
    measurer = release("1x1" if parties == 1 else grid, table=table, tolerated=tolerated, adjacency=adjacency)
    rho, clique = Fraction(1, 2), ("x", "y")
    found = measurer.measure([Query(clique, rho, "test")] * 2)
    sigma = gaussian_sigma(rho, adjacency)
    stated = found[0].sigma
    assert stated == measurer.expected_sigma(clique, rho)
    assert stated == pytest.approx(sigma * math.sqrt(parties / (parties - tolerated)), rel=1e-12)
    errors = np.concatenate([one.values - table.marginal(clique) for one in found])
    assert errors.size == 20_000
    below = stats.chi2.cdf(np.sum(errors**2) / stated**2, errors.size)
    assert 5e-7 < below < 1 - 5e-7
    assert abs(errors.mean()) < 5 * stated / math.sqrt(errors.size)


@pytest.mark.parametrize(("parties", "tolerated"), COLLUSIONS)
def test_what_t_parties_pool_leaves_the_noise_that_was_paid_for(monkeypatch, parties, tolerated):
    """Chi-square over 10,000 cells of the noise of the other parties, two-sided at p < 1e-6; six tests."""
    drawn = []
    original = DistributedNoise.draw
    monkeypatch.setattr(DistributedNoise, "draw", lambda *args: drawn.append(original(*args)) or drawn[-1])
    table = table_of(Domain.coded({"x": 5_000, "y": 2}), records=30)
    grid = {1: "1x1", 2: "1x2", 4: "2x2"}[parties]
    measurer = release(grid, table=table, tolerated=tolerated)
    measurer.measure([Query(("x", "y"), Fraction(1, 2), "test")])
    sigma = gaussian_sigma(Fraction(1, 2), Adjacency.ZERO_OUT)
    assert len(drawn) == parties
    left = sum(drawn[tolerated:]) / grid_of(sigma)
    below = stats.chi2.cdf(np.sum(left**2) / sigma**2, left.size)
    assert 5e-7 < below < 1 - 5e-7


@pytest.mark.parametrize("adjacency", Adjacency)
@pytest.mark.parametrize("grid", ["1x1", "2x2", GRIDS["1x4"]], ids=["1x1", "2x2", "1x4"])
def test_every_partys_ledger_charges_exactly_what_the_curators_accountant_charges(ledgers, grid, adjacency):
    measurer = release(grid, adjacency=adjacency)
    rhos = [Fraction(1, 7), Fraction(1, 3), Fraction(1, 1000)]
    for rho, clique in zip(rhos, [("a",), ("b", "d"), ("a", "b", "c", "d")], strict=True):
        measurer.measure([Query(clique, rho, "test")])
        spent = measurer.accountant.spent
        assert [ledger.spent("release") for ledger in ledgers] == [spent] * len(ledgers)
    costs = [gaussian_cost(gaussian_sigma(rho, adjacency), adjacency) for rho in rhos]
    assert [charge.zcdp_rho for charge in measurer.accountant.charges] == costs
    assert all(cost <= rho for cost, rho in zip(costs, rhos, strict=True))


@pytest.mark.parametrize("adjacency", Adjacency)
@pytest.mark.parametrize("grid", ["1x1", "2x2", GRIDS["1x4"]], ids=["1x1", "2x2", "1x4"])
def test_every_partys_ledger_charges_an_interaction_for_what_the_curators_accountant_does(
    ledgers, grid, adjacency
):
    measurer = release(grid, adjacency=adjacency)
    cliques, rhos = [("b",), ("b", "d"), ("a", "b", "d")], [Fraction(1, 7), Fraction(1, 3), Fraction(1, 99)]
    charged = []
    for rho, clique in zip(rhos, cliques, strict=True):
        measurer.measure([Query(clique, rho, "test", interaction=True)])
        shape = DOMAIN.shape(clique)
        sigma = gaussian_sigma(rho, adjacency, shape)
        charged.append((gaussian_cost(sigma, adjacency, shape), sigma, shape))
        spent = measurer.accountant.spent
        assert [ledger.spent("release") for ledger in ledgers] == [spent] * len(ledgers)
    found = [(c.zcdp_rho, c.sigmas[0][0], c.interaction) for c in measurer.accountant.charges]
    assert found == charged
    assert all(cost <= rho for (cost, _, _), rho in zip(charged, rhos, strict=True))


def test_a_charge_names_the_one_noise_variable_that_hides_a_record_in_each_slice():
    measurer = release("2x2")
    measurer.measure([Query(("a", "d"), Fraction(1, 3), "step")])
    sigma = gaussian_sigma(Fraction(1, 3), Adjacency.ZERO_OUT)
    (charge,) = measurer.accountant.charges
    assert (charge.step, charge.clique, charge.sigmas) == ("step", ("a", "d"), ((sigma,), (sigma,)))


HUGE = Domain.coded({"x": 10_000, "y": 10_000, "z": 2})


def test_a_clique_past_the_limit_of_openings_is_refused_before_anything_is_charged_or_asked(
    ledgers, monkeypatch
):
    measurer = release("1x2", table=table_of(HUGE, records=30))
    monkeypatch.setattr(Link, "call", None)
    with pytest.raises(DataError, match="x, y, z takes an opening of more than 4 GiB"):
        measurer.measure([Query(("z",), Fraction(1, 4), "test"), Query(HUGE.names, Fraction(1, 4), "test")])
    assert measurer.accountant.charges == ()
    assert [ledger.spent("release") for ledger in ledgers] == [0, 0]


def test_a_clique_past_the_limit_of_openings_is_expected_to_have_infinite_noise():
    measurer = release("1x2", table=table_of(HUGE, records=30))
    assert measurer.expected_sigma(HUGE.names, Fraction(1, 4)) == math.inf
    # What one party holds alone is not opened, however large it is.
    assert measurer.expected_sigma(("x", "y"), Fraction(1, 4)) < 3
    assert measurer.expected_sigma(("y", "z"), Fraction(1, 4)) < 3


def test_a_batch_past_the_budget_is_refused_together_and_nobody_is_asked(ledgers, monkeypatch):
    measurer = release("2x2")
    monkeypatch.setattr(Link, "call", None)
    with pytest.raises(BudgetError, match="more than is left"):
        measurer.measure([Query(("a", "d"), Fraction(1, 2), "x"), Query(("b",), Fraction(3, 4), "x")])
    assert measurer.accountant.charges == ()
    assert measurer.accountant.spent == 0
    assert [ledger.spent("release") for ledger in ledgers] == [0] * 4


def test_a_query_whose_noise_does_not_fit_the_plans_ring_is_refused_before_it_is_charged(
    ledgers, monkeypatch
):
    measurer = release("2x2")
    monkeypatch.setattr(Link, "call", None)
    with pytest.raises(BudgetError, match="noise that fits the plan's ring"):
        measurer.measure([Query(("a",), Fraction(1, 10**16), "test")])
    assert measurer.accountant.charges == ()
    assert [ledger.spent("release") for ledger in ledgers] == [0] * 4


@pytest.mark.parametrize("records", [1, RECORDS, 3000])
@pytest.mark.parametrize("granted", [Fraction(1, 100), Fraction(1), EXACT])
def test_the_plans_ring_has_room_for_three_times_the_records_at_the_finest_noise_that_the_grant_buys(
    granted, records
):
    """A score is the distance to a table of as many records, rounded: to one of 2 N, so 3 N at most."""
    plan = release("2x2" if records > 1 else "1x2", granted, table=table_of(records=records))._plan
    sigma = gaussian_sigma(granted, Adjacency.ZERO_OUT)
    assert plan.ring.holds(grid_of(sigma) * 3 * records + plan.noise.largest(sigma))


@pytest.mark.parametrize(
    ("granted", "records"),
    [
        *itertools.product([Fraction(1, 10**5), Fraction(1), EXACT], [1, 3000]),
        # On a grid of 2^21 three times the records fit 32 bits, on one four times as fine the records do not.
        (Fraction(2**41, 300**2), 300),
    ],
)
@pytest.mark.parametrize("adjacency", Adjacency)
def test_the_plans_ring_has_room_for_an_interaction_of_three_attributes_that_takes_the_whole_grant(
    granted, records, adjacency
):
    """A record counts once in a difference, and the noise of eight cells does."""
    grid = "2x2" if records > 1 else "1x2"
    plan = release(grid, granted, table=table_of(records=records), adjacency=adjacency)._plan
    for shape in [(2,), (2, 2), (2, 2, 2), (3, 2, 4), (4, 4, 4), (100, 100, 100)]:
        sigma = gaussian_sigma(granted, adjacency, shape)
        noise = 2 ** len(shape) * plan.noise.largest(sigma)
        assert plan.ring.holds(grid_of(sigma) * records + noise)


def test_interactions_do_not_double_the_words_of_a_release_that_scores_alone_would_fit():
    """A quarter of a million records at rho = 1; with room for as many in each of eight cells they would."""
    plan = release("1x2", Fraction(1), table=table_of(records=250_000))._plan
    assert grid_of(gaussian_sigma(Fraction(1), Adjacency.ZERO_OUT)) * 4 * 250_000 < 2**31
    assert plan.ring == Ring(32)


def test_the_curator_tolerates_one_colluding_party_unless_told_otherwise():
    assert release("1x1")._plan.tolerated == 0
    assert release("2x2")._plan.tolerated == 1
    assert release("2x2", tolerated=3)._plan.tolerated == 3


@pytest.mark.parametrize("tolerated", [-1, 4])
def test_tolerating_everybodys_collusion_is_refused(tolerated):
    with pytest.raises(BudgetError, match="tolerated collusions"):
        release("2x2", tolerated=tolerated)


def test_the_observers_see_the_noise_of_all_parties_or_of_all_but_the_tolerated():
    (public, curator, colluders) = release("2x2", tolerated=2).observers
    assert (public.who, public.assumes) == ("the public", "every party adds its noise")
    assert curator.who == "the curator"
    assert "does not collude with a party of the record's slice" in curator.assumes
    assert "up to 2 of the 4 parties" in colluders.who
    assert "no more than 2 of the parties pool" in colluders.assumes
    factors = [public.noise_factor, curator.noise_factor, colluders.noise_factor]
    assert factors == [pytest.approx(math.sqrt(2))] * 2 + [1.0]


@pytest.mark.parametrize("grid", ["1x1", "2x2"])
def test_without_tolerated_collusions_nobody_is_promised_more_than_the_public(grid):
    observers = release(grid, tolerated=0).observers
    assert [observer.who for observer in observers] == ["the public", "the curator"]
    assert [observer.noise_factor for observer in observers] == [1.0, 1.0]


def test_terms_without_a_masked_plan_are_refused():
    table = table_of()
    federation = connect(DOMAIN, started([[table]], policy_for("trusted"), RandomStream.from_seed(1)))
    terms = ReleaseTerms("release", PROTOCOL_VERSION, "trusted", Adjacency.ZERO_OUT, 1.0)
    with pytest.raises(ValueError, match="masked plan"):
        MaskedMeasurer(federation, terms, (), Fraction(1), RandomStream.from_seed(1))


@pytest.mark.parametrize("vector", sorted(VECTORS.iterdir()), ids=lambda path: path.stem)
def test_what_the_whole_stack_opens_deals_and_shares_are_the_words_of_the_vectors(vector, monkeypatch):
    """Only the masks' seeds are set; labels, cuts, chains and the order of cells follow from the plan."""
    vector = json.loads(vector.read_text())
    ring = Ring(vector["bits"])
    seen = spied(monkeypatch, [bytes.fromhex(seed) for seed in vector["mask_seeds"]])
    rows = [row for piece in vector["slices"] for row in piece["records"]]
    table = Table.from_codes(Domain.coded(vector["domain"]), np.array(rows))
    grid = [(len(s["records"]), tuple(map(tuple, s["parties"]))) for s in vector["slices"]]
    granted = EXACT if ring.bits == 32 else 10**4 * EXACT
    measurer = release(grid, granted, table=table)
    assert measurer._plan.ring == ring
    for case in vector["sums"]:
        seen.shares.clear()
        measurer.measure([Query(tuple(case["clique"]), granted / 4, "test")])
        assert seen.shares == [numbers(role["share"]) for role in case["answers"]]
    for case in vector["openings"]:
        chain = tuple(map(tuple, vector["streams"][case["mask"]]["chain"]))
        assert seen.opened[case["party"], chain] == numbers(case["opening"])
    for case in vector["row_products"]:
        chain = tuple(map(tuple, case["chain"]))
        assert seen.opened[DeliveryKind.DEALT_ROWS, chain] == numbers(case["right"]["dealt"])
    dealt = {tuple(map(tuple, case["chain"])): numbers(case["right"]["dealt"]) for case in vector["products"]}
    assert seen.dealt == dealt


def numbers(hexadecimal):
    """The words of a vector, row-major."""
    return [int(text, 16) for text in np.array(hexadecimal).ravel()]


def spied(monkeypatch, seeds):
    """What parties are dealt and opened, and their shares of answers; masks come from these seeds."""
    seen = SimpleNamespace(opened={}, dealt={}, shares=[])
    child_key, put, share, deal = RandomStream.child_key, Openings.put, MaskedSession.share, PartyClient.deal
    planned = iter(seeds)

    def put_seen(self, key, rows, cells, chunks):
        chunks = list(chunks)
        words = np.frombuffer(b"".join(chunks), dtype=self._ring.dtype)
        seen.opened[key] = words.tolist()
        put(self, key, rows, cells, chunks)

    def deal_seen(self, delivery, blocks):
        blocks = list(blocks)
        if delivery.kind is DeliveryKind.DEALT_PRODUCT:
            seen.dealt[delivery.chain] = blocks[0].tolist()
        deal(self, delivery, blocks)

    def share_seen(self, query):
        seen.shares.append(share(self, query).tolist())
        return share(self, query)

    def seeded(self, *labels):
        return next(planned) if labels[0] == "mask seed" else child_key(self, *labels)

    monkeypatch.setattr(Openings, "put", put_seen)
    monkeypatch.setattr(PartyClient, "deal", deal_seen)
    monkeypatch.setattr(MaskedSession, "share", share_seen)
    monkeypatch.setattr(RandomStream, "child_key", seeded)
    return seen
