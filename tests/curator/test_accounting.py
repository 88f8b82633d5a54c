import math
from fractions import Fraction

import pytest

from dpmosaic.common.privacy.budget import Accountant, Budget, Charge
from dpmosaic.common.privacy.conversion import gaussian_epsilon
from dpmosaic.common.privacy.cost import Adjacency, gaussian_cost, gaussian_sigma, grid_of
from dpmosaic.curator import accounting
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


@pytest.mark.parametrize("adjacency", Adjacency)
def test_more_noise_than_was_charged_for_is_seen_as_the_promise_for_a_smaller_charge(adjacency):
    accountant = spend(Budget(1.0, 1e-9), adjacency, [Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)])
    seen = checked_epsilon(accountant, 1e-9, adjacency, noise_factor=2.0)
    bound = gaussian_epsilon(math.sqrt(2 * accountant.spent) / 2, 1e-9)
    assert 0.995 * bound < seen <= bound * 1.0005


def test_the_noise_factor_widens_the_noise_and_leaves_the_grid_of_what_was_charged(monkeypatch):
    computed = []
    original = accounting.pld.from_discrete_gaussian_mechanism

    def watched(**options):
        computed.append((options["sigma"], options["sensitivity"]))
        return original(**options)

    monkeypatch.setattr(accounting.pld, "from_discrete_gaussian_mechanism", watched)
    charge = Charge("m", (), gaussian_cost(3.0, Adjacency.ZERO_OUT), ((3.0,),))
    checked_epsilon(Accountant(Fraction(1), (charge,), charge.zcdp_rho), 1e-6, Adjacency.ZERO_OUT, 4.0)
    assert computed == [(12.0 * grid_of(3.0), grid_of(3.0))]
    assert grid_of(12.0) < grid_of(3.0)
