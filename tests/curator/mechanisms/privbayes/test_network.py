"""Bayesian networks: marginals against the joint distribution, and rows against marginals."""

import itertools

import numpy as np
import pytest
from scipy import stats

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.errors import DataError, ModelError
from dpmosaic.curator.mechanisms.privbayes import inference
from dpmosaic.curator.mechanisms.privbayes.levels import Levels, Node
from dpmosaic.curator.mechanisms.privbayes.network import (
    BayesianNetwork,
    DrawingStep,
    conditional,
    head_steps,
)

DOMAIN = Domain.coded({"a": 2, "h": 7, "b": 3, "c": 2})
LEVELS = Levels(DOMAIN, 2)
"""h has versions of 7 and 4 codes."""


def node(text):
    return Node(text.lower(), int(text.isupper()))


def step(child, parents, counts=None, seed=0):
    parents = tuple(node(p) for p in parents)
    shape = LEVELS.shape((*parents, node(child)))
    counts = (
        np.random.default_rng([seed, *map(ord, child)]).gamma(0.7, size=shape) if counts is None else counts
    )
    return DrawingStep(node(child), parents, np.asarray(counts, dtype=float))


def network(*steps, total=100.0, drawing="without-replacement"):
    return BayesianNetwork(LEVELS, tuple(steps), total, drawing)


SHAPES = [
    [("a", ""), ("h", "a"), ("b", "h"), ("c", "b")],
    [("a", ""), ("H", "a"), ("b", "H"), ("c", "ab"), ("h", "c")],
    [("H", ""), ("h", ""), ("b", "h"), ("a", "H"), ("c", "ab")],
    [("c", ""), ("h", "c"), ("b", "H"), ("a", "Hbc")],
    [("c", ""), ("b", ""), ("a", ""), ("h", "")],
]


def joint_of(steps):
    """The joint distribution over a, h, b, c by its definition."""
    joint = np.zeros(DOMAIN.sizes)
    for codes in itertools.product(*map(range, DOMAIN.sizes)):
        at = dict(zip(DOMAIN.names, codes, strict=True))
        probability, drawn = 1.0, {}
        for s in steps:
            row = s.counts[tuple(at[p.name] >> p.level for p in s.parents)]
            code = at[s.child.name] >> s.child.level
            inside = np.ones(len(row), dtype=bool)
            if s.child.name in drawn:
                shift = drawn[s.child.name] - s.child.level
                inside = np.arange(len(row)) >> shift == at[s.child.name] >> drawn[s.child.name]
            overall = s.counts.reshape(-1, len(row)).sum(axis=0)
            for weights in (row, overall, np.ones(len(row))):
                if weights[inside].sum() > 0:
                    probability *= weights[code] / weights[inside].sum()
                    break
            drawn[s.child.name] = s.child.level
        joint[codes] = probability
    return joint


def cliques():
    return [c for k in (1, 2, 3, 4) for c in itertools.combinations(DOMAIN.names, k)]


@pytest.mark.parametrize("shape", SHAPES)
def test_marginals_are_those_of_the_joint_distribution(shape):
    steps = [step(*s) for s in shape]
    joint = joint_of(steps)
    assert joint.sum() == pytest.approx(1)
    model = network(*steps)
    for clique in cliques():
        summed = tuple(i for i, name in enumerate(DOMAIN.names) if name not in clique)
        assert model.marginal(clique) == pytest.approx(100 * joint.sum(axis=summed).ravel())


def test_rows_without_counts_follow_the_table_and_then_are_uniform():
    counts = np.zeros((2, 2, 7))
    counts[0, 0] = 1, 2, 3, 0, 0, 0, 0
    steps = [step("a", ""), step("H", "a"), step("c", ""), step("h", "ac", counts), step("b", "")]
    joint = joint_of(steps)
    assert network(*steps).marginal(("a", "h", "c")) == pytest.approx(100 * joint.sum(axis=2).ravel())
    shares = conditional(counts, 2)
    assert shares[1, 1].tolist() == pytest.approx([1 / 3, 2 / 3, 1, 0, 0.5, 0.5, 1])


