"""The two networks: a generator of records, and a critic that distinguishes them from real ones."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from .encoding import RecordEncoding

TEMPERATURE = 0.3
"""Gumbel-softmax temperature in training; the lower, the closer to a single mode."""

_START = 0.02
"""Deviation of the last layer's initial weights; small, so that noise has little effect at first."""


class Generator(nn.Module):
    """Maps noise to records.

    Args:
        encoding: encoding of the records.
        latent: dimension of the noise.
        hidden: width of each of the two hidden layers.
    """

    def __init__(self, encoding: RecordEncoding, latent: int, hidden: int) -> None:
        super().__init__()
        self.latent = latent
        self._counts = [modes.count for modes in encoding.modes]
        self.body = nn.Sequential(nn.Linear(latent, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU())
        self.head = nn.Linear(hidden, encoding.width)
        # Training begins at the noisy one-way marginals, at no additional cost.
        start = [math.log(share) for modes in encoding.modes for share in modes.shares]
        with torch.no_grad():
            nn.init.normal_(self.head.weight, std=_START)
            self.head.bias.copy_(torch.tensor(start))

    def forward(self, noise: Tensor, gumbel: Tensor) -> Tensor:
        """Soft records for the critic, shape (N, width).

        Args:
            noise: shape (N, latent).
            gumbel: shape (N, width).
        """
        logits = self.head(self.body(noise)) + gumbel
        parts = [torch.softmax(part / TEMPERATURE, dim=1) for part in logits.split(self._counts, dim=1)]
        return torch.cat(parts, dim=1)

    def choose(self, noise: Tensor, gumbel: Tensor) -> list[Tensor]:
        """Modes of each attribute, shape (N,) each; arguments as for `forward`."""
        logits = self.head(self.body(noise)) + gumbel
        return [part.argmax(dim=1) for part in logits.split(self._counts, dim=1)]


def critic(encoding: RecordEncoding, hidden: int) -> nn.Module:
    """A network that maps records to a number, larger for real ones: shape (N, width) to (N, 1)."""
    return nn.Sequential(
        nn.Linear(encoding.width, hidden),
        nn.LeakyReLU(0.2),
        nn.Linear(hidden, hidden),
        nn.LeakyReLU(0.2),
        nn.Linear(hidden, 1, bias=False),
    )


def gumbel_like(shape: tuple[int, int], generator: torch.Generator) -> Tensor:
    """Gumbel noise; the argmax of logits plus this noise is a draw from their softmax."""
    uniform = torch.rand(shape, generator=generator).clamp_(1e-9, 1 - 1e-7)
    return -torch.log(-torch.log(uniform))
