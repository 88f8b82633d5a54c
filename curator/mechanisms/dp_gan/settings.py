"""Parameters of a DP-GAN and the cost of its training; needs no packages of the extra."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Annotated, Any, Literal

from ....common.errors import BudgetError
from ....common.forms.values import whole
from ....common.privacy.budget import Budget, Charge
from ....common.privacy.renyi import SampledGaussian, affordable_steps, noise_multiplier, sampled_gaussian_rho
from ..parts.parameters import Part, Positive, Share, Times, check_parameters
from ..parts.steps import Asks, Step

TRAINING = "dp-gan"
"""Name of the step that a training is charged under."""

_UNIT = 2**64


@dataclass(frozen=True)
class GanSettings:
    """Parameters of the training of a DP-GAN.

    Attributes:
        one_way: share of the budget for noisy one-way marginals, for the modes and the initial weights.
        sample_rate: probability that a record is in the sample of a step.
        epochs: expected number of samples that contain a given record.
        noise_multiplier: noise relative to the clipping norm; by default the smallest with which the budget
            pays for all epochs. A given one may stop the training early.
        max_grad_norm: clipping norm of a record's gradient.
        hidden: width of the generator's two hidden layers; the critic's are half as wide.
        latent: dimension of the generator's noise.
        critic_steps: steps of the critic for each step of the generator.
        weight_clip: bound of the critic's weights, as in WGAN.
        learning_rate: learning rate of the generator.
        critic_learning_rate: learning rate of the critic.
        device: "cpu" or "cuda".
        checkpoint: file for the state of the training, from which a stopped run resumes; optional.
    """

    one_way: Share = 0.1
    sample_rate: Part = 0.01
    epochs: Positive = 20.0
    noise_multiplier: Positive | None = None
    max_grad_norm: Positive = 0.3
    hidden: Annotated[int, whole(2)] = 64
    latent: Times = 32
    critic_steps: Times = 2
    weight_clip: Positive = 0.1
    learning_rate: Positive = 2e-3
    critic_learning_rate: Positive = 1e-2
    device: Literal["cpu", "cuda"] = "cpu"
    checkpoint: str | None = None

    def __post_init__(self) -> None:
        check_parameters(self)

    def granted(self, budget: Budget) -> Fraction:
        """The budget at one Rényi order, because the noise of samples has no zCDP guarantee."""
        return Fraction(budget.order.zcdp_rho)

    def without_checkpoint(self) -> dict[str, Any]:
        """The parameters without the path of the checkpoint."""
        return {name: value for name, value in asdict(self).items() if name != "checkpoint"}

    def plan_training(self, zcdp_rho: Fraction, alpha: int) -> SampledGaussian:
        """The steps of a training that costs at most `zcdp_rho` at Rényi order `alpha`.

        Raises:
            BudgetError: the budget does not pay for one step with the given noise.
        """
        steps = max(1, round(self.epochs / self.sample_rate))
        # Costs are rounded up to multiples of 2^-64.
        most = float(zcdp_rho) * (1 - 1e-12) - 2 / _UNIT
        if most <= 0:
            raise BudgetError("expected a budget of at least 2^-62 for training, got less; grant more")
        multiplier = self.noise_multiplier
        if multiplier is None:
            multiplier = noise_multiplier(self.sample_rate, steps, alpha, most)
        else:
            steps = min(steps, affordable_steps(self.sample_rate, multiplier, alpha, most))
        if steps < 1:
            raise BudgetError(
                "noise_multiplier: one step would cost more than is left; raise it or grant more"
            )
        return SampledGaussian(self.sample_rate, multiplier, steps)


def training_step(share: Fraction) -> Step:
    """The step that trains the generator."""
    return Step(TRAINING, "Training of the generator", Asks.RECORDS, share)


def training_charge(steps: SampledGaussian, alpha: int) -> Charge:
    """The charge for the steps of a training at Rényi order `alpha`."""
    rho = Fraction(sampled_gaussian_rho(steps.rate, steps.multiplier, steps.steps, alpha))
    return Charge(TRAINING, (), Fraction(math.ceil(rho * _UNIT), _UNIT), steps=steps)
