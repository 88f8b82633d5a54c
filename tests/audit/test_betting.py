"""Lower bounds by bets, on outputs whose epsilon is known."""

import numpy as np
import pytest

from support.betting import lower_bound

RNG = np.random.default_rng(8)


def coins(count):
    return RNG.random(count) < 0.5


def answered(epsilon, neighbour):
    """Randomised response, among much that says nothing."""
    shown = []
    for origin in neighbour:
        told = origin ^ (RNG.random() >= 1 / (1 + np.exp(-epsilon)))
        nothing = {f"noise {i}": float(RNG.integers(3)) for i in range(50)}
        shown.append(nothing | {"told": float(told)} | {f"release {RNG.random()}": 1.0})
    return shown


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.0, 0.2, 1.0])
def test_bounds_of_randomised_response_stay_below_its_epsilon(epsilon):
    """Each of 50 bounds is not with probability 1e-2 at most, more than 8 of them with 1e-8."""
    above = 0
    for _ in range(50):
        sides = coins(60)
        above += lower_bound(answered(epsilon, sides), sides, alpha=1e-2) >= (epsilon or 0.05)
    assert above <= 8


@pytest.mark.slow
def test_a_bound_comes_near_epsilon_with_many_releases():
    sides = coins(1_500)
    assert 1.25 <= lower_bound(answered(2.0, sides), sides) < 2


def test_forty_releases_show_what_tells_all():
    for _ in range(10):
        sides = coins(40)
        assert lower_bound([{"told": float(side)} for side in sides], sides) >= 0.3


def test_what_one_release_in_ten_tells_is_found_too():
    sides = coins(1_500)
    shown = [{"leak": 1.0} if origin and RNG.random() < 0.1 else {} for origin in sides]
    assert lower_bound(shown, sides) >= 0.2


def test_a_number_with_noise_is_told_apart_by_its_tails():
    """Noise of standard deviation 1/2 on a count of one: the logarithm of the likelihoods has deviation 2."""
    sides = coins(1_200)
    assert lower_bound([{"count": RNG.normal(2.0 * origin)} for origin in sides], sides) >= 1


def test_releases_that_are_all_alike_show_nothing():
    assert lower_bound([{"rows": 7.0}] * 50, coins(50)) == 0
