"""What a mechanism takes at the curator beside queries: memory, fits and training."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from ...common.data.domain import Domain
from ...common.privacy.budget import Budget
from ..mechanisms.dp_gan.settings import GanSettings
from ..mechanisms.mechanism import Mechanism
from ..mechanisms.mosaic.mosaic import Mosaic
from ..mechanisms.parts.steps import Asks, Step
from ..releasing.memory import needed_bytes

FIT_S_PER_MB = 0.05
"""Processor seconds of one fit for each MiB of the model's limit: the largest of those measured with all
mechanisms over 14 attributes of 12 values, which took 0.004 to 0.04."""

BASE_S = 5.0
"""Seconds to draw and write rows, and of small models."""


@dataclass(frozen=True)
class Training:
    """The training of a network.

    Attributes:
        steps: number of steps.
        noise_multiplier: noise relative to the clipping norm.
        sample_rate: share of the records in the sample of one step, on average.
    """

    steps: int
    noise_multiplier: float
    sample_rate: float


@dataclass(frozen=True)
class Resources:
    """What a mechanism takes at the curator.

    Attributes:
        marginals_mb: memory of all noisy marginals, MiB, at most.
        model_mb: limit of the model's size, MiB; None if the mechanism fits no model of cliques.
        fits: how often a model is fitted, at most.
        fit_s: seconds of all fits, at most; None where they cannot be foreseen.
        training: the training of a network; None without one.
    """

    marginals_mb: float
    model_mb: float | None
    fits: int
    fit_s: float | None
    training: Training | None


def resources(mechanism: Mechanism, domain: Domain, steps: Sequence[Step], budget: Budget) -> Resources:
    """Bounds what a mechanism takes at the curator.

    Args:
        mechanism: the mechanism.
        domain: domain of the whole table.
        steps: its steps.
        budget: of the release.
    """
    limit: float | None = getattr(mechanism, "max_model_mb", None)
    measuring = [step.times for step in steps if step.asks in (Asks.MARGINALS, Asks.INTERACTIONS)]
    fits = 0 if limit is None else sum(measuring)
    training = _training(mechanism, steps, budget)
    seconds: float | None = None
    if isinstance(mechanism, Mosaic):
        # Its candidates are chosen such that all work stays within the limit.
        limit, seconds = mechanism.model_limit_mb, mechanism.seconds
    elif training is None:
        seconds = BASE_S + FIT_S_PER_MB * fits * (limit or 0.0)
    return Resources(needed_bytes(domain, steps) / 2**20, limit, fits, seconds, training)


def _training(mechanism: Mechanism, steps: Sequence[Step], budget: Budget) -> Training | None:
    asked = [step for step in steps if step.asks is Asks.RECORDS]
    if not isinstance(mechanism, GanSettings) or not asked:
        return None
    order = budget.order
    planned = mechanism.plan_training(Fraction(order.zcdp_rho) * asked[0].share, order.alpha)
    return Training(planned.steps, planned.multiplier, planned.rate)
