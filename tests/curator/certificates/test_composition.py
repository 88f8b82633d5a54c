"""Composition in a certificate with steps that are charged at one Rényi order."""

from fractions import Fraction

import pytest

from dpmosaic.common.errors import BudgetError
from dpmosaic.common.privacy.budget import Accountant, Budget, Charge
from dpmosaic.common.privacy.cost import Adjacency, PrivacyUnit, exponential_cost
from dpmosaic.common.privacy.renyi import ExponentialSteps
from dpmosaic.curator.certificates.composition import composition
from dpmosaic.curator.certificates.privacy_loss import checked_epsilon
from dpmosaic.curator.mechanisms.dp_gan.settings import GanSettings, training_charge
from dpmosaic.curator.mechanisms.dp_select.bounded_range import step_epsilon_for, steps_cost


def spent(epsilon, delta):
    """A Gaussian step, a training and exponential mechanisms that together spend the grant."""
    order = Budget(epsilon, delta).order
    accountant = Accountant(Fraction(order.zcdp_rho))
    accountant = accountant.charge(Charge("one-way", ("a",), accountant.granted / 10, ((9.0,),)))
    steps = GanSettings().plan_training(accountant.granted * Fraction(3, 10), order.alpha)
    accountant = accountant.charge(training_charge(steps, order.alpha))
    each = step_epsilon_for(accountant.remaining, 400)
    declared = ExponentialSteps(each, 400, 5)
    return accountant.charge(Charge("selection", (), steps_cost(each, 400), steps=declared))


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.1, 0.5, 2.0, 8.0])
@pytest.mark.parametrize("delta", [1e-5, 1e-9])
def test_dp_accounting_confirms_the_promise_over_all_steps_and_is_tight(epsilon, delta):
    found = composition(spent(epsilon, delta), epsilon, delta)
    assert 0.99 * epsilon < found["epsilon_by_dp_accounting"] <= epsilon
    assert found["delta"] == delta
    alone = found["epsilon_of_each_step_alone"]
    assert list(alone) == ["one-way", "dp-gan", "selection"]
    assert all(0 < value < epsilon for value in alone.values())
    assert sum(alone.values()) > found["epsilon_by_dp_accounting"]


def test_dp_accounting_detects_half_the_noise_in_training():
    budget = Budget(2.0, 1e-9)
    accountant = spent(2.0, 1e-9)
    charge = accountant.charges[1]
    halved = Charge(
        charge.step,
        (),
        charge.zcdp_rho,
        steps=type(charge.steps)(charge.steps.rate, charge.steps.multiplier / 2, charge.steps.steps),
    )
    charges = (accountant.charges[0], halved, accountant.charges[2])
    broken = Accountant(accountant.granted, charges, accountant.spent)
    assert composition(broken, budget.epsilon, budget.delta)["epsilon_by_dp_accounting"] > 2.4


def test_states_no_privacy_loss_distribution_for_steps_without_zcdp():
    assert checked_epsilon(spent(2.0, 1e-9), 1e-9, PrivacyUnit(Adjacency.ZERO_OUT)) is None


def test_refuses_sampled_noise_under_a_promise_in_zcdp():
    with pytest.raises(BudgetError, match="sampled noise has no zCDP"):
        _ = Budget(zcdp_rho=0.5).order


def test_exponential_steps_cost_a_multiple_of_one_step():
    assert steps_cost(0.25, 8) == 8 * exponential_cost(0.25)
