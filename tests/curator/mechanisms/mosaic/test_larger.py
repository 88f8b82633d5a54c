"""Larger interactions: candidates, scores and estimates, and that a run finds them."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table
from dpmosaic.common.data.view import View
from dpmosaic.common.data.workload import Workload
from dpmosaic.common.measurement import Measurement
from dpmosaic.common.privacy.budget import Budget
from dpmosaic.curator.measurers.measurer import Scores
from dpmosaic.curator.mechanisms.mosaic import knowledge as of_knowledge
from dpmosaic.curator.mechanisms.mosaic import mosaic
from dpmosaic.curator.mechanisms.mosaic.effects import Effect
from dpmosaic.curator.mechanisms.mosaic.grouping import Candidates
from dpmosaic.curator.mechanisms.mosaic.mosaic import Mosaic
from dpmosaic.curator.mechanisms.mosaic.observed import Observed
from dpmosaic.curator.mechanisms.mosaic.released import marginals_beside, pair_in_groups, references
from dpmosaic.curator.mechanisms.mosaic.settings import SETTINGS

pytestmark = pytest.mark.slow

RECORDS = 4000
PARITY = ("a", "c", "d")


def bits(names="abcde", parity=PARITY, records=RECORDS, seed=0):
    """Fair bits; the last of the named three is the parity of the first two, up to chance."""
    codes = np.random.default_rng(seed).integers(0, 2, (records, len(names)))
    if parity:
        first, second, third = map(list(names).index, parity)
        codes[:, third] = codes[:, first] ^ codes[:, second]
    return Table.from_codes(Domain.coded(dict.fromkeys(names, 2)), codes)


def boxes(records=20_000, seed=0):
    """Two numbers, a class that is their quadrant's in nine of ten records, and an attribute apart."""
    rng = np.random.default_rng(seed)
    x, y = rng.integers(0, 40, (2, records))
    cross = ((x >= 20) ^ (y >= 20)).astype(int)
    seen = np.where(rng.random(records) < 0.1, 1 - cross, cross)
    domain = Domain.coded({"x": 40, "y": 40, "class": 2, "apart": 3})
    return Table.from_codes(domain, np.column_stack([x, y, seen, rng.integers(0, 3, records)]))


def l1(one, other):
    return float(np.abs(one - other).sum())


def cliques(known, order, most_cells, without=()):
    """The candidates in the order in which they are found."""
    return [view.clique for view in Candidates(known).find(order, most_cells, without)]


def larger_charges(measurer):
    return [c for c in measurer.accountant.charges if len(c.clique) > 2 and not c.scores]


def test_triples_come_in_the_order_of_the_sum_of_their_pairs(measured):
    """Against the distances of the table's pairs from independence."""
    rng = np.random.default_rng(1)
    shared = rng.integers(0, 2, RECORDS)
    columns = [
        np.where(rng.random(RECORDS) < p, shared, rng.integers(0, 2, RECORDS)) for p in (0.9, 0.6, 0.4, 0.2)
    ]
    table = Table.from_codes(Domain.coded(dict.fromkeys("abcd", 2)), np.column_stack(columns))

    def strength(pair):
        cells = table.marginal(pair).reshape(2, 2)
        return l1(cells, np.outer(cells.sum(axis=1), cells.sum(axis=0)) / RECORDS)

    triples = itertools.combinations("abcd", 3)
    wanted = sorted(triples, key=lambda c: -sum(map(strength, itertools.combinations(c, 2))))
    assert cliques(measured(table), 3, 100) == wanted
    assert cliques(measured(table), 3, 100, [wanted[0]]) == wanted[1:]
    assert cliques(measured(table), 3, 7) == []


def test_triples_are_grouped_within_the_largest_number_of_cells(measured):
    table = boxes()
    shapes = {view.clique: view.shape(table.domain) for view in Candidates(measured(table)).find(3, 60, ())}
    assert len(shapes) == 4
    assert shapes["x", "y", "class"] == (5, 5, 2)
    assert shapes["x", "class", "apart"] == (10, 2, 3)


