"""PPSyn: scores, selection, and measurements over boxes with their costs."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.data.boxes import box_sums
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table
from dpmosaic.common.data.workload import Workload
from dpmosaic.common.errors import DataError, ModelError
from dpmosaic.common.measurement import Measurement
from dpmosaic.common.privacy.budget import Budget, Charge
from dpmosaic.curator.measurers.measurer import Scores
from dpmosaic.curator.mechanisms.independent import Independent
from dpmosaic.curator.mechanisms.parts.fitted import ignore
from dpmosaic.curator.mechanisms.parts.scoring import DRAFT
from dpmosaic.curator.mechanisms.ppsyn.partitions import WithinBoxDeviation, sequence_of
from dpmosaic.curator.mechanisms.ppsyn.ppsyn import PPSyn
from dpmosaic.curator.pgm.fitting.estimation import estimate
from support.measurers import OfCounts, tables
from support.spending import spent_by_step

pytestmark = pytest.mark.slow


def test_the_budget_goes_to_one_way_marginals_scores_rounds_and_a_last_round(run, chain_table):
    fitted, measurer = run(PPSyn(), chain_table(), Budget(5.0, 1e-9))
    shares = spent_by_step(measurer)
    assert shares["one-way"] == pytest.approx(0.1)
    assert shares["scores"] == pytest.approx(0.05)
    rounds = sum(done.zcdp_rho for done in fitted.rounds)
    assert rounds == pytest.approx(shares["round"] * float(measurer.granted))
    assert sum(shares.values()) == pytest.approx(1)
    for charge in measurer.accountant.charges:
        assert charge.sigmas
        assert charge.scores == (charge.step == "scores")


def test_its_steps_state_the_budget_split(run, chain_table):
    fitted, _ = run(PPSyn(one_way=0.25, scores=0.125, rounds=4), chain_table(), Budget(5.0, 1e-9))
    shares = {step.name: (float(step.share), step.times) for step in fitted.steps}
    assert shares == {
        "one-way": (0.25, 1),
        "scores": (0.125, 5),
        "round": (0.5, 4),
        "last round": (0.125, 1),
    }
    assert fitted.steps[-1].certain == (("a",), ("b",), ("c",), ("d",))


@pytest.mark.parametrize("eta", [0.4, 0.7, 1.0])
def test_a_round_measures_over_the_boxes_and_at_the_cost_that_the_score_requires(
    eta, run, wide_table, scored
):
    table = wide_table()
    fitted, _ = run(PPSyn(eta=eta), table, Budget(3.0, 1e-9))
    ways = {m.clique[0]: m for m in fitted.measurements[:6]}
    start = estimate(table.domain, list(ways.values()), total=table.record_count, tolerance=DRAFT)
    cliques, references, scores = scored[0]
    for clique, reference in zip(cliques, references, strict=True):
        assert reference.tolist() == np.rint(start.marginal(clique)).astype(int).tolist()
    first = fitted.measurements[6]
    assert first.clique == fitted.rounds[0].clique
    masses = [np.maximum(start.marginal((name,)), ways[name].sigma) for name in first.clique]
    sequence = sequence_of((10, 10), WithinBoxDeviation([mass / mass.sum() for mass in masses]))
    roots = {k: k / (eta - sequence.error(k)) for k in range(1, 101) if sequence.error(k) < eta}
    count = min(roots, key=roots.get)
    contribution = scores.values[cliques.index(first.clique)] - scores.sigma
    assert first.zcdp_rho == pytest.approx(roots[count] ** 2 / np.pi / contribution**2, rel=1e-3)
    assert first.view.boxes == (sequence.boxes(count) if count < 100 else ())
    assert (count < 100) == (eta > 0.5)


@pytest.mark.parametrize("heavy", [("a", "b"), ("c", "d")])
def test_of_two_pairs_that_depend_alike_the_one_of_more_weight_comes_first(heavy, run, pairs_table):
    cliques = tuple(itertools.combinations("abcd", 2))
    weights = tuple(20.0 if clique == heavy else 1.0 for clique in cliques)
    fitted, _ = run(PPSyn(), pairs_table((0.7, 0.7)), Budget(4.0, 1e-9), workload=Workload(cliques, weights))
    assert fitted.rounds[0].clique == heavy


def test_selects_a_dependent_pair_before_independent_ones(run, pairs_table):
    """The distance is 1,000 records and more, the noise of a score has a deviation of about 100.

    An independent pair comes first in one of four tables with probability below 1e-6.
    """
    for seed in range(4):
        fitted, _ = run(PPSyn(), pairs_table((0.9, 0.0), seed=seed), Budget(4.0, 1e-9), seed=seed)
        assert fitted.rounds[0].clique == ("a", "b")


def test_of_two_pairs_that_depend_alike_the_one_of_fewer_cells_comes_first(run):
    """It needs less budget for the same contribution."""
    rng = np.random.default_rng(0)
    small, large = rng.integers(0, 2, 3000), rng.integers(0, 2, 3000)
    codes = np.column_stack([small, small, 10 * large, 10 * large + rng.integers(0, 10, 3000)])
    table = Table.from_codes(Domain.coded({"a": 2, "b": 2, "c": 20, "d": 20}), codes)
    fitted, _ = run(PPSyn(), table, Budget(4.0, 1e-9))
    order = [done.clique for done in fitted.rounds]
    assert order[0] == ("a", "b")
    assert ("c", "d") in order


def test_repeated_measurements_use_smaller_boxes(run, wide_table):
    fitted, _ = run(PPSyn(), wide_table(), Budget(3.0, 1e-9))
    rounds = fitted.measurements[6 : 6 + len(fitted.rounds)]
    counts = {}
    for measurement in rounds:
        counts.setdefault(measurement.clique, []).append(len(measurement.values))
    again = [found for found in counts.values() if len(found) > 1]
    assert again
    for found in again:
        assert all(few < many or few == 100 for few, many in itertools.pairwise(found))


def test_partitions_improve_marginals_of_many_cells(run, monkeypatch):
    """Three tables of two attributes of 30 codes that follow each other roughly; noise hides single cells."""
    rng = np.random.default_rng(5)
    errors = {"boxes": 0.0, "cells": 0.0}
    tables = []
    for _ in range(3):
        first = rng.integers(0, 30, 4000)
        second = np.clip(first + rng.integers(-6, 7, 4000), 0, 29)
        tables.append(Table.from_codes(Domain.coded({"a": 30, "b": 30}), np.column_stack([first, second])))
    for kind in errors:
        if kind == "cells":
            whole = "dpmosaic.curator.mechanisms.ppsyn.run.Partitioned"
            monkeypatch.setattr(f"{whole}.cheapest", lambda self, eta: (self.cells, self.cells / eta))
            monkeypatch.setattr(f"{whole}.finest_worthwhile", lambda self, noise: self.cells)
        for seed, table in enumerate(tables):
            fitted, _ = run(PPSyn(), table, Budget(1.0, 1e-9), seed=seed)
            off = fitted.model.marginal(("a", "b")) - table.marginal(("a", "b"))
            errors[kind] += np.abs(off).sum() / table.record_count / len(tables)
    assert errors["boxes"] < 0.5 * errors["cells"]


def test_one_way_marginals_of_a_workload_are_merged_where_that_is_cheaper(run):
    codes = np.minimum(np.random.default_rng(0).geometric(0.2, 4000), 40) - 1
    table = Table.from_codes(Domain.coded({"a": 40}), codes[:, None])
    fitted, _ = run(PPSyn(), table, Budget(0.2, 1e-9), k=1)
    boxed = [m for m in fitted.measurements if m.view.boxes]
    assert boxed
    assert all(1 < len(m.view.boxes) < 40 for m in boxed)


def test_it_is_closer_than_independence_where_attributes_depend(run, chain_table):
    table = chain_table()

    def error(mechanism):
        fitted, _ = run(mechanism, table, Budget(1.0, 1e-9))
        pairs = itertools.combinations(table.domain.names, 2)
        return sum(np.abs(fitted.model.marginal(c) - table.marginal(c)).sum() for c in pairs)

    assert error(PPSyn()) < 0.6 * error(Independent())


@pytest.mark.parametrize("grid", ["2x2", "1x4"])
def test_over_masked_parties_it_measures_over_boxes(grid, run, wide_table):
    fitted, measurer = run(PPSyn(), wide_table(1000), Budget(8.0, 1e-9), protocol="masked", grid=grid)
    assert any(m.view.boxes for m in fitted.measurements)
    assert measurer.accountant.spent > measurer.accountant.granted * Fraction(999, 1000)
    assert fitted.selection == "exact L1 distances with noise, for each unit of budget"


class Replayed(OfCounts):
    """A table whose noisy answers and scores come from a fixed transcript, whatever its records."""

    def __init__(self, domain, counts, records):
        super().__init__(domain, counts, records, granted=50)
        self._transcript = np.random.default_rng(7)

    def _sums(self, clique, boxes):
        cells = self.marginal(clique)
        return box_sums(cells, self.domain.shape(clique), boxes) if boxes else cells

    def score(self, views, references, zcdp_rho, step):
        cliques = [view.clique for view in views]
        references = [reference.tolist() for reference in references]
        sigma = self.charge_scores(views, zcdp_rho, step)
        distances = [np.abs(self.marginal(c) - r).sum() for c, r in zip(cliques, references, strict=True)]
        self.asked.append(((tuple(cliques), str(references), sigma), np.array(distances), 1))
        return Scores(self._transcript.uniform(0, 60, len(cliques)), sigma)

    def _answer(self, query, charge):
        exact = self._sums(query.view.clique, query.view.boxes)
        self.asked.append(((query, charge), exact, 2))
        noisy = self._transcript.normal(3.0, 2.0, exact.size)
        return Measurement(query.view, noisy, charge.sigmas[0][0], float(charge.zcdp_rho), True)


@pytest.mark.parametrize("sizes", [(8,), (3, 4), (2, 2, 2)])
def test_a_record_changes_only_noisy_values_and_by_at_most_1_over_all_neighbouring_tables(sizes):
    """Every table of two records and every one with a record less, given the same noisy answers.

    All queries and charges (cliques, references, boxes, budgets) are the same for both tables, each score
    changes by at most 1, each vector of sums by at most 1 in L2 norm; both bounds are attained.
    """
    domain = Domain.coded(dict(zip("abc", sizes, strict=False)))
    runs = {}
    for counts in tables(int(np.prod(sizes)), 2):
        measurer = Replayed(domain, counts, 2)
        workload = Workload.all_kway(domain, min(2, len(domain)))
        PPSyn(rounds=2, eta=1.0).run(measurer, workload, RandomStream.from_seed(0), ignore)
        runs[counts] = measurer.asked
    largest = {1: 0.0, 2: 0.0}
    for counts, asked in runs.items():
        for cell in np.flatnonzero(counts):
            fewer = list(counts)
            fewer[cell] -= 1
            for one, other in zip(asked, runs[tuple(fewer)], strict=True):
                assert one[0] == other[0]
                change = np.abs(one[1] - other[1])
                size = change.max() if one[2] == 1 else np.linalg.norm(change)
                largest[one[2]] = max(largest[one[2]], size)
    assert largest == {1: 1.0, 2: 1.0}
    (asked,) = {len(asked) for asked in runs.values()}
    assert asked > 2 * len(sizes)
    boxed = any(isinstance(a[0][1], Charge) and a[0][0].view.boxes for a in runs[counts])
    assert boxed == (len(sizes) < 3)


def test_refuses_a_model_that_cannot_be_small_enough_before_any_charge(measurer_over, chain_table):
    measurer = measurer_over(chain_table(), Fraction(1))
    workload = Workload.all_kway(measurer.domain, 2)
    with pytest.raises(ModelError, match="max_model_mb"):
        PPSyn(max_model_mb=1e-6).run(measurer, workload, RandomStream.from_seed(1), ignore)
    assert measurer.accountant.charges == ()


def test_the_model_stays_within_its_limit(run, wide_table):
    limit = 600 * 8 / 2**20
    fitted, _ = run(PPSyn(max_model_mb=limit), wide_table(), Budget(20.0, 1e-9))
    assert len({done.clique for done in fitted.rounds}) >= 2
    assert fitted.model.size_mb <= limit


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"variant": "other"}, "variant"),
        ({"eta": 0.0}, "eta"),
        ({"eta": 1.1}, "eta"),
        ({"one_way": 0.0}, "one_way"),
        ({"scores": 1.0}, "scores"),
        ({"one_way": 0.6, "scores": 0.4}, r"expected one_way \+ scores < 1"),
        ({"rounds": 0}, "rounds"),
        ({"maxsize": 0}, "maxsize"),
        ({"max_model_mb": 0}, "max_model_mb"),
    ],
)
def test_refuses_parameters_out_of_range(options, named):
    with pytest.raises(DataError, match=named):
        PPSyn(**options)
