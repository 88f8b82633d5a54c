import math
from fractions import Fraction

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld
from scipy.signal import fftconvolve

from dpmosaic.common.privacy.budget import Accountant, Budget, Charge
from dpmosaic.common.privacy.conversion import gaussian_epsilon
from dpmosaic.common.privacy.cost import (
    Adjacency,
    PrivacyUnit,
    charged_variance,
    gaussian_cost,
    gaussian_sigma,
    grid_of,
    score_cost,
    score_sigma,
)
from dpmosaic.curator.certificates import privacy_loss as accounting

pytestmark = pytest.mark.slow


def checked_epsilon(accountant, delta, adjacency, noise_factor=1.0, rows=1):
    """The second opinion for a person with so many rows."""
    return accounting.checked_epsilon(accountant, delta, PrivacyUnit(adjacency, rows), noise_factor)


def spend(budget, adjacency, shares):
    accountant = Accountant(budget.granted(gaussian_only=True))
    for share in shares:
        sigma = gaussian_sigma(accountant.granted * share, adjacency)
        accountant = accountant.charge(Charge("m", (), gaussian_cost(sigma, adjacency), ((sigma,), (sigma,))))
    return accountant


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("adjacency", [Adjacency.ZERO_OUT, Adjacency.REPLACE_ONE])
def test_the_privacy_loss_distribution_of_the_added_noise_confirms_the_promise(epsilon, adjacency):
    budget = Budget(epsilon, 1e-9)
    shares = [Fraction(1, 2), Fraction(1, 4), *[Fraction(1, 80)] * 20]
    checked = checked_epsilon(spend(budget, adjacency, shares), 1e-9, adjacency)
    assert 0.9999 * epsilon < checked <= epsilon


@pytest.mark.parametrize("factor", [1.0, 2.0])
@pytest.mark.parametrize(("adjacency", "rows"), [(Adjacency.ZERO_OUT, 1), (Adjacency.REPLACE_ONE, 3)])
def test_noise_on_labels_counts_as_it_is_charged_also_for_who_sees_more_noise_elsewhere(
    adjacency, rows, factor
):
    unit = PrivacyUnit(adjacency, rows)
    granted = Budget(1.0, 1e-9).granted(gaussian_only=True)
    halves = [gaussian_sigma(granted / 2, unit)] * 2
    charges = [
        Charge("m", ("a",), gaussian_cost(sigma, unit), ((sigma,), (sigma,)), labels=labels)
        for sigma, labels in zip(halves, (True, False), strict=True)
    ]
    accountant = Accountant(granted).charge(*charges)
    seen = charges[0].zcdp_rho + charges[1].zcdp_rho / Fraction(factor) ** 2
    checked = checked_epsilon(accountant, 1e-9, adjacency, factor, rows)
    assert checked == pytest.approx(gaussian_epsilon(math.sqrt(2 * seen), 1e-9), rel=2e-4)


@pytest.mark.parametrize("delta", [1e-6, 1e-12])
def test_a_release_that_spends_its_whole_grant_states_no_more_than_its_promise(delta):
    """Rounding of a dozen scales came to 1.0004 times the promise at this small a delta."""
    granted = Budget(1.0, delta).granted(gaussian_only=True)
    accountant = spend(Budget(1.0, delta), Adjacency.ZERO_OUT, [Fraction(k, 91) for k in range(1, 13)])
    scale = gaussian_sigma(accountant.remaining, Adjacency.ZERO_OUT, (2, 3))
    accountant = interacting(scale, Adjacency.ZERO_OUT, (2, 3), *accountant.charges)
    assert granted * (1 - Fraction(1, 10**12)) < accountant.spent <= granted
    assert 0.9999 < checked_epsilon(accountant, delta, Adjacency.ZERO_OUT) <= 1.0


