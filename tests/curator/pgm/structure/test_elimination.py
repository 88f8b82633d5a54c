import itertools
import math

import networkx as nx
import numpy as np
import pytest

from dpmosaic.curator.pgm.structure.elimination import (
    bits,
    cells_with_each,
    first_within,
    join_cliques,
    triangulate,
)

pytestmark = pytest.mark.slow


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


def assert_triangulation(adjacency: list[int], sizes: list[int]) -> None:
    """The cliques are the maximal cliques of a chordal graph over the given one, and the cells are theirs."""
    cliques, cells = triangulate(adjacency, sizes)
    filled = nx.Graph()
    for clique in cliques:
        members = list(bits(clique))
        filled.add_nodes_from(members)
        filled.add_edges_from(itertools.combinations(members, 2))
    assert set(as_networkx(adjacency).edges) <= {tuple(sorted(edge)) for edge in filled.edges}
    assert nx.is_chordal(filled)
    assert {frozenset(bits(c)) for c in cliques} == set(map(frozenset, nx.find_cliques(filled)))
    assert cells == sum(math.prod(sizes[v] for v in bits(clique)) for clique in cliques)
    assert cells_with_each(adjacency, sizes, [0]) == [cells]


def test_the_cliques_are_the_maximal_cliques_of_a_chordal_graph_over_the_given_one() -> None:
    for seed in range(40):
        rng = np.random.default_rng(seed)
        adjacency = random_graph(rng, int(rng.integers(1, 14)), rng.random())
        assert_triangulation(adjacency, rng.integers(1, 9, len(adjacency)).tolist())


@pytest.mark.parametrize(
    ("vertices", "density"), [(63, 0.05), (64, 0.08), (65, 0.08), (100, 0.05), (130, 0.03)]
)
def test_graphs_of_more_vertices_than_a_word_has_bits_are_triangulated(vertices: int, density: float) -> None:
    rng = np.random.default_rng(vertices)
    adjacency = random_graph(rng, vertices, density)
    assert_triangulation(adjacency, rng.integers(2, 4, vertices).tolist())


def test_a_bridge_between_loops_inside_a_triangle_is_no_clique_of_its_own() -> None:
    loops = [0b000011, 0b000110, 0b001100, 0b001001, 0b00110000, 0b01100000, 0b11000000, 0b10010000]
    bridge, triangle = 0b00010001, 0b100010001
    cliques, cells = triangulate(join_cliques([0] * 9, [*loops, bridge, triangle]), [2] * 9)
    assert triangle in cliques
    assert bridge not in cliques
    assert cells == 5 * 2**3


@pytest.mark.parametrize("seed", range(10))
def test_a_chordal_graph_gets_no_further_edge(seed: int) -> None:
    rng = np.random.default_rng(seed)
    graph, _ = nx.complete_to_chordal_graph(as_networkx(random_graph(rng, 12, 0.3)))
    adjacency = [sum(1 << u for u in graph[v]) for v in range(12)]
    cliques, _ = triangulate(adjacency, rng.integers(1, 50, 12).tolist())
    assert {frozenset(bits(c)) for c in cliques} == set(map(frozenset, nx.find_cliques(graph)))


def test_small_graphs_get_the_best_of_all_orders() -> None:
    rng = np.random.default_rng(0)
    for vertices, graphs in ((5, 40), (6, 30), (7, 4)):
        for _ in range(graphs):
            adjacency = random_graph(rng, vertices, rng.uniform(0.3, 0.7))
            sizes = rng.integers(2, 20, vertices).tolist()
            assert triangulate(adjacency, sizes)[1] == smallest_by_all_orders(adjacency, sizes)


def test_a_loop_is_cut_into_the_cheapest_triangles() -> None:
    sizes = [2, 90, 80, 70, 60, 50]
    loop = join_cliques([0] * 6, [1 << v | 1 << (v + 1) % 6 for v in range(6)])
    assert triangulate(loop, sizes)[1] == 2 * (90 * 80 + 80 * 70 + 70 * 60 + 60 * 50)