def test_references_are_marginals_of_groups_of_the_rows_for_the_number_of_records(measured):
    table, rows = boxes(), boxes(records=5000, seed=1)
    views = {view.clique: view for view in Candidates(measured(table)).find(3, 60, ())}
    view = views["x", "y", "class"]
    (found,) = references([view], rows, table.record_count)
    of_x, of_y, _ = map(np.array, view.groups)
    wanted = np.zeros((5, 5, 2))
    np.add.at(wanted, (of_x[rows.column("x")], of_y[rows.column("y")], rows.column("class")), 4.0)
    np.testing.assert_array_equal(found, wanted.ravel())


def test_a_scored_interaction_has_the_size_of_its_distance_and_others_are_small(measured, scored_triples):
    known, found = scored_triples(measured(bits()), bits(parity=None, seed=1), {PARITY: RECORDS}, 20.0)
    assert known.size(PARITY) == pytest.approx(RECORDS, rel=0.2)
    assert all(known.size(clique) < SETTINGS.large * RECORDS for clique in found if clique != PARITY)


def test_candidates_of_four_attributes_are_unions_of_large_selected_triples(measured, scored_triples):
    distances = dict.fromkeys([("a", "b", "c"), ("b", "c", "d"), ("a", "d", "e")], 2000.0)
    known, _ = scored_triples(measured(bits(parity=None)), bits(parity=None, seed=1), distances, 20.0)
    known.beside += [("a", "b", "c"), ("b", "c", "d"), ("c", "d", "e")]
    # The third selected one is small, and the third large one is not selected.
    assert cliques(known, 4, 100) == [("a", "b", "c", "d")]
    known.beside.append(("a", "d", "e"))
    assert cliques(known, 4, 100) == [("a", "b", "c", "d")]


def test_marginals_of_rows_take_on_measured_interactions(measured, scored_triples):
    """Rows without the parity, and a measurement nearly without noise."""
    table, rows = bits(), bits(parity=None, seed=1)
    known, _ = scored_triples(measured(table), rows, {PARITY: RECORDS}, 20.0)
    known.measure([Measurement(View(PARITY), table.marginal(PARITY).astype(float), 0.1, 1.0)])
    (found,) = marginals_beside(known, [PARITY], rows)
    assert found.counts.sum() == pytest.approx(RECORDS)
    assert found.counts.min() >= 0
    assert l1(found.counts, table.marginal(PARITY)) < 0.1 * l1(rows.marginal(PARITY), table.marginal(PARITY))


def test_two_measurements_are_averaged_by_their_variances(measured, scored_triples):
    table = bits()
    known, _ = scored_triples(measured(table), bits(parity=None, seed=1), {PARITY: RECORDS}, 20.0)
    signs = np.array([1, -1, -1, 1, -1, 1, 1, -1.0])
    for size, sigma in ((0.0, 1.0), (50.0, 2.0)):
        known.measure([Measurement(View(PARITY), size * signs, sigma, 1.0)])
    observed = known.effect(PARITY).observed
    np.testing.assert_allclose(observed.values, 10 * signs)
    assert observed.variance == pytest.approx((1 / 8) / (1 + 1 / 4))


def test_cells_of_groups_vary_together_along_ordered_attributes(measured, monkeypatch):
    """A class by quadrants of two numbers: neighbouring groups say the same, which tells noise apart."""
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 40, (2, 20_000))
    seen = ((x - 20) * (y - 20) > 0).astype(int)
    domain = Domain.coded({"x": 40, "y": 40, "class": 2})
    table = Table.from_codes(domain, np.column_stack([x, y, seen]))
    rows, clique = (
        Table.from_codes(domain, np.column_stack([x, y, rng.permutation(seen)])),
        ("x", "y", "class"),
    )
    errors = []
    for known in (measured(table), measured(table)):
        (view,) = Candidates(known).find(3, 800, ())
        assert view.clique == clique
        (counts,) = table.marginals([clique], [view.groups])
        reference = references([view], rows, table.record_count)
        known.score_beside([view], reference, Scores(np.array([l1(counts, reference[0])]), 50.0), len(x))
        noise = np.random.default_rng(1).normal(0, 20, counts.size)
        known.measure([Measurement(view, counts + noise, 20.0, 1.0)])
        errors.append(l1(marginals_beside(known, [clique], rows)[0].counts, counts))
        monkeypatch.setattr(of_knowledge, "has_shape", lambda effect: False)
    assert errors[0] < 0.7 * errors[1]


