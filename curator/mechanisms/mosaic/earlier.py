"""What an earlier table of the same columns leads to expect: a public one, such as last year's release.

Post-processing of noisy answers and public facts. An interaction is near that of the earlier table with a
probability, at a distance with a log-normal prior; both are learned from all interactions that were scored or
measured. The distance is at least the sampling error of both tables.

Counts of an attribute deviate by normal variables of a size that is learned likewise, so they are averaged
with noisy ones as far as they have proved right.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ....common.data.domain import Clique
from ....common.data.interactions import freedom
from ....common.data.table import Table
from ..parts.allocation import EXPECTED_L1
from ..parts.consistency import rake
from .components import SCALES, Array, Component, log_prior_around
from .effects import Effect
from .observed import Prediction
from .settings import SETTINGS

_DRIFTS = np.geomspace(1e-3, 0.2, 24)
"""Grid of typical distances, as shares of the records."""

_SHARES = (np.arange(20) + 0.5) / 20
"""Grid of shares of interactions that are near those of the earlier table."""

_FAR = np.log(SCALES / SCALES.sum())
"""Log-prior of the values of D for counts that are not near: any value up to twice the records."""

_LEFT = np.array([1.0, 0.85, 0.7])
"""What may be left of interactions since."""

_LEARNED_FROM = 300
"""Most interactions, evenly chosen, from which is learned how near they are."""


@dataclass(frozen=True, eq=False)
class EarlierTable:
    """An earlier table, whose rows are public.

    Attributes:
        table: its codes, in the domain of the release.
    """

    table: Table

    @cached_property
    def _rows(self) -> int:
        return max(1, self.table.record_count)

    def counts(self, clique: Clique, records: float) -> Array:
        """Its marginal, scaled to the number of records, shape (n_r,)."""
        counts = self.table.marginal(clique) + SETTINGS.earlier_count / math.prod(
            self.table.domain.shape(clique)
        )
        return np.asarray(counts * (records / counts.sum()))

    def cells(self, clique: Clique, margins: Mapping[str, Array], records: float) -> Array:
        """Its marginal with these one-way marginals, shape (n_r,)."""
        return _rake_singles(self.counts(clique, records), clique, self.table.domain.shape(clique), margins)

    def expect(
        self, effects: Mapping[Clique, Effect], margins: Mapping[str, Array], records: float, share: float
    ) -> dict[Clique, Effect]:
        """Interactions as this table leads to expect them, as far as all of them say that it does.

        Args:
            effects: interactions of two and more attributes.
            margins: attribute -> its positive counts.
            records: number of records.
            share: the share of attributes that this table is right about, as is expected of interactions.
        """
        found: dict[Clique, Effect] = {}
        for size in sorted({len(clique) for clique in effects}):
            pool = {
                clique: self._likeness(clique, effect, margins, records)
                for clique, effect in effects.items()
                if len(clique) == size
            }
            known = [one for one in pool.values() if one.effect.checked or one.effect.observed]
            known = known[:: math.ceil(len(known) / _LEARNED_FROM) or 1]
            ratios = [[one.ratios(weight, records) for one in known] for weight in _LEFT]
            weight, drift, right = _learn(
                np.array(ratios).reshape(len(_LEFT), -1, len(_DRIFTS)), _LEFT, share
            )
            found |= {
                clique: one.effect.with_earlier(one.prediction(weight, drift, right))
                for clique, one in pool.items()
            }
        return found

    def _likeness(
        self, clique: Clique, effect: Effect, margins: Mapping[str, Array], records: float
    ) -> _Likeness:
        cells = self.cells(clique, margins, records)
        reference = _rake_singles(effect.reference, clique, effect.shape, margins)
        return _Likeness(effect, cells, reference, self._sampling(clique, cells, records))

    def average(
        self, cliques: Sequence[Clique], noisy: Sequence[tuple[Array, Array]], records: float
    ) -> tuple[list[tuple[Array, Array]], float]:
        """Noisy counts, averaged with those of this table, and their variances; the share that is right.

        Args:
            cliques: of each, one attribute.
            noisy: counts plus Gaussian noise, and the variances of the noise, shape (n,) each.
            records: number of records.
        """
        scales = SCALES * records
        near, far, floors = [], [], []
        for clique, (values, variances) in zip(cliques, noisy, strict=True):
            start = self.counts(clique, records)
            roots = np.sqrt(np.maximum(start, 1.0))
            noise, share = float(variances.mean()), freedom(start.shape)
            near.append(Component(_profile(roots), values - start, noise, share))
            even = Component(_profile(np.ones_like(roots)), near[-1].away, noise, share)
            far.append(float(np.logaddexp.reduce(even.log_likelihood(scales) + _FAR)))
            floors.append(self._sampling(clique, start, records))
        logs = [component.log_likelihood(scales) for component in near]
        ratios = [
            np.logaddexp.reduce(log + _around(np.hypot(_DRIFTS, floor)), axis=-1) - without
            for log, without, floor in zip(logs, far, floors, strict=True)
        ]
        _, drift, share = _learn(np.array([ratios]), np.ones(1), SETTINGS.right)
        found = []
        for (values, variances), component, log, without, floor in zip(
            noisy, near, logs, far, floors, strict=True
        ):
            likely = log + _around(math.hypot(drift, floor))
            odds = math.log(share) - math.log1p(-share) + float(np.logaddexp.reduce(likely)) - without
            belief = 1 / (1 + math.exp(-max(min(odds, 500.0), -500.0)))
            means, left = component.posterior(scales, np.exp(likely - likely.max()))
            away = means - component.away  # From the noisy counts.
            spread = belief * (1 - belief) * away**2
            found.append((values + belief * away, belief * left + (1 - belief) * variances + spread))
        return found, share

    def _sampling(self, clique: Clique, cells: Array, records: float) -> float:
        """Expected L1 distance of this table's interaction by sampling alone, as a share of the records."""
        counts = np.maximum(cells, 0.0)
        expected = np.minimum(EXPECTED_L1 * np.sqrt(counts), 2 * counts).sum()
        both = 1 + records / self._rows
        return math.sqrt(freedom(self.table.domain.shape(clique)) * both) * float(expected) / records


