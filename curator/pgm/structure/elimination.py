"""Small triangulations of a graph of attributes; sets of attributes are bit masks."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from .order_search import EXACT, Words, search_orders


def triangulate(adjacency: Sequence[int], sizes: Sequence[int]) -> tuple[list[int], int]:
    """Find the maximal cliques of a small triangulation; deterministic, and a function of the graph only.

    Simplicial vertices (neighbours all adjacent) are eliminated first, which is never worse if each has at
    least two values. The rest is eliminated greedily, repeatedly with random prices, and the order with the
    fewest cells is kept.

    Source: Kjaerulff, Triangulation of graphs (1990); Koller and Friedman, Probabilistic Graphical Models
        (2009), 9.4.3.2.

    Args:
        adjacency: for each vertex the mask of its neighbours, without itself.
        sizes: for each vertex the number of values of its attribute.

    Returns:
        the masks of the maximal cliques in order of elimination, and their total number of cells.
    """
    order = np.empty(len(adjacency), np.int64)
    search_orders(*_pack_graph(adjacency, sizes, [0]), 0.0, np.empty(1), order)
    graph, cliques = list(adjacency), []
    for vertex in order.tolist():
        neighbours = graph[vertex]
        cliques.append(neighbours | 1 << vertex)
        for u in bits(neighbours):
            graph[u] = (graph[u] | neighbours) & ~(1 << u | 1 << vertex)
    cliques = _maximal(cliques)
    return cliques, sum(math.prod(sizes[v] for v in bits(clique)) for clique in cliques)


def cells_with_each(adjacency: Sequence[int], sizes: Sequence[int], added: Sequence[int]) -> list[int]:
    """The cells of `triangulate` for a graph with each of some cliques (masks) added separately."""
    return [
        int(total) if total < EXACT else triangulate(join_cliques(adjacency, [mask]), sizes)[1]
        for mask, total in zip(added, _totals(adjacency, sizes, added, 0.0), strict=True)
    ]


def first_within(
    adjacency: Sequence[int], sizes: Sequence[int], added: Sequence[int], limit: float
) -> int | None:
    """The index of the first of `cells_with_each` that is at most a limit, or None."""
    totals = _totals(adjacency, sizes, added, float(limit))
    return len(totals) - 1 if totals and totals[-1] <= limit else None


def join_cliques(adjacency: Sequence[int], cliques: Sequence[int]) -> list[int]:
    """A graph with edges between all vertices of each of these cliques."""
    graph = list(adjacency)
    for clique in cliques:
        for vertex in bits(clique):
            graph[vertex] |= clique & ~(1 << vertex)
    return graph


def bits(mask: int) -> Iterator[int]:
    """Yield the positions of the ones of a mask, lowest first."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def _totals(
    adjacency: Sequence[int], sizes: Sequence[int], added: Sequence[int], enough: float
) -> list[float]:
    """Cells with each of the cliques, up to the first with at most `enough`."""
    # The graph itself is first: many cliques do not change its core.
    totals, order = np.empty(1 + len(added)), np.empty(len(adjacency), np.int64)
    done = search_orders(*_pack_graph(adjacency, sizes, [0, *added]), enough, totals, order)
    found: list[float] = totals[1:done].tolist()
    return found


def _pack_graph(
    adjacency: Sequence[int], sizes: Sequence[int], added: Sequence[int]
) -> tuple[Words, np.ndarray[tuple[int], np.dtype[np.float64]], Words]:
    words = max(1, -(-len(adjacency) // 64))
    rows = [
        np.frombuffer(b"".join(mask.to_bytes(8 * words, "little") for mask in masks), "<u8")
        .astype(np.uint64)
        .reshape(len(masks), words)
        for masks in (adjacency, added)
    ]
    return rows[0], np.array(sizes, np.float64), rows[1]


def _maximal(cliques: list[int]) -> list[int]:
    """Drop cliques that are contained in one of an earlier vertex; they cannot be in a later one."""
    kept: list[int] = []
    for clique in cliques:
        if not any(clique & earlier == clique for earlier in kept):
            kept.append(clique)
    return kept
