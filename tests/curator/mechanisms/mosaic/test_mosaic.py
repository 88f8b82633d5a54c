"""Mosaic: its queries, their order, and its accuracy."""

import itertools
import math
import os
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest

from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table
from dpmosaic.common.data.workload import Workload
from dpmosaic.common.errors import DataError, ModelError
from dpmosaic.common.privacy.budget import Budget
from dpmosaic.common.privacy.cost import MAX_INTERACTION_SIZE, Adjacency, gaussian_sigma
from dpmosaic.curator.mechanisms.mosaic.knowledge import Knowledge
from dpmosaic.curator.mechanisms.mosaic.mosaic import Mosaic, candidates, cheap, least_noise
from dpmosaic.curator.mechanisms.mosaic.settings import SETTINGS
from dpmosaic.curator.mechanisms.parts.fitted import ignore
from dpmosaic.curator.mechanisms.randdpgen.randdpgen import RandDPGen

pytestmark = pytest.mark.slow

BUDGET = Budget(2.0, 1e-9)


def parity_table(records=4000, seed=0):
    """Three fair bits of which any two are independent and the third is their parity, and a fourth apart."""
    rng = np.random.default_rng(seed)
    first, second, apart = rng.integers(0, 2, (3, records))
    codes = np.column_stack([first, second, first ^ second, apart])
    return Table.from_codes(Domain.coded(dict.fromkeys("abcd", 2)), codes)


def distance(fitted, table, size):
    cliques = list(itertools.combinations(table.domain.names, size))
    apart = [np.abs(fitted.model.marginal(c) - table.marginal(c)).sum() for c in cliques]
    return sum(apart) / len(cliques) / (2 * table.record_count)


def steps(measurer):
    return list(dict.fromkeys(charge.step for charge in measurer.accountant.charges))


@pytest.mark.parametrize("parties", [{"protocol": "trusted"}, {"protocol": "masked", "grid": "2x2"}])
def test_asks_only_for_interactions_and_scores(parties, run, chain_table):
    fitted, measurer = run(Mosaic(), chain_table(), BUDGET, **parties)
    assert all(charge.interaction or charge.scores for charge in measurer.accountant.charges)
    assert all(measurement.view.interaction for measurement in fitted.measurements)
    assert fitted.selection == "exact L1 distances with noise"


def test_over_many_seeds_it_is_closer_than_randdpgen(run, chain_table):
    """Six tables at a budget where noise matters, fixed seeds: the mean of both."""
    errors = {
        mechanism: [
            distance(run(mechanism, table, Budget(0.5, 1e-9), seed=seed)[0], table, 2)
            for seed in range(6)
            for table in [chain_table(seed=seed)]
        ]
        for mechanism in (Mosaic(), RandDPGen())
    }
    mosaic, randdpgen = (np.mean(found) for found in errors.values())
    assert mosaic < 0.95 * randdpgen


def test_finds_an_interaction_of_three_attributes_with_independent_pairs(run):
    table = parity_table()
    fitted, _ = run(Mosaic(), table, Budget(5.0, 1e-9), k=3)
    assert ("a", "b", "c") in {done.clique for done in fitted.rounds}
    assert distance(fitted, table, 3) < 0.03


def test_rows_match_the_model_on_the_workload_s_larger_marginals(run, chain_table):
    table = chain_table()
    larger, _ = run(Mosaic(), table, Budget(20.0, 1e-9), k=3)
    assert set(larger.model.larger) == set(itertools.combinations(table.domain.names, 3))
    rows = larger.model.generate(table.record_count, np.random.default_rng(1))
    drawn = larger.model.model.generate(table.record_count, np.random.default_rng(1))
    apart = [
        sum(np.abs(of.marginal(c) - larger.model.marginal(c)).sum() for c in larger.model.larger)
        for of in (rows, drawn)
    ]
    assert apart[0] < 0.8 * apart[1]
    pairs, _ = run(Mosaic(), table, Budget(20.0, 1e-9))
    assert not getattr(pairs.model, "larger", ())


def few_records(seed, copied):
    """300 records of six independent attributes of six values; if copied, b is a."""
    codes = np.random.default_rng(seed).integers(0, 6, (300, 6))
    if copied:
        codes[:, 1] = codes[:, 0]
    return Table.from_codes(Domain.coded(dict.fromkeys("abcdef", 6)), codes)


def test_without_pairs_that_are_worth_it_one_way_marginals_get_their_budget(run):
    for seed in range(4):
        _, measurer = run(Mosaic(), few_records(seed, copied=False), Budget(zcdp_rho=0.003), seed=seed)
        asked = {charge.clique for charge in measurer.accountant.charges if not charge.scores}
        assert asked == {(name,) for name in "abcdef"}


