"""Models of domains with rules: what rules exclude is zero, and the rest is fitted as without them."""

import itertools
from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import minimize

from dpmosaic.common.data.boxes import Box
from dpmosaic.common.data.domain import Clique, Domain
from dpmosaic.common.data.view import View
from dpmosaic.common.measurement import Measurement
from dpmosaic.curator.pgm.fitting.estimation import estimate
from dpmosaic.curator.pgm.fitting.estimator import Estimator
from dpmosaic.curator.pgm.fitting.parallel import estimate_in_parallel
from dpmosaic.curator.pgm.inference.oracle import MarginalOracle
from dpmosaic.curator.pgm.model import MarkovRandomField
from dpmosaic.curator.pgm.structure.junction_tree import JunctionTree, tree_cells
from dpmosaic.curator.pgm.structure.zeros import LARGEST_OF_RULES, zeros_of

pytestmark = pytest.mark.slow

Array = NDArray[np.float64]

RECORDS = 1000.0

ATTRIBUTES = {"a": ["0", "1", "2"], "b": ["0", "1"], "c": ["0", "1", "2"], "d": ["0", "1"]}

RULES: dict[str, list[dict[str, object]]] = {
    "one pair": [{"impossible": {"a": ["0"], "b": ["1"]}}],
    "a chain": [
        {"impossible": {"a": ["0"], "b": ["1"]}},
        {"impossible": {"b": ["0"], "c": ["2"]}},
        {"impossible": {"c": ["1", "0"], "d": ["0"]}},
    ],
    "a dependency": [{"determines": {"from": "c", "to": "b"}, "map": {"0": "1", "1": "0", "2": "0"}}],
    "a category that no row has": [
        {"impossible": {"a": ["1"], "b": ["0"]}},
        {"impossible": {"a": ["1"], "b": ["1"]}},
    ],
    "three attributes": [{"impossible": {"a": ["0", "2"], "c": ["0"], "d": ["1"]}}],
}

MEASURED: dict[str, list[Clique]] = {
    "nothing": [],
    "attributes": [("a",), ("b",), ("c",), ("d",)],
    "all pairs": list(itertools.combinations("abcd", 2)),
    "other pairs": [("a", "d"), ("a", "c")],
    "a triple": [("a", "b", "c"), ("d",)],
}

ESTIMATORS = {"estimate": estimate, "estimate_in_parallel": estimate_in_parallel}


def ruled(rules: Sequence[dict[str, object]]) -> Domain:
    return Domain.from_json({"attributes": ATTRIBUTES, "rules": rules})


def allowed_cells(domain: Domain) -> NDArray[np.bool_]:
    """Every cell of the full table, by the rules' own words."""
    allowed = np.ones(domain.sizes, dtype=bool)
    for cell in np.ndindex(*domain.sizes):
        row = {name: np.array([ATTRIBUTES[name][code]]) for name, code in zip("abcd", cell, strict=True)}
        # A dependency with a map does not compare rows with each other.
        allowed[cell] = not any(rule.broken(row, domain)[0] for rule in domain.rules)
    return allowed


def noisy(domain: Domain, cliques: Sequence[Clique], allowed: NDArray[np.bool_]) -> list[Measurement]:
    rng = np.random.default_rng(3)
    table = rng.dirichlet(np.ones(allowed.size)).reshape(allowed.shape) * allowed
    table *= RECORDS / table.sum()
    found = []
    for clique in cliques:
        values = onto(table, clique)
        found.append(Measurement(View(clique), values + rng.normal(scale=15.0, size=values.shape), 15.0, 0.0))
    return found


def onto(table: Array, clique: Clique) -> Array:
    return np.asarray(table.sum(axis=tuple(i for i, name in enumerate("abcd") if name not in clique))).ravel()


def least_loss(measurements: Sequence[Measurement], allowed: NDArray[np.bool_]) -> float:
    """The least loss of any table with zeros where rules exclude cells, over all its cells at once."""
    places = np.flatnonzero(allowed)

    def loss(logits: Array) -> tuple[float, Array]:
        shares = np.exp(logits - logits.max())
        cells = RECORDS * shares / shares.sum()
        table = np.zeros(allowed.size)
        table[places] = cells
        slope = np.zeros(allowed.shape)
        total = 0.0
        for found in measurements:
            possible = onto(allowed.astype(float), found.clique) > 0
            away = np.where(possible, onto(table.reshape(allowed.shape), found.clique) - found.values, 0.0)
            total += 0.5 * float(away @ away) / found.sigma**2
            shape = [n if name in found.clique else 1 for name, n in zip("abcd", allowed.shape, strict=True)]
            slope += (away / found.sigma**2).reshape(shape)
        pull = slope.ravel()[places]
        return total, cells * (pull - (cells @ pull) / RECORDS)

    return float(minimize(loss, np.zeros(len(places)), jac=True, options={"maxiter": 5000}).fun)


