"""Chooses bins from noisy one-way marginals: post-processing, which costs nothing."""

from __future__ import annotations

import heapq
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from ....common.data.attributes.attribute import Attribute
from ....common.data.attributes.texts import has_open_categories
from ....common.data.coding import Coding, numbers_of
from ....common.data.domain import Domain
from ....common.data.view import View
from ....common.measurement import Measurement
from ....common.protocols.chosen import Chosen
from ..release import Released, ReleaseOrder
from .noisy_counts import NoisyCounts
from .order import open_numbers

MOST_BINS = 64
"""Largest number of bins of an attribute, about."""

LEAST_BINS = 4
"""Number of equal parts into which an attribute with bounds is divided in any case."""

_ONE_WAY_SHARE = 0.2
"""Share of a release's budget that its mechanism is taken to spend on one-way marginals."""

_RECORDS = 3.0
"""Records of a bin, in standard deviations of the noise of its count in the release that uses the bins."""

_SPLIT_RECORDS = 1.5
"""Records of a bin that is split, in standard deviations of their noisy number."""

_CERTAIN = 3.0
"""Records that show where a column without bounds has values, in standard deviations of their number."""

_MERGED_SHARE = 0.25
"""Neighbouring bins with fewer than this share of a bin's records become one."""


def planned_bins(records: float, zcdp_rho: float, attributes: int) -> int:
    """How many bins a column can bear, from public facts.

    Args:
        records: number of records of the table.
        zcdp_rho: budget of the release that uses the bins.
        attributes: number of attributes of the table.
    """
    return max(LEAST_BINS, min(MOST_BINS, int(records / _records(zcdp_rho, attributes))))


def _records(zcdp_rho: float, attributes: int) -> float:
    """How many records a bin needs, so that the noise of the release that uses it is small against them."""
    return _RECORDS * math.sqrt(attributes / (2 * _ONE_WAY_SHARE * zcdp_rho))


def even_coding(domain: Domain, records: float, zcdp_rho: float) -> Coding:
    """As many bins as are planned, each of as many codes, and as many labels, with names that stand for them.

    Args:
        domain: the open domain, without the value `absent`.
        records: number of records of the table.
        zcdp_rho: budget of the release that uses the bins.
    """
    bins = planned_bins(records, zcdp_rho, len(domain))
    labels = tuple(f"label {number}" for number in range(1, bins + 1))
    return Coding(
        {name: grid.even(bins) for name, grid in _grids(domain).items()},
        {one.name: labels for one in domain.attributes if has_open_categories(one)},
    )


@dataclass(frozen=True)
class Choice:
    """A finished choice.

    Attributes:
        chosen: what was chosen, for the terms.
        before: noisy one-way marginals from which it was chosen, in the chosen bins.
    """

    chosen: Chosen
    before: tuple[Measurement, ...]


def choice_of(
    made: Released, release_id: str, choosing: ReleaseOrder, order: ReleaseOrder, domain: Domain
) -> Choice:
    """What the next release uses of a finished release of the mechanism `bins`.

    Args:
        made: the finished release.
        release_id: its id.
        choosing: its order.
        order: the order of the release that uses the bins, before they are known.
        domain: the open domain, without the value `absent`.
    """
    coding = chosen_by(made, choosing, order, domain)
    digest, rho = made.certificate.digest().hex(), float(choosing.granted)
    before = published_marginals(domain, made.fitted.measurements, made.certificate.records, coding)
    return Choice(Chosen(release_id, digest, rho, coding, choosing.labels_delta), before)


def chosen_by(made: Released, choosing: ReleaseOrder, order: ReleaseOrder, domain: Domain) -> Coding:
    """The bins and labels that follow from a finished release of the mechanism `bins`.

    Args:
        made: the finished release.
        choosing: its order.
        order: the order of the release that uses the bins, before they are known.
        domain: the open domain, without the value `absent`.
    """
    records = made.certificate.records
    left = float(order.granted - choosing.granted)
    coding = chosen_coding(domain, made.fitted.measurements, records, left)
    return replace(coding, labels=made.fitted.labels)


