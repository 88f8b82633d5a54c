import itertools
import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import nnls

from dpmosaic.common.data.domain import Clique, Domain
from dpmosaic.common.data.table import Table
from dpmosaic.common.data.view import View
from dpmosaic.common.errors import ModelError
from dpmosaic.common.measurement import Measurement
from dpmosaic.curator.pgm.fitting.estimation import estimate
from dpmosaic.curator.pgm.fitting.loss import QuadraticLoss
from dpmosaic.curator.pgm.model import MarkovRandomField
from dpmosaic.curator.pgm.structure.junction_tree import JunctionTree
from support.fits import Summed, least_loss, loss_of, noisy

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("sigma", [1.0, 20.0, 400.0])
def test_the_loss_is_the_least_that_any_joint_table_has(
    shape: tuple[Domain, list[Clique]], sigma: float, summed: Summed
) -> None:
    domain, cliques = shape
    measurements, _ = noisy(domain, cliques, summed, sigma)
    model = estimate(domain, measurements, total=1000.0, max_iterations=5000, tolerance=1e-7)
    found = loss_of(model.marginals(cliques), measurements)
    assert model.loss == pytest.approx(found)
    best = least_loss(domain, measurements, 1000.0)
    assert best * (1 - 1e-6) - 1e-6 <= found <= best * 1.002 + 1e-3


@pytest.mark.parametrize("seed", range(8))
def test_repeated_and_nested_measurements_of_different_scales_are_fitted_together(
    seed: int, summed: Summed
) -> None:
    domain = Domain.coded({"a": 2, "b": 3, "c": 2, "d": 3})
    rng = np.random.default_rng(seed)
    every = [c for k in (1, 2, 3) for c in itertools.combinations(domain.names, k)]
    cliques = [every[i] for i in rng.integers(0, len(every), 8)]
    measurements = [
        noisy(domain, [clique], summed, float(rng.uniform(2, 50)), seed=seed)[0][0] for clique in cliques
    ]
    model = estimate(domain, measurements, total=1000.0, max_iterations=5000, tolerance=1e-7)
    found = loss_of(model.marginals(cliques), measurements)
    assert found <= least_loss(domain, measurements, 1000.0) * 1.002 + 1e-3


def test_with_different_noise_of_cells_the_loss_is_the_least_that_any_joint_table_has(
    summed: Summed,
) -> None:
    """By non-negative least squares, with a row for each cell over its own sigma."""
    domain = Domain.coded({"a": 2, "b": 3, "c": 2})
    cliques: list[Clique] = [("a", "b"), ("b", "c"), ("c",)]
    plain, _ = noisy(domain, cliques, summed, 3.0)
    rng = np.random.default_rng(8)
    found, rows, targets = [], [np.ones((1, 12)) * 1e4], [np.array([1e7])]
    cells = np.indices(domain.sizes).reshape(3, -1)
    for m in plain:
        sigmas = np.exp(rng.uniform(-2, 2, len(m.values)))
        rms = float(np.sqrt(np.square(sigmas).mean()))
        found.append(replace(m, sigma=rms, sigmas=sigmas))
        code = np.ravel_multi_index(
            tuple(cells[[domain.position(name) for name in m.clique]]), domain.shape(m.clique)
        )
        rows.append((np.arange(len(sigmas))[:, None] == code) / sigmas[:, None])
        targets.append(m.values / sigmas)
    _, norm = nnls(np.concatenate(rows), np.concatenate(targets))
    model = estimate(domain, found, total=1000.0, tolerance=1e-9, max_iterations=10_000)
    assert model.loss == pytest.approx(norm**2 / 2, rel=1e-3)
    # Fitted as if all cells deviated alike, it would be worse by far more than that.
    alike = estimate(domain, plain, total=1000.0, tolerance=1e-9, max_iterations=10_000)
    marginals = np.concatenate([alike.marginal(clique).ravel() for clique in cliques])
    assert QuadraticLoss.of(domain, found).of_marginals(marginals) > 1.1 * model.loss


def test_exact_marginals_are_recovered(shape: tuple[Domain, list[Clique]], summed: Summed) -> None:
    domain, cliques = shape
    _, table = noisy(domain, cliques, summed, 1.0)
    exact = [Measurement(View(clique), summed(domain, table, clique), 1e-3, 0.0) for clique in cliques]
    model = estimate(domain, exact, total=1000.0, max_iterations=3000, tolerance=1e-6)
    for clique in cliques:
        np.testing.assert_allclose(model.marginal(clique), summed(domain, table, clique), atol=0.1)


def test_the_beliefs_are_marginals_of_one_distribution(
    shape: tuple[Domain, list[Clique]], summed: Summed
) -> None:
    domain, cliques = shape
    model = estimate(domain, noisy(domain, cliques, summed, 50.0)[0], total=1000.0)
    tree = model.tree
    for place, belief in enumerate(model.beliefs):
        assert belief.min() >= 0
        assert belief.sum() == pytest.approx(1000.0)
        above = max(tree.parents[place], 0)
        one, two = (
            summed(domain.project(tree.cliques[end]), model.beliefs[end], tree.separators[place])
            for end in (place, above)
        )
        np.testing.assert_allclose(one, two, rtol=1e-6, atol=1e-7)


