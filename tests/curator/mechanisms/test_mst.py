"""MST: its spanning tree and its budget."""

import itertools
from fractions import Fraction

import networkx
import numpy as np
import pytest

from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.workload import Workload
from dpmosaic.common.errors import DataError, ModelError
from dpmosaic.common.privacy.budget import Budget
from dpmosaic.curator.mechanisms.mst import MST, spanning_tree
from dpmosaic.curator.mechanisms.parts.bounds import ScoredDistance
from dpmosaic.curator.mechanisms.parts.fitted import ignore
from support.spending import spent_by_step

BUDGET = Budget(4.0, 1e-9)
NAMES = "abcdefgh"


def distances(seed):
    rng = np.random.default_rng(seed)
    pairs = itertools.combinations(NAMES, 2)
    return {pair: ScoredDistance(float(rng.normal()), 1.0, np.zeros(0, dtype=np.int64)) for pair in pairs}


@pytest.mark.parametrize("seed", range(20))
def test_the_tree_is_the_maximum_spanning_tree(seed):
    domain = Domain.coded(dict.fromkeys(NAMES, 2))
    scored = distances(seed)
    graph = networkx.Graph()
    graph.add_weighted_edges_from((*pair, known.distance) for pair, known in scored.items())
    expected = {tuple(sorted(edge)) for edge in networkx.maximum_spanning_tree(graph).edges}
    assert set(spanning_tree(domain, scored, 1.0)) == expected


def test_leaves_pairs_that_make_the_model_too_large_out_of_the_tree():
    domain = Domain.coded({name: 100 if name in "ab" else 2 for name in NAMES})
    limit_mb = 2_000 * 8 / 2**20
    for seed in range(10):
        tree = spanning_tree(domain, distances(seed), limit_mb)
        assert ("a", "b") not in tree
        assert len(tree) == len(NAMES) - 1


def test_measures_every_attribute_and_a_tree_with_the_dependent_pairs(run, pairs_table):
    fitted, measurer = run(MST(), pairs_table((0.9, 0.9)), BUDGET)
    steps = [charge.step for charge in measurer.accountant.charges]
    assert steps == ["one-way"] * 4 + ["scores"] + ["tree"] * 3
    tree = [done.clique for done in fitted.rounds]
    assert {("a", "b"), ("c", "d")} < set(tree)
    assert networkx.is_tree(networkx.Graph(tree))
    assert [m.clique for m in fitted.measurements if len(m.clique) == 2] == tree


def test_its_budget_is_split_as_stated(run, chain_table):
    _, measurer = run(MST(one_way=0.2, scores=0.3), chain_table(), BUDGET)
    assert spent_by_step(measurer) == pytest.approx({"one-way": 0.2, "scores": 0.3, "tree": 0.5})


def test_bounds_hold_for_measured_and_unmeasured_pairs(run, chain_table):
    fitted, _ = run(MST(), chain_table(), BUDGET)
    assert {bound.clique for bound in fitted.bounds} == set(itertools.combinations("abcd", 2))
    assert sum(bound.selected for bound in fitted.bounds) == 3


def test_one_way_marginals_get_the_whole_budget_if_no_pair_is_small_enough(run, wide_table):
    one_way_mb = 6 * 10 * 8 / 2**20
    fitted, measurer = run(MST(max_model_mb=one_way_mb), wide_table(), BUDGET)
    assert {len(measurement.clique) for measurement in fitted.measurements} == {1}
    assert measurer.accountant.spent > measurer.accountant.granted * Fraction(999, 1000)


def test_refuses_a_model_that_cannot_be_small_enough_before_any_charge(measurer_over, chain_table):
    measurer = measurer_over(chain_table(), Fraction(1))
    workload = Workload.all_kway(measurer.domain, 2)
    with pytest.raises(ModelError, match="max_model_mb"):
        MST(max_model_mb=1e-6).run(measurer, workload, RandomStream.from_seed(1), ignore)
    assert measurer.accountant.charges == ()


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"one_way": 0.0}, "one_way"),
        ({"scores": 1.0}, "scores"),
        ({"one_way": 0.5, "scores": 0.5}, r"expected one_way \+ scores < 1"),
        ({"max_model_mb": 0.0}, "max_model_mb"),
    ],
)
def test_refuses_parameters_out_of_range(options, named):
    with pytest.raises(DataError, match=named):
        MST(**options)
