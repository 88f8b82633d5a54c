"""Sensitivities of every kind of query, by brute force over all neighbours of small tables."""

import itertools
import math

import numpy as np
import pytest

from dpmosaic.common.data.boxes import box_sums
from dpmosaic.common.data.interactions import differences
from dpmosaic.common.privacy.cost import Adjacency, charged_variance, gaussian_cost, score_cost
from dpmosaic.common.protocols.scores.query import exact_scores

SIGMA = 3.0
SHAPES = [(2,), (5,), (2, 2), (2, 5), (4, 3), (2, 2, 2), (2, 3, 4), (3, 3, 3), (2, 2, 2, 2), (2, 3, 2, 3)]


def moves(effects, adjacency):
    """Every change of an answer by a neighbour, shape (neighbours, answer).

    Args:
        effects: the answer to a table of one record, for each cell, shape (cells, answer).
        adjacency: which tables are neighbours.
    """
    if adjacency is not Adjacency.REPLACE_ONE:
        return effects
    return (effects[:, None] - effects[None, :]).reshape(-1, effects.shape[1])


def losses(changes, covariance):
    """rho of each change under Gaussian noise of this covariance."""
    return np.einsum("ij,ji->i", changes, np.linalg.solve(covariance, changes.T)) / 2


@pytest.mark.parametrize("adjacency", Adjacency)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_a_marginal_costs_what_its_worst_neighbour_loses(shape, adjacency):
    cells = np.eye(math.prod(shape))
    worst = losses(moves(cells, adjacency), float(charged_variance(SIGMA)) * cells).max()
    assert float(gaussian_cost(SIGMA, adjacency)) == pytest.approx(worst, rel=1e-12)


@pytest.mark.parametrize("adjacency", Adjacency)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_an_interaction_costs_what_its_worst_neighbour_loses(shape, adjacency):
    """Noise is drawn for cells, and crosses the differences like them."""
    effects = np.array([differences(cell, shape) for cell in np.eye(math.prod(shape))])
    covariance = float(charged_variance(SIGMA)) * effects.T @ effects
    worst = losses(moves(effects, adjacency), covariance).max()
    assert float(gaussian_cost(SIGMA, adjacency, shape)) == pytest.approx(worst, rel=1e-9)


@pytest.mark.parametrize("adjacency", Adjacency)
@pytest.mark.parametrize("shape", [(5,), (4, 5), (3, 3, 3)], ids=str)
def test_sums_over_boxes_cost_at_least_what_their_worst_neighbour_loses(shape, adjacency):
    rng = np.random.default_rng(1)
    found = []
    for _ in range(20):
        cuts = [sorted({0, n, *rng.integers(0, n + 1, rng.integers(0, n)).tolist()}) for n in shape]
        boxes = list(itertools.product(*map(itertools.pairwise, cuts)))
        boxes = [boxes[i] for i in rng.permutation(len(boxes))[: rng.integers(1, len(boxes) + 1)]]
        effects = np.array([box_sums(cell, shape, boxes) for cell in np.eye(math.prod(shape))])
        variances = float(charged_variance(SIGMA)) * np.eye(len(boxes))
        found.append(losses(moves(effects, adjacency), variances).max())
    assert max(found) == pytest.approx(float(gaussian_cost(SIGMA, adjacency)), rel=1e-12)


@pytest.mark.parametrize(("cells", "records"), [(2, 3), (3, 3), (4, 2)])
def test_a_score_costs_what_the_worst_record_of_all_small_tables_and_references_loses(cells, records):
    worst = dict.fromkeys(Adjacency, 0)
    references = np.array(list(itertools.product(range(records + 2), repeat=cells)))
    for table in itertools.combinations_with_replacement(range(cells), records):
        counts = np.bincount(table, minlength=cells)
        before = np.abs(counts - references).sum(axis=1)
        for old in set(table):
            without = counts - np.eye(cells, dtype=int)[old]
            removed = np.abs(np.abs(without - references).sum(axis=1) - before).max()
            for adjacency in (Adjacency.ZERO_OUT, Adjacency.ADD_REMOVE):
                worst[adjacency] = max(worst[adjacency], removed)
            for new in np.eye(cells, dtype=int):
                replaced = np.abs(np.abs(without + new - references).sum(axis=1) - before).max()
                worst[Adjacency.REPLACE_ONE] = max(worst[Adjacency.REPLACE_ONE], replaced)
    for adjacency, change in worst.items():
        loss = change**2 / (2 * float(charged_variance(SIGMA)))
        assert float(score_cost(SIGMA, adjacency, 1)) == pytest.approx(loss, rel=1e-12)


@pytest.mark.parametrize("adjacency", Adjacency)
def test_one_record_can_change_every_score_of_a_batch_so_each_is_charged(adjacency):
    """All tables of two records with three binary attributes, all neighbours, all references up to 2."""
    cliques = [(0, 1), (0, 2), (1, 2)]
    every = list(itertools.product(range(2), repeat=3))
    references = np.array(list(itertools.product(range(3), repeat=4)))

    def scores(table, clique):
        """Shape (references,)."""
        counts = np.zeros(4, dtype=np.int64)
        for record in table:
            counts[2 * record[clique[0]] + record[clique[1]]] += 1
        return np.array([exact_scores([counts], reference)[0] for reference in references])

    known = {}

    def moved(one, other):
        total = 0
        for clique in cliques:
            for table in (one, other):
                key = (table, clique)
                if key not in known:
                    known[key] = scores(table, clique)
            total += np.square(known[one, clique] - known[other, clique]).max()
        return total

    worst = 0
    for first, second in itertools.combinations_with_replacement(every, 2):
        neighbours = [(first,)] if adjacency is not Adjacency.REPLACE_ONE else [(first, new) for new in every]
        worst = max([worst, *(moved((first, second), neighbour) for neighbour in neighbours)])
    loss = worst / (2 * float(charged_variance(SIGMA)))
    assert float(score_cost(SIGMA, adjacency, len(cliques))) == pytest.approx(loss, rel=1e-12)
