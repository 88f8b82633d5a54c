from fractions import Fraction

import pytest

from dpmosaic.common.privacy.budget import Accountant, Budget, Charge
from dpmosaic.common.privacy.cost import Adjacency, gaussian_cost, gaussian_sigma
from dpmosaic.curator.accounting import checked_epsilon


def spend(budget, adjacency, shares):
    accountant = Accountant(budget.granted(gaussian_only=True))
    for share in shares:
        sigma = gaussian_sigma(accountant.granted * share, adjacency)
        accountant = accountant.charge(Charge("m", (), gaussian_cost(sigma, adjacency), ((sigma,), (sigma,))))
    return accountant


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("adjacency", Adjacency)
def test_the_privacy_loss_distribution_of_the_added_noise_confirms_the_promise(epsilon, adjacency):
    budget = Budget(epsilon, 1e-9)
    shares = [Fraction(1, 2), Fraction(1, 4), *[Fraction(1, 80)] * 20]
    checked = checked_epsilon(spend(budget, adjacency, shares), 1e-9, adjacency)
    assert 0.995 * epsilon < checked <= epsilon * 1.0005


def test_less_noise_than_was_charged_for_is_found_out():
    accountant = spend(Budget(1.0, 1e-9), Adjacency.ZERO_OUT, [Fraction(1, 2), Fraction(1, 2)])
    halved = Accountant(
        accountant.granted,
        tuple(Charge(c.step, c.clique, c.zcdp_rho, ((c.sigmas[0][0] / 2,),)) for c in accountant.charges),
        accountant.spent,
    )
    assert checked_epsilon(halved, 1e-9, Adjacency.ZERO_OUT) > 1.8


def test_the_dearest_slice_decides():
    charge = Charge("m", (), Fraction(1), ((8.0,), (4.0, 4.0)))
    cheap = Charge("m", (), Fraction(1), ((8.0,),))
    dear = Charge("m", (), Fraction(1), ((4.0, 4.0),))
    found = [
        checked_epsilon(Accountant(Fraction(9), (c,), Fraction(1)), 1e-6, Adjacency.ZERO_OUT)
        for c in (charge, cheap, dear)
    ]
    assert found[0] == found[2] > found[1]


def test_steps_that_are_not_gaussian_are_not_checked():
    accountant = Accountant(Fraction(1), (Charge("select", (), Fraction(1)),))
    assert checked_epsilon(accountant, 1e-9, Adjacency.ZERO_OUT) is None
