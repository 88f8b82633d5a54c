"""Interactions of three and more attributes that nobody asked for, where pairs do not explain the table.

They are scored and measured by groups of codes (`grouping`), because single cells of so many attributes hold few
records. What is compared and corrected are rows: those of the model so far, adjusted to all its pairs.
A clique of more attributes is a candidate when two selected cliques that differ in one attribute make it up.

All estimates are post-processing of noisy values.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ....common.data.domain import Clique, Domain
from ....common.data.grouping import Groups, group_sums, grouped_shape
from ....common.data.interactions import freedom, interaction
from ....common.data.table import Table
from ....common.measurement import Measurement
from ...pgm.supplemented import GroupedMarginal
from ..parts.allocation import EXPECTED_L1
from .effects import Effect, Observed, typical_size
from .grouping import groups_within
from .knowledge import Knowledge

Array = NDArray[np.float64]

MOST = 2000
"""Most cliques that are scored at once; each takes a few ms."""

_DETECTABLE = 0.1
"""So many cliques are scored at once that the noise of each stays below this share of the records."""

_NOISE = 0.5
"""Cells are grouped until the noise of a measurement is expected to be below this share of the records."""

MOST_CELLS = 1 << 14
"""Largest number of cells of a grouped marginal."""


class Larger:
    """Scores and measurements of larger interactions of one table.

    Args:
        known: what is known of pairs and single attributes.

    Attributes:
        effects: interactions that were scored, by clique; of groups.
        groups: the groups of each.
        chosen: selected cliques, small ones first.
    """

    def __init__(self, known: Knowledge) -> None:
        self._known = known
        self._domain: Domain = known.domain
        self._records = known.records
        self.effects: dict[Clique, Effect] = {}
        self.groups: dict[Clique, Groups] = {}
        self.chosen: list[Clique] = []

    def shape(self, clique: Clique) -> tuple[int, ...]:
        """The numbers of groups."""
        return grouped_shape(self._domain.shape(clique), self.groups[clique])

    def find(
        self, order: int, rows: Table, cells: float, most: int, excluded: Sequence[Clique]
    ) -> list[Clique]:
        """Candidates of so many attributes, with their groups; the most promising ones.

        Args:
            order: number of attributes, at least 3.
            rows: rows of the model so far.
            cells: largest number of cells.
            most: largest number of candidates.
            excluded: cliques that are known otherwise.
        """
        shares = {name: rows.marginal((name,)) / rows.record_count for name in self._domain}
        known = {*excluded, *self.effects}
        found = []
        for clique in self._in_order(order):
            if len(found) == most:
                break
            groups = groups_within(self._domain, clique, shares, cells)
            if clique not in known and groups is not None:
                self.groups[clique] = groups
                found.append(clique)
        return found

    def references(self, cliques: Sequence[Clique], rows: Table) -> list[NDArray[np.int64]]:
        """The marginals of the rows, scaled to the number of records."""
        return [np.rint(self._counts(clique, rows)).astype(np.int64) for clique in cliques]

    def score(
        self,
        cliques: Sequence[Clique],
        references: Sequence[NDArray[np.int64]],
        distances: Array,
        sigma: float,
        rows: int,
    ) -> None:
        """Adds scores, and learns the typical size of interactions of so many attributes.

        Args:
            cliques: scored cliques.
            references: their references.
            distances: noisy L1 distances, in records.
            sigma: standard deviation of their noise.
            rows: number of rows that were counted for the references.
        """
        for clique, reference, distance in zip(cliques, references, distances, strict=True):
            drawn = EXPECTED_L1 * float(np.sqrt(reference * self._records / rows).sum())
            error = math.hypot(drawn, self._error_of_parts(clique))
            shape = self.shape(clique)
            self.effects[clique] = Effect(shape, reference.astype(float), float(distance), sigma, error)
        typical = typical_size([self.effects[clique] for clique in cliques], self._records)
        for clique in cliques:
            self.effects[clique] = replace(self.effects[clique], typical=typical)

    def measure(self, found: Sequence[Measurement]) -> None:
        """Adds measured interactions; each is averaged with earlier measurements of it."""
        for measurement in found:
            clique = measurement.clique
            shape = self.shape(clique)
            values = interaction(measurement.values, shape)
            variance = measurement.sigma**2 * freedom(shape)
            effect = self.effects[clique]
            before = effect.observed
            now = Observed(values, variance) if before is None else before.with_values(values, variance)
            self.effects[clique] = replace(effect, observed=now)

    def marginals(self, rows: Table, cliques: Sequence[Clique]) -> list[GroupedMarginal]:
        """The marginals of rows, corrected by the measured interactions."""
        found = []
        for clique in cliques:
            reference = self._counts(clique, rows)
            effect = replace(self.effects[clique], reference=np.maximum(reference, 1e-3))
            counts = np.maximum(effect.estimate(self._records)[0], 0.0)
            counts *= self._records / counts.sum()
            found.append(GroupedMarginal(clique, self.groups[clique], counts))
        return found

    def _in_order(self, order: int) -> list[Clique]:
        """Cliques of so many attributes, the most promising ones first."""
        names = [name for name in self._domain.names if self._domain[name].size > 1]
        if order == 3:
            sizes = self._sizes_of_pairs()
            together = np.array(list(itertools.combinations(range(len(names)), 3)))
            if not len(together):
                return []
            matrix = np.zeros((len(names), len(names)))
            for (a, b), size in sizes.items():
                i, j = names.index(a), names.index(b)
                matrix[i, j] = matrix[j, i] = size
            i, j, k = together.T
            promise = matrix[i, j] + matrix[i, k] + matrix[j, k]
            best = np.argsort(-promise, kind="stable")
            return [tuple(names[place] for place in together[at]) for at in best[: 4 * MOST]]
        smaller = [c for c in self.chosen if len(c) == order - 1 and self._size(c) >= 0.05 * self._records]
        promise_of: dict[Clique, float] = {}
        for one, other in itertools.combinations(smaller, 2):
            union = self._domain.canonical({*one, *other})
            if len(union) == order:
                promise_of[union] = promise_of.get(union, 0.0) + self._size(one) + self._size(other)
        return sorted(promise_of, key=lambda clique: -promise_of[clique])

    def _sizes_of_pairs(self) -> Mapping[Clique, float]:
        return {
            pair: float(np.dot(*effect.sizes(self._records)))
            for pair, effect in self._known.effects.items()
            if len(pair) == 2
        }

    def _size(self, clique: Clique) -> float:
        return float(np.dot(*self.effects[clique].sizes(self._records)))

    def _counts(self, clique: Clique, rows: Table) -> Array:
        counts = rows.marginal(clique).astype(float)
        grouped = group_sums(counts, self._domain.shape(clique), self.groups[clique])
        return grouped * (self._records / rows.record_count)

    def _error_of_parts(self, clique: Clique) -> float:
        """Expected L1 error of the smaller interactions, in records, of which groups show a part."""
        labels = dict(zip(clique, self.groups[clique] or ((),) * len(clique), strict=True))
        squares = 0.0
        for size in range(2, len(clique)):
            for part in itertools.combinations(clique, size):
                effect = self._known.effects.get(part) if size == 2 else self.effects.get(part)
                if effect is None or effect.observed is None:
                    continue
                cells = math.prod(effect.shape)
                if size == 2:
                    cells /= math.prod(
                        grouped_shape(effect.shape, tuple(labels[name] for name in part))
                    )
                    squares += effect.expected_error(self._records) ** 2 / cells
                else:
                    squares += effect.expected_error(self._records) ** 2
        return math.sqrt(squares)


def most_scored(records: int, rho: float) -> int:
    """How many cliques can be scored at once: a record changes all distances."""
    return int(min(MOST, 2 * rho * (_DETECTABLE * records) ** 2))


def most_cells(records: int, sigma: float) -> float:
    """How many cells a grouped marginal may have, if each has this noise."""
    return min(float(MOST_CELLS), _NOISE * records / (EXPECTED_L1 * sigma))
