"""Scores through real parties and real messages, against distances computed from the table itself.

Scores are exact after rounding where the budget is so large that all noise together stays below half a
record: draws are bounded, so that these checks have no false alarms.
"""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table
from dpmosaic.common.data.view import View
from dpmosaic.common.errors import BudgetError, DataError, ProtocolError
from dpmosaic.common.privacy.cost import Adjacency, grid_of, score_cost, score_sigma
from dpmosaic.common.protocols.arithmetic.ring import Ring
from dpmosaic.curator.measurers.masked import MaskedMeasurer
from dpmosaic.curator.measurers.measurer import Query
from dpmosaic.curator.parties.client import PartyClient
from support.grids import CLIQUES, DOMAIN, GRIDS, RECORDS, release, table_of
from support.parties import Link, layout
from support.terms import RELEASE_ID

EXACT = Fraction(10**8)
"""Cost of the scores of all cliques at which their noise is far below half a record; fits 32 bits."""

EXACT_64 = 300 * EXACT


def references_of(table, cliques=CLIQUES, seed=5):
    """For every clique a reference in turn: zeros, the counts themselves, or up to 2 N random records."""
    rng = np.random.default_rng(seed)
    found = []
    for number, clique in enumerate(cliques):
        cells = table.domain.cells(clique)
        anywhere = np.bincount(rng.integers(0, cells, 2 * table.record_count), minlength=cells)
        found.append((0 * anywhere, table.marginal(clique), anywhere)[number % 3])
    return found


def distances(table, cliques, references):
    """The exact L1 distances."""
    return [int(np.abs(table.marginal(c) - r).sum()) for c, r in zip(cliques, references, strict=True)]


def assert_exact(measurer, scores, expected):
    """All rounded scores equal the distances: the noise of all parties is below half a record."""
    (charge,) = measurer.accountant.charges
    sigma = charge.sigmas[0][0]
    if isinstance(measurer, MaskedMeasurer):
        assert measurer._plan.noise.largest(sigma) / grid_of(sigma) < 1 / 2
    assert np.rint(scores.values).astype(int).tolist() == expected


@pytest.mark.slow
@pytest.mark.parametrize(("bits", "rho"), [(32, EXACT), (64, EXACT_64)])
@pytest.mark.parametrize("grid", [*GRIDS.values(), "2x1"], ids=[*GRIDS, "2x1"])
def test_every_score_is_exact_for_any_holders(grid, bits, rho):
    table = table_of()
    measurer = release(grid, rho, table=table)
    assert measurer.scores_exactly
    assert measurer._plan.ring == Ring(bits)
    references = references_of(table)
    scores = measurer.score([*map(View, CLIQUES)], references, rho, "scores")
    assert_exact(measurer, scores, distances(table, CLIQUES, references))


def test_one_trusted_party_scores_exactly():
    table = table_of()
    measurer = release("1x1", EXACT, protocol="trusted", table=table)
    assert measurer.scores_exactly
    references = references_of(table)
    scores = measurer.score([*map(View, CLIQUES)], references, EXACT, "scores")
    assert_exact(measurer, scores, distances(table, CLIQUES, references))


@pytest.mark.slow
def test_scores_single_cliques_of_one_two_and_three_parties():
    table = table_of()
    for clique in (("b", "e"), ("a", "b"), ("a", "c", "d")):
        measurer = release(((layout(RECORDS, "a be c d"),)), EXACT, table=table)
        assert len(measurer._plan.chain(View(clique), 0)) == {("b", "e"): 1, ("a", "b"): 2}.get(clique, 3)
        references = references_of(table, [clique, clique, clique])[2:]
        scores = measurer.score([View(clique)], references, EXACT, "scores")
        assert_exact(measurer, scores, distances(table, [clique], references))


