import itertools

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from dpmosaic.common.domain import Clique, Domain
from dpmosaic.curator.pgm import sampling
from dpmosaic.curator.pgm.belief_propagation import Schedule, calibrate
from dpmosaic.curator.pgm.junction_tree import JunctionTree
from dpmosaic.curator.pgm.model import MarkovRandomField
from dpmosaic.curator.pgm.sampling import generate

Array = NDArray[np.float64]

CHAIN = Domain.coded({"a": 4, "b": 3, "c": 4})


def random_model(
    domain: Domain, cliques: list[Clique], seed: int = 0, total: float = 1.0
) -> MarkovRandomField:
    tree = JunctionTree.build(domain, cliques)
    rng = np.random.default_rng(seed)
    beliefs, _ = calibrate(Schedule.of(tree), [rng.normal(size=shape) for shape in tree.shapes], total)
    return MarkovRandomField(domain, tree, tuple(beliefs), total, {}, 0.0, 0)


def independence_p_value(table: Array) -> float:
    """Chi-square test that the first axis is independent of the last given the middle one."""
    expected = table.sum(axis=2, keepdims=True) * table.sum(axis=0, keepdims=True)
    expected = expected / table.sum(axis=(0, 2), keepdims=True)
    statistic = ((table - expected) ** 2 / expected).sum()
    freedom = (table.shape[0] - 1) * table.shape[1] * (table.shape[2] - 1)
    return float(stats.chi2.sf(statistic, freedom))


def test_cells_of_every_tree_clique_are_within_rounding(shape: tuple[Domain, list[Clique]]) -> None:
    domain, cliques = shape
    model = random_model(domain, cliques)
    rows = 10_000
    table = generate(model, rows, np.random.default_rng(1))
    assert table.record_count == rows
    assert table.domain == domain
    # The root is off by less than 1; each clique on the way adds its own rounding to each value of its
    # separator (at most 4 x 3 of them) and passes on the separator's.
    for clique in model.tree.cliques:
        difference = np.abs(table.marginal(clique) - rows * model.marginal(clique))
        assert difference.max() < 12
    assert (
        np.abs(table.marginal(model.tree.cliques[0]) - rows * model.marginal(model.tree.cliques[0])).max() < 1
    )


def test_marginals_across_the_tree_are_close_to_the_models(shape: tuple[Domain, list[Clique]]) -> None:
    domain, cliques = shape
    model = random_model(domain, cliques)
    rows = 40_000
    table = generate(model, rows, np.random.default_rng(2))
    for clique in itertools.combinations(domain.names, 2):
        expected = rows * model.marginal(clique)
        # No cell varies more than in binomial sampling: six standard deviations, and rounding.
        assert np.all(np.abs(table.marginal(clique) - expected) < 6 * np.sqrt(expected) + 12)


def test_attributes_independent_given_a_third_come_out_independent() -> None:
    model = random_model(CHAIN, [("a", "b"), ("b", "c")], seed=3)
    p_values = [
        independence_p_value(
            generate(model, 20_000, np.random.default_rng(seed)).marginal(("a", "b", "c")).reshape(4, 3, 4)
        )
        for seed in range(20)
    ]
    # False alarm below 1.1e-4: 20 times 5e-6 for the smallest, 1e-5 for the shape of their distribution.
    assert min(p_values) > 5e-6
    assert stats.kstest(p_values, "uniform").pvalue > 1e-5


def test_the_check_of_independence_sees_rows_that_are_dealt_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    def in_order(groups: NDArray[np.int64], count: int, rng: np.random.Generator) -> NDArray[np.int64]:
        return np.argsort(groups, kind="stable")

    monkeypatch.setattr(sampling, "_shuffled_by_group", in_order)
    table = generate(random_model(CHAIN, [("a", "b"), ("b", "c")], seed=3), 20_000, np.random.default_rng(0))
    assert independence_p_value(table.marginal(("a", "b", "c")).reshape(4, 3, 4)) < 1e-100


def test_attributes_that_no_clique_joins_come_out_independent() -> None:
    model = random_model(Domain.coded({"a": 6, "b": 5}), [], seed=4)
    table = generate(model, 30_000, np.random.default_rng(5)).marginal(("a", "b")).reshape(6, 1, 5)
    # False alarm 1e-6.
    assert independence_p_value(table) > 1e-6


