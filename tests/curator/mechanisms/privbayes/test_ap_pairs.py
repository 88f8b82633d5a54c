"""Structure search of Bayesian networks."""

import itertools
import math

import numpy as np
import pytest

from dpmosaic.common.data.domain import Domain
from dpmosaic.curator.mechanisms.privbayes.ap_pairs import NetworkSearch, PaperObjective, ScoresMinusNoise
from dpmosaic.curator.mechanisms.privbayes.levels import Levels, Node
from dpmosaic.curator.mechanisms.privbayes.network import BayesianNetwork, DrawingStep, head_steps

DOMAIN = Domain.coded({"a": 2, "b": 3, "c": 4, "d": 6, "h": 40})
LEVELS = Levels(DOMAIN, 3)
"""h has versions of 40, 14 and 5 codes."""


def scores_of(**pairs):
    return {frozenset(pair): float(score) for pair, score in pairs.items()}


def search(scores, tau, sigma=None, levels=LEVELS):
    objective = PaperObjective(levels, scores) if sigma is None else ScoresMinusNoise(levels, scores, sigma)
    network = NetworkSearch(levels, lambda nodes: levels.cells(nodes) <= tau, objective, sigma is None).run()
    return network, levels


def base(*names):
    return tuple(Node(name, 0) for name in names)


def test_the_papers_head_starts_from_the_best_score_for_each_cell_and_takes_what_fits():
    """By hand: ab 12/6 = 2, ad 30/12 = 2.5, cd 36/24 = 1.5. Then b: (ab + bd) 2 + 0.5; c: 1.5 + 1/8."""
    levels = Levels(DOMAIN.project("abcd"), 3)
    scores = scores_of(ab=12, ad=30, cd=36, bd=9, ac=1, bc=0)
    assert search(scores, 36, levels=levels)[0].head == base("a", "d", "b")
    assert search(scores, 35, levels=levels)[0].head == base("a", "d")
    # The next larger head holds both b and c; none holds c but not b.
    assert search(scores, 144, levels=levels)[0].head == base("a", "d", "b", "c")


def test_a_head_whose_best_pair_does_not_fit_is_another_pair_or_one_attribute():
    levels = Levels(DOMAIN.project("abcd"), 3)
    scores = scores_of(ab=12, ad=30, cd=36)
    assert search(scores, 6, levels=levels)[0].head == base("a", "b")
    assert search(scores, 5, levels=levels)[0].head == base("a")


def test_the_papers_later_pairs_have_the_largest_sum_of_scores():
    """By hand: the head is a and b; of c's parents a is better for each cell, 5/8 against 6/12."""
    levels = Levels(DOMAIN.project("abcd"), 3)
    scores = scores_of(ab=60, ac=5, bc=6, ad=1, bd=2, cd=50)
    network, _ = search(scores, 12, levels=levels)
    # c and a, 8 cells, leave no room for b; d has room for a alone. 5 is more than 1.
    assert network.head == base("a", "b")
    assert network.pairs[0] == (Node("c", 0), base("a"))
    assert network.pairs[1] == (Node("d", 0), base("a"))
    network, _ = search(scores, 24, levels=levels)
    assert network.head == base("a", "b", "c")
    assert network.pairs == ((Node("d", 0), base("c")),)


def test_parents_with_negative_scores_stay_out():
    levels = Levels(DOMAIN.project("abc"), 3)
    network, _ = search(scores_of(ab=60, ac=-5, bc=-1), 1000, levels=levels)
    assert network.head == base("a", "b")
    assert network.pairs == ((Node("c", 0), ()),)


def test_without_scores_all_attributes_are_independent():
    for sigma in (None, 1.0):
        network, levels = search({}, 10_000, sigma)
        assert [nodes for nodes in network.tables(levels) if len(nodes) > 1] == []
        assert {nodes[0].name for nodes in network.tables(levels)} == set(DOMAIN.names)


@pytest.mark.parametrize("sigma", [None, 0.5, 3.0])
@pytest.mark.parametrize("tau", [1, 7, 30, 100, 700, 10**6])
def test_every_network_is_valid_and_its_tables_of_several_nodes_are_within_tau(tau, sigma):
    for seed in range(10):
        rng = np.random.default_rng(seed)
        pairs = itertools.combinations(DOMAIN.names, 2)
        scores = {frozenset(pair): float(rng.normal(40, 60)) for pair in pairs}
        network, levels = search(scores, tau, sigma)
        tables = network.tables(levels)
        assert all(len(nodes) == 1 or levels.cells(nodes) <= tau for nodes in tables)
        steps = head_steps(levels, network.head, tables[0], np.ones(levels.cells(tables[0])))
        for (child, _), nodes in zip(network.pairs, tables[1:], strict=True):
            steps.append(DrawingStep.of(levels, child, nodes, np.ones(levels.cells(nodes))))
        assert BayesianNetwork(levels, tuple(steps), 1.0).marginal(("h",)).sum() == pytest.approx(1)


@pytest.mark.parametrize(
    ("tau", "expected"),
    [(80, [("h", 0)]), (79, [("h", 1), ("h", 0)]), (27, [("h", 2), ("h", 0)]), (9, [("h", 0)])],
)
def test_refines_a_large_attribute_as_far_as_tau_permits(tau, expected):
    """With a, of 2 codes: 80, 28 or 10 cells; below that h is independent."""
    levels = Levels(DOMAIN.project("ah"), 3)
    network, _ = search(scores_of(ah=1000), tau, 0.1, levels=levels)
    drawn = [*network.head, *(child for child, _ in network.pairs)]
    assert [node for node in drawn if node.name == "h"] == expected


def test_a_parent_joins_if_it_adds_more_information_than_noise():
    """The rule of `ScoresMinusNoise`, from its formula: c = 2 x 3 x 4 cells, pairs of b x a and b x c."""
    levels = Levels(DOMAIN.project("abc"), 3)
    sigma = 2.0
    unit = math.sqrt(2 / math.pi) * sigma
    worth_of_ab = 2 * 100 - unit * math.sqrt(6 * 6)
    for extra in (-0.1, 0.1):
        both = unit * (math.sqrt(6 * 24) + math.sqrt(8 * 24) + math.sqrt(12 * 24))
        # The sum of scores of a x c and b x c from which c joins a and b.
        needed = (worth_of_ab - 2 * 100 + both) / 2
        scores = scores_of(ab=100, ac=needed / 2 + extra, bc=needed / 2)
        assert (len(search(scores, 1000, sigma, levels=levels)[0].head) == 3) == (extra > 0)


def test_the_default_prefers_large_scores_over_small_tables():
    levels = Levels(DOMAIN.project("abd"), 3)
    scores = scores_of(ab=30, ad=100, bd=100)
    assert search(scores, 18, 0.5, levels=levels)[0].head == base("a", "d")
    assert search(scores, 18, None, levels=levels)[0].head[:2] == base("a", "d")
    assert search(scores_of(ab=30, ad=50), 18, None, levels=levels)[0].head == base("a", "b")