def test_without_measurements_the_model_is_uniform() -> None:
    domain = Domain.coded({"a": 2, "b": 3})
    model = estimate(domain, [], total=60.0)
    np.testing.assert_allclose(model.marginal(("a", "b")), np.full(6, 10.0))
    assert estimate(domain, []).total == 1.0


def test_only_a_measured_total_gives_the_uniform_model() -> None:
    domain = Domain.coded({"a": 2, "b": 3})
    model = estimate(domain, [Measurement(View(()), np.array([12.0]), 1.0, 0.0)])
    np.testing.assert_allclose(model.marginal(("a", "b")), np.full(6, 2.0))


def test_the_total_is_estimated_from_the_measurements_unless_given(summed: Summed) -> None:
    domain = Domain.coded({"a": 2, "b": 3})
    measurements, _ = noisy(domain, [("a",), ("b",)], summed, 0.5)
    assert estimate(domain, measurements).total == pytest.approx(1000.0, abs=5)
    assert estimate(domain, measurements, total=900.0).marginal(("a", "b")).sum() == pytest.approx(900.0)


def test_a_warm_start_reaches_the_same_loss_sooner(summed: Summed) -> None:
    domain = Domain.coded({name: 4 for name in "abcdef"})
    cliques = [(name,) for name in domain.names] + list(itertools.combinations(domain.names, 2))[:9]
    measurements, _ = noisy(domain, cliques, summed, 5.0)
    cold = estimate(domain, measurements, total=1000.0, tolerance=1e-5)
    before = estimate(domain, measurements[:-1], total=1000.0, tolerance=1e-5)
    assert before.tree.home(cliques[-1]) is None
    warm = estimate(domain, measurements, total=1000.0, tolerance=1e-5, warm_start=before)
    assert warm.loss == pytest.approx(cold.loss, rel=1e-3)
    assert warm.iterations <= cold.iterations
    few = estimate(domain, measurements, total=1000.0, max_iterations=10, warm_start=before)
    assert few.loss < estimate(domain, measurements, total=1000.0, max_iterations=10).loss


def test_a_tree_that_is_as_small_is_kept(summed: Summed) -> None:
    domain = Domain.coded({name: 3 for name in "abcd"})
    loop: list[Clique] = [("a", "b"), ("b", "c"), ("c", "d"), ("a", "d")]
    measurements, _ = noisy(domain, [*loop, ("a", "c"), ("b", "d")], summed, 5.0)
    before = estimate(domain, measurements[:4], total=1000.0)
    # The loop has one of two chords: no home for the other one, and too large a tree without the loop.
    chords = {clique: before.tree.home(clique) is not None for clique in (("a", "c"), ("b", "d"))}
    assert sum(chords.values()) == 1
    for measurement in measurements[4:]:
        after = estimate(domain, [*measurements[:4], measurement], total=1000.0, warm_start=before)
        assert (after.tree == before.tree) == chords[measurement.clique]
    assert estimate(domain, measurements[:2], total=1000.0, warm_start=before).tree != before.tree


def test_a_warm_start_works_without_some_of_its_measurements(summed: Summed) -> None:
    domain = Domain.coded({name: 3 for name in "abcd"})
    cliques = list(itertools.combinations(domain.names, 2))
    measurements, _ = noisy(domain, cliques, summed, 5.0)
    before = estimate(domain, measurements, total=1000.0)
    cold, warm = (
        estimate(domain, measurements[2:4], total=1000.0, tolerance=1e-6, warm_start=start)
        for start in (None, before)
    )
    assert set(warm.potentials) == set(cliques[2:4])
    assert warm.loss == pytest.approx(cold.loss, rel=1e-3, abs=1e-3)


def test_a_fit_stops_at_its_limit_and_when_nothing_is_gained(summed: Summed) -> None:
    domain = Domain.coded({"a": 3, "b": 4})
    measurements, _ = noisy(domain, [("a", "b")], summed, 30.0)
    assert estimate(domain, measurements, max_iterations=7).iterations == 7
    assert estimate(domain, measurements).iterations < 200


def test_the_same_measurements_give_the_same_model(summed: Summed) -> None:
    domain = Domain.coded({name: 3 for name in "abcd"})
    measurements, _ = noisy(domain, list(itertools.combinations(domain.names, 2)), summed, 9.0)
    one, two = (estimate(domain, measurements) for _ in range(2))
    for first, second in zip(one.beliefs, two.beliefs, strict=True):
        np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("sigma", [1e-6, 1e6])
def test_extreme_scales_stay_finite(sigma: float, summed: Summed) -> None:
    domain = Domain.coded({"a": 2, "b": 3, "c": 2})
    cliques = [("a",), ("a", "b"), ("b", "c")]
    measurements, table = noisy(domain, cliques, summed, sigma)
    model = estimate(domain, measurements, total=1000.0)
    assert all(np.all(np.isfinite(belief)) for belief in model.beliefs)
    if sigma < 1:
        np.testing.assert_allclose(model.marginal(("a", "b")), summed(domain, table, ("a", "b")), atol=1e-3)


