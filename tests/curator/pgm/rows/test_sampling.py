import itertools
import tracemalloc

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from dpmosaic.common.data.domain import Clique, Domain
from dpmosaic.common.errors import ModelError
from dpmosaic.curator.pgm.inference.oracle import MarginalOracle
from dpmosaic.curator.pgm.model import MarkovRandomField
from dpmosaic.curator.pgm.rows import sampling
from dpmosaic.curator.pgm.rows.sampling import generate
from dpmosaic.curator.pgm.structure.junction_tree import JunctionTree

pytestmark = pytest.mark.slow

Array = NDArray[np.float64]

CHAIN = Domain.coded({"a": 4, "b": 3, "c": 4})


def random_model(
    domain: Domain, cliques: list[Clique], seed: int = 0, total: float = 1.0
) -> MarkovRandomField:
    tree = JunctionTree.build(domain, cliques)
    rng = np.random.default_rng(seed)
    oracle = MarginalOracle(tree, tree.cliques, total)
    oracle(rng.normal(size=tree.cells))
    return MarkovRandomField(domain, tree, oracle.beliefs(), total, {}, 0.0, 0)


def one_clique(belief: Array) -> MarkovRandomField:
    domain = Domain.coded(dict(zip("abc", belief.shape, strict=False)))
    tree = JunctionTree.build(domain, [domain.names])
    return MarkovRandomField(domain, tree, (belief,), 1.0, {}, 0.0, 0)


def rounded(weights: Array, sizes: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
    """How often each value (a column of weights) comes in each group (a line) of the given size."""
    starts = np.concatenate([[0], np.cumsum(sizes)])
    values = np.full(starts[-1], 2**16 - 1, dtype=np.uint16)
    sampling._fill_runs(values, starts, ("line", "value"), weights, ("line",), rng)
    runs = np.split(values, starts[1:-1])
    return np.stack([np.bincount(run, minlength=weights.shape[1]) for run in runs])


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


def test_conditional_independence_is_preserved() -> None:
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


def test_the_check_of_independence_detects_rows_without_a_shuffle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "_shuffle_runs", lambda values, starts, rng: None)
    table = generate(random_model(CHAIN, [("a", "b"), ("b", "c")], seed=3), 20_000, np.random.default_rng(0))
    assert independence_p_value(table.marginal(("a", "b", "c")).reshape(4, 3, 4)) < 1e-100


@pytest.mark.parametrize("long", [100, 2**20])
def test_attributes_of_different_components_are_independent(
    long: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sampling, "_LONG_RUN", long)
    model = random_model(Domain.coded({"a": 6, "b": 5}), [], seed=4)
    table = generate(model, 30_000, np.random.default_rng(5)).marginal(("a", "b")).reshape(6, 1, 5)
    # False alarm 1e-6.
    assert independence_p_value(table) > 1e-6


@pytest.mark.parametrize("long", [100, 2**20])
def test_rows_come_in_random_order(long: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "_LONG_RUN", long)
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
    counts = [rounded(weights, sizes, rng) for _ in range(20_000)]
    assert all(np.array_equal(count.sum(axis=1), sizes) for count in counts)
    expected = weights * sizes[:, None]
    assert all(np.abs(count - expected).max() < 1 for count in counts)
    # Each count is one of two neighbours, so its mean has a standard error below 0.5 / sqrt(20000) = 0.0036.
    # False alarm below 6 x 2e-9.
    assert np.abs(np.mean(counts, axis=0) - expected).max() < 6 * 0.0036
    assert not np.any([count[1, 1] for count in counts])


def test_groups_are_rounded_each_with_its_own_offset() -> None:
    counts = rounded(np.full((2000, 2), 0.5), np.ones(2000, dtype=np.int64), np.random.default_rng(15))
    # With one offset for all, every group would take the same value. False alarm below 1e-8.
    assert abs(counts[:, 0].sum() - 1000) < 6 * np.sqrt(500)


def test_totals_are_exact_where_sums_of_shares_are_not() -> None:
    rng = np.random.default_rng(8)
    weights = rng.random((200, 997)) * 1e-9
    weights[:, -100:] = 0.0
    weights[::2, 400:500] = -1e-12
    sizes = rng.integers(1, 30_000, 200)
    counts = rounded(weights, sizes, rng)
    np.testing.assert_array_equal(counts.sum(axis=1), sizes)
    assert not counts[weights <= 0].any()
    shares = np.maximum(weights, 0)
    assert np.abs(counts - sizes[:, None] * shares / shares.sum(axis=1, keepdims=True)).max() < 1 + 1e-9


@pytest.mark.parametrize("factor", [2.0**-900, 2.0**900])
def test_tiny_and_huge_totals_make_the_same_table(factor: float) -> None:
    model = random_model(CHAIN, [("a", "b"), ("b", "c")])
    scaled = MarkovRandomField(
        CHAIN, model.tree, tuple(belief * factor for belief in model.beliefs), factor, {}, 0.0, 0
    )
    first, second = (generate(each, 5000, np.random.default_rng(16)) for each in (model, scaled))
    assert first.digest() == second.digest()


