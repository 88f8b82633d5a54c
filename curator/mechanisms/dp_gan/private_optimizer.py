"""DP-SGD over integers: gradient sums are rounded to a grid, and the noise is discrete.

The optimizer of Opacus adds floating-point Gaussian noise, whose rounding leaks (Mironov 2012), from a
generator that is not cryptographic. Here the noise is a discrete Gaussian from the project's stream
(docs/adr/0017).
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
"""The clipping norm of a record's gradient, in units of the grid."""


class DiscreteNoiseOptimizer(DPOptimizerFastGradientClipping):
    """Noisy sums of gradients clipped by Opacus, plus public gradients.

    Guarantee: the integers to which noise of scale noise_multiplier * GRID is added change by at most GRID
        in L2 norm if one record is removed, provided that each record's gradient is clipped to `clipped_norm`
        and summed in float64. If the summation error is below 1/4 of a unit, rounding adds at most one unit
        to the difference of each coordinate.

    Args:
        optimizer: optimizer that makes the step.
        noise_multiplier: scale of the noise relative to the clipping norm.
        max_grad_norm: clipping norm of a record's gradient.
        expected_batch_size: divisor of the sums; public.
        stream: randomness of the noise.
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

    def add_public_gradients(self, gradients: Sequence[Tensor]) -> None:
        """Sets public gradients, one for each parameter, that are added after the noise."""
        self._public = gradients

    def add_noise(self) -> None:
        """Rounds the sums to the grid, adds noise, and converts back to the gradients' units."""
        unit = self.max_grad_norm / GRID
        sizes = [p.numel() for p in self.params]
        noise = discrete_gaussian(self.noise_multiplier * GRID, sum(sizes), self._stream)
        for p, part in zip(self.params, torch.from_numpy(noise).split(sizes), strict=True):
            whole = torch.round(p.summed_grad / unit).long()
            p.grad = (whole + part.to(whole.device).view_as(whole)).to(p.dtype) * unit

    def scale_grad(self) -> None:
        """Divides by the expected size of a sample and adds the public gradients."""
        for p, public in zip(self.params, self._public, strict=True):
            p.grad = p.grad / self.expected_batch_size + public


def clipped_norm(max_grad_norm: float, parameters: int) -> float:
    """The norm to clip gradients to, so that after rounding they still satisfy `max_grad_norm`."""
    return max_grad_norm * (1 - (math.sqrt(parameters) + 1) / GRID)