@pytest.mark.parametrize("adjacency", [Adjacency.ZERO_OUT, Adjacency.REPLACE_ONE])
def test_a_thousand_scores_state_no_more_than_the_promise(adjacency):
    granted = Budget(1.0, 1e-12).granted(gaussian_only=True)
    accountant = scored(score_sigma(granted, adjacency, 1000), adjacency, 1000)
    assert accountant.spent <= granted
    assert 0.9999 < checked_epsilon(accountant, 1e-12, adjacency) <= 1.0


def too_little_noise(share):
    """A release that spends its grant, with noise that is smaller than the charged noise by a share."""
    accountant = spend(Budget(1.0, 1e-9), Adjacency.ZERO_OUT, [Fraction(1, 20)] * 20)
    charges = (
        Charge(c.step, c.clique, c.zcdp_rho, ((c.sigmas[0][0] * (1 - share),),)) for c in accountant.charges
    )
    return Accountant(accountant.granted, tuple(charges), accountant.spent)


def test_detects_noise_that_is_too_small_by_a_ten_thousandth():
    assert checked_epsilon(too_little_noise(1e-4), 1e-9, Adjacency.ZERO_OUT) > 1 + 5e-5


def test_the_bound_on_rounding_holds_for_coarse_intervals_and_hides_nothing_larger(monkeypatch):
    """With a thousand times the rounding the estimate rises above the promise, but within the bound."""
    monkeypatch.setattr(accounting, "_INTERVAL_ROUNDING", 1e-2)
    original, raw = pld.PrivacyLossDistribution.get_epsilon_for_delta, []

    def watched(self, delta):
        raw.append(original(self, delta))
        return raw[-1]

    monkeypatch.setattr(pld.PrivacyLossDistribution, "get_epsilon_for_delta", watched)
    assert checked_epsilon(too_little_noise(0), 1e-9, Adjacency.ZERO_OUT) <= 1.0 < raw[-1]
    assert checked_epsilon(too_little_noise(0.01), 1e-9, Adjacency.ZERO_OUT) == raw[-1] > 1.005


def test_states_no_epsilon_if_delta_is_below_the_precision_of_floats():
    accountant = spend(Budget(1.0, 1e-13), Adjacency.ZERO_OUT, [Fraction(1)])
    assert checked_epsilon(accountant, 1e-13, Adjacency.ZERO_OUT) is None


def test_states_no_epsilon_if_the_values_of_the_noise_would_fill_the_memory():
    accountant = spend(Budget(zcdp_rho=1e-18), Adjacency.ZERO_OUT, [Fraction(1)])
    assert checked_epsilon(accountant, 1e-9, Adjacency.ZERO_OUT) is None


@pytest.mark.parametrize("adjacency", [Adjacency.ZERO_OUT, Adjacency.REPLACE_ONE])
def test_a_person_with_several_rows_has_the_epsilon_of_the_promise_and_not_of_one_row(adjacency):
    accountant = spend(Budget(1.0, 1e-9), PrivacyUnit(adjacency, 3), [Fraction(1, 2), Fraction(1, 4)])
    checked = checked_epsilon(accountant, 1e-9, adjacency, rows=3)
    assert 0.8 < checked <= 1.0005
    assert checked_epsilon(accountant, 1e-9, adjacency) < 0.4 * checked


def test_detects_less_noise_than_was_charged():
    accountant = spend(Budget(1.0, 1e-9), Adjacency.ZERO_OUT, [Fraction(1, 2), Fraction(1, 2)])
    halved = Accountant(
        accountant.granted,
        tuple(Charge(c.step, c.clique, c.zcdp_rho, ((c.sigmas[0][0] / 2,),)) for c in accountant.charges),
        accountant.spent,
    )
    assert checked_epsilon(halved, 1e-9, Adjacency.ZERO_OUT) > 1.8


def test_the_most_expensive_slice_determines_epsilon():
    charge = Charge("m", (), Fraction(1), ((8.0,), (4.0, 4.0)))
    cheap = Charge("m", (), Fraction(1), ((8.0,),))
    dear = Charge("m", (), Fraction(1), ((4.0, 4.0),))
    found = [
        checked_epsilon(Accountant(Fraction(9), (c,), Fraction(1)), 1e-6, Adjacency.ZERO_OUT)
        for c in (charge, cheap, dear)
    ]
    assert found[0] == found[2] > found[1]