def test_a_round_costs_at_most_what_the_budget_split_gives_its_pairs(run):
    shares = []
    for seed in range(4):
        _, measurer = run(Mosaic(), few_records(seed, copied=True), Budget(zcdp_rho=0.03), seed=seed)
        rounds = [charge for charge in measurer.accountant.charges if charge.step == "round"]
        assert ("a", "b") in {charge.clique for charge in rounds}
        shares.append(float(sum(charge.zcdp_rho for charge in rounds) / measurer.granted))
    assert min(shares) < SETTINGS.round / 2


def test_measures_no_interaction_before_its_subsets(run, chain_table):
    fitted, _ = run(Mosaic(), chain_table(), Budget(20.0, 1e-9), k=3)
    seen = set()
    for measurement in fitted.measurements:
        clique = measurement.clique
        parts = {p for k in range(1, len(clique)) for p in itertools.combinations(clique, k)}
        assert parts <= seen, clique
        seen.add(clique)
    assert any(len(clique) == 3 for clique in seen)


def test_supports_workloads_of_mixed_sizes_and_weights(run, chain_table):
    table = chain_table()
    workload = Workload((("a",), ("a", "b"), ("b", "c", "d")), (1.0, 3.0, 0.5))
    fitted, measurer = run(Mosaic(), table, Budget(zcdp_rho=1e7), workload=workload)
    assert measurer.accountant.spent > measurer.accountant.granted * Fraction(999, 1000)
    for clique in workload.cliques:
        assert np.allclose(fitted.model.marginal(clique), table.marginal(clique), atol=15), clique


@pytest.mark.parametrize(
    ("grid", "surveyed"),
    [("1x1", list(itertools.combinations("abcd", 2))), ("1x2", [("a", "b"), ("c", "d")])],
    ids=["one party", "two parties, pairs across which are too noisy"],
)
def test_without_scores_all_measurable_pairs_are_measured_once_before_the_last_round(
    grid, surveyed, run, chain_table
):
    fitted, measurer = run(Mosaic(), chain_table(), Budget(0.5, 1e-9), protocol="indicator", grid=grid)
    assert steps(measurer) == ["one-way", "survey", "last round"]
    assert [c.clique for c in measurer.accountant.charges if c.step == "survey"] == surveyed
    assert fitted.selection == "noisy interactions of pairs"


def classes_table(records=4000, seed=0):
    """Ten binary attributes that are independent given one of three classes."""
    rng = np.random.default_rng(seed)
    given, hidden = rng.beta(0.7, 0.7, (3, 10)), rng.integers(0, 3, records)
    codes = (rng.random((records, 10)) < given[hidden]).astype(int)
    return Table.from_codes(Domain.coded(dict.fromkeys("abcdefghij", 2)), codes)


@pytest.mark.parametrize(
    ("rho", "expected"),
    [(0.01, ["one-way", "survey", "last round"]), (10.0, ["one-way", "scores", "round"])],
    ids=["poor scores", "good scores"],
)
def test_measures_pairs_of_binary_attributes_instead_of_scoring_them_if_scores_are_poor(run, rho, expected):
    fitted, measurer = run(Mosaic(), classes_table(), Budget(zcdp_rho=rho))
    assert steps(measurer)[:3] == expected
    assert {bound.clique for bound in fitted.bounds} == set(itertools.combinations("abcdefghij", 2))


def test_scores_all_pairs_if_few_of_them_are_small(run):
    codes = np.random.default_rng(0).integers(0, [2, 2, 5, 5], (500, 4))
    table = Table.from_codes(Domain.coded({"a": 2, "b": 2, "c": 5, "d": 5}), codes)
    _, measurer = run(Mosaic(), table, Budget(zcdp_rho=0.001))
    assert "survey" not in steps(measurer)
    assert "scores" in steps(measurer)


def test_scores_the_other_candidates_and_selects_among_all(run, chain_table, scored):
    """The chain a, b, c, d of more values, and two copies of one binary attribute."""
    chain = chain_table()
    twin = np.random.default_rng(5).integers(0, 2, chain.record_count)
    codes = np.column_stack([*chain.columns, twin, twin])
    sizes = dict(zip([*chain.domain.names, "x", "y"], [*chain.domain.sizes, 2, 2], strict=True))
    fitted, measurer = run(Mosaic(), Table.from_codes(Domain.coded(sizes), codes), Budget(zcdp_rho=0.02))
    charges = measurer.accountant.charges
    surveyed = {c.clique for c in charges if c.step == "survey"}
    pairs = itertools.combinations(sizes, 2)
    assert surveyed == {(a, b) for a, b in pairs if (sizes[a] - 1) * (sizes[b] - 1) <= 2}
    assert steps(measurer)[:3] == ["one-way", "survey", "scores"]
    (asked, _, _), *_ = scored
    assert set(asked) == {*itertools.combinations(sizes, 2)} - surveyed
    assert ("x", "y") in {done.clique for done in fitted.rounds}


