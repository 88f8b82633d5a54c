"""Conditional models against the whole joint distribution, computed cell by cell."""

import itertools

import numpy as np
import pytest

from dpmosaic.common.data.attributes.categorical import CategoricalAttribute
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.rules import read_rules
from dpmosaic.common.errors import ModelError
from dpmosaic.curator.pgm.conditioning import conditioned
from dpmosaic.curator.pgm.inference.oracle import MarginalOracle
from dpmosaic.curator.pgm.model import MarkovRandomField
from dpmosaic.curator.pgm.structure.junction_tree import JunctionTree
from dpmosaic.curator.pgm.supplemented import GroupedMarginal, SupplementedModel

DOMAIN = Domain.coded({"a": 3, "b": 2, "c": 4, "d": 2, "e": 3})
RECORDS = 500.0

TREES = [
    [],
    [("a", "b"), ("b", "c"), ("c", "d"), ("d", "e")],
    [("a", "b", "c"), ("b", "c", "d"), ("c", "e")],
    [("a", "b"), ("c", "d", "e")],
    [("a", "b", "c", "d", "e")],
]

CONDITIONS = [
    {"a": [0, 1, 1]},
    {"e": [0, 0, 1], "a": [1, 0, 0]},
    {"c": [0.25, 1, 0, 0.5]},
    {"a": [1, 0, 1], "b": [0.5, 0.25], "c": [1, 1, 0, 0], "d": [1, 0], "e": [0, 0.1, 1]},
]


def model_of(cliques, domain=DOMAIN, seed=0):
    tree = JunctionTree.build(domain, cliques)
    oracle = MarginalOracle(tree, tree.cliques, RECORDS)
    oracle(np.random.default_rng(seed).normal(size=tree.cells))
    return MarkovRandomField(domain, tree, oracle.beliefs(), RECORDS, {}, 0.0, 0)


def joint_of(model):
    """The joint distribution as the product of the cliques given their separators."""
    names, sizes = model.domain.names, model.domain.sizes
    joint = np.ones(sizes)
    for clique, separator, belief in zip(
        model.tree.cliques, model.tree.separators, model.beliefs, strict=True
    ):
        others = tuple(axis for axis, name in enumerate(clique) if name not in separator)
        whole = belief.sum(axis=others, keepdims=True)
        given = np.divide(belief, whole, out=np.zeros_like(belief), where=whole > 0)
        joint = joint * given.reshape(
            [size if n in clique else 1 for n, size in zip(names, sizes, strict=True)]
        )
    return joint


def weighted(joint, condition):
    for name, weights in condition.items():
        axis = DOMAIN.position(name)
        joint = joint * np.reshape(weights, [-1 if k == axis else 1 for k in range(joint.ndim)])
    return joint


def weights(condition):
    return {name: np.array(of_code, dtype=float) for name, of_code in condition.items()}


@pytest.mark.parametrize("condition", CONDITIONS)
@pytest.mark.parametrize("cliques", TREES)
def test_every_marginal_is_that_of_the_conditional_joint_distribution(cliques, condition):
    model = model_of(cliques)
    found = conditioned(model, weights(condition))
    wanted = weighted(joint_of(model), condition)
    assert found.probability == pytest.approx(wanted.sum(), rel=1e-12)
    wanted *= RECORDS / wanted.sum()
    np.testing.assert_allclose(joint_of(found.model) * RECORDS, wanted, atol=1e-9)
    for size in (1, 2, 3):
        for clique in itertools.combinations(DOMAIN.names, size):
            axes = tuple(axis for axis, name in enumerate(DOMAIN.names) if name not in clique)
            np.testing.assert_allclose(found.model.marginal(clique), wanted.sum(axis=axes).ravel(), atol=1e-9)


@pytest.mark.slow
def test_rows_meet_the_condition_and_have_the_conditional_marginals():
    model = model_of(TREES[1])
    found = conditioned(model, weights({"e": [0, 1, 0], "a": [1, 1, 0]})).model
    rows = found.generate(60_000, np.random.default_rng(1))
    assert set(rows.column("e")) == {1}
    assert set(rows.column("a")) == {0, 1}
    for pair in itertools.combinations(DOMAIN.names, 2):
        shares = rows.marginal(pair) / rows.record_count
        assert np.abs(shares - found.marginal(pair) / RECORDS).max() < 1e-3


def test_combinations_that_rules_exclude_stay_excluded():
    attributes = tuple(CategoricalAttribute(name, ("x", "y", "z")) for name in "pqr")
    rules = read_rules([{"determines": {"from": "p", "to": "q"}, "map": {"x": "y", "y": "z", "z": "z"}}])
    model = model_of([("p", "r")], Domain(attributes, rules=rules))
    found = conditioned(model, weights({"q": [0, 0, 1], "r": [1, 1, 0]}))
    before = model.marginal(("p", "q", "r")).reshape(3, 3, 3)
    wanted = before * np.reshape([0, 0, 1], (1, 3, 1)) * np.reshape([1, 1, 0], (1, 1, 3))
    np.testing.assert_allclose(
        found.model.marginal(("p", "q", "r")), wanted.ravel() * RECORDS / wanted.sum(), atol=1e-9
    )
    assert found.model.marginal(("p",))[0] == 0.0


