"""Guesses by released rows, and the bound on epsilon that right guesses give."""

import numpy as np
import pytest
from scipy import stats

from dpmosaic.common.data.domain import Domain
from dpmosaic.synthesis.attacking.membership import guesses_by_rows, least_epsilon
from dpmosaic.synthesis.attacking.reading import Rows
from support.parties import random_table

DOMAIN = Domain.coded({"a": 9, "b": 8, "c": 7, "d": 6})


def rows(count, seed):
    return Rows.of(random_table(DOMAIN, count, seed=seed), {})


def test_the_bound_is_the_epsilon_under_which_so_many_right_guesses_are_rare():
    epsilon = least_epsilon(180, 200, 200, 0.0, 0.01)
    chance = np.exp(epsilon) / (1 + np.exp(epsilon))
    assert stats.binom.sf(179, 200, chance) == pytest.approx(0.01)


@pytest.mark.parametrize(("right", "guesses"), [(100, 200), (105, 200), (0, 200)])
def test_guesses_like_those_of_a_coin_show_nothing(right, guesses):
    assert least_epsilon(right, guesses, 200, 1e-9, 0.01) == 0.0


def test_a_delta_that_may_tell_all_leaves_nothing_to_show():
    assert least_epsilon(200, 200, 200, 1e-4, 0.01) == 0.0


def test_bounds_of_randomised_response_stay_below_its_epsilon():
    """Each of 300 is not with probability .05, more than 30 of them with 1e-4."""
    rng, epsilon = np.random.default_rng(6), 1.0
    right = rng.binomial(100, np.exp(epsilon) / (1 + np.exp(epsilon)), 300)
    assert sum(least_epsilon(one, 100, 100, 0.0, 0.05) > epsilon for one in right) <= 30


def test_rows_that_are_copied_are_told_from_others():
    members, others = rows(400, 1), rows(800, 2)
    found = guesses_by_rows(members, others, members, 1e-9, 0.01, np.random.default_rng(0))
    assert found.pairs == 400
    assert found.right > 0.8
    assert found.epsilon > 1
    assert found.mu > 0


def test_rows_that_have_nothing_to_do_with_both_tell_nothing():
    """A bound above 0 has a probability of at most .01."""
    found = guesses_by_rows(rows(400, 1), rows(800, 2), rows(400, 3), 1e-9, 0.01, np.random.default_rng(0))
    assert 0.4 < found.right < 0.6
    assert found.epsilon == 0
