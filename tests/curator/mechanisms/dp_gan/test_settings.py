"""The declared steps of a training, from its parameters and budget."""

from dataclasses import replace
from fractions import Fraction

import pytest

from dpmosaic.common.errors import BudgetError, DataError
from dpmosaic.common.privacy.renyi import sampled_gaussian_rho
from dpmosaic.curator.mechanisms.dp_gan.settings import GanSettings, training_charge

ALPHA = 19


@pytest.mark.parametrize("rho", [Fraction(1, 1000), Fraction(1, 20), Fraction(3)])
@pytest.mark.parametrize(
    "settings", [GanSettings(), GanSettings(sample_rate=0.2, epochs=3)], ids=["small", "large"]
)
def test_all_epochs_are_taken_with_the_least_noise_that_the_budget_pays_for(settings, rho):
    steps = settings.plan_training(rho, ALPHA)
    assert steps.steps == round(settings.epochs / settings.sample_rate)
    assert Fraction(9999, 10000) * rho < training_charge(steps, ALPHA).zcdp_rho <= rho
    assert sampled_gaussian_rho(steps.rate, steps.multiplier * (1 - 1e-6), steps.steps, ALPHA) > rho


def test_training_with_a_given_noise_stops_where_the_budget_is_used_up_or_where_its_epochs_end():
    settings = GanSettings(noise_multiplier=2.0, epochs=20)
    short, long = (settings.plan_training(Fraction(1, n), ALPHA) for n in (100, 1))
    assert 0 < short.steps < long.steps == 2000
    assert training_charge(short, ALPHA).zcdp_rho <= Fraction(1, 100)
    assert training_charge(replace(short, steps=short.steps + 1), ALPHA).zcdp_rho > Fraction(1, 100)


def test_refuses_a_budget_that_does_not_pay_for_one_step():
    with pytest.raises(BudgetError, match="one step would cost more than is left"):
        GanSettings(noise_multiplier=0.1).plan_training(Fraction(1, 1000), ALPHA)
    with pytest.raises(BudgetError, match="grant more"):
        GanSettings().plan_training(Fraction(0), ALPHA)


def test_the_charge_states_the_steps():
    steps = GanSettings().plan_training(Fraction(1, 20), ALPHA)
    charge = training_charge(steps, ALPHA)
    assert (charge.step, charge.clique, charge.sigmas, charge.steps) == ("dp-gan", (), (), steps)


def test_the_certificate_names_no_file():
    assert "checkpoint" not in GanSettings(checkpoint="state.pt").without_checkpoint()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"one_way": 1.0}, "one_way: expected a number above 0 and below 1, got 1"),
        ({"sample_rate": 0.0}, "sample_rate: expected a number above 0 and at most 1"),
        ({"sample_rate": 1.5}, "sample_rate: expected a number above 0 and at most 1"),
        ({"epochs": float("inf")}, "epochs: expected a number above 0"),
        ({"max_grad_norm": 0.0}, "max_grad_norm: expected a number above 0"),
        ({"weight_clip": -1.0}, "weight_clip: expected a number above 0"),
        ({"learning_rate": float("nan")}, "learning_rate: expected a number above 0"),
        ({"critic_learning_rate": 0.0}, "critic_learning_rate: expected a number above 0"),
        ({"noise_multiplier": 0.0}, "noise_multiplier: expected none or a number above 0"),
        ({"hidden": 1}, "hidden: expected a whole number of at least 2, got 1"),
        ({"latent": 0}, "latent: expected a whole number of at least 1"),
        ({"critic_steps": 0}, "critic_steps: expected a whole number of at least 1"),
        ({"device": "tpu"}, "expected cpu or cuda, got 'tpu'"),
    ],
)
def test_refuses_parameters_out_of_range(changed, message):
    with pytest.raises(DataError, match=message):
        GanSettings(**changed)
