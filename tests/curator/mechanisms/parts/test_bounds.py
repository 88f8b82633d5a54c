import math
from dataclasses import replace

import numpy as np
import pytest

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table
from dpmosaic.common.data.view import View
from dpmosaic.common.measurement import Measurement
from dpmosaic.curator.mechanisms.parts.bounds import (
    ErrorBound,
    ScoredDistance,
    WeightedAverage,
    bounds_of_rows,
    error_bounds,
    noise_bound,
    weighted_average,
)
from dpmosaic.curator.pgm.fitting.estimation import estimate

DOMAIN = Domain.coded({"a": 2, "b": 3})


def test_the_average_is_the_best_linear_unbiased_estimate():
    """Theorem 5.2 against generalised least squares written out as a matrix."""
    pair = Measurement(View(("a", "b")), np.array([4.0, 1, 3, 8, 2, 5]), 2.0, 0.1)
    single = Measurement(View(("a",)), np.array([9.0, 13]), 1.5, 0.1)
    average = weighted_average(DOMAIN, ("a",), [pair, single])
    design = np.array([[1, 0], [0, 1], [1, 0], [0, 1]], dtype=float)
    observed = np.array([8.0, 15.0, 9.0, 13.0])
    weights = np.diag([1 / 12, 1 / 12, 1 / 2.25, 1 / 2.25])  # three cells of variance 4 add up to 12
    covariance = np.linalg.inv(design.T @ weights @ design)
    assert np.allclose(average.values, covariance @ design.T @ weights @ observed)
    assert average.sigma == pytest.approx(math.sqrt(covariance[0, 0]))


def test_ignores_measurements_that_do_not_contain_the_clique():
    assert weighted_average(DOMAIN, ("a", "b"), [Measurement(View(("a",)), np.ones(2), 1.0, 0.1)]) is None


def test_a_marginal_that_nobody_measured_takes_no_memory():
    """Its cells would need 67 GiB."""
    codes = Domain.coded({"icd": 90_000, "zip": 100_000})
    one = Measurement(View(("icd",)), np.zeros(90_000), 1.0, 0.5)
    assert weighted_average(codes, ("icd", "zip"), [one]) is None


def test_ignores_sums_over_boxes():
    boxes = (((0, 1), (0, 3)), ((1, 2), (0, 3)))
    coarse = Measurement(View(("a", "b"), boxes=boxes), np.array([8.0, 15.0]), 2.0, 0.1)
    single = Measurement(View(("a",)), np.array([9.0, 13]), 1.5, 0.1)
    assert weighted_average(DOMAIN, ("a", "b"), [coarse]) is None
    assert weighted_average(DOMAIN, ("a",), [coarse, single]).values.tolist() == pytest.approx([9, 13])


@pytest.mark.parametrize("cells", [1, 4, 100])
def test_the_bound_on_gaussian_noise_holds_at_the_stated_rate(cells):
    """20,000 draws at failure 5 %: a true rate of 5 % would exceed 5.8 % with a probability below 1e-6."""
    noise = np.abs(np.random.default_rng(3).normal(0, 2.0, (20_000, cells))).sum(axis=1)
    assert (noise > noise_bound(cells, 2.0, True, 0.05)).mean() < 0.058


def test_the_bound_on_other_noise_holds_for_heavy_tails():
    """Products of Gaussians, all cells equal: the worst case for an L1 norm at a given root mean square."""
    rng = np.random.default_rng(4)
    noise = np.repeat((rng.normal(size=20_000) * rng.normal(size=20_000))[:, None], 6, axis=1)
    assert (np.abs(noise).sum(axis=1) > noise_bound(6, 1.0, False, 0.05)).mean() < 0.058


MODEL = estimate(DOMAIN, [Measurement(View(("a",)), np.array([4.0, 8.0]), 1.0, 0.1)], total=12)
"""Two cells of a with 4 and 8 records, b spread evenly."""

PAIR = ("a", "b")
QUANTILE = 1.959963984540054
"""Of the standard normal distribution at 1 - 0.05 / 2: two bounds for a clique, each with half of 5 %."""


def scored_bound(distance, sigma, reference, averages=None):
    known = ScoredDistance(distance, sigma, np.array(reference))
    (bound,) = error_bounds(MODEL, averages or {}, [], 12, scored={PAIR: known})
    return bound


def test_the_bound_of_a_score_adds_its_noise_and_the_distance_of_the_model_from_its_reference():
    reference = [2, 1, 1, 3, 3, 2]
    moved = np.abs(MODEL.marginal(PAIR) - reference).sum()
    bound = scored_bound(5.0, 0.25, reference)
    assert bound.l1 == pytest.approx(moved + 5.0 + QUANTILE * 0.25, rel=1e-12)
    assert bound.total_variation == pytest.approx(bound.l1 / 24)
    assert (bound.clique, bound.selected, bound.confidence) == (PAIR, False, 0.95)


def test_treats_a_score_below_zero_as_zero():
    reference = [2, 1, 1, 3, 3, 2]
    assert scored_bound(-50.0, 1.0, reference).l1 == pytest.approx(
        np.abs(MODEL.marginal(PAIR) - reference).sum()
    )


@pytest.mark.parametrize(("sigma", "by_score"), [(1e-6, False), (100.0, True)])
def test_reports_the_smaller_bound_of_a_score_and_a_measurement(sigma, by_score):
    average = WeightedAverage(MODEL.marginal(PAIR), sigma, True)
    reference = np.rint(MODEL.marginal(PAIR)).astype(np.int64)
    alone = scored_bound(3.0, 0.5, reference).l1
    both = scored_bound(3.0, 0.5, reference, {PAIR: average}).l1
    assert (both == alone) == by_score
    assert both <= alone


def test_the_bound_of_a_score_holds_at_the_stated_rate():
    """20,000 scores of one distance: 2.5 % fail truly, so these limits are left with p < 1e-6."""
    table = np.array([0, 0, 9, 3, 0, 0])
    reference = np.rint(MODEL.marginal(PAIR)).astype(np.int64)
    distance, error = np.abs(table - reference).sum(), np.abs(table - MODEL.marginal(PAIR)).sum()
    noise = np.random.default_rng(5).normal(0, 2.0, 20_000)
    # The model is what was scored, but for rounding, so that nothing else is in the bound.
    margin = scored_bound(0.0, 2.0, reference).l1 - np.abs(MODEL.marginal(PAIR) - reference).sum()
    failed = (distance + noise + margin < distance).mean()
    assert 0.0195 < failed < 0.031
    assert error <= scored_bound(float(distance), 2.0, reference).l1


def test_bounds_of_rows_add_their_distance_from_the_model():
    """12 records, and 6 rows, of which each counts twice."""
    bound = ErrorBound(PAIR, 3.0, 3 / 24, 0.95, True)
    rows = Table.from_codes(DOMAIN, np.array([[0, 0], [0, 1], [1, 0], [1, 1], [1, 1], [1, 2]]))
    apart = np.abs(2 * np.array([1, 1, 0, 1, 2, 1]) - MODEL.marginal(PAIR)).sum()
    (found,) = bounds_of_rows([bound], MODEL, rows, 12)
    assert found.l1 == pytest.approx(3 + apart)
    assert found.total_variation == pytest.approx((3 + apart) / 24)
    assert replace(found, l1=3.0, total_variation=3 / 24) == bound
    (far,) = bounds_of_rows([replace(bound, l1=23.0)], MODEL, rows, 12)
    assert far.total_variation == 1.0
