"""Selecting all pairs in one batch, by what each adds in noise and saves in missing information (ABSyn)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ....common.data.domain import Clique, Domain
from ...pgm.elimination import bits, joined, triangulate
from .cr_score import Array, cr_scores, largest_r_scores, no_paths, normalised, with_edge

_Pair = tuple[int, int]


@dataclass(frozen=True, eq=False)
class Candidates:
    """Pairs to choose from; all public.

    Attributes:
        distances: for each pair, in records, the noisy distance of its marginal from the product of the two
            one-way marginals: its R-score times the number of records.
        noise: for each pair, in records, the expected L1 norm of its marginal's noise if the whole measuring
            budget went to it.
        records: of the table.
    """

    distances: Mapping[Clique, float]
    noise: Mapping[Clique, float]
    records: int


@dataclass(frozen=True, eq=False)
class _Graph:
    """A triangulated graph of attributes whose edges are the selected pairs.

    Attributes:
        adjacency: for each attribute the mask of its neighbours.
        edges: the selected pairs, as places.
        products: of `with_edge`.
        error: expected noise and missing information, in records.
    """

    adjacency: tuple[int, ...]
    edges: frozenset[_Pair]
    products: Array
    error: float


def select_batch(
    domain: Domain,
    candidates: Candidates,
    *,
    max_clique_cells: int,
    max_model_mb: float,
    difference: bool,
) -> list[Clique]:
    """Pairs whose measurement together makes the sum of noise and missing information small.

    Greedy: each step adds the pair that leaves the smallest sum, with all pairs that a triangulation of the
    graph adds, so that maximal cliques meet in selected pairs; it stops where no pair lowers the sum. What
    is missing of a pair that is not selected is its CR-score, taken back from a share to records.
    Post-processing of noisy values: it costs nothing.

    Source: ABSyn, Equation 9 and Algorithm 3, lines 9 to 38. tau bounds a clique's cells. Equation 6 makes
        scores shares, so what is missing is multiplied by what normalising divided by, and by the records;
        the paper multiplies by the records alone, and that only in its E_0.

    Args:
        domain: of all attributes.
        candidates: the pairs; triangulations add no others.
        max_clique_cells: tau, cells of the largest clique of the triangulated graph.
        max_model_mb: the size of all its cliques together.
        difference: CR-scores as in the paper's Equation 7.

    Returns:
        Selected pairs in domain order; none where none is worth its noise.
    """
    search = _Search(domain, candidates, max_clique_cells, max_model_mb, difference)
    best, waiting = search.start(), list(search.pairs)
    while True:
        found = {pair: search.joined_by(best, pair) for pair in waiting}
        small = {pair: graph for pair, graph in found.items() if graph is not None}
        following = min(small.values(), key=lambda graph: graph.error, default=best)
        if following.error >= best.error:
            return [(domain.names[i], domain.names[j]) for i, j in sorted(best.edges)]
        # A graph that is too large with a pair is no smaller once others are in it.
        best, waiting = following, [pair for pair in small if pair not in following.edges]


class _Search:
    """What all steps share."""

    def __init__(
        self,
        domain: Domain,
        candidates: Candidates,
        max_clique_cells: int,
        max_model_mb: float,
        difference: bool,
    ) -> None:
        self._sizes = domain.sizes
        self._max_clique_cells = max_clique_cells
        self._max_cells = max_model_mb * 2**17
        self._difference = difference
        self.pairs: dict[_Pair, Clique] = {
            (domain.position(a), domain.position(b)): (a, b) for a, b in candidates.distances
        }
        scores = np.zeros((len(domain), len(domain)))
        for (i, j), pair in self.pairs.items():
            scores[i, j] = scores[j, i] = candidates.distances[pair] / candidates.records
        largest = largest_r_scores(domain.sizes)
        self._shares = normalised(scores, largest)
        # Each pair counts once; those that are no candidates have a share of 0.
        self._records = np.triu(largest, 1) * candidates.records
        self._parts = {pair: domain.cells(clique) ** (2 / 3) for pair, clique in self.pairs.items()}
        self._noise = {pair: candidates.noise[clique] for pair, clique in self.pairs.items()}

    def start(self) -> _Graph:
        """Nothing selected."""
        count = len(self._sizes)
        return self._judged([0] * count, frozenset(), no_paths(count))

    def joined_by(self, graph: _Graph, pair: _Pair) -> _Graph | None:
        """The graph with one more pair, triangulated; None where it is too large (lines 13 to 28)."""
        adjacency = joined(graph.adjacency, [1 << pair[0] | 1 << pair[1]])
        cliques, cells = triangulate(adjacency, self._sizes)
        largest = max(math.prod(self._sizes[place] for place in bits(clique)) for clique in cliques)
        edges = frozenset(edge for clique in cliques for edge in itertools.combinations(bits(clique), 2))
        if cells > self._max_cells or largest > self._max_clique_cells or not edges <= self.pairs.keys():
            return None
        products = graph.products
        for i, j in edges - graph.edges:
            products = with_edge(products, i, j, float(self._shares[i, j]))
        return self._judged(joined(adjacency, cliques), edges, products)

    def _judged(self, adjacency: Sequence[int], edges: frozenset[_Pair], products: Array) -> _Graph:
        missing = self._records * cr_scores(self._shares, products, difference=self._difference)
        if edges:
            missing[tuple(zip(*edges, strict=True))] = 0.0
        error = float(missing.sum()) + self._expected_noise(edges)
        return _Graph(tuple(adjacency), edges, products, error)

    def _expected_noise(self, edges: Iterable[_Pair]) -> float:
        """Of the pairs' marginals together, once each has its part of the budget by `allocate`."""
        whole = sum(self._parts[pair] for pair in edges)
        return sum(self._noise[pair] * math.sqrt(whole / self._parts[pair]) for pair in edges)
