"""Labels that are stated: exact probabilities by brute force over the discrete noise.

The brute force enumerates the sets of labels that two neighbouring tables may state, with their exact
probabilities, and computes the smallest delta at which they are within epsilon of each other.
"""

import itertools
import math

import numpy as np
import pytest

from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.errors import BudgetError
from dpmosaic.common.privacy.conversion import gaussian_delta
from dpmosaic.common.privacy.cost import Adjacency, PrivacyUnit, gaussian_cost, grid_of
from dpmosaic.common.privacy.partition_selection import frequent, tail_bound, threshold

SIGMA = 1.0
GRID = grid_of(SIGMA)
DELTA = 1e-2


def reached(units, scale):
    """The exact probability that noise of a scale is at least so many units."""
    values = np.arange(-40 * scale, 40 * scale + 1, dtype=np.longdouble)
    weights = np.exp(-((values / scale) ** 2) / 2)
    return float(weights[values >= units].sum() / weights.sum())


def stated(count, least, scale=GRID * SIGMA):
    """The exact probability that a label of so many rows is stated; one that does not occur never is."""
    return reached(least - GRID * count, scale) if count else 0.0


def distribution(table, labels, least):
    """The probability of each set of stated labels."""
    chances = [stated(table.get(label, 0), least) for label in labels]
    return {
        chosen: math.prod(p if is_in else 1 - p for p, is_in in zip(chances, chosen, strict=True))
        for chosen in itertools.product((False, True), repeat=len(labels))
    }


def needed_delta(one, other, epsilon, least):
    """The smallest delta between the stated sets of two tables, in the worse direction."""
    labels = sorted(one.keys() | other.keys())
    p, q = (distribution(table, labels, least) for table in (one, other))
    return max(
        sum(max(0.0, a[chosen] - math.exp(epsilon) * b[chosen]) for chosen in a) for a, b in ((p, q), (q, p))
    )


def partitions(total):
    """All ways to give so many rows to labels."""
    return {tuple(sorted(p)) for p in _partitions(total)}


def _partitions(total):
    if not total:
        return [()]
    return [(first, *rest) for first in range(1, total + 1) for rest in _partitions(total - first)]


NEIGHBOURS = [
    (Adjacency.ZERO_OUT, 1, {"a": 4, "b": 1}, {"a": 4}),
    (Adjacency.ZERO_OUT, 1, {"a": 5, "b": 3}, {"a": 4, "b": 3}),
    (Adjacency.ZERO_OUT, 3, {"a": 6, "b": 3}, {"a": 6}),
    (Adjacency.ZERO_OUT, 3, {"a": 6, "b": 1, "c": 1, "d": 1}, {"a": 6}),
    (Adjacency.ZERO_OUT, 3, {"a": 8, "b": 2}, {"a": 7}),
    (Adjacency.REPLACE_ONE, 1, {"a": 4, "b": 1}, {"a": 4, "c": 1}),
    (Adjacency.REPLACE_ONE, 1, {"a": 5, "b": 4}, {"a": 4, "b": 5}),
    (Adjacency.REPLACE_ONE, 1, {"a": 5}, {"a": 4, "b": 1}),
    (Adjacency.REPLACE_ONE, 2, {"a": 5, "b": 2}, {"a": 5, "c": 1, "d": 1}),
    (Adjacency.REPLACE_ONE, 3, {"a": 8, "b": 3}, {"a": 5, "b": 5, "c": 1}),
]


@pytest.mark.parametrize(("adjacency", "rows", "one", "other"), NEIGHBOURS)
@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 3.0])
def test_neighbouring_tables_state_labels_within_the_cost_and_delta(adjacency, rows, one, other, epsilon):
    mu = math.sqrt(2 * gaussian_cost(SIGMA, PrivacyUnit(adjacency, rows)))
    least = threshold(SIGMA, DELTA, rows)
    assert needed_delta(one, other, epsilon, least) <= gaussian_delta(mu, epsilon) + DELTA


