"""What is counted in groups of codes, and in which: large pairs, and interactions of three and more."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ....common.data.attributes.attribute import Attribute
from ....common.data.attributes.boolean import BooleanAttribute
from ....common.data.attributes.categorical import CategoricalAttribute
from ....common.data.domain import Clique, Domain
from ....common.data.grouping import Grouping, Groups
from ....common.data.view import View
from ...pgm.rows.refinement import LARGEST_ADJUSTED
from ...work.limits import affords_larger
from ..parts.allocation import EXPECTED_L1
from ..parts.released import ReleasedModel
from ..parts.steps import PublicFacts
from .knowledge import Knowledge
from .settings import SETTINGS

Array = NDArray[np.float64]

_ATTRIBUTES = 100
"""Most attributes whose triples are compared, those with the largest pairs."""

_CELLS_OF_PAIRS = 2**23
"""Most cells of all pairs that may be counted in groups: their marginals in the model are in memory."""

_GROUPED_CELLS = 1 << 14
"""Largest number of cells of a grouped marginal."""

_PROFILED_CODES = 128
"""Of more codes, groups have even shares, whatever the profiles."""


class Candidates:
    """What may be counted in groups of codes, and by which groups: where pairs do not explain the table.

    Few records are in single cells of many attributes, or of two that have many codes.

    Args:
        known: what is known of the table.
    """

    def __init__(self, known: Knowledge) -> None:
        self._known = known
        self._domain = known.domain
        self._records = known.records
        self._shares: dict[str, Array] = {}
        self._profiles: dict[str, Array] = {}
        self._groupings: dict[tuple[str, int], Grouping] = {}

    def find(self, order: int, most_cells: float, without: Collection[Clique]) -> Iterator[View]:
        """Candidates of so many attributes that can be grouped, the most promising first.

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
                yield View(clique, groups)

    def learn_profiles(self, model: ReleasedModel) -> None:
        """Learns what each code goes with: the shares of the other attribute of the largest pair."""
        self._groupings.clear()
        sizes = {
            clique: effect.size(self._records)
            for clique, effect in self._known.in_codes().items()
            if len(clique) == 2
        }
        largest: dict[str, Clique] = {}
        for pair in sorted(sizes, key=sizes.__getitem__):
            largest |= dict.fromkeys(pair, pair)
        found = model.marginals_within_limits(largest.values())
        for (name, of), marginal in zip(largest.items(), found, strict=True):
            if marginal is not None:
                joint = np.moveaxis(marginal.reshape(self._domain.shape(of)), of.index(name), 0)
                totals = joint.sum(axis=1, keepdims=True)
                self._profiles[name] = joint / np.maximum(totals, SETTINGS.least_cell)

    def _large_pairs(self, without: Collection[Clique]) -> list[Clique]:
        """Other pairs than these in the order of their sizes; the mean size if not scored."""
        known = self._known.in_codes()
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
        for clique in {view.clique for view in self._known.effects if len(view.clique) == 2}:
            one, other = places[clique[0]], places[clique[1]]
            sizes[one, other] = sizes[other, one] = self._known.size(clique)
        kept = np.sort(np.argsort(-sizes.max(axis=0, initial=0.0), kind="stable")[:_ATTRIBUTES])
        triples = np.array(list(itertools.combinations(kept.tolist(), 3)), dtype=np.int64).reshape(-1, 3)
        i, j, k = triples.T
        promise = sizes[i, j] + sizes[i, k] + sizes[j, k]
        order = np.argsort(-promise, kind="stable")
        return [(names[i], names[j], names[k]) for i, j, k in triples[order].tolist()]

    def _unions(self, order: int) -> list[Clique]:
        """Unions of two large interactions that differ in one attribute, in the order of their sizes."""
        known = self._known
        smaller = [view.clique for view in known.effects if len(view.clique) == order - 1]
        smaller.sort(key=lambda clique: not known.view(clique).interaction)
        inside = {*known.chosen, *known.beside}
        sizes = {clique: known.size(clique) for clique in smaller if clique in inside}
        large = [clique for clique, size in sizes.items() if size >= SETTINGS.large * self._records]
        promise: dict[Clique, float] = {}
        for one, other in itertools.combinations(large, 2):
            union = self._domain.canonical({*one, *other})
            if len(union) == order:
                promise[union] = promise.get(union, 0.0) + sizes[one] + sizes[other]
        return sorted(promise, key=lambda clique: -promise[clique])


def cliques_in_groups(facts: PublicFacts, cliques: Iterable[Clique], seconds: float) -> list[Clique]:
    """Those of a workload's cliques and their parts that are no candidates in codes, since noise hides these.

    They are of three attributes and more.
    """
    if not (facts.scores_exactly and affords_larger(facts.domain, facts.record_count, seconds)):
        return []
    most = _cells_above_noise(facts)
    return [c for c in cliques if len(c) in SETTINGS.orders and facts.domain.cells(c) > most]


def most_cells(facts: PublicFacts) -> float:
    """How many cells a grouped marginal may have."""
    return min(float(_GROUPED_CELLS), _cells_above_noise(facts))


def _cells_above_noise(facts: PublicFacts) -> float:
    """How many cells a marginal may have, so that a small share of the budget measures it well."""
    sigma = facts.expected_sigma(View(facts.domain.names[:1]), facts.granted * Fraction(SETTINGS.group_share))
    return SETTINGS.group_noise * facts.record_count / (EXPECTED_L1 * sigma)