def test_the_error_of_measured_pairs_explains_part_of_a_score(measured, scored_triples):
    rows, distances = bits(parity=None, seed=1), {PARITY: 400.0}
    exact, noisy = (
        scored_triples(measured(bits(), sigma), rows, distances, 20.0)[0].effect(PARITY).reference_error
        for sigma in (1e-3, 40.0)
    )
    assert exact < noisy


def test_finds_the_parity_of_three_of_twelve_attributes_and_rows_show_it(run):
    """A workload of pairs, which say nothing of it: without it, the parity of half of all rows is even."""
    names = "abcdefghijkl"
    fitted, measurer = run(Mosaic(), bits(names, ("b", "e", "h"), 20_000), Budget(zcdp_rho=0.05))
    assert ("b", "e", "h") in {charge.clique for charge in larger_charges(measurer)}
    assert ("b", "e", "h") in {one.clique for one in fitted.model.grouped}
    modelled = fitted.model.marginal(("b", "e", "h"))[[0, 3, 5, 6]].sum() / 20_000
    assert modelled > 0.95
    rows = fitted.model.generate(20_000, np.random.default_rng(1))
    even = rows.column("h") == rows.column("b") ^ rows.column("e")
    assert even.mean() > 0.95


@pytest.mark.parametrize("target", [None, "class"])
def test_finds_a_class_by_boxes_of_two_numbers_in_groups_of_codes(run, target):
    """Of a target's workload too, of which the codes have 3,200 cells."""
    workload = Workload.wanted(boxes().domain, None, target)
    fitted, _ = run(Mosaic(), boxes(), Budget(zcdp_rho=0.05), workload=workload)
    assert ("x", "y", "class") not in fitted.model.larger
    (found,) = (one for one in fitted.model.grouped if one.clique == ("x", "y", "class"))
    of_x, of_y, of_class = found.groups
    assert 2 <= max(of_x) + 1 < 40
    assert 2 <= max(of_y) + 1 < 40
    assert of_class == ()
    rows = fitted.model.generate(20_000, np.random.default_rng(1))
    cross = (rows.column("x") >= 20) ^ (rows.column("y") >= 20)
    # Nine of ten records of the table; half of the rows of a model of pairs.
    assert (rows.column("class") == cross).mean() > 0.8


