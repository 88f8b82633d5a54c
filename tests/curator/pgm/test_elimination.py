import itertools
import math
import time

import networkx as nx
import numpy as np
import pytest

from dpmosaic.curator.pgm.elimination import bits, triangulate


def random_graph(rng: np.random.Generator, n: int, p: float) -> list[int]:
    adjacency = [0] * n
    for i, j in itertools.combinations(range(n), 2):
        if rng.random() < p:
            adjacency[i] |= 1 << j
            adjacency[j] |= 1 << i
    return adjacency


def as_networkx(adjacency: list[int]) -> nx.Graph:
    graph = nx.Graph()
    graph.add_nodes_from(range(len(adjacency)))
    graph.add_edges_from((i, j) for i, mask in enumerate(adjacency) for j in bits(mask))
    return graph


def smallest_by_all_orders(adjacency: list[int], sizes: list[int]) -> int:
    best = math.inf
    for order in itertools.permutations(range(len(adjacency))):
        graph, cliques = list(adjacency), set()
        for v in order:
            clique = frozenset([v, *bits(graph[v])])
            if not any(clique < other for other in cliques):
                cliques.add(clique)
            for u in bits(graph[v]):
                graph[u] = (graph[u] | graph[v]) & ~(1 << u | 1 << v)
        best = min(best, sum(math.prod(sizes[v] for v in clique) for clique in cliques))
    return int(best)


def test_bits_are_the_places_of_the_ones() -> None:
    assert list(bits(0)) == []
    assert list(bits(0b101001)) == [0, 3, 5]


@pytest.mark.parametrize("seed", range(40))
def test_the_cliques_are_the_maximal_cliques_of_a_chordal_graph_over_the_given_one(seed: int) -> None:
    rng = np.random.default_rng(seed)
    adjacency = random_graph(rng, int(rng.integers(1, 14)), rng.random())
    cliques, cells = triangulate(adjacency, sizes := rng.integers(1, 9, len(adjacency)).tolist())
    filled = nx.Graph()
    for clique in cliques:
        members = list(bits(clique))
        filled.add_nodes_from(members)
        filled.add_edges_from(itertools.combinations(members, 2))
    assert set(as_networkx(adjacency).edges) <= {tuple(sorted(edge)) for edge in filled.edges}
    assert nx.is_chordal(filled)
    assert {frozenset(bits(c)) for c in cliques} == set(map(frozenset, nx.find_cliques(filled)))
    assert cells == sum(math.prod(sizes[v] for v in bits(clique)) for clique in cliques)


@pytest.mark.parametrize("seed", range(10))
def test_a_chordal_graph_gets_no_edge_more(seed: int) -> None:
    rng = np.random.default_rng(seed)
    graph, _ = nx.complete_to_chordal_graph(as_networkx(random_graph(rng, 12, 0.3)))
    adjacency = [sum(1 << u for u in graph[v]) for v in range(12)]
    cliques, _ = triangulate(adjacency, rng.integers(1, 50, 12).tolist())
    assert {frozenset(bits(c)) for c in cliques} == set(map(frozenset, nx.find_cliques(graph)))


def test_small_graphs_come_within_a_tenth_of_the_best_of_all_orders_on_average() -> None:
    rng = np.random.default_rng(0)
    excess = []
    for _ in range(25):
        adjacency, sizes = random_graph(rng, 6, 0.5), rng.integers(1, 20, 6).tolist()
        found = triangulate(adjacency, sizes)[1]
        best = smallest_by_all_orders(adjacency, sizes)
        assert found >= best
        excess.append(found / best)
    assert np.mean(excess) < 1.1


def test_the_answer_is_the_same_every_time() -> None:
    adjacency = random_graph(np.random.default_rng(3), 30, 0.2)
    assert triangulate(adjacency, [2] * 30) == triangulate(adjacency, [2] * 30)


def test_huge_cliques_do_not_overflow() -> None:
    n = 60
    adjacency = [((1 << n) - 1) ^ (1 << v) ^ (1 << (v + n // 2) % n) for v in range(n)]
    _, cells = triangulate(adjacency, [10**6] * n)
    assert cells > 10**308


def test_sixteen_attributes_take_milliseconds_at_most() -> None:
    rng = np.random.default_rng(5)
    graphs = [random_graph(rng, 16, 0.3) for _ in range(20)]
    sizes = rng.integers(2, 100, 16).tolist()
    start = time.perf_counter()
    for adjacency in graphs:
        triangulate(adjacency, sizes)
    # Measured 0.5 ms each; the bound leaves room for a busy machine.
    assert (time.perf_counter() - start) / len(graphs) < 0.02