def published_marginals(
    domain: Domain, measurements: Sequence[Measurement], records: float, coding: Coding
) -> tuple[Measurement, ...]:
    """The one-way marginals in the chosen bins, from what was measured to choose them.

    The noise of cells is stated as if it were independent, with upper bounds of its deviations.

    Args:
        domain: the open domain, without the value `absent`.
        measurements: what the mechanism `bins` measured.
        records: number of records of the table.
        coding: what was chosen.
    """
    found = []
    for name in coding.runs:
        measured = [one for one in measurements if one.clique == (name,)]
        counts, codes = NoisyCounts.of(measured, records), coding.codes(domain[name])
        starts = [0, *(1 + np.flatnonzero(np.diff(codes))).tolist()]
        # The value `absent` is a code of its own, after all others.
        runs = list(pairwise([*starts, *range(len(codes), len(counts.sums))]))
        sigmas = np.array([counts.sigma(*run) for run in runs])
        values = np.array([counts.between(*run) for run in runs])
        rho = sum(one.zcdp_rho for one in measured)
        found.append(
            Measurement(View((name,)), values, math.sqrt(float(np.mean(sigmas**2))), rho, sigmas=sigmas)
        )
    return tuple(found)


def chosen_coding(
    domain: Domain,
    measurements: Sequence[Measurement],
    records: float,
    zcdp_rho: float,
    boundaries: Mapping[str, Collection[int]] = MappingProxyType({}),
) -> Coding:
    """The bins of the open attributes of a domain.

    Args:
        domain: the open domain, without the value `absent`.
        measurements: what the mechanism `bins` measured.
        records: number of records of the table.
        zcdp_rho: budget of the release that uses the bins.
        boundaries: name -> codes at which bins have to begin, beside those that rules need.
    """
    runs, least = {}, _records(zcdp_rho, len(domain))
    for name, grid in _grids(domain, boundaries).items():
        counts = NoisyCounts.of([one for one in measurements if one.clique == (name,)], records)
        binned = records - sum(counts.between(k, k + 1) for k in np.flatnonzero(grid.alone).tolist())
        runs[name] = _Choice(grid, counts, max(least, binned / MOST_BINS)).runs()
    return Coding(runs)


_Node = tuple[int, int]
"""A run of codes: the first one, and the one after the last."""


