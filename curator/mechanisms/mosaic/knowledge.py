"""The state of a run of Mosaic: scores and measurements of interactions, and estimates from them.

All estimates are post-processing of noisy values.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from ....common.data.domain import Clique, Domain
from ....common.data.grouping import Grouping, group_sums, grouped, grouped_shape
from ....common.data.interactions import freedom, interaction
from ....common.data.view import View
from ....common.measurement import Measurement
from ...measurers.measurer import Scores
from ..parts.allocation import EXPECTED_L1
from ..parts.bounds import ScoredDistance
from ..parts.consistency import rake
from .components import Array, Axis
from .earlier import EarlierTable, is_right
from .effects import Effect
from .learning import couples, has_shape, learned_axes, learned_coupling, learned_prior, predictions
from .observed import Checked, Observed
from .one_way import denoise, is_short
from .settings import SETTINGS

_LIKELY = 0.5
"""Candidates are scored beside an earlier table where it is more likely right than this."""


class Knowledge:
    """Scores and measurements of one table, and estimates from them.

    Args:
        domain: domain of the table.
        records: number of records; public.
        before: noisy one-way marginals that were published before.
        earlier: a public table of the same columns; None without one.

    Attributes:
        ones: measured one-way interactions, without what was published before.
        effects: interactions of two and more attributes that were scored or measured: by a marginal's view
            those that a model has or may have, by an interaction's view those beside it, of codes or groups.
        earlier: as given.
        chosen: interactions that are in the model.
        beside: selected interactions beside the model, to which rows are adjusted, small cliques first.
    """

    def __init__(
        self,
        domain: Domain,
        records: int,
        before: Sequence[Measurement] = (),
        earlier: EarlierTable | None = None,
    ) -> None:
        self.domain = domain
        self.records = records
        self.ones: dict[Clique, Observed] = {}
        self.effects: dict[View, Effect] = {}
        self.chosen: list[Clique] = []
        self.beside: list[Clique] = []
        self._scored_beside: dict[Clique, View] = {}
        self._before = {published.clique: published for published in before}
        self.earlier = earlier
        self._right = SETTINGS.right
        self._told = 0.0
        self._denoised: dict[Clique, tuple[Array, Array]] = {}
        self._axes: dict[bool, dict[tuple[str, Grouping], Axis]] = {False: {}, True: {}}
        self._coupling: Array | None = None

    def view(self, clique: Clique) -> View:
        """How an interaction is counted: as it was scored beside the model, or else in codes."""
        return self._scored_beside.get(clique) or View(clique)

    def effect(self, clique: Clique) -> Effect:
        """An interaction as it is counted."""
        return self.effects[self.view(clique)]

    def size(self, clique: Clique) -> float:
        """Posterior mean of its L1 norm, in records."""
        return self.effect(clique).size(self.records)

    def sampling_error(self, view: View) -> float:
        """Expected L1 sampling error of its cells, in records."""
        return EXPECTED_L1 * float(np.sqrt(np.maximum(self.effects[view].reference, 0.0)).sum())

    def in_codes(self) -> dict[Clique, Effect]:
        """The interactions that the model has, or may have, in the order in which they became known."""
        return {view.clique: effect for view, effect in self.effects.items() if not view.interaction}

    def is_estimated(self, clique: Clique) -> bool:
        """Whether something is known of an interaction of codes beside its size."""
        return self.average_of(clique) is not None or self.effects[View(clique)].earlier is not None

    def average_of(self, clique: Clique) -> Observed | None:
        """The average of the measurements of an interaction of codes; None without any."""
        effect = self.effects.get(View(clique))
        return self.ones.get(clique) or (effect.observed if effect else None)

    def precision(self, clique: Clique) -> float:
        """What is known of an interaction's cells: the inverse of the variance of their noise, on average."""
        observed, published = self.average_of(clique), self._before.get(clique)
        found = 0.0 if observed is None else 1 / observed.variance
        return found if published is None else found + float(np.mean(1 / _variances(published)))

    def levels(self, clique: Clique) -> Array:
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

    def expected_early(self, cliques: Sequence[Clique]) -> dict[Clique, Array]:
        """Marginals of an earlier table, of those cliques of which it is not known to be wrong."""
        if self.earlier is None or not is_right(self._expected_right):
            return {}
        return {
            clique: self.earlier.cells(clique, self._margins(), self.records)
            for clique in cliques
            if View(clique) not in self.effects or self.is_as_earlier(clique)
        }

    def tell(self, ratio: float) -> None:
        """Learns how much likelier it is that an earlier table is right, as a logarithm."""
        self._told = ratio

    def is_as_earlier(self, clique: Clique) -> bool:
        """Whether an interaction of codes is likely as an earlier table leads to expect it."""
        return self.effects[View(clique)].belief_in_earlier(self.records) > _LIKELY

    def score(self, scored: Mapping[Clique, ScoredDistance], references: Mapping[Clique, Array]) -> None:
        """Adds scores; a candidate's earlier score is averaged with the new one.

        Args:
            scored: scores of cliques.
            references: the model's marginals of those that were compared with an earlier table's.
        """
        smaller = {part for clique in scored for part in _smaller(clique)}
        errors = {part: self.effects[View(part)].expected_error(self.records) for part in smaller}
        errors |= {one_way: self.one_way_error(one_way[0]) for one_way in self._denoised}
        for clique, found in scored.items():
            error = math.hypot(*(errors.get(part, 0.0) for part in parts_of(clique)))
            compared = found.reference.astype(float)
            score = compared, found.distance, found.sigma, error
            before = self.effects.get(View(clique))
            effect = before.scored_again(*score) if before else Effect(self.domain.shape(clique), *score)
            if clique in references:
                checked = Checked(compared, found.distance, found.sigma)
                if effect.checked is not None:
                    checked = effect.checked.with_score(compared, found.distance, found.sigma)
                effect = replace(effect, reference=references[clique], compared=compared, checked=checked)
            self.effects[View(clique)] = effect

    def score_beside(
        self, views: Sequence[View], references: Sequence[Array], scores: Scores, rows: float
    ) -> None:
        """Adds scores beside the model, and learns the prior of the sizes of these interactions.

        Args:
            views: scored views, of codes or groups.
            references: marginals with which they were compared.
            scores: noisy distances.
            rows: number of rows from which the references were counted; their sampling error is part of
                the reference error. Infinite if they are marginals of the model.
        """
        for view, reference, distance in zip(views, references, scores.values, strict=True):
            sampled = EXPECTED_L1 * float(np.sqrt(reference * self.records / rows).sum())
            error = math.hypot(sampled, self._error_of_parts(view))
            alone = self._scored_beside[view.clique] = replace(view, interaction=True)
            shape = view.shape(self.domain)
            self.effects[alone] = Effect(shape, reference, float(distance), scores.sigma, error)
        beside = [self.view(view.clique) for view in views]
        prior = learned_prior([self.effects[view] for view in beside], self.records)
        for view in beside:
            self.effects[view] = self.effects[view].with_prior(*prior)

    def count_in_groups(self, marginals: Mapping[View, Array]) -> None:
        """Pairs of codes are counted in groups from now on, and leave the model.

        Args:
            marginals: of views in groups the cells of codes in a model, shape (n_r,).
        """
        for view, cells in marginals.items():
            size, sampled = self.size(view.clique), self.sampling_error(View(view.clique))
            reference = group_sums(cells, self.domain.shape(view.clique), view.groups)
            alone = self._scored_beside[view.clique] = replace(view, interaction=True)
            self.effects[alone] = Effect(view.shape(self.domain), reference)
            shown = max(size**2 - sampled**2, 0.0) + self.sampling_error(alone) ** 2
            self.effects[alone] = self.effects[alone].with_prior(math.sqrt(shown) / self.records, 0.0)
            self.beside.append(view.clique)
        moved = {view.clique for view in marginals}
        self.chosen = [clique for clique in self.chosen if clique not in moved]

    def leave_beside(self, cliques: Collection[Clique]) -> None:
        """Leaves these scored interactions to be measured code by code, if their codes were scored too."""
        for clique in cliques:
            if View(clique) in self.effects:
                del self.effects[self._scored_beside.pop(clique)]

    def stands_out(self, clique: Clique) -> bool:
        """Whether a scored interaction is larger than what is not known of the smaller ones inside it.

        A score shows both, but a measurement of the interaction only tells the former.
        """
        return self.size(clique) > self._error_of_parts(self.view(clique))

    def refer(self, clique: Clique, cells: Array) -> None:
        """Sets the reference of an interaction: a model's cells, shape (n_r,)."""
        known = self.effects.get(View(clique)) or Effect(self.domain.shape(clique), cells)
        self.effects[View(clique)] = known.with_reference(cells)

    def pairs(self) -> list[Clique]:
        """The pairs of the model."""
        return [clique for clique in self.chosen if len(clique) == 2]

    def forest(self) -> list[Clique]:
        """The largest of them that make no cycle."""
        return largest_forest({pair: self.effects[View(pair)].size(self.records) for pair in self.pairs()})

    def measure(self, found: Sequence[Measurement]) -> None:
        """Adds measured interactions; each is averaged with earlier measurements of it."""
        for measurement in found:
            clique, view = measurement.clique, self.view(measurement.clique)
            shape = view.shape(self.domain)
            values = interaction(measurement.values, shape)
            variance = measurement.sigma**2 * freedom(shape)
            if len(clique) == 1:
                self.ones[clique] = _average_with(self.ones.get(clique), values, variance)
            else:
                effect = self.effects[view]
                observed = _average_with(effect.observed, values, variance)
                self.effects[view] = replace(effect, observed=observed)
        self._learn_axes(True)
        self._estimate_counts({one.clique for one in found if len(one.clique) == 1})

    def learn(self, last: bool = False) -> None:
        """Learns what all interactions say of each.

        Args:
            last: whether pairs are predicted from all others, which takes seconds for hundreds of codes.
        """
        self._learn_coupling(self._learn_axes(False))
        self.learn_sizes()
        if last:
            self._predict()

    def targets(self, cliques: Iterable[Clique]) -> list[Measurement]:
        """Current estimates of one-way and these marginals, with a deviation for each cell.

        Args:
            cliques: chosen interactions.
        """
        margins_of: dict[Clique, Array] = {}
        targets = []
        for clique, (values, variances) in self._denoised.items():
            sigmas = np.sqrt(np.maximum(variances, SETTINGS.least_variance * self.ones[clique].variance))
            margins_of[clique] = np.maximum(values, SETTINGS.least_cell)
            targets.append(_target(clique, values, sigmas))
        for clique in sorted(cliques, key=len):
            effect = self.effects[View(clique)]
            smaller = {
                axes: tuple(clique[axis] for axis in axes)
                for axes in itertools.combinations(range(len(clique)), len(clique) - 1)
            }
            # Larger interactions that no workload names can be in the model without all their parts.
            margins = [(axes, margins_of[part]) for axes, part in smaller.items() if part in margins_of]
            effect = replace(effect, reference=rake(effect.reference, effect.shape, margins))
            self.effects[View(clique)] = effect
            values, sigmas = effect.estimate(self.records)
            margins_of[clique] = np.maximum(values, SETTINGS.least_cell)
            targets.append(_target(clique, values, sigmas))
        return targets

    def shares(self) -> dict[str, Array]:
        """The share of each code of each measured attribute, from denoised counts."""
        found = {clique[0]: np.maximum(one[0], SETTINGS.least_cell) for clique, one in self._denoised.items()}
        return {name: counts / counts.sum() for name, counts in found.items()}

    def learn_sizes(self) -> None:
        """Learns the prior of sizes for each number of attributes, in the model and outside it."""
        inside = {*self.chosen}
        pools: dict[tuple[bool, int], list[Clique]] = {}
        # Sorted, because sums of floats in the order of a set would differ between processes.
        for clique in [*self.chosen, *(clique for clique in self.in_codes() if clique not in inside)]:
            pools.setdefault((clique in inside, len(clique)), []).append(clique)
        for pool in pools.values():
            prior = learned_prior([self.effects[View(clique)] for clique in pool], self.records)
            for clique in pool:
                self.effects[View(clique)] = self.effects[View(clique)].with_prior(*prior)
        if self.earlier is not None:
            right = self._expected_right
            expected = self.earlier.expect(self.in_codes(), self._margins(), self.records, right)
            self.effects |= {View(clique): effect for clique, effect in expected.items()}

    @property
    def _expected_right(self) -> float:
        """The share of interactions that an earlier table is expected to be right about."""
        return 1 / (1 + (1 / self._right - 1) * math.exp(-self._told))

    def _margins(self) -> dict[str, Array]:
        """The positive counts of each measured attribute."""
        return {clique[0]: np.maximum(one[0], SETTINGS.least_cell) for clique, one in self._denoised.items()}

    def _estimate_counts(self, measured: Collection[Clique]) -> None:
        """Estimates the counts of these attributes, and of all with few values, which say of each other."""
        if measured:
            every = self.earlier is not None
            asked = [c for c, one in self.ones.items() if every or c in measured or is_short(one.values)]
            known = [self._one_way(clique) for clique in asked]
            if self.earlier is not None:
                known, self._right = self.earlier.average(asked, known, self.records)
            estimates = denoise(known, self.records)
            self._denoised |= dict(zip(asked, estimates, strict=True))

    def _one_way(self, clique: Clique) -> tuple[Array, Array]:
        """Noisy counts and the variances of their noise, from all that is known."""
        known = self.ones[clique]
        noisy = known.values + self.records / known.values.size
        variances = np.full(len(noisy), known.variance)
        published = self._before.get(clique)
        if published is None:
            return noisy, variances
        weights, other = 1 / variances, 1 / _variances(published)
        return (weights * noisy + other * published.values) / (weights + other), 1 / (weights + other)

    def _learn_axes(self, beside: bool) -> list[View]:
        """Learns the covariances along each attribute or its groups, in the model or beside it.

        Returns:
            The interactions from which they were learned.
        """
        measured = {
            view.groupings: view
            for view, effect in self.effects.items()
            if effect.observed is not None and has_shape(effect) and view.interaction == beside
        }
        effects = {attributes: self.effects[view] for attributes, view in measured.items()}
        self._axes[beside] = axes = learned_axes(effects, self.records, self._axes[beside])
        for attributes, view in measured.items():
            self.effects[view] = self.effects[view].with_axes(tuple(axes[one] for one in attributes))
        return [*measured.values()]

    def _learn_coupling(self, measured: Sequence[View]) -> None:
        """Learns the coupling of coefficients of measured pairs."""
        pairs = {view: effect for view in measured if couples(effect := self.effects[view])}
        self._coupling = learned_coupling([*pairs.values()], self.records, self._coupling)
        for view, effect in pairs.items():
            self.effects[view] = effect.with_axes(effect.axes, self._coupling)

    def _predict(self) -> None:
        """Predicts each pair from the others, and learns how near measured pairs are to that."""
        pairs: dict[Clique, Effect] = {c: effect for c, effect in self.in_codes().items() if len(c) == 2}
        shares = self.shares()
        margins = {name: shares[name] for name in self.domain.names if name in shares}
        for clique, prediction in predictions(pairs, margins, self.records).items():
            self.effects[View(clique)] = pairs[clique].with_prediction(prediction)

    def _error_of_parts(self, view: View) -> float:
        """Expected L1 error of the smaller interactions, in records, as far as groups show it."""
        groups = dict(view.groupings)
        squares = 0.0
        if len(view.clique) == 2:  # One-way errors hardly show in larger interactions beside those of pairs.
            squares = sum(self.one_way_error(name, of) ** 2 for name, of in groups.items())
        for size in range(2, len(view.clique)):
            for part in itertools.combinations(view.clique, size):
                effect = self.effects.get(self.view(part))
                if effect is not None:
                    shown = grouped_shape(self.domain.shape(part), tuple(groups[name] for name in part))
                    share = min(1.0, math.prod(shown) / math.prod(effect.shape))
                    squares += effect.error_in_groups(self.records, share) ** 2
        return math.sqrt(squares)


