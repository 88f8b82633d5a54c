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
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations

import numpy as np

from ....common.data.domain import Clique
from ....common.data.grouping import group_sums
from ....common.data.interactions import freedom, interaction
from ....common.data.table import Table
from ....common.data.view import View
from ..parts.allocation import EXPECTED_L1
from ..parts.consistency import rake
from ..parts.contingency import (
    DECOMPOSED,
    TELLING_PAIRS,
    Telling,
    halves,
    strongest_scores,
    without_sampling,
)
from .components import SCALES, Array, Component, log_prior_around
from .effects import Effect
from .observed import Prediction
from .one_way import is_short, sticky_levels
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


def is_right(share: float) -> bool:
    """Whether an earlier table counts that is right about so many interactions: a twentieth is none."""
    return share > 2 * float(_SHARES[0])


@dataclass(frozen=True, eq=False)
class EarlierTable:
    """An earlier table, whose rows are public.

    Attributes:
        table: its codes, in the domain of the release.
        sigma: standard deviation of the noise with which cells of its pairs were measured; 0 for none.
    """

    table: Table
    sigma: float = 0.0
    _pairs: dict[Clique, tuple[Array, float]] = field(default_factory=dict, init=False, repr=False)

    @cached_property
    def _rows(self) -> int:
        return max(1, self.table.record_count)

    def counts(self, clique: Clique, records: float) -> Array:
        """Its marginal, scaled to the number of records, shape (n_r,); of pairs without sampling error."""
        counts, _ = self._smooth(clique)
        return np.asarray(counts * (records / counts.sum()))

    def cells(self, clique: Clique, margins: Mapping[str, Array], records: float) -> Array:
        """Its marginal with these one-way marginals, shape (n_r,)."""
        return _rake_singles(self.counts(clique, records), clique, self.table.domain.shape(clique), margins)

    def _smooth(self, clique: Clique) -> tuple[Array, float]:
        """Its marginal, shape (n_r,), and the share of its sampling error that is left."""
        shape = self.table.domain.shape(clique)
        if clique in self._pairs:
            return self._pairs[clique]
        # Rows that count in parts are rows all the same: their number says how large sampling errors are.
        rows = self.table.marginal(clique) * (self._rows / max(1, self.table.total))
        counts = np.asarray(rows + SETTINGS.earlier_count / math.prod(shape), dtype=np.float64)
        if len(clique) != 2:
            return counts, 1.0
        return self._pairs.setdefault(clique, without_sampling(counts, (shape[0], shape[1])))

    def telling(self, records: float) -> Telling:
        """The pairs with the largest interactions in two groups of codes by two.

        Args:
            records: number of records.
        """
        domain = self.table.domain
        found: list[tuple[float, View]] = []
        for pair in combinations(domain.varied, 2):
            if domain.cells(pair) > DECOMPOSED[-1]:
                continue
            counts, (one, other) = self.counts(pair, records), domain.shape(pair)
            scores = strongest_scores(counts, (one, other))
            sums = counts.reshape(one, other).sum(axis=1), counts.reshape(one, other).sum(axis=0)
            groups = tuple(halves(of, each / records) for of, each in zip(scores, sums, strict=True))
            cells = interaction(group_sums(counts, (one, other), groups), (2, 2))
            found.append((float(cells[0]), View(pair, groups, interaction=True)))
        largest = sorted(found, key=lambda each: -each[0])[:TELLING_PAIRS]
        largest = [each for each in largest if each[0] > 0]
        return Telling(tuple(view for _, view in largest), np.array([size for size, _ in largest]))

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
            # What is farther from the table than the model is, is not near it.
            away = [one.away(records) for one in known]
            most = max(SETTINGS.drift, float(np.mean(away))) if away else math.inf
            weight, drift, right = _learn(
                np.array(ratios).reshape(len(_LEFT), -1, len(_DRIFTS)), _LEFT, share, most
            )
            found |= {
                clique: one.effect.with_earlier(one.prediction(weight, drift, right))
                if is_right(right)
                else replace(one.effect, earlier=None)
                for clique, one in pool.items()
            }
        return found

    def _likeness(
        self, clique: Clique, effect: Effect, margins: Mapping[str, Array], records: float
    ) -> _Likeness:
        cells = self.cells(clique, margins, records)
        reference = _rake_singles(effect.reference, clique, effect.shape, margins)
        error = math.hypot(self._sampling(clique, cells, records), self._noise_left(clique, cells, records))
        return _Likeness(effect, cells, reference, error)

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
            others = [float(np.logaddexp.reduce(even.log_likelihood(scales) + _FAR))]
            if not is_short(values):
                # As they would be estimated without this table.
                others.append(share * sticky_levels(values, variances)[-1])
            far.append(float(np.logaddexp.reduce(others)) - math.log(len(others)))
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
        both = 1 + self._smooth(clique)[1] * records / self._rows
        return math.sqrt(freedom(self.table.domain.shape(clique)) * both) * float(expected) / records

    def _noise_left(self, clique: Clique, cells: Array, records: float) -> float:
        """Expected L1 error of this table's interaction by noise of its release, as a share of the records.

        It is that of the noise where the interaction is much larger, and the interaction itself where the
        noise is: then it is what an estimate left of a larger one, or made of a smaller one.
        """
        shape = self.table.domain.shape(clique)
        noise = EXPECTED_L1 * self.sigma * math.sqrt(freedom(shape)) * math.prod(shape) / records
        size = float(np.abs(interaction(cells, shape)).sum()) / records
        return noise * size / max(math.hypot(noise, size), 1e-9)


