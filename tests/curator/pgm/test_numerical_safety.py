"""Fits of everything that a measurement may hold: finite, consistent, never worse than the uniform model."""

import itertools
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import nnls

from dpmosaic.common.data.domain import Clique, Domain
from dpmosaic.common.data.view import View
from dpmosaic.common.errors import ModelError
from dpmosaic.common.measurement import Measurement
from dpmosaic.curator.pgm.fitting.estimation import estimate
from dpmosaic.curator.pgm.fitting.estimator import Estimator
from dpmosaic.curator.pgm.fitting.loss import QuadraticLoss, split
from dpmosaic.curator.pgm.fitting.parallel import estimate_in_parallel
from dpmosaic.curator.pgm.model import MarkovRandomField

pytestmark = pytest.mark.slow

Array = NDArray[np.float64]
Summed = Callable[[Domain, Array, Clique], Array]

DOMAIN = Domain.coded({"a": 2, "b": 3, "c": 4, "d": 1, "e": 3})
SETS: dict[str, list[Clique]] = {
    "pairs": [c for k in (1, 2) for c in itertools.combinations(DOMAIN.names, k)],
    "tree": [("a",), ("a", "b"), ("b", "c"), ("c", "e")],
    "nested": [("a",), ("a", "b"), ("a", "b", "c"), ("b", "c", "e"), ("d",), ("e",)],
    "apart": [("a", "b"), ("c",), ("d",)],
}
SIGMAS = [1e-3, 1.0, 1e3, 1e7]
TOTALS = [1.0, 1e3, 1e6, 1e9]


def table(kind: str, seed: int = 0) -> Array:
    """Shares of the cells."""
    rng = np.random.default_rng(seed)
    cells = DOMAIN.cells(DOMAIN.names)
    shares = rng.dirichlet(np.full(cells, 0.5))
    if kind == "few cells":
        shares[rng.permutation(cells)[8:]] = 0
    elif kind == "one cell":
        shares = np.eye(cells)[17]
    shares = shares.reshape(DOMAIN.sizes)
    if kind == "structural zeros":
        shares[0, 0] = shares[:, 1, 2] = 0
    return np.asarray(shares / shares.sum())


def check(model: MarkovRandomField, measurements: Sequence[Measurement]) -> None:
    """Everything is finite, sums to the total, and is no worse than the uniform model."""
    for belief in model.beliefs:
        assert np.isfinite(belief).all()
        assert belief.min() >= 0
        assert belief.sum() == pytest.approx(model.total, rel=1e-9)
    assert all(np.isfinite(potential).all() for potential in model.potentials.values())
    loss = QuadraticLoss.of(DOMAIN, measurements)
    even = np.concatenate([np.full(shape, model.total / np.prod(shape)).ravel() for shape in loss.shapes])
    assert model.loss <= loss.of_marginals(even) * (1 + 1e-9)


def least_loss(measurements: Sequence[Measurement], total: float) -> float:
    """The least loss over all joint tables of a total, by non-negative least squares on their shares."""
    loss = QuadraticLoss.of(DOMAIN, measurements)
    cells = np.indices(DOMAIN.sizes).reshape(len(DOMAIN), -1)
    rows = []
    for clique, weights, values in zip(
        loss.cliques, split(loss.weights, loss.shapes), split(loss.values, loss.shapes), strict=True
    ):
        axes = [DOMAIN.position(name) for name in clique]
        code = np.ravel_multi_index(tuple(cells[axes]), DOMAIN.shape(clique))
        inside = np.arange(values.size)[:, None] == code
        # With shares that sum to 1 the residual is linear in them, values and all.
        rows.append(np.sqrt(weights.reshape(-1, 1)) * (inside * total - values.reshape(-1, 1)))
    residuals = np.concatenate(rows)
    scale = np.abs(residuals).max()
    system = np.concatenate([residuals / scale, np.full((1, residuals.shape[1]), 100.0)])
    shares, _ = nnls(system, np.append(np.zeros(len(residuals)), 100.0), maxiter=20_000)
    found = residuals @ (shares / shares.sum())
    return 0.5 * float(found @ found)


