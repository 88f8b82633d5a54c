"""Training: critic steps under DP-SGD on Poisson samples, generator steps in between.

Source: DP-Select, section 4.2, which uses DPGAN (Xie et al. 2018): a Wasserstein GAN whose critic's gradients
are clipped and get noise. The generator depends on the data only through the critic, so its training is
post-processing. So is the average of its weights over the latest steps, which is more stable.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from opacus.grad_sample import GradSampleModuleFastGradientClipping
from torch import Tensor

from ....common.crypto.randomness import RandomStream
from ....common.privacy.renyi import SampledGaussian
from .encoding import RecordEncoding
from .networks import Generator, critic, gumbel_like
from .private_optimizer import DiscreteNoiseOptimizer, clipped_norm
from .settings import GanSettings

_TENTHS = 10
_LATEST = 0.02
"""Weight of the latest step in the average of the generator's weights."""

_BETAS = (0.5, 0.9)
_FEWEST_FAKES = 16


class Training:
    """One training.

    Args:
        encoding: encoding of the records; public.
        settings: parameters of the training.
        steps: steps that were charged.
        records: number of records; public.
        stream: randomness of samples and noise, which must stay secret, and of everything else.
        state: state of a stopped training, from `state`; None for a new one.
    """

    def __init__(
        self,
        encoding: RecordEncoding,
        settings: GanSettings,
        steps: SampledGaussian,
        records: int,
        stream: RandomStream,
        state: dict[str, Any] | None = None,
    ) -> None:
        self._settings, self._steps = settings, steps
        self.taken = 0 if state is None else int(state["taken"])
        # A resumed run does not repeat the draws of the stopped one, even with the same seed.
        stream = stream.child("from", str(self.taken))
        self._samples = stream.child("samples")
        self._random = torch.Generator().manual_seed(int(stream.child("networks").words(1)[0] >> 1))
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(int(stream.child("weights").words(1)[0] >> 1))
            self._generator = Generator(encoding, settings.latent, settings.hidden).to(settings.device)
            bare = critic(encoding, settings.hidden // 2).to(settings.device, torch.float64)
        self._average = deepcopy(self._generator)
        width = sum(p.numel() for p in bare.parameters())
        self._critic = GradSampleModuleFastGradientClipping(
            bare, loss_reduction="sum", max_grad_norm=clipped_norm(settings.max_grad_norm, width)
        )
        self._width = encoding.width
        expected = steps.rate * records
        self._fakes = max(_FEWEST_FAKES, round(expected))
        self._critic_optimizer = DiscreteNoiseOptimizer(
            torch.optim.Adam(self._critic.parameters(), settings.critic_learning_rate, betas=_BETAS),
            noise_multiplier=steps.multiplier,
            max_grad_norm=settings.max_grad_norm,
            expected_batch_size=max(1.0, expected),
            stream=stream.child("noise"),
        )
        self._generator_optimizer = torch.optim.Adam(
            self._generator.parameters(), settings.learning_rate, betas=_BETAS
        )
        if state is not None:
            for name, part in self._parts().items():
                part.load_state_dict(state[name])

    def run(self, records: NDArray[np.float32], on_tenth: Callable[[], None]) -> None:
        """Runs the remaining steps.

        Guarantee: that of the steps: sums over Poisson samples, of sensitivity 1, with discrete Gaussian
            noise of scale `multiplier`. Their cost was charged before.

        Args:
            records: encoded, shape (N, width); private.
            on_tenth: called after each tenth of the steps, and at the end.
        """
        every = max(1, self._steps.steps // _TENTHS)
        # The networks are small: more threads would mostly wait for each other.
        with _threads(1):
            while self.taken < self._steps.steps:
                self._critic_step(records)
                self.taken += 1
                if self.taken % self._settings.critic_steps == 0:
                    self._generator_step()
                if self.taken % every == 0 or self.taken == self._steps.steps:
                    on_tenth()

    def generator(self) -> Generator:
        """A copy of the current generator, with its averaged weights."""
        return deepcopy(self._average)

    def state(self) -> dict[str, Any]:
        """The progress and all mutable state: noisy networks, no records."""
        return {"taken": self.taken, **{name: part.state_dict() for name, part in self._parts().items()}}

    def _parts(self) -> dict[str, Any]:
        return {
            "generator": self._generator,
            "average": self._average,
            "critic": self._critic,
            "generator_optimizer": self._generator_optimizer,
            "critic_optimizer": self._critic_optimizer,
        }

    def _critic_step(self, records: NDArray[np.float32]) -> None:
        sample = poisson_sample(len(records), self._steps.rate, self._samples)
        real = torch.from_numpy(records[sample]).to(self._settings.device, torch.float64)
        with torch.no_grad():
            fake = self._generate(self._fakes)
        # Both are clipped alike, so that they cancel if the critic cannot distinguish them.
        private = self._clipped_sum(real, -1.0)
        public = self._clipped_sum(fake, 1.0 / self._fakes)
        for p, gradient in zip(self._critic.parameters(), private, strict=True):
            p.grad = gradient
        self._critic_optimizer.add_public_gradients(public)
        self._critic_optimizer.step()
        self._critic_optimizer.zero_grad()
        clip = self._settings.weight_clip
        with torch.no_grad():
            for p in self._critic.parameters():
                p.clamp_(-clip, clip)

    def _clipped_sum(self, rows: Tensor, factor: float) -> tuple[Tensor, ...]:
        """The sum of the rows' clipped gradients of the critic's value, times `factor`."""
        if len(rows) == 0:
            return tuple(torch.zeros_like(p) for p in self._critic.parameters())
        with _without_hook_warning():
            values = self._critic(rows).squeeze(1)
            # The first pass computes the norm of each row's gradient, the second sums the clipped gradients.
            values.sum().backward(retain_graph=True)
            clipping = self._critic.get_clipping_coef()
            self._critic.disable_hooks()
            clipped = (clipping * values).sum() * factor
            gradients = torch.autograd.grad(clipped, list(self._critic.parameters()))
            self._critic.enable_hooks()
        return gradients

    def _generator_step(self) -> None:
        self._critic.disable_hooks()
        self._generator_optimizer.zero_grad()
        (-self._critic(self._generate(self._fakes)).mean()).backward()
        self._generator_optimizer.step()
        self._critic.enable_hooks()
        with torch.no_grad():
            for mean, now in zip(self._average.parameters(), self._generator.parameters(), strict=True):
                mean.lerp_(now, _LATEST)

    def _generate(self, rows: int) -> Tensor:
        """Soft records in float64, like the critic."""
        device = self._settings.device
        noise = torch.randn((rows, self._settings.latent), generator=self._random)
        gumbel = gumbel_like((rows, self._width), self._random)
        soft: Tensor = self._generator(noise.to(device), gumbel.to(device))
        return soft.double()


def poisson_sample(records: int, rate: float, stream: RandomStream) -> NDArray[np.int64]:
    """Indices of the records of one sample: each independently with probability `rate`."""
    threshold = int(rate * 2**64)
    if threshold >= 2**64:
        return np.arange(records)
    return np.flatnonzero(stream.words(records) < np.uint64(threshold))


@contextmanager
def _without_hook_warning() -> Iterator[None]:
    """Suppresses the warning that the critic's input needs no gradient, which is intended."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Full backward hook is firing")
        yield


@contextmanager
def _threads(count: int) -> Iterator[None]:
    """Limits PyTorch to `count` threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(min(before, count))
    try:
        yield
    finally:
        torch.set_num_threads(before)