@dataclass(frozen=True, eq=False)
class _Likeness:
    """An interaction and what an earlier table says of it.

    Attributes:
        effect: the interaction.
        cells: the earlier table's marginal.
        reference: that of a model without the interaction.
        sampling: expected L1 distance by sampling alone, as a share of the records.
    """

    effect: Effect
    cells: Array
    reference: Array
    sampling: float

    def prediction(self, weight: float, drift: float, share: float) -> Prediction:
        """What is expected if a part of the earlier interaction is left, at a typical distance from that."""
        cells = weight * self.cells + (1 - weight) * self.reference
        return Prediction(cells, math.hypot(drift, weight * self.sampling), share)

    def ratios(self, weight: float, records: float) -> Array:
        """Logarithm of how much likelier what is known is if so much is left, for each typical distance."""
        typical = np.hypot(_DRIFTS, weight * self.sampling)
        expected = self.prediction(weight, 0.0, 0.0)
        without, near = self.effect.beside_earlier.evidence(records, expected, typical)
        return near - without


def _around(typical: float | Array) -> Array:
    """Log-prior of the values of D for interactions that are near."""
    return log_prior_around(typical, SETTINGS.near_spread)


def _profile(roots: Array) -> Array:
    """Deviations of cells in proportion to these, for an expected L1 norm of 1."""
    return np.asarray(roots / (EXPECTED_L1 * roots.sum()))


def _rake_singles(cells: Array, clique: Clique, shape: Sequence[int], margins: Mapping[str, Array]) -> Array:
    """Cells with these one-way marginals, shape (n_r,)."""
    return rake(cells, shape, [((axis,), margins[name]) for axis, name in enumerate(clique)])


def _learn(ratios: Array, weights: Array, expected: float) -> tuple[float, float, float]:
    """The weight, the typical distance of those that are near as a share of the records, and their share.

    Args:
        ratios: for each weight, interaction and distance of the grid, the logarithm of how much likelier what
            is known is if it is near.
        weights: that are compared; the first is the usual one.
        expected: prior mean of the share.
    """
    near, far = np.log(_SHARES)[:, None, None], np.log1p(-_SHARES)[:, None, None]
    usual = -0.5 * (np.log(_DRIFTS / SETTINGS.drift) / SETTINGS.drift_spread) ** 2
    usual = usual + (1 / expected - 2) * np.log1p(-_SHARES)[:, None]
    logs = np.array([np.logaddexp(near + each, far).sum(axis=1) + usual for each in ratios])
    usual_weight = np.where(weights == weights[0], 0.0, -SETTINGS.left)
    best = int(np.argmax(np.logaddexp.reduce(logs, axis=(1, 2)) + usual_weight))
    likely = np.exp(logs[best] - logs[best].max())
    likely /= likely.sum()
    drift = math.exp(float(likely.sum(axis=0) @ np.log(_DRIFTS)))
    return float(weights[best]), drift, float(likely.sum(axis=1) @ _SHARES)