@pytest.fixture(params=RULES, ids=lambda name: name.replace(" ", "-"))
def domain(request: pytest.FixtureRequest) -> Domain:
    return ruled(RULES[request.param])


@pytest.fixture(params=MEASURED, ids=lambda name: name.replace(" ", "-"))
def cliques(request: pytest.FixtureRequest) -> list[Clique]:
    return MEASURED[request.param]


@pytest.fixture(params=ESTIMATORS)
def estimator(request: pytest.FixtureRequest) -> Estimator:
    return ESTIMATORS[request.param]


def test_every_marginal_is_exactly_zero_where_no_allowed_cell_is(
    domain: Domain, cliques: list[Clique], estimator: Estimator
) -> None:
    allowed = allowed_cells(domain)
    model = estimator(domain, noisy(domain, cliques, allowed), total=RECORDS)
    for size in (1, 2, 3, 4):
        for clique in itertools.combinations("abcd", size):
            marginal = model.marginal(clique)
            assert marginal.sum() == pytest.approx(RECORDS)
            assert np.all(marginal[onto(allowed.astype(float), clique) == 0] == 0.0)


def test_drawn_rows_are_allowed(domain: Domain, cliques: list[Clique], estimator: Estimator) -> None:
    allowed = allowed_cells(domain)
    model = estimator(domain, noisy(domain, cliques, allowed), total=RECORDS)
    for seed in range(3):
        rows = model.generate(500, np.random.default_rng(seed))
        assert allowed[tuple(column.astype(int) for column in rows.columns)].all()


def test_the_loss_is_the_least_of_all_tables_with_these_zeros(domain: Domain, cliques: list[Clique]) -> None:
    allowed = allowed_cells(domain)
    measurements = noisy(domain, cliques, allowed)
    model = estimate(domain, measurements, total=RECORDS, tolerance=1e-6)
    assert model.converged
    assert model.loss == pytest.approx(least_loss(measurements, allowed), rel=1e-2, abs=1e-3)


def test_without_measurements_allowed_cells_have_the_same_weight(domain: Domain) -> None:
    allowed = allowed_cells(domain)
    wanted = RECORDS * allowed / allowed.sum()
    for model in (MarkovRandomField.uniform(domain, RECORDS), estimate(domain, [], total=RECORDS)):
        for clique in itertools.combinations("abcd", 3):
            np.testing.assert_allclose(model.marginal(clique), onto(wanted, clique), atol=1e-9)


def test_a_warm_start_and_a_saved_model_keep_the_zeros(domain: Domain, tmp_path) -> None:
    allowed = allowed_cells(domain)
    measurements = noisy(domain, MEASURED["all pairs"], allowed)
    first = estimate(domain, measurements[:2], total=RECORDS)
    model = estimate(domain, measurements, total=RECORDS, warm_start=first)
    model.save(tmp_path / "model.npz")
    again = MarkovRandomField.load(tmp_path / "model.npz")
    assert again.domain == domain
    cold = estimate(domain, measurements, total=RECORDS)
    assert again.loss == pytest.approx(cold.loss, rel=1e-2)
    assert np.all(again.marginal("abcd")[~allowed.ravel()] == 0.0)


def test_sums_over_boxes_ignore_excluded_cells() -> None:
    domain = ruled(RULES["one pair"])
    boxes: tuple[Box, ...] = (((0, 1), (1, 2)), ((0, 1), (0, 1)), ((1, 3), (0, 2)))
    values = np.array([200.0, 300.0, 700.0])
    model = estimate(domain, [Measurement(View(("a", "b"), boxes=boxes), values, 5.0, 0.0)], total=RECORDS)
    np.testing.assert_allclose(model.marginal(("a", "b")).reshape(3, 2)[0], [300.0, 0.0], atol=0.5)


def test_a_measured_cell_of_an_excluded_combination_does_not_matter() -> None:
    domain = ruled(RULES["one pair"])
    values = np.array([300.0, 5.0, 200.0, 100.0, 150.0, 250.0])
    wild = values.copy()
    wild[1] = 1e6
    models = [
        estimate(domain, [Measurement(View(("a", "b")), found, 5.0, 0.0)], total=RECORDS, tolerance=1e-9)
        for found in (values, wild)
    ]
    np.testing.assert_allclose(models[0].marginal("ab"), models[1].marginal("ab"), atol=1e-6)