@pytest.mark.parametrize("shape", [(2, 2), (2, 3), (3, 3)])
def test_a_pair_is_cheap_if_its_noise_is_at_most_twice_that_of_a_score(shape):
    """The expected L1 norm of the noise from sensitivities and freedom, against the scale of a score."""
    rho, (n, m) = Fraction(1, 100), shape
    sigma = gaussian_sigma(rho, Adjacency.ZERO_OUT, shape)
    cells = n * m * sigma * math.sqrt((1 - 1 / n) * (1 - 1 / m)) * math.sqrt(2 / math.pi)
    ratio = cells / gaussian_sigma(rho, Adjacency.ZERO_OUT)
    assert ratio == pytest.approx((n - 1) * (m - 1) * math.sqrt(2 / math.pi), rel=1e-3)
    domain = Domain.coded({"a": n, "b": m, "c": 2})
    assert cheap(domain, ("a", "b")) == (ratio <= 2)
    assert not cheap(domain, ("a", "b", "c"))


def test_over_many_seeds_measuring_binary_pairs_beats_scoring_them_if_scores_are_poor(run, monkeypatch):
    """Six tables, fixed seeds: the means."""

    def error():
        tables = [classes_table(seed=seed) for seed in range(6)]
        return np.mean([distance(run(Mosaic(), t, Budget(zcdp_rho=0.001))[0], t, 2) for t in tables])

    measured = error()
    monkeypatch.setitem(vars(SETTINGS), "poor_score", math.inf)
    assert measured < error()


def test_over_many_seeds_pairs_are_closer_beside_what_the_largest_ones_predict(
    run, chain_of_bits, monkeypatch
):
    """Six chains, fixed seeds: the means, beside references that are all independent."""

    def error():
        tables = [chain_of_bits(4_000, seed) for seed in range(6)]
        return np.mean([distance(run(Mosaic(), t, Budget(zcdp_rho=0.002))[0], t, 2) for t in tables])

    beside = error()
    monkeypatch.setattr(Knowledge, "forest", lambda known: list(known.chosen))
    assert beside < 0.97 * error()


def test_bounds_from_measurements_alone_hold_for_nearly_all_marginals(run, chain_table):
    """At most 72 bounds that fail with at most 2.5 % each, six for each table: as in the contract."""
    failures = count = 0
    for seed in range(12):
        table = chain_table(seed=seed)
        fitted, _ = run(Mosaic(), table, BUDGET, seed=seed, protocol="indicator")
        for bound in fitted.bounds:
            error = np.abs(fitted.model.marginal(bound.clique) - table.marginal(bound.clique)).sum()
            failures, count = failures + (error > bound.l1), count + 1
    assert count >= 24
    assert failures <= 18


def test_a_candidate_s_least_noise_is_that_of_the_whole_budget(facts):
    given = facts(Domain.coded({"a": 10, "b": 20}), 1000, Fraction(1, 2))
    # Noise of scale 1 in 200 cells; a standard normal variable is sqrt(2 / pi) from zero on average.
    assert least_noise(given, ("a", "b")) == pytest.approx(200 * 0.79788 / 1000, rel=1e-4)


def test_candidates_are_the_workload_and_its_subsets_that_fit():
    domain = Domain.coded({"a": 2, "b": 3, "c": 1, "d": 1000, "e": MAX_INTERACTION_SIZE + 1})
    workload = Workload((("a", "b", "d"), ("a", "c"), ("a", "e"), ("b", "d")), (1.0,) * 4)
    assert candidates(domain, workload, 1.0) == [("a", "b"), ("a", "d"), ("b", "d"), ("a", "b", "d")]
    assert candidates(domain, workload, 0.02) == [("a", "b"), ("a", "d")]


def test_an_attribute_too_large_for_interactions_is_measured_as_a_marginal(run):
    domain = Domain.coded({"a": 2, "large": MAX_INTERACTION_SIZE + 1})
    rng = np.random.default_rng(0)
    codes = np.column_stack([rng.integers(0, 2, 500), rng.integers(0, 10, 500)])
    fitted, measurer = run(Mosaic(), Table.from_codes(domain, codes), Budget(zcdp_rho=1e5))
    assert {c.clique: bool(c.interaction) for c in measurer.accountant.charges} == {
        ("a",): True,
        ("large",): False,
    }
    assert np.allclose(fitted.model.marginal(("large",))[:10], np.bincount(codes[:, 1]), atol=1)


