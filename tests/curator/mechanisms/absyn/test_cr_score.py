import itertools
import math

import numpy as np
import pytest

from dpmosaic.curator.mechanisms.absyn.cr_score import (
    cr_scores,
    largest_r_scores,
    no_paths,
    normalise,
    with_edge,
)


def r_score(joint):
    return np.abs(joint - np.outer(joint.sum(axis=1), joint.sum(axis=0))).sum()


@pytest.mark.parametrize("sizes", [(2, 2), (3, 3), (3, 5), (5, 3), (2, 7)])
def test_an_attribute_that_determines_the_other_has_the_largest_r_score(sizes):
    joint = np.zeros(sizes)
    for value in range(min(sizes)):
        joint[value, value] = 1 / min(sizes)
    assert largest_r_scores(sizes)[0, 1] == pytest.approx(r_score(joint))


def test_no_joint_distribution_has_a_larger_r_score_than_the_largest():
    rng = np.random.default_rng(0)
    for sizes in [(2, 2), (2, 5), (4, 3)]:
        largest = largest_r_scores(sizes)[0, 1]
        found = [
            r_score(rng.dirichlet(np.full(math.prod(sizes), shape)).reshape(sizes))
            for shape in (0.05, 0.3, 1.0)
            for _ in range(500)
        ]
        assert 0.8 * largest < max(found) <= largest


def test_normalised_scores_are_shares_of_the_maximum_clipped_to_0_and_1():
    largest = largest_r_scores((2, 3, 1))
    scores = np.array([[0.0, 0.25, 0.3], [0.25, 0.0, -0.1], [0.3, -0.1, 0.0]])
    assert normalise(scores, largest).tolist() == [[0, 0.25, 0], [0.25, 0, 0], [0, 0, 0]]
    wide = largest_r_scores((3, 3))
    assert normalise(np.array([[0, 0.4], [0.4, 0]]), wide)[0, 1] == pytest.approx(0.3)
    assert normalise(np.array([[0, 9.0], [-9.0, 0]]), wide).tolist() == [[0, 1], [0, 0]]


def test_best_products_are_those_of_a_search_of_all_paths():
    rng = np.random.default_rng(1)
    for count in (2, 4, 6):
        pairs = list(itertools.combinations(range(count), 2))
        for _ in range(20):
            edges = {pairs[k]: rng.random() for k in rng.permutation(len(pairs))[: rng.integers(1, 10)]}
            products = no_paths(count)
            for (i, j), weight in edges.items():
                products = with_edge(products, i, j, weight)
            for i, j in pairs:
                best = max(
                    math.prod(edges.get((min(step), max(step)), 0.0) for step in itertools.pairwise(path))
                    for length in range(count - 1)
                    for middle in itertools.permutations(set(range(count)) - {i, j}, length)
                    for path in [(i, *middle, j)]
                )
                assert products[i, j] == products[j, i] == pytest.approx(best)
            assert np.all(np.diag(products) == 1)


def test_along_a_symmetric_binary_chain_the_product_is_the_r_score_and_the_papers_difference_is_0():
    """Flips with probabilities f and g compose to one with f (1 - g) + g (1 - f)."""

    def score(flip):
        return r_score(np.array([[1 - flip, flip], [flip, 1 - flip]]) / 2)

    f, g = 0.1, 0.2
    shares = np.zeros((3, 3))
    for (i, j), flip in {(0, 1): f, (1, 2): g, (0, 2): f * (1 - g) + g * (1 - f)}.items():
        shares[i, j] = shares[j, i] = score(flip)
    products = with_edge(with_edge(no_paths(3), 0, 1, shares[0, 1]), 1, 2, shares[1, 2])
    assert products[0, 2] == pytest.approx(0.8 * 0.6)
    assert cr_scores(shares, products, difference=True)[0, 2] == pytest.approx(0)
    assert cr_scores(shares, products, difference=False)[0, 2] == pytest.approx(0.48 * 0.52)


def test_the_difference_can_be_below_0_and_the_share_cannot():
    shares = np.array([[0, 0.1], [0.1, 0]])
    products = np.array([[1, 0.6], [0.6, 1]])
    assert cr_scores(shares, products, difference=True)[0, 1] == pytest.approx(-0.5)
    assert cr_scores(shares, products, difference=False)[0, 1] == pytest.approx(0.04)


@pytest.mark.parametrize("difference", [True, False])
def test_without_selected_pairs_all_information_is_missing(difference):
    shares = np.array([[0, 0.7], [0.7, 0]])
    assert cr_scores(shares, no_paths(2), difference=difference)[0, 1] == 0.7
