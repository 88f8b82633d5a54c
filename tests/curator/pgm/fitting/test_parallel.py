import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import nnls

from dpmosaic.common.data.boxes import box_sums
from dpmosaic.common.data.domain import Clique, Domain
from dpmosaic.common.data.grouping import group_sums
from dpmosaic.common.data.view import View
from dpmosaic.common.errors import ModelError
from dpmosaic.common.measurement import Measurement
from dpmosaic.curator.pgm.fitting import parallel
from dpmosaic.curator.pgm.fitting.estimation import estimate
from dpmosaic.curator.pgm.fitting.loss import QuadraticLoss
from dpmosaic.curator.pgm.fitting.parallel import estimate_in_parallel
from dpmosaic.curator.pgm.fitting.reconcile import reconcile
from dpmosaic.curator.pgm.model import MarkovRandomField
from dpmosaic.curator.pgm.structure.junction_tree import JunctionTree

Array = NDArray[np.float64]
Summed = Callable[[Domain, Array, Clique], Array]
Joint = Callable[[Domain, Mapping[Clique, Array]], Array]

SQUARE = Domain.coded({"a": 2, "b": 2, "c": 2, "d": 2})
LOOP: list[Clique] = [("a", "b"), ("b", "c"), ("c", "d"), ("a", "d")]


def noisy(
    domain: Domain, table: Array, cliques: Sequence[Clique], summed: Summed, sigmas: Sequence[float]
) -> list[Measurement]:
    rng = np.random.default_rng(3)
    found = []
    for clique, sigma in zip(cliques, sigmas, strict=True):
        values = summed(domain, table, clique)
        found.append(
            Measurement(View(clique), values + rng.normal(scale=sigma, size=values.shape), sigma, 0.0)
        )
    return found


def least_loss(domain: Domain, measurements: Sequence[Measurement], total: float) -> float:
    """The least loss over all joint tables of a total, by non-negative least squares."""
    cells = np.indices(domain.sizes).reshape(len(domain), -1)
    rows, targets = [np.ones((1, cells.shape[1]))], [np.array([total])]
    for m in measurements:
        axes = [domain.position(name) for name in m.clique]
        code = np.ravel_multi_index(tuple(cells[axes]), domain.shape(m.clique))
        rows.append((np.arange(len(m.values))[:, None] == code) / m.sigma)
        targets.append(m.values / m.sigma)
    # The total as one more measurement, far more exact than any other.
    rows[0], targets[0] = rows[0] * 1e3, targets[0] * 1e3
    _, norm = nnls(np.concatenate(rows), np.concatenate(targets), maxiter=10_000)
    return float(norm**2) / 2


def in_step(domain: Domain, strength: float) -> Array:
    """1000 records in which each attribute mostly equals the one before."""
    codes = np.indices(domain.sizes)
    equal = sum((codes[i] == codes[i - 1]).astype(float) for i in range(1, len(domain)))
    table = np.asarray(np.exp(strength * equal))
    return table / table.sum() * 1000


def test_where_no_count_is_near_zero_the_loss_is_the_least_that_any_table_has(
    shape: tuple[Domain, list[Clique]], summed: Summed
) -> None:
    domain, cliques = shape
    cliques = [*cliques, *[(name,) for name in domain.names]]
    table = np.random.default_rng(0).dirichlet(np.full(int(np.prod(domain.sizes)), 30.0))
    sigmas = np.random.default_rng(1).uniform(5, 50, len(cliques)).tolist()
    measurements = noisy(domain, table.reshape(domain.sizes) * 1e6, cliques, summed, sigmas)
    model = estimate_in_parallel(domain, measurements, total=1e6, max_iterations=5000, tolerance=1e-8)
    assert model.loss <= least_loss(domain, measurements, 1e6) * 1.002 + 1e-3


def test_sums_over_boxes_are_fitted_in_the_clique_that_holds_their_attributes(summed: Summed) -> None:
    """A chain: (a, b) in four boxes, (b, c) in cells, b on its own.

    The fit of (b, c) does not hear what the boxes say of b. Without them sums would be off by hundreds.
    """
    domain = Domain.coded({"a": 4, "b": 3, "c": 3})
    table = np.random.default_rng(0).dirichlet(np.full(36, 30.0)).reshape(domain.sizes) * 1e6
    boxes = tuple(((low, low + 2), b) for low in (0, 2) for b in ((0, 1), (1, 3)))
    sums = box_sums(summed(domain, table, ("a", "b")), (4, 3), boxes) + np.array([9.0, -4, 11, 5])
    measurements = [
        *noisy(domain, table, [("b",), ("b", "c")], summed, [10.0, 20.0]),
        Measurement(View(("a", "b"), boxes=boxes), sums, 5.0, 0.0),
    ]
    joint, apart = (
        fit(domain, measurements, total=1e6, max_iterations=5000, tolerance=1e-8)
        for fit in (estimate, estimate_in_parallel)
    )
    assert joint.loss * (1 - 1e-6) <= apart.loss <= joint.loss * 1.1
    np.testing.assert_allclose(box_sums(apart.marginal(("a", "b")), (4, 3), boxes), sums, atol=20)


