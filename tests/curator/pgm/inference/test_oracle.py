import itertools
import math
from collections.abc import Callable, Mapping

import numpy as np
import pytest
from numpy.typing import NDArray

from dpmosaic.common.data.domain import Clique, Domain
from dpmosaic.common.errors import ModelError
from dpmosaic.curator.pgm.compiled import compiled
from dpmosaic.curator.pgm.fitting.loss import split
from dpmosaic.curator.pgm.inference import cuts, layout, stages
from dpmosaic.curator.pgm.inference.belief_propagation import exponential, logarithm
from dpmosaic.curator.pgm.inference.oracle import MarginalOracle
from dpmosaic.curator.pgm.structure.junction_tree import JunctionTree

pytestmark = pytest.mark.slow

Array = NDArray[np.float64]
Joint = Callable[[Domain, Mapping[Clique, Array]], Array]
Summed = Callable[[Domain, Array, Clique], Array]


def check(domain: Domain, cliques: list[Clique], potentials: Array, joint: Joint, summed: Summed) -> None:
    """The oracle's answers for potentials of these cliques are those of the joint table."""
    tree = JunctionTree.build(domain, cliques)
    oracle = MarginalOracle(tree, cliques, 250.0)
    marginals, log_partition = oracle(potentials)
    shapes = [domain.shape(clique) for clique in cliques]
    table = joint(domain, dict(zip(cliques, split(potentials, shapes), strict=True)))
    assert log_partition == pytest.approx(math.log(table.sum()), abs=1e-9)
    found = [*zip(cliques, split(marginals, shapes), strict=True)]
    found += zip(tree.cliques, oracle.beliefs(), strict=True)
    for clique, marginal in found:
        expected = summed(domain, table, clique) / table.sum() * 250.0
        np.testing.assert_allclose(marginal.reshape(-1), expected, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("scale", [0.0, 1.0, 30.0])
def test_marginals_beliefs_and_log_partition_are_those_of_the_joint_table(
    shape: tuple[Domain, list[Clique]], scale: float, joint: Joint, summed: Summed
) -> None:
    domain, cliques = shape
    cells = sum(map(domain.cells, cliques))
    check(domain, cliques, np.random.default_rng(0).normal(scale=scale, size=cells), joint, summed)


def test_marginals_do_not_depend_on_how_cliques_are_cut(
    joint: Joint, summed: Summed, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed in range(60):
        rng = np.random.default_rng(seed)
        # Prices at random lead to cuts of all kinds, and small cliques are cut too.
        monkeypatch.setattr(cuts, "_ONE_RUN_CELLS", int(rng.integers(1, 20)))
        for price in ("_PRODUCT_NS", "_CELL_NS", "_MEMBER_NS", "_ROW_NS"):
            monkeypatch.setattr(cuts, price, rng.uniform(0, 10))
        domain = Domain.coded({f"x{i}": int(rng.integers(1, 6)) for i in range(rng.integers(1, 8))})
        every = [c for k in range(1, 5) for c in itertools.combinations(domain.names, k)]
        cliques = [every[i] for i in rng.permutation(len(every))[: rng.integers(1, 8)]]
        potentials = rng.normal(scale=2.0, size=sum(map(domain.cells, cliques)))
        check(domain, cliques, potentials, joint, summed)


@pytest.mark.parametrize("scale", [2.0, 30.0])
def test_marginals_do_not_depend_on_whether_cliques_are_stored_whole(
    scale: float, joint: Joint, summed: Summed, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (layout, stages):
        monkeypatch.setattr(module, "FASTEST", -1e6)
    monkeypatch.setattr(cuts, "_ONE_RUN_CELLS", 1)
    split_further = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        monkeypatch.setattr(stages, "_ONE_BY_ONE_CELLS", int(rng.integers(1, 40)))
        # Prices at random lead to rows of all lengths.
        for price in ("_ADDED_RUN_NS", "_ADDED_MEMBER_NS", "_ADDED_ROW_NS"):
            monkeypatch.setattr(stages, price, rng.uniform(0, 10))
        domain = Domain.coded({f"x{i}": int(rng.integers(1, 4)) for i in range(rng.integers(2, 10))})
        every = [c for k in range(1, 4) for c in itertools.combinations(domain.names, k)]
        cliques = [every[i] for i in rng.permutation(len(every))[: rng.integers(1, 20)]]
        potentials = rng.normal(scale=scale, size=sum(map(domain.cells, cliques)))
        check(domain, cliques, potentials, joint, summed)
        found, _, _ = layout.lay_out(JunctionTree.build(domain, cliques), cliques)
        assert (found.cliques["rows"] > 0).all()
        split_further += len(found.steps)
    assert split_further > 100


def test_large_neighbours_of_binary_attributes_agree_with_the_joint_table(
    joint: Joint, summed: Summed
) -> None:
    domain = Domain.coded({f"x{i:02}": 2 for i in range(16)})
    # A band of pairs: each clique of the tree shares all but one attribute with the next.
    names = domain.names
    cliques = [(names[i], names[j]) for i in range(16) for j in range(i + 1, min(i + 12, 16))]
    assert (layout.lay_out(JunctionTree.build(domain, cliques), cliques)[0].cliques["rows"] > 0).any()
    potentials = np.random.default_rng(0).normal(size=4 * len(cliques))
    check(domain, cliques, potentials, joint, summed)


def test_cliques_of_thousands_of_cells_agree_with_the_joint_table(joint: Joint, summed: Summed) -> None:
    domain = Domain.coded({"a": 17, "b": 40, "c": 12, "d": 2, "e": 9})
    pairs = list(itertools.combinations(domain.names, 2))
    cliques = [("a", "b", "d"), *pairs, ("c",), ("b", "c", "d")]
    potentials = np.random.default_rng(0).normal(size=sum(map(domain.cells, cliques)))
    check(domain, cliques, potentials, joint, summed)


@pytest.mark.parametrize("whole", [False, True])
def test_potentials_of_neighbours_may_contradict_each_other_by_any_amount(
    whole: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Against the largest cell e^-1000 is 0; against the largest of its separator value it is not.
    if whole:
        monkeypatch.setattr(cuts, "_ONE_RUN_CELLS", 1)
        for module in (layout, stages):
            monkeypatch.setattr(module, "FASTEST", -1e6)
    domain = Domain.coded({"a": 2, "b": 2, "c": 2})
    cliques: list[Clique] = [("a", "b"), ("b", "c")]
    oracle = MarginalOracle(JunctionTree.build(domain, cliques), cliques, 1.0)
    marginals, log_partition = oracle(np.array([0.0, -1000.0, 0.0, -1001.0, 0.0, 0.0, 1000.0, 999.0]))
    e = math.exp(-1)
    weights = np.array([2.0, 1 + e, 2.0, e * (1 + e)])
    np.testing.assert_allclose(marginals[:4], weights / weights.sum())
    assert log_partition == pytest.approx(math.log(weights.sum()))


def test_cells_with_little_weight_neither_underflow_nor_affect_others() -> None:
    domain = Domain.coded({"a": 3, "b": 50, "c": 40})
    cliques: list[Clique] = [("a", "b"), ("b", "c"), ("a", "c")]
    oracle = MarginalOracle(JunctionTree.build(domain, cliques), cliques, 1e9)
    rng = np.random.default_rng(0)
    potentials = rng.normal(size=150 + 2000 + 120)
    potentials[rng.random(len(potentials)) < 0.5] = -5000.0
    marginals, log_partition = oracle(potentials)
    assert math.isfinite(log_partition)
    table = np.zeros(domain.sizes)
    for clique, part in zip(cliques, split(potentials, [domain.shape(c) for c in cliques]), strict=True):
        table += part.reshape(
            [n if name in clique else 1 for name, n in zip("abc", domain.sizes, strict=True)]
        )
    joint = np.exp(table - table.max())
    np.testing.assert_allclose(
        marginals[:150], joint.sum(axis=2).ravel() / joint.sum() * 1e9, rtol=1e-9, atol=1e-9
    )


def test_neighbours_agree_on_their_separator(shape: tuple[Domain, list[Clique]], summed: Summed) -> None:
    domain, cliques = shape
    tree = JunctionTree.build(domain, cliques)
    oracle = MarginalOracle(tree, tree.cliques, 10.0)
    oracle(np.random.default_rng(1).normal(scale=3.0, size=tree.cells))
    beliefs = oracle.beliefs()
    for place, parent in enumerate(tree.parents[1:], start=1):
        separator = tree.separators[place]
        one, two = (
            summed(domain.project(tree.cliques[end]), beliefs[end], separator) for end in (place, parent)
        )
        np.testing.assert_allclose(one, two, rtol=1e-9, atol=1e-12)


def test_an_answer_is_not_changed_by_later_calls() -> None:
    domain = Domain.coded({"a": 2, "b": 3})
    oracle = MarginalOracle(JunctionTree.build(domain, [("a", "b")]), [("a", "b")], 1.0)
    potentials = np.arange(6.0)
    marginals, _ = oracle(potentials)
    beliefs = oracle.beliefs()
    kept = marginals.copy()
    oracle(np.zeros(6))
    np.testing.assert_array_equal(marginals, kept)
    np.testing.assert_array_equal(beliefs[0].ravel(), kept)
    np.testing.assert_array_equal(potentials, np.arange(6.0))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_refuses_potentials_that_are_not_finite(bad: float) -> None:
    domain = Domain.coded({"a": 2, "b": 3, "c": 2})
    cliques: list[Clique] = [("a", "b"), ("b", "c")]
    oracle = MarginalOracle(JunctionTree.build(domain, cliques), cliques, 1.0)
    potentials = np.zeros(12)
    potentials[-1] = bad
    with pytest.raises(ModelError, match="expected finite potentials"):
        oracle(potentials)


def test_refuses_a_clique_outside_the_tree() -> None:
    domain = Domain.coded({"a": 2, "b": 3, "c": 2})
    with pytest.raises(ValueError, match="lies in no clique of the tree"):
        MarginalOracle(JunctionTree.build(domain, [("a", "b")]), [("b", "c")], 1.0)


def test_exponentials_and_logarithms_are_those_of_the_library() -> None:
    @compiled
    def evaluate(values: Array, exponentials: Array, logarithms: Array) -> None:
        for i in range(len(values)):
            exponentials[i] = exponential(values[i])
            logarithms[i] = logarithm(exponentials[i])

    values = np.concatenate([np.linspace(-700, 700, 10_001), np.linspace(-1, 1, 1001), [0.0]])
    exponentials, logarithms = np.empty_like(values), np.empty_like(values)
    evaluate(values, exponentials, logarithms)
    near = np.abs(values) <= 1
    np.testing.assert_allclose(exponentials[near], np.exp(values[near]), rtol=4e-15)
    np.testing.assert_allclose(exponentials, np.exp(values), rtol=5e-14)
    np.testing.assert_allclose(logarithms, np.log(exponentials), rtol=1e-15, atol=3e-16)