@pytest.mark.slow
@pytest.mark.parametrize("grid", ["1x1", "2x2"])
def test_the_ring_holds_the_largest_distance_to_a_rounded_reference(grid):
    """Rounding takes a cell of a half and more to one, so a reference has up to 2 N records: 3 N apart."""
    domain = Domain.coded({"x": 5, "y": 40})
    table = Table.from_codes(domain, np.zeros((20, 2), dtype=int))
    measurer = release(grid, EXACT, table=table)
    reference = np.zeros(200, dtype=np.int64)
    reference[100:140] = 1
    scores = measurer.score([View(("x", "y"))], [reference], EXACT, "scores")
    assert_exact(measurer, scores, [60])


@pytest.mark.slow
@pytest.mark.parametrize("cells", [1, 20, 100])
@pytest.mark.parametrize(("protocol", "grid"), [("trusted", "1x1"), ("masked", "1x1"), ("masked", "2x2")])
def test_scores_in_several_batches_are_those_in_one(protocol, grid, cells, monkeypatch):
    asked = []
    prepare = PartyClient.prepare_scores
    monkeypatch.setattr(
        PartyClient, "prepare_scores", lambda self, query: asked.append(query) or prepare(self, query)
    )
    monkeypatch.setattr("dpmosaic.curator.measurers.scores._BATCH_CELLS", cells)
    table = table_of()
    measurer = release(grid, 2 * EXACT, protocol=protocol, table=table)
    references = references_of(table)
    scores = measurer.score([*map(View, CLIQUES)], iter(references), EXACT, "scores")
    assert_exact(measurer, scores, distances(table, CLIQUES, references))
    queries = list(dict.fromkeys(asked))
    assert len({query.query_id for query in queries}) == len(queries) > 2
    assert [view.clique for query in queries for view in query.views] == CLIQUES
    for query in queries:
        assert len(query.views) == 1 or sum(query.cells(DOMAIN)) <= cells


def test_reads_a_reference_when_its_batch_is_built(monkeypatch):
    monkeypatch.setattr("dpmosaic.curator.measurers.scores._BATCH_CELLS", 1)
    table, read, seen = table_of(), [], []
    prepare = PartyClient.prepare_scores
    monkeypatch.setattr(
        PartyClient, "prepare_scores", lambda self, query: seen.append(len(read)) or prepare(self, query)
    )
    references = (read.append(clique) or np.zeros(DOMAIN.cells(clique), dtype=np.int64) for clique in CLIQUES)
    release("1x1", protocol="trusted", table=table).score(
        [*map(View, CLIQUES)], references, Fraction(1, 2), "scores"
    )
    # One more is read to know that the batch is full.
    assert seen == [min(number + 2, len(CLIQUES)) for number in range(len(CLIQUES))]


NOISY = [("trusted", "1x1", None), ("masked", "1x1", 0), ("masked", "1x2", 0), ("masked", "1x2", 1)]
NOISY += [("masked", "2x2", 0), ("masked", "2x2", 1)]


@pytest.mark.slow
@pytest.mark.parametrize(("protocol", "grid", "tolerated"), NOISY)
@pytest.mark.parametrize("adjacency", [Adjacency.ZERO_OUT, Adjacency.REPLACE_ONE])
def test_noise_of_scores_has_the_stated_deviation(protocol, grid, tolerated, adjacency):
    """Chi-square over 4,000 scores of one clique, and their mean.

    Each of the 12 tests rejects at p < 1e-6, two-sided, and notices a deviation that is 10 % off.
    """
    table, count, rho = table_of(), 4000, Fraction(1, 2)
    parties = 1 if grid == "1x1" else 2 if grid == "1x2" else 4
    measurer = release(grid, protocol=protocol, tolerated=tolerated, table=table, adjacency=adjacency)
    references = [np.array([number % 50], dtype=np.int64) for number in range(count)]
    scores = measurer.score([*map(View, [("e",)] * count)], references, rho, "scores")
    sigma = score_sigma(rho, adjacency, count)
    factor = math.sqrt(parties / (parties - (tolerated or 0)))
    assert scores.sigma == pytest.approx(sigma * factor, rel=1e-12)
    # m c^2 / (2 sigma^2) is the cost, where a record changes a distance by c.
    changed = 1 if adjacency is Adjacency.ZERO_OUT else 2
    assert sigma == pytest.approx(changed * math.sqrt(count), rel=1e-4)
    errors = scores.values - distances(table, [("e",)] * count, references)
    below = stats.chi2.cdf(np.sum(errors**2) / scores.sigma**2, count)
    assert 5e-7 < below < 1 - 5e-7
    assert abs(errors.mean()) < 5 * scores.sigma / math.sqrt(count)


