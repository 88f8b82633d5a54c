import itertools
import math
from collections.abc import Callable, Mapping

import numpy as np
import pytest
from numpy.typing import NDArray

from dpmosaic.common.data.domain import Clique, Domain
from dpmosaic.common.errors import ModelError
from dpmosaic.curator.pgm.inference import queries
from dpmosaic.curator.pgm.inference.oracle import MarginalOracle
from dpmosaic.curator.pgm.inference.queries import MarginalQueries
from dpmosaic.curator.pgm.inference.reduction import Reduction
from dpmosaic.curator.pgm.structure.junction_tree import JunctionTree

pytestmark = pytest.mark.slow

Array = NDArray[np.float64]
Joint = Callable[[Domain, Mapping[Clique, Array]], Array]
Summed = Callable[[Domain, Array, Clique], Array]


def random_model(
    domain: Domain, cliques: list[Clique], joint: Joint, seed: int = 0
) -> tuple[JunctionTree, list[Array], Array]:
    """A tree, its beliefs, and the joint table that they are marginals of."""
    tree = JunctionTree.build(domain, cliques)
    rng = np.random.default_rng(seed)
    potentials = [rng.normal(scale=1.5, size=shape) for shape in tree.shapes]
    oracle = MarginalOracle(tree, tree.cliques, 100.0)
    oracle(np.concatenate([potential.reshape(-1) for potential in potentials]))
    table = joint(domain, dict(zip(tree.cliques, potentials, strict=True)))
    return tree, list(oracle.beliefs()), table * (100.0 / table.sum())


def subsets(domain: Domain) -> list[Clique]:
    return [c for k in range(len(domain) + 1) for c in itertools.combinations(domain.names, k)]