def test_counts_of_groups_are_fitted_in_the_clique_that_holds_their_attributes(summed: Summed) -> None:
    """The chain above with groups of codes in place of boxes, and a deviation for each count."""
    domain = Domain.coded({"a": 4, "b": 3, "c": 3})
    table = np.random.default_rng(0).dirichlet(np.full(36, 30.0)).reshape(domain.sizes) * 1e6
    groups = ((0, 1, 1, 0), (0, 1, 0))
    sums = group_sums(summed(domain, table, ("a", "b")), (4, 3), groups) + np.array([9.0, -4, 11, 5])
    sigmas = np.array([4.0, 5.0, 6.0, 5.0])
    measurements = [
        *noisy(domain, table, [("b",), ("b", "c")], summed, [10.0, 20.0]),
        Measurement(View(("a", "b"), groups=groups), sums, 5.0, 0.0, sigmas=sigmas),
    ]
    joint, apart = (
        fit(domain, measurements, total=1e6, max_iterations=5000, tolerance=1e-8)
        for fit in (estimate, estimate_in_parallel)
    )
    assert joint.loss * (1 - 1e-6) <= apart.loss <= joint.loss * 1.25
    np.testing.assert_allclose(group_sums(apart.marginal(("a", "b")), (4, 3), groups), sums, atol=20)


def test_a_sum_of_cells_has_the_sum_of_their_variances() -> None:
    domain = Domain.coded({"a": 2, "b": 3})
    sigmas = np.array([1.0, 2.0, 3.0, 4.0, 1.0, 2.0])
    values = np.arange(6.0)
    rms = float(np.sqrt(np.square(sigmas).mean()))
    loss = QuadraticLoss.of(domain, [Measurement(View(("a", "b")), values, rms, 0.0, sigmas=sigmas)])
    (rows,) = parallel._summed_to(domain.project(("a",)), loss)
    (columns,) = parallel._summed_to(domain.project(("b",)), loss)
    for found, expected, total in [
        (rows, [1 + 4 + 9, 16 + 1 + 4], [3, 12]),
        (columns, [1 + 16, 4 + 1, 9 + 4], [3, 5, 7]),
    ]:
        assert found.values.tolist() == total
        assert found.sigmas is not None
        np.testing.assert_allclose(found.sigmas**2, expected)
        assert found.sigma**2 == pytest.approx(np.mean(expected))


def test_cells_at_zero_increase_the_loss_little(summed: Summed) -> None:
    domain = Domain.coded({"a": 6, "b": 5, "c": 6, "d": 5})
    cliques: list[Clique] = [("a",), ("b",), ("c",), ("d",), ("a", "b"), ("b", "c"), ("c", "d")]
    table = in_step(domain, 4.0)
    measurements = noisy(domain, table, cliques, summed, [20.0] * len(cliques))
    assert min(float(m.values.min()) for m in measurements) < 0
    joint = estimate(domain, measurements, total=1000.0, tolerance=1e-6, max_iterations=5000)
    apart = estimate_in_parallel(domain, measurements, total=1000.0, tolerance=1e-6, max_iterations=5000)
    assert joint.loss * (1 - 1e-3) < apart.loss < joint.loss * 1.05


def test_cliques_with_an_unmeasured_separator_are_fitted_together(summed: Summed) -> None:
    exact = [Measurement(View(c), summed(SQUARE, in_step(SQUARE, 2.0), c), 1.0, 0.0) for c in LOOP]
    together, alone = (
        estimate_in_parallel(SQUARE, exact, total=1000.0, tolerance=1e-6, max_block_mb=limit)
        for limit in (1.0, 0.0)
    )
    assert len(alone.tree.cliques) == 2
    assert together.loss < 1
    assert alone.loss > 100


def test_cliques_with_measured_separators_are_fitted_separately(
    summed: Summed, monkeypatch: pytest.MonkeyPatch
) -> None:
    fitted = spy(monkeypatch)
    table = in_step(SQUARE, 2.0)
    chord = "ac" if ("a", "c") in estimate(SQUARE, exactly(table, LOOP, summed)).tree.separators else "bd"
    estimate_in_parallel(SQUARE, exactly(table, LOOP, summed))
    assert fitted == [("a", "b", "c", "d")]
    fitted.clear()
    estimate_in_parallel(SQUARE, exactly(table, [*LOOP, tuple(chord)], summed))
    assert sorted(fitted) == sorted(
        tuple(name for name in "abcd" if name != without) for without in "abcd" if without not in chord
    )


def test_a_block_grows_no_larger_than_allowed(summed: Summed, monkeypatch: pytest.MonkeyPatch) -> None:
    fitted = spy(monkeypatch)
    measurements = exactly(in_step(SQUARE, 2.0), LOOP, summed)
    # Two cliques of 8 cells of 8 bytes.
    estimate_in_parallel(SQUARE, measurements, max_block_mb=128 / 2**20)
    assert len(fitted) == 1
    estimate_in_parallel(SQUARE, measurements, max_block_mb=127 / 2**20)
    assert len(fitted) == 3


