import math

import networkx as nx
import numpy as np
import pytest

from dpmosaic.common.domain import Clique, Domain
from dpmosaic.common.errors import DataError
from dpmosaic.curator.pgm.junction_tree import JunctionTree, size_mb, tree_cells

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


def test_every_clique_has_a_home_and_the_intersection_runs(shape: tuple[Domain, list[Clique]]) -> None:
    domain, cliques = shape
    tree = JunctionTree.build(domain, cliques)
    assert_running_intersection(tree)
    assert all(tree.home(clique) is not None for clique in cliques)
    assert tree.cells == tree_cells(domain, cliques) == sum(math.prod(s) for s in tree.shapes)


@pytest.mark.parametrize("seed", range(60))
def test_size_is_that_of_the_built_tree_for_random_cliques(seed: int) -> None:
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


def test_home_is_the_smallest_clique_around() -> None:
    tree = JunctionTree.build(DOMAIN, [("a", "b"), ("b", "d"), ("c", "d")])
    assert tree.cliques[tree.home(("d",)) or 0] == ("c", "d")
    assert tree.home(("a", "c")) is None
    assert tree.home(()) is not None


def test_unknown_attributes_are_refused() -> None:
    with pytest.raises(DataError, match="unknown attribute 'x'"):
        JunctionTree.build(DOMAIN, [("a", "x")])
    with pytest.raises(DataError, match="unknown attribute 'x'"):
        tree_cells(DOMAIN, [("x",)])
    with pytest.raises(DataError, match="unknown attribute 'x'"):
        JunctionTree.build(DOMAIN, []).home(("x",))


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
def test_a_tree_that_does_not_hold_together_is_refused(
    cliques: tuple[Clique, ...], parents: tuple[int, ...], says: str
) -> None:
    with pytest.raises(ValueError, match=says):
        JunctionTree(DOMAIN, cliques, parents)