def parts_of(clique: Clique) -> Iterator[Clique]:
    """All nonempty subsets of the clique, small ones first."""
    return itertools.chain.from_iterable(
        itertools.combinations(clique, size) for size in range(1, len(clique) + 1)
    )


def largest_forest(sizes: Mapping[Clique, float]) -> list[Clique]:
    """Pairs that make no cycle, with the largest sum of sizes (as in Chow and Liu's trees)."""
    # Late, since it takes a quarter of a second, and most processes need no forest.
    import networkx as nx

    graph = nx.Graph()
    graph.add_weighted_edges_from((*pair, size) for pair, size in sizes.items())
    inside = {frozenset(edge) for edge in nx.maximum_spanning_edges(graph, data=False)}
    return [pair for pair in sizes if frozenset(pair) in inside]


def _smaller(clique: Clique) -> Iterator[Clique]:
    """The proper subsets of two and more attributes."""
    return (part for part in parts_of(clique) if 1 < len(part) < len(clique))


def _variances(measurement: Measurement) -> Array:
    """Variances of the noise of the cells, shape (n_r,)."""
    if measurement.sigmas is None:
        return np.full(len(measurement.values), measurement.sigma**2)
    return np.asarray(measurement.sigmas**2)


def _average_with(before: Observed | None, values: Array, variance: float) -> Observed:
    """The average of a measurement with those before, if any."""
    return Observed(values, variance) if before is None else before.with_values(values, variance)


def _target(clique: Clique, values: Array, sigmas: Array) -> Measurement:
    """An estimated marginal, for the fit."""
    return Measurement(View(clique), values, math.sqrt(float(np.mean(sigmas**2))), 0.0, sigmas=sigmas)
