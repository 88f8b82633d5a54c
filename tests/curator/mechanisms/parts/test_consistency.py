import math

import numpy as np
import pytest

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.view import View
from dpmosaic.common.measurement import Measurement
from dpmosaic.curator.mechanisms.parts.consistency import consistent, rake
from dpmosaic.curator.pgm.fitting.estimation import estimate
from dpmosaic.curator.pgm.fitting.parallel import estimate_in_parallel

DOMAIN = Domain.coded({"a": 2, "b": 3, "c": 4})
ONE_WAY = [("a",), ("b",), ("c",)]
SETS = {
    "a chain": [*ONE_WAY, ("a", "b"), ("b", "c")],
    "a star with an attribute measured twice": [*ONE_WAY, ("a", "b"), ("a", "c"), ("a",)],
    "pairs alone": [("a", "b"), ("b", "c")],
    "one-way marginals alone": ONE_WAY,
}


def noisy(cliques, total=1000.0, sigma=15.0, seed=0):
    rng = np.random.default_rng(seed)
    joint = total * rng.dirichlet(np.full(24, 2.0)).reshape(2, 3, 4)
    found = []
    for clique in cliques:
        scale = sigma * rng.uniform(0.3, 3.0)
        exact = marginal(joint, clique)
        found.append(Measurement(View(clique), exact + scale * rng.standard_normal(exact.size), scale, 0.1))
    return found


def marginal(joint, clique):
    return joint.sum(axis=tuple(k for k, name in enumerate("abc") if name not in clique)).ravel()


def least_squares(measurements, total):
    """The weighted least squares fit of a joint table of any sign with that total."""
    rows, values = [], []
    for m in measurements:
        for k in range(m.values.size):
            rows.append([marginal(cell.reshape(2, 3, 4), m.clique)[k] / m.sigma for cell in np.eye(24)])
            values.append(m.values[k] / m.sigma)
    # Cells that sum to the total: a multiple of the uniform table and directions that sum to 0.
    start = np.full(24, total / 24)
    directions = np.linalg.qr(np.column_stack([np.ones(24), np.eye(24)[:, 1:]]))[0][:, 1:]
    matrix = np.array(rows)
    moved, *_ = np.linalg.lstsq(matrix @ directions, np.array(values) - matrix @ start, rcond=None)
    return (start + directions @ moved).reshape(2, 3, 4)


@pytest.mark.parametrize("cliques", SETS.values(), ids=SETS)
def test_it_gives_the_marginals_of_the_least_squares_fit(cliques):
    measurements = noisy(cliques)
    joint = least_squares(measurements, 1000.0)
    found = consistent(DOMAIN, measurements, 1000.0)
    for before, after in zip(measurements, found, strict=True):
        assert np.allclose(after.values, marginal(joint, before.clique), atol=1e-6)
        assert not np.allclose(after.values, before.values, atol=0.1)
        assert (after.clique, after.sigma, after.zcdp_rho) == (before.clique, before.sigma, before.zcdp_rho)


def test_over_a_cycle_all_pairs_agree_on_every_attribute_and_the_total():
    found = consistent(DOMAIN, noisy([*ONE_WAY, ("a", "b"), ("b", "c"), ("a", "c")]), 1000.0)
    for axis, name in enumerate("abc"):
        said = []
        for m in found:
            if name in m.clique:
                table = m.values.reshape(DOMAIN.shape(m.clique))
                kept = m.clique.index(name)
                said.append(table.sum(axis=tuple(k for k in range(table.ndim) if k != kept)))
        assert len(said) == 3
        assert np.allclose(said, said[0], atol=1e-8)
        assert said[0].sum() == pytest.approx(1000.0)
        assert len(said[0]) == DOMAIN.sizes[axis]


@pytest.mark.parametrize("fit", [estimate, estimate_in_parallel], ids=["exact", "parallel"])
def test_consistency_changes_the_loss_of_a_fit_but_not_the_fit(fit):
    """At this noise cells are held at zero, where wrong weights would show."""
    cliques = [*ONE_WAY, ("a", "b"), ("b", "c")]
    measurements = noisy(cliques, sigma=60.0, seed=3)
    assert any(m.values.min() < -20 for m in measurements)
    models = [
        fit(DOMAIN, given, total=1000.0, tolerance=1e-10, max_iterations=20_000)
        for given in (measurements, consistent(DOMAIN, measurements, 1000.0))
    ]
    before, after = (np.concatenate(model.marginals(cliques)) for model in models)
    assert np.allclose(before, after, atol=0.5)
    assert models[1].loss < 0.9 * models[0].loss


@pytest.mark.slow
def test_averaging_lowers_the_error_as_the_variances_say():
    """The variance of an attribute's mean is the inverse of the sum of inverses; 20,000 values, 5 % off."""
    rng = np.random.default_rng(0)
    domain = Domain.coded({"a": 2, "b": 5})
    errors = []
    for _ in range(10_000):
        given = [
            Measurement(View(("a",)), 500 + 3 * rng.standard_normal(2), 3.0, 0.1),
            Measurement(View(("a", "b")), 100 + rng.standard_normal(10), 1.0, 0.1),
        ]
        errors += (consistent(domain, given, 1000.0)[0].values - 500).tolist()
    # Knowing the total halves it: the two cells' errors are one number and its negative.
    expected = 0.5 / (1 / 9 + 1 / 5)
    assert np.mean(np.square(errors)) == pytest.approx(expected, rel=0.05)
    assert math.sqrt(expected) < 3.0


def test_raking_fits_the_margins_and_keeps_the_odds_ratio():
    cells = np.array([10.0, 20.0, 30.0, 80.0])
    margins = [((0,), np.array([60.0, 80.0])), ((1,), np.array([50.0, 90.0]))]
    table = rake(cells, (2, 2), margins).reshape(2, 2)
    assert table.sum(axis=0) == pytest.approx([50, 90])
    assert table.sum(axis=1) == pytest.approx([60, 80], rel=0.01)
    assert table[0, 0] * table[1, 1] / (table[0, 1] * table[1, 0]) == pytest.approx(10 * 80 / (20 * 30))


def test_raking_takes_margins_of_two_attributes_of_three():
    rng = np.random.default_rng(7)
    wanted = rng.uniform(1, 9, (2, 3, 4))
    margins = [((0, 1), wanted.sum(axis=2).ravel()), ((1, 2), wanted.sum(axis=0).ravel())]
    table = rake(np.ones(24), (2, 3, 4), margins).reshape(2, 3, 4)
    assert np.allclose(table.sum(axis=2), wanted.sum(axis=2))
    assert np.allclose(table.sum(axis=0), wanted.sum(axis=0))
