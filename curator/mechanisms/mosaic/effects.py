"""Posterior of one interaction of a table: its distance from a model, and its estimate.

A model without the interaction predicts the marginal's cells, mu. The deviation of the true cells within the
interaction, z_c = m_c - mu_c, is modelled as normal with standard deviations

    tau_c = D b_c,    b_c proportional to sqrt(max(mu_c, 1)),  scaled so that D is the expected L1 norm of z:

so cells with more records deviate more, like counts. D is unknown. Its posterior follows from the noisy L1
distance (the score) and from the measurements. A share of the interactions is expected to be none: D is that
of sampling error. The prior of the others has density (1 + D / m)^-3, because few are far larger than most.
The share and their mean, m, are learned from all of them (`learning`).

Where covariances along the attributes are known (`learning`), there is a second component: coefficients
along their eigenvectors. The two are weighted by the likelihood of the measurements.

Where the interaction is predicted from others (`factors`), a third component has the deviation from that,
with a size D of its own kind, and a prior probability (`learning`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ....common.data.interactions import freedom, interaction
from ..parts.allocation import EXPECTED_L1
from .components import (
    SCALES,
    UNLIKELY,
    Axis,
    Component,
    along,
    classes_of,
    expected_variances,
    log_prior,
    log_prior_around,
)
from .observed import Checked, Observed, Prediction
from .settings import SETTINGS

Array = NDArray[np.float64]

_OF_REFERENCE = "plain", "_profile_classes"
"""Properties that do not change while the reference and the measurements stay."""


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
        none: prior probability that there is no interaction but of sampling error.
        axes: covariances along each attribute; empty if cells are modelled as independent.
        coupling: see `expected_variances`.
        predicted: what other interactions lead to expect; None if nothing.
        compared: the cells with which the score compared the table, if these are not the reference.
        earlier: what a public table of the same columns leads to expect; None without one.
        checked: average of the scores that compared the table with that; None without any.
    """

    shape: tuple[int, ...]
    reference: Array
    distance: float | None = None
    deviation: float = 0.0
    reference_error: float = 0.0
    observed: Observed | None = None
    typical: float = math.inf
    none: float = 0.0
    axes: tuple[Axis, ...] = ()
    coupling: Array | None = None
    predicted: Prediction | None = None
    compared: Array | None = None
    earlier: Prediction | None = None
    checked: Checked | None = None
    _kept: dict[float, Array] = field(default_factory=dict, init=False, repr=False)

    def with_reference(self, reference: Array) -> Effect:
        """The effect with the prediction of another model; a score stays what it is."""
        return replace(
            self, reference=reference, compared=None if self.distance is None else self._scored_cells
        )

    def with_prior(self, typical: float, none: float) -> Effect:
        """The effect with another prior of its size, on which likelihoods do not depend."""
        return self._sharing(replace(self, typical=typical, none=none))

    def with_prediction(self, predicted: Prediction) -> Effect:
        """The effect with something predicted, on which other likelihoods do not depend."""
        return self._sharing(replace(self, predicted=predicted))

    def with_earlier(self, earlier: Prediction) -> Effect:
        """The effect as a public table leads to expect it; other likelihoods do not depend on that."""
        return self._sharing(replace(self, earlier=earlier))

    def with_axes(self, axes: tuple[Axis, ...], coupling: Array | None = None) -> Effect:
        """The effect with other covariances along its attributes."""
        if self.observed is not None:
            _ = self.plain
        return self._share_properties(replace(self, axes=axes, coupling=coupling), _OF_REFERENCE)

    def _sharing(self, other: Effect) -> Effect:
        """Another effect with the same likelihoods."""
        other._kept.update(self._kept)
        return self._share_properties(other, (*_OF_REFERENCE, "components"))

    def _share_properties(self, other: Effect, names: tuple[str, ...]) -> Effect:
        """Another effect, with these properties as far as they have been computed for this one."""
        vars(other).update({name: found for name, found in vars(self).items() if name in names})
        return other

    def scored_again(
        self, reference: Array, distance: float, deviation: float, reference_error: float
    ) -> Effect:
        """The effect with a new reference, whose score is averaged with the earlier one.

        The weight of the earlier score decreases with the distance that the reference has moved since.
        """
        assert self.distance is not None
        scored = Checked(self._scored_cells, self.distance, self.deviation)
        scored = scored.with_score(reference, distance, deviation)
        return replace(
            self,
            reference=reference,
            distance=scored.distance,
            deviation=scored.deviation,
            reference_error=reference_error,
            compared=None,
        )

    def deviations(self, records: float) -> Array:
        """tau_c at the posterior mean of what is unknown, shape (n_r,)."""
        return self.unknown(records) * self._profile()

    def deviation_classes(self, records: float) -> tuple[Array, Array]:
        """The deviations in classes; see `classes_of`."""
        levels, counts = self._profile_classes
        return self.unknown(records) * levels, counts

    @cached_property
    def _profile_classes(self) -> tuple[Array, Array]:
        return classes_of(self._profile())

    def size(self, records: float) -> float:
        """The posterior mean of the interaction's distance from the reference, in records."""
        alone, near = self._means(records)
        if self.earlier is None:
            return alone
        belief = self.belief_in_earlier(records)
        return (1 - belief) * alone + belief * math.hypot(near, self._l1(self._from(self.earlier)))

    def unknown(self, records: float) -> float:
        """Posterior mean of the distance from what is expected without a measurement, in records."""
        alone, near = self._means(records)
        if self.earlier is None:
            return alone
        belief, apart = self.belief_in_earlier(records), self._l1(self._from(self.earlier))
        # The estimate is between what both say.
        return (1 - belief) * math.hypot(alone, belief * apart) + belief * math.hypot(
            near, (1 - belief) * apart
        )

    @cached_property
    def beside_earlier(self) -> Effect:
        """The effect as scores beside the earlier table show it; others tell sizes and not directions."""
        scored = replace(self, distance=None, deviation=0.0, compared=None)
        if (seen := self.checked) is not None:
            scored = replace(self, distance=seen.distance, deviation=seen.deviation, compared=seen.cells)
        return self._share_properties(scored, (*_OF_REFERENCE, "components"))

    def _means(self, records: float) -> tuple[float, float]:
        """Posterior means of D from the reference, and from what an earlier table leads to expect."""
        scales, weights = self.sizes(records)
        if self.earlier is None:
            return float(weights @ scales), 0.0
        _, likely = self.beside_earlier._near(self.earlier, records)
        return float(weights @ scales), float(likely @ scales) / float(likely.sum())

    def belief_in_earlier(self, records: float) -> float:
        """Posterior probability that the interaction is as an earlier table leads to expect."""
        return self.beliefs(records).get("earlier", 0.0)

    def estimate(self, records: float) -> tuple[Array, Array]:
        """The reference plus the posterior mean of the interaction, and deviations of its cells.

        Returns:
            The cells, which may be negative, and their standard deviations; both of shape (n_r,).
        """
        scales, weights = self._posterior(records)
        found = [
            (float(likely.sum()), *self._cells(component, scales, likely))
            for component, likely in zip(self._components, weights, strict=True)
            if likely.sum() > UNLIKELY
        ]
        beliefs = [(getattr(self, name), belief) for name, belief in self.beliefs(records).items()]
        left = 1 - sum(belief for _, belief in beliefs)
        found = [(left * share, means, own) for share, means, own in found]
        for prediction, belief in beliefs:
            if belief > UNLIKELY:
                seen = self.beside_earlier if prediction is self.earlier else self
                component, likely = seen._near(prediction, records)
                means, own = self._cells(component, scales, likely)
                found.append((belief, self._from(prediction) + means, own))
        total = sum(share for share, _, _ in found)
        values = sum(share * means for share, means, _ in found) / total
        variances = sum(share * (own + (means - values) ** 2) for share, means, own in found) / total
        least = 0.0 if self.observed is None else SETTINGS.least_variance * self.observed.variance
        return self.reference + values, np.sqrt(np.maximum(variances, least))

    def _cells(self, component: Component | None, scales: Array, likely: Array) -> tuple[Array, Array]:
        """Means and variances of the cells of the distance from a start, given weights of values of D."""
        if component is not None:
            return component.cells(*component.posterior(scales, likely))
        profile = self._profile()
        return np.zeros_like(profile), profile**2 * float(likely @ scales**2) / float(likely.sum())

    def _near(self, prediction: Prediction, records: float) -> tuple[Component | None, Array]:
        """What was measured as a distance from a prediction, and the posterior of D from it."""
        near = log_prior_around(prediction.typical, SETTINGS.near_spread)
        likely = np.exp((logs := self._likelihoods_ahead(prediction, records) + near) - logs.max())
        component = None if self.observed is None else self._component_from(self._from(prediction))
        return component, likely

    @property
    def _components(self) -> Sequence[Component | None]:
        return [None] if self.observed is None else self.components

    @cached_property
    def components(self) -> list[Component]:
        """Components of the measurements: cells and, if axes are known, coefficients along them."""
        return [self.plain, self._along_axes(self.plain.away)] if self.axes else [self.plain]

    @cached_property
    def plain(self) -> Component:
        """The component of cells."""
        return self._of_cells(self._away(self.reference))

    def _component_from(self, start: Array) -> Component:
        """The measured distance from the reference plus an interaction, along the axes if these are known."""
        away = self._away(self.reference + start)
        return self._along_axes(away) if self.axes else self._of_cells(away)

    def _away(self, start: Array) -> Array:
        """The interaction of the measured distance from some cells, shape (n_r,)."""
        assert self.observed is not None
        return interaction(self.observed.values - start, self.shape)

    def _of_cells(self, away: Array) -> Component:
        assert self.observed is not None
        return Component(self._profile(), away, self.observed.variance, freedom(self.shape))

    def _along_axes(self, away: Array) -> Component:
        assert self.observed is not None
        profile = np.sqrt(expected_variances(self.axes, self.coupling)).ravel()
        coefficients = along(away.reshape(self.shape), [axis.vectors.T for axis in self.axes]).ravel()
        variance = self.observed.variance / freedom(self.shape)
        return Component(profile, coefficients, variance, axes=self.axes)

    @property
    def _scored_cells(self) -> Array:
        """The cells with which the score compared the table, shape (n_r,)."""
        return self.reference if self.compared is None else self.compared

    def _from(self, prediction: Prediction) -> Array:
        """The predicted interaction less the reference's, shape (n_r,)."""
        return interaction(prediction.cells - self.reference, self.shape)

    @staticmethod
    def _l1(cells: Array) -> float:
        return float(np.abs(cells).sum())

    def beliefs(self, records: float) -> dict[str, float]:
        """Posterior probabilities that the interaction is near what is predicted, for each prediction."""
        known = {"predicted": self.predicted, "earlier": self.earlier}
        odds = {}
        for name, prediction in known.items():
            if prediction is not None and prediction.share:
                seen = self.beside_earlier if prediction is self.earlier else self
                without, ahead = seen.evidence(records, prediction, np.array([prediction.typical]))
                found = math.log(prediction.share) - math.log1p(-prediction.share) + float(ahead[0]) - without
                odds[name] = max(min(found, 500.0), -500.0)
        return {
            name: 1 / (1 + sum((math.exp(odds[of] - own) for of in odds if of != name), math.exp(-own)))
            for name, own in odds.items()
        }

    def evidence(self, records: float, prediction: Prediction, typical: Array) -> tuple[float, Array]:
        """Log-likelihood of what is known without a prediction, and with it for some typical distances.

        Args:
            records: number of records.
            prediction: the prediction.
            typical: shape (k,), as shares of the records.

        Returns:
            The former, and the latter of shape (k,), both up to one constant.
        """
        logs = self._logs(records)
        without = float(np.logaddexp.reduce(logs + self._prior(records), axis=None)) - math.log(len(logs))
        ahead = self._likelihoods_ahead(prediction, records)
        near = log_prior_around(typical, SETTINGS.near_spread)
        return without, np.asarray(np.logaddexp.reduce(ahead + near, axis=-1))

    def _likelihoods_ahead(self, prediction: Prediction, records: float) -> Array:
        """Log-likelihoods of distances from what is predicted, shape (values of D,)."""
        scales = SCALES * records
        logs = self._log_score(scales, prediction.cells)
        if self.observed is None:
            return logs
        return logs + self._component_from(self._from(prediction)).log_likelihood(scales)

    def expected_error(self, records: float) -> float:
        """Expected L1 norm of the error of the estimate, in records; without a measurement, all unknown."""
        deviations = self.deviations(records)
        precision = 0.0 if self.observed is None else 1 / self.observed.variance
        left = deviations / np.sqrt(1 + precision * deviations**2)
        return EXPECTED_L1 * float(left.sum())

    def error_in_groups(self, records: float, share: float) -> float:
        """Expected L1 norm of the error of the estimate in groups of codes, in records.

        Noise of cells cancels out in groups. What shrinkage leaves out, which is everything without a
        measurement, does not: neighbouring codes deviate alike.

        Args:
            records: number of records.
            share: number of groups for each cell.
        """
        deviations = self.deviations(records)
        if self.observed is None:
            return EXPECTED_L1 * float(deviations.sum())
        variance = self.observed.variance
        kept = deviations**2 / (deviations**2 + variance)
        squares = ((1 - kept) * deviations) ** 2 + share * kept**2 * variance
        return EXPECTED_L1 * float(np.sqrt(squares).sum())

    def _profile(self) -> Array:
        """b_c, shape (n_r,)."""
        roots = np.sqrt(np.maximum(self.reference, 1.0))
        return np.asarray(roots / (EXPECTED_L1 * roots.sum()))

    def sizes(self, records: float) -> tuple[Array, Array]:
        """Values of D, in records, and their posterior probabilities."""
        scales, weights = self._posterior(records)
        return scales, weights.sum(axis=0)

    def _posterior(self, records: float) -> tuple[Array, Array]:
        """Values of D, and the joint posterior of components and values, shape (components, values)."""
        logs = self._logs(records) + self._prior(records)
        weights = np.exp(logs - logs.max())
        return SCALES * records, weights / weights.sum()

    def _prior(self, records: float) -> Array:
        """Log-prior of the values of D."""
        some = log_prior(self.typical)
        if not self.none:
            return some
        none = math.log(self.none) + self.log_prior_of_none(records)
        return np.asarray(np.logaddexp(math.log1p(-self.none) + some, none))

    def log_prior_of_none(self, records: float) -> Array:
        """Log-prior of the values of D if there is nothing but the sampling error of these counts."""
        counts = np.maximum(self.reference, 0.0)
        # Of a Poisson count whose mean is far below 1, the expected deviation is twice the mean.
        cells = np.minimum(EXPECTED_L1 * np.sqrt(counts), 2 * counts)
        expected = math.sqrt(freedom(self.shape)) * float(cells.sum()) / records
        return log_prior_around(expected, SETTINGS.none_spread)

    def log_likelihood(self, records: float) -> Array:
        """Log-likelihood of each value of D on the grid, up to a constant."""
        return np.asarray(np.logaddexp.reduce(self._logs(records), axis=0))

    def _logs(self, records: float) -> Array:
        """Log-likelihoods, shape (components, values of D); one component without measurements."""
        if records not in self._kept:
            scales = SCALES * records
            measured = [np.zeros(len(scales))]
            if self.observed is not None:
                measured = [component.log_likelihood(scales) for component in self.components]
            self._kept[records] = self._log_score(scales, self.reference) + np.array(measured)
        return self._kept[records]

    def _log_score(self, sizes: Array, start: Array) -> Array:
        """Log-likelihoods of the score if the interaction is so far from that of some cells, in records."""
        if self.distance is None:
            return np.zeros(len(sizes))
        apart = float(np.abs(interaction(start - self._scored_cells, self.shape)).sum())
        expected = np.sqrt(sizes**2 + apart**2 + (SETTINGS.reference_error * self.reference_error) ** 2)
        variance = self.deviation**2 + (SETTINGS.score_spread * expected) ** 2
        # A score below zero is due to noise; by how much carries no information.
        away = max(self.distance, -3 * self.deviation) - expected
        return np.asarray(-(away**2) / (2 * variance) - 0.5 * np.log(variance))