def test_rows_come_in_random_order() -> None:
    model = random_model(CHAIN, [("a", "b"), ("b", "c")])
    table = generate(model, 10_000, np.random.default_rng(6))
    halves = np.stack(
        [table.rows(0, 5000).marginal(("a", "b")), table.rows(5000, 10_000).marginal(("a", "b"))]
    )
    # False alarm 1e-6.
    assert stats.chi2_contingency(halves).pvalue > 1e-6


def test_rounding_has_the_right_expectation() -> None:
    weights = np.array([[0.2, 0.5, 0.3], [0.9, 0.0, 0.1]])
    sizes = np.array([4, 1])
    rng = np.random.default_rng(7)
    counts = [sampling._rounded(weights, sizes, rng) for _ in range(20_000)]
    assert all(np.array_equal(count.sum(axis=1), sizes) for count in counts)
    expected = weights * sizes[:, None]
    assert all(np.abs(count - expected).max() < 1 for count in counts)
    # Each count is one of two neighbours, so its mean has a standard error below 0.5 / sqrt(20000) = 0.0036.
    assert np.abs(np.mean(counts, axis=0) - expected).max() < 6 * 0.0036
    assert not np.any([count[1, 1] for count in counts])


def test_totals_are_exact_where_sums_of_shares_are_not() -> None:
    rng = np.random.default_rng(8)
    weights = rng.random((200, 997)) * 1e-9
    weights[:, -100:] = 0.0
    sizes = rng.integers(1, 10**9, 200)
    counts = sampling._rounded(weights, sizes, rng)
    np.testing.assert_array_equal(counts.sum(axis=1), sizes)
    assert counts.min() >= 0
    assert not counts[:, -100:].any()


def test_separator_values_without_mass_fall_back_to_the_cliques_own_marginal() -> None:
    domain = Domain.coded({"a": 5, "b": 3, "c": 4})
    tree = JunctionTree.build(domain, [("a", "b"), ("b", "c")])
    beliefs = {
        ("a", "b"): np.full((5, 3), 1 / 15),
        ("b", "c"): np.array([[0.0, 0.0, 0.5, 0.0], [0.0, 0.5, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]]),
    }
    assert tree.cliques[0] == ("a", "b")
    model = MarkovRandomField(domain, tree, tuple(beliefs[c] for c in tree.cliques), 1.0, {}, 0.0, 0)
    counts = generate(model, 1500, np.random.default_rng(9)).marginal(("b", "c")).reshape(3, 4)
    np.testing.assert_array_equal(counts, [[0, 0, 500, 0], [0, 500, 0, 0], [0, 250, 250, 0]])


def test_groups_rounded_in_blocks_are_all_dealt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "_CELLS_AT_ONCE", 5)
    model = random_model(CHAIN, [("a", "b"), ("b", "c")])
    table = generate(model, 5000, np.random.default_rng(10))
    for clique in model.tree.cliques:
        assert np.abs(table.marginal(clique) - 5000 * model.marginal(clique)).max() < 12


def test_one_row_is_drawn_from_the_model() -> None:
    model = random_model(Domain.coded({"a": 2, "b": 2}), [("a", "b")], seed=11)
    counts = np.sum(
        [generate(model, 1, np.random.default_rng(seed)).marginal(("a", "b")) for seed in range(2000)], axis=0
    )
    # False alarm 1e-6.
    assert stats.chisquare(counts, 2000 * model.marginal(("a", "b"))).pvalue > 1e-6


def test_the_seed_fixes_the_table() -> None:
    model = random_model(CHAIN, [("a", "b"), ("b", "c")])
    first, again, other = (generate(model, 500, np.random.default_rng(seed)).digest() for seed in (1, 1, 2))
    assert first == again
    assert first != other


@pytest.mark.parametrize("rows", [0, -3])
def test_less_than_one_row_is_refused(rows: int) -> None:
    with pytest.raises(ValueError, match="rows: expected at least 1"):
        generate(random_model(CHAIN, []), rows, np.random.default_rng(0))