@dataclass(frozen=True, eq=False)
class _Grid:
    """The codes of an open attribute.

    Attributes:
        codes: number of codes; the last may be a missing value.
        alone: whether each cell has to stay a bin of its own, shape (cells,), as atoms have.
        begins: whether a bin has to begin at each cell, shape (cells,).
        bounded: whether the bounds are known.
    """

    codes: int
    alone: NDArray[np.bool_]
    begins: NDArray[np.bool_]
    bounded: bool

    @classmethod
    def of(cls, attribute: Attribute, boundaries: Collection[int]) -> _Grid:
        """The grid of an attribute in which bins have to begin at these cells."""
        numbers = numbers_of(attribute)
        alone = numbers.alone
        begins = alone | np.roll(alone, 1)
        begins[[0, *boundaries]] = True
        return cls(attribute.size, alone, begins, numbers.minimum is not None)

    @property
    def cells(self) -> int:
        """Number of codes that are no missing value."""
        return len(self.alone)

    def nodes(self, parts: int) -> list[_Node]:
        """The codes in so many parts, and more where bins have to begin."""
        starts = self.begins.copy()
        starts[[self.cells * part // parts for part in range(parts)]] = True
        return list(pairwise([*map(int, np.flatnonzero(starts)), self.cells]))

    def even(self, parts: int) -> tuple[int, ...]:
        """The first code of each of so many parts."""
        return self.firsts(self.nodes(max(parts, 3)))

    def firsts(self, nodes: Sequence[_Node]) -> tuple[int, ...]:
        """The first code of each bin, atom and missing value."""
        return (*(first for first, _ in nodes), *range(self.cells, self.codes))


def _grids(domain: Domain, more: Mapping[str, Collection[int]] = MappingProxyType({})) -> dict[str, _Grid]:
    """The grids of the open attributes; bins begin where the domain's rules need it, and at more codes."""
    boundaries: dict[str, set[int]] = {name: set(codes) for name, codes in more.items()}
    for rule in domain.rules:
        for name, codes in rule.boundaries(domain).items():
            boundaries.setdefault(name, set()).update(codes)
    return {name: _Grid.of(domain[name], boundaries.get(name, ())) for name in open_numbers(domain)}


class _Choice:
    """The choice of bins of one attribute: halves of halves of its grid, where its records are.

    Args:
        grid: codes of the attribute.
        counts: noisy counts of its codes.
        records: number of records of a bin.
    """

    def __init__(self, grid: _Grid, counts: NoisyCounts, records: float) -> None:
        self._grid = grid
        self._counts = counts
        self._records = records

    def runs(self) -> tuple[int, ...]:
        """The first code of each bin, atom and missing value."""
        grid = self._grid
        nodes = self._merge_small(self._split(grid.nodes(LEAST_BINS if grid.bounded else 1)))
        return grid.firsts(nodes if grid.bounded else self._with_tails(nodes))

    def _split(self, nodes: list[_Node]) -> list[_Node]:
        """Splits bins with many records, those with most first."""
        heap = [(-self._counts.between(*node), node) for node in nodes]
        heapq.heapify(heap)
        done: list[_Node] = []
        while heap:
            mass, (first, stop) = heapq.heappop(heap)
            enough = -mass >= max(1.5 * self._records, _SPLIT_RECORDS * self._counts.sigma(first, stop))
            if stop - first < 2 or not enough or len(heap) + len(done) >= 2 * MOST_BINS:
                done.append((first, stop))
                continue
            middle = self._middle(first, stop)
            for node in ((first, middle), (middle, stop)):
                heapq.heappush(heap, (-self._counts.between(*node), node))
        return sorted(done)

    def _holds(self, node: _Node) -> bool:
        """Whether there are records for sure."""
        return self._counts.between(*node) > _CERTAIN * self._counts.sigma(*node)

    def _trim_end(self, node: _Node, end: int) -> _Node:
        """A bin without its outer halves in which there may be no records; `end` is 0 or 1."""
        while node[1] - node[0] > 1:
            middle = self._middle(*node)
            halves = ((node[0], middle), (middle, node[1]))
            inner, outer = halves[1 - end], halves[end]
            if self._holds(outer) or self._counts.between(*outer) >= self._counts.between(*inner):
                break
            node = inner
        return node

    def _middle(self, first: int, stop: int) -> int:
        """Where a bin is halved, at a border of the largest boxes that it has borders of."""
        half = (first + stop) / 2
        for width in reversed(self._counts.widths):
            place = max(first // width + 1, min(-(-stop // width) - 1, round(half / width))) * width
            if first < place < stop:
                return place
        raise ValueError("expected a bin of several codes")

    def _merge_small(self, nodes: list[_Node]) -> list[_Node]:
        """Neighbouring bins with few records as one."""
        merged: list[_Node] = []
        for first, stop in nodes:
            few = merged and self._counts.between(merged[-1][0], stop) < _MERGED_SHARE * self._records
            if few and not self._grid.begins[first]:
                merged[-1] = (merged[-1][0], stop)
            else:
                merged.append((first, stop))
        return merged

    def _with_tails(self, nodes: list[_Node]) -> list[_Node]:
        """The bins between two tails, which hold few records or none: their values are clipped."""
        bins = [node for node in nodes if not self._grid.alone[node[0]]]
        held = [node for node in bins if self._holds(node)]
        held = held or [max(bins, key=lambda node: self._counts.between(*node))]
        (low, _), (_, high) = self._trim_end(held[0], 0), self._trim_end(held[-1], 1)
        # Values beyond the grid are clipped too, so that there is a bin in any case.
        low = min(max(1, low), self._grid.cells - 2)
        high = max(low + 1, min(self._grid.cells - 1, high))
        pieces = [
            (max(first, a), min(stop, b))
            for a, b in ((0, low), (low, high), (high, self._grid.cells))
            for first, stop in nodes
            if max(first, a) < min(stop, b)
        ]
        tailed: list[_Node] = []
        for first, stop in pieces:
            beyond = stop <= low or first >= high
            if tailed and beyond and first not in (low, high) and not self._grid.begins[first]:
                tailed[-1] = (tailed[-1][0], stop)
            else:
                tailed.append((first, stop))
        return tailed
