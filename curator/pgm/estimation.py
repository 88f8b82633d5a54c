"""Fitting a graphical model to noisy marginals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...common.domain import Domain
from ...common.errors import ModelError
from ...common.measurement import Measurement
from .initial import initial_potentials
from .junction_tree import JunctionTree, size_mb
from .loss import QuadraticLoss, dot, minimum_variance_total
from .model import MarkovRandomField
from .oracle import MarginalOracle
from .projection import split

Array = NDArray[np.float64]

_CHECK_EVERY = 25
"""Iterations between two looks at how much the loss still falls."""


def estimate(
    domain: Domain,
    measurements: Sequence[Measurement],
    *,
    total: float | None = None,
    warm_start: MarkovRandomField | None = None,
    max_iterations: int = 1000,
    tolerance: float = 1e-3,
    max_model_mb: float = 1024.0,
) -> MarkovRandomField:
    """Fit the distribution whose marginals are closest to the measurements.

    Minimises the sum over measurements of ||marginal - values||^2 / (2 sigma^2) over all distributions with
    the given total, by accelerated mirror descent. Without measurements the model is uniform.

    Source: McKenna, Sheldon and Miklau, Graphical-model based estimation and inference for differential
        privacy (2019), the problem and the mirror map; Auslender and Teboulle, Interior gradient and proximal
        methods for convex and conic optimization (2006), the acceleration.

    Args:
        domain: the attributes of the model.
        measurements: of any cliques; those of one clique are merged, one inside another counts on its own.
        total: number of records; by default what the measurements say themselves.
        warm_start: an earlier model of the same domain, whose potentials the fit begins with.
        max_iterations: stop after so many steps.
        tolerance: stop when 25 steps lower the loss by less than this share of it.
        max_model_mb: largest model to fit, in MiB of its beliefs; the fit itself takes three times that.

    Returns:
        the model, with the loss of the measurements merged clique by clique.

    Raises:
        DataError: a clique names an attribute that the domain lacks.
        ModelError: a measurement does not fit the domain, the model would be too large, or the fit does not
            stay finite.
    """
    loss = QuadraticLoss.of(domain, measurements)
    if total is None:
        total = minimum_variance_total(measurements)
    if not (math.isfinite(total) and total > 0):
        raise ValueError(f"total: expected a positive number of records, found {total}")
    if warm_start is not None and warm_start.domain != domain:
        raise ValueError("warm_start: expected a model of the same domain")
    needed = size_mb(domain, loss.cliques)
    if needed > max_model_mb:
        raise ModelError(
            f"the model needs {needed:.1f} MiB, more than the limit of {max_model_mb:.1f} MiB; "
            "measure fewer or smaller marginals together, or raise the limit"
        )
    if not loss.cliques:
        return MarkovRandomField.uniform(domain, total)
    tree = JunctionTree.build(domain, loss.cliques)
    oracle = MarginalOracle(tree, loss.cliques, total)
    known = {} if warm_start is None else warm_start.potentials
    with np.errstate(over="ignore", invalid="ignore"):
        fit = _Fit(oracle, loss, *initial_potentials(oracle, loss, known))
        fit.run(max_iterations, tolerance)
    return MarkovRandomField(
        domain=domain,
        tree=tree,
        beliefs=tuple(split(fit.mean_beliefs, tree.shapes)),
        total=total,
        potentials={
            clique: part.reshape(-1)
            for clique, part in zip(loss.cliques, split(fit.leader.potentials, loss.shapes), strict=True)
        },
        loss=fit.loss_reached,
        iterations=fit.iterations,
    )


@dataclass(frozen=True, eq=False)
class _Point:
    """A distribution given by potentials: marginals of the measured cliques, and the log-partition."""

    potentials: Array
    marginals: Array
    log_partition: float


class _Fit:
    """The state of accelerated mirror descent.

    Attributes:
        leader: the point that gradients move, through its potentials.
        mean_marginals: a running mean of leaders, which is the solution; its measured marginals.
        mean_beliefs: its marginals of the tree's cliques. A mean of marginals of one tree belongs to a
            distribution on that tree again.
        loss_reached: the loss of the mean.
        iterations: steps taken.
    """

    def __init__(
        self,
        oracle: MarginalOracle,
        loss: QuadraticLoss,
        start: Array,
        marginals: Array,
        log_partition: float,
    ) -> None:
        self._oracle = oracle
        self._loss = loss
        self.leader = _Point(start, marginals, log_partition)
        self.mean_marginals = marginals
        self.mean_beliefs = oracle.beliefs.copy()
        self.loss_reached = loss.of_marginals(marginals)
        self.iterations = 0
        self._weight = 0.0
        # A stride of 1 / (total x largest weight) holds almost everywhere; the search starts ten times
        # longer and halves it where it must.
        self._smoothness = 0.1 * oracle.total * float(loss.weights.max())

    def run(self, max_iterations: int, tolerance: float) -> None:
        """Step until the loss stalls."""
        checked = self.loss_reached
        while self.iterations < max_iterations:
            self._step()
            if self.iterations % _CHECK_EVERY == 0:
                if checked - self.loss_reached <= tolerance * self.loss_reached:
                    break
                checked = self.loss_reached

    def _step(self) -> None:
        """One step; the smoothness constant is lowered a little at each, and doubled until it holds."""
        self._smoothness *= 0.9
        while True:
            smoothness = self._smoothness
            stride = (1 + math.sqrt(1 + 4 * smoothness * self._weight)) / (2 * smoothness)
            share = stride / (self._weight + stride)
            middle = (1 - share) * self.mean_marginals + share * self.leader.marginals
            potentials = self.leader.potentials - stride * self._loss.gradient(middle)
            trial = _Point(potentials, *self._oracle(potentials))
            if self._holds(trial, smoothness):
                break
            self._smoothness *= 2
        marginals = (1 - share) * self.mean_marginals + share * trial.marginals
        reached = self._loss.of_marginals(marginals)
        self.iterations += 1
        if not math.isfinite(reached):
            raise ModelError("the loss of the fit is no longer finite; look for extreme values or scales")
        self._weight += stride
        self.leader = trial
        self.mean_marginals, self.loss_reached = marginals, reached
        step = self._oracle.beliefs
        step -= self.mean_beliefs
        step *= share
        self.mean_beliefs += step

    def _holds(self, trial: _Point, smoothness: float) -> bool:
        """Whether the loss curves less between leader and trial than smoothness times their divergence.

        The divergence is total x KL(trial || leader), from potentials and log-partitions; it is allowed what
        these lose to rounding.
        """
        total = self._oracle.total
        change = trial.potentials - self.leader.potentials
        growth = total * (trial.log_partition - self.leader.log_partition)
        inner = dot(change, trial.marginals)
        rounding = 1e-14 * (abs(inner) + total * (abs(trial.log_partition) + abs(self.leader.log_partition)))
        curvature = self._loss.curvature(trial.marginals - self.leader.marginals)
        return curvature <= smoothness * (inner - growth + rounding)
