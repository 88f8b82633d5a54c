import itertools
from collections.abc import Callable, Mapping

import numpy as np
import pytest
from numpy.typing import NDArray

from dpmosaic.common.data.domain import Clique, Domain
from dpmosaic.common.data.view import View
from dpmosaic.common.errors import ModelError
from dpmosaic.common.measurement import Measurement
from dpmosaic.curator.pgm.fitting import descent
from dpmosaic.curator.pgm.fitting.descent import Point, descend
from dpmosaic.curator.pgm.fitting.loss import QuadraticLoss, split
from dpmosaic.curator.pgm.inference.oracle import MarginalOracle
from dpmosaic.curator.pgm.structure.junction_tree import JunctionTree

Array = NDArray[np.float64]
Joint = Callable[[Domain, Mapping[Clique, Array]], Array]

DOMAIN = Domain.coded({"a": 3, "b": 4, "c": 2})
PAIRS: list[Clique] = [("a",), ("a", "b"), ("b", "c"), ("a", "c")]


def problem(
    measured: Mapping[Clique, list[float] | Array], total: float, sigma: float = 1.0, domain: Domain = DOMAIN
) -> tuple[MarginalOracle, QuadraticLoss]:
    measurements = [Measurement(View(c), np.array(v, dtype=float), sigma, 0.0) for c, v in measured.items()]
    loss = QuadraticLoss.of(domain, measurements)
    return MarginalOracle(JunctionTree.build(domain, loss.cliques), loss.cliques, total), loss


def noisy_pairs(
    total: float = 100.0, sigma: float = 1.0, seed: int = 0
) -> tuple[MarginalOracle, QuadraticLoss]:
    rng = np.random.default_rng(seed)
    table = rng.dirichlet(np.ones(24)).reshape(DOMAIN.sizes) * total
    measured = {}
    for clique in PAIRS:
        axes = tuple(axis for axis, name in enumerate(DOMAIN.names) if name not in clique)
        values = table.sum(axis=axes).ravel()
        measured[clique] = values + rng.normal(scale=sigma, size=len(values))
    return problem(measured, total, sigma)


def covariance(oracle: MarginalOracle, loss: QuadraticLoss, potentials: Array, joint: Joint) -> Array:
    """Of the indicators of all measured cells, times the total, by the joint table."""
    table = joint(DOMAIN, dict(zip(loss.cliques, split(potentials, loss.shapes), strict=True)))
    shares = (table / table.sum()).ravel()
    cells = np.indices(DOMAIN.sizes).reshape(len(DOMAIN), -1)
    rows = []
    for clique, shape in zip(loss.cliques, loss.shapes, strict=True):
        code = np.ravel_multi_index(tuple(cells[[DOMAIN.position(name) for name in clique]]), shape)
        rows.append(np.arange(np.prod(shape))[:, None] == code)
    inside = np.concatenate(rows).astype(float)
    mean = inside @ shares
    return np.asarray(((inside * shares) @ inside.T - np.outer(mean, mean)) * oracle.total)


@pytest.mark.parametrize(
    ("values", "nearest"),
    [
        ([5.0, 3.0, 2.0], [5.0, 3.0, 2.0]),
        ([8.0, 6.0, 5.0], [5.0, 3.0, 2.0]),
        ([6.0, 5.0, -3.0], [5.5, 4.5, 0.0]),
        ([90.0, -5.0, -9.0], [10.0, 0.0, 0.0]),
    ],
    ids=["inside", "another total", "on an edge", "in a corner"],
)
def test_one_marginal_is_fitted_by_the_nearest_one_with_the_total(
    values: list[float], nearest: list[float]
) -> None:
    oracle, loss = problem({("a",): values}, 10.0)
    end = descend(oracle, loss, np.zeros(3), 500, 1e-9).end
    np.testing.assert_allclose(end.marginals, nearest, atol=1e-3)
    assert end.loss == pytest.approx(loss.of_marginals(np.array(nearest)), rel=1e-5, abs=1e-5)


def test_the_result_belongs_to_the_end_point() -> None:
    oracle, loss = noisy_pairs()
    end = descend(oracle, loss, np.zeros(len(loss.values)), 5, 0.0).end
    np.testing.assert_array_equal(end.marginals, oracle(end.potentials)[0])
    assert end.loss == loss.of_marginals(end.marginals)
    np.testing.assert_array_equal(end.pull, loss.gradient(end.marginals))


