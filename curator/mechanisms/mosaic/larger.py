"""Interactions of three and more attributes that no workload names, where pairs do not explain the table.

They are scored and measured in groups of codes (`grouping`), since few records are in single cells of so
many attributes. The reference of a score or an estimate is the marginal of rows of the model, adjusted to
all that is known before, so an interaction is what is still missing.

All estimates are post-processing of noisy values.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ....common.data.domain import Clique
from ....common.data.grouping import Grouping, Groups, group_labels, group_sums, grouped_shape
from ....common.data.interactions import freedom, interaction
from ....common.data.table import Table
from ....common.measurement import Measurement
from ...measurers.measurer import Scores
from ...pgm.rows.refinement import LARGEST_ADJUSTED
from ...pgm.supplemented import GroupedMarginal
from ..parts.allocation import EXPECTED_L1
from ..parts.consistency import raked
from ..parts.released import ReleasedModel
from .components import Axis
from .effects import Effect
from .grouping import groups_within
from .knowledge import LEAST_RAKED, Knowledge, averaged
from .learning import has_shape, learned_axes, learned_prior
from .settings import SETTINGS

Array = NDArray[np.float64]

_ATTRIBUTES = 100
"""Most attributes whose triples are compared, those with the largest pairs."""


_CELLS_OF_PAIRS = 2**23
"""Most cells of all pairs that may be counted in groups: their marginals in the model are in memory."""


class Larger:
    """Scores and measurements of larger interactions of one table.

    Args:
        known: what is known of smaller interactions.

    Attributes:
        groups: groups of every candidate's attributes.
        effects: interactions of groups that were scored.
        chosen: selected interactions, to which rows are adjusted, small cliques first.
    """

    def __init__(self, known: Knowledge) -> None:
        self._known = known
        self._domain = known.domain
        self._records = known.records
        self.groups: dict[Clique, Groups] = {}
        self.effects: dict[Clique, Effect] = {}
        self.chosen: list[Clique] = []
        self._shares: dict[str, Array] = {}
        self._profiles: dict[str, Array] = {}
        self._groupings: dict[tuple[str, int], Grouping] = {}
        self._axes: dict[tuple[str, Grouping], Axis] = {}

    def shape(self, clique: Clique) -> tuple[int, ...]:
        """The number of groups of each attribute."""
        return grouped_shape(self._domain.shape(clique), self.groups[clique])

    def effect(self, clique: Clique) -> Effect:
        """A scored interaction, of groups or in the model."""
        return self.effects.get(clique) or self._known.effects[clique]

    def size(self, clique: Clique) -> float:
        """Posterior mean of an interaction's L1 norm, in records."""
        return self.effect(clique).size(self._records)

    def stands_out(self, clique: Clique) -> bool:
        """Whether a scored interaction is larger than what is not known of the smaller ones inside it.

        A score shows both, but a measurement of the interaction only tells the former.
        """
        return self.size(clique) > self._error_of_parts(clique)

    def find(self, order: int, most_cells: float, without: Collection[Clique]) -> Iterator[Clique]:
        """Candidates of so many attributes that can be grouped, the most promising first; sets their groups.

        Args:
            order: number of attributes, at least 2.
            most_cells: largest number of cells of a grouped marginal.
            without: cliques that are no candidates.
        """
        if not self._shares:
            self._shares = self._known.shares()
        promising = {2: lambda: self._large_pairs(without), 3: self._triples}
        for clique in promising.get(order, lambda: self._unions(order))():
            groups = groups_within(
                self._domain, clique, self._shares, most_cells, self._profiles, self._groupings
            )
            if groups is not None and clique not in without and (groups or order > 2):
                self.groups[clique] = groups
                yield clique

    def leave(self, cliques: Collection[Clique]) -> None:
        """Leaves these scored interactions to be measured code by code, if their codes were scored too."""
        for clique in cliques:
            if clique in self._known.effects:
                del self.effects[clique]

    def learn_profiles(self, model: ReleasedModel) -> None:
        """Learns what each code goes with: the shares of the other attribute of the largest pair."""
        self._groupings.clear()
        pairs = [clique for clique in self._known.effects if len(clique) == 2]
        sizes = {pair: self._known.effects[pair].size(self._records) for pair in pairs}
        largest: dict[str, Clique] = {}
        for pair in sorted(sizes, key=sizes.__getitem__):
            largest |= dict.fromkeys(pair, pair)
        found = model.marginals_within_limits(largest.values())
        for (name, of), marginal in zip(largest.items(), found, strict=True):
            if marginal is not None:
                joint = np.moveaxis(marginal.reshape(self._domain.shape(of)), of.index(name), 0)
                totals = joint.sum(axis=1, keepdims=True)
                self._profiles[name] = joint / np.maximum(totals, LEAST_RAKED)

    def references(self, cliques: Sequence[Clique], rows: Table) -> list[Array]:
        """The marginals of the rows, scaled to the number of records."""
        counts = rows.marginals(cliques, [self.groups[clique] for clique in cliques])
        return [found.astype(float) * (self._records / rows.record_count) for found in counts]

    def score(
        self, cliques: Sequence[Clique], references: Sequence[Array], scores: Scores, rows: float
    ) -> None:
        """Adds scores, and learns the prior of the sizes of these interactions.

        Args:
            cliques: scored cliques.
            references: marginals with which they were compared.
            scores: noisy distances.
            rows: number of rows from which the references were counted; their sampling error is part of
                the reference error. Infinite if they are marginals of the model.
        """
        for clique, reference, distance in zip(cliques, references, scores.values, strict=True):
            sampled = EXPECTED_L1 * float(np.sqrt(reference * self._records / rows).sum())
            error = math.hypot(sampled, self._error_of_parts(clique))
            shape = self.shape(clique)
            self.effects[clique] = Effect(shape, reference, float(distance), scores.sigma, error)
        prior = learned_prior([self.effects[clique] for clique in cliques], self._records)
        for clique in cliques:
            self.effects[clique] = self.effects[clique].with_prior(*prior)

    def measure(self, found: Sequence[Measurement]) -> None:
        """Adds measured interactions of groups; each is averaged with earlier measurements of it."""
        for measurement in found:
            clique, shape = measurement.clique, self.shape(measurement.clique)
            values = interaction(measurement.values, shape)
            variance = measurement.sigma**2 * freedom(shape)
            observed = averaged(self.effects[clique].observed, values, variance)
            self.effects[clique] = replace(self.effects[clique], observed=observed)
        self._learn_axes()

    def marginals(self, cliques: Sequence[Clique], rows: Table) -> tuple[GroupedMarginal, ...]:
        """The marginals of rows plus the posterior means of the measured interactions."""
        found = []
        for clique, reference in zip(cliques, self.references(cliques, rows), strict=True):
            effect = replace(self.effects[clique], reference=np.maximum(reference, LEAST_RAKED))
            counts = np.maximum(effect.estimate(self._records)[0], 0.0)
            found.append(
                GroupedMarginal(clique, self.groups[clique], counts * (self._records / counts.sum()))
            )
        return tuple(found)

    def pairs(self) -> list[Clique]:
        """The selected pairs."""
        return [clique for clique in self.chosen if len(clique) == 2]

    def of_pair(
        self, clique: Clique, cells: Array, margins: Sequence[Array]
    ) -> tuple[Array, GroupedMarginal]:
        """A measured pair: within groups as the model's, with these one-way marginals.

        Args:
            clique: a selected pair.
            cells: its marginal in the model, shape (n_r,).
            margins: the positive one-way marginals of its attributes.
        """
        shape, groups = self._domain.shape(clique), self.groups[clique]
        reference = np.maximum(group_sums(cells, shape, groups), LEAST_RAKED)
        effect = replace(self.effects[clique], reference=reference)
        ratios = np.maximum(effect.estimate(self._records)[0], LEAST_RAKED) / reference
        scaled = cells * ratios[group_labels(shape, groups)]
        found = raked(scaled, shape, [((axis,), margin) for axis, margin in enumerate(margins)])
        found = np.where(cells > 0, found, 0.0)
        found *= self._records / found.sum()
        return found, GroupedMarginal(clique, groups, group_sums(found, shape, groups))

    def _learn_axes(self) -> None:
        """Learns the covariances along the groups of each attribute, from all measurements."""
        measured = {
            self._grouping_of(clique): clique
            for clique, effect in self.effects.items()
            if effect.observed is not None and has_shape(effect)
        }
        effects = {grouped: self.effects[clique] for grouped, clique in measured.items()}
        self._axes = learned_axes(effects, self._records, self._axes)
        for grouped, clique in measured.items():
            axes = tuple(self._axes[one] for one in grouped)
            self.effects[clique] = self.effects[clique].with_axes(axes)

    def _grouping_of(self, clique: Clique) -> tuple[tuple[str, Grouping], ...]:
        """A candidate's attributes, each with its grouping."""
        return tuple(zip(clique, self.groups[clique] or ((),) * len(clique), strict=True))

    def _large_pairs(self, without: Collection[Clique]) -> list[Clique]:
        """Other pairs than these in the order of their sizes; the mean size if not scored."""
        known = self._known.effects
        pairs: list[Clique] = [
            pair
            for pair in itertools.combinations(self._known.shares(), 2)
            if self._domain.cells(pair) <= LARGEST_ADJUSTED and pair not in without
        ]
        sizes = {pair: known[pair].size(self._records) for pair in pairs if pair in known}
        mean = float(np.mean([*sizes.values()])) if sizes else 0.0
        pairs.sort(key=lambda pair: -sizes.get(pair, mean))
        cells = itertools.accumulate(map(self._domain.cells, pairs))
        return list(itertools.compress(pairs, (held <= _CELLS_OF_PAIRS for held in cells)))

    def _triples(self) -> list[Clique]:
        """Triples in the order of the sum of their pairs' sizes."""
        names = [name for name in self._domain.names if self._domain[name].size > 1]
        places = {name: place for place, name in enumerate(names)}
        sizes = np.zeros((len(names), len(names)))
        for clique, effect in {**self._known.effects, **self.effects}.items():
            if len(clique) == 2:
                one, other = places[clique[0]], places[clique[1]]
                sizes[one, other] = sizes[other, one] = effect.size(self._records)
        kept = np.sort(np.argsort(-sizes.max(axis=0, initial=0.0), kind="stable")[:_ATTRIBUTES])
        triples = np.array(list(itertools.combinations(kept.tolist(), 3)), dtype=np.int64).reshape(-1, 3)
        i, j, k = triples.T
        promise = sizes[i, j] + sizes[i, k] + sizes[j, k]
        order = np.argsort(-promise, kind="stable")
        return [(names[i], names[j], names[k]) for i, j, k in triples[order].tolist()]

    def _unions(self, order: int) -> list[Clique]:
        """Unions of two large interactions that differ in one attribute, in the order of their sizes."""
        smaller = [clique for clique in {**self.effects, **self._known.effects} if len(clique) == order - 1]
        inside = {*self._known.chosen, *self.chosen}
        sizes = {clique: self.size(clique) for clique in smaller if clique in inside}
        large = [clique for clique, size in sizes.items() if size >= SETTINGS.large * self._records]
        promise: dict[Clique, float] = {}
        for one, other in itertools.combinations(large, 2):
            union = self._domain.canonical({*one, *other})
            if len(union) == order:
                promise[union] = promise.get(union, 0.0) + sizes[one] + sizes[other]
        return sorted(promise, key=lambda clique: -promise[clique])

    def _error_of_parts(self, clique: Clique) -> float:
        """Expected L1 error of the smaller interactions, in records, as far as groups show it."""
        groups = dict(self._grouping_of(clique))
        squares = 0.0
        if len(clique) == 2:  # One-way errors hardly show in larger interactions beside those of pairs.
            squares = sum(self._known.one_way_error(name, of) ** 2 for name, of in groups.items())
        for size in range(2, len(clique)):
            for part in itertools.combinations(clique, size):
                effect = self.effects.get(part) or self._known.effects.get(part)
                if effect is not None:
                    shown = grouped_shape(self._domain.shape(part), tuple(groups[name] for name in part))
                    share = min(1.0, math.prod(shown) / math.prod(effect.shape))
                    squares += effect.error_in_groups(self._records, share) ** 2
        return math.sqrt(squares)
