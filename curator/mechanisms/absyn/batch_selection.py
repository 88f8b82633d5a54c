"""Selection of pairs in one batch: the noise of each against the missing information (ABSyn)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ....common.data.domain import Clique, Domain
from ...pgm.structure.elimination import bits, join_cliques, triangulate
from .cr_score import Array, cr_scores, largest_r_scores, no_paths, normalise, with_edge

_Pair = tuple[int, int]


@dataclass(frozen=True, eq=False)
class Candidates:
    """Pairs to choose from; all public.

    Attributes:
        distances: for each pair, in records, the noisy distance of its marginal from the product of the two
            one-way marginals: its R-score times the number of records.
        noise: for each pair, in records, the expected L1 norm of its marginal's noise if the whole budget
            for measurements went to it.
        records: number of records of the table.
    """

    distances: Mapping[Clique, float]
    noise: Mapping[Clique, float]
    records: int


@dataclass(frozen=True, eq=False)
class _Graph:
    """A triangulated graph of attributes whose edges are the selected pairs.

    Attributes:
        adjacency: for each attribute, the bit mask of its neighbours.
        edges: the selected pairs, as indices of attributes.
        products: best products over paths (`with_edge`).
        error: expected noise plus missing information, in records.
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
    """Pairs for which the sum of noise and missing information is small.

    Greedy: each step adds the pair with the smallest resulting sum, and all pairs that a triangulation of the
    graph adds. It stops where no pair lowers the sum. The missing information of a pair that is not selected
    is its CR-score, converted from a share to records. Post-processing of noisy values.

    Source: ABSyn, Equation 9 and Algorithm 3, lines 9 to 38. tau bounds a clique's cells. Equation 6
        normalises scores, so missing information is multiplied by the normaliser and the number of records;
        the paper multiplies only by the number of records, and only in E_0.

    Args:
        domain: domain of the table.
        candidates: pairs to choose from; triangulations add no others.
        max_clique_cells: tau, most cells of a clique of the triangulated graph.
        max_model_mb: limit of the size of all its cliques together.
        difference: compute CR-scores by the paper's Equation 7.

    Returns:
        Selected pairs in domain order; empty where every pair would add more noise than it explains.
    """
    search = _Search(domain, candidates, max_clique_cells, max_model_mb, difference)
    best, waiting = search.start(), list(search.pairs)
    while True:
        found = {pair: search.joined_by(best, pair) for pair in waiting}
        small = {pair: graph for pair, graph in found.items() if graph is not None}
        following = min(small.values(), key=lambda graph: graph.error, default=best)
        if following.error >= best.error:
            return [(domain.names[i], domain.names[j]) for i, j in sorted(best.edges)]
        # A pair that makes the graph too large now still does after further pairs are added.
        best, waiting = following, [pair for pair in small if pair not in following.edges]


class _Search:
    """The greedy search; holds what is constant over its steps."""

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
        self._shares = normalise(scores, largest)
        # Each pair counts once; pairs that are not candidates have a share of 0.
        self._records = np.triu(largest, 1) * candidates.records
        self._parts = {pair: domain.cells(clique) ** (2 / 3) for pair, clique in self.pairs.items()}
        self._noise = {pair: candidates.noise[clique] for pair, clique in self.pairs.items()}

    def start(self) -> _Graph:
        """The graph without edges."""
        count = len(self._sizes)
        return self._with_error([0] * count, frozenset(), no_paths(count))

    def joined_by(self, graph: _Graph, pair: _Pair) -> _Graph | None:
        """The graph with one more pair, triangulated; None if it is too large (lines 13 to 28)."""
        adjacency = join_cliques(graph.adjacency, [1 << pair[0] | 1 << pair[1]])
        cliques, cells = triangulate(adjacency, self._sizes)
        largest = max(math.prod(self._sizes[place] for place in bits(clique)) for clique in cliques)
        edges = frozenset(edge for clique in cliques for edge in itertools.combinations(bits(clique), 2))
        if cells > self._max_cells or largest > self._max_clique_cells or not edges <= self.pairs.keys():
            return None
        products = graph.products
        for i, j in edges - graph.edges:
            products = with_edge(products, i, j, float(self._shares[i, j]))
        return self._with_error(join_cliques(adjacency, cliques), edges, products)

    def _with_error(self, adjacency: Sequence[int], edges: frozenset[_Pair], products: Array) -> _Graph:
        missing = self._records * cr_scores(self._shares, products, difference=self._difference)
        if edges:
            missing[tuple(zip(*edges, strict=True))] = 0.0
        error = float(missing.sum()) + self._expected_noise(edges)
        return _Graph(tuple(adjacency), edges, products, error)

    def _expected_noise(self, edges: Iterable[_Pair]) -> float:
        """Sum over the pairs' marginals, with the budget split by `allocate`, in records."""
        whole = sum(self._parts[pair] for pair in edges)
        return sum(self._noise[pair] * math.sqrt(whole / self._parts[pair]) for pair in edges)