@pytest.mark.slow
def test_the_same_scores_under_a_new_id_have_fresh_noise():
    """Two draws of this width agree with p < 1e-3, four of them with p < 1e-12."""
    measurer = release("2x2")
    cliques, references = CLIQUES[:4], references_of(table_of())[:4]
    one, other = (
        measurer.score([*map(View, cliques)], references, Fraction(1, 1000), "scores") for _ in range(2)
    )
    assert np.all(one.values != other.values)


@pytest.mark.slow
@pytest.mark.parametrize("adjacency", [Adjacency.ZERO_OUT, Adjacency.REPLACE_ONE])
@pytest.mark.parametrize("batch", [1 << 21, 10])
@pytest.mark.parametrize(
    ("protocol", "grid"),
    [("trusted", "1x1"), ("masked", "1x1"), ("masked", "2x2"), ("masked", "3x3")],
)
def test_every_ledger_charges_exactly_what_the_accountant_charges(
    ledgers, protocol, grid, batch, adjacency, monkeypatch
):
    monkeypatch.setattr("dpmosaic.curator.measurers.scores._BATCH_CELLS", batch)
    measurer = release(grid, protocol=protocol, adjacency=adjacency)
    cliques, references = CLIQUES[:15], references_of(table_of())[:15]
    for rho in (Fraction(1, 7), Fraction(1, 3), Fraction(1, 1000)):
        measurer.score([*map(View, cliques)], references, rho, "scores")
        spent = measurer.accountant.spent
        assert [ledger.cost_of(RELEASE_ID) for ledger in ledgers] == [spent] * len(ledgers)
        cost = score_cost(score_sigma(rho, adjacency, 15), adjacency, 15)
        assert rho * Fraction(9999, 10000) < measurer.accountant.charges[-1].zcdp_rho == cost <= rho


@pytest.mark.slow
@pytest.mark.parametrize("batch", [1 << 21, 10])
@pytest.mark.parametrize(("protocol", "grid"), [("trusted", "1x1"), ("masked", "2x2")])
def test_parties_accept_a_query_for_all_that_is_left_after_scores(protocol, grid, batch, monkeypatch):
    monkeypatch.setattr("dpmosaic.curator.measurers.scores._BATCH_CELLS", batch)
    granted = Fraction(1, 2**12)  # so little that the noise, a float, takes a cost to the last unit
    measurer = release(grid, granted, protocol=protocol)
    measurer.score([*map(View, CLIQUES)], references_of(table_of()), granted / 2, "scores")
    measurer.measure([Query(View(("a",)), measurer.accountant.remaining, "the rest")])


def test_a_charge_names_a_noise_variable_for_every_score_in_each_slice():
    measurer = release("2x2")
    measurer.score([*map(View, CLIQUES[:3])], references_of(table_of())[:3], Fraction(1, 3), "step")
    sigma = score_sigma(Fraction(1, 3), Adjacency.ZERO_OUT, 3)
    (charge,) = measurer.accountant.charges
    assert (charge.step, charge.clique, charge.scores) == ("step", (), True)
    assert charge.sigmas == ((sigma,) * 3,) * 2


@pytest.mark.parametrize(("protocol", "grid"), [("trusted", "1x1"), ("masked", "1x1"), ("masked", "2x2")])
def test_refuses_scores_that_exceed_the_budget_and_asks_no_party(ledgers, protocol, grid, monkeypatch):
    measurer = release(grid, protocol=protocol)
    monkeypatch.setattr(Link, "call", None)
    with pytest.raises(BudgetError, match="more than is left"):
        measurer.score([*map(View, CLIQUES)], references_of(table_of()), Fraction(5, 4), "scores")
    assert measurer.accountant.charges == ()
    assert [ledger.cost_of(RELEASE_ID) for ledger in ledgers] == [0] * len(ledgers)