def test_states_no_epsilon_if_a_step_is_not_gaussian():
    accountant = Accountant(Fraction(1), (Charge("select", (), Fraction(1)),))
    assert checked_epsilon(accountant, 1e-9, Adjacency.ZERO_OUT) is None


@pytest.mark.parametrize("adjacency", [Adjacency.ZERO_OUT, Adjacency.REPLACE_ONE])
def test_more_noise_than_was_charged_gives_the_epsilon_of_a_smaller_charge(adjacency):
    accountant = spend(Budget(1.0, 1e-9), adjacency, [Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)])
    seen = checked_epsilon(accountant, 1e-9, adjacency, noise_factor=2.0)
    bound = gaussian_epsilon(math.sqrt(2 * accountant.spent) / 2, 1e-9)
    assert 0.9999 * bound < seen <= bound


def test_the_noise_factor_widens_the_noise_on_the_charged_grid(monkeypatch):
    computed = []
    original = accounting._of_discrete_gaussian

    def watched(sigma, sensitivity, interval):
        computed.append((sigma, sensitivity))
        return original(sigma, sensitivity, interval)

    monkeypatch.setattr(accounting, "_of_discrete_gaussian", watched)
    charge = Charge("m", (), gaussian_cost(3.0, Adjacency.ZERO_OUT), ((3.0,),))
    checked_epsilon(Accountant(Fraction(1), (charge,), charge.zcdp_rho), 1e-6, Adjacency.ZERO_OUT, 4.0)
    assert computed == [(12.0 * grid_of(3.0), grid_of(3.0))]
    assert grid_of(12.0) < grid_of(3.0)


CHANGES = {Adjacency.ZERO_OUT: 1, Adjacency.REPLACE_ONE: 2}
"""Change of a score by one record."""


def losses(sigma, shift):
    """Probabilities and privacy losses of one discrete Gaussian against its shift, in units of the grid."""
    grid = grid_of(sigma)
    deviation, moved = grid * sigma, grid * shift
    values = np.arange(-math.ceil(14 * deviation), math.ceil(14 * deviation) + 1)
    weights = np.exp(-(values**2) / (2 * deviation**2))
    return weights / weights.sum(), (moved * moved - 2 * values * moved) / (2 * deviation**2)


def hockey_stick(sigmas, shift, epsilon):
    """Delta of scores together, by summing over all totals of the privacy loss, which is linear in the draws.

    Scores of one scale have losses on one lattice, so their probabilities are convolved, to about 1e-15.
    """
    probabilities, loss = losses(sigmas[0], shift)
    total, step, start = probabilities, loss[0] - loss[1], loss[0]
    for sigma in sigmas[1:]:
        assert sigma == sigmas[0]
        total, start = fftconvolve(total, probabilities), start + loss[0]
    loss = start - step * np.arange(len(total))
    return float((total * np.maximum(0, -np.expm1(epsilon - loss))).sum())


def scored(sigma, adjacency, count, *more):
    charge = Charge("s", (), score_cost(sigma, adjacency, count), ((sigma,) * count,) * 2, scores=True)
    return Accountant(Fraction(10**6)).charge(charge, *more)


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("adjacency", [Adjacency.ZERO_OUT, Adjacency.REPLACE_ONE])
@pytest.mark.parametrize("sigma", [1.5, 20.0])
def test_the_epsilon_of_scores_matches_a_sum_over_their_noise(sigma, adjacency, count):
    """Every score counts, and a record shifts it by 1 or 2; compared with a sum over the noise itself."""
    checked = checked_epsilon(scored(sigma, adjacency, count), 1e-6, adjacency)
    sigmas, shift = (sigma,) * count, CHANGES[adjacency]
    assert hockey_stick(sigmas, shift, checked) <= 1e-6
    assert hockey_stick(sigmas, shift, checked * 0.9995) > 1e-6
    # As with a Gaussian of the whole shift.
    assert checked == pytest.approx(gaussian_epsilon(math.sqrt(count) * shift / sigma, 1e-6), rel=1e-3)


