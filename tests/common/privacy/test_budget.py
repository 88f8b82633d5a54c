import json
import math
from fractions import Fraction

import numpy as np
import pytest

from dpmosaic.common.errors import BudgetError
from dpmosaic.common.privacy import conversion
from dpmosaic.common.privacy.budget import LEAST_DELTA, Accountant, Budget, Charge
from dpmosaic.common.privacy.noise import STATISTICAL_DISTANCE
from dpmosaic.curator.certificates.json_values import to_json_values


@pytest.mark.parametrize("epsilon", [0, -1.0, math.nan, math.inf])
def test_refuses_an_epsilon_that_is_not_positive_and_finite(epsilon):
    with pytest.raises(BudgetError, match="epsilon: expected a positive finite number"):
        Budget(epsilon, 1e-9)


@pytest.mark.parametrize("delta", [0, 1, -1e-9, 1.5, math.nan])
def test_refuses_a_delta_outside_zero_to_one(delta):
    with pytest.raises(BudgetError, match="delta: expected a number in"):
        Budget(1.0, delta)


@pytest.mark.parametrize("delta", [5e-324, 1e-300, 9e-19])
def test_refuses_a_delta_that_the_sampler_does_not_keep(delta):
    for promise in ({"epsilon": 1.0}, {"zcdp_rho": 0.1}):
        with pytest.raises(BudgetError, match="delta: expected at least 1e-18, below which draws"):
            Budget(**promise, delta=delta)


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 3.0])
def test_the_smallest_delta_has_room_for_how_far_draws_of_noise_are_from_their_distribution(epsilon):
    off = 10**10 * (1 + math.exp(epsilon)) * STATISTICAL_DISTANCE
    granted = Budget(epsilon, LEAST_DELTA).granted(gaussian_only=True)
    assert conversion.gaussian_delta(math.sqrt(2 * granted), epsilon) + off <= LEAST_DELTA


def test_a_number_that_shows_another_one_than_it_is_has_no_such_form_left():
    class Less(float):
        def __mul__(self, other):
            return 100.0

        def __repr__(self):
            return "0.1"

    budget = Budget(Less(2.0), Less(0.25))
    assert {type(budget.epsilon), type(budget.delta)} == {float}
    assert budget.granted(gaussian_only=True) == Budget(2.0, 0.25).granted(gaussian_only=True)


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.float16, np.longdouble, np.int64, Fraction])
def test_numbers_of_other_kinds_are_those_that_json_has(kind):
    budget = Budget(kind(2), kind(1) / 4)
    assert json.loads(json.dumps(to_json_values(budget))) == to_json_values(Budget(2.0, 0.25))
    assert budget == Budget(2.0, 0.25)


@pytest.mark.parametrize("value", [True, "1", Fraction(10**400), np.float32("nan"), 1j, np.True_])
def test_refuses_what_is_no_number(value):
    for given in ({"epsilon": value, "delta": 1e-9}, {"zcdp_rho": value}, {"epsilon": 1.0, "delta": value}):
        with pytest.raises(BudgetError, match="expected a"):
            Budget(**given)


def test_refuses_epsilon_without_delta():
    with pytest.raises(BudgetError, match="delta"):
        Budget(1.0)


@pytest.mark.parametrize("given", [{}, {"epsilon": 1.0, "delta": 1e-9, "zcdp_rho": 0.1}])
def test_refuses_a_budget_given_in_both_ways_or_none(given):
    with pytest.raises(BudgetError, match="either epsilon with delta or rho"):
        Budget(**given)


@pytest.mark.parametrize("rho", [0, -0.5, math.inf])
def test_refuses_a_rho_that_is_not_positive_and_finite(rho):
    with pytest.raises(BudgetError, match="rho: expected"):
        Budget(zcdp_rho=rho)


def test_a_gaussian_only_release_is_granted_more_than_one_with_other_steps():
    budget = Budget(1.0, 1e-9)
    assert (
        budget.granted(gaussian_only=True)
        > budget.granted(gaussian_only=False)
        > budget.granted_by_bun_steinke()
    )


def test_a_grant_keeps_the_promise():
    granted = float(Budget(2.0, 1e-6).granted(gaussian_only=True))
    assert conversion.gaussian_delta(math.sqrt(2 * granted), 2.0) <= 1e-6


def test_a_rho_is_granted_to_the_last_digit():
    assert Budget(zcdp_rho=0.1).granted(gaussian_only=True) == Fraction(0.1)


def test_an_accountant_adds_up_and_keeps_what_was_charged():
    first, second = Charge("a", ("x",), Fraction(1, 3)), Charge("b", ("y",), Fraction(2, 3))
    accountant = Accountant(Fraction(1)).charge(first).charge(second)
    assert accountant.spent == 1
    assert accountant.remaining == 0
    assert accountant.charges == (first, second)


def test_refuses_a_charge_above_the_grant_by_the_last_digit_and_changes_nothing():
    accountant = Accountant(Fraction(1)).charge(Charge("a", (), Fraction(1, 2)))
    with pytest.raises(BudgetError, match="more than is left"):
        accountant.charge(
            Charge("b", (), Fraction(1, 4)), Charge("b", (), Fraction(1, 4) + Fraction(1, 2**200))
        )
    assert accountant.spent == Fraction(1, 2)
