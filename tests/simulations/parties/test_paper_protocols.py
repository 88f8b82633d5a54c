"""Protocols that exist in the RandDPGen paper only: their noise, for marginals, interactions and boxes."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

import dpmosaic
from dpmosaic.common.data.boxes import box_sums
from dpmosaic.common.data.view import View
from dpmosaic.curator.measurers.measurer import Query
from dpmosaic.curator.mechanisms.privbayes.privbayes import PrivBayes
from dpmosaic.simulations.parties.paper_protocols import TheoremMeasurer
from dpmosaic.simulations.simulate import simulate

DOMAIN = dpmosaic.Domain.coded({"a": 6, "b": 5, "c": 4})


def table(records=3000, seed=0):
    rng = np.random.default_rng(seed)
    first = np.minimum(rng.geometric(0.4, records), 6) - 1
    second = np.where(rng.random(records) < 0.7, first % 5, rng.integers(0, 5, records))
    return dpmosaic.Table.from_codes(DOMAIN, np.column_stack([first, second, rng.integers(0, 4, records)]))


@pytest.mark.slow
@pytest.mark.parametrize("protocol", ["theorem", "indicator-mle"])
def test_paper_protocols_give_privbayes_sums_over_boxes(protocol):
    rng = np.random.default_rng(0)
    first = rng.integers(0, 3, 3000)
    codes = np.column_stack([first, rng.integers(0, 2, 3000), 9 * first + rng.integers(0, 9, 3000)])
    real = dpmosaic.Table.from_codes(dpmosaic.Domain.coded({"a": 3, "b": 2, "h": 30}), codes)
    mechanism, budget = PrivBayes(group=3), dpmosaic.Budget(1.0, 1e-9)
    result = simulate(real, epsilon=budget, mechanism=mechanism, protocol=protocol, grid="1x1", seed=1)
    assert any(measurement.view.boxes for measurement in result.fitted.measurements)
    assert result.rows.record_count == 3000


def test_an_interaction_by_the_theorem_is_the_projection_of_a_marginal_that_is_charged_as_one():
    """Chi-square over the 20 dimensions of 200 projections, two-sided at p < 1e-6."""
    real, rho = table(), Fraction(1, 100)
    measurer = TheoremMeasurer(real, 2, 1, Fraction(100), np.random.default_rng(0))
    found = measurer.measure([Query(View(("a", "b"), interaction=True), rho, "x")] * 200)
    cells = real.marginal(("a", "b")).reshape(6, 5)
    exact = cells - cells.mean(axis=0) - cells.mean(axis=1)[:, None] + cells.mean()
    errors = np.array([m.values.reshape(6, 5) - exact for m in found])
    assert {m.view.interaction for m in found} == {True}
    assert np.abs(errors.sum(axis=1)).max() < 1e-9
    assert np.abs(errors.sum(axis=2)).max() < 1e-9
    assert found[0].sigma == measurer.expected_sigma(View(("a", "b"), interaction=True), rho)
    assert found[0].sigma == pytest.approx(10.0)
    below = stats.chi2.cdf(np.sum(errors**2) / 100, 20 * 200)
    assert 5e-7 < below < 1 - 5e-7
    assert {(c.zcdp_rho, c.interaction) for c in measurer.accountant.charges} == {(rho, ())}


@pytest.mark.slow
def test_sums_over_boxes_have_the_noise_of_the_theorem():
    """Chi-square over 4,000 sums: a deviation of 2 % would be one of two of its own."""
    real, boxes = table(), (((0, 3), (0, 5)), ((3, 6), (0, 2)))
    rng = np.random.default_rng(0)
    measurer = TheoremMeasurer(real, 2, 1, Fraction(100), rng)
    found = measurer.measure([Query(View(("a", "b"), boxes=boxes), Fraction(1, 100), "x")] * 2000)
    exact = box_sums(real.marginal(("a", "b")), (6, 5), boxes)
    errors = np.array([m.values - exact for m in found])
    assert found[0].view.boxes == boxes
    assert found[0].sigma == pytest.approx(10.0)
    assert errors.std() == pytest.approx(10.0, rel=0.05)
    assert abs(errors.mean()) < 1