@pytest.mark.parametrize("adjacency", [Adjacency.ZERO_OUT, Adjacency.REPLACE_ONE])
def test_scores_and_measurements_together_keep_the_promise(adjacency):
    granted = Budget(1.0, 1e-9).granted(gaussian_only=True)
    sigma, scale = gaussian_sigma(granted / 2, adjacency), score_sigma(granted / 2, adjacency, 30)
    measured = Charge("m", ("a",), gaussian_cost(sigma, adjacency), ((sigma,), (sigma,)))
    accountant = scored(scale, adjacency, 30, measured)
    assert granted * Fraction(9999, 10000) < accountant.spent <= granted
    assert 0.9999 < checked_epsilon(accountant, 1e-9, adjacency) <= 1.0


@pytest.mark.parametrize("adjacency", [Adjacency.ZERO_OUT, Adjacency.REPLACE_ONE])
def test_scores_and_measurements_of_one_scale_are_kept_apart(adjacency):
    """Under replace-one a score costs as much as four noise variables, a measurement as much as two."""
    measured = Charge("m", ("a",), gaussian_cost(9.0, adjacency), ((9.0,), (9.0,)))
    found = checked_epsilon(scored(9.0, adjacency, 1, measured), 1e-6, adjacency)
    shift = math.sqrt(CHANGES[adjacency] ** 2 + adjacency.squared_sensitivity)
    assert found == pytest.approx(gaussian_epsilon(shift / 9.0, 1e-6), rel=1e-3)


def test_more_noise_on_scores_than_was_charged_acts_as_a_smaller_shift():
    seen = checked_epsilon(scored(9.0, Adjacency.REPLACE_ONE, 2), 1e-6, Adjacency.REPLACE_ONE, 1.5)
    assert seen == pytest.approx(gaussian_epsilon(math.sqrt(2) * 2 / 13.5, 1e-6), rel=1e-3)


def test_treating_scores_as_measurements_underestimates_epsilon_under_replace_one():
    adjacency = Adjacency.REPLACE_ONE
    right = checked_epsilon(scored(9.0, adjacency, 3), 1e-6, adjacency)
    (charge,) = scored(9.0, adjacency, 3).charges
    mistaken = Accountant(Fraction(9)).charge(Charge("s", (), charge.zcdp_rho, charge.sigmas))
    assert checked_epsilon(mistaken, 1e-6, adjacency) < 0.8 * right


def interacting(sigma, adjacency, shape, *more):
    cost = gaussian_cost(sigma, adjacency, shape)
    charge = Charge("m", ("a",) * len(shape), cost, ((sigma,),) * 2, interaction=shape)
    return Accountant(Fraction(10**6)).charge(charge, *more)


MOVED = {Adjacency.ZERO_OUT: 1 / 3, Adjacency.REPLACE_ONE: 4 / 3}
"""The squared distance by which a record moves the interaction of attributes of 2 and 3 values."""


@pytest.mark.parametrize(("sigma", "factor"), [(0.01, 1.5), (1.5, 1.0), (300.0, 1.5)])
@pytest.mark.parametrize("adjacency", [Adjacency.ZERO_OUT, Adjacency.REPLACE_ONE])
def test_an_interaction_has_the_epsilon_of_the_gaussian_that_it_is_charged_as(sigma, adjacency, factor):
    """By the analytic Gaussian mechanism; the noise factor widens the noise on the grid of the charge."""
    variance = (factor * sigma) ** 2 - 2.5 / grid_of(sigma) ** 2
    exact = gaussian_epsilon(math.sqrt(MOVED[adjacency] / variance), 1e-6)
    found = checked_epsilon(interacting(sigma, adjacency, (2, 3)), 1e-6, adjacency, factor)
    assert exact * (1 - 1e-9) <= found <= exact * 1.0001
    assert float(charged_variance(sigma, factor)) == pytest.approx(variance, rel=1e-12)


