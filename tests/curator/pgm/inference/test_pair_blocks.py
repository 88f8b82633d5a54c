"""Marginals of all pairs of a tree, beside those of its joint table and those computed pair by pair."""

import itertools
from collections.abc import Callable, Mapping

import numpy as np
import pytest
from numpy.typing import NDArray

from dpmosaic.common.data.domain import Clique, Domain
from dpmosaic.curator.pgm.inference import pair_blocks
from dpmosaic.curator.pgm.inference.oracle import MarginalOracle
from dpmosaic.curator.pgm.inference.queries import MarginalQueries
from dpmosaic.curator.pgm.structure.junction_tree import JunctionTree

Array = NDArray[np.float64]
Joint = Callable[[Domain, Mapping[Clique, Array]], Array]
Summed = Callable[[Domain, Array, Clique], Array]


def random_tree(seed: int, most: int) -> tuple[JunctionTree, list[Array], dict[Clique, Array]]:
    """A tree of up to so many attributes, its beliefs and potentials; some cells have hardly any mass."""
    rng = np.random.default_rng(seed)
    domain = Domain.coded({f"x{i}": int(rng.integers(1, 4)) for i in range(rng.integers(2, most))})
    cliques = [
        domain.canonical(rng.choice(domain.names, min(len(domain), rng.integers(1, 4)), replace=False))
        for _ in range(rng.integers(1, most))
    ]
    tree = JunctionTree.build(domain, cliques)
    potentials = {
        clique: np.where(rng.random(shape) < 0.2, -30.0, rng.normal(size=shape)).reshape(-1)
        for clique, shape in zip(tree.cliques, tree.shapes, strict=True)
    }
    oracle = MarginalOracle(tree, tree.cliques, 100.0)
    oracle(np.concatenate([*potentials.values()]))
    return tree, list(oracle.beliefs()), potentials


def pairs_of(domain: Domain) -> list[Clique]:
    return list(itertools.combinations(domain.names, 2))


def test_pairs_are_those_of_the_joint_table(joint: Joint, summed: Summed) -> None:
    for seed in range(30):
        tree, beliefs, potentials = random_tree(seed, most=9)
        table = joint(tree.domain, potentials)
        pairs = pairs_of(tree.domain)
        # Trees of so few attributes are not worth blocks.
        queries = MarginalQueries(tree, beliefs, pairs=1000)
        for pair in pairs:
            expected = summed(tree.domain, table * (100.0 / table.sum()), pair)
            np.testing.assert_allclose(queries.marginal(pair), expected, rtol=1e-9, atol=1e-10)


@pytest.mark.slow
def test_pairs_of_deep_trees_are_the_same_as_one_by_one() -> None:
    for seed in range(5):
        tree, beliefs, _ = random_tree(seed, most=40)
        pairs = pairs_of(tree.domain)
        assert pair_blocks.PairBlocks.worth(tree, 1000)
        together, alone = MarginalQueries(tree, beliefs, pairs=1000), MarginalQueries(tree, beliefs)
        for pair in pairs:
            np.testing.assert_allclose(together.marginal(pair), alone.marginal(pair), rtol=1e-9, atol=1e-10)


def test_pairs_without_room_for_blocks_are_computed_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    tree, beliefs, _ = random_tree(3, most=20)
    pairs = pairs_of(tree.domain)
    expected = [MarginalQueries(tree, beliefs).marginal(pair) for pair in pairs]
    monkeypatch.setattr(pair_blocks, "_MATRIX_CELLS", 1)
    assert not pair_blocks.PairBlocks.worth(tree, len(pairs))
    queries = MarginalQueries(tree, beliefs, pairs=len(pairs))
    for pair, cells in zip(pairs, expected, strict=True):
        np.testing.assert_allclose(queries.marginal(pair), cells)
