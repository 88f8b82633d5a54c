"""What releases of one table promise together."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpmosaic.common.privacy.budget import Budget
from dpmosaic.common.privacy.conversion import gaussian_delta
from dpmosaic.common.privacy.cost import ALL_ROWS, Adjacency, PrivacyUnit
from dpmosaic.curator.mechanisms.catalogue import mechanism_named
from dpmosaic.synthesis.ledgers.spent import Spent, by_unit, compose, epsilon_left, fits

ROW = PrivacyUnit(Adjacency.ADD_REMOVE)
PERSON = PrivacyUnit(Adjacency.ADD_REMOVE, ALL_ROWS)
REPLACED = PrivacyUnit(Adjacency.REPLACE_ONE)
DELTA = 1e-9
EPSILONS = st.floats(0.01, 8)


def released(epsilon, delta=DELTA, unit=ROW, mechanism="mst", labels=0.0):
    chosen = mechanism_named(mechanism) if isinstance(mechanism, str) else mechanism
    return Spent.of("id", "", "", Budget(epsilon, delta), unit, chosen, labels)


class Exponential:
    """A mechanism whose grant is converted from zCDP."""

    def granted(self, budget):
        return budget.granted(gaussian_only=False)


@pytest.mark.slow
@given(EPSILONS)
def test_one_release_promises_what_it_did(epsilon):
    one = compose([released(epsilon, labels=DELTA / 10)])
    assert one.epsilon == pytest.approx(epsilon, rel=1e-9)
    assert one.delta == pytest.approx(DELTA, rel=1e-9)


@pytest.mark.slow
@given(EPSILONS, EPSILONS)
def test_two_releases_promise_the_epsilon_of_the_sum_of_their_rho(one, two):
    both = compose([released(one), released(two)])
    rho = sum(Budget(each, DELTA).granted(gaussian_only=True) for each in (one, two))
    # Balle and Wang's condition, which holds at this epsilon and at no smaller one.
    mu = math.sqrt(2 * rho)
    assert (
        gaussian_delta(mu, both.epsilon) <= DELTA * (1 + 1e-9) < gaussian_delta(mu, both.epsilon * (1 - 1e-6))
    )
    assert max(one, two) < both.epsilon < one + two
    assert both.delta == DELTA


def test_what_texts_take_of_delta_is_added():
    both = compose([released(1, labels=1e-10), released(1, labels=1e-10)])
    noise = Budget(1.0, DELTA).without_delta(1e-10)
    assert both.delta == pytest.approx(1.1e-9)
    assert gaussian_delta(math.sqrt(4 * noise.granted(gaussian_only=True)), both.epsilon) <= noise.delta


def test_a_release_with_other_noise_than_gaussian_is_added_by_epsilon_and_delta():
    both = compose([released(1), released(0.5, 1e-8, mechanism=Exponential())])
    assert both.epsilon == pytest.approx(1.5)
    assert both.delta == pytest.approx(1.1e-8)


def test_units_are_listed_apart():
    rows, people = by_unit([released(1), released(2, unit=PERSON), released(1)])
    assert (rows.unit, rows.releases) == (ROW, 2)
    assert (people.unit, people.releases) == (PERSON, 1)
    assert people.epsilon == pytest.approx(2)


@pytest.mark.slow
@given(EPSILONS, st.sampled_from(["mst", Exponential()]))
def test_a_limit_allows_one_release_of_its_epsilon_and_no_second(epsilon, mechanism):
    one = released(epsilon, labels=DELTA / 10, mechanism=mechanism)
    assert fits([one], Budget(epsilon, DELTA))
    assert not fits([one, released(0.005)], Budget(epsilon, DELTA))
    assert not fits([one], Budget(epsilon * 0.999, DELTA))


def test_a_limit_holds_across_units_in_the_strictest_adjacency():
    limit = Budget(1.5, DELTA)
    assert fits([released(1), released(1, unit=PERSON)], limit)
    assert not fits([released(1), released(1, unit=PERSON), released(1)], limit)
    # Replacing a row is two changes for noise that hides one.
    assert fits([released(1)], limit)
    assert not fits([released(1), released(0.1, unit=REPLACED)], limit)
    assert not fits([released(1, mechanism=Exponential()), released(0.1, unit=REPLACED)], limit)


def test_a_larger_delta_does_not_get_round_a_limit():
    assert not fits([released(1, 1e-3)], Budget(1, DELTA))
    assert not fits([released(0.1, labels=0.0), released(0.1, 1e-6, labels=1e-7)], Budget(1, DELTA))


@pytest.mark.slow
@given(st.lists(st.floats(0.05, 0.6), max_size=3))
def test_what_is_left_fits_and_more_does_not(before):
    spent, limit = [released(each) for each in before], Budget(1.5, DELTA)
    rest = epsilon_left(spent, limit)
    assert rest == 0 or fits([*spent, released(rest, labels=DELTA / 10)], limit)
    assert not fits([*spent, released(rest + 0.002, labels=DELTA / 10)], limit)


def test_a_release_that_ended_early_costs_its_share():
    half = released(1).only(0.5)
    assert half.cost.zcdp_rho == released(1).cost.zcdp_rho * Fraction(1, 2)
    assert half.ended