def noisy(
    kind: str, cliques: Sequence[Clique], total: float, sigmas: Sequence[float], summed: Summed
) -> list[Measurement]:
    rng = np.random.default_rng(1)
    found = []
    for clique, sigma in zip(cliques, sigmas, strict=True):
        values = summed(DOMAIN, table(kind) * total, clique)
        found.append(
            Measurement(View(clique), values + rng.normal(scale=sigma, size=len(values)), sigma, 0.0)
        )
    return found


@pytest.mark.parametrize("cliques", SETS.values(), ids=SETS)
@pytest.mark.parametrize("kind", ["dense", "few cells", "structural zeros", "one cell"])
def test_noisy_marginals_of_any_scale_come_close_to_the_least_loss(
    kind: str, cliques: list[Clique], summed: Summed
) -> None:
    for total, sigma in itertools.product(TOTALS, SIGMAS):
        measurements = noisy(kind, cliques, total, [sigma] * len(cliques), summed)
        model = estimate(DOMAIN, measurements, total=total, tolerance=1e-6, max_iterations=3000)
        check(model, measurements)
        # Loops of pairs over a table with empty cells, a million times larger than the noise: cells that lost
        # all weight on the way do not come back. Up to 1e9 that costs a part of the noise's own loss.
        far = cliques is SETS["pairs"] and kind != "dense" and total / sigma > 1e5
        if not far or total / sigma <= 1e9:
            assert model.loss <= least_loss(measurements, total) * (1.6 if far else 1.02) + 1e-6


@pytest.mark.parametrize("cliques", SETS.values(), ids=SETS)
@pytest.mark.parametrize("total", TOTALS)
def test_scales_of_all_sizes_in_one_fit_stay_finite(
    total: float, cliques: list[Clique], summed: Summed
) -> None:
    rng = np.random.default_rng(0)
    for kind in ("dense", "one cell"):
        sigmas = rng.permutation(np.geomspace(1e-3, 1e7, len(cliques)))
        measurements = noisy(kind, cliques, total, sigmas.tolist(), summed)
        check(estimate(DOMAIN, measurements, total=total, max_iterations=300), measurements)


@pytest.mark.parametrize("sigma", SIGMAS)
@pytest.mark.parametrize("total", [None, 1.0, 1e9])
@pytest.mark.parametrize(
    "values",
    [
        lambda rng, n: np.zeros(n),
        lambda rng, n: np.full(n, -10.0),
        lambda rng, n: -rng.random(n) * 1e6,
        lambda rng, n: rng.normal(size=n) * 1e6,
        lambda rng, n: rng.normal(size=n) * 1e12,
        lambda rng, n: 1e12 * (np.arange(n) == 0),
    ],
    ids=["zeros", "negative", "all negative", "contradictory", "huge", "huge in one cell"],
)
def test_inconsistent_measurements_are_fitted_as_well_as_possible(
    values: Callable[[np.random.Generator, int], Array], total: float | None, sigma: float
) -> None:
    rng = np.random.default_rng(0)
    measurements = [
        Measurement(View(clique), values(rng, DOMAIN.cells(clique)), sigma, 0.0) for clique in SETS["pairs"]
    ]
    model = estimate(DOMAIN, measurements, total=total, max_iterations=3000)
    check(model, measurements)
    assert model.loss <= least_loss(measurements, model.total) * 1.01 + 1.0


@pytest.mark.parametrize("kind", ["dense", "few cells"])
@pytest.mark.parametrize("contradictory", [False, True], ids=["noisy", "contradictory"])
def test_after_many_warm_starts_a_fit_is_about_as_good_as_a_cold_one(
    kind: str, contradictory: bool, summed: Summed
) -> None:
    cliques = SETS["pairs"]
    measurements = noisy(kind, cliques, 1e4, [10.0] * len(cliques), summed)
    rng = np.random.default_rng(2)
    model = None
    for _ in range(40):
        place = int(rng.integers(len(cliques)))
        values = summed(DOMAIN, table(kind) * 1e4, cliques[place])
        if contradictory:
            values = rng.dirichlet(np.full(len(values), 0.1)) * 1e4
        changed = values + rng.normal(scale=10.0, size=len(values))
        measurements[place] = Measurement(View(cliques[place]), changed, 10.0, 0.0)
        model = estimate(DOMAIN, measurements, total=1e4, warm_start=model)
    assert model is not None
    check(model, measurements)
    assert model.loss <= estimate(DOMAIN, measurements, total=1e4).loss * 1.1


