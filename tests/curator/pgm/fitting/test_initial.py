import numpy as np
import pytest

from dpmosaic.common.data.domain import Clique, Domain
from dpmosaic.common.data.view import View
from dpmosaic.common.measurement import Measurement
from dpmosaic.curator.pgm.fitting.descent import descend
from dpmosaic.curator.pgm.fitting.initial import initial_potentials
from dpmosaic.curator.pgm.fitting.loss import QuadraticLoss, split
from dpmosaic.curator.pgm.inference.oracle import MarginalOracle
from dpmosaic.curator.pgm.structure.junction_tree import JunctionTree

DOMAIN = Domain.coded({"a": 2, "b": 3, "c": 4, "d": 2})
CHAIN: list[Clique] = [("a",), ("b",), ("c",), ("a", "b"), ("b", "c"), ("c", "d")]


def problem(
    cliques: list[Clique], seed: int = 0, sigma: float = 0.01
) -> tuple[MarginalOracle, QuadraticLoss]:
    """Exact marginals of a random Markov chain a - b - c - d over 1000 records."""
    rng = np.random.default_rng(seed)
    table = np.einsum("ab,bc,cd->abcd", *(rng.random(s) + 0.1 for s in ((2, 3), (3, 4), (4, 2))))
    table *= 1000 / table.sum()
    measurements = []
    for clique in cliques:
        axes = tuple(axis for axis, name in enumerate(DOMAIN) if name not in clique)
        measurements.append(Measurement(View(clique), table.sum(axis=axes).reshape(-1), sigma, 0.0))
    loss = QuadraticLoss.of(DOMAIN, measurements)
    return MarginalOracle(JunctionTree.build(DOMAIN, loss.cliques), loss.cliques, 1000.0), loss


@pytest.mark.parametrize("order", [CHAIN, CHAIN[::-1], CHAIN[3:]])
def test_exact_marginals_of_a_tree_are_fitted_by_the_initial_potentials(order: list[Clique]) -> None:
    oracle, loss = problem(order)
    marginals, _ = oracle(initial_potentials(oracle, loss, {}))
    np.testing.assert_allclose(marginals, loss.values, rtol=1e-6)


def test_a_new_clique_is_fitted_by_the_initial_potentials_of_a_warm_start() -> None:
    oracle, loss = problem(CHAIN[:-1])
    potentials = initial_potentials(oracle, loss, {})
    parts = np.split(potentials, np.cumsum([np.prod(s) for s in loss.shapes])[:-1])
    oracle, loss = problem([CHAIN[-1], *CHAIN[:-1]])
    marginals, _ = oracle(initial_potentials(oracle, loss, dict(zip(CHAIN[:-1], parts, strict=True))))
    np.testing.assert_allclose(marginals, loss.values, rtol=1e-6)


def test_known_potentials_are_kept_and_those_of_other_cliques_ignored() -> None:
    oracle, loss = problem([("a",), ("c",)], sigma=1000.0)
    known = {("c",): np.arange(4.0), ("a",): np.array([3.0, 1.0]), ("b",): np.ones(3)}
    potentials = initial_potentials(oracle, loss, known)
    np.testing.assert_array_equal(potentials, [3.0, 1.0, 0.0, 1.0, 2.0, 3.0])


@pytest.mark.parametrize("seed", range(5))
def test_loops_never_start_worse_than_independent_attributes(seed: int) -> None:
    oracle, loss = problem([("a",), ("b",), ("c",), ("d",)], seed)
    single = initial_potentials(oracle, loss, {})
    every_pair = [("a", "b"), ("a", "c"), ("a", "d"), ("b", "c"), ("b", "d"), ("c", "d")]
    oracle, loss = problem([("a",), ("b",), ("c",), ("d",), *every_pair], seed)
    independent = np.concatenate([single, np.zeros(len(loss.values) - len(single))])
    baseline = loss.of_marginals(oracle(independent)[0])
    marginals, _ = oracle(initial_potentials(oracle, loss, {}))
    assert loss.of_marginals(marginals) <= baseline


def test_negative_and_zero_measurements_give_finite_potentials() -> None:
    loss = QuadraticLoss.of(
        DOMAIN,
        [
            Measurement(View(("a",)), np.array([-5.0, 0.0]), 1.0, 0.0),
            Measurement(View(("a", "b")), np.array([-9.0, 0.0, 0.0, 0.0, 0.0, -1.0]), 1.0, 0.0),
        ],
    )
    oracle = MarginalOracle(JunctionTree.build(DOMAIN, loss.cliques), loss.cliques, 1.0)
    potentials = initial_potentials(oracle, loss, {})
    assert np.all(np.isfinite(potentials))
    assert np.all(np.isfinite(oracle(potentials)[0]))


def test_a_warm_start_far_from_the_measurements_is_replaced_by_a_cold_one() -> None:
    # It says that the second value of a is impossible, which no descent would fix.
    oracle, loss = problem([("a",), ("c",)])
    known = {("a",): np.array([0.0, -1000.0])}
    np.testing.assert_array_equal(
        initial_potentials(oracle, loss, known), initial_potentials(oracle, loss, {})
    )


def test_a_warm_start_that_is_far_off_is_kept_where_a_cold_one_would_be_much_worse() -> None:
    # The three pairs make a loop, which no first guess meets.
    cliques: list[Clique] = [("a", "b"), ("b", "c"), ("a", "c")]
    oracle, loss = problem(cliques, sigma=1e-5)
    end = descend(oracle, loss, initial_potentials(oracle, loss, {}), 500, 1e-9).end
    parts = split(end.potentials + 1e-4 * np.cos(np.arange(len(end.potentials))), loss.shapes)
    known = {clique: part.reshape(-1) for clique, part in zip(cliques, parts, strict=True)}
    start = initial_potentials(oracle, loss, known)
    np.testing.assert_array_equal(start, np.concatenate(list(known.values())))
    assert loss.of_marginals(oracle(start)[0]) > 100 * len(start)