def hidden_group(records=10_000, codes=400, seed=0):
    """Two attributes of many codes whose halves agree in nine of ten records, and one of three codes."""
    rng = np.random.default_rng(seed)
    half = rng.integers(0, 2, (2, records))
    half[1] = np.where(rng.random(records) < 0.1, half[1], half[0])
    many = half * (codes // 2) + rng.integers(0, codes // 2, (2, records))
    domain = Domain.coded({"one": codes, "other": codes, "apart": 3})
    return Table.from_codes(domain, np.column_stack([*many, rng.integers(0, 3, records)]))


def test_pairs_are_candidates_if_they_have_groups_measured_or_not(measured):
    table = hidden_group(1000, 40)
    known = measured(table)
    assert cliques(known, 2, 100)[0] == ("one", "other")
    known.effects.clear()
    # All have one size, so they are in the order of the domain.
    assert cliques(known, 2, 100) == [("one", "other"), ("one", "apart"), ("other", "apart")]
    assert next(Candidates(known).find(2, 100, ())).shape(table.domain) == (10, 10)
    assert cliques(known, 2, 100, [("one", "other")]) == [("one", "apart"), ("other", "apart")]
    assert cliques(known, 2, 130) == [("one", "other")]


def test_a_pair_in_groups_has_the_measured_groups_and_the_given_margins(measured):
    """A measurement nearly without noise; within groups the cells are those of independent attributes."""
    table, pair = hidden_group(4000, 40), ("one", "other")
    known = measured(table)
    del known.effects[View(pair)]
    (view,) = Candidates(known).find(2, 16, [("one", "apart"), ("other", "apart")])
    labels = [np.array(of) for of in view.groups]
    counts = np.zeros((4, 4))
    np.add.at(counts, (labels[0][table.column("one")], labels[1][table.column("other")]), 1.0)
    margins = [table.marginal((name,)).astype(float) for name in pair]
    cells = np.outer(*margins).ravel() / 4000
    of_groups = [np.bincount(of, margin) for of, margin in zip(labels, margins, strict=True)]
    reference = np.outer(*of_groups).ravel() / 4000
    known.score_beside([view], [reference], Scores(np.array([3000.0]), 1.0), np.inf)
    known.measure([Measurement(view, counts.ravel(), 0.01, 1.0)])
    found, grouped = pair_in_groups(known, pair, cells, margins)
    np.testing.assert_allclose(grouped.counts, counts.ravel(), atol=1.0)
    table_of = found.reshape(40, 40)
    np.testing.assert_allclose(table_of.sum(axis=1), margins[0], atol=0.5)
    np.testing.assert_allclose(table_of.sum(axis=0), margins[1], atol=0.5)
    within = table_of[np.ix_(labels[0] == 0, labels[1] == 0)]
    assert np.linalg.matrix_rank(within, tol=1e-6 * np.abs(within).max()) == 1


def test_what_is_missing_of_a_pair_is_no_larger_interaction(measured, scored_triples):
    """The score of a triple shows a pair that the rows lack, too: it is the triple's if the pair is known."""
    rng = np.random.default_rng(0)
    x = rng.integers(0, 30, RECORDS)
    codes = np.column_stack([x, (x + rng.integers(0, 4, RECORDS)) % 30, rng.integers(0, 3, RECORDS)])
    table = Table.from_codes(Domain.coded({"x": 30, "y": 30, "apart": 3}), codes)
    codes[:, 1] = rng.permutation(codes[:, 1])
    rows, pair, triple = Table.from_codes(table.domain, codes), ("x", "y"), ("x", "y", "apart")
    independent = np.outer(*(table.marginal((name,)) for name in pair)).ravel() / RECORDS
    unknown = Effect((30, 30), independent, distance=l1(table.marginal(pair), independent), deviation=100.0)
    noisy = replace(unknown, observed=Observed(unknown.reference * 0, 500.0**2))
    for effect, stands_out in ((None, True), (unknown, False), (noisy, False)):
        known = measured(table)
        known.effects[View(pair)] = effect or known.effects[View(pair)]
        scored_triples(known, rows, {triple: 0.6 * RECORDS}, 20.0, 150)
        assert known.stands_out(triple) == stands_out


def test_finds_a_pair_of_many_codes_in_groups_where_noise_hides_its_cells(run):
    """160,000 cells of 10,000 records: the noise of single cells exceeds all records."""
    table, pair = hidden_group(), ("one", "other")
    fitted, measurer = run(Mosaic(), table, Budget(zcdp_rho=0.002))
    charged = [
        charge for charge in measurer.accountant.charges if charge.clique == pair and not charge.scores
    ]
    assert charged
    assert all(charge.groups for charge in charged)
    rows = fitted.model.generate(10_000, np.random.default_rng(1))
    agree = (rows.column("one") < 200) == (rows.column("other") < 200)
    # 95 of 100 records of the table, half of the rows of independent attributes.
    assert agree.mean() > 0.7
    halves = np.add.reduceat(
        np.add.reduceat(fitted.model.marginal(pair).reshape(400, 400), [0, 200], 0), [0, 200], 1
    )
    assert np.trace(halves) > 7000


def correlated(records, bins, seed=0):
    """Two numbers of a correlation of .8 and an attribute of three codes, apart."""
    rng = np.random.default_rng(seed)
    x, noise = rng.normal(size=(2, records))
    numbers = [np.clip((v + 4) / 8 * bins, 0, bins - 1) for v in (x, 0.8 * x + 0.6 * noise)]
    domain = Domain.coded({"x": bins, "y": bins, "apart": 3})
    return Table.from_codes(domain, np.column_stack([*numbers, rng.integers(0, 3, records)]).astype(int))


def test_a_pair_that_a_round_measured_in_vain_is_measured_in_groups(run):
    """Three releases, fixed seeds: a coarse triple once took its place, and correlations were .05 to .22."""
    for seed in range(3):
        table = correlated(10_000, 70)
        fitted, measurer = run(Mosaic(), table, Budget(zcdp_rho=0.0149), seed=seed)
        charges = [one for one in measurer.accountant.charges if one.clique == ("x", "y") and not one.scores]
        assert any(one.groups for one in charges)
        assert {one.step for one in charges if not one.groups} <= {"round"}
        assert not larger_charges(measurer)
        rows = fitted.model.generate(10_000, np.random.default_rng(seed))
        assert np.corrcoef(rows.column("x"), rows.column("y"))[0, 1] > 0.65


def test_what_chance_makes_of_independent_attributes_costs_pairs_little(run, monkeypatch):
    """Four tables, fixed seeds: triples differ from the model as samples do, so some may be measured."""
    errors = {True: [], False: []}
    for looks in (True, False):
        monkeypatch.setattr(mosaic, "affords_larger", lambda *_, looks=looks: looks)
        for seed in range(4):
            table = bits("abcdef", None, 5000, seed)
            fitted, measurer = run(Mosaic(), table, Budget(zcdp_rho=0.01), seed=seed)
            assert {len(charge.clique) for charge in larger_charges(measurer)} <= {3}
            rows = fitted.model.generate(5000, np.random.default_rng(seed))
            errors[looks] += [
                l1(rows.marginal(c), table.marginal(c)) for c in itertools.combinations("abcdef", 2)
            ]
    assert np.mean(errors[True]) < 1.15 * np.mean(errors[False])


@pytest.mark.parametrize(
    "others",
    [{"protocol": "indicator"}, {"k": 1}],
    ids=["a protocol without scores", "a workload of single attributes"],
)
def test_looks_for_no_larger_interactions_without(others, run):
    fitted, measurer = run(Mosaic(), bits(), Budget(zcdp_rho=0.05), **others)
    assert not {"larger scores", "larger"} & {step.name for step in fitted.steps}
    assert larger_charges(measurer) == []
    assert not getattr(fitted.model, "grouped", ())


def test_looks_for_no_larger_interactions_without_time(run):
    fitted, _ = run(Mosaic(time_limit=0.01), bits(), Budget(zcdp_rho=0.05))
    assert not {"larger scores", "larger"} & {step.name for step in fitted.steps}


def test_charges_stay_within_the_grant_and_are_those_of_the_steps(run):
    fitted, measurer = run(Mosaic(), bits(), Budget(zcdp_rho=0.05))
    accountant = measurer.accountant
    named = {step.name: step for step in fitted.steps}
    assert {charge.step for charge in accountant.charges} == set(named)
    assert {"larger scores", "larger", "last round"} <= set(named)
    assert sum(charge.zcdp_rho for charge in accountant.charges) == accountant.spent <= accountant.granted
    for name in ("larger scores", "larger"):
        spent = sum(charge.zcdp_rho for charge in accountant.charges if charge.step == name)
        assert 0 < spent <= named[name].share * accountant.granted
