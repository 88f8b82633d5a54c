import math
from collections.abc import Callable, Mapping

import numpy as np
import pytest
from numpy.typing import NDArray

from dpmosaic.common.domain import Clique, Domain
from dpmosaic.common.errors import ModelError
from dpmosaic.curator.pgm.belief_propagation import Schedule, calibrate
from dpmosaic.curator.pgm.junction_tree import JunctionTree

Array = NDArray[np.float64]
Joint = Callable[[Domain, Mapping[Clique, Array]], Array]
Summed = Callable[[Domain, Array, Clique], Array]


def potentials_of(tree: JunctionTree, scale: float, seed: int = 0) -> list[Array]:
    rng = np.random.default_rng(seed)
    return [rng.normal(scale=scale, size=shape) for shape in tree.shapes]


@pytest.mark.parametrize("scale", [0.0, 1.0, 30.0])
def test_beliefs_and_log_partition_are_those_of_the_joint_table(
    shape: tuple[Domain, list[Clique]], scale: float, joint: Joint, summed: Summed
) -> None:
    domain, cliques = shape
    tree = JunctionTree.build(domain, cliques)
    potentials = potentials_of(tree, scale)
    beliefs, log_partition = calibrate(Schedule.of(tree), potentials, 250.0)
    table = joint(domain, dict(zip(tree.cliques, potentials, strict=True)))
    assert log_partition == pytest.approx(math.log(table.sum()))
    for clique, belief in zip(tree.cliques, beliefs, strict=True):
        expected = summed(domain, table, clique) / table.sum() * 250.0
        np.testing.assert_allclose(belief.reshape(-1), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("seed", range(30))
def test_random_trees_agree_with_the_joint_table(seed: int, joint: Joint, summed: Summed) -> None:
    rng = np.random.default_rng(seed)
    domain = Domain.coded({f"x{i}": int(rng.integers(1, 5)) for i in range(rng.integers(1, 8))})
    cliques = [
        domain.canonical(rng.choice(domain.names, min(len(domain), 2), replace=False))
        for _ in range(rng.integers(0, 8))
    ]
    tree = JunctionTree.build(domain, cliques)
    potentials = potentials_of(tree, 2.0, seed)
    beliefs, log_partition = calibrate(Schedule.of(tree), potentials, 1.0)
    table = joint(domain, dict(zip(tree.cliques, potentials, strict=True)))
    assert log_partition == pytest.approx(math.log(table.sum()))
    for clique, belief in zip(tree.cliques, beliefs, strict=True):
        np.testing.assert_allclose(
            belief.reshape(-1), summed(domain, table, clique) / table.sum(), atol=1e-12
        )


def test_cliques_of_thousands_of_cells_agree_with_the_joint_table(joint: Joint, summed: Summed) -> None:
    domain = Domain.coded({"a": 17, "b": 40, "c": 12, "d": 2, "e": 9})
    tree = JunctionTree.build(domain, [("a", "b", "d"), ("b", "c", "d"), ("c", "e"), ("b", "e")])
    potentials = potentials_of(tree, 1.0)
    beliefs, _ = calibrate(Schedule.of(tree), potentials, 1.0)
    table = joint(domain, dict(zip(tree.cliques, potentials, strict=True)))
    for clique, belief in zip(tree.cliques, beliefs, strict=True):
        np.testing.assert_allclose(belief.reshape(-1), summed(domain, table, clique) / table.sum(), rtol=1e-9)


def test_potentials_far_apart_do_not_underflow_in_messages() -> None:
    # Against the largest cell e^-1000 is 0; against the largest of its separator value it is not.
    domain = Domain.coded({"a": 2, "b": 2, "c": 2})
    tree = JunctionTree.build(domain, [("a", "b"), ("b", "c")])
    potentials = {
        ("a", "b"): np.array([[0.0, -1000.0], [0.0, -1001.0]]),
        ("b", "c"): np.array([[0.0, 0.0], [1000.0, 999.0]]),
    }
    beliefs, log_partition = calibrate(Schedule.of(tree), [potentials[c] for c in tree.cliques], 1.0)
    found = dict(zip(tree.cliques, beliefs, strict=True))
    e = math.exp(-1)
    weights = np.array([[2.0, 1 + e], [2.0, e * (1 + e)]])
    np.testing.assert_allclose(found["a", "b"], weights / weights.sum())
    assert log_partition == pytest.approx(math.log(weights.sum()))


def test_neighbours_agree_on_their_separator(shape: tuple[Domain, list[Clique]], summed: Summed) -> None:
    domain, cliques = shape
    tree = JunctionTree.build(domain, cliques)
    beliefs, _ = calibrate(Schedule.of(tree), potentials_of(tree, 3.0), 10.0)
    for place, parent in enumerate(tree.parents[1:], start=1):
        separator = tree.separators[place]
        one, two = (
            summed(domain.project(tree.cliques[end]), beliefs[end], separator) for end in (place, parent)
        )
        np.testing.assert_allclose(one, two, rtol=1e-9, atol=1e-12)


def test_results_are_written_where_asked_and_potentials_are_left_alone() -> None:
    domain = Domain.coded({"a": 2, "b": 3, "c": 2})
    tree = JunctionTree.build(domain, [("a", "b"), ("b", "c")])
    schedule, potentials = Schedule.of(tree), potentials_of(tree, 1.0)
    before = [potential.copy() for potential in potentials]
    out = [np.full(shape, np.nan) for shape in tree.shapes]
    fresh, _ = calibrate(schedule, potentials, 1.0)
    returned, _ = calibrate(schedule, potentials, 1.0, out)
    assert returned is out
    for one, two in zip(out, fresh, strict=True):
        np.testing.assert_array_equal(one, two)
    for one, two in zip(potentials, before, strict=True):
        np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_potentials_that_are_not_finite_are_refused(bad: float) -> None:
    domain = Domain.coded({"a": 2, "b": 3, "c": 2})
    tree = JunctionTree.build(domain, [("a", "b"), ("b", "c")])
    potentials = potentials_of(tree, 1.0)
    potentials[-1][0, 0] = bad
    with pytest.raises(ModelError, match="expected finite potentials"):
        calibrate(Schedule.of(tree), potentials, 1.0)
