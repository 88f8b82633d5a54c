"""Steps of DP-SGD in whole numbers: what is noised is a vector of integers, and the noise is discrete.

Opacus' own optimizer adds floating-point Gaussian noise, whose rounding leaks (Mironov 2012), from a
generator that is no cryptographic one. Here the sum of clipped gradients is rounded to a grid, and the
noise is a discrete Gaussian from the project's stream (docs/adr/0017).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from opacus.optimizers import DPOptimizerFastGradientClipping
from torch import Tensor

from ....common.crypto.randomness import RandomStream
from ....common.privacy.noise import discrete_gaussian

GRID = 1 << 20
"""The largest norm of a record's gradient, in units of the grid."""


class DiscreteNoiseOptimizer(DPOptimizerFastGradientClipping):
    """Noisy sums of gradients that Opacus clipped, and public gradients beside them.

    Guarantee: the integers that noise of scale noise_multiplier * GRID is added to change by at most GRID
        in L2 norm if a record is left out, as long as each record's gradient is clipped to `clipped_norm`
        and summed in float64. A sum whose error is below 1/4 of a unit moves by no more than its difference
        and a unit in each direction when it is rounded.

    Args:
        optimizer: that takes the step.
        noise_multiplier: scale of the noise over the largest norm.
        max_grad_norm: the largest norm, noise included in its units.
        expected_batch_size: that sums are divided by; public.
        stream: of the noise.
    """

    def __init__(
        self,
        optimizer: torch.optim.Optimizer,
        *,
        noise_multiplier: float,
        max_grad_norm: float,
        expected_batch_size: float,
        stream: RandomStream,
    ) -> None:
        super().__init__(
            optimizer,
            noise_multiplier=noise_multiplier,
            max_grad_norm=max_grad_norm,
            expected_batch_size=expected_batch_size,
        )
        self._stream = stream
        self._public: Sequence[Tensor] = ()

    def beside(self, gradients: Sequence[Tensor]) -> None:
        """Gradients, one for each parameter, that are public: added after the noise."""
        self._public = gradients

    def add_noise(self) -> None:
        """The sums on the grid, with noise, and back in the gradients' units."""
        unit = self.max_grad_norm / GRID
        sizes = [p.numel() for p in self.params]
        noise = discrete_gaussian(self.noise_multiplier * GRID, sum(sizes), self._stream)
        for p, part in zip(self.params, torch.from_numpy(noise).split(sizes), strict=True):
            whole = torch.round(p.summed_grad / unit).long()
            p.grad = (whole + part.to(whole.device).view_as(whole)).to(p.dtype) * unit

    def scale_grad(self) -> None:
        """Over the expected size of a sample, and the public gradients on top."""
        for p, public in zip(self.params, self._public, strict=True):
            p.grad = p.grad / self.expected_batch_size + public


def clipped_norm(max_grad_norm: float, parameters: int) -> float:
    """What gradients of so many parameters are clipped to, so that rounding leaves their norm in bounds."""
    return max_grad_norm * (1 - (math.sqrt(parameters) + 1) / GRID)