@pytest.mark.parametrize("rows", [1, 2, 3])
def test_the_brute_force_detects_a_threshold_that_is_one_row_too_low(rows):
    """At a large epsilon, delta is all that the promise leaves."""
    one, other = {"a": 9, "b": rows}, {"a": 9}
    assert needed_delta(one, other, 20.0, threshold(SIGMA, DELTA, rows)) <= DELTA
    assert needed_delta(one, other, 20.0, threshold(SIGMA, DELTA, rows) - GRID) > DELTA


@pytest.mark.parametrize("rows", range(1, 8))
@pytest.mark.parametrize("sigma", [1.0, 4.0, 16.0])
@pytest.mark.parametrize("delta", [1e-1, 1e-4, 1e-9])
def test_no_way_to_spread_a_persons_rows_is_stated_more_often_than_delta(rows, sigma, delta):
    least, scale = threshold(sigma, delta, rows), grid_of(sigma) * sigma
    chances = {count: reached(least - grid_of(sigma) * count, scale) for count in range(1, rows + 1)}
    worst = max(1 - math.prod(1 - chances[count] for count in way) for way in partitions(rows))
    assert worst <= delta
    # Several labels are stated independently, which the sum of their chances exceeds at a large delta.
    assert worst > 0.9 * delta


@pytest.mark.parametrize("scale", [256, 300.5, 511])
@pytest.mark.parametrize("sigmas", [1.01, 2, 4, 8])
def test_the_bound_on_the_tail_is_above_the_exact_tail_by_little(scale, sigmas):
    units = math.ceil(sigmas * scale + 0.5)
    exact = reached(units, scale)
    assert exact <= tail_bound(units, scale) < exact * (1 + 1e-4)


def test_the_bound_on_the_tail_is_refused_where_it_does_not_hold():
    with pytest.raises(ValueError, match="beyond one scale"):
        tail_bound(200, 256)


def test_a_label_is_stated_as_often_as_its_count_implies():
    """Five standard errors: wrong with probability below 1e-6 for each count."""
    runs, least = 20_000, threshold(SIGMA, DELTA)
    for count in (1, 2, 3, 4):
        counts = np.full(runs, count)
        found = frequent(counts, SIGMA, DELTA, 1, runs, RandomStream.from_seed(count)).size / runs
        expected = stated(count, least)
        assert abs(found - expected) < 5 * math.sqrt(expected * (1 - expected) / runs)


def test_with_little_noise_the_labels_of_many_rows_are_stated_and_no_others():
    counts = np.array([1, 50, 1, 900, 1, 70])
    assert frequent(counts, 0.1, 1e-9, 1, 10, RandomStream.from_seed(1)).tolist() == [1, 3, 5]


def test_of_too_many_labels_the_most_frequent_are_stated_in_the_order_given():
    counts = np.array([60, 900, 50, 70, 80])
    assert frequent(counts, 0.1, 1e-9, 1, 3, RandomStream.from_seed(1)).tolist() == [1, 3, 4]


def test_a_repeated_choice_with_the_same_key_is_the_same():
    counts = np.arange(1, 40)
    once, again = (frequent(counts, 4.0, 1e-3, 1, 40, RandomStream.from_seed(5)) for _ in range(2))
    assert 0 < once.size < 40
    assert once.tolist() == again.tolist()


def test_a_column_without_labels_states_none():
    assert frequent(np.array([], dtype=np.int64), 1.0, 1e-9, 1, 10, RandomStream.from_seed(1)).size == 0


def test_noise_for_a_label_that_does_not_occur_is_refused():
    with pytest.raises(ValueError, match="labels that occur"):
        frequent(np.array([3, 0]), 1.0, 1e-9, 1, 10, RandomStream.from_seed(1))


@pytest.mark.parametrize("delta", [0.0, -1e-9, 0.2, math.nan])
def test_a_delta_out_of_range_is_refused(delta):
    with pytest.raises(BudgetError, match="delta of labels"):
        threshold(1.0, delta)


def test_the_threshold_grows_with_noise_rows_of_a_person_and_a_smaller_delta():
    base = threshold(4.0, 1e-6, 2) / grid_of(4.0)
    assert threshold(8.0, 1e-6, 2) / grid_of(8.0) > base
    assert threshold(4.0, 1e-6, 3) / grid_of(4.0) > base
    assert threshold(4.0, 1e-8, 2) / grid_of(4.0) > base