def test_the_answer_is_the_same_every_time() -> None:
    adjacency = random_graph(np.random.default_rng(3), 30, 0.2)
    assert triangulate(adjacency, [2] * 30) == triangulate(adjacency, [2] * 30)


def test_huge_cliques_do_not_overflow() -> None:
    n = 60
    adjacency = [((1 << n) - 1) ^ (1 << v) ^ (1 << (v + n // 2) % n) for v in range(n)]
    _, cells = triangulate(adjacency, [10**6] * n)
    assert cells > 10**308


def random_additions(rng: np.random.Generator, n: int) -> list[int]:
    pairs = [1 << i | 1 << j for i, j in itertools.combinations(range(n), 2)]
    more = [sum(1 << v for v in rng.choice(n, min(n, k), replace=False).tolist()) for k in (0, 1, 3, 4)]
    return [*rng.choice(pairs, min(len(pairs), 25), replace=False).tolist(), *more] if pairs else more


def test_cells_with_each_are_those_of_each_graph_triangulated_separately() -> None:
    for seed in range(40):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(1, 75)) if seed % 4 == 0 else int(rng.integers(1, 25))
        adjacency, sizes = random_graph(rng, n, rng.uniform(0, 3 / n)), rng.integers(1, 30, n).tolist()
        added = random_additions(rng, min(n, 60))
        cells = cells_with_each(adjacency, sizes, added)
        assert cells == [triangulate(join_cliques(adjacency, [mask]), sizes)[1] for mask in added]
        for limit in (0, min(cells) - 1, min(cells), int(np.median(cells)), max(cells), math.inf):
            fitting = [place for place, count in enumerate(cells) if count <= limit]
            for start in (0, 5, len(added)):
                expected = next((place - start for place in fitting if place >= start), None)
                assert first_within(adjacency, sizes, added[start:], limit) == expected


def test_a_core_of_the_same_form_on_other_vertices_is_searched_separately() -> None:
    loops = [1 << v | 1 << w for v, w in ((0, 1), (1, 2), (2, 3), (0, 3), (4, 5), (5, 6), (6, 7))]
    sizes = [2, 30, 2, 30, 30, 2, 30, 2]
    # The clique cuts the first loop and closes another of four.
    clique = 0b10010101
    cells = 2 * 2 * 30 * 2 + 2 * (2 * 30 * 2) + 2 * (30 * 2 * 2)
    assert cells_with_each(join_cliques([0] * 8, loops), sizes, [clique]) == [cells]


def test_a_search_that_ended_early_is_not_continued() -> None:
    rng = np.random.default_rng(7)
    for _ in range(20):
        graph = [*random_graph(rng, 30, 0.12), 0, 0]
        sizes = [*rng.integers(2, 30, 30).tolist(), 10_000, 10_000]
        pair = 0b11 << 30
        least = cells_with_each(graph, sizes, [pair])[0]
        assert first_within(graph, sizes, [pair], least) == 0
        assert first_within(graph, sizes, [pair], least - 1) is None


def test_cells_beyond_floating_point_are_counted_exactly() -> None:
    adjacency, sizes = join_cliques([0] * 5, [0b00111]), [3**10, 3**11, 3**15, 7, 3**30]
    whole = 3**36 + 7 + 3**30
    assert triangulate(adjacency, sizes)[1] == whole
    assert cells_with_each(adjacency, sizes, [0, 0b11000]) == [whole, 3**36 + 7 * 3**30]
    assert cells_with_each([0] * 50, [10**7] * 50, [(1 << 50) - 1]) == [10**350]


def test_joining_makes_every_pair_of_a_clique_neighbours() -> None:
    assert join_cliques([0b010, 0b001, 0], [0b110, 0b100, 0]) == [0b010, 0b101, 0b010]
