"""Marginals of groups, against sums of the marginals of single codes."""

import numpy as np
import pytest

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.grouping import group_sums
from dpmosaic.curator.pgm.grouped_marginals import grouped_marginals
from dpmosaic.curator.pgm.inference import queries
from dpmosaic.curator.pgm.inference.oracle import MarginalOracle
from dpmosaic.curator.pgm.model import MarkovRandomField
from dpmosaic.curator.pgm.structure.junction_tree import JunctionTree

DOMAIN = Domain.coded({"a": 4, "b": 3, "c": 5, "d": 2, "e": 4})
WANTED = [
    (("a", "e"), ((0, 0, 1, 1), (0, 1, 1, 2))),
    (("a", "b", "c"), ((0, 1, 1, 0), (), (0, 0, 1, 1, 2))),
    (("b", "c", "e"), ((0, 1, 0), (), (0, 1, 1, 2))),
    (("c", "e"), ()),
    (("a", "c", "d", "e"), ((0, 0, 1, 1), (1, 1, 0, 0, 0), (), ())),
]


def model_of(cliques):
    tree = JunctionTree.build(DOMAIN, cliques)
    oracle = MarginalOracle(tree, tree.cliques, 500.0)
    oracle(np.random.default_rng(1).normal(size=tree.cells))
    return MarkovRandomField(DOMAIN, tree, oracle.beliefs(), 500.0, {}, 0.0, 0)


@pytest.mark.parametrize(
    "cliques",
    [[], [("a", "b"), ("b", "c"), ("c", "d"), ("d", "e")], [("a", "b", "c"), ("d", "e")], [tuple("abcde")]],
)
def test_marginals_of_groups_are_sums_of_those_of_codes(cliques):
    model = model_of(cliques)
    for (clique, groups), found in zip(WANTED, grouped_marginals(model, WANTED), strict=True):
        expected = group_sums(model.marginal(clique), DOMAIN.shape(clique), groups)
        np.testing.assert_allclose(found, expected, atol=1e-9)


def test_codes_are_put_into_groups_before_tables_get_too_large(monkeypatch):
    model = model_of([("a", "b"), ("b", "c"), ("c", "d"), ("d", "e")])
    wanted = [(("a", "c", "e"), ((0, 0, 1, 1), (0, 0, 0, 0, 1), (0, 0, 0, 1))), (("a", "c", "e"), ())]
    monkeypatch.setattr(queries, "LARGEST_TABLE_CELLS", 4 * 5 * 4 - 1)
    within, beyond = grouped_marginals(model, wanted)
    assert within.shape == (8,)
    assert within.sum() == pytest.approx(500.0)
    assert beyond is None