@pytest.mark.parametrize("adjacency", [Adjacency.ZERO_OUT, Adjacency.REPLACE_ONE])
def test_interactions_marginals_and_scores_of_one_scale_are_kept_apart(adjacency):
    """All of scale 9: two marginals, three interactions of two shapes, two scores."""
    measured = [Charge("m", ("a",), gaussian_cost(9.0, adjacency), ((9.0,), (9.0,)))] * 2
    pairs = interacting(9.0, adjacency, (2, 3)).charges * 2
    single = interacting(9.0, adjacency, (4,)).charges
    accountant = scored(9.0, adjacency, 2, *measured, *pairs, *single)
    found = checked_epsilon(accountant, 1e-6, adjacency)
    shift = 2 * adjacency.squared_sensitivity + 2 * MOVED[adjacency] + 2 * CHANGES[adjacency] ** 2
    shift += {Adjacency.ZERO_OUT: 3 / 4, Adjacency.REPLACE_ONE: 2}[adjacency]
    assert found == pytest.approx(gaussian_epsilon(math.sqrt(shift) / 9.0, 1e-6), rel=1e-3)


@pytest.mark.parametrize("adjacency", [Adjacency.ZERO_OUT, Adjacency.REPLACE_ONE])
def test_interactions_and_marginals_together_keep_the_promise(adjacency):
    granted = Budget(1.0, 1e-9).granted(gaussian_only=True)
    sigma, scale = (gaussian_sigma(granted / 2, adjacency, shape) for shape in [(), (2, 2)])
    measured = Charge("m", ("a",), gaussian_cost(sigma, adjacency), ((sigma,), (sigma,)))
    accountant = interacting(scale, adjacency, (2, 2), measured)
    assert granted * Fraction(9999, 10000) < accountant.spent <= granted
    assert 0.9999 < checked_epsilon(accountant, 1e-9, adjacency) <= 1.0


def test_the_most_expensive_slice_determines_epsilon_of_interactions():
    charges = [
        Charge("m", ("a", "b"), Fraction(1), sigmas, interaction=(2, 3))
        for sigmas in (((8.0,), (4.0,)), ((8.0,),), ((4.0,),))
    ]
    found = [
        checked_epsilon(Accountant(Fraction(9), (c,), Fraction(1)), 1e-6, Adjacency.ZERO_OUT) for c in charges
    ]
    assert found[0] == found[2] > found[1]


def test_treating_a_marginal_as_an_interaction_underestimates_epsilon():
    adjacency = Adjacency.ZERO_OUT
    charge = Charge("m", ("a", "b"), gaussian_cost(9.0, adjacency), ((9.0,),))
    right = checked_epsilon(Accountant(Fraction(9)).charge(charge), 1e-6, adjacency)
    assert checked_epsilon(interacting(9.0, adjacency, (2, 2)), 1e-6, adjacency) < 0.6 * right


@pytest.mark.parametrize(
    ("sigma", "sensitivity", "interval"),
    [(0.3, 1, 0.02), (18.2, 2, 1e-4), (41.2, 64, 0.02), (1250.0, 128, 3e-4), (4000.0, 1000, 3e-5)],
)
def test_the_distribution_of_discrete_gaussian_noise_is_that_of_dp_accounting(sigma, sensitivity, interval):
    theirs = pld.from_discrete_gaussian_mechanism(
        sigma, sensitivity, value_discretization_interval=interval, use_connect_dots=True
    )
    ours = accounting._of_discrete_gaussian(sigma, sensitivity, interval)
    for epsilon in (-1.0, 0.0, 0.1, 1.0, 10.0):
        assert ours.get_delta_for_epsilon(epsilon) == theirs.get_delta_for_epsilon(epsilon)
    for delta in (1e-12, 1e-9, 1e-3):
        assert ours.get_epsilon_for_delta(delta) == theirs.get_epsilon_for_delta(delta)
