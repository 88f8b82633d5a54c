"""The interface of estimators of graphical models, and the checks that they share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from ....common.data.domain import Domain
from ....common.errors import ModelError
from ....common.measurement import Measurement
from ..model import MarkovRandomField
from ..structure.junction_tree import size_mb
from .loss import QuadraticLoss, minimum_variance_total

_MOST_CONSTANTS = 32
"""Attributes of one code that may be in one clique. A clique of a hundred would be small, and have more axes
than an array can have."""


class Estimator(Protocol):
    """Fits a model to noisy marginals, as `estimate` and `estimate_in_parallel` do.

    Each is deterministic. Every measured clique is in a clique of the model (of very many attributes of one
    code, without these), beliefs agree on separators, and the loss is that of `QuadraticLoss` for the
    measurements merged clique by clique, so that two models of the same measurements can be compared.
    """

    def __call__(
        self,
        domain: Domain,
        measurements: Sequence[Measurement],
        *,
        total: float | None = None,
        warm_start: MarkovRandomField | None = None,
        max_iterations: int = 1000,
        tolerance: float = 1e-3,
        max_model_mb: float = 1024.0,
    ) -> MarkovRandomField:
        """Fit the model.

        Args:
            domain: attributes of the model.
            measurements: of any cliques, with repetitions; without any the model is uniform.
            total: number of records; by default estimated from the measurements.
            warm_start: earlier model of the same domain, from which the fit starts.
            max_iterations: largest number of steps.
            tolerance: stop when the decrease of the loss is small relative to it, or to what noise
                contributes if that is more.
            max_model_mb: largest model to fit, in MiB of its beliefs.

        Raises:
            DataError: a clique names an attribute that the domain lacks.
            ModelError: a measurement does not fit the domain, the model would be too large, or the fit does
                not stay finite.
        """
        ...


@dataclass(frozen=True, eq=False)
class Problem:
    """A checked fitting problem.

    Attributes:
        loss: of the measurements, merged clique by clique.
        total: sum of each marginal.
    """

    loss: QuadraticLoss
    total: float

    @classmethod
    def of(
        cls,
        domain: Domain,
        measurements: Sequence[Measurement],
        *,
        total: float | None,
        warm_start: MarkovRandomField | None,
        max_model_mb: float,
    ) -> Problem:
        """Check an estimator's arguments before anything large is built; same arguments and errors."""
        if sum(size == 1 for size in domain.sizes) > _MOST_CONSTANTS:
            measurements = [_without_constants(domain, one) for one in measurements]
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
        return cls(loss, total)


def _without_constants(domain: Domain, measurement: Measurement) -> Measurement:
    """The same counts, of the attributes of several codes, or of one attribute if there are none."""
    view = measurement.view
    if view.boxes or not view.clique or not {*view.clique} <= {*domain.names}:
        return measurement
    return replace(measurement, view=view.varying(domain))
