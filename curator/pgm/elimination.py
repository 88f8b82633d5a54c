"""Small triangulations of a graph of attributes; sets of attributes are bit masks."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

_Cost = Callable[[float, float, float], float]
"""Price of the next vertex from the logs of its fill, of its neighbours' cells and of its size."""

# On random graphs over the sizes of Adult the best of these three has 1/2 to 1/6 of the cells of the best of
# least fill and least weight, the usual pair: they look at what stays behind, not at the clique that is made.
_COSTS: tuple[_Cost, ...] = (
    lambda fill, neighbours, size: fill + neighbours - size,
    lambda fill, neighbours, size: neighbours,
    lambda fill, neighbours, size: neighbours - size,
)


def triangulate(adjacency: Sequence[int], sizes: Sequence[int]) -> tuple[list[int], int]:
    """Find the maximal cliques of a small triangulation by greedy elimination; deterministic.

    Vertices whose neighbours are all joined to each other go first, which is never worse. What is left is
    eliminated once by each of three costs, and the order with the fewest cells in total is kept.

    Source: Kjaerulff, Triangulation of graphs (1990); Koller and Friedman, Probabilistic Graphical Models
        (2009), 9.4.3.2; the costs are weighted fill x separator / size, separator, and separator / size.

    Args:
        adjacency: for each vertex the mask of its neighbours, without itself.
        sizes: for each vertex the number of values of its attribute.

    Returns:
        the masks of the maximal cliques in order of elimination, and their cells in total.
    """
    graph = list(adjacency)
    cells = _Cells(sizes)
    prefix, remaining = _eliminate_simplicial(graph)
    if not remaining:
        cliques = _maximal(prefix)
        return cliques, sum(map(cells.product, cliques))
    best: list[int] = []
    best_cells: int | None = None
    for cost in _COSTS:
        suffix = _eliminate(list(graph), remaining, cells, cost, best_cells)
        if suffix is None:
            continue
        cliques = _maximal(prefix + suffix)
        total = sum(map(cells.product, cliques))
        if best_cells is None or total < best_cells:
            best, best_cells = cliques, total
    assert best_cells is not None
    return best, best_cells


def bits(mask: int) -> Iterator[int]:
    """Yield the positions of the ones of a mask, lowest first."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


class _Cells:
    """Sizes of a set of vertices multiplied or added, each set once."""

    def __init__(self, sizes: Sequence[int]) -> None:
        self.sizes = sizes
        self.logs = [math.log(size) for size in sizes]
        self._products: dict[int, int] = {}
        self._sums: dict[int, int] = {}

    def product(self, vertices: int) -> int:
        known = self._products.get(vertices)
        if known is None:
            known = self._products[vertices] = math.prod(self.sizes[v] for v in bits(vertices))
        return known

    def sum(self, vertices: int) -> int:
        known = self._sums.get(vertices)
        if known is None:
            known = self._sums[vertices] = sum(self.sizes[v] for v in bits(vertices))
        return known


def _eliminate_simplicial(graph: list[int]) -> tuple[list[int], int]:
    """Take simplicial vertices out of `graph` until none is left; returns their cliques and the others."""
    cliques = []
    remaining = suspects = (1 << len(graph)) - 1
    while suspects:
        vertex = suspects.bit_length() - 1
        suspects ^= 1 << vertex
        neighbours = graph[vertex]
        if all((neighbours & ~graph[u]) == 1 << u for u in bits(neighbours)):
            cliques.append(neighbours | (1 << vertex))
            for u in bits(neighbours):
                graph[u] ^= 1 << vertex
            remaining ^= 1 << vertex
            suspects |= neighbours
    return cliques, remaining


def _eliminate(
    graph: list[int], remaining: int, cells: _Cells, cost: _Cost, limit: int | None
) -> list[int] | None:
    """Eliminate the remaining vertices, the cheapest first; None once one clique alone reaches the limit."""
    price = {v: _price(graph, v, cells, cost) for v in bits(remaining)}
    cliques = []
    while price:
        vertex = min(price, key=price.__getitem__)
        neighbours = graph[vertex]
        clique = neighbours | (1 << vertex)
        if limit is not None and cells.product(clique) >= limit:
            return None
        cliques.append(clique)
        # Neighbours of neighbours lose missing edges only where this elimination adds edges.
        adds_edges = price.pop(vertex) > -math.inf
        changed = neighbours
        for u in bits(neighbours):
            graph[u] = (graph[u] | neighbours) & ~(1 << u | 1 << vertex)
            if adds_edges:
                changed |= graph[u]
        for u in bits(changed):
            price[u] = _price(graph, u, cells, cost)
    return cliques


def _price(graph: list[int], vertex: int, cells: _Cells, cost: _Cost) -> float:
    """The cost of a vertex; minus infinity where eliminating it adds no edge."""
    neighbours = graph[vertex]
    fill = 0
    for u in bits(neighbours):
        missing = (neighbours & ~graph[u]) ^ (1 << u)
        if missing:
            fill += cells.sizes[u] * cells.sum(missing)
    if not fill:
        return -math.inf
    return cost(math.log(fill), math.log(cells.product(neighbours)), cells.logs[vertex])


def _maximal(cliques: list[int]) -> list[int]:
    """Drop cliques that lie in one of an earlier vertex; they can lie in no later one."""
    kept: list[int] = []
    for clique in cliques:
        if not any(clique & earlier == clique for earlier in kept):
            kept.append(clique)
    return kept
