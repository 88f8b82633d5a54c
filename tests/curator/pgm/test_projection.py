from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from dpmosaic.common.domain import Clique, Domain
from dpmosaic.curator.pgm.junction_tree import JunctionTree
from dpmosaic.curator.pgm.projection import Projection, split

Array = NDArray[np.float64]


def consistent_beliefs(
    tree: JunctionTree, table: Array, summed: Callable[[Domain, Array, Clique], Array]
) -> list[Array]:
    return [
        summed(tree.domain, table, clique).reshape(shape)
        for clique, shape in zip(tree.cliques, tree.shapes, strict=True)
    ]


def test_projections_of_a_joint_table_are_its_marginals(
    shape: tuple[Domain, list[Clique]], summed: Callable[[Domain, Array, Clique], Array]
) -> None:
    domain, cliques = shape
    tree = JunctionTree.build(domain, cliques)
    table = np.random.default_rng(0).random(domain.sizes)
    projection = Projection.of(tree, cliques)
    out = [np.empty(domain.shape(clique)) for clique in cliques]
    projection.project(consistent_beliefs(tree, table, summed), out)
    for clique, found in zip(cliques, out, strict=True):
        np.testing.assert_allclose(found.reshape(-1), summed(domain, table, clique))


def test_spreading_is_the_transpose_of_projecting(shape: tuple[Domain, list[Clique]]) -> None:
    domain, cliques = shape
    tree = JunctionTree.build(domain, cliques)
    projection = Projection.of(tree, cliques)
    rng = np.random.default_rng(1)
    beliefs, values = rng.normal(size=tree.cells), rng.normal(size=sum(map(domain.cells, cliques)))
    projected, spread = np.empty(len(values)), np.empty(tree.cells)
    projection.project(split(beliefs, tree.shapes), split(projected, projection.shapes))
    inner = float(values @ projected)
    projection.spread(split(values, projection.shapes), split(spread, tree.shapes))
    assert float(spread @ beliefs) == pytest.approx(inner)


def test_a_clique_in_a_larger_one_of_the_list_is_summed_from_that() -> None:
    domain = Domain.coded({"a": 2, "b": 3, "c": 4})
    tree = JunctionTree.build(domain, [("a", "b", "c")])
    routes = Projection.of(tree, [("a",), ("a", "b"), ("c",)]).routes
    assert [(route.place, route.host, route.in_tree) for route in routes] == [
        (1, 0, True),
        (0, 1, False),
        (2, 0, True),
    ]


def test_a_clique_outside_the_tree_is_refused() -> None:
    domain = Domain.coded({"a": 2, "b": 3, "c": 4})
    with pytest.raises(ValueError, match="lies in no clique of the tree"):
        Projection.of(JunctionTree.build(domain, [("a", "b")]), [("b", "c")])


def test_split_gives_views() -> None:
    vector = np.arange(7.0)
    first, second = split(vector, [(2, 2), (3,)])
    first[0, 1] = 9.0
    assert vector[1] == 9.0
    np.testing.assert_array_equal(second, [4.0, 5.0, 6.0])