def test_the_mean_is_taken_of_separators_that_were_measured(
    summed: Summed, monkeypatch: pytest.MonkeyPatch
) -> None:
    averaged: list[list[int]] = []

    def watched(tree: JunctionTree, tables: Sequence[Array], places: list[int]) -> tuple[Array, ...]:
        averaged.append(places)
        return reconcile(tree, tables, places)

    monkeypatch.setattr(parallel, "reconcile", watched)
    table = in_step(SQUARE, 2.0)
    for cliques, expected in ((LOOP, []), ([*LOOP, ("a", "c"), ("b", "d")], []), (LOOP[:3], [1, 2])):
        estimate_in_parallel(SQUARE, exactly(table, cliques, summed), max_block_mb=0.0)
        assert averaged.pop() == expected


def test_the_potentials_define_the_models_distribution(
    shape: tuple[Domain, list[Clique]], summed: Summed, joint: Joint
) -> None:
    domain, cliques = shape
    table = np.random.default_rng(0).dirichlet(np.full(int(np.prod(domain.sizes)), 5.0))
    cliques = [*cliques, *[(name,) for name in domain.names]]
    measurements = noisy(domain, table.reshape(domain.sizes) * 1e6, cliques, summed, [20.0] * len(cliques))
    model = estimate_in_parallel(domain, measurements, total=1e6, max_iterations=5000, tolerance=1e-8)
    assert set(model.potentials) == set(cliques)
    defined = joint(domain, model.potentials)
    defined *= 1e6 / defined.sum()
    for clique, belief in zip(model.tree.cliques, model.beliefs, strict=True):
        np.testing.assert_allclose(
            summed(domain, defined, clique), belief.reshape(-1), atol=2e-4 * 1e6, rtol=1e-3
        )


def test_a_joint_fit_that_starts_from_the_model_needs_few_steps(summed: Summed) -> None:
    domain = Domain.coded({"a": 6, "b": 5, "c": 6, "d": 5})
    cliques: list[Clique] = [("a",), ("b",), ("c",), ("d",), ("a", "b"), ("b", "c"), ("c", "d")]
    measurements = noisy(domain, in_step(domain, 3.0), cliques, summed, [10.0] * len(cliques))
    best = estimate(domain, measurements, total=1000.0, tolerance=1e-6, max_iterations=5000)
    start = estimate_in_parallel(domain, measurements, total=1000.0, tolerance=1e-5)
    few = estimate(domain, measurements, total=1000.0, max_iterations=10, warm_start=start)
    cold = estimate(domain, measurements, total=1000.0, max_iterations=10)
    assert few.loss - best.loss < 0.25 * (cold.loss - best.loss) + 1e-3 * best.loss


@pytest.mark.slow
def test_large_blocks_are_fitted_at_the_same_time_with_the_same_result(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    domain = Domain.coded({"a": 200, "b": 200, "c": 180, "d": 210, "e": 3})
    rng = np.random.default_rng(0)
    measurements = [
        Measurement(View(clique), rng.gamma(0.3, 10.0, domain.cells(clique)), 2.0, 0.0)
        for clique in (("a", "b"), ("b", "c"), ("c", "d"), ("e",))
    ]
    models = []
    both = threading.Barrier(2, timeout=60)
    for threads in (1, 2):
        names: set[str] = set()

        def meet(*args: Any, names: set[str] = names, threads: int = threads, **options: Any) -> Any:
            first = threading.current_thread().name not in names
            names.add(threading.current_thread().name)
            if threads == 2 and first:
                both.wait()
            return estimate(*args, **options)

        monkeypatch.setattr(parallel, "estimate", meet)
        models.append(
            estimate_in_parallel(domain, measurements, total=1e5, max_iterations=5, threads=threads)
        )
        assert len(names) == threads
    for one, two in zip(models[0].beliefs, models[1].beliefs, strict=True):
        np.testing.assert_array_equal(one, two)
    assert models[0].loss == models[1].loss


def test_a_fit_that_fails_in_a_thread_raises_the_same_error_as_outside() -> None:
    domain = Domain.coded({"a": 200, "b": 200, "c": 200})
    values = np.zeros(200 * 200)
    values[:2] = 1e200, -1e200
    measurements = [Measurement(View(clique), values, 1e-8, 0.0) for clique in (("a", "b"), ("b", "c"))]
    with pytest.raises(ModelError, match="finite"):
        estimate_in_parallel(domain, measurements, total=10.0, threads=2)


def exactly(table: Array, cliques: Sequence[Clique], summed: Summed) -> list[Measurement]:
    return [Measurement(View(clique), summed(SQUARE, table, clique), 1.0, 0.0) for clique in cliques]


def spy(monkeypatch: pytest.MonkeyPatch) -> list[Clique]:
    """The attributes of each fit from now on."""
    fitted: list[Clique] = []

    def watched(domain: Domain, *args: Any, **options: Any) -> MarkovRandomField:
        fitted.append(domain.names)
        return estimate(domain, *args, **options)

    monkeypatch.setattr(parallel, "estimate", watched)
    return fitted