def test_refuses_a_condition_that_no_record_of_the_model_meets():
    attributes = tuple(CategoricalAttribute(name, ("x", "y")) for name in "pq")
    rules = read_rules([{"determines": {"from": "p", "to": "q"}, "map": {"x": "y", "y": "x"}}])
    model = model_of([], Domain(attributes, rules=rules))
    with pytest.raises(ModelError, match="widen"):
        conditioned(model, weights({"p": [1, 0], "q": [1, 0]}))


def test_a_supplemented_pair_with_all_attributes_of_the_condition_is_exact():
    pair = np.random.default_rng(2).random((3, 3))
    pair *= RECORDS / pair.sum()
    model = SupplementedModel(model_of(TREES[1]), {("a", "e"): pair.ravel()})
    for condition in ({"e": [1, 0, 0.5]}, {"e": [1, 0, 0.5], "a": [0, 1, 1]}):
        found = conditioned(model, weights(condition)).model
        wanted = pair * np.array(condition["e"]) * np.reshape(condition.get("a", [1, 1, 1]), (3, 1))
        np.testing.assert_allclose(found.marginal(("a", "e")), wanted.ravel() * RECORDS / wanted.sum())


def test_another_supplemented_pair_keeps_its_association_and_has_the_conditional_one_way_marginals():
    tree = model_of([("a", "c"), ("c", "e")])
    association = np.exp(np.random.default_rng(3).normal(size=(3, 3)))
    pair = tree.marginal(("a", "e")).reshape(3, 3) * association
    pair *= RECORDS / pair.sum()
    found = conditioned(
        SupplementedModel(tree, {("a", "e"): pair.ravel()}), weights({"c": [1, 0, 0, 1]})
    ).model
    given = conditioned(tree, weights({"c": [1, 0, 0, 1]})).model
    table = found.marginal(("a", "e")).reshape(3, 3)
    np.testing.assert_allclose(table.sum(axis=1), given.marginal(("a",)), rtol=1e-6)
    np.testing.assert_allclose(table.sum(axis=0), given.marginal(("e",)), rtol=1e-6)

    def odds(cells):
        return cells[0, 0] * cells[1:, 1:] / (cells[:1, 1:] * cells[1:, :1])

    before = given.marginal(("a", "e")).reshape(3, 3)
    np.testing.assert_allclose(odds(table) / odds(before), odds(association), rtol=1e-5)


ACE = ("a", "c", "e")
GROUPS = ((0, 1, 1), (0, 0, 1, 1), ())


def summed(cells):
    """The marginal of groups of a joint table over the domain, cell by cell."""
    found = np.zeros((2, 2, 3))
    for (a, _, c, _, e), value in np.ndenumerate(cells):
        found[GROUPS[0][a], GROUPS[1][c], e] += value
    return found


def associated(factor):
    """A joint distribution that is a tree's times a factor of groups, and the model that says so."""
    tree = model_of(TREES[2])
    of_cells = factor[np.ix_(GROUPS[0], GROUPS[1], range(3))]
    joint = joint_of(tree) * of_cells[:, None, :, None, :]
    joint /= joint.sum()
    one = GroupedMarginal(ACE, GROUPS, (RECORDS * summed(joint)).ravel())
    return joint, SupplementedModel(tree, {}, (), (one,))


@pytest.mark.parametrize("condition", CONDITIONS, ids=str)
def test_a_marginal_of_groups_is_that_of_the_conditional_joint_distribution(condition):
    """Exact, because the joint is the tree's times a factor of each cell of the groups."""
    joint, model = associated(np.exp(np.random.default_rng(4).normal(size=(2, 2, 3))))
    (found,) = conditioned(model, weights(condition)).model.grouped
    wanted = summed(weighted(joint, condition))
    assert (found.clique, found.groups) == (ACE, GROUPS)
    np.testing.assert_allclose(found.counts, (wanted * RECORDS / wanted.sum()).ravel(), atol=1e-9)


def test_a_condition_on_groups_leaves_no_record_in_other_groups():
    _, model = associated(np.exp(np.random.default_rng(4).normal(size=(2, 2, 3))))
    given = conditioned(model, weights({"a": [1, 0, 0]})).model
    counts = given.grouped[0].counts.reshape(2, 2, 3)
    assert counts[1].sum() == 0
    assert counts[0].sum() == pytest.approx(RECORDS)


def test_a_marginal_of_groups_that_knows_of_no_such_record_is_left_out():
    """The tree has records that meet the condition, the marginal of groups has none."""
    factor = np.ones((2, 2, 3))
    factor[0] = 0.0
    _, model = associated(factor)
    assert conditioned(model, weights({"a": [1, 0, 0]})).model.grouped == ()