def test_cells_almost_without_weight_are_not_taken_for_excluded_ones() -> None:
    domain = ruled(RULES["one pair"])
    values = np.array([1000.0, -50.0, 0.0, 0.0, 0.0, 0.0])
    model = estimate(domain, [Measurement(View(("a", "b")), values, 1e-3, 0.0)], total=RECORDS)
    assert model.marginal("ab")[0] == pytest.approx(1000.0, abs=1.0)
    assert model.marginal("ab")[1] == 0.0


def test_a_rule_with_too_many_cells_is_left_to_the_rows() -> None:
    size = 400
    attributes = {"a": [str(i) for i in range(size)], "b": [str(i) for i in range(size)], "c": ["0", "1"]}
    assert size * size > LARGEST_OF_RULES
    rules = [{"impossible": {"a": ["0"], "b": ["1"]}}, {"impossible": {"a": ["0"], "c": ["1"]}}]
    domain = Domain.from_json({"attributes": attributes, "rules": rules})
    zeros = zeros_of(domain)
    assert zeros.structure == (("a", "c"),)
    assert tree_cells(domain, []) == 2 * size + size


def test_a_dependency_to_be_learned_has_its_pair_in_every_model() -> None:
    domain = ruled([{"determines": {"from": "a", "to": "d"}}])
    assert zeros_of(domain).structure == (("a", "d"),)
    assert not zeros_of(domain).masks
    assert ("a", "d") in MarkovRandomField.uniform(domain, RECORDS).cliques


def check_beliefs(tree, beliefs):
    """Counts of all cliques add up to the records, and agree on what two share."""
    for belief in beliefs:
        assert belief.min() >= 0
        assert belief.sum() == pytest.approx(RECORDS)
    for place, parent in enumerate(tree.parents[1:], start=1):
        one, other = tree.cliques[place], tree.cliques[parent]
        both = set(one) & set(other)
        sums = [
            beliefs[k].sum(axis=tuple(axis for axis, name in enumerate(clique) if name not in both))
            for k, clique in ((place, one), (parent, other))
        ]
        np.testing.assert_allclose(*sums, rtol=1e-6, atol=1e-9 * RECORDS)


@pytest.mark.parametrize("rules", RULES.values(), ids=RULES)
@pytest.mark.parametrize("scale", [1.0, 100.0, 400.0, 1e4])
def test_beliefs_keep_to_rules_and_agree_whatever_the_potentials(rules, scale):
    domain, rng = ruled(rules), np.random.default_rng(0)
    cliques = [("a", "b", "c"), ("b", "c", "d"), ("a", "b"), ("c", "d")]
    tree = JunctionTree.build(domain, cliques)
    oracle = MarginalOracle(tree, cliques, RECORDS)
    oracle(rng.normal(scale=scale, size=sum(map(domain.cells, cliques))))
    beliefs, allowed = oracle.beliefs(), allowed_cells(domain)
    check_beliefs(tree, beliefs)
    for clique, belief in zip(tree.cliques, beliefs, strict=True):
        others = tuple(place for place, name in enumerate(domain) if name not in clique)
        assert not belief[~allowed.any(axis=others)].any()


STEPS = {
    "p": ["x", "y", "none"],
    "q": ["t", "u", "v", "none"],
    "c": ["0", "1"],
    "d": ["0", "1", "2"],
    "step": ["first", *(f"after {number}" for number in range(32))],
}


@pytest.mark.parametrize("seed", [29, 64, 130, 1, 2])
def test_what_rules_allow_gets_the_counts_of_what_they_exclude_where_both_are_too_unlikely(seed):
    rules = []
    for name in "pq":
        rules.append({"impossible": {"step": STEPS["step"][:1], name: STEPS[name][:-1]}})
        rules.append({"impossible": {"step": STEPS["step"][1:], name: ["none"]}})
    rules.append({"impossible": {"p": ["none"], "q": STEPS["q"][:-1]}})
    rules.append({"impossible": {"q": ["none"], "p": STEPS["p"][:-1]}})
    domain, rng = Domain.from_json({"attributes": STEPS, "rules": rules}), np.random.default_rng(seed)
    pairs = list(itertools.combinations(STEPS, 2))
    measured = [pairs[place] for place in rng.choice(len(pairs), rng.integers(4, 9), replace=False)]
    cliques = [*map(domain.canonical, measured), *((name,) for name in domain)]
    tree = JunctionTree.build(domain, cliques)
    oracle = MarginalOracle(tree, cliques, RECORDS)
    oracle(rng.normal(scale=rng.choice([100, 200, 400, 1000]), size=sum(map(domain.cells, cliques))))
    check_beliefs(tree, oracle.beliefs())
