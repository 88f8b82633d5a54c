"""The state of a run of Mosaic: scores and measurements of interactions, and estimates from them.

All estimates are post-processing of noisy values.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from ....common.data.domain import Clique, Domain
from ....common.data.grouping import Grouping, grouped
from ....common.data.interactions import freedom, interaction
from ....common.data.view import View
from ....common.measurement import Measurement
from ..parts.allocation import EXPECTED_L1
from ..parts.bounds import ScoredDistance
from ..parts.consistency import raked
from .components import Axis, expected_axis
from .effects import Effect, Observed, Prediction
from .factors import predicted_pairs
from .learning import couples, has_shape, learned_axes, learned_coupling, learned_prior, nearness
from .one_way import denoised, is_short
from .settings import SETTINGS

LEAST_RAKED = 1e-3
"""Smallest value of a cell in a fit, because raking cannot raise a cell of zero."""


class Knowledge:
    """Scores and measurements of one table, and estimates from them.

    Args:
        domain: domain of the table.
        records: number of records; public.
        before: noisy one-way marginals that were published before.

    Attributes:
        ones: measured one-way interactions, without what was published before.
        effects: interactions of two and more attributes that were scored or measured.
        chosen: interactions that are in the model.
    """

    def __init__(self, domain: Domain, records: int, before: Sequence[Measurement] = ()) -> None:
        self.domain = domain
        self.records = records
        self.ones: dict[Clique, Observed] = {}
        self.effects: dict[Clique, Effect] = {}
        self.chosen: list[Clique] = []
        self._before = {published.clique: published for published in before}
        self._denoised: dict[Clique, tuple[NDArray[np.float64], NDArray[np.float64]]] = {}
        self._axes: dict[str, Axis] = {}
        self._coupling: NDArray[np.float64] | None = None

    def observed(self, clique: Clique) -> Observed | None:
        """The average of an interaction's measurements; None without any."""
        effect = self.effects.get(clique)
        return self.ones.get(clique) or (effect.observed if effect else None)

    def precision(self, clique: Clique) -> float:
        """What is known of an interaction's cells: the inverse of the variance of their noise, on average."""
        observed, published = self.observed(clique), self._before.get(clique)
        found = 0.0 if observed is None else 1 / observed.variance
        return found if published is None else found + float(np.mean(1 / _variances(published)))

    def levels(self, clique: Clique) -> NDArray[np.float64]:
        """What is lost of each count of a measured attribute if noise hides it, in records, shape (n,).

        Counts below the noise are estimated near zero, or near the level of many (`one_way`), so their
        error is about as large as they are, and not as large as the noise.
        """
        values, variances = self._denoised[clique]
        return np.asarray(SETTINGS.lost_count * np.sqrt(values**2 + variances))

    def one_way_error(self, name: str, groups: Grouping = ()) -> float:
        """Expected L1 error of the counts of a measured attribute, of its codes or of groups, in records."""
        values, variances = self._denoised[(name,)]
        kept, _ = grouped(np.arange(values.size), values.size, groups)
        return EXPECTED_L1 * float(np.sqrt(np.bincount(kept, np.where(values > 0, variances, 0.0))).sum())

    def ready(self, candidates: Sequence[Clique]) -> list[Clique]:
        """The candidates that are not in the model, but whose proper subsets all are."""
        inside = {*self.chosen}
        return [c for c in candidates if c not in inside and all(part in inside for part in _smaller(c))]

    def score(self, scored: Mapping[Clique, ScoredDistance]) -> None:
        """Adds scores; a candidate's earlier score is averaged with the new one."""
        smaller = {part for clique in scored for part in _smaller(clique)}
        errors = {part: self.effects[part].expected_error(self.records) for part in smaller}
        errors |= {one_way: self.one_way_error(one_way[0]) for one_way in self._denoised}
        for clique, found in scored.items():
            error = math.hypot(*(errors.get(part, 0.0) for part in parts_of(clique)))
            score = found.reference.astype(float), found.distance, found.sigma, error
            before = self.effects.get(clique)
            self.effects[clique] = (
                before.scored_again(*score) if before else Effect(self.domain.shape(clique), *score)
            )

    def refer(self, clique: Clique, cells: NDArray[np.float64]) -> None:
        """Sets the reference of an interaction: a model's cells, shape (n_r,)."""
        known = self.effects.get(clique) or Effect(self.domain.shape(clique), cells)
        self.effects[clique] = known.with_reference(cells)

    def pairs(self) -> list[Clique]:
        """The pairs of the model."""
        return [clique for clique in self.chosen if len(clique) == 2]

    def forest(self) -> list[Clique]:
        """The largest of them that make no cycle."""
        return largest_forest({pair: self.effects[pair].size(self.records) for pair in self.pairs()})

    def measure(self, found: Sequence[Measurement]) -> None:
        """Adds measured interactions; each is averaged with earlier measurements of it."""
        for measurement in found:
            clique, shape = measurement.clique, self.domain.shape(measurement.clique)
            values = interaction(measurement.values, shape)
            variance = measurement.sigma**2 * freedom(shape)
            if len(clique) == 1:
                self.ones[clique] = averaged(self.ones.get(clique), values, variance)
            else:
                effect = self.effects[clique]
                observed = averaged(effect.observed, values, variance)
                self.effects[clique] = replace(effect, observed=observed)
        self._estimate_counts({one.clique for one in found if len(one.clique) == 1})

    def learn(self, last: bool = False) -> None:
        """Learns what all interactions say of each.

        Args:
            last: whether pairs are predicted from all others, which takes seconds for hundreds of codes.
        """
        self._learn_axes()
        self.learn_sizes()
        if last:
            self._predict()

    def targets(self, cliques: Iterable[Clique]) -> list[Measurement]:
        """Current estimates of one-way and these marginals, with a deviation for each cell.

        Args:
            cliques: chosen interactions.
        """
        margins_of: dict[Clique, NDArray[np.float64]] = {}
        targets = []
        for clique, (values, variances) in self._denoised.items():
            sigmas = np.sqrt(np.maximum(variances, SETTINGS.least_variance * self.ones[clique].variance))
            margins_of[clique] = np.maximum(values, LEAST_RAKED)
            targets.append(_target(clique, values, sigmas))
        for clique in sorted(cliques, key=len):
            effect = self.effects[clique]
            smaller = {
                axes: tuple(clique[axis] for axis in axes)
                for axes in itertools.combinations(range(len(clique)), len(clique) - 1)
            }
            # Larger interactions that no workload names can be in the model without all their parts.
            margins = [(axes, margins_of[part]) for axes, part in smaller.items() if part in margins_of]
            effect = replace(effect, reference=raked(effect.reference, effect.shape, margins))
            self.effects[clique] = effect
            values, sigmas = effect.estimate(self.records)
            margins_of[clique] = np.maximum(values, LEAST_RAKED)
            targets.append(_target(clique, values, sigmas))
        return targets

    def shares(self) -> dict[str, NDArray[np.float64]]:
        """The share of each code of each measured attribute, from denoised counts."""
        counts = {
            clique[0]: np.maximum(values, LEAST_RAKED) for clique, (values, _) in self._denoised.items()
        }
        return {name: values / values.sum() for name, values in counts.items()}

    def learn_sizes(self) -> None:
        """Learns the prior of sizes for each number of attributes, in the model and outside it."""
        inside = {*self.chosen}
        pools: dict[tuple[bool, int], list[Clique]] = {}
        # Sorted, because sums of floats in the order of a set would differ between processes.
        for clique in [*self.chosen, *(clique for clique in self.effects if clique not in inside)]:
            pools.setdefault((clique in inside, len(clique)), []).append(clique)
        for pool in pools.values():
            prior = learned_prior([self.effects[clique] for clique in pool], self.records)
            for clique in pool:
                self.effects[clique] = self.effects[clique].with_prior(*prior)

    def _estimate_counts(self, measured: Collection[Clique]) -> None:
        """Estimates the counts of these attributes, and of all with few values, which say of each other."""
        if measured:
            asked = [
                clique for clique, one in self.ones.items() if clique in measured or is_short(one.values)
            ]
            estimates = denoised([self._one_way(clique) for clique in asked], self.records)
            self._denoised |= dict(zip(asked, estimates, strict=True))

    def _one_way(self, clique: Clique) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Noisy counts and the variances of their noise, from all that is known."""
        known = self.ones[clique]
        noisy = known.values + self.records / known.values.size
        variances = np.full(len(noisy), known.variance)
        published = self._before.get(clique)
        if published is None:
            return noisy, variances
        weights, other = 1 / variances, 1 / _variances(published)
        return (weights * noisy + other * published.values) / (weights + other), 1 / (weights + other)

    def _learn_axes(self) -> None:
        """Learns the covariances along each attribute, and their coupling, from all measurements."""
        measured = {
            clique: effect
            for clique, effect in self.effects.items()
            if effect.observed is not None and has_shape(effect)
        }
        self._axes = axes = learned_axes(measured, self.records, self._axes)
        known = {
            clique: effect.with_axes(tuple(axes[name] for name in clique))
            for clique, effect in measured.items()
        }
        pairs = [effect for effect in known.values() if couples(effect)]
        self._coupling = coupling = learned_coupling(pairs, self.records, self._coupling)
        for clique, effect in known.items():
            self.effects[clique] = effect.with_axes(effect.axes, coupling) if couples(effect) else effect

    def _predict(self) -> None:
        """Predicts each pair from the others, and learns how near measured pairs are to that."""
        margins = self.shares()
        pairs = {clique: effect for clique, effect in self.effects.items() if len(clique) == 2}
        axes = {
            name: expected_axis(margin)
            for name, margin in margins.items()
            if 1 < margin.size <= SETTINGS.most_values
        }
        for clique, effect in pairs.items():
            axes |= dict(zip(clique, effect.axes, strict=False))
        measured: dict[Clique, Observed] = {
            clique: e.observed for clique, e in pairs.items() if e.observed is not None
        }
        found = predicted_pairs(
            {name: margins[name] for name in self.domain if name in axes}, axes, measured, self.records
        )
        ahead = {}
        for clique in pairs:
            if clique in found:
                first, second = (margins[name] for name in clique)
                ahead[clique] = self.records * np.outer(first, second).ravel() + found[clique]
        known = [pairs[c].with_prediction(Prediction(ahead[c], 1.0, 0.5)) for c in measured if c in ahead]
        if known:
            typical, share = nearness(known, self.records)
            for clique, cells in ahead.items():
                self.effects[clique] = pairs[clique].with_prediction(Prediction(cells, typical, share))


def parts_of(clique: Clique) -> Iterator[Clique]:
    """All nonempty subsets of the clique, small ones first."""
    return itertools.chain.from_iterable(
        itertools.combinations(clique, size) for size in range(1, len(clique) + 1)
    )


def largest_forest(sizes: Mapping[Clique, float]) -> list[Clique]:
    """Pairs that make no cycle, with the largest sum of sizes (as in Chow and Liu's trees)."""
    graph = nx.Graph()
    graph.add_weighted_edges_from((*pair, size) for pair, size in sizes.items())
    inside = {frozenset(edge) for edge in nx.maximum_spanning_edges(graph, data=False)}
    return [pair for pair in sizes if frozenset(pair) in inside]


def _smaller(clique: Clique) -> Iterator[Clique]:
    """The proper subsets of two and more attributes."""
    return (part for part in parts_of(clique) if 1 < len(part) < len(clique))


def _variances(measurement: Measurement) -> NDArray[np.float64]:
    """Variances of the noise of the cells, shape (n_r,)."""
    if measurement.sigmas is None:
        return np.full(len(measurement.values), measurement.sigma**2)
    return np.asarray(measurement.sigmas**2)


def averaged(before: Observed | None, values: NDArray[np.float64], variance: float) -> Observed:
    """The average of a measurement with those before, if any."""
    return Observed(values, variance) if before is None else before.with_values(values, variance)


def _target(clique: Clique, values: NDArray[np.float64], sigmas: NDArray[np.float64]) -> Measurement:
    """An estimated marginal, for the fit."""
    return Measurement(View(clique), values, math.sqrt(float(np.mean(sigmas**2))), 0.0, sigmas=sigmas)