def test_every_marginal_is_that_of_the_joint_table(
    shape: tuple[Domain, list[Clique]], joint: Joint, summed: Summed
) -> None:
    domain, cliques = shape
    tree, beliefs, table = random_model(domain, cliques, joint)
    together = MarginalQueries(tree, beliefs)
    for clique in subsets(domain):
        expected = summed(domain, table, clique)
        np.testing.assert_allclose(together.marginal(clique), expected, rtol=1e-9, atol=1e-10)
        alone = MarginalQueries(tree, beliefs).marginal(clique)
        np.testing.assert_allclose(alone, expected, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("large", [1, 20, queries._LARGE_CELLS])
def test_marginals_across_random_trees_are_those_of_the_joint_table(
    large: int, joint: Joint, summed: Summed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queries, "_LARGE_CELLS", large)
    for seed in range(30):
        rng = np.random.default_rng(seed)
        domain = Domain.coded({f"x{i}": int(rng.integers(1, 4)) for i in range(rng.integers(2, 9))})
        cliques = [
            domain.canonical(
                rng.choice(domain.names, rng.integers(1, min(len(domain), 3) + 1), replace=False)
            )
            for _ in range(rng.integers(1, 8))
        ]
        tree, beliefs, table = random_model(domain, cliques, joint, seed)
        together = MarginalQueries(tree, beliefs)
        for clique in subsets(domain):
            np.testing.assert_allclose(
                together.marginal(clique), summed(domain, table, clique), rtol=1e-9, atol=1e-10
            )


@pytest.mark.parametrize(("k", "passes"), [(2, 4), (3, 8)])
def test_many_cliques_inside_a_large_one_are_summed_in_a_few_passes_over_it(
    k: int, passes: int, summed: Summed, monkeypatch: pytest.MonkeyPatch
) -> None:
    domain = Domain.coded({f"x{i:02}": 2 for i in range(16)})
    belief = np.random.default_rng(0).random(domain.sizes)
    read, of = [0], Reduction.of

    def counted(shape: tuple[int, ...], axes: list[int]) -> Reduction:
        read[0] += math.prod(shape)
        return of(shape, axes)

    monkeypatch.setattr(Reduction, "of", counted)
    monkeypatch.setattr(queries, "_LARGE_CELLS", 2**6)
    asked = MarginalQueries(JunctionTree.build(domain, [domain.names]), [belief])
    for clique in itertools.combinations(domain.names, k):
        np.testing.assert_allclose(asked.marginal(clique), summed(domain, belief, clique), rtol=1e-9)
    # One by one it would be as many passes as there are cliques: 120 and 560.
    assert read[0] < passes * 2**16


def test_separator_values_without_mass_contribute_nothing() -> None:
    domain = Domain.coded({"a": 2, "b": 2, "c": 2})
    tree = JunctionTree.build(domain, [("a", "b"), ("b", "c")])
    beliefs = {("a", "b"): np.array([[2.0, 0.0], [8.0, 0.0]]), ("b", "c"): np.array([[1.0, 9.0], [0.0, 0.0]])}
    found = MarginalQueries(tree, [beliefs[clique] for clique in tree.cliques]).marginal(("a", "c"))
    np.testing.assert_allclose(found, [0.2, 1.8, 0.8, 7.2])


def test_tables_are_not_kept_without_bound(
    joint: Joint, summed: Summed, monkeypatch: pytest.MonkeyPatch
) -> None:
    domain = Domain.coded({name: 3 for name in "abcdef"})
    tree, beliefs, table = random_model(domain, [("a", "b"), ("b", "c"), ("c", "d"), ("d", "e")], joint)
    monkeypatch.setattr(queries, "_HELD_CELLS", 20)
    together = MarginalQueries(tree, beliefs)
    for clique in itertools.combinations(domain.names, 2):
        np.testing.assert_allclose(together.marginal(clique), summed(domain, table, clique), rtol=1e-9)
        assert together._held_cells == sum(factor.values.size for factor in together._held.values())
        assert together._held_cells <= 27


def test_messages_are_shared_between_cliques(joint: Joint, monkeypatch: pytest.MonkeyPatch) -> None:
    domain = Domain.coded({name: 3 for name in "abcdefgh"})
    chain = list(itertools.pairwise(domain.names))
    tree, beliefs, _ = random_model(domain, chain, joint)
    products: list[tuple[int, int]] = []
    contract = MarginalQueries._contract

    def counted(self: MarginalQueries, left: object, right: object, keep: int) -> object:
        products.append((left.mask, keep))  # type: ignore[attr-defined]
        return contract(self, left, right, keep)  # type: ignore[arg-type]

    monkeypatch.setattr(MarginalQueries, "_contract", counted)
    together = MarginalQueries(tree, beliefs)
    for clique in itertools.combinations(domain.names, 2):
        together.marginal(clique)
    # 21 pairs lie outside the chain: one product each, and one for each message; apart it would be 56.
    assert len(products) <= 2 * 21


def test_refuses_a_marginal_that_needs_too_large_a_table_by_name(
    joint: Joint, monkeypatch: pytest.MonkeyPatch
) -> None:
    domain = Domain.coded({"a": 4, "b": 3, "c": 4, "d": 4})
    tree, beliefs, _ = random_model(domain, [("a", "b"), ("b", "c"), ("c", "d")], joint)
    monkeypatch.setattr(queries, "LARGEST_TABLE_CELLS", 20)
    found = MarginalQueries(tree, beliefs)
    with pytest.raises(ModelError, match="marginal of \\('a', 'c', 'd'\\) needs a table of 64 cells"):
        found.marginal(("a", "c", "d"))
    assert len(found.marginal(("a", "c"))) == 16


def test_refuses_a_marginal_of_many_attributes_before_allocating() -> None:
    names = [f"x{i}" for i in range(40)]
    domain = Domain.coded({name: 10 for name in names})
    tree = JunctionTree.build(domain, list(itertools.pairwise(names)))
    beliefs = [np.full(shape, 1 / math.prod(shape)) for shape in tree.shapes]
    with pytest.raises(ModelError, match="ask for a smaller clique"):
        MarginalQueries(tree, beliefs).marginal(domain.names)