@pytest.mark.parametrize("moves", [0, 4])
@pytest.mark.parametrize("sigma", [0.1, 30.0])
def test_the_slope_is_the_covariance_times_the_gradient(moves: int, sigma: float, joint: Joint) -> None:
    oracle, loss = noisy_pairs(sigma=sigma)
    start = np.random.default_rng(3).normal(size=len(loss.values))
    end = descend(oracle, loss, start, moves, 0.0).end
    expected = covariance(oracle, loss, end.potentials, joint) @ end.pull
    np.testing.assert_allclose(end.slope, expected, atol=1e-5 * np.abs(expected).max())


@pytest.mark.parametrize("moves", [0, 1, 5])
def test_it_stops_at_its_limit_and_says_that_it_has_not_converged(moves: int) -> None:
    oracle, loss = noisy_pairs(1e4)
    found = descend(oracle, loss, np.zeros(len(loss.values)), moves, 1e-9)
    assert (found.moves, found.converged) == (moves, False)


def test_it_stops_once_ten_moves_gain_little() -> None:
    oracle, loss = noisy_pairs()
    counts = []
    for tolerance in (1e-1, 1e-3, 1e-6):
        found = descend(oracle, loss, np.zeros(len(loss.values)), 10_000, tolerance)
        assert found.converged
        again = descend(oracle, loss, found.end.potentials, 10_000, 1e-9)
        assert found.end.loss <= again.end.loss * (1 + 3 * tolerance)
        counts.append(found.moves)
    assert counts[0] < counts[1] < counts[2] < 300


def test_it_stops_once_ten_moves_gain_little_beside_the_loss_that_noise_contributes() -> None:
    # Exact marginals: the least loss is 0. Noise would contribute a half for each of the 29 cells.
    table = np.random.default_rng(5).dirichlet(np.ones(24)).reshape(DOMAIN.sizes) * 1e4
    axes = {c: tuple(axis for axis, name in enumerate(DOMAIN.names) if name not in c) for c in PAIRS}
    oracle, loss = problem({c: table.sum(axis=axes[c]).ravel() for c in PAIRS}, 1e4, sigma=10.0)
    found = descend(oracle, loss, np.zeros(29), 500, 1e-2)
    assert found.converged
    gains = []
    for last in (found.moves - 1, found.moves):
        losses = [descend(oracle, loss, np.zeros(29), moves, 0.0).end.loss for moves in (last - 10, last)]
        gains.append(losses[0] - losses[1])
    assert gains[1] <= 1e-2 * 29 / 2 < gains[0]


def test_it_never_ends_above_its_start() -> None:
    for seed in range(20):
        rng = np.random.default_rng(seed)
        oracle, loss = noisy_pairs(10.0 ** rng.uniform(0, 6), 10.0 ** rng.uniform(-3, 3), seed)
        start = rng.normal(scale=10.0 ** rng.uniform(-1, 2.5), size=len(loss.values))
        begun = loss.of_marginals(oracle(start)[0])
        assert descend(oracle, loss, start, 30, 1e-3).end.loss <= begun


def test_it_stays_at_a_minimum() -> None:
    oracle, loss = problem({("a",): [1.0, 2.0, 3.0]}, 6.0)
    start = np.log([1.0, 2.0, 3.0])
    found = descend(oracle, loss, start, 100, 1e-3)
    assert found.converged
    assert found.end.loss == pytest.approx(0.0, abs=1e-20)


def test_cells_of_a_few_records_beside_many_millions_are_fitted_too() -> None:
    # The least is 0.5 x (2^2 + 2^2): the second and third cell want 4 and are 2 less each, by turns.
    oracle, loss = problem({("a",): [1e9 - 6.0, 4.0, 2.0], ("a", "c"): [1e9 - 6, 0, 0, 4, 2, 0]}, 1e9)
    found = descend(oracle, loss, np.zeros(len(loss.values)), 1000, 1e-6)
    assert found.converged
    np.testing.assert_allclose(found.end.marginals[1:3], [4.0, 2.0], atol=0.05)


def test_a_fit_of_scales_too_far_apart_is_reported_as_not_converged() -> None:
    rng = np.random.default_rng(1)
    every = [c for k in (1, 2) for c in itertools.combinations(DOMAIN.names, k)]
    measurements = []
    for clique, sigma in zip(every, [1e7, 1e-3, 1e4, 1e-3, 1e7, 10.0], strict=True):
        values = 1e9 / DOMAIN.cells(clique) + rng.normal(scale=1e6, size=DOMAIN.cells(clique))
        measurements.append(Measurement(View(clique), values, sigma, 0.0))
    loss = QuadraticLoss.of(DOMAIN, measurements)
    oracle = MarginalOracle(JunctionTree.build(DOMAIN, loss.cliques), loss.cliques, 1e9)
    found = descend(oracle, loss, np.zeros(len(loss.values)), 200, 1e-6)
    assert not found.converged
    assert np.isfinite(found.end.marginals).all()


