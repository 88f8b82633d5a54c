import itertools
import math

import networkx as nx
import numpy as np
import pytest

from dpmosaic.common.data.domain import Clique, Domain
from dpmosaic.common.errors import DataError
from dpmosaic.curator.pgm.structure.junction_tree import JunctionTree, TreeGrowth, size_mb, tree_cells

DOMAIN = Domain.coded({"a": 3, "b": 4, "c": 2, "d": 5})


def random_cliques(rng: np.random.Generator, domain: Domain) -> list[Clique]:
    return [
        domain.canonical(rng.choice(domain.names, rng.integers(0, min(4, len(domain)) + 1), replace=False))
        for _ in range(rng.integers(0, 10))
    ]


def assert_running_intersection(tree: JunctionTree) -> None:
    graph = nx.Graph()
    graph.add_nodes_from(range(len(tree.cliques)))
    graph.add_edges_from((place, parent) for place, parent in enumerate(tree.parents) if parent >= 0)
    assert nx.is_tree(graph)
    for name in tree.domain:
        holders = [place for place, clique in enumerate(tree.cliques) if name in clique]
        assert nx.is_connected(graph.subgraph(holders))


def test_every_clique_is_contained_and_the_running_intersection_holds(
    shape: tuple[Domain, list[Clique]],
) -> None:
    domain, cliques = shape
    tree = JunctionTree.build(domain, cliques)
    assert_running_intersection(tree)
    assert all(tree.home(clique) is not None for clique in cliques)
    assert tree.cells == tree_cells(domain, cliques) == sum(math.prod(s) for s in tree.shapes)


def test_size_is_that_of_the_built_tree_for_random_cliques() -> None:
    for seed in range(60):
        rng = np.random.default_rng(seed)
        domain = Domain.coded({f"x{i}": int(rng.integers(1, 9)) for i in range(rng.integers(1, 12))})
        cliques = random_cliques(rng, domain)
        tree = JunctionTree.build(domain, cliques)
        assert_running_intersection(tree)
        assert tree_cells(domain, cliques) == tree.cells
        assert size_mb(domain, cliques) == tree.cells * 8 / 2**20
        assert not any(set(one) < set(two) for one in tree.cliques for two in tree.cliques)
        for clique in cliques:
            home = tree.home(clique)
            assert home is not None
            assert set(clique) <= set(tree.cliques[home])


def test_an_attribute_in_no_clique_becomes_a_clique_of_its_own() -> None:
    tree = JunctionTree.build(DOMAIN, [("a", "b")])
    assert set(tree.cliques) == {("a", "b"), ("c",), ("d",)}
    assert tree.separators == ((), (), ())


def test_cliques_inside_others_and_the_empty_one_change_nothing() -> None:
    given = [("a", "b"), ("b", "c")]
    assert JunctionTree.build(DOMAIN, [*given, ("b",), (), ("a", "b")]) == JunctionTree.build(DOMAIN, given)


def test_the_root_has_the_most_cells_and_separators_are_what_is_shared() -> None:
    tree = JunctionTree.build(DOMAIN, [("a", "b"), ("b", "d"), ("c", "d")])
    assert tree.cliques[0] == ("b", "d")
    assert dict(zip(tree.cliques, tree.separators, strict=True)) == {
        ("b", "d"): (),
        ("a", "b"): ("b",),
        ("c", "d"): ("d",),
    }


def test_home_is_the_smallest_containing_clique() -> None:
    tree = JunctionTree.build(DOMAIN, [("a", "b"), ("b", "d"), ("c", "d")])
    assert tree.cliques[tree.home(("d",)) or 0] == ("c", "d")
    assert tree.home(("a", "c")) is None
    assert tree.home(()) is not None


