"""How a budget is split over interactions."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

from dpmosaic.curator.mechanisms.mosaic.budget_split import SplitProblem, interactions_of

E = math.sqrt(2 / math.pi)


def problem(deviations, cells, price, marginals, weights=None, known=None):
    count = len(price)
    return SplitProblem(
        np.array(deviations, dtype=float).reshape(count, -1),
        np.array(cells, dtype=float).reshape(count, -1),
        np.zeros(count) if known is None else np.array(known, dtype=float),
        np.array(price, dtype=float),
        interactions_of(marginals),
        np.ones(len(marginals)) if weights is None else np.array(weights, dtype=float),
    )


def predicted(plan, parts):
    """The workload's error, cell class by cell class."""
    errors = []
    for i, part in enumerate(parts):
        precision = plan.known[i] + part / plan.price[i]
        classes = zip(plan.cells[i], plan.deviations[i], strict=True)
        errors.append(sum(E * n * tau / math.sqrt(1 + precision * tau**2) for n, tau in classes))
    return sum(
        weight * math.sqrt(sum(errors[i] ** 2 for i in places if i >= 0))
        for places, weight in zip(plan.marginals, plan.weights, strict=True)
    )


PLANS = {
    "one marginal": problem([100, 100, 30], [4, 6, 24], [1, 1, 1], [[0, 1, 2]]),
    "two marginals share one attribute": problem(
        [100, 50, 20, 10], [4, 8, 32, 60], [0.7, 0.8, 0.5, 0.6], [[0, 1, 2], [0, 3]]
    ),
    "one is known already": problem([100, 40], [5, 50], [1, 1], [[0], [1]], known=[0.0, 0.5]),
    "weights": problem([30, 30], [10, 10], [1, 1], [[0], [1]], weights=[1.0, 5.0]),
}


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
@pytest.mark.parametrize("total", [0.003, 0.1, 5.0])
def test_no_split_on_a_grid_predicts_a_smaller_error(plan, total):
    parts, _ = plan.split(total)
    assert parts.sum() == pytest.approx(total)
    assert parts.min() >= 0
    steps = 12
    grid = itertools.product(range(steps + 1), repeat=len(parts) - 1)
    least = min(
        predicted(plan, [total * k / steps for k in (*some, steps - sum(some))])
        for some in grid
        if sum(some) <= steps
    )
    assert predicted(plan, parts) <= least * 1.01


def test_an_interaction_of_size_zero_gets_no_budget():
    parts, gains = problem([50, 1e-9], [10, 10], [1, 1], [[0], [1]]).split(1.0)
    assert parts.tolist() == [1.0, 0.0]
    assert gains[1] == 0 < gains[0]


def test_a_small_budget_is_not_spent_on_interactions_that_noise_would_dominate():
    plan = problem([200] + [5] * 20, [4] * 21, [1] * 21, [[i] for i in range(21)])
    few, many = (np.count_nonzero(plan.split(total)[0]) for total in (0.001, 10.0))
    assert few < many == 21


def test_equal_interactions_get_equal_parts():
    parts, gains = problem([30] * 3, [10] * 3, [1] * 3, [[0], [1], [2]]).split(1.0)
    assert parts == pytest.approx([1 / 3] * 3)
    assert gains == pytest.approx([gains[0]] * 3)


def test_a_measured_interaction_has_the_gain_of_one_that_is_measured_now():
    plan = problem([30, 30], [10, 10], [1, 1], [[0], [1]], known=[1e6, 0.0])
    parts, gains = plan.split(1e6)
    assert parts[0] < parts[1]
    assert gains == pytest.approx([E * 300] * 2, rel=1e-3)


def test_the_gain_is_the_decrease_of_the_predicted_error_over_all_its_marginals():
    plan = problem([30, 30], [10, 10], [1, 1], [[0, 1], [0]], weights=[1.0, 2.0])
    parts, gains = plan.split(0.5)
    falls = [
        predicted(replace(plan, marginals=np.array([[i]]), weights=np.ones(1)), [0.0, 0.0])
        - predicted(replace(plan, marginals=np.array([[i]]), weights=np.ones(1)), parts)
        for i in (0, 1)
    ]
    assert gains == pytest.approx([3 * falls[0], falls[1]], rel=0.05)