@pytest.mark.slow
@pytest.mark.parametrize("drawing", ["with-replacement", "without-replacement"])
@pytest.mark.parametrize("shape", SHAPES)
def test_rows_follow_the_distribution_where_no_table_is_used_up(shape, drawing):
    """The first of 4,000 networks' rows, or all 4,000 rows of one: chi-square of 84 cells, p > 1e-5."""
    steps = [step(*s) for s in shape]
    joint = joint_of(steps).ravel()
    if drawing == "with-replacement":
        table = network(*steps, drawing=drawing).generate(4000, np.random.default_rng(1))
        seen = table.marginal(DOMAIN.names)
    else:
        seen = np.zeros(joint.size)
        for seed in range(4000):
            first = network(*steps).generate(1, np.random.default_rng(seed))
            seen += first.marginal(DOMAIN.names)
    expected = joint * 4000
    rare = expected < 5
    seen, expected = (np.append(v[~rare], v[rare].sum()) for v in (seen, expected))
    held = expected > 0
    assert seen[~held].sum() == 0
    assert stats.chisquare(seen[held], expected[held] * seen.sum() / expected.sum()).pvalue > 1e-5


def consistent_steps(seed=0, records=600):
    """Whole numbers of one table's marginals: a chain a, h, b, c."""
    rng = np.random.default_rng(seed)
    codes = np.column_stack([rng.integers(0, n, records) for n in (2, 7, 3, 2)])
    codes[:, 1] = np.where(rng.random(records) < 0.7, codes[:, 0] * 3, codes[:, 1])
    codes[:, 2] = np.where(rng.random(records) < 0.7, codes[:, 1] % 3, codes[:, 2])
    counts = [np.zeros(shape) for shape in (2, (2, 7), (7, 3), (3, 2))]
    for a, h, b, c in codes:
        for table, cell in zip(counts, (a, (a, h), (h, b), (b, c)), strict=True):
            table[cell] += 1
    return [step(*s, n) for s, n in zip(SHAPES[0], counts, strict=True)]


def test_without_replacement_rows_match_consistent_tables_exactly():
    steps = consistent_steps()
    table = network(*steps, total=600.0).generate(600, np.random.default_rng(3))
    for clique, s in ((("a",), 0), (("a", "h"), 1), (("h", "b"), 2), (("b", "c"), 3)):
        assert table.marginal(clique).tolist() == steps[s].counts.ravel().tolist()


def test_with_replacement_rows_have_sampling_noise():
    steps = consistent_steps()
    table = network(*steps, total=600.0, drawing="with-replacement").generate(600, np.random.default_rng(3))
    assert 5 < np.abs(table.marginal(("b", "c")) - steps[3].counts.ravel()).sum() < 150


def test_other_numbers_of_rows_keep_the_proportions():
    steps = consistent_steps()
    table = network(*steps, total=600.0).generate(1800, np.random.default_rng(3))
    assert table.marginal(("h", "b")).tolist() == (3 * steps[2].counts.ravel()).tolist()


def test_a_dead_end_goes_back_to_a_value_with_counts():
    """Half of the records have a = 1, for which h has no count: every row must take a = 0."""
    counts = np.array([[1.0] * 7, [0.0] * 7])
    steps = [step("a", "", [1, 1]), step("h", "a", counts), step("b", ""), step("c", "")]
    table = network(*steps, drawing="with-replacement").generate(500, np.random.default_rng(1))
    assert table.marginal(("a",)).tolist() == [500, 0]


def test_a_dead_end_two_steps_later_goes_back_further_after_ten_failures():
    counts = np.array([[1.0] * 3, [0.0] * 3])
    steps = [step("a", "", [1, 1]), step("c", "", [1, 1]), step("b", "a", counts), step("h", "")]
    table = network(*steps, drawing="with-replacement").generate(500, np.random.default_rng(1))
    assert table.marginal(("a",)).tolist() == [500, 0]


def test_draws_rows_from_contradictory_tables():
    """a is 0 by its own table, and h has counts only for a = 1: h follows all rows of its table."""
    counts = np.zeros((2, 7))
    counts[1, :2] = 1, 3
    steps = [step("a", "", [1, 0]), step("h", "a", counts), step("b", ""), step("c", "")]
    table = network(*steps).generate(2000, np.random.default_rng(1))
    assert table.marginal(("a",)).tolist() == [2000, 0]
    seen = table.marginal(("h",))
    assert seen[2:].sum() == 0
    assert stats.binomtest(int(seen[1]), 2000, 0.75).pvalue > 1e-6


def test_empty_tables_give_uniform_rows():
    steps = [step("a", "", [0, 0]), step("h", "a", np.zeros((2, 7))), step("b", ""), step("c", "")]
    seen = network(*steps).generate(7000, np.random.default_rng(1)).marginal(("h",))
    assert stats.chisquare(seen).pvalue > 1e-6