def test_refuses_scores_whose_noise_does_not_fit_the_ring_uncharged(ledgers, monkeypatch):
    measurer = release("2x2")
    monkeypatch.setattr(Link, "call", None)
    with pytest.raises(BudgetError, match="noise that fits the plan's ring"):
        measurer.score([*map(View, CLIQUES)], references_of(table_of()), Fraction(1, 10**15), "scores")
    assert measurer.accountant.charges == ()
    assert [ledger.cost_of(RELEASE_ID) for ledger in ledgers] == [0] * 4


HUGE = Domain.coded({"x": 10_000, "y": 10_000, "z": 2})


def test_refuses_a_clique_whose_openings_exceed_the_limit_uncharged_and_unasked(ledgers, monkeypatch):
    measurer = release("1x2", table=table_of(HUGE, records=30))
    monkeypatch.setattr(Link, "call", None)
    references = (np.zeros(HUGE.cells(clique), dtype=np.int64) for clique in (("z",), HUGE.names))
    with pytest.raises(DataError, match="x, y, z needs an opening of more than 4 GiB"):
        measurer.score([View(("z",)), View(HUGE.names)], references, Fraction(1, 4), "scores")
    assert measurer.accountant.charges == ()
    assert [ledger.cost_of(RELEASE_ID) for ledger in ledgers] == [0, 0]


NOBODY = {
    "two of four parties may collude": {"grid": "2x2", "tolerated": 2},
    "three of four parties may collude": {"grid": "2x2", "tolerated": 3},
    "indicator vectors": {"protocol": "indicator", "grid": "1x2"},
    "indicator vectors of one party": {"protocol": "indicator", "grid": "1x1"},
}


@pytest.mark.parametrize("options", NOBODY.values(), ids=NOBODY)
def test_without_evaluators_refuses_scores_uncharged(options, ledgers, monkeypatch):
    measurer = release(**options)
    assert not measurer.scores_exactly
    monkeypatch.setattr(Link, "call", None)
    with pytest.raises(DataError, match="gives no scores for these parties; select by noisy marginals"):
        measurer.score([View(("a",))], [np.zeros(2, dtype=np.int64)], Fraction(1, 2), "scores")
    assert measurer.accountant.charges == ()
    assert [ledger.cost_of(RELEASE_ID) for ledger in ledgers] == [0] * len(ledgers)


def test_every_party_refuses_a_reference_too_distant_for_the_ring(ledgers):
    measurer = release("2x2")
    with pytest.raises(ProtocolError, match="differences and scores that fit"):
        measurer.score([View(("a",))], [np.array([1, 1 << 50])], Fraction(1, 2), "scores")
    assert [ledger.cost_of(RELEASE_ID) for ledger in ledgers] == [0] * 4


@pytest.mark.slow
def test_marginals_and_scores_of_one_release_have_separate_ids_and_costs(ledgers):
    table = table_of()
    measurer = release("2x2", table=table)
    first, second = [("a", "d"), ("b",)], [("a", "d"), ("b", "c", "d")]
    for cliques in (first, second):
        measurer.measure([Query(View(clique), Fraction(1, 8), "marginals") for clique in cliques])
        references = [np.zeros(DOMAIN.cells(clique), dtype=np.int64) for clique in cliques]
        scores = measurer.score([*map(View, cliques)], references, Fraction(1, 8), "scores")
        # Within eight deviations: p < 1e-14.
        assert np.all(np.abs(scores.values - RECORDS) < 8 * scores.sigma)
    steps = [charge.step for charge in measurer.accountant.charges]
    assert steps == ["marginals", "marginals", "scores"] * 2
    assert [ledger.cost_of(RELEASE_ID) for ledger in ledgers] == [measurer.accountant.spent] * 4