def groups_within(
    domain: Domain,
    clique: Clique,
    shares: Mapping[str, Array],
    most_cells: float,
    profiles: Mapping[str, Array] | None = None,
    found: dict[tuple[str, int], Grouping] | None = None,
) -> Groups | None:
    """Groups of codes, so few that their marginal has at most so many cells.

    Args:
        domain: domain of the table.
        clique: attributes to be grouped.
        shares: shares of the codes of each attribute, shape (n,), from noisy counts.
        most_cells: largest number of cells.
        profiles: of some attributes what each code goes with, shape (n, m): groups of these are alike in
            that, others have nearly equal shares.
        found: attribute and number of groups -> groups, from earlier calls with the same shares and profiles;
            gets new ones.

    Returns:
        The groups, empty if none are needed; None if two groups of each attribute are too many cells.
    """
    sizes = {name: domain[name].size for name in clique}
    many = [name for name in clique if sizes[name] > SETTINGS.class_values]
    sizes = _cap_sizes(sizes, many, SETTINGS.class_groups, most_cells)
    sizes = _cap_sizes(sizes, clique, 2, most_cells)
    if math.prod(sizes.values()) > most_cells:
        return None
    known = {} if found is None else found
    for name, size in sizes.items():
        if (name, size) not in known:
            profile = None if profiles is None else profiles.get(name)
            known[name, size] = _grouping(domain[name], shares[name], size, profile)
    groups = tuple(known[key] for key in sizes.items())
    return groups if any(groups) else ()


def neighbours(shares: Sequence[float] | Array, groups: int) -> Grouping:
    """At most so many groups of neighbouring codes with nearly equal shares; at least two.

    A code with more than a group's share leaves the rest to be divided among the other groups.

    Args:
        shares: of at least two codes.
        groups: at least two.
    """
    left, open_groups = float(np.sum(shares)), groups
    labels: list[int] = []
    held = 0.0
    for code, share in enumerate(np.asarray(shares, dtype=float).tolist()):
        wanted = left / open_groups
        # A new group starts if that brings the one before closer to its share, and at the last chance.
        closer = held > 0 and open_groups > 1 and abs(held - wanted) <= abs(held + share - wanted)
        if labels and (closer or (code == len(shares) - 1 and labels[-1] == 0)):
            left, open_groups, held = left - held, open_groups - 1, 0.0
            labels.append(labels[-1] + 1)
        else:
            labels.append(labels[-1] if labels else 0)
        held += share
    return tuple(labels)


def alike(shares: Array, profiles: Array, groups: int) -> Grouping:
    """So many groups of neighbouring codes, alike in their profiles, by dynamic programming.

    The sum over groups is minimal of the variance of profiles within the group, weighted by shares, plus
    the variance within all codes times the square of the group's share.

    Source: Jenks and Caspall, Error on choroplethic maps (1971), and Fisher (1958), the exact optimum.

    Args:
        shares: of at least as many codes as groups, shape (n,).
        profiles: of each code, shape (n, m).
        groups: at least two.
    """
    held = np.concatenate([[0.0], np.cumsum(shares)])
    sums = np.vstack([np.zeros(profiles.shape[1]), np.cumsum(shares[:, None] * profiles, axis=0)])
    squares = np.concatenate([[0.0], np.cumsum(shares * (profiles**2).sum(axis=1))])
    size = len(shares)
    share = held[None, :] - held[:, None]
    # costs[i, j] is that of the codes i to j - 1.
    costs = squares[None, :] - squares[:, None]
    costs -= ((sums[None, :] - sums[:, None]) ** 2).sum(axis=2) / np.maximum(share, 1e-300)
    costs = np.where(share > 0, np.maximum(costs, 0.0) + costs[0, -1] * share**2, np.inf)
    best, cuts = costs[0], []
    for _ in range(groups - 1):
        total = best[:, None] + costs
        cuts.append(total.argmin(axis=0))
        best = total.min(axis=0)
    starts, stop = [], size
    for cut in reversed(cuts):
        stop = int(cut[stop])
        starts.append(stop)
    labels = np.zeros(size, dtype=int)
    labels[starts] = 1
    return tuple(np.cumsum(labels).tolist())


def largest_alone(shares: Sequence[float] | Array, groups: int) -> Grouping:
    """The codes with the largest shares each by itself, and all others together in the last group."""
    order = np.argsort(-np.asarray(shares), kind="stable")
    alone = {code: place for place, code in enumerate(sorted(order[: groups - 1].tolist()))}
    return tuple(alone.get(code, groups - 1) for code in range(len(shares)))


def _cap_sizes(
    sizes: Mapping[str, int], names: Collection[str], least: int, most_cells: float
) -> dict[str, int]:
    """The sizes with the largest limit for these attributes that leaves few enough cells, or else `least`."""
    low, high = least, max((sizes[name] for name in names), default=least)

    def within(limit: int) -> dict[str, int]:
        return {name: min(size, limit) if name in names else size for name, size in sizes.items()}

    while low < high:
        middle = (low + high + 1) // 2
        if math.prod(within(middle).values()) <= most_cells:
            low = middle
        else:
            high = middle - 1
    return within(low)


def _grouping(attribute: Attribute, shares: Array, groups: int, profiles: Array | None) -> Grouping:
    """So many groups of an attribute's codes, or fewer if single codes hold much."""
    if groups >= attribute.size:
        return ()
    if not has_order(attribute):
        return largest_alone(shares, groups)
    if profiles is not None and attribute.size <= _PROFILED_CODES:
        return alike(shares, profiles, groups)
    return neighbours(shares, groups)


def has_order(attribute: Attribute) -> bool:
    """Whether neighbouring codes may be alike: of numbers, dates, plain codes and ordered categories."""
    if isinstance(attribute, CategoricalAttribute):
        return attribute.ordered
    return not isinstance(attribute, BooleanAttribute)
