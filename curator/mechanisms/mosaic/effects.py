"""Posterior of one interaction of a table: its distance from a model, and its estimate.

A model without the interaction predicts the marginal's cells, mu. The deviation of the true cells within the
interaction, z_c = m_c - mu_c, is modelled as normal with standard deviations

    tau_c = D b_c,    b_c proportional to sqrt(max(mu_c, 1)),  scaled so that D is the expected L1 norm of z:

so cells with more records deviate more, like counts. D is unknown. Its posterior follows from the noisy L1
distance (the score) and from the measurements. Its prior has density (1 + D / m)^-3, because few interactions
are far larger than most. Their mean, m, is learned from all of them (`typical_size`).

Where covariances along the attributes are known (`axes`), there is a second model of the interaction, as
coefficients along their eigenvectors. The two are weighted by the likelihood of the measurements.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ....common.data.interactions import freedom, interaction
from ..parts.allocation import EXPECTED_L1
from .axes import Axis, along, expected_variances
from .views import NEGLIGIBLE, View

Array = NDArray[np.float64]

_SCALES = np.geomspace(1e-4, 2, 48)
"""Grid of values of D, as shares of the number of records."""

_SPREAD = 0.3
"""Relative deviation of an L1 norm from its expectation D; limits what a score determines of D."""

_IN_SCORE = 0.5
"""Share of the reference error that is subtracted from a score. The expected share is 1; a half favours
interactions, because leaving one out costs more than measuring one in vain."""

_TAIL = 3
LEAST_VARIANCE = 0.1
"""Lower bound of a cell's posterior variance, as a share of its noise's variance."""


@dataclass(frozen=True, eq=False)
class Observed:
    """The average of all measurements of one interaction.

    Attributes:
        values: shape (n_r,).
        variance: variance of the noise of a cell of the average, within the interaction.
    """

    values: Array
    variance: float

    def with_values(self, values: Array, variance: float) -> Observed:
        """The inverse-variance weighted average with another measurement."""
        total = 1 / (1 / self.variance + 1 / variance)
        return Observed(total * (self.values / self.variance + values / variance), total)


@dataclass(frozen=True, eq=False)
class Effect:
    """One interaction.

    Attributes:
        shape: shape of its marginal.
        reference: mu, the cells that a model without this interaction predicts, shape (n_r,).
        distance: noisy L1 distance between the table's marginal and the reference, in records; None unscored.
        deviation: standard deviation of the noise of `distance`.
        reference_error: expected L1 error of the smaller marginals from which the reference was made, in
            records. The expected distance is the root of the sum of its square and that of D.
        observed: average of its measurements; None without any.
        typical: m, the mean of D over similar interactions, as a share of the records; infinite if unknown.
        axes: covariances along each attribute; empty if cells are modelled as independent.
    """

    shape: tuple[int, ...]
    reference: Array
    distance: float | None = None
    deviation: float = 0.0
    reference_error: float = 0.0
    observed: Observed | None = None
    typical: float = math.inf
    axes: tuple[Axis, ...] = ()

    def scored_again(
        self, reference: Array, distance: float, deviation: float, reference_error: float
    ) -> Effect:
        """The effect with a new reference, whose score is averaged with the earlier one.

        The weight of the earlier score decreases with the distance that the reference has moved since.
        """
        assert self.distance is not None
        before = self.deviation**2 + float(np.abs(reference - self.reference).sum()) ** 2
        variance = 1 / (1 / before + 1 / deviation**2)
        mean = variance * (self.distance / before + distance / deviation**2)
        return replace(
            self,
            reference=reference,
            distance=mean,
            deviation=math.sqrt(variance),
            reference_error=reference_error,
        )

    def deviations(self, records: float) -> Array:
        """tau_c at the posterior mean of D, shape (n_r,)."""
        scales, weights = self.sizes(records)
        return float(weights @ scales) * self._profile()

    def estimate(self, records: float) -> tuple[Array, Array]:
        """The reference plus the posterior mean of the interaction, and deviations of its cells.

        Returns:
            The cells, which may be negative, and their standard deviations; both of shape (n_r,).
        """
        assert self.observed is not None
        scales, weights = self._posterior(records)
        believed = weights.sum(axis=1)
        found = [
            (share, *view.cells(*view.posterior(scales, likely)))
            for share, view, likely in zip(believed, self.views, weights, strict=True)
            if share > NEGLIGIBLE
        ]
        total = sum(share for share, _, _ in found)
        values = sum(share * means for share, means, _ in found) / total
        variances = sum(share * (own + (means - values) ** 2) for share, means, own in found) / total
        least = LEAST_VARIANCE * self.observed.variance
        return self.reference + values, np.sqrt(np.maximum(variances, least))

    @cached_property
    def views(self) -> list[View]:
        """Views of the measurements: cells and, if axes are known, coefficients along them."""
        assert self.observed is not None
        away, free = interaction(self.observed.values - self.reference, self.shape), freedom(self.shape)
        found = [View(self._profile(), away, self.observed.variance, free)]
        if self.axes:
            profile = np.sqrt(expected_variances(self.axes)).ravel()
            coefficients = along(away.reshape(self.shape), [axis.vectors.T for axis in self.axes]).ravel()
            found.append(View(profile, coefficients, self.observed.variance / free, axes=self.axes))
        return found

    def expected_error(self, records: float) -> float:
        """Expected L1 norm of the error of the estimate, in records."""
        assert self.observed is not None
        deviations = self.deviations(records)
        left = deviations / np.sqrt(1 + deviations**2 / self.observed.variance)
        return EXPECTED_L1 * float(left.sum())

    def _profile(self) -> Array:
        """b_c, shape (n_r,)."""
        roots = np.sqrt(np.maximum(self.reference, 1.0))
        return np.asarray(roots / (EXPECTED_L1 * roots.sum()))

    def sizes(self, records: float) -> tuple[Array, Array]:
        """Values of D, in records, and their posterior probabilities."""
        scales, weights = self._posterior(records)
        return scales, weights.sum(axis=0)

    def _posterior(self, records: float) -> tuple[Array, Array]:
        """Values of D, and the joint posterior of views and values, shape (views, values)."""
        logs = self._logs(records) + _log_prior(self.typical)
        weights = np.exp(logs - logs.max())
        return _SCALES * records, weights / weights.sum()

    def log_likelihood(self, records: float) -> Array:
        """Log-likelihood of each value of D on the grid, up to a constant."""
        return np.asarray(np.logaddexp.reduce(self._logs(records), axis=0))

    def _logs(self, records: float) -> Array:
        """Log-likelihoods, shape (views, values of D); one view without measurements."""
        scales = _SCALES * records
        logs = np.zeros(len(scales))
        if self.distance is not None:
            expected = np.hypot(scales, _IN_SCORE * self.reference_error)
            variance = self.deviation**2 + (_SPREAD * expected) ** 2
            # A score below zero is due to noise; by how much carries no information.
            away = max(self.distance, -3 * self.deviation) - expected
            logs -= away**2 / (2 * variance) + 0.5 * np.log(variance)
        if self.observed is None:
            return logs[None]
        return np.array([logs + view.log_likelihood(scales) for view in self.views])


def typical_size(effects: Sequence[Effect], records: float) -> float:
    """The posterior mean of m, as a share of the records, given all scores and measurements.

    The prior is uniform over the logarithm of m.
    """
    known = np.array([effect.log_likelihood(records) for effect in effects])
    known -= known.max(axis=1, keepdims=True)
    means = np.geomspace(1e-3, 2, 40)
    evidence = np.array([np.logaddexp.reduce(known + _log_prior(mean), axis=1).sum() for mean in means])
    weights = np.exp(evidence - evidence.max())
    return float(weights @ means / weights.sum())


def _log_prior(typical: float) -> Array:
    """Log-prior of the values of D: a Lomax density times their spacing, which is geometric."""
    logs = np.log(_SCALES) - _TAIL * np.log1p(_SCALES / typical)
    return np.asarray(logs - np.logaddexp.reduce(logs))