def test_refuses_beliefs_without_mass() -> None:
    for belief in (np.zeros((2, 3)), np.full((2, 3), -1.0)):
        with pytest.raises(
            ModelError, match="marginal of a, b has no positive count or one that is not finite"
        ):
            generate(one_clique(belief), 10, np.random.default_rng(0))


def test_refuses_counts_that_are_not_finite_when_their_rows_are_drawn() -> None:
    domain = Domain.coded({"a": 5, "b": 3, "c": 4})
    tree = JunctionTree.build(domain, [("a", "b"), ("b", "c")])
    for wrong in (np.nan, np.inf, 1e308):
        belief = np.ones((3, 4))
        belief[1:, 2:] = wrong
        model = MarkovRandomField(domain, tree, (np.ones((5, 3)), belief), 1.0, {}, 0.0, 0)
        with pytest.raises(
            ModelError, match="marginal of b, c has no positive count or one that is not finite"
        ):
            generate(model, 1500, np.random.default_rng(0))


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


def test_counts_of_each_group_are_its_expected_counts_rounded_up_or_down(
    shape: tuple[Domain, list[Clique]], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Small blocks: of rows, of groups and of random words.
    monkeypatch.setattr(sampling, "_CACHE_BLOCK", 7)
    check_groups(random_model(*shape), 1000)


def check_groups(model: MarkovRandomField, rows: int) -> None:
    table = generate(model, rows, np.random.default_rng(17))
    for clique, belief, separator in zip(
        model.tree.cliques, model.beliefs, model.tree.separators, strict=True
    ):
        counts = table.marginal(clique).reshape(belief.shape)
        others = tuple(axis for axis, name in enumerate(clique) if name not in separator)
        sizes = counts.sum(axis=others, keepdims=True)
        expected = sizes * belief / belief.sum(axis=others, keepdims=True)
        assert np.abs(counts - expected).max() < 1


def test_separators_may_lie_between_the_other_attributes() -> None:
    domain = Domain.coded({"a": 2, "b": 3, "c": 4, "d": 2, "e": 50})
    model = random_model(domain, [("b", "d", "e"), ("a", "b", "c", "d")])
    assert model.tree.separators == ((), ("b", "d"))
    check_groups(model, 5000)


@pytest.mark.parametrize(
    ("sizes", "cliques"),
    [
        ({"a": 128, "b": 1, "c": 2}, [("a", "b", "c")]),
        ({"a": 1, "b": 256, "c": 1, "d": 300}, [("a", "b", "c"), ("d",)]),
        ({"a": 256, "b": 256, "c": 3}, [("a", "b"), ("b", "c")]),
        ({"a": 256, "b": 257, "c": 2}, [("a", "b"), ("b", "c")]),
        ({"a": 65_536, "b": 3, "c": 2}, [("a", "b"), ("a", "c")]),
        ({"a": 65_537, "b": 3, "c": 2}, [("a", "b"), ("a", "c")]),
        ({"a": 2, "b": 65_537, "c": 300}, [("a", "b"), ("a", "c")]),
    ],
    ids=lambda case: " ".join(map(str, case.values())) if isinstance(case, dict) else "",
)
def test_codes_of_every_width_are_drawn(sizes: dict[str, int], cliques: list[Clique]) -> None:
    check_groups(random_model(Domain.coded(sizes), cliques), 100_000)


def test_rows_take_little_memory_beside_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "_LONG_RUN", 1000)
    model = random_model(Domain.coded({"a": 300, "b": 4, "c": 20}), [("a", "b"), ("b", "c")])
    rows = 1_000_000
    generate(model, 10_000, np.random.default_rng(0))
    tracemalloc.start()
    try:
        table = generate(model, rows, np.random.default_rng(0))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    # Values in two bytes, once more while they are strewn over buckets, whose numbers take one; and blocks.
    assert peak < sum(column.nbytes for column in table.columns) + 5 * rows + 4 * 2**20


def test_one_row_is_drawn_from_the_model() -> None:
    model = random_model(Domain.coded({"a": 2, "b": 2}), [("a", "b")], seed=11)
    counts = np.sum(
        [generate(model, 1, np.random.default_rng(seed)).marginal(("a", "b")) for seed in range(2000)], axis=0
    )
    # False alarm 1e-6.
    assert stats.chisquare(counts, 2000 * model.marginal(("a", "b"))).pvalue > 1e-6


def test_the_seed_determines_the_table() -> None:
    model = random_model(CHAIN, [("a", "b"), ("b", "c")])
    first, again, other = (generate(model, 500, np.random.default_rng(seed)).digest() for seed in (1, 1, 2))
    assert first == again
    assert first != other


@pytest.mark.parametrize("rows", [0, -3, 2**32])
def test_refuses_numbers_of_rows_out_of_reach(rows: int) -> None:
    with pytest.raises(ValueError, match="rows: expected at least 1"):
        generate(random_model(CHAIN, []), rows, np.random.default_rng(0))