def test_a_hundred_unconnected_attributes_are_fitted_separately() -> None:
    rng = np.random.default_rng(0)
    domain = Domain.coded({f"x{i}": int(rng.integers(1, 9)) for i in range(100)})
    measurements = []
    for name in domain.names[::2]:
        shares = rng.dirichlet(np.ones(domain[name].size))
        measurements.append(Measurement(View((name,)), shares * 1e6, 10.0, 0.0))
    model = estimate(domain, measurements, total=1e6, tolerance=1e-6)
    assert model.converged
    for measurement in measurements:
        np.testing.assert_allclose(model.marginal(measurement.clique), measurement.values, atol=1.0)
    np.testing.assert_allclose(model.marginal(("x1",)), 1e6 / domain["x1"].size)


def test_a_thousand_measurements_of_two_cliques_are_fitted_like_their_means(summed: Summed) -> None:
    cliques: list[Clique] = [("a",), ("a", "b")]
    many = [
        measurement
        for seed in range(500)
        for measurement in noisy("dense", cliques, 1e4, [10.0 + seed] * 2, summed)
    ]
    loss = QuadraticLoss.of(DOMAIN, many)
    values, weights = split(loss.values, loss.shapes), split(loss.weights, loss.shapes)
    means = [
        Measurement(View(clique), value.ravel(), float(weight.flat[0]) ** -0.5, 0.0)
        for clique, value, weight in zip(loss.cliques, values, weights, strict=True)
    ]
    one, two = (estimate(DOMAIN, given, total=1e4, tolerance=1e-9) for given in (many, means))
    np.testing.assert_allclose(one.marginal(("a", "b")), two.marginal(("a", "b")), rtol=1e-6)


def test_attributes_of_one_value_have_the_total_whatever_was_measured() -> None:
    domain = Domain.coded({"a": 1, "b": 1, "c": 1})
    cliques: list[Clique] = [("a",), ("a", "b"), ("b", "c"), ("a", "b", "c")]
    measurements = [Measurement(View(clique), np.array([-5.0]), 1e-3, 0.0) for clique in cliques]
    model = estimate(domain, measurements, total=7.0)
    assert model.converged
    assert model.marginal(("a", "b", "c")) == pytest.approx([7.0])


def test_a_clique_of_a_million_cells_is_fitted() -> None:
    domain = Domain.coded({"a": 1000, "b": 1000})
    shares = np.random.default_rng(0).random(1_000_000) ** 8
    values = shares / shares.sum() * 1e8
    model = estimate(domain, [Measurement(View(("a", "b")), values, 1.0, 0.0)], total=1e8, max_iterations=5)
    found = model.marginal(("a", "b"))
    assert np.isfinite(found).all()
    assert model.loss < 0.01 * 0.5 * float(((values - 100.0) ** 2).sum())


@pytest.mark.parametrize("estimator", [estimate, estimate_in_parallel])
def test_a_fit_says_whether_it_converged(estimator: Estimator, summed: Summed) -> None:
    measurements = noisy("dense", SETS["pairs"], 1e4, [3.0] * len(SETS["pairs"]), summed)
    assert estimator(DOMAIN, measurements, total=1e4).converged
    assert not estimator(DOMAIN, measurements, total=1e4, max_iterations=2).converged


def test_refuses_values_whose_loss_overflows() -> None:
    huge = Measurement(View(("a",)), np.array([1e200, -1e200]), 1.0, 0.0)
    with pytest.raises(ModelError, match="not finite"):
        estimate(DOMAIN, [huge], total=1.0)
