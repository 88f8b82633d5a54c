"""What is known of one interaction of a table: how far it is from a model, and what measuring it would bring.

A model that has not seen the interaction predicts the marginal's cells, mu. The true cells are taken to lie
around them, z_c = m_c - mu_c within the interaction, with standard deviations

    tau_c = D b_c,    b_c proportional to sqrt(max(mu_c, 1)),  scaled so that D is the expected L1 norm of z:

cells that hold more records are farther off, like counts. D is not known. Its posterior comes from the noisy
L1 distance (the score) and from what was measured. Its prior has density (1 + D / m)^-3: a few interactions
are far larger than most. Their mean, m, is learned from all of them (`typical_size`).

Where covariances along the attributes are known (`axes`), there is a second view of the interaction, as
coefficients along their eigenvectors. Both are believed as far as they make the measurements likely.
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
"""Values of D that are told apart, as shares of the number of records."""

_SPREAD = 0.3
"""An L1 norm deviates from what its scale makes expect by this share; the score says no more of D."""

_IN_SCORE = 0.5
"""Share of the reference error that a score is taken to contain. The whole is what is expected; half favours
interactions: one that is left out is lost, one measured in vain costs little."""

_TAIL = 3
LEAST_VARIANCE = 0.1
"""No cell counts as better known than with this share of its noise's variance."""


@dataclass(frozen=True, eq=False)
class Observed:
    """All measurements of one interaction, averaged.

    Attributes:
        values: shape (n_r,).
        variance: of the noise of a cell of the average, within the interaction.
    """

    values: Array
    variance: float

    def with_values(self, values: Array, variance: float) -> Observed:
        """Averaged with another measurement, weighted by one over the variances."""
        total = 1 / (1 / self.variance + 1 / variance)
        return Observed(total * (self.values / self.variance + values / variance), total)


@dataclass(frozen=True, eq=False)
class Effect:
    """One interaction.

    Attributes:
        shape: of its marginal.
        reference: shape (n_r,): mu, the cells that a model without this interaction predicts.
        distance: noisy L1 distance between the table's marginal and the reference, in records; None unscored.
        deviation: standard deviation of its noise.
        reference_error: expected L1 error of the smaller marginals that the reference was made from, in
            records. The distance contains it: it is the root of the sum of its square and that of D.
        observed: what was measured of it; None before.
        typical: m, the mean of D among such interactions, as a share of the records; infinite where unknown.
        axes: how cells vary together along each attribute; none where they are taken as independent.
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
        """The effect of another reference, whose score is averaged with the one before.

        That says as much less of this reference as the reference has moved since.
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
        """tau_c of the posterior mean of D, shape (n_r,)."""
        scales, weights = self.sizes(records)
        return float(weights @ scales) * self._profile()

    def estimate(self, records: float) -> tuple[Array, Array]:
        """The reference with the posterior mean of the interaction, and deviations to weigh its cells by.

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
        """Of what was measured: its cells, and where axes are known the coefficients along them."""
        assert self.observed is not None
        away, free = interaction(self.observed.values - self.reference, self.shape), freedom(self.shape)
        found = [View(self._profile(), away, self.observed.variance, free)]
        if self.axes:
            profile = np.sqrt(expected_variances(self.axes)).ravel()
            coefficients = along(away.reshape(self.shape), [axis.vectors.T for axis in self.axes]).ravel()
            found.append(View(profile, coefficients, self.observed.variance / free, axes=self.axes))
        return found

    def expected_error(self, records: float) -> float:
        """Of the estimate: its L1 norm, in records."""
        assert self.observed is not None
        deviations = self.deviations(records)
        left = deviations / np.sqrt(1 + deviations**2 / self.observed.variance)
        return EXPECTED_L1 * float(left.sum())

    def _profile(self) -> Array:
        """b_c, shape (n_r,)."""
        roots = np.sqrt(np.maximum(self.reference, 1.0))
        return np.asarray(roots / (EXPECTED_L1 * roots.sum()))

    def sizes(self, records: float) -> tuple[Array, Array]:
        """Values of D, in records, and how likely each is."""
        scales, weights = self._posterior(records)
        return scales, weights.sum(axis=0)

    def _posterior(self, records: float) -> tuple[Array, Array]:
        """Values of D, and how likely each is together with each view, shape (views, values)."""
        logs = self._logs(records) + _log_prior(self.typical)
        weights = np.exp(logs - logs.max())
        return _SCALES * records, weights / weights.sum()

    def log_likelihood(self, records: float) -> Array:
        """Of each value of D that is told apart, up to a constant."""
        return np.asarray(np.logaddexp.reduce(self._logs(records), axis=0))

    def _logs(self, records: float) -> Array:
        """Log-likelihoods, shape (views, values of D); one view where nothing is measured."""
        scales = _SCALES * records
        logs = np.zeros(len(scales))
        if self.distance is not None:
            expected = np.hypot(scales, _IN_SCORE * self.reference_error)
            variance = self.deviation**2 + (_SPREAD * expected) ** 2
            # Noise takes a score below zero, but says nothing by how far.
            away = max(self.distance, -3 * self.deviation) - expected
            logs -= away**2 / (2 * variance) + 0.5 * np.log(variance)
        if self.observed is None:
            return logs[None]
        return np.array([logs + view.log_likelihood(scales) for view in self.views])


def typical_size(effects: Sequence[Effect], records: float) -> float:
    """The m, as a share of the records, for which all that is known of the interactions is likely.

    The mean, weighted by the likelihood of all scores and measurements together; the prior is even over its
    logarithm.
    """
    known = np.array([effect.log_likelihood(records) for effect in effects])
    known -= known.max(axis=1, keepdims=True)
    means = np.geomspace(1e-3, 2, 40)
    evidence = np.array([np.logaddexp.reduce(known + _log_prior(mean), axis=1).sum() for mean in means])
    weights = np.exp(evidence - evidence.max())
    return float(weights @ means / weights.sum())


def _log_prior(typical: float) -> Array:
    """Of the values of D: a Lomax density times their spacing, which is geometric."""
    logs = np.log(_SCALES) - _TAIL * np.log1p(_SCALES / typical)
    return np.asarray(logs - np.logaddexp.reduce(logs))
