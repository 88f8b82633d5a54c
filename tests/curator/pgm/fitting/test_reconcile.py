from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from dpmosaic.common.data.domain import Clique, Domain
from dpmosaic.curator.pgm.fitting.reconcile import reconcile
from dpmosaic.curator.pgm.structure.junction_tree import JunctionTree

Array = NDArray[np.float64]
Summed = Callable[[Domain, Array, Clique], Array]


def tables_of(tree: JunctionTree, seed: int = 0) -> list[Array]:
    rng = np.random.default_rng(seed)
    return [100 * rng.dirichlet(np.ones(int(np.prod(shape)))).reshape(shape) for shape in tree.shapes]


@pytest.fixture
def chain() -> JunctionTree:
    """The root holds a and b, the other clique b and c."""
    tree = JunctionTree(Domain.coded({"a": 4, "b": 2, "c": 2}), (("a", "b"), ("b", "c")), (-1, 0))
    assert tree.separators[1] == ("b",)
    return tree


@pytest.mark.parametrize("all_averaged", [False, True])
def test_tables_of_any_tree_come_to_agree_on_every_separator(
    shape: tuple[Domain, list[Clique]], all_averaged: bool, summed: Summed
) -> None:
    domain, cliques = shape
    tree = JunctionTree.build(domain, cliques)
    given = tables_of(tree)
    found = reconcile(tree, given, range(len(given)) if all_averaged else [])
    for place, table in enumerate(found):
        assert table.min() >= 0
        assert table.sum() == pytest.approx(100)
        above = max(tree.parents[place], 0)
        one, two = (
            summed(domain.project(tree.cliques[end]), found[end], tree.separators[place])
            for end in (place, above)
        )
        np.testing.assert_allclose(one, two, rtol=1e-12)


def test_tables_that_agree_already_stay(shape: tuple[Domain, list[Clique]], summed: Summed) -> None:
    domain, cliques = shape
    tree = JunctionTree.build(domain, cliques)
    joint = np.random.default_rng(1).random(domain.sizes)
    given = [summed(domain, joint, c).reshape(s) for c, s in zip(tree.cliques, tree.shapes, strict=True)]
    for one, two in zip(given, reconcile(tree, given, range(len(given))), strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-12)


def test_without_averaging_the_root_and_conditional_distributions_of_children_are_kept(
    chain: JunctionTree,
) -> None:
    given = tables_of(chain)
    root, child = reconcile(chain, given, [])
    np.testing.assert_array_equal(root, given[0])
    conditional = [table / table.sum(axis=1, keepdims=True) for table in (child, given[1])]
    np.testing.assert_allclose(conditional[0], conditional[1])


def test_an_averaged_separator_becomes_the_mean_of_both_sides(chain: JunctionTree) -> None:
    given = tables_of(chain)
    assert not np.allclose(given[0].sum(axis=0), given[1].sum(axis=1), rtol=0.1)
    for table, axis in zip(reconcile(chain, given, [1]), (0, 1), strict=True):
        np.testing.assert_allclose(table.sum(axis=axis), (given[0].sum(axis=0) + given[1].sum(axis=1)) / 2)


def test_the_given_tables_are_not_changed(chain: JunctionTree) -> None:
    given = tables_of(chain)
    before = [table.copy() for table in given]
    reconcile(chain, given, [1])
    for one, two in zip(given, before, strict=True):
        np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("nothing", [0.0, 1e-310])
def test_a_value_without_mass_in_a_child_gets_the_childs_distribution_of_other_attributes(
    nothing: float, chain: JunctionTree
) -> None:
    root = np.full((4, 2), 12.5)
    child = np.array([[30.0, 70.0], [nothing, nothing]])
    _, found = reconcile(chain, [root, child], [])
    np.testing.assert_allclose(found, [[15.0, 35.0], [15.0, 35.0]])


def test_a_value_without_mass_in_a_parent_is_emptied(chain: JunctionTree) -> None:
    root = np.zeros((4, 2))
    root[:, 0] = 25.0
    _, found = reconcile(chain, [root, np.full((2, 2), 25.0)], [])
    np.testing.assert_allclose(found, [[50.0, 50.0], [0.0, 0.0]])