def test_one_way_workloads_get_the_whole_budget_for_one_way_marginals(run, chain_table):
    fitted, measurer = run(Mosaic(), chain_table(), BUDGET, k=1)
    assert steps(measurer) == ["one-way"]
    assert len(fitted.bounds) == 4


@pytest.mark.parametrize("field", ["max_model_mb", "time_limit"])
@pytest.mark.parametrize("value", [0.0, -1.0, float("inf"), float("nan")])
def test_refuses_limits_that_are_not_positive(field, value):
    with pytest.raises(DataError, match=rf"{field}: expected (none or )?a number above 0"):
        Mosaic(**{field: value})


def test_a_time_limit_makes_the_model_small(run, wide_table):
    assert Mosaic(time_limit=4.0).model_limit_mb == 2.0
    assert Mosaic(time_limit=1e6).model_limit_mb == 8.0
    small, large = (
        run(Mosaic(time_limit=limit), wide_table(), Budget(10.0, 1e-9))[0].model for limit in (0.05, None)
    )
    assert small.size_mb <= 0.025 < large.size_mb


def test_measures_pairs_outside_the_model_last_and_adjusts_rows_to_them(run, wide_table):
    """Six dependent attributes and a model that holds only few of their fifteen pairs."""
    table = wide_table(records=20000)
    fitted, measurer = run(Mosaic(max_model_mb=0.01), table, Budget(10.0, 1e-9))
    pairs = fitted.model.pairs
    modelled = {pair for clique in fitted.model.model.cliques for pair in itertools.combinations(clique, 2)}
    assert len(pairs) >= 5
    assert not modelled & set(pairs)
    steps_of = {pair: [c.step for c in measurer.accountant.charges if c.clique == pair] for pair in pairs}
    assert set(itertools.chain(*steps_of.values())) == {"last round"}
    assert set(pairs) <= {bound.clique for bound in fitted.bounds}
    rows = fitted.model.generate(20000, np.random.default_rng(1))
    by_rows, by_model = (
        np.mean([np.abs(of.marginal(pair) - table.marginal(pair)).sum() for pair in pairs])
        for of in (rows, fitted.model.model)
    )
    assert by_rows < 0.3 * by_model


def test_pairs_outside_the_model_may_have_more_cells_than_there_are_records(run):
    domain = Domain.coded({"a": 2, "b": 400, "c": 400})
    codes = np.random.default_rng(0).integers(0, [2, 3, 3], (300, 3))
    fitted, _ = run(Mosaic(max_model_mb=0.01), Table.from_codes(domain, codes), Budget(zcdp_rho=1e9))
    found = fitted.model.pairs["a", "c"]
    assert found.size == 800
    assert found.sum() == pytest.approx(300)
    # The model's limit leaves no room for this one, so it is measured in groups.
    assert next(one.clique for one in fitted.model.grouped) == ("b", "c")


def test_without_scores_rows_are_also_adjusted_to_pairs_outside_the_model(run, wide_table):
    table = wide_table(records=20000)
    fitted, _ = run(Mosaic(max_model_mb=0.01), table, Budget(10.0, 1e-9), protocol="indicator")
    errors = [
        np.abs(fitted.model.pairs[pair] - table.marginal(pair)).sum()
        / np.abs(fitted.model.model.marginal(pair) - table.marginal(pair)).sum()
        for pair in fitted.model.pairs
    ]
    assert len(errors) >= 5
    assert np.mean(errors) < 0.5


def test_refuses_a_limit_below_the_smallest_candidate_before_any_charge(measurer_over, chain_table):
    measurer = measurer_over(chain_table(), Fraction(1))
    workload = Workload((("a", "c"),), (1.0,))
    with pytest.raises(ModelError, match="max_model_mb"):
        Mosaic(max_model_mb=1e-4).run(measurer, workload, RandomStream.from_seed(1), ignore)
    assert measurer.accountant.charges == ()


SEEDED = """
import numpy as np, dpmosaic
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table
rng = np.random.default_rng(0)
shared = rng.integers(0, 3, 600)
codes = np.column_stack([(shared + rng.integers(0, k + 1, 600)) % 3 for k in range(8)])
table = Table.from_codes(Domain.coded({name: 3 for name in "abcdefgh"}), codes)
made = dpmosaic.simulate(table, epsilon=dpmosaic.Budget(zcdp_rho=0.05), protocol="trusted", seed=1)
print([made.fitted.model.marginal(c).tobytes().hex() for c in made.fitted.model.cliques])
"""


def test_two_processes_make_the_same_floats_so_that_a_release_can_be_resumed():
    said = [
        subprocess.run(
            [sys.executable, "-c", SEEDED],
            env={**os.environ, "PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert said[0] == said[1]