def test_refuses_a_loss_beyond_floating_point() -> None:
    oracle, loss = problem({("a",): [1e200, 0.0, 0.0]}, 1.0)
    with (
        np.errstate(over="ignore"),
        pytest.raises(ModelError, match="the loss of the fit is not finite"),
    ):
        descend(oracle, loss, np.zeros(3), 10, 1e-3)


def point(rng: np.random.Generator, hessian: Array, guess: Array) -> Point:
    """A point of a quadratic: its slope is the Hessian times its place, its pull the guess times that."""
    place = rng.normal(size=len(hessian))
    slope = hessian @ place
    return Point(place, np.zeros(len(place)), 0.0, guess @ slope, slope)


def quadratic(seed: int = 0, cells: int = 7) -> tuple[np.random.Generator, Array, Array]:
    rng = np.random.default_rng(seed)
    one, two = rng.normal(size=(2, cells, cells))
    return rng, one @ one.T + np.eye(cells), two @ two.T + np.eye(cells)


@pytest.mark.parametrize("cellwise", [False, True])
@pytest.mark.parametrize("kept", [1, 3, 40])
def test_the_direction_undoes_the_latest_move(kept: int, cellwise: bool) -> None:
    # The secant equation: what has BFGS's approximation of the Hessian maps the move to the slope's change.
    rng, hessian, guess = quadratic()
    memory = descent._Memory(7)
    points = [point(rng, hessian, guess) for _ in range(kept + 1)]
    for one, two in itertools.pairwise(points):
        memory.remember(one, two)
    assert memory.count == min(kept, descent._REMEMBERED_MOVES)
    last, before = points[-1], points[-2]
    step = Point(last.potentials, last.marginals, 0.0, last.pull - before.pull, last.slope - before.slope)
    diagonal = rng.uniform(0.5, 2.0, 7) if cellwise else np.empty(0)
    found = memory.direction(step, 1.0, diagonal)
    np.testing.assert_allclose(found, before.potentials - last.potentials, rtol=1e-6, atol=1e-8)


def test_without_memory_the_direction_is_that_of_the_initial_hessian() -> None:
    rng, hessian, guess = quadratic()
    here, diagonal = point(rng, hessian, guess), rng.uniform(0.5, 2.0, 7)
    memory = descent._Memory(7)
    np.testing.assert_allclose(memory.direction(here, 0.3, np.empty(0)), -0.3 * here.pull)
    np.testing.assert_allclose(memory.direction(here, 0.3, diagonal), -0.3 * diagonal * here.slope)


@pytest.mark.parametrize("kept", [2, descent._REMEMBERED_MOVES, 40])
def test_a_move_along_which_the_loss_is_concave_is_not_remembered(kept: int) -> None:
    rng, hessian, guess = quadratic()
    memory = descent._Memory(7)
    points = [point(rng, hessian, guess) for _ in range(kept + 1)]
    for one, two in itertools.pairwise(points):
        memory.remember(one, two)
    here = point(rng, hessian, guess)
    before = memory.direction(here, 1.0, np.empty(0))
    move = rng.normal(size=7)
    change = -hessian @ move
    there = Point(here.potentials + move, move, 0.0, here.pull + change, here.slope + change)
    memory.remember(here, there)
    np.testing.assert_array_equal(memory.direction(here, 1.0, np.empty(0)), before)


def test_the_memory_is_bounded_where_there_are_many_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    assert descent._Memory(100)._moves.shape == (3, descent._REMEMBERED_MOVES + 1, 100)
    monkeypatch.setattr(descent, "_MEMORY_CELLS", 3000)
    assert [descent._Memory(cells)._moves.shape[1] for cells in (10, 100, 400, 5000)] == [17, 10, 2, 2]


@pytest.mark.parametrize("limit", [1, 200, 2**25])
def test_with_less_memory_it_comes_to_the_same_end(limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(descent, "_MEMORY_CELLS", limit)
    oracle, loss = noisy_pairs()
    found = descend(oracle, loss, np.zeros(len(loss.values)), 5000, 1e-9)
    monkeypatch.undo()
    usual = descend(oracle, loss, np.zeros(len(loss.values)), 5000, 1e-9)
    np.testing.assert_allclose(found.end.marginals, usual.end.marginals, atol=0.01)