def test_rows_come_in_random_order():
    """Otherwise counts that are used up first would come first; the rank correlation is small."""
    steps = [
        step("a", "", [1, 1]),
        step("h", "a", np.array([[5, 1, 0, 0, 0, 0, 0], [0] * 7])),
        step("b", ""),
        step("c", ""),
    ]
    column = network(*steps).generate(4000, np.random.default_rng(1)).column("a")
    halves = int(column[:2000].sum()), int(column[2000:].sum())
    assert stats.fisher_exact([[halves[0], 2000 - halves[0]], [halves[1], 2000 - halves[1]]]).pvalue > 1e-6


def test_one_seed_gives_one_table():
    model = network(*(step(*s) for s in SHAPES[1]))
    tables = [model.generate(300, np.random.default_rng(seed)).digest() for seed in (1, 1, 2)]
    assert tables[0] == tables[1] != tables[2]


def test_a_head_is_drawn_from_one_joint_table():
    values = np.random.default_rng(1).random((4, 3, 2)).ravel() - 0.1
    nodes = (Node("h", 1), Node("b", 0), Node("c", 0))
    order = (Node("c", 0), Node("h", 1), Node("b", 0))
    steps = head_steps(LEVELS, order, nodes, values)
    model = network(*steps, step("h", ""), step("a", "c"), total=1.0)
    found = model.marginal(("h", "b", "c")).reshape(7, 3, 2)
    coarse = np.add.reduceat(found, [0, 2, 4, 6], axis=0).ravel()
    positive = np.maximum(values, 0)
    assert coarse == pytest.approx(positive / positive.sum())


def test_refuses_a_marginal_that_needs_too_large_a_table(monkeypatch):
    model = network(*(step(*s) for s in SHAPES[0]))
    monkeypatch.setattr(inference, "NETWORK_TABLE_CELLS", 25)
    with pytest.raises(ModelError, match="at most 25 cells"):
        model.marginal(("a", "h", "b"))
    assert [m is None for m in model.marginals_within_limits([("a", "h"), ("a", "h", "b")])] == [False, True]


def test_leaves_out_a_finer_version_that_the_marginal_does_not_depend_on(monkeypatch):
    """a depends on the coarse h, 4 x 2 cells; with the fine one there would be 7 x 2."""
    model = network(*(step(*s) for s in SHAPES[2]))
    before = model.marginal(("a",)).tolist()
    monkeypatch.setattr(inference, "NETWORK_TABLE_CELLS", 8)
    assert model.marginal(("a",)).tolist() == before


def test_a_saved_network_is_read_back(tmp_path):
    model = network(*(step(*s) for s in SHAPES[1]), total=321.5, drawing="with-replacement")
    model.save(tmp_path / "model.npz")
    found = BayesianNetwork.load(tmp_path / "model.npz")
    assert (found.total, found.drawing, found.cliques, found.size_mb) == (
        321.5,
        "with-replacement",
        model.cliques,
        model.size_mb,
    )
    for clique in cliques():
        assert found.marginal(clique).tolist() == model.marginal(clique).tolist()


def test_refuses_files_that_are_not_networks(tmp_path):
    with pytest.raises(DataError, match="cannot be read"):
        BayesianNetwork.load(tmp_path / "none.npz")
    (tmp_path / "text.npz").write_text("no")
    with pytest.raises(DataError, match="holds no network"):
        BayesianNetwork.load(tmp_path / "text.npz")


@pytest.mark.parametrize(
    ("steps", "named"),
    [
        ([("a", ""), ("h", ""), ("b", "")], "every attribute"),
        ([("a", ""), ("H", ""), ("b", ""), ("c", "")], "at level 0"),
        ([("a", ""), ("b", "h"), ("h", ""), ("c", "")], "before"),
        ([("a", ""), ("H", ""), ("b", "h"), ("c", ""), ("h", "")], "drawn before, at its level"),
        ([("a", ""), ("h", ""), ("H", ""), ("b", ""), ("c", "")], "at a finer level"),
    ],
)
def test_refuses_steps_that_are_not_a_network(steps, named):
    with pytest.raises(ValueError, match=named):
        network(*(step(*s) for s in steps))


def test_refuses_tables_of_another_shape_or_with_negative_counts():
    steps = [step(*s) for s in SHAPES[4]]
    with pytest.raises(ValueError, match="shape"):
        network(DrawingStep(Node("c", 0), (), np.ones(3)), *steps[1:])
    with pytest.raises(ValueError, match="negative"):
        network(step("c", "", [1, -1]), *steps[1:])
    with pytest.raises(ValueError, match="at least 1"):
        network(*steps).generate(0, np.random.default_rng(1))
