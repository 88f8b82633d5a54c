"""Parameters of a DP-GAN and the cost of its training; needs no packages of the extra."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any, Literal

from ....common.errors import BudgetError, DataError
from ....common.privacy.budget import Charge
from ....common.privacy.renyi import SampledGaussian, affordable_steps, noise_multiplier, sampled_gaussian_rho
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

    one_way: float = 0.1
    sample_rate: float = 0.01
    epochs: float = 20.0
    noise_multiplier: float | None = None
    max_grad_norm: float = 0.3
    hidden: int = 64
    latent: int = 32
    critic_steps: int = 2
    weight_clip: float = 0.1
    learning_rate: float = 2e-3
    critic_learning_rate: float = 1e-2
    device: Literal["cpu", "cuda"] = "cpu"
    checkpoint: str | None = None

    def __post_init__(self) -> None:
        if not 0 < self.one_way < 1:
            raise DataError(f"one_way: expected a share in (0, 1), got {self.one_way}")
        if not 0 < self.sample_rate <= 1:
            raise DataError(f"sample_rate: expected a probability in (0, 1], got {self.sample_rate}")
        for name in ("epochs", "max_grad_norm", "weight_clip", "learning_rate", "critic_learning_rate"):
            if not 0 < getattr(self, name) < math.inf:
                raise DataError(f"{name}: expected a positive number, got {getattr(self, name)}")
        if self.noise_multiplier is not None and not 0 < self.noise_multiplier < math.inf:
            raise DataError(f"noise_multiplier: expected a positive number, got {self.noise_multiplier}")
        if self.hidden < 2 or min(self.latent, self.critic_steps) < 1:
            raise DataError("expected hidden >= 2, latent >= 1 and critic_steps >= 1")
        if self.device not in ("cpu", "cuda"):
            raise DataError(f"device: expected 'cpu' or 'cuda', got {self.device!r}")

    def described(self) -> dict[str, Any]:
        """The parameters without the path of the checkpoint."""
        return {name: value for name, value in asdict(self).items() if name != "checkpoint"}

    def planned(self, zcdp_rho: Fraction, alpha: int) -> SampledGaussian:
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