def test_measurements_that_are_all_negative_are_fitted() -> None:
    domain = Domain.coded({"a": 2, "b": 3})
    model = estimate(
        domain, [Measurement(View(("a", "b")), np.arange(-6.0, 0.0), 1.0, 0.0)], total=10.0, tolerance=1e-7
    )
    # The nearest table of total 10 raises all values by 5 and cuts them at 0.
    np.testing.assert_allclose(model.marginal(("a", "b")), [0, 0, 1, 2, 3, 4], atol=0.05)


def test_refuses_a_loss_that_overflows() -> None:
    domain = Domain.coded({"a": 2})
    with pytest.raises(ModelError, match="finite"):
        estimate(domain, [Measurement(View(("a",)), np.array([1e200, -1e200]), 1e-8, 0.0)], total=10.0)


def test_refuses_a_model_over_the_limit_before_it_is_built() -> None:
    domain = Domain.coded({f"x{i}": 100 for i in range(12)})
    cliques = list(itertools.combinations(domain.names, 2))
    measurements = [Measurement(View(clique), np.zeros(10_000), 1.0, 0.0) for clique in cliques]
    with pytest.raises(ModelError, match=r"needs \d+\.\d MiB, more than the limit of 1024\.0 MiB"):
        estimate(domain, measurements)
    with pytest.raises(ModelError, match=r"needs 0\.1 MiB, more than the limit of 0\.0 MiB"):
        estimate(domain, measurements[:1], max_model_mb=0.01)


@pytest.mark.parametrize("total", [0.0, -1.0, np.nan, np.inf])
def test_refuses_a_total_that_is_no_number_of_records(total: float) -> None:
    with pytest.raises(ValueError, match="total: expected a positive number"):
        estimate(Domain.coded({"a": 2}), [], total=total)


def test_refuses_a_warm_start_of_another_domain() -> None:
    other = MarkovRandomField.uniform(Domain.coded({"b": 2}), 1.0)
    with pytest.raises(ValueError, match="of the same domain"):
        estimate(Domain.coded({"a": 2}), [], warm_start=other)


def test_the_fit_is_at_least_as_good_as_mbis(summed: Summed) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import jax
        import mbi
    sizes = {"a": 3, "b": 4, "c": 5, "d": 2, "e": 3}
    domain = Domain.coded(sizes)
    cliques: list[Clique] = [("a",), ("a", "b"), ("b", "c"), ("c", "d"), ("d", "e"), ("a", "e")]
    measurements, _ = noisy(domain, cliques, summed, 8.0)
    measurements.append(replace(measurements[1], values=measurements[1].values + 3.0, sigma=4.0))
    with warnings.catch_warnings(), jax.enable_x64(True):
        warnings.simplefilter("ignore")
        theirs = mbi.estimation.MirrorDescent().estimate(
            mbi.Domain(domain.names, domain.sizes),
            [mbi.LinearMeasurement(m.values, m.clique, stddev=m.sigma) for m in measurements],
            known_total=1000.0,
            iters=3000,
        )
        answers = {c: np.asarray(theirs.project(c).datavector()) for c in [*cliques, ("b", "d"), ("c", "e")]}
    ours = estimate(domain, measurements, total=1000.0, tolerance=1e-6, max_iterations=3000)
    asked = [m.clique for m in measurements]
    their_loss = loss_of([answers[clique] for clique in asked], measurements)
    assert loss_of(ours.marginals(asked), measurements) <= their_loss * 1.0001
    # At the optimum the measured marginals are unique; the others depend on how the fit gets there.
    for clique in cliques:
        np.testing.assert_allclose(ours.marginal(clique), answers[clique], atol=1.0)
    for clique in (("b", "d"), ("c", "e")):
        np.testing.assert_allclose(ours.marginal(clique), answers[clique], atol=10.0)


def test_size_one_domains_are_fitted() -> None:
    domain = Domain.coded({"a": 1})
    model = estimate(domain, [Measurement(View(("a",)), np.array([7.0]), 1.0, 0.0)])
    assert model.tree == JunctionTree.build(domain, [("a",)])
    np.testing.assert_allclose(model.marginal(("a",)), [7.0])


def test_any_number_of_attributes_of_one_code_fits_into_a_model():
    """All pairs of 70 of them and two others; in one clique they would have 72 axes."""
    domain = Domain.coded({f"a{place}": size for place, size in enumerate([2, 3] + [1] * 70)})
    table = Table.from_codes(domain, np.random.default_rng(0).integers(0, domain.sizes, (10, 72)))
    pairs = list(itertools.combinations(domain.names, 2))
    exact = [Measurement(View(pair), table.marginal(pair).astype(float), 0.01, 1.0) for pair in pairs]
    model = estimate(domain, exact, total=10.0)
    for pair, marginal in zip(pairs, model.marginals(pairs), strict=True):
        np.testing.assert_allclose(marginal, table.marginal(pair), atol=0.1)
    assert model.generate(10, np.random.default_rng(0)).record_count == 10