@pytest.mark.slow
def test_growth_gives_the_size_of_the_tree_with_each_candidate() -> None:
    for seed in range(20):
        rng = np.random.default_rng(seed)
        domain = Domain.coded({f"x{i}": int(rng.integers(2, 9)) for i in range(rng.integers(4, 16))})
        cliques = random_cliques(rng, domain)
        candidates = [*itertools.combinations(domain.names, 2), (), *random_cliques(rng, domain)]
        growth = TreeGrowth(domain, cliques)
        counted = [tree_cells(domain, [*cliques, candidate]) for candidate in candidates]
        assert growth.cells_with(candidates) == counted
        for limit_mb in (0.0, *(cells * 8 / 2**20 for cells in sorted(counted)[::7])):
            fitting = [k for k, c in enumerate(candidates) if size_mb(domain, [*cliques, c]) <= limit_mb]
            for start in (0, len(candidates) // 2):
                expected = next((k - start for k in fitting if k >= start), None)
                assert growth.first_within(candidates[start:], limit_mb) == expected


def test_growth_finds_the_only_candidate_that_fits_after_many_that_do_not() -> None:
    domain = Domain.coded({f"x{i:02}": 9 for i in range(30)} | {"y": 2, "z": 2})
    pairs = list(itertools.combinations([name for name in domain if name[0] == "x"], 2))
    growth = TreeGrowth(domain, [])
    limit_mb = (30 * 9 + 4) * 8 / 2**20
    assert growth.first_within([*pairs, ("y", "z"), ("x00", "y")], limit_mb) == len(pairs)
    assert growth.first_within(pairs, limit_mb) is None
    assert growth.first_within([], limit_mb) is None


def smallest_clique_first(domain: Domain, cliques: list[Clique]) -> int:
    """Cells of the tree by the rule of mbi: eliminate the attribute that makes the smallest clique."""
    graph = nx.Graph()
    graph.add_nodes_from(domain)
    graph.add_edges_from(cliques)
    filled = graph.copy()
    while graph:
        name = min(graph, key=lambda name: domain.cells([name, *graph[name]]))
        joined = list(itertools.combinations(graph[name], 2))
        filled.add_edges_from(joined)
        graph.add_edges_from(joined)
        graph.remove_node(name)
    return sum(map(domain.cells, nx.find_cliques(filled)))


@pytest.mark.parametrize(("attributes", "pairs", "share"), [(14, 15, 0.92), (14, 30, 0.6), (40, 60, 0.2)])
def test_trees_are_never_larger_than_by_the_usual_rule_and_smaller_on_average(
    attributes: int, pairs: int, share: float
) -> None:
    rng = np.random.default_rng(attributes + pairs)
    ratios = []
    for _ in range(8):
        domain = Domain.coded({f"x{i:02}": int(2 ** rng.uniform(1, 6.7)) for i in range(attributes)})
        every = list(itertools.combinations(domain.names, 2))
        cliques = [every[k] for k in rng.choice(len(every), pairs, replace=False)]
        ratios.append(tree_cells(domain, cliques) / smallest_clique_first(domain, cliques))
    assert max(ratios) <= 1
    assert np.exp(np.mean(np.log(ratios))) < share


def test_refuses_unknown_attributes() -> None:
    with pytest.raises(DataError, match="unknown attribute 'x'"):
        JunctionTree.build(DOMAIN, [("a", "x")])
    with pytest.raises(DataError, match="unknown attribute 'x'"):
        tree_cells(DOMAIN, [("x",)])
    with pytest.raises(DataError, match="unknown attribute 'x'"):
        JunctionTree.build(DOMAIN, []).home(("x",))
    with pytest.raises(DataError, match="unknown attribute 'x'"):
        TreeGrowth(DOMAIN, [("a", "x")])
    with pytest.raises(DataError, match="unknown attribute 'x'"):
        TreeGrowth(DOMAIN, []).cells_with([("x",)])
    with pytest.raises(DataError, match="unknown attribute 'x'"):
        TreeGrowth(DOMAIN, []).first_within([("x",)], 1.0)


@pytest.mark.parametrize(
    ("cliques", "parents", "says"),
    [
        ((), (), "at least one clique"),
        ((("a", "b", "c", "d"),), (-1, 0), "one parent for each clique"),
        ((("b", "a"), ("c",), ("d",)), (-1, 0, 0), "not in domain order"),
        ((("a", "b"), ("c",), ("d",)), (0, 0, 0), "the root first"),
        ((("a", "b"), ("c",), ("d",)), (-1, 2, 0), "after their parents"),
        ((("a", "b"), ("c",), ("d",)), (-1, -1, 0), "the root first"),
        ((("a", "b"), ("c", "d"), ("a", "c")), (-1, 0, 0), "its parent lacks"),
        ((("a", "b"), ("c",)), (-1, 0), "lie in no clique"),
    ],
)
def test_refuses_an_invalid_tree(cliques: tuple[Clique, ...], parents: tuple[int, ...], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        JunctionTree(DOMAIN, cliques, parents)