@dataclass(frozen=True, eq=False)
class _Likeness:
    """An interaction and what an earlier table says of it.

    Attributes:
        effect: the interaction.
        cells: the earlier table's marginal.
        reference: that of a model without the interaction.
        error: expected L1 distance by sampling and by the earlier table's noise, as a share of the records.
    """

    effect: Effect
    cells: Array
    reference: Array
    error: float

    def away(self, records: float) -> float:
        """How far the earlier table is from the model without the interaction, as a share of the records."""
        return float(np.abs(self.cells - self.reference).sum()) / records

    def prediction(self, weight: float, drift: float, share: float) -> Prediction:
        """What is expected if a part of the earlier interaction is left, at a typical distance from that."""
        cells = weight * self.cells + (1 - weight) * self.reference
        return Prediction(cells, math.hypot(drift, weight * self.error), share)

    def ratios(self, weight: float, records: float) -> Array:
        """Logarithm of how much likelier what is known is if so much is left, for each typical distance."""
        typical = np.hypot(_DRIFTS, weight * self.error)
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


def _learn(
    ratios: Array, weights: Array, expected: float, most: float = math.inf
) -> tuple[float, float, float]:
    """The weight, the typical distance of those that are near as a share of the records, and their share.

    Args:
        ratios: for each weight, interaction and distance of the grid, the logarithm of how much likelier what
            is known is if it is near.
        weights: that are compared; the first is the usual one.
        expected: prior mean of the share.
        most: largest typical distance that is near.
    """
    near, far = np.log(_SHARES)[:, None, None], np.log1p(-_SHARES)[:, None, None]
    usual = -0.5 * (np.log(_DRIFTS / SETTINGS.drift) / SETTINGS.drift_spread) ** 2
    usual = np.where(_DRIFTS <= most, usual, -np.inf)
    usual = usual + (1 / expected - 2) * np.log1p(-_SHARES)[:, None]
    logs = np.array([np.logaddexp(near + each, far).sum(axis=1) + usual for each in ratios])
    usual_weight = np.where(weights == weights[0], 0.0, -SETTINGS.left)
    best = int(np.argmax(np.logaddexp.reduce(logs, axis=(1, 2)) + usual_weight))
    likely = np.exp(logs[best] - logs[best].max())
    likely /= likely.sum()
    drift = math.exp(float(likely.sum(axis=0) @ np.log(_DRIFTS)))
    return float(weights[best]), drift, float(likely.sum(axis=1) @ _SHARES)
